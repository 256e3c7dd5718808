/* workload_double.c: stands for workload.py where there is no GPU, on the doubles of CUDA (doubles/): the same words,
** the same figures, and of torch.profiler the trace that it would write of these steps. Where the program is recorded
** its steps and the ops within are ranges of NVTX, and the recorder steps aside while torch.profiler looks.  The mode
** graph launches its kernels as a CUDA graph.
**
** DOUBLE_SHORTER=N: what is to take seconds takes an Nth of them. What goes wrong is asked for by DOUBLE_FAULT:
**   lost       the trace has a kernel more than is recorded
**   graphs     kernels of graphs have the number of another launch once torch.profiler was there
**   slow       kernels take 2.6 times as long once torch.profiler was there
**   crash      the program ends by a signal; crash_recorded: where it is recorded
*/
#include "../doubles/on_doubles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  KERNELS = 4,
  BYTES = 4096,
  KERNEL_NS = 5000,
  MARGIN_NS = 100000, /* between a mark and what is launched within it: by so much clocks may differ */
  DEVICE = 3,
  PINNED = 2,
};

static const struct double_cupti *cupti;
static const char *fault = "";
static bool is_marked, is_graph, was_profiled;
static long number; /* of the step */
static FILE *trace; /* NULL: torch.profiler does not look */

/* As CUPTI tells it, whichever clock that keeps time by. */
static uint64_t now_ns(void) { return cupti->now(); }

static void wait_until(uint64_t moment) {
  while (now_ns() < moment) usleep(100);
}

/* An event of the trace; all that is not of the device is on one thread. */
static void write_event(const char *category, const char *name, uint64_t start, uint64_t dur, const char *more) {
  bool is_of_device = !strcmp(category, "kernel") || !strncmp(category, "gpu", 3);
  if (!trace) return;
  fprintf(trace,
          ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
          "\"args\":{%s}}",
          category, name, is_of_device ? 0 : 1, is_of_device ? 7 : 1, (double)start / 1e3, (double)dur / 1e3, more);
}

/* `start` is of the trace, `recorded` the same moment on the clock that CUPTI keeps time by. */
static uint32_t call(const char *name, uint32_t function, uint64_t start, uint64_t recorded) {
  char more[128];
  struct cupti_call record = {.kind = CUPTI_RUNTIME,
                              .function = function,
                              .start = recorded,
                              .end = recorded + 2000,
                              .process = (uint32_t)getpid(),
                              .thread = (uint32_t)syscall(SYS_gettid)};
  record.correlation = cupti->next_correlation();
  if (cupti->is_on(CUPTI_RUNTIME, function)) cupti->put(&record, sizeof record);
  snprintf(more, sizeof more, "\"correlation\":%u,\"External id\":%u", record.correlation, record.correlation);
  write_event("cuda_runtime", name, start, 2000, more);
  return record.correlation;
}

/* One launch of all kernels. */
static void run_graph(void) {
  static const char *const names[] = {"kernel_0", "kernel_1", "kernel_2", "kernel_3"};
  static uint32_t stray;
  char more[256];
  uint64_t begin = now_ns();
  if (is_marked) push_a("replay");
  wait_until(begin + MARGIN_NS);
  uint64_t launched = now_ns(), recorded = cupti->now();
  uint32_t correlation = call("cudaGraphLaunch", DOUBLE_GRAPH_LAUNCH, launched, recorded), told = correlation;
  if (was_profiled && !strcmp(fault, "graphs")) told = stray = stray ? stray : correlation;
  snprintf(more, sizeof more, "\"device\":0,\"stream\":7,\"correlation\":%u,\"External id\":%u", correlation,
           correlation);
  for (unsigned i = 0; i < KERNELS; i++) {
    uint64_t after = 4000 + i * (KERNEL_NS + 1000);
    struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                  .start = recorded + after,
                                  .end = recorded + after + KERNEL_NS,
                                  .context = 1,
                                  .stream = 7,
                                  .grid = {64, 1, 1},
                                  .block = {256, 1, 1},
                                  .correlation = told,
                                  .graph = 1,
                                  .graph_node = i + 1,
                                  .name = names[i]};
    if (cupti->is_on(CUPTI_CONCURRENT_KERNEL, 0)) cupti->put(&kernel, sizeof kernel);
    write_event("kernel", names[i], launched + after, KERNEL_NS, more);
  }
  wait_until(launched + MARGIN_NS);
  if (is_marked) pop();
  snprintf(more, sizeof more, "\"External id\":%u", correlation);
  write_event("cpu_op", "replay", begin, now_ns() - begin, more);
}

