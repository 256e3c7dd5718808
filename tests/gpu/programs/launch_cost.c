/* launch_cost.c: what recording takes of a launch: an empty kernel again and again, in each state of the recorder.
**
**   launch_cost THREADS BLOCKS [FILE]
**
** Each of THREADS launches BLOCKS times LAUNCHES kernels on a stream of its own and waits for them, in each state:
**
**   none         CUPTI is not there
**   subscribed   somebody listens, to nothing
**   lasting      what the recorder leaves on in steps whose work it does not record
**   calls        and calls of the runtime and the driver
**   kernels      and kernels and all that is recorded of work
**   off          it has stepped aside, as for torch.profiler; CUPTI stays in the process
**
** The third to the fifth come in turn, CYCLES times, once the recorder knows which calls are made, for it switches no
** others off (cuda_kinds.h). Prints a line of JSON: the median time of a launch in each state,
** in nanoseconds, the longest time that switching to it took, what was launched and recorded in the state `kernels`,
** and what was lost. With FILE, after that some work of each kind is done, and of each kind of record the first ones
** are written there as CUPTI wrote them: a line of JSON each, with the name that a kernel's points to. replay.c plays
** them to the recorder.
**
** It is made of the recorder's own code (capture/library), and needs the driver, and CUPTI as programs have it.
*/
#include "cuda/activity_buffers.h"
#include "cuda/cuda_kinds.h"
#include "cuda/cuda_listener.h"
#include "recorder/clock.h"
#include "recorder/moments.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  LAUNCHES = 500, /* fewer than fit into the driver's queue, so that none waits for the device */
  CYCLES = 3,
  THREADS = 16,
  BLOCKS = 1000,
  KINDS = 64,
  KEPT = 40, /* records of a kind */
  DRAIN_US = 20000,
  SETTLE_US = 50000,
  LEARN_FETCHES = 20,
};
enum measured { NONE, SUBSCRIBED, LASTING, CALLS, KERNELS, OFF, MEASURED };
static const char *const state_names[MEASURED] = {"none", "subscribed", "lasting", "calls", "kernels", "off"};

/* ---- The driver: only what is needed. */

static struct {
  int (*Init)(unsigned flags);
  int (*DevicePrimaryCtxRetain)(void **context, int device);
  int (*CtxSetCurrent)(void *context);
  int (*ModuleLoadData)(void **module, const char *image);
  int (*ModuleGetFunction)(void **function, void *module, const char *name);
  int (*StreamCreate)(void **stream, unsigned flags);
  int (*StreamSynchronize)(void *stream);
  int (*LaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters,
                      void **extra);
  /* For FILE. */
  int (*MemAlloc)(uint64_t *address, size_t bytes);
  int (*MemFree)(uint64_t address);
  int (*MemcpyHtoDAsync)(uint64_t to, const void *from, size_t bytes, void *stream);
  int (*MemcpyDtoHAsync)(void *to, uint64_t from, size_t bytes, void *stream);
  int (*MemsetD8Async)(uint64_t to, unsigned char value, size_t bytes, void *stream);
  int (*EventCreate)(void **event, unsigned flags);
  int (*EventRecord)(void *event, void *stream);
  int (*StreamWaitEvent)(void *stream, void *event, unsigned flags);
  int (*StreamBeginCapture)(void *stream, int mode);
  int (*StreamEndCapture)(void *stream, void **graph);
  int (*GraphInstantiate)(void **runnable, void *graph, unsigned long long flags);
  int (*GraphLaunch)(void *runnable, void *stream);
} cuda;
static void *context, *kernel;

static void fail(const char *what, int result) {
  fprintf(stderr, "launch_cost: %s: %d\n", what, result);
  exit(1);
}

static void check(const char *what, int result) {
  if (result) fail(what, result);
}

