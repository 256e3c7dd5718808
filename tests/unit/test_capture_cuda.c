/* test_capture_cuda.c: records that many threads make, while others fetch, switch what is recorded, and step aside, are
** in the file, each once.  On the double of CUPTI (tests/gpu/doubles).  Built with ThreadSanitizer it is the stress
** test of all that the program's threads, the thread that fetches and the writer thread share.
*/
#include "check.h"
#include "cuda/activity_buffers.h"
#include "cuda/cuda_listener.h"
#include "cuda/cuda_source.h"
#include "cuda/cupti_faults.h"
#include "cuda/device_clock.h"
#include "cuda/function_names.h"
#include "cuda/listening_check.h"
#include "cuda/nested_calls.h"
#include "cuda/worker_watch.h"
#include "dump/reader.h"
#include "gpu/doubles/double_cupti.h"
#include "recorder/dump_ids.h"
#include "recorder/recording.h"
#include "session.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, LAUNCHES = 20000, ROUNDS = 40 };

static const struct double_cupti *cupti;
static int (*flush_all)(uint32_t flag);
static char directory[] = "/tmp/tfprof-cuda-XXXXXX";
static _Atomic uint64_t kernels, calls;
static _Atomic bool is_to_end;

static void *launch(void *argument) {
  for (int i = 0; i < LAUNCHES; i++) {
    uint64_t now = cupti->now();
    uint32_t correlation = cupti->next_correlation();
    struct cupti_call call = {.kind = CUPTI_RUNTIME,
                              .function = DOUBLE_LAUNCH_KERNEL,
                              .start = now,
                              .end = now + 1,
                              .thread = (uint32_t)getpid(),
                              .correlation = correlation};
    struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                  .start = now + 1,
                                  .end = now + 2,
                                  .name = "kernel",
                                  .grid = {i % 10 + 1, 1, 1},
                                  .block = {32, 1, 1},
                                  .context = 1,
                                  .stream = 7,
                                  .correlation = correlation};
    if (cupti->is_on(call.kind, call.function) && cupti->put(&call, sizeof call)) atomic_fetch_add(&calls, 1);
    if (cupti->is_on(kernel.kind, 0) && cupti->put(&kernel, sizeof kernel)) atomic_fetch_add(&kernels, 1);
  }
  return argument;
}

/* The program's own flushes, and what others do to the recording meanwhile. */
static void *disturb(void *argument) {
  while (!atomic_load(&is_to_end)) {
    flush_all(0);
    cuda_source.set_detail(DETAIL_FULL);
    cuda_listener_record(CUDA_NOTHING);
    session_flush();
    cuda_listener_record(CUDA_ALL);
  }
  return argument;
}

static void *step_aside(void *argument) {
  for (int i = 0; i < ROUNDS && !atomic_load(&is_to_end); i++) {
    cuda_source_step_aside(true, "another");
    cuda_source_step_aside(false, "another");
  }
  return argument;
}

static uint64_t rows_of(const struct dump_file *file, uint16_t table) {
  uint64_t rows = 0;
  for (size_t i = 0; i < file->frame_count; i++)
    if (file->frames[i].table_dump_id == table) rows += file->frames[i].rows;
  return rows;
}

static void *load_double(const char *folder, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/doubles/%s/%s", TFPROF_BUILD_DIRECTORY, folder, name);
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library) printf("%s\n", dlerror());
  return library;
}