static void run_op(const char *op, int place) {
  char more[256], kernel_name[32];
  snprintf(kernel_name, sizeof kernel_name, "kernel_%d", place);
  uint64_t begin = now_ns(), dur = KERNEL_NS;
  if (is_marked) push_a(op);
  wait_until(begin + MARGIN_NS);
  uint64_t launched = now_ns(), recorded = cupti->now();
  if (was_profiled && !strcmp(fault, "slow")) dur = dur * 26 / 10;
  bool is_copy = place == KERNELS;
  uint32_t correlation = is_copy ? call("cudaMemcpyAsync", DOUBLE_MEMCPY_ASYNC, launched, recorded)
                                 : call("cudaLaunchKernel", DOUBLE_LAUNCH_KERNEL, launched, recorded);
  static const char *const kept_names[] = {"kernel_0", "kernel_1", "kernel_2", "kernel_3"};
  struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                .start = recorded + 4000,
                                .end = recorded + 4000 + dur,
                                .context = 1,
                                .stream = 7,
                                .grid = {64, 1, 1},
                                .block = {256, 1, 1},
                                .correlation = correlation,
                                .name = kept_names[place % KERNELS]};
  struct cupti_memcpy copy = {.kind = CUPTI_MEMCPY,
                              .direction = 1,
                              .source = PINNED,
                              .target = DEVICE,
                              .flags = 1,
                              .bytes = BYTES,
                              .start = recorded + 4000,
                              .end = recorded + 5000,
                              .context = 1,
                              .stream = 7,
                              .correlation = correlation};
  snprintf(more, sizeof more, "\"device\":0,\"stream\":7,\"bytes\":%d,\"correlation\":%u,\"External id\":%u", BYTES,
           correlation, correlation);
  if (is_copy && cupti->is_on(CUPTI_MEMCPY, 0)) cupti->put(&copy, sizeof copy);
  if (!is_copy && cupti->is_on(CUPTI_CONCURRENT_KERNEL, 0)) cupti->put(&kernel, sizeof kernel);
  uint64_t began = launched + 4000;
  if (is_copy) write_event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", began, 1000, more);
  else write_event("kernel", kernel_name, began, dur, more);
  if (!is_copy && place == 0 && !strcmp(fault, "lost")) write_event("kernel", "lost_kernel", began + dur, 100, more);
  wait_until(launched + MARGIN_NS);
  if (is_marked) pop();
  snprintf(more, sizeof more, "\"External id\":%u", correlation);
  write_event("cpu_op", op, begin, now_ns() - begin, more);
}

static void wait_for_device(void) {
  uint64_t start = now_ns(), recorded = cupti->now();
  struct cupti_synchronization wait = {.kind = CUPTI_SYNCHRONIZATION,
                                       .type = 5,
                                       .start = recorded + 500,
                                       .end = recorded + 1500,
                                       .context = 1,
                                       .stream = UINT32_MAX,
                                       .event = UINT32_MAX};
  wait.correlation = call("cudaDeviceSynchronize", DOUBLE_DEVICE_SYNCHRONIZE, start, recorded);
  if (cupti->is_on(CUPTI_SYNCHRONIZATION, 0)) cupti->put(&wait, sizeof wait);
}

