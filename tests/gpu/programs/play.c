/* play.c: a program that uses CUDA, as far as tests need: it initialises the driver (double_cuda.c) and plays what
** CUPTI would record of it (double_cupti.h), word by word, and tells at its end how many records of each sort it took:
**
**   kernels=N     N launches, each a call and a kernel, of eight kernels in four geometries on two streams
**   nested=N      N launches by the runtime, whose calls of the driver are recorded, too
**   copies=N      copies to the device and fills, each with its call
**   peers=N       copies between two devices
**   graphs=NxM    N launches of a graph of M kernels; strays=NxM: to which CUPTI gives the number of another launch
**   syncs=N       an event that is recorded, a stream that waits for it, a host that waits for the stream
**   memory=N      pieces of the driver's memory that are taken and given back
**   unified=N, overheads=N, jits=N, links=N, environment=N, pools=N, idle=N (calls that are worth no row)
**   failed=N      such calls that fail
**   threads=N     the words behind it on N threads at once
**   unknown=N, cut=N (records whose end is missing), timeless=N, reversed=N, early=N (before their call)
**   clock=MS      CUPTI's clock is set; ticks: it is told to count the processor's ticks
**   finalize      somebody calls cuptiFinalize
**   steal         another one takes the records from here on; once more: it leaves
**   replace       another one finalises CUPTI and subscribes itself, and stays
**   fall          the device falls off the bus: CUPTI answers everything with an error
**   correlation=N numbers go on from there; back: buffers are given back
**   flushes=N     the program itself flushes CUPTI's buffers; odd: buffers come back that cannot be
**   left          the other one that listens (DOUBLE_HOLDER) leaves; waits until kernels are recorded
**   names         streams and devices, a context, an event and the thread are named by NVTX; as often as it is said
**   sleep=MS, wait (until the fetching thread has fetched), input (tells the numbers, and waits for a line)
**   late          the driver is initialised here; without it at the beginning
**   begins        a thread initialises the driver, for a second
**   reset         the program resets the device: its context is another one from here on
**   fork=WORD     a child that initialises the driver, if that is "cuda", and plays 100 kernels, or none
**   return, exit, _exit, abort, kill, term, exec, quiet (nothing of CUDA at all), callback_exit (exit,
**   within a callback of CUPTI's)
*/
#include "../../unit/fake_nvtx.h"
#include "../doubles/double_cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct double_cupti *cupti;
static int (*flush_all)(uint32_t flag), (*finalize)(void);
static _Atomic long taken[CUPTI_KINDS];
enum { HTOD = 1, PTOP = 10, PAGEABLE = 1, PINNED = 2, DEVICE = 3 };

static bool put(const void *record, size_t bytes, uint32_t function) {
  uint32_t kind = ((const struct cupti_record *)record)->kind;
  if (!cupti || !cupti->is_on(kind, function) || !cupti->put(record, bytes)) return false;
  taken[kind]++;
  return true;
}
#define PUT(record) put(&(record), sizeof(record), 0)

static uint32_t thread_id(void) { return (uint32_t)syscall(SYS_gettid); }

static uint32_t next_number(void) { return cupti ? cupti->next_correlation() : 0; }

static uint32_t put_call_of(uint32_t correlation, uint32_t kind, uint32_t function, uint64_t start, uint32_t result) {
  struct cupti_call call = {.kind = kind,
                            .function = function,
                            .start = start,
                            .end = start + 2000,
                            .result = result,
                            .process = (uint32_t)getpid(),
                            .thread = thread_id(),
                            .correlation = correlation};
  put(&call, sizeof call, function);
  return correlation;
}

static uint32_t put_call(uint32_t kind, uint32_t function, uint64_t start, uint32_t result) {
  return put_call_of(next_number(), kind, function, start, result);
}

static _Atomic uint32_t context = 1;

