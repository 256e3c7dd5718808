/* launch_steps.c: a program that launches kernels in steps, on the doubles of CUDA (doubles/), and takes as long for it
** as a device and CUPTI would make it:
**
**   launch_steps [unmarked] [chatty] PHASE...
**
** unmarked: from there on without NVTX ranges that tell the steps; chatty: with other calls before each launch, worth
** no row.
**
** A phase is LAUNCHES,LAUNCH_NS,KERNEL_NS,COST_NS,STEPS: in each step so many launches, each of which takes the thread
** so long, and as much more as CUPTI takes for a kernel that it records; its kernel takes the device so long, behind
** the ones before it, of which the host is no more than some milliseconds ahead when a step ends: a busy machine keeps
** it waiting for one or two. STEPS, or "told": until a letter comes on the standard input, or "left": until a step was
** left out, of which CUPTI records no kernel, and until it records them again: that goes for the end of a kernel which
** began before that step.
**
** Tells at the end of each phase how many steps there were, and of all, and at the end how many kernels CUPTI recorded.
*/
#include "../doubles/on_doubles.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHATTER = 3 }; /* calls */
enum { QUEUED_NS = 8000000, LATENCY_NS = 3000, MARGIN_NS = 5000 /* between a mark and what is launched within it */ };

static const struct double_cupti *cupti;
static uint64_t device_free; /* when it has done all that was launched */
static long steps, recorded;
static bool is_marked, is_chatty;

static void pass(uint64_t until) {
  while (cupti->now() < until) continue;
}

static void chat(void) {
  struct cupti_call call = {.kind = CUPTI_RUNTIME,
                            .function = DOUBLE_GET_DEVICE,
                            .start = cupti->now(),
                            .process = (uint32_t)getpid(),
                            .thread = (uint32_t)syscall(SYS_gettid),
                            .correlation = cupti->next_correlation()};
  call.end = cupti->now();
  if (cupti->is_on(CUPTI_RUNTIME, DOUBLE_GET_DEVICE)) cupti->put(&call, sizeof call);
}

static struct cupti_call begin_call(uint64_t start) {
  return (struct cupti_call){.kind = CUPTI_RUNTIME,
                             .function = DOUBLE_LAUNCH_KERNEL,
                             .start = start,
                             .process = (uint32_t)getpid(),
                             .thread = (uint32_t)syscall(SYS_gettid),
                             .correlation = cupti->next_correlation()};
}

static struct cupti_kernel kernel_of(const struct cupti_call *call, uint64_t start, uint64_t end) {
  return (struct cupti_kernel){.kind = CUPTI_CONCURRENT_KERNEL,
                               .start = start,
                               .end = end,
                               .context = 1,
                               .stream = 7,
                               .grid = {64, 1, 1},
                               .block = {256, 1, 1},
                               .correlation = call->correlation,
                               .name = "a_kernel"};
}

static void launch(uint64_t launch_ns, uint64_t kernel_ns, uint64_t cost_ns) {
  bool is_recorded = cupti->is_on(CUPTI_CONCURRENT_KERNEL, 0);
  struct cupti_call call = begin_call(cupti->now());
  pass(call.start + launch_ns + (is_recorded ? cost_ns : 0));
  call.end = cupti->now();
  uint64_t begin = device_free > call.end + LATENCY_NS ? device_free : call.end + LATENCY_NS;
  device_free = begin + kernel_ns;
  struct cupti_kernel kernel = kernel_of(&call, begin, device_free);
  if (cupti->is_on(CUPTI_RUNTIME, DOUBLE_LAUNCH_KERNEL)) cupti->put(&call, sizeof call);
  if (is_recorded && cupti->put(&kernel, sizeof kernel)) recorded++;
}

/* What was launched before it was switched off. */
static void end_when_recorded(uint64_t begin) {
  struct cupti_call call = begin_call(begin);
  call.end = begin + LATENCY_NS;
  while (!cupti->is_on(CUPTI_CONCURRENT_KERNEL, 0)) usleep(1000);
  struct cupti_kernel kernel = kernel_of(&call, call.end, cupti->now());
  cupti->put(&call, sizeof call);
  recorded += cupti->put(&kernel, sizeof kernel);
}

static bool is_told(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  char letter;
  return poll(&input, 1, 0) == 1 && read(0, &letter, 1) <= 1;
}

static void wait_for_device(void) {
  for (uint64_t now; (now = cupti->now()) + QUEUED_NS < device_free;)
    usleep((useconds_t)((device_free - QUEUED_NS - now) / 1000 + 1));
}

static void run_phase(char *phase) {
  char name[32], *at = phase;
  uint64_t before = 0;
  uint64_t numbers[4] = {0};
  for (int i = 0; i < 4; i++, at += *at == ',') numbers[i] = strtoull(at, &at, 10);
  bool until_told = !strcmp(at, "told"), until_left = !strcmp(at, "left"), is_left = false;
  long count = until_told || until_left ? 0 : strtol(at, NULL, 10), first = steps;
  do {
    before = cupti->now() - QUEUED_NS;
    snprintf(name, sizeof name, "step %ld", steps++);
    if (is_marked) push_a(name);
    pass(cupti->now() + MARGIN_NS);
    for (uint64_t i = 0; i < numbers[0]; i++) {
      for (int j = 0; is_chatty && j < CHATTER; j++) chat();
      launch(numbers[1], numbers[2], numbers[3]);
    }
    pass(cupti->now() + MARGIN_NS);
    wait_for_device();
    if (is_marked) pop();
    is_left = !cupti->is_on(CUPTI_CONCURRENT_KERNEL, 0);
  } while (until_left ? !is_left : until_told ? !is_told() : steps < first + count);
  if (until_left) end_when_recorded(before);
  printf("%ld\n", steps - first);
  fflush(stdout);
}

int main(int argc, char **argv) {
  cupti = begin_on_doubles(&is_marked);
  if (!cupti || !is_marked) return fprintf(stderr, "the doubles are not there\n"), 3;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "unmarked")) is_marked = false;
    else if (!strcmp(argv[i], "chatty")) is_chatty = true;
    else run_phase(argv[i]);
  }
  printf("kernels=%ld\n", recorded);
  return 0;
}