static void run_step(long profiled) {
  char name[64];
  uint64_t begin = now_ns();
  snprintf(name, sizeof name, "step %ld", number++);
  if (is_marked) push_a(name);
  if (is_graph) run_graph();
  for (int place = is_graph ? KERNELS : 0; place <= KERNELS; place++)
    run_op(place % 2 ? "aten::mm" : "aten::add", place);
  wait_for_device();
  wait_until(now_ns() + MARGIN_NS);
  if (is_marked) pop();
  snprintf(name, sizeof name, "ProfilerStep#%ld", profiled);
  if (profiled > 0) write_event("user_annotation", name, begin, now_ns() - begin, "");
  snprintf(name, sizeof name, "tfprof.step#%ld", number - 1); /* the mark of a program that is recorded */
  if (is_marked) write_event("user_annotation", name, begin, now_ns() - begin, "");
}

/* As the recorder does for torch.profiler (with TEARDOWN_CUPTI that would have to finalise CUPTI). */
static void step_aside(int is_aside) {
  void (*recorder)(int, const char *) = NULL;
  *(void **)&recorder = dlsym(RTLD_DEFAULT, "tfprof_capture_step_aside");
  if (recorder && !getenv("TEARDOWN_CUPTI")) recorder(is_aside, "torch.profiler");
}

static void profile(char *value) {
  char *path = strchr(value, ':') + 1;
  long count = strtol(value, NULL, 10);
  step_aside(true);
  run_step(0);
  trace = fopen(path, "w");
  if (!trace) exit(3);
  fputs("{\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{}}", trace);
  for (long i = 1; i <= count; i++) run_step(i);
  fputs("\n]}\n", trace);
  fclose(trace);
  trace = NULL;
  was_profiled = true;
  step_aside(false);
}

static void last_for(const char *name, double seconds) {
  const char *shorter = getenv("DOUBLE_SHORTER");
  uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9 / (shorter ? strtod(shorter, NULL) : 1));
  long steps = 0;
  while (!steps || now_ns() < end) run_step(0), steps++;
  double mean_ms = (double)(now_ns() - begin) / 1e6 / (double)steps;
  if (!strcmp(name, "profiled")) mean_ms *= 1.3;
  if (strcmp(name, "warm"))
    printf("{\"%s\":{\"steps\":%ld,\"mean_ms\":%.6f,\"median_ms\":%.6f}}\n", name, steps, mean_ms, mean_ms);
  fflush(stdout);
}

static void run_endless(void) {
  for (int i = 0; i < 10; i++) run_step(0);
  printf("{\"pid\":%d}\n", (int)getpid());
  fflush(stdout);
  for (;;) run_step(0);
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "about")) {
    printf("{\"torch\":\"double\",\"cuda\":\"13.0\",\"cupti\":null,\"gpu\":\"NVIDIA Double\",\"jax\":false}\n");
    return 0;
  }
  cupti = begin_on_doubles(&is_marked);
  if (!cupti) return fprintf(stderr, "the doubles are not there\n"), 3;
  if (getenv("DOUBLE_FAULT")) fault = getenv("DOUBLE_FAULT");
  is_graph = argc > 1 && !strcmp(argv[1], "graph");
  for (int i = 2; i < argc; i++) {
    char *value = strchr(argv[i], '=');
    if (value) *value++ = 0;
    if (!strcmp(argv[i], "steps"))
      for (long left = strtol(value, NULL, 10); left; left--) run_step(0);
    else if (!strcmp(argv[i], "profile")) profile(value);
    else if (!strcmp(argv[i], "endless")) run_endless();
    else last_for(argv[i], strtod(value, NULL));
    if (!strcmp(argv[i], "profiled")) _exit(0);
    if (!strcmp(fault, "crash") || (is_marked && !strcmp(fault, "crash_recorded"))) abort();
  }
  return 0;
}