static void put_kernel(uint32_t correlation, uint64_t start, unsigned number, uint32_t graph) {
  static const char *const names[] = {"_ZN2at6native4gemmIfEEvPT_S2_i",
                                      "sgemm_128x64_tn",
                                      "void softmax<float>(float*)",
                                      "ncclDevKernel_AllReduce",
                                      "elementwise",
                                      "reduce",
                                      "copy",
                                      "fill"};
  struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                .registers = 64,
                                .queued = start - 3000,
                                .submitted = start - 1000,
                                .start = start,
                                .end = start + 1500 + (uint64_t)(number % 7) * 100,
                                .context = context,
                                .stream = 7 + number % 2,
                                .grid = {(int32_t)(128 << number % 4), 1, 1},
                                .block = {256, 1, 1},
                                .static_shared = 1024,
                                .dynamic_shared = (int32_t)(number % 4 * 512),
                                .correlation = correlation,
                                .name = names[number % 8],
                                .graph = graph,
                                .graph_node = graph ? ((uint64_t)graph << 32) + number : 0,
                                .cluster = {number % 8 == 3 ? 2 : 0, 1, 1},
                                .priority = -1};
  PUT(kernel);
}

static void play_kernels(long count) {
  for (long i = 0; i < count; i++) {
    uint64_t now = cupti ? cupti->now() : 0;
    uint32_t correlation = put_call(i % 16 == 15 ? CUPTI_DRIVER : CUPTI_RUNTIME,
                                    i % 16 == 15 ? DOUBLE_DRIVER_LAUNCH : DOUBLE_LAUNCH_KERNEL, now, 0);
    put_kernel(correlation, now + 5000, (unsigned)i, 0);
  }
}

/* Of each launch the call of the runtime and that of the driver within it are recorded: as a rule the inner one first,
** and some in two buffers of which the first has been fetched meanwhile. */
static void play_nested(long count) {
  for (long i = 0; i < count && cupti; i++) {
    uint64_t now = cupti->now();
    struct cupti_call outer = {.kind = CUPTI_RUNTIME,
                               .function = DOUBLE_LAUNCH_KERNEL,
                               .start = now,
                               .end = now + 2000,
                               .process = (uint32_t)getpid(),
                               .thread = thread_id(),
                               .correlation = cupti->next_correlation()};
    struct cupti_call inner = outer, *calls[] = {&inner, &outer};
    inner.kind = CUPTI_DRIVER;
    inner.function = DOUBLE_DRIVER_LAUNCH;
    inner.start += 300;
    inner.end -= 300;
    for (int k = 0; k < 2; k++) {
      struct cupti_call *call = calls[i % 5 == 4 ? 1 - k : k];
      put(call, sizeof *call, call->function);
      if (k || i % 25 < 23) continue;
      cupti->give_back();
      usleep(30000);
    }
    put_kernel(outer.correlation, now + 5000, (unsigned)i, 0);
  }
}

static void play_copies(long count, bool is_peers) {
  for (long i = 0; i < count && cupti; i++) {
    uint64_t now = cupti->now();
    bool is_fill = i % 4 == 3 && !is_peers;
    uint32_t correlation = put_call(CUPTI_RUNTIME, is_fill ? DOUBLE_MEMSET_ASYNC : DOUBLE_MEMCPY_ASYNC, now, 0);
    struct cupti_memcpy copy = {.kind = CUPTI_MEMCPY,
                                .direction = HTOD,
                                .source = i % 2 ? PINNED : PAGEABLE,
                                .target = DEVICE,
                                .flags = 1,
                                .bytes = 4096,
                                .start = now + 3000,
                                .end = now + 4000,
                                .context = 1,
                                .stream = 7,
                                .correlation = correlation};
    struct cupti_memset fill = {.kind = CUPTI_MEMSET,
                                .bytes = 512,
                                .start = now + 3000,
                                .end = now + 3500,
                                .context = 1,
                                .stream = 7,
                                .correlation = correlation,
                                .memory = DEVICE};
    struct cupti_memcpy_peers peers = {.kind = CUPTI_MEMCPY_PEERS,
                                       .direction = PTOP,
                                       .source = DEVICE,
                                       .target = DEVICE,
                                       .bytes = 8192,
                                       .start = now + 3000,
                                       .end = now + 9000,
                                       .context = 1,
                                       .stream = 7,
                                       .target_device = 1,
                                       .correlation = correlation};
    if (is_peers) PUT(peers);
    else if (is_fill) PUT(fill);
    else PUT(copy);
  }
}

