/* bench_capture_cuda.c: what the recorder takes for records of GPUs, on the double of CUPTI (tests/gpu/doubles).
**
**   bench_capture_cuda [LAUNCHES]      (default 4,000,000)
**
** - from CUPTI's buffers to the dump: records handled by the writer thread in a second of its processor time, with what
**   encoding and writing take, and bytes in the dump for each kernel and each call;
** - our part of a launch on the program's thread: what asking for buffers and giving them back takes, by launch;
** - lost at a million records a second: threads that make as many, for some seconds.
*/
#include "bench/figures.h"
#include "cuda/activity_buffers.h"
#include "cuda/cuda_listener.h"
#include "cuda/cupti_api.h"
#include "gpu/doubles/double_cupti.h"
#include "recorder/clock.h"
#include "recorder/recording.h"
#include "session.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 60, FORMS = 300, BATCH = 4000 };

static const struct double_cupti *cupti;
static char names[NAMES][200];
static long launches = 4000000;

/* Up to `below`; as times are that no pattern foretells. */
static uint64_t jitter(uint64_t below) {
  static _Thread_local uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 20) % below;
}

/* A step of a model: kernels of some hundred forms one after the other, on one stream, some microseconds each. */
static void put_launch(long number, uint64_t now) {
  uint32_t correlation = cupti->next_correlation();
  unsigned form = (unsigned)(number * 7919 % FORMS);
  uint64_t late = jitter(900);
  struct cupti_call call = {.kind = CUPTI_RUNTIME,
                            .function = DOUBLE_LAUNCH_KERNEL,
                            .start = now,
                            .end = now + 3000 + jitter(700),
                            .thread = (uint32_t)getpid(),
                            .correlation = correlation};
  struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                .registers = 40 + form % 5 * 16,
                                .start = now + 9000 + late,
                                .end = now + 11000 + late + form * 13 + jitter(300),
                                .context = 1,
                                .stream = 7,
                                .grid = {(int32_t)(form % 50 + 1) * 16, 1, 1},
                                .block = {form % 3 ? 256 : 128, 1, 1},
                                .correlation = correlation,
                                .name = names[form % NAMES]};
  cupti->put(&call, sizeof call);
  cupti->put(&kernel, sizeof kernel);
}

