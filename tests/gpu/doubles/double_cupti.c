/* double_cupti.c: see double_cupti.h. Built once for each version: DOUBLE_VERSION. */
#include "double_cupti.h"

#include "cuda/cupti_api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ENTRY __attribute__((visibility("default")))
enum { INVALID_KIND = 21, INVALID_PARAMETER = 1, NOT_COMPATIBLE = 14, UNKNOWN = 999, FUNCTIONS = 1024, STREAMS = 256 };

struct written { /* by a thread */
  pthread_mutex_t lock;
  uint8_t *buffer;
  size_t size, used;
  bool has_kernel; /* in the buffer */
  uint64_t put_ns; /* when the last kernel was, */
  size_t kernel_at; /* and where */
};

static struct written streams[STREAMS];
static _Atomic unsigned stream_count;
static _Thread_local struct written *mine;
/* Called by way of atomic_load(): gcc reads an atomic pointer that is called like any other. */
static _Atomic(cupti_request) request;
static _Atomic(cupti_complete) complete;
static _Atomic uint8_t kinds_on[CUPTI_KINDS], functions_on[3][FUNCTIONS];
static _Atomic uint32_t correlation;
static _Atomic int64_t clock_set_by;
static _Atomic(uint64_t (*)(void)) kept_clock; /* what CUPTI was told to keep time by */
static _Atomic int registrations, heads; /* of it; kernels to come whose times are CUPTI's own */
static _Atomic bool has_context, is_latched; /* the work of devices keeps to CUPTI's own clock */
static _Atomic uint64_t lent_count, returned_count;
static _Atomic uint32_t counters_on[2]; /* kinds, by device */
static _Atomic uint8_t tells_latency;
static _Atomic int is_subscribed, drops_told;
static _Atomic bool has_left; /* the holder */
static _Atomic bool has_fallen; /* the device, off the bus */

__attribute__((constructor)) static void make_locks(void) {
  for (int i = 0; i < STREAMS; i++) pthread_mutex_init(&streams[i].lock, NULL);
}

enum clock_mode { CLOCK_TOLD, CLOCK_FIXED, CLOCK_HIDDEN };

static enum clock_mode clock_mode(void) {
  const char *mode = getenv("DOUBLE_CLOCK");
  return !mode ? CLOCK_TOLD : !strcmp(mode, "fixed") ? CLOCK_FIXED : CLOCK_HIDDEN;
}

static uint64_t record_bytes(uint32_t kind) {
  if (kind == DOUBLE_UNKNOWN_KIND) return DOUBLE_UNKNOWN_BYTES;
  return kind < CUPTI_KINDS ? cupti_layout_of(DOUBLE_VERSION)->sizes[kind] : 0;
}

/* ---- What CUPTI has. */

ENTRY int cuptiGetVersion(uint32_t *version) {
  const char *told = getenv("DOUBLE_TOLD_VERSION");
  *version = told ? (uint32_t)strtoul(told, NULL, 10) : DOUBLE_VERSION;
  return 0;
}

static uint64_t own_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (uint64_t)clock_set_by;
}

static uint64_t now(void) {
  uint64_t (*clock)(void) = atomic_load(&kept_clock);
  return clock ? clock() : own_clock();
}

ENTRY int cuptiGetTimestamp(uint64_t *time) {
  if (has_fallen) return UNKNOWN;
  *time = clock_mode() == CLOCK_HIDDEN ? own_clock() : now();
  return 0;
}

/* Who has told it last is heard; it cannot be taken back. */
ENTRY int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) {
  if (!clock) return INVALID_PARAMETER;
  if (clock_mode() == CLOCK_FIXED) return NOT_COMPATIBLE;
  kept_clock = clock;
  heads = getenv("DOUBLE_HEADS") ? registrations++ : 0;
  return 0;
}

ENTRY int cuptiGetResultString(int result, const char **text) {
  *text = result == NOT_COMPATIBLE ? "CUPTI_ERROR_NOT_COMPATIBLE" : result ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_SUCCESS";
  return 0;
}