/* Of every other launch the kernels are recorded before the call, in a buffer of their own. Strays have the number of
** the launch before, of a graph or of a kernel. */
static void play_graphs(long launches, long kernels, bool are_strays) {
  uint32_t before = 0;
  for (long i = 0; i < launches && cupti; i++) {
    uint64_t now = cupti->now();
    uint32_t number = next_number(), correlation = are_strays ? before : number;
    if (are_strays && !i) correlation = put_call(CUPTI_RUNTIME, DOUBLE_LAUNCH_KERNEL, now, 0);
    if (i % 2 == 0) put_call_of(number, CUPTI_RUNTIME, DOUBLE_GRAPH_LAUNCH, now, 0);
    for (long k = 0; k < kernels; k++) put_kernel(correlation, now + 4000 + (uint64_t)k * 3000, (unsigned)k, 77);
    if (i % 2) cupti->give_back();
    if (i % 2) put_call_of(number, CUPTI_RUNTIME, DOUBLE_GRAPH_LAUNCH, now, 0);
    before = are_strays && before ? before : number;
    struct cupti_graph_trace whole = {.kind = CUPTI_GRAPH_TRACE,
                                      .correlation = correlation,
                                      .start = now + 4000,
                                      .end = now + 9000,
                                      .graph = 77,
                                      .context = 1,
                                      .stream = 7};
    PUT(whole);
  }
}

static void play_syncs(long count) {
  for (long i = 0; i < count && cupti; i++) {
    uint64_t now = cupti->now();
    uint32_t recorded = put_call(CUPTI_RUNTIME, DOUBLE_EVENT_RECORD, now, 0);
    struct cupti_event event = {.kind = CUPTI_EVENT,
                                .correlation = recorded,
                                .context = 1,
                                .stream = 7,
                                .event = 5,
                                .event_sync = (uint64_t)i + 1};
    PUT(event);
    struct cupti_synchronization wait = {.kind = CUPTI_SYNCHRONIZATION,
                                         .type = 2,
                                         .start = now + 5000,
                                         .end = now + 5000,
                                         .correlation = cupti->next_correlation(),
                                         .context = 1,
                                         .stream = 8,
                                         .event = 5,
                                         .event_sync = (uint64_t)i + 1};
    PUT(wait);
    struct cupti_synchronization host = {.kind = CUPTI_SYNCHRONIZATION,
                                         .type = 3,
                                         .start = now + 6000,
                                         .end = now + 90000,
                                         .context = 1,
                                         .stream = 7,
                                         .event = UINT32_MAX};
    host.correlation = put_call(CUPTI_RUNTIME, DOUBLE_STREAM_SYNCHRONIZE, now + 5500, 0);
    PUT(host);
  }
}

static void play_memory(long count) {
  for (long i = 0; i < count && cupti; i++) {
    struct cupti_memory piece = {.kind = CUPTI_MEMORY,
                                 .operation = 1,
                                 .memory = DEVICE,
                                 .address = 0x7000000,
                                 .bytes = 2 << 20,
                                 .time = cupti->now()};
    PUT(piece);
    piece.operation = 2;
    piece.time += 1000;
    PUT(piece);
  }
}