static void *load_double(const char *folder, const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/doubles/%s/%s", TFPROF_BUILD_DIRECTORY, folder, name);
  return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* Processor time of the writer thread: of the process less that of this thread. */
static double others_ns(void) {
  struct timespec all;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
  return (double)all.tv_sec * 1e9 + (double)all.tv_nsec - clock_thread_ns();
}

static uint64_t file_bytes(void) {
  struct stat status;
  return stat(recording_path(), &status) ? 0 : (uint64_t)status.st_size;
}

static void tell_ns(const char *what, double ns) {
  tell_figure(&(struct figure){.subject = "recorder", .value = ns, .unit = "ns", .command = "bench_capture_cuda"}, "%s",
              what);
}

static void tell_handling(double taken_ns, double bytes, double making_ns) {
  double records = 2.0 * (double)launches;
  struct figure figure = {.subject = "recorder", .unit = "million/s", .command = "bench_capture_cuda"};
  figure.value = records / taken_ns * 1e3;
  figure.better = "higher";
  tell_figure(&figure, "Records of GPUs that the writer thread takes to the dump in a second of its time");
  tell_ns("Time of the writer thread for a record of a GPU", taken_ns / records);
  figure = (struct figure){.subject = "recorder", .unit = "B", .command = figure.command};
  figure.value = bytes / (double)launches;
  tell_figure(&figure, "A kernel and its call in the dump");
  figure = (struct figure){.subject = "recorder", .unit = "ns", .command = figure.command, .better = "neither"};
  figure.value = making_ns / (double)launches;
  tell_figure(&figure, "Making a launch's two records on the double of CUPTI, buffers included");
}

/* Launches are made in bursts that the buffers hold; the recorder takes each before the next begins. */
static void measure_handling(void) {
  double taken_ns = 0, making_ns = 0;
  uint64_t time = cupti->now(), before = file_bytes();
  for (long made = 0; made < launches; made += BATCH) {
    double begin_ns = clock_thread_ns(), others_begin_ns = others_ns();
    for (long i = 0; i < BATCH; i++) put_launch(made + i, time += 12000 + jitter(5000));
    cupti->give_back();
    making_ns += clock_thread_ns() - begin_ns;
    recording_flush(10000);
    taken_ns += others_ns() - others_begin_ns;
  }
  double records = 2.0 * (double)launches;
  printf("%.2f million records a second of the writer thread, from CUPTI's buffer to the dump: %.0f ns each\n",
         records / taken_ns * 1e3, taken_ns / records);
  printf("%.2f bytes in the dump for a kernel and its call\n", (double)(file_bytes() - before) / (double)launches);
  printf("%.0f ns to make a launch's two records on the double, buffers included\n", making_ns / (double)launches);
  tell_handling(taken_ns, (double)(file_bytes() - before), making_ns);
}

/* Our part on the program's threads: a buffer is asked for and given back once in so many records. */
static void measure_buffers(void) {
  enum { ROUNDS = 2000 };
  struct activity_buffer *taken;
  size_t buffer_bytes = 0;
  double begin_ns = clock_thread_ns();
  for (int i = 0; i < ROUNDS; i++) {
    uint8_t *buffer;
    size_t size, records;
    activity_buffers_request(&buffer, &size, &records);
    activity_buffers_complete(NULL, 0, buffer, size, size);
    buffer_bytes = size;
    while ((taken = activity_buffers_take())) activity_buffers_return(taken);
  }
  double each_ns = (clock_thread_ns() - begin_ns) / ROUNDS;
  size_t bytes = cupti_layout_of(cupti->version)->sizes[CUPTI_KERNEL] + sizeof(struct cupti_call);
  printf("%.0f ns of ours for a buffer: %.2f ns for a launch of %zu bytes of records\n", each_ns,
         each_ns * (double)bytes / (double)buffer_bytes, bytes);
  char what[100], size[32];
  snprintf(size, sizeof size, buffer_bytes >= 1 << 20 ? "%zu MiB" : "%zu KiB",
           buffer_bytes >> (buffer_bytes >= 1 << 20 ? 20 : 10));
  snprintf(what, sizeof what, "Our part of a buffer of %s on the program's thread", size);
  tell_ns(what, each_ns);
  snprintf(what, sizeof what, "Our part of a launch on the program's thread, with buffers of %s", size);
  tell_ns(what, each_ns * (double)bytes / (double)buffer_bytes);
}

static _Atomic bool is_over;

static void *launch_at_rate(void *argument) {
  long *made = argument;
  uint64_t begin_ns = clock_monotonic_ns();
  while (!is_over) {
    /* Half a million launches a second in all: two records each. */
    if ((double)*made > (double)(clock_monotonic_ns() - begin_ns) * 1e-9 * 500000) {
      usleep(200);
      continue;
    }
    for (int i = 0; i < 50; i++) put_launch((*made)++, cupti->now());
  }
  return NULL;
}

static void measure_rate(void) {
  pthread_t thread;
  long made = 0;
  uint64_t begin_ns = clock_monotonic_ns();
  struct activity_losses before = activity_buffers_losses();
  pthread_create(&thread, NULL, launch_at_rate, &made);
  sleep(5);
  is_over = true;
  pthread_join(thread, NULL);
  double seconds = (double)(clock_monotonic_ns() - begin_ns) * 1e-9;
  struct activity_losses after = activity_buffers_losses();
  unsigned long long lost = after.dropped + after.discarded - before.dropped - before.discarded;
  printf("%.2f million records a second: %llu lost of %ld\n", 2 * (double)made / seconds / 1e6, lost, 2 * made);
  tell_figure(&(struct figure){.subject = "recorder",
                               .value = (double)lost,
                               .unit = "",
                               .command = "bench_capture_cuda",
                               .trials = 2 * made},
              "Records of GPUs lost, made at a million a second for 5 s");
}

int main(int argc, char **argv) {
  static char directory[] = "/tmp/tfprof-bench-XXXXXX";
  void *driver = load_double("cuda", "libcuda.so.1"), *library = load_double("cupti13.0", "libcupti.so.13");
  int (*initialise)(unsigned) = NULL;
  if (!driver || !library) return fprintf(stderr, "%s\n", dlerror()), 1;
  if (argc > 1) launches = strtol(argv[1], NULL, 10);
  cupti = dlsym(library, "double_cupti");
  *(void **)&initialise = dlsym(driver, "cuInit");
  unsetenv("CUDA_INJECTION64_PATH");
  initialise(0);
  for (int i = 0; i < NAMES; i++)
    snprintf(names[i], sizeof names[i],
             "void at::native::vectorized_elementwise_kernel<4, at::native::Functor%d<float>, "
             "std::array<char*, 3ul> >(int, at::native::Functor%d<float>, std::array<char*, 3ul>)",
             i, i);
  setenv("TFPROF_RUN_DIRECTORY", mkdtemp(directory), 1);
  setenv("TFPROF_QUIET", "1", 1);
  if (!session_load() || !session_begin()) return 1;
  session_driver_found();
  measure_handling();
  measure_buffers();
  measure_rate();
  char path[4352];
  snprintf(path, sizeof path, "%s", recording_path());
  session_finish();
  unlink(path);
  rmdir(directory);
  return 0;
}