static int subscribe(void **subscriber, char *holder, size_t size) {
  const char *another = getenv("DOUBLE_HOLDER"), *result = getenv("DOUBLE_SUBSCRIBE");
  if (result) return atoi(result);
  if (has_left) another = NULL;
  if (another || is_subscribed++) {
    if (holder) snprintf(holder, size, "%s", another ? another : "another");
    return CUPTI_SUBSCRIBED_BY_ANOTHER;
  }
  is_latched = getenv("DOUBLE_LATCH") && has_context && !kept_clock;
  *subscriber = &is_subscribed;
  return 0;
}

ENTRY int cuptiSubscribe(void **subscriber, void (*call)(void *, int, uint32_t, const void *), void *own) {
  (void)call, (void)own;
  return subscribe(subscriber, NULL, 0);
}

#if DOUBLE_VERSION >= 130000
ENTRY int cuptiSubscribe_v2(void **subscriber, void (*call)(void *, int, uint32_t, const void *), void *own,
                            struct cupti_subscription *wish) {
  (void)call, (void)own;
  return subscribe(subscriber, wish->holder, wish->holder_size);
}
#endif

/* Nothing of what it was told is left. */
static void forget_all(void) {
  for (int kind = 0; kind < CUPTI_KINDS; kind++) kinds_on[kind] = 0;
  for (int domain = 0; domain < 3; domain++)
    for (int i = 0; i < FUNCTIONS; i++) functions_on[domain][i] = 0;
}

static _Atomic int thread_ids;
ENTRY int cuptiFinalize(void);
ENTRY int cuptiFinalize(void) {
  forget_all();
  is_subscribed = 0;
  thread_ids = 0;
  request = NULL;
  complete = NULL;
  kept_clock = NULL;
  correlation = 0;
  return 0;
}

ENTRY int cuptiUnsubscribe(void *subscriber) {
  if (subscriber != &is_subscribed) return INVALID_PARAMETER;
  is_subscribed = 0;
  return 0;
}

ENTRY int cuptiSetThreadIdType(int type) {
  if (type < 0 || type > 1) return INVALID_PARAMETER;
  thread_ids = type;
  return 0;
}
ENTRY int cuptiGetThreadIdType(int *type) {
  *type = thread_ids;
  return 0;
}

ENTRY int cuptiActivityRegisterCallbacks(cupti_request its_request, cupti_complete its_complete) {
  request = its_request;
  complete = its_complete;
  return 0;
}

static int switch_kind(int kind, uint8_t to_on) {
  const char *refused = getenv("DOUBLE_REFUSED");
  if (has_fallen) return UNKNOWN;
  if (kind <= 0 || kind >= CUPTI_KINDS || !record_bytes((uint32_t)kind)) return INVALID_KIND;
  if (kind == CUPTI_EVENT && DOUBLE_VERSION < 20) return INVALID_KIND; /* as 11.8 to 12.1 do */
  if (to_on && refused && atoi(refused) == kind) {
    const char *result = strchr(refused, ':');
    return result ? atoi(result + 1) : NOT_COMPATIBLE;
  }
  const char *mute = getenv("DOUBLE_MUTE");
  kinds_on[kind] = to_on && !(mute && atoi(mute) == kind);
  int domain = kind == CUPTI_RUNTIME ? CUPTI_RUNTIME_FUNCTIONS : kind == CUPTI_DRIVER ? CUPTI_DRIVER_FUNCTIONS : 0;
  for (int i = 0; domain && i < FUNCTIONS; i++) functions_on[domain][i] = to_on;
  return 0;
}
ENTRY int cuptiActivityEnable(int kind) { return switch_kind(kind, 1); }
ENTRY int cuptiActivityDisable(int kind) { return switch_kind(kind, 0); }

#if DOUBLE_VERSION >= 26
static int switch_function(int domain, uint32_t function, uint8_t to_on) {
  if (function >= FUNCTIONS) return INVALID_PARAMETER;
  functions_on[domain][function] = to_on;
  return 0;
}
ENTRY int cuptiActivityEnableRuntimeApi(uint32_t function, uint8_t to_on) {
  return switch_function(CUPTI_RUNTIME_FUNCTIONS, function, to_on);
}
ENTRY int cuptiActivityEnableDriverApi(uint32_t function, uint8_t to_on) {
  return switch_function(CUPTI_DRIVER_FUNCTIONS, function, to_on);
}
#endif

ENTRY int cuptiActivityEnableLatencyTimestamps(uint8_t to_on) {
  if (getenv("DOUBLE_REFUSED_LATENCY")) return NOT_COMPATIBLE;
  tells_latency = to_on;
  return 0;
}