/* Two streams and a device get names, by NVTX: one of the streams has none of its own, and is refused. */
static void name_resources(void) {
  static int times;
  char name[64];
  const char *path = getenv("NVTX_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  int (*inject)(nvtx_get_export_table) = NULL;
  if (library) *(void **)&inject = dlsym(library, "InitializeInjectionNvtx2");
  if (!inject || !inject(fake_table)) return;
  ((void (*)(uint32_t, const char *))fake_cudart[NVTX_NAME_CUDA_DEVICE])(1, "the \"second\" \\\n one");
  ((void (*)(uintptr_t, const char *))fake_cudart[NVTX_NAME_CUDA_STREAM])(8 * 7, "of compute");
  ((void (*)(uintptr_t, const char *))fake_cuda[NVTX_NAME_CU_STREAM])(8 * 8, "another");
  ((void (*)(uintptr_t, const char *))fake_cuda[NVTX_NAME_CU_STREAM])(8 * 8, "of copies");
  ((void (*)(uintptr_t, const char *))fake_cuda[NVTX_NAME_CU_STREAM])(1, "none");
  if (times++) ((void (*)(uintptr_t, const char *))fake_cuda[NVTX_NAME_CU_STREAM])(8 * 8, "of copies again");
  snprintf(name, sizeof name, "player %d", times);
  ((void (*)(uint32_t, const char *))fake_core[NVTX_NAME_OS_THREAD_A])(thread_id(), name);
  ((void (*)(uintptr_t, const char *))fake_cuda[NVTX_NAME_CU_CONTEXT])(0x4000, "the context");
  ((void (*)(uintptr_t, const char *))fake_cudart[NVTX_NAME_CUDA_EVENT])(0x5000, "the event");
}

static void play_rest(const char *word, long count) {
  for (long i = 0; i < count && cupti; i++) {
    uint64_t now = cupti->now();
    struct cupti_unified_memory moved = {.kind = CUPTI_UNIFIED_MEMORY,
                                         .counter = 1 + i % 4,
                                         .value = 65536,
                                         .start = now,
                                         .end = now + 1000,
                                         .address = 0x10000,
                                         .target = (uint32_t)i / 4 % 2,
                                         .source = (uint32_t)i / 4 % 2,
                                         .flags = 3};
    struct cupti_overhead overhead = {.kind = CUPTI_OVERHEAD,
                                      .overhead = 1 << 16,
                                      .object = 2,
                                      .object_id = {(uint32_t)getpid(), thread_id()},
                                      .start = now,
                                      .end = now + 500};
    struct cupti_jit jit = {
        .kind = CUPTI_JIT, .entry = 1, .operation = 3, .start = now, .end = now + 70000, .thread = thread_id()};
    struct cupti_environment power = {
        .kind = CUPTI_ENVIRONMENT, .time = now, .environment = 3, .values = {250000, 700000}};
    struct cupti_memory_pool pool = {
        .kind = CUPTI_MEMORY_POOL, .operation = 1 + i % 2, .address = 0x20000, .bytes = 1 << 25, .time = now};
    struct {
      struct cupti_pcie pcie;
      uint8_t more[168];
    } bus = {.pcie = {.kind = CUPTI_PCIE, .id = (uint32_t)i % 2, .generation = 5, .rate = 32, .width = 16}};
    struct {
      struct cupti_nvlink link;
      uint8_t more[128];
    } wire = {.link = {.kind = CUPTI_NVLINK, .types = {1, 1}, .count = 18}};
    memset(wire.link.uuids[0], 0xa0, 16);
    memset(wire.link.uuids[1], 0xa1, 16);
    uint64_t rate = 450000000;
    memcpy((char *)&wire + (cupti->version < 130200 ? 120 : 72), &rate, sizeof rate);
    if (!strcmp(word, "unified") && cupti->counts(moved.counter, moved.target)) PUT(moved);
    if (!strcmp(word, "overheads")) PUT(overhead);
    if (!strcmp(word, "jits")) PUT(jit);
    if (!strcmp(word, "environment")) PUT(power);
    if (!strcmp(word, "pools")) PUT(pool);
    if (!strcmp(word, "links")) PUT(bus);
    if (!strcmp(word, "links")) PUT(wire);
    if (!strcmp(word, "idle")) put_call(CUPTI_RUNTIME, DOUBLE_GET_DEVICE, now, 0);
    if (!strcmp(word, "failed")) put_call(CUPTI_RUNTIME, DOUBLE_MALLOC, now, 2);
  }
}

static void play_bad(const char *word, long count) {
  for (long i = 0; i < count && cupti; i++) {
    uint64_t now = cupti->now();
    uint32_t unknown[DOUBLE_UNKNOWN_BYTES / 4] = {DOUBLE_UNKNOWN_KIND};
    struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                  .context = 1,
                                  .stream = 7,
                                  .name = "bad",
                                  .block = {32, 1, 1},
                                  .grid = {1, 1, 1},
                                  .start = now,
                                  .end = now - 10};
    if (!strcmp(word, "unknown")) PUT(unknown);
    if (!strcmp(word, "timeless")) kernel.start = kernel.end = 0;
    if (!strcmp(word, "timeless") || !strcmp(word, "reversed")) PUT(kernel);
    if (!strcmp(word, "early")) put_kernel(put_call(CUPTI_RUNTIME, DOUBLE_LAUNCH_KERNEL, now, 0), now - 100, 0, 0);
    if (!strcmp(word, "cut")) {
      put_kernel(0, now, 0, 0);
      cupti->cut(180);
      cupti->give_back();
    }
  }
}

