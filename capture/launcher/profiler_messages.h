/* profiler_messages.h: what a profiler server of TensorFlow or JAX is asked, and what it answers, as bytes.
**
** Such a server is a gRPC service (tensorflow.ProfilerService of profiler_service.proto): a message goes each way,
** behind five bytes: whether it is compressed, and its length, the highest byte first.
*/
#ifndef TFPROF_LAUNCHER_PROFILER_MESSAGES_H
#define TFPROF_LAUNCHER_PROFILER_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROFILER_REQUEST_BYTES = 1024, PROFILER_TEXT_BYTES = 300 };

/* What is recorded, and for how long. */
struct profiler_wish {
  uint64_t duration_ms;
  unsigned host_level;   /* 0: nothing; 1: what users mark; 2: and what frameworks do; 3: and what is cheap */
  unsigned device_level; /* 0 or 1 */
  unsigned python_level; /* 0 or 1: each call of Python functions */
};

/* Write a request, of PROFILER_REQUEST_BYTES at most; its length. `session`, by which a recording can be ended, and
** `host` are of at most PROFILER_TEXT_BYTES. */
size_t profiler_request_write(const struct profiler_wish *wish, const char *session, const char *host, uint8_t *bytes);
/* One that ends a recording before its time. */
size_t profiler_end_write(const char *session, uint8_t *bytes);

/* An answer to a request, as it comes in pieces of any size. Zero before the first, but for `limit` and `put`. */
struct profiler_answer {
  uint64_t limit;                                                   /* bytes; 0: any */
  bool (*put)(void *context, const uint8_t *bytes, size_t length); /* takes the XSpace, piece by piece */
  void *context;
  uint8_t head[5];
  unsigned head_count;
  uint64_t left; /* of the message */
  enum { ANSWER_TAG, ANSWER_NUMBER, ANSWER_LENGTH, ANSWER_PIECE } state;
  uint64_t number; /* that is being read */
  unsigned shift;
  uint32_t field, type;
  uint64_t piece;    /* bytes that are left of the field */
  bool is_empty;     /* nothing happened while it recorded */
  uint64_t space;    /* bytes of the XSpace so far */
  const char *wrong; /* NULL, or what is: one phrase */
};

/* false: answer->wrong tells why, or, where that is NULL, put() has failed. */
bool profiler_answer_take(struct profiler_answer *answer, const uint8_t *bytes, size_t length);
/* Whether all of it has come. */
bool profiler_answer_is_whole(const struct profiler_answer *answer);

#endif