ENTRY int cuptiGetContextId(void *context, uint32_t *id) {
  *id = 1;
  return context ? 0 : INVALID_PARAMETER;
}

/* Handles are numbers times eight. */
ENTRY int cuptiGetStreamIdEx(void *context, void *stream, uint8_t is_per_thread, uint32_t *id) {
  *id = (uint32_t)((uintptr_t)stream / 8);
  return context && !is_per_thread ? 0 : INVALID_PARAMETER;
}

/* Newer versions know more kinds; refused as a whole. */
ENTRY int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t (*counters)[4], uint32_t count) {
  enum { SCOPE, KIND, DEVICE, IS_ON, OLD_KINDS = 4, ALL_KINDS = 8, DEVICES = 2, OF_ONE_DEVICE = 1 };
  const char *refused = getenv("DOUBLE_REFUSED_COUNTERS");
  for (uint32_t i = 0; refused && i < count; i++)
    if (counters[i][DEVICE] == (uint32_t)atoi(refused)) return NOT_COMPATIBLE;
  for (uint32_t i = 0; i < count; i++)
    if (counters[i][SCOPE] != OF_ONE_DEVICE || counters[i][DEVICE] >= DEVICES ||
        counters[i][KIND] > (DOUBLE_VERSION < 130000 ? OLD_KINDS : ALL_KINDS))
      return INVALID_PARAMETER;
  for (uint32_t i = 0; i < count; i++)
    if (counters[i][IS_ON]) counters_on[counters[i][DEVICE]] |= 1u << counters[i][KIND];
  return 0;
}

ENTRY int cuptiGetCallbackName(int domain, uint32_t function, const char **name) {
  static const char *const runtime[] = {[DOUBLE_GET_DEVICE] = "cudaGetDevice_v3020",
                                        [DOUBLE_MALLOC] = "cudaMalloc_v3020",
                                        [DOUBLE_MEMCPY_ASYNC] = "cudaMemcpyAsync_v3020",
                                        [DOUBLE_MEMSET_ASYNC] = "cudaMemsetAsync_v3020",
                                        [DOUBLE_EVENT_RECORD] = "cudaEventRecord_v3020",
                                        [DOUBLE_STREAM_SYNCHRONIZE] = "cudaStreamSynchronize_v3020",
                                        [DOUBLE_DEVICE_RESET] = "cudaDeviceReset_v3020",
                                        [DOUBLE_DEVICE_SYNCHRONIZE] = "cudaDeviceSynchronize_v3020",
                                        [DOUBLE_LAUNCH_KERNEL] = "cudaLaunchKernel_v7000",
                                        [DOUBLE_GRAPH_LAUNCH] = "cudaGraphLaunch_v10000"};
  static const char *const driver[] = {[DOUBLE_DRIVER_GET_VERSION] = "cuDriverGetVersion",
                                       [DOUBLE_DRIVER_LAUNCH] = "cuLaunchKernel"};
  bool is_runtime = domain == CUPTI_RUNTIME_FUNCTIONS;
  size_t count = is_runtime ? sizeof runtime / sizeof *runtime : sizeof driver / sizeof *driver;
  *name = function < count ? (is_runtime ? runtime : driver)[function] : NULL;
  return *name ? 0 : INVALID_PARAMETER;
}

ENTRY int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, struct cupti_record **record) {
  size_t at = 0;
  if (*record) at = (size_t)((uint8_t *)*record - buffer) + record_bytes((*record)->kind);
  if (at >= used) return CUPTI_NO_MORE_RECORDS;
  struct cupti_record *next = (void *)(buffer + at);
  if (!record_bytes(next->kind)) return INVALID_KIND;
  *record = next;
  return 0;
}

ENTRY int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
  const char *asked = getenv("DOUBLE_DROPPED");
  (void)context, (void)stream;
  *dropped = asked && !drops_told++ ? strtoul(asked, NULL, 10) : 0;
  return 0;
}

static void give_back(struct written *stream) {
  bool is_eager = getenv("DOUBLE_EAGER");
  size_t records = 0;
  if (!stream->buffer || (is_eager && !stream->used)) return;
  returned_count++;
  if (complete) atomic_load(&complete)(NULL, 0, stream->buffer, stream->size, stream->used);
  stream->buffer = NULL;
  if (!is_eager || !request) return;
  atomic_load(&request)(&stream->buffer, &stream->size, &records);
  stream->used = 0;
  stream->has_kernel = false;
}