static void initialise(void) {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned) = NULL;
  if (cuda) *(void **)&init = dlsym(cuda, "cuInit");
  if (!init || init(0)) {
    fprintf(stderr, "no driver: %s\n", cuda ? "cuInit failed" : dlerror());
    return;
  }
  static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
  for (int i = 0; i < 3 && !cupti; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    if (library) cupti = dlsym(library, "double_cupti");
    if (library) *(void **)&flush_all = dlsym(library, "cuptiActivityFlushAll");
    if (library) *(void **)&finalize = dlsym(library, "cuptiFinalize");
  }
}

static void *initialise_on_thread(void *own) {
  initialise();
  return own;
}

static void reset_device(void) {
  put_call(CUPTI_RUNTIME, DOUBLE_DEVICE_RESET, cupti ? cupti->now() : 0, 0);
  if (cupti) cupti->give_back();
  struct cupti_context next = {.kind = CUPTI_CONTEXT, .context = ++context};
  PUT(next);
}

static void tell(void) {
  static const struct {
    const char *name;
    int kind;
  } sorts[] = {{"kernels", CUPTI_CONCURRENT_KERNEL},
               {"runtime", CUPTI_RUNTIME},
               {"driver", CUPTI_DRIVER},
               {"copies", CUPTI_MEMCPY},
               {"peers", CUPTI_MEMCPY_PEERS},
               {"fills", CUPTI_MEMSET},
               {"syncs", CUPTI_SYNCHRONIZATION},
               {"graphs", CUPTI_GRAPH_TRACE},
               {"memory", CUPTI_MEMORY},
               {"unified", CUPTI_UNIFIED_MEMORY},
               {"overheads", CUPTI_OVERHEAD},
               {"jits", CUPTI_JIT},
               {"pools", CUPTI_MEMORY_POOL},
               {"environment", CUPTI_ENVIRONMENT},
               {"unknown", DOUBLE_UNKNOWN_KIND}};
  for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) printf("%s=%ld ", sorts[i].name, taken[sorts[i].kind]);
  printf("\n");
  fflush(stdout);
}

static void fork_child(const char *word) {
  pid_t child = fork();
  if (!child) {
    if (!strcmp(word, "cuda")) initialise();
    if (cupti) play_kernels(100);
    exit(0);
  }
  waitpid(child, NULL, 0);
}