static void find_driver(void) {
  static const struct {
    const char *name;
    void *place;
  } wanted[] = {{"cuInit", &cuda.Init},
                {"cuDevicePrimaryCtxRetain", &cuda.DevicePrimaryCtxRetain},
                {"cuCtxSetCurrent", &cuda.CtxSetCurrent},
                {"cuModuleLoadData", &cuda.ModuleLoadData},
                {"cuModuleGetFunction", &cuda.ModuleGetFunction},
                {"cuStreamCreate", &cuda.StreamCreate},
                {"cuStreamSynchronize", &cuda.StreamSynchronize},
                {"cuLaunchKernel", &cuda.LaunchKernel},
                {"cuMemAlloc_v2", &cuda.MemAlloc},
                {"cuMemFree_v2", &cuda.MemFree},
                {"cuMemcpyHtoDAsync_v2", &cuda.MemcpyHtoDAsync},
                {"cuMemcpyDtoHAsync_v2", &cuda.MemcpyDtoHAsync},
                {"cuMemsetD8Async", &cuda.MemsetD8Async},
                {"cuEventCreate", &cuda.EventCreate},
                {"cuEventRecord", &cuda.EventRecord},
                {"cuStreamWaitEvent", &cuda.StreamWaitEvent},
                {"cuStreamBeginCapture_v2", &cuda.StreamBeginCapture},
                {"cuStreamEndCapture", &cuda.StreamEndCapture},
                {"cuGraphInstantiateWithFlags", &cuda.GraphInstantiate},
                {"cuGraphLaunch", &cuda.GraphLaunch}};
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) fprintf(stderr, "launch_cost: %s\n", dlerror()), exit(1);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *function = dlsym(library, wanted[i].name);
    if (!function) fprintf(stderr, "launch_cost: the driver has no %s\n", wanted[i].name), exit(1);
    memcpy(wanted[i].place, &function, sizeof function);
  }
}

/* The driver makes it for the device, whichever that is: as old a target as it takes. */
static void load_kernel(void) {
#define IMAGE(version, target) \
  ".version " version "\n.target " target "\n.address_size 64\n.visible .entry empty() { ret; }\n"
  static const char *const images[] = {IMAGE("6.0", "sm_52"), IMAGE("6.3", "sm_75")};
  void *module = NULL;
  int result = 1;
  for (size_t i = 0; result && i < sizeof images / sizeof *images; i++)
    result = cuda.ModuleLoadData(&module, images[i]);
  check("cuModuleLoadData", result);
  check("cuModuleGetFunction", cuda.ModuleGetFunction(&kernel, module, "empty"));
}

static void launch(void *stream) {
  int result = cuda.LaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
  if (result) fail("cuLaunchKernel", result);
}

/* ---- What is recorded: taken by one thread at a time, as the writer thread does. */

static _Atomic uint64_t recorded[KINDS];
static _Atomic bool is_over;
static FILE *kept; /* NULL: nothing is kept yet */
static unsigned kept_of[KINDS];

static void keep_record(const struct cupti_record *record, size_t bytes) {
  const uint8_t *at = (const void *)record;
  const struct cupti_kernel *as_kernel = (const void *)record;
  bool is_kernel = record->kind == CUPTI_CONCURRENT_KERNEL && bytes >= offsetof(struct cupti_kernel, name) + 8;
  if (kept_of[record->kind]++ >= KEPT) return;
  fprintf(kept, "{\"kind\":%u,\"bytes\":%zu,\"name\":\"%s\",\"record\":\"", record->kind, bytes,
          is_kernel && as_kernel->name ? as_kernel->name : "");
  for (size_t i = 0; i < bytes; i++) fprintf(kept, "%02x", at[i]);
  fputs("\"}\n", kept);
}

/* As activity_rows.c does. */
static void note_call(const struct cupti_record *record) {
  const struct cupti_call *call = (const void *)record;
  bool is_runtime = record->kind == CUPTI_RUNTIME;
  if (!is_runtime && record->kind != CUPTI_DRIVER) return;
  cuda_calls_note(is_runtime ? CUPTI_RUNTIME_FUNCTIONS : CUPTI_DRIVER_FUNCTIONS, call->function);
}

/* How long a record is, the next one tells. */
static void read_buffer(const struct cupti_api *api, const struct activity_buffer *buffer) {
  struct cupti_record *record = NULL, *before = NULL;
  do {
    before = record;
    bool is_there = api->ActivityGetNextRecord(buffer->bytes, buffer->used, &record) == CUPTI_OK;
    const uint8_t *end = is_there ? (const uint8_t *)record : buffer->bytes + buffer->used;
    if (before && before->kind < KINDS) {
      recorded[before->kind]++;
      note_call(before);
      if (kept) keep_record(before, (size_t)(end - (const uint8_t *)before));
    }
    if (!is_there) break;
  } while (record != before);
}

