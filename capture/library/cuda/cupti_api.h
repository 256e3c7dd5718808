/* cupti_api.h: CUPTI's functions, found at run time.
**
** CUDA keeps one list of who listens, but each copy of libcupti has its own buffers; so the copy that the program has
** loaded is the one to use. Where it has none (CUPTI comes with the toolkit and with PyTorch's wheels, not with the
** driver) one is loaded that belongs to the CUDA that the program uses: beside its runtime, where the wheels of NVIDIA
** put it, in CUDA_HOME, and where the loader finds it. TFPROF_CUPTI, a file or a directory, comes before all of them,
** and is the only one then.
*/
#ifndef TFPROF_CAPTURE_CUPTI_API_H
#define TFPROF_CAPTURE_CUPTI_API_H

#include "cupti_layout.h"

/* CUptiResult: those that are told apart. */
enum cupti_result {
  CUPTI_OK = 0,
  CUPTI_NO_MORE_RECORDS = 12, /* CUPTI_ERROR_MAX_LIMIT_REACHED */
  CUPTI_INVALID_KIND = 21,
  CUPTI_INSUFFICIENT_PRIVILEGES = 35,
  CUPTI_SUBSCRIBED_BY_ANOTHER = 39, /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
};
enum cupti_domain { CUPTI_DRIVER_FUNCTIONS = 1, CUPTI_RUNTIME_FUNCTIONS = 2 };

struct cupti_subscription { /* CUpti_SubscriberParams */
  size_t size;
  const char *name;
  char *holder; /* who has it, where another one has */
  size_t holder_size;
};

typedef void (*cupti_request)(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void (*cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t used);

struct cupti_api {
  /* All of them are there. */
  int (*GetVersion)(uint32_t *version);
  int (*GetTimestamp)(uint64_t *time);
  int (*GetResultString)(int result, const char **text);
  int (*Subscribe)(void **subscriber, void (*call)(void *, int, uint32_t, const void *), void *own);
  int (*Unsubscribe)(void *subscriber);
  int (*ActivityRegisterCallbacks)(cupti_request request, cupti_complete complete);
  int (*ActivityEnable)(int kind);
  int (*ActivityDisable)(int kind);
  int (*ActivityFlushAll)(uint32_t flag);
  int (*ActivityGetNextRecord)(uint8_t *buffer, size_t used, struct cupti_record **record);
  int (*ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
  int (*GetCallbackName)(int domain, uint32_t function, const char **name);
  int (*SetThreadIdType)(int type);
  /* Of these some versions have none: NULL. */
  int (*Subscribe_v2)(void **subscriber, void (*call)(void *, int, uint32_t, const void *), void *own,
                      struct cupti_subscription *wish);
  int (*ActivityEnableRuntimeApi)(uint32_t function, uint8_t is_on);
  int (*ActivityEnableDriverApi)(uint32_t function, uint8_t is_on);
  int (*ActivityRegisterTimestampCallback)(uint64_t (*clock)(void));
  int (*ActivityConfigureUnifiedMemoryCounter)(void *configurations, uint32_t count);
  int (*ActivityEnableLatencyTimestamps)(uint8_t is_on);
  int (*GetThreadIdType)(int *type);
  int (*GetContextId)(void *context, uint32_t *id);
  int (*GetStreamIdEx)(void *context, void *stream, uint8_t is_per_thread, uint32_t *id);
  uint32_t version;
  const struct cupti_layout *layout;
  char path[512]; /* of the library */
};

/* Finds it, and loads it where the program has not; does not begin anything in it. false: `reason` says why and how to
** get it. Once it was found it stays. */
bool cupti_find(struct cupti_api *api, char *reason, size_t size);
/* Which CUPTI that is, as people know it: by the CUDA toolkit that it comes with; written to `text`, which is
** returned. */
enum { CUPTI_VERSION_TEXT = 64 };
const char *cupti_version_text(uint32_t version, char text[CUPTI_VERSION_TEXT]);
/* What a result means. */
const char *cupti_result_text(const struct cupti_api *api, int result);

#endif