static void end(const char *word, char **argv) {
  tell();
  if (!strcmp(word, "exit")) exit(0);
  if (!strcmp(word, "callback_exit")) {
    if (cupti) cupti->begin_callback();
    exit(0);
  }
  if (!strcmp(word, "_exit")) _exit(0);
  if (!strcmp(word, "abort")) abort();
  if (!strcmp(word, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(word, "term")) kill(getpid(), SIGTERM);
  if (!strcmp(word, "exec")) execl("/bin/true", "true", (char *)NULL);
  if (!strcmp(word, "again")) execl("/proc/self/exe", argv[0], "kernels=10", "return", (char *)NULL);
}

static void wait_for_fetch(void) {
  if (!cupti) return;
  cupti->give_back();
  /* What it asks for after this moment is asked for by a thread that has been fetched from. */
  for (int looks = 0; looks < 2; looks++) {
    play_kernels(1);
    for (uint64_t before = cupti->returned(); cupti->returned() == before;) usleep(1000);
  }
}

static void play(char **words, char **argv);

static void *play_words(void *words) {
  play(words, words);
  return NULL;
}

static void play(char **words, char **argv) {
  for (char **at = words; *at; at++) {
    char word[32];
    const char *value = strchr(*at, '=');
    snprintf(word, sizeof word, "%.*s", (int)strcspn(*at, "="), *at);
    long count = value ? strtol(value + 1, NULL, 10) : 0;
    if (!strcmp(word, "threads")) {
      pthread_t threads[64];
      for (long i = 0; i < count && i < 64; i++) pthread_create(&threads[i], NULL, play_words, at + 1);
      for (long i = 0; i < count && i < 64; i++) pthread_join(threads[i], NULL);
      while (at[1] && strcmp(at[1], "joined")) at++;
      if (at[1]) at++;
    } else if (!strcmp(word, "joined")) {
      return;
    } else if (!strcmp(word, "late")) {
      initialise();
    } else if (!strcmp(word, "begins")) {
      pthread_t thread;
      if (!pthread_create(&thread, NULL, initialise_on_thread, NULL)) pthread_detach(thread);
      sleep(1);
    } else if (!strcmp(word, "reset")) {
      reset_device();
    } else if (!strcmp(word, "kernels")) {
      play_kernels(count);
    } else if (!strcmp(word, "nested")) {
      play_nested(count);
    } else if (!strcmp(word, "copies") || !strcmp(word, "peers")) {
      play_copies(count, word[0] == 'p');
    } else if (!strcmp(word, "graphs") || !strcmp(word, "strays")) {
      play_graphs(count, strtol(strchr(value, 'x') + 1, NULL, 10), word[0] == 's');
    } else if (!strcmp(word, "syncs")) {
      play_syncs(count);
    } else if (!strcmp(word, "memory")) {
      play_memory(count);
    } else if (!strcmp(word, "sleep")) {
      usleep((useconds_t)count * 1000);
    } else if (!strcmp(word, "input")) {
      tell();
      for (int letter = 0; letter != '\n' && letter != EOF;) letter = getchar();
    } else if (!strcmp(word, "wait")) {
      wait_for_fetch();
    } else if (!strcmp(word, "clock")) {
      if (cupti) cupti->set_clock((int64_t)count * 1000000);
    } else if (!strcmp(word, "finalize")) {
      if (finalize) finalize();
    } else if (!strcmp(word, "steal")) {
      if (cupti) cupti->steal();
    } else if (!strcmp(word, "replace")) {
      if (cupti) cupti->replace();
    } else if (!strcmp(word, "fall")) {
      if (cupti) cupti->fall();
    } else if (!strcmp(word, "ticks")) {
      if (cupti) cupti->keep_ticks();
    } else if (!strcmp(word, "correlation")) {
      if (cupti) cupti->set_correlation((uint32_t)strtoul(value + 1, NULL, 10));
    } else if (!strcmp(word, "flushes")) {
      for (long i = 0; i < count && flush_all; i++) play_kernels(1), flush_all(i % 2 ? 0 : 1);
    } else if (!strcmp(word, "names")) {
      name_resources();
    } else if (!strcmp(word, "left")) {
      if (cupti) cupti->holder_leaves();
      while (cupti && !cupti->is_on(CUPTI_CONCURRENT_KERNEL, 0)) usleep(10000);
    } else if (!strcmp(word, "odd")) {
      if (cupti) cupti->give_odd_back();
    } else if (!strcmp(word, "back")) {
      if (cupti) cupti->give_back();
    } else if (!strcmp(word, "fork")) {
      fork_child(value + 1);
    } else {
      play_rest(word, count);
      play_bad(word, count);
      if (!value) end(word, argv);
    }
  }
}

int main(int argc, char **argv) {
  bool is_late = false;
  for (int i = 1; i < argc; i++)
    is_late |= !strcmp(argv[i], "late") || !strcmp(argv[i], "begins") || !strcmp(argv[i], "quiet");
  if (!is_late) initialise();
  play(argv + 1, argv);
  return 0;
}