static void drain(void) {
  struct activity_buffer *buffer;
  struct record_switch change;
  struct device_reading reading;
  while ((buffer = activity_buffers_take())) {
    if (cuda_listener_api()) read_buffer(cuda_listener_api(), buffer);
    activity_buffers_return(buffer);
  }
  while (cuda_listener_take_switch(&change)) continue;
  while (cuda_listener_take_reading(&reading)) continue;
}

static void *drain_again(void *argument) {
  (void)argument;
  while (!is_over) {
    drain();
    usleep(DRAIN_US);
  }
  return NULL;
}

/* ---- The launches. */

static int threads, blocks;
static double *times[MEASURED]; /* of a launch, in each block */
static size_t counts[MEASURED], learnt; /* blocks */
static uint64_t switched_ns[MEASURED];
static pthread_barrier_t barrier;
static struct launcher {
  pthread_t thread;
  void *stream;
  double *times;
} launchers[THREADS];

static void *run_blocks(void *argument) {
  struct launcher *launcher = argument;
  check("cuCtxSetCurrent", cuda.CtxSetCurrent(context));
  for (int block = 0; block < blocks; block++) {
    pthread_barrier_wait(&barrier);
    uint64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; i < LAUNCHES; i++) launch(launcher->stream);
    launcher->times[block] = (double)(clock_monotonic_ns() - begin_ns) / LAUNCHES;
    check("cuStreamSynchronize", cuda.StreamSynchronize(launcher->stream));
  }
  return NULL;
}

static void measure(enum measured state) {
  for (int i = 0; i < threads; i++) {
    launchers[i].times = times[state] + counts[state];
    counts[state] += (size_t)blocks;
    if (pthread_create(&launchers[i].thread, NULL, run_blocks, &launchers[i])) fail("no thread", 0);
  }
  for (int i = 0; i < threads; i++) pthread_join(launchers[i].thread, NULL);
}

static void switch_to(enum measured state) {
  uint64_t begin_ns = clock_monotonic_ns();
  if (state == OFF) cuda_listener_step_aside(true, "nobody");
  else cuda_listener_record(state == KERNELS ? CUDA_ALL : state == CALLS ? CUDA_CALLS : CUDA_NOTHING);
  uint64_t took_ns = clock_monotonic_ns() - begin_ns;
  if (took_ns > switched_ns[state]) switched_ns[state] = took_ns;
  usleep(SETTLE_US);
}

static void ignore_callback(void *own, int domain, uint32_t function, const void *data) {
  (void)own, (void)domain, (void)function, (void)data;
}

/* As the recorder subscribes, but to nothing. */
static void measure_subscribed(void) {
  struct cupti_api api = {0};
  char reason[256], holder[128] = "";
  struct cupti_subscription wish = {sizeof wish, "launch_cost", holder, sizeof holder};
  void *subscriber = NULL;
  if (!cupti_find(&api, reason, sizeof reason)) fprintf(stderr, "launch_cost: %s\n", reason), exit(1);
  check("cuptiSubscribe", api.Subscribe_v2 ? api.Subscribe_v2(&subscriber, ignore_callback, NULL, &wish)
                                           : api.Subscribe(&subscriber, ignore_callback, NULL));
  usleep(SETTLE_US);
  measure(SUBSCRIBED);
  check("cuptiUnsubscribe", api.Unsubscribe(subscriber));
}

static int compare_doubles(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare_doubles);
  return count ? values[count / 2] : 0;
}

static void print_results(void) {
  struct activity_losses losses = activity_buffers_losses();
  printf("{\"ns\":{");
  for (int state = 0; state < MEASURED; state++)
    printf("%s\"%s\":%.1f", state ? "," : "", state_names[state], median(times[state], counts[state]));
  printf("},\"switch_ns\":{");
  for (int state = LASTING; state < MEASURED; state++)
    printf("%s\"%s\":%llu", state > LASTING ? "," : "", state_names[state], (unsigned long long)switched_ns[state]);
  printf("},\"launched\":%zu,\"kernels\":%llu,\"lost\":%llu}\n", (counts[KERNELS] + learnt) * LAUNCHES,
         (unsigned long long)recorded[CUPTI_CONCURRENT_KERNEL],
         (unsigned long long)(losses.dropped + losses.discarded));
}

/* ---- Records of each kind, for FILE. */