/* Whether its last kernel runs: a kernel does for DOUBLE_RUNS milliseconds. `is_cut`: it has no end then. */
static bool runs(struct written *stream, bool is_cut) {
  const char *milliseconds = getenv("DOUBLE_RUNS");
  if (!milliseconds || !stream->has_kernel || own_clock() - stream->put_ns >= strtoul(milliseconds, NULL, 10) * 1000000)
    return false;
  if (is_cut) ((struct cupti_kernel *)(void *)(stream->buffer + stream->kernel_at))->end = 0;
  return true;
}

static void *give_all_back_late(void *milliseconds) {
  usleep((useconds_t)(size_t)milliseconds * 1000);
  for (unsigned i = 0; i < STREAMS; i++) {
    pthread_mutex_lock(&streams[i].lock);
    give_back(&streams[i]);
    pthread_mutex_unlock(&streams[i].lock);
  }
  return NULL;
}

ENTRY int cuptiActivityFlushAll(uint32_t flag) {
  const char *late = getenv("DOUBLE_LATE");
  pthread_t thread;
  if (has_fallen) return UNKNOWN;
  if (!flag && late && !kinds_on[CUPTI_CONCURRENT_KERNEL]) return 0;
  if (flag && late && !pthread_create(&thread, NULL, give_all_back_late, (void *)strtoul(late, NULL, 10)))
    return pthread_detach(thread);
  if (flag && getenv("DOUBLE_HANG"))
    for (;;) pause();
  /* Of a device that is never idle each buffer of a thread that launches holds a kernel that has not ended; before CUDA
  ** 13 the records of all threads are in the same ones. */
  bool is_busy = getenv("DOUBLE_BUSY");
  /* Those that began last first: CUPTI keeps no order. */
  for (unsigned i = stream_count < STREAMS ? stream_count : STREAMS; i--;) {
    pthread_mutex_lock(&streams[i].lock);
    bool is_kept = runs(&streams[i], flag) && !flag;
    if (!is_kept && (flag || !is_busy || (DOUBLE_VERSION >= 130000 && !streams[i].has_kernel))) give_back(&streams[i]);
    pthread_mutex_unlock(&streams[i].lock);
  }
  return 0;
}

/* ---- What the test does with it. */

static bool is_on(uint32_t kind, uint32_t function) {
  const char *mute = getenv("DOUBLE_MUTE_CALL");
  if (kind == DOUBLE_UNKNOWN_KIND) return true;
  if (kind == CUPTI_DRIVER && mute && (uint32_t)atoi(mute) == function) return false;
  if (kind != CUPTI_RUNTIME && kind != CUPTI_DRIVER) return kind < CUPTI_KINDS && kinds_on[kind];
  int domain = kind == CUPTI_RUNTIME ? CUPTI_RUNTIME_FUNCTIONS : CUPTI_DRIVER_FUNCTIONS;
  return function < FUNCTIONS && functions_on[domain][function];
}

static bool begin_writing(void) {
  unsigned number = mine ? 0 : atomic_fetch_add(&stream_count, 1);
  if (!mine && number < STREAMS) mine = &streams[number];
  return mine != NULL;
}

/* A kernel whose times are CUPTI's own, whatever it was told. */
static void take_own_times(struct cupti_kernel *kernel) {
  uint64_t ahead = own_clock() - now();
  if (!is_latched && (heads <= 0 || heads-- <= 0)) return;
  kernel->start += ahead;
  kernel->end += ahead;
}