static void test_threads(void) {
  pthread_t threads[THREADS], others[3];
  char path[1024];
  setenv("TFPROF_RUN_DIRECTORY", mkdtemp(directory), 1);
  setenv("TFPROF_QUIET", "1", 1);
  /* Buffers for all of it: what is lost is tested elsewhere. */
  setenv("TFPROF_BUFFER_SIZE", "268435456", 1);
  check(session_load() && session_begin(), "the recording does not begin");
  session_driver_found();
  check(cuda_listener_api() != NULL, "CUPTI is not listened to");
  for (int i = 0; i < THREADS; i++) check(!pthread_create(&threads[i], NULL, launch, NULL), "no thread");
  for (int i = 0; i < 2; i++) check(!pthread_create(&others[i], NULL, disturb, NULL), "no thread");
  check(!pthread_create(&others[2], NULL, step_aside, NULL), "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  atomic_store(&is_to_end, true);
  for (int i = 0; i < 3; i++) pthread_join(others[i], NULL);
  launch(NULL); /* while it is recorded: on a busy machine it may have been aside for all of the others' */
  session_flush();
  cuda_listener_record(CUDA_NOTHING); /* what was not called so far need not be switched */
  check(!cupti->is_on(CUPTI_RUNTIME, DOUBLE_LAUNCH_KERNEL), "launches are recorded");
  check(cupti->is_on(CUPTI_RUNTIME, DOUBLE_GRAPH_LAUNCH), "calls are switched that the program does not make");
  cuda_listener_record(CUDA_ALL);
  check(cupti->is_on(CUPTI_RUNTIME, DOUBLE_LAUNCH_KERNEL), "launches are not recorded");
  snprintf(path, sizeof path, "%s", recording_path());
  session_finish();
  struct dump_file *file;
  struct tfprof_error error;
  check(dump_file_open(path, &file, &error) == TFPROF_OK, "%s cannot be read", path);
  check(file->is_closed, "it is not closed");
  check(rows_of(file, DUMP_TABLE_kernels) == kernels, "%llu kernels of %llu",
        (unsigned long long)rows_of(file, DUMP_TABLE_kernels), (unsigned long long)kernels);
  check(rows_of(file, DUMP_TABLE_api_calls) == calls, "%llu calls of %llu",
        (unsigned long long)rows_of(file, DUMP_TABLE_api_calls), (unsigned long long)calls);
  check(kernels > 0 && rows_of(file, DUMP_TABLE_kernel_configurations) == 10, "%llu kernels, %llu configurations",
        (unsigned long long)kernels, (unsigned long long)rows_of(file, DUMP_TABLE_kernel_configurations));
  check(cupti->lent() == cupti->returned(), "buffers are still lent");
  dump_file_close(file);
  unlink(path);
  rmdir(directory);
}

/* ---- The parts by themselves. */

static void test_words(void) {
  char unknown[16];
  check(cuda_trace_of("kernels,api", unknown, sizeof unknown) == (TRACE_KERNELS | TRACE_API) && !unknown[0], "words");
  check(cuda_trace_of("kernel,,memory", unknown, sizeof unknown) == TRACE_MEMORY, "a word that is none");
  check(!strcmp(unknown, "kernel"), "the unknown word is %s", unknown);
}

static void test_functions(void) {
  static const struct {
    const char *name, *shown;
    enum cupti_domain domain;
    bool is_recorded;
  } functions[] = {
      {"cudaLaunchKernel_v7000", "cudaLaunchKernel", CUPTI_RUNTIME_FUNCTIONS, true},
      {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel", CUPTI_RUNTIME_FUNCTIONS, true},
      {"cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC", CUPTI_RUNTIME_FUNCTIONS, true},
      {"cudaGraphLaunch_v10000", "cudaGraphLaunch", CUPTI_RUNTIME_FUNCTIONS, true},
      {"cudaGraphAddMemcpyNode_v10000", "cudaGraphAddMemcpyNode", CUPTI_RUNTIME_FUNCTIONS, false},
      {"cudaGetDevice_v3020", "cudaGetDevice", CUPTI_RUNTIME_FUNCTIONS, false},
      {"cudaStreamIsCapturing_v10000", "cudaStreamIsCapturing", CUPTI_RUNTIME_FUNCTIONS, false},
      {"cudaEventQuery_v3020", "cudaEventQuery", CUPTI_RUNTIME_FUNCTIONS, false},
      {"cuMemAlloc_v2", "cuMemAlloc_v2", CUPTI_DRIVER_FUNCTIONS, true},
      {"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync_v2", CUPTI_DRIVER_FUNCTIONS, true},
      {"cuPointerGetAttributes", "cuPointerGetAttributes", CUPTI_DRIVER_FUNCTIONS, false},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    const char *name = functions[i].name;
    size_t length = function_name_length(name, functions[i].domain);
    check(length == strlen(functions[i].shown) && !strncmp(name, functions[i].shown, length), "%s: %zu", name, length);
    check(function_is_recorded(name) == functions[i].is_recorded, "%s is %s", name,
          functions[i].is_recorded ? "left out" : "recorded");
  }
}

static void test_layouts(void) {
  check(!cupti_layout_of(14), "a version that is too old");
  check(cupti_layout_of(15)->sizes[CUPTI_KERNEL] == 168 && cupti_layout_of(21)->sizes[CUPTI_KERNEL] == 200,
        "11 and 12");
  check(cupti_layout_of(130001)->sizes[CUPTI_KERNEL] == 216, "an update has the layout of its version");
  check(cupti_layout_of(UINT32_MAX)->version == CUPTI_LAST_KNOWN_VERSION, "versions to come");
}

static void note_clock(struct device_clock *clock, uint64_t time, int64_t ours) {
  const struct device_reading reading = {{.ticks = time, .monotonic_ns = ours, .uncertainty_ns = 9}, true};
  device_clock_note(clock, &reading);
}

/* Whatever the clock does, the order of times on it is kept between two times that it was set. */
static void test_clock(void) {
  struct device_clock clock;
  uint64_t time = 1700000000000000000u;
  int64_t ours = 5000000000, last = INT64_MIN;
  check(device_clock_begin(&clock), "no memory");
  for (int second = 0; second < 200; second++) {
    /* It runs 30 ppm too fast, which takes some readings to learn, and is read with an error of up to 2 us. */
    note_clock(&clock, time, ours + second * 7919 % 2000);
    for (int i = 0; i < 500; i++) {
      int64_t now = device_clock_ns(&clock, time + (uint64_t)i * 2000060);
      check(now >= last, "second %d: the order is not kept", second);
      int64_t off = now - (ours + i * 2000000);
      check(second < 12 || (off > -5000 && off < 5000), "second %d: %lld ns off", second, (long long)off);
      last = now;
    }
    time += 1000030000;
    ours += 1000000000;
  }
  check(clock.jumps == 0, "%llu jumps", (unsigned long long)clock.jumps);
  for (int i = 0; i < 2; i++) { /* an hour forth and back */
    uint64_t before = time - 300000000; /* of a record that is fetched only afterwards */
    time += i ? (uint64_t)-3600000000000 : 3600000000000;
    note_clock(&clock, time, ours);
    int64_t now = device_clock_ns(&clock, time + 1000);
    check(now >= ours && now <= ours + 2000, "it was set: %lld ns off", (long long)(now - ours));
    int64_t off = device_clock_ns(&clock, before) - (ours - 300000000);
    check(off > -40000 && off < 40000, "a record from before it was set is %lld ns off", (long long)off);
    time += 1000000000;
    ours += 1000000000;
  }
  check(clock.jumps == 2, "%llu jumps", (unsigned long long)clock.jumps);
  device_clock_end(&clock);
}

/* How often a thread is told of that takes such shares of a processor, for so many records a second, in each hour. */
static int times_told(const double (*hours)[2], int count) {
  struct worker_watch watch;
  double used_ns = 5e9;
  uint64_t records = 0;
  int told = 0;
  worker_watch_begin(&watch);
  for (int second = 0; second < count * 3600; second++) {
    told += worker_watch_note(&watch, 7, second * 1e9, used_ns, records);
    used_ns += 1e9 * hours[second / 3600][0];
    records += (uint64_t)hours[second / 3600][1];
  }
  return told;
}
#define TIMES_TOLD(...) times_told((const double[][2]){__VA_ARGS__}, sizeof((double[][2]){__VA_ARGS__}) / 16)

/* NVIDIA's release notes; CUPTI's thread is told of once it takes much, and much more than at first. */
static void test_faults(void) {
  check(cupti_faults_of(18) == (FAULT_OF_SWITCHING | FAULT_OF_GRAPHS | FAULT_OF_GROWTH), "11.8");
  check(cupti_faults_of(130001) == (FAULT_OF_GRAPHS | FAULT_OF_GROWTH), "13.0 Update 1");
  check(cupti_faults_of(130101) == FAULT_OF_GROWTH && !cupti_faults_of(130401), "13.1 and 13.4 Update 1");
  check(cupti_fault_text(130400, 3) && !cupti_fault_text(130401, 2) && !cupti_fault_text(18, 9), "texts");
  check(strstr(cupti_fault_text(130401, 0), "#192021") && strstr(cupti_fault_text(130401, 1), "25 million"), "all");
  check(!TIMES_TOLD({0.01, 1e4}, {0.15, 1e4}), "little");
  check(!TIMES_TOLD({0.25, 1e4}, {0.3, 1e4}), "no more than at first");
  check(TIMES_TOLD({0.05, 1e4}, {0.25, 1e4}) == 1, "five times as much, for as many records");
  check(!TIMES_TOLD({0.01, 1e3}, {0.3, 3e4}), "as much for a record, of which there are more");
  check(TIMES_TOLD({0.001, 1}, {0.02, 1e3}, {0.3, 3e3}) == 1, "idle at first, then more for each record");
}

/* A second at which CUPTI seems lost that is silent from the first one on, with records before; 0: none of 200.
** `is_written`: what stands in the buffers that it has changes now and then. `is_read`: our call was among them. */
static int second_lost_of(bool is_written, bool is_read) {
  struct listening_check check = {0};
  struct listening_signs signs = {1, 0, is_read};
  uint64_t silent_ns;
  listening_check_begin(&check, 0);
  check.is_possible = true;
  for (uint64_t second = 0; second < 200; second++) {
    bool is_wanted = listening_check_wants_content(&check, second * 1000000000);
    signs.content = is_wanted ? 1 + (is_written ? second / 3 : 0) : 0;
    if (listening_check_look(&check, &signs, second * 1000000000, &silent_ns) == LISTENING_LOST) return (int)second;
  }
  return 0;
}

static int second_lost(bool is_written) { return second_lost_of(is_written, true); }

/* One that is silent is lost; one that writes into its buffers, though none comes back, is not; and where Kineto's
** daemon may have been asked for a profile that is waited for. */
static void test_listening(void) {
  unsetenv("KINETO_USE_DAEMON");
  check(!second_lost_of(false, false), "CUPTI that never recorded our call is taken for lost");
  check(second_lost(false) == 10, "silence is taken for a loss after %d s", second_lost(false));
  check(!second_lost(true), "a device that is never idle is taken for a loss");
  setenv("KINETO_USE_DAEMON", "1", 1);
  check(second_lost(false) == 60, "a daemon's profile has %d s", second_lost(false));
  unsetenv("KINETO_USE_DAEMON");
}

/* What is called within a call is a part of it, in whatever order the records come, and counts. */
static void test_parts_of_calls(void) {
  enum { COUNT = 100 };
  int told = 0, read = 0;
  nested_calls_begin();
  for (uint32_t i = 0; i < COUNT; i++) {
    struct cupti_call outer = {.kind = CUPTI_RUNTIME,
                               .start = i * 1000 + 1,
                               .end = i * 1000 + 900,
                               .thread = 7,
                               .correlation = i + 1};
    struct cupti_call inner = outer, due, part, *records[] = {i % 2 ? &inner : &outer, i % 2 ? &outer : &inner};
    inner.kind = CUPTI_DRIVER;
    inner.start += 100;
    inner.end -= 100;
    for (int k = 0; k < 2; k++) {
      enum offered_call offered = nested_calls_offer(records[k], &due, &part);
      read += (offered == CALL_IS_READ) + (due.kind != 0);
      told += (offered == CALL_IS_A_PART) + (part.kind == CUPTI_DRIVER);
    }
  }
  check(read == COUNT && told == COUNT, "%d calls, and %d parts of them", read, told);
}

/* ---- Buffers, of a CUPTI that drops nothing. */

static int tell_dropped(void *context, uint32_t stream, size_t *count) {
  (void)context, (void)stream;
  *count = 0;
  return 0;
}

static int tell_next_record(uint8_t *buffer, size_t used, struct cupti_record **record) {
  (void)buffer, (void)used, (void)record;
  return CUPTI_NO_MORE_RECORDS;
}

/* One is asked for, filled, given back after so long, and read: its size. */
static size_t use_buffer(useconds_t microseconds) {
  uint8_t *bytes;
  size_t size, records;
  activity_buffers_request(&bytes, &size, &records);
  usleep(microseconds);
  activity_buffers_complete(NULL, 0, bytes, size, size);
  for (struct activity_buffer *buffer; (buffer = activity_buffers_take());) activity_buffers_return(buffer);
  return size;
}

/* Where the limit is reached what is free is lent, however large, before records are lost. */
static void test_free_buffers(void) {
  static const struct cupti_api fake = {.ActivityGetNumDroppedRecords = tell_dropped,
                                        .ActivityGetNextRecord = tell_next_record};
  enum { MANY = 64, LARGE = 1 << 20 };
  uint8_t *bytes[MANY];
  size_t sizes[MANY], records;
  int lent = 0;
  activity_buffers_begin(&fake, ACTIVITY_BUFFERS_LEAST);
  use_buffer(0), use_buffer(0);
  check(use_buffer(600000) == LARGE, "buffers do not grow");
  do activity_buffers_request(&bytes[lent], &sizes[lent], &records);
  while (sizes[lent] < LARGE && ++lent < MANY);
  check(!activity_buffers_lent() && !activity_buffers_arrears(UINT64_MAX).held, "empty ones are asked back");
  for (int i = 0; i <= lent && i < MANY; i++) bytes[i][0] = 1;
  check(lent < MANY && activity_buffers_lent() == (unsigned)lent + 1, "the free one is not lent: %d others are", lent);
  check(!activity_buffers_losses().discarded, "records are lost");
  for (int i = 0; i <= lent && i < MANY; i++) activity_buffers_complete(NULL, 0, bytes[i], sizes[i], 0);
}

int main(void) {
  void *driver = load_double("cuda", "libcuda.so.1"), *library = load_double("cupti13.0", "libcupti.so.13");
  int (*initialise)(unsigned) = NULL;
  if (!driver || !library) return 1;
  cupti = dlsym(library, "double_cupti");
  *(void **)&flush_all = dlsym(library, "cuptiActivityFlushAll");
  *(void **)&initialise = dlsym(driver, "cuInit");
  unsetenv("CUDA_INJECTION64_PATH");
  initialise(0);
  test_words();
  test_functions();
  test_layouts();
  test_clock();
  test_faults();
  test_listening();
  test_parts_of_calls();
  test_free_buffers();
  test_threads();
  return check_result();
}