static void do_work(void *stream, void *other) {
  static char host[4096];
  uint64_t address = 0;
  void *event = NULL, *graph = NULL, *runnable = NULL;
  check("cuMemAlloc", cuda.MemAlloc(&address, sizeof host));
  check("cuEventCreate", cuda.EventCreate(&event, 0));
  for (int i = 0; i < 4; i++) {
    check("cuMemcpyHtoDAsync", cuda.MemcpyHtoDAsync(address, host, sizeof host, stream));
    check("cuMemsetD8Async", cuda.MemsetD8Async(address, 0, sizeof host / 2, stream));
    launch(stream);
    check("cuEventRecord", cuda.EventRecord(event, stream));
    check("cuStreamWaitEvent", cuda.StreamWaitEvent(other, event, 0));
    check("cuMemcpyDtoHAsync", cuda.MemcpyDtoHAsync(host, address, sizeof host, other));
    check("cuStreamSynchronize", cuda.StreamSynchronize(other));
  }
  check("cuStreamBeginCapture", cuda.StreamBeginCapture(stream, 0));
  for (int i = 0; i < 3; i++) launch(stream);
  check("cuStreamEndCapture", cuda.StreamEndCapture(stream, &graph));
  check("cuGraphInstantiate", cuda.GraphInstantiate(&runnable, graph, 0));
  for (int i = 0; i < 4; i++) check("cuGraphLaunch", cuda.GraphLaunch(runnable, stream));
  check("cuStreamSynchronize", cuda.StreamSynchronize(stream));
  check("cuMemFree", cuda.MemFree(address));
}

static void fetch(bool is_all) {
  const struct timespec until = moment_after(5000);
  cuda_listener_fetch(is_all, &until);
}

/* The recorder hears of calls by their records. */
static void learn_calls(void) {
  int all = blocks;
  blocks = 1;
  measure(KERNELS);
  blocks = all;
  learnt = counts[KERNELS];
  counts[KERNELS] = 0;
  for (int i = 0; i < LEARN_FETCHES && !recorded[CUPTI_DRIVER] && !recorded[CUPTI_RUNTIME]; i++) {
    fetch(false);
    drain();
    usleep(SETTLE_US);
  }
}

static void prepare(void) {
  unsetenv("CUDA_INJECTION64_PATH"); /* nobody else records it */
  find_driver();
  check("cuInit", cuda.Init(0));
  check("cuDevicePrimaryCtxRetain", cuda.DevicePrimaryCtxRetain(&context, 0));
  check("cuCtxSetCurrent", cuda.CtxSetCurrent(context));
  load_kernel();
  for (int i = 0; i < threads; i++) check("cuStreamCreate", cuda.StreamCreate(&launchers[i].stream, 1));
  for (int state = 0; state < MEASURED; state++) {
    times[state] = calloc((size_t)(CYCLES * threads * blocks), sizeof *times[state]);
    if (!times[state]) fail("no memory", 0);
  }
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
}

int main(int argc, char **argv) {
  pthread_t drainer;
  threads = argc > 2 ? atoi(argv[1]) : 0;
  blocks = argc > 2 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > THREADS || blocks < 1 || blocks > BLOCKS)
    return fputs("launch_cost THREADS BLOCKS [FILE]\n", stderr), 2;
  prepare();
  measure(NONE); /* clocks rise */
  counts[NONE] = 0;
  measure(NONE);
  measure_subscribed();
  cuda_listener_begin(TRACE_DEFAULT, UINT64_C(48) << 20);
  if (!cuda_listener_api()) return fputs("launch_cost: it cannot be recorded\n", stderr), 1;
  learn_calls();
  if (pthread_create(&drainer, NULL, drain_again, NULL)) fail("no thread", 0);
  for (int cycle = 0; cycle < CYCLES; cycle++)
    for (int state = LASTING; state <= KERNELS; state++) {
      switch_to((enum measured)state);
      measure((enum measured)state);
    }
  fetch(false);
  switch_to(OFF);
  measure(OFF);
  is_over = true;
  pthread_join(drainer, NULL);
  drain();
  print_results();
  if (argc < 4) return 0;
  kept = fopen(argv[3], "w");
  if (!kept) return perror(argv[3]), 1;
  fprintf(kept, "{\"version\":%u}\n", cuda_listener_api()->version);
  cuda_listener_step_aside(false, "nobody");
  switch_to(KERNELS);
  void *other = NULL;
  check("cuStreamCreate", cuda.StreamCreate(&other, 1));
  do_work(launchers[0].stream, other);
  fetch(true);
  drain();
  return fclose(kept) ? 1 : 0;
}