static bool put(const void *record, size_t bytes) {
  uint64_t size = record_bytes(((const struct cupti_record *)record)->kind);
  size_t records = 0;
  if (!request || !begin_writing()) return false;
  pthread_mutex_lock(&mine->lock);
  if (mine->buffer && mine->used + size > mine->size) give_back(mine);
  if (!mine->buffer) {
    atomic_load(&request)(&mine->buffer, &mine->size, &records);
    mine->used = 0;
    mine->has_kernel = false;
    lent_count += mine->buffer != NULL;
  }
  bool is_there = mine->buffer != NULL;
  if (is_there) {
    memset(mine->buffer + mine->used, 0, size);
    memcpy(mine->buffer + mine->used, record, bytes < size ? bytes : size);
    struct cupti_kernel *kernel = (void *)(mine->buffer + mine->used);
    if (kernel->kind == CUPTI_CONCURRENT_KERNEL && !tells_latency) kernel->queued = kernel->submitted = 0;
    if (kernel->kind == CUPTI_CONCURRENT_KERNEL) {
      take_own_times(kernel);
      mine->put_ns = own_clock();
      mine->kernel_at = mine->used;
    }
    mine->used += size;
    mine->has_kernel |= kernel->kind == CUPTI_CONCURRENT_KERNEL;
  }
  pthread_mutex_unlock(&mine->lock);
  return is_there;
}

static uint32_t next_correlation(void) {
  has_context = true;
  uint32_t number = atomic_fetch_add(&correlation, 1) + 1;
  return number ? number : atomic_fetch_add(&correlation, 1) + 1;
}

static void set_clock(int64_t by_ns) { clock_set_by += by_ns; }

static uint64_t count_ticks(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) / 10 * 26;
}

/* Its own have nothing of others': they are told by their length. */
enum { STOLEN_BYTES = (1 << 20) - 8 };
static void lend_stolen(uint8_t **buffer, size_t *bytes, size_t *records) {
  *bytes = STOLEN_BYTES;
  *records = 0;
  *buffer = malloc(*bytes);
}

/* Those of another one, which Kineto does not know, are kept by nobody. */
static void take_stolen(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t used) {
  (void)context, (void)stream, (void)used;
  if (bytes == STOLEN_BYTES) free(buffer);
}

static void steal(void) {
  bool is_end = atomic_load(&request) == lend_stolen;
  if (is_end) {
    cuptiActivityFlushAll(1);
    return forget_all();
  }
  complete = take_stolen;
  request = lend_stolen;
}

static void replace(void) {
  cuptiFinalize();
  is_subscribed = 1;
}

static void fall(void) { has_fallen = true; }

static void keep_ticks(void) { cuptiActivityRegisterTimestampCallback(count_ticks); }
static void set_correlation(uint32_t to) { correlation = to; }

static void give_mine_back(void) {
  if (!mine) return;
  pthread_mutex_lock(&mine->lock);
  give_back(mine);
  pthread_mutex_unlock(&mine->lock);
}

static void cut(size_t count) {
  if (!mine) return;
  pthread_mutex_lock(&mine->lock);
  mine->used -= count < mine->used ? count : mine->used;
  pthread_mutex_unlock(&mine->lock);
}

static void give_odd_back(void) {
  static uint8_t stray[64];
  uint8_t *lent_one = NULL;
  size_t size = 0, records = 0;
  if (!request) return;
  atomic_load(&complete)(NULL, 0, NULL, 0, 0);
  atomic_load(&complete)(NULL, 0, NULL, 0, 64);
  atomic_load(&complete)(NULL, 0, stray, sizeof stray, sizeof stray);
  atomic_load(&request)(&lent_one, &size, &records);
  if (!lent_one) return;
  memset(lent_one, 0, size);
  atomic_load(&complete)(NULL, 0, lent_one, size, 0);
  atomic_load(&complete)(NULL, 0, lent_one, size, 0);
  atomic_load(&request)(&lent_one, &size, &records);
  if (!lent_one) return;
  memset(lent_one, 0, size);
  atomic_load(&complete)(NULL, 0, lent_one, size, SIZE_MAX);
}

static void begin_callback(void) {
  if (begin_writing()) pthread_mutex_lock(&mine->lock);
}

static bool counts(uint32_t kind, uint32_t device) { return device < 2 && counters_on[device] >> kind & 1; }

static bool has_latency(void) { return tells_latency; }
static void holder_leaves(void) { has_left = true; }

static uint64_t lent(void) { return lent_count; }
static uint64_t returned(void) { return returned_count; }

ENTRY const struct double_cupti double_cupti = {
    DOUBLE_VERSION, is_on,        put,  next_correlation, now,           set_clock,      set_correlation,
    give_mine_back, cut,          lent, returned,         give_odd_back, begin_callback, counts,
    has_latency,    holder_leaves, keep_ticks,       steal,          fall,         replace};
