/* bench_capture_callbacks.c: processor time of our callbacks alone, on a made-up step, with a working set as that of a
** real one.
**
** 120 operators, 400 different calls with two tensors and a number each, two levels of nesting; between calls 0 or 200
** kB of other memory is touched, as a real program would.  Python stacks are not part of it
** (tests/capture/test_python_stacks.py looks at those).
**
** Then of allocations and releases, with their ops recorded and not, beyond what passing them on to PyTorch takes.
**
** Then of a range that NVTX pushes and pops: by a literal, by a registered name in a domain with a number attached, and
** by names that are new every time; and of one that is started and ended.
*/
#include "../unit/fake_nvtx.h"
#include "../unit/fake_torch.h"
#include "bench/figures.h"

#include "torch/memory_callbacks.h"
#include "torch/op_callbacks.h"

#include <time.h>

enum { OPERATORS = 120, CALLS = 400, REPEATS = 2000, OTHER_BYTES = 200 * 1024 };

static struct fake_schema schemas[OPERATORS];
static char names[OPERATORS][32];
static struct fake_tensor tensors[CALLS][2];
static struct fake_value inputs[CALLS][3];
static uint8_t other[OTHER_BYTES];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t touch_other(void) {
  uint64_t sum = 0;
  for (size_t i = 0; i < OTHER_BYTES; i += 64) sum += other[i]++;
  return sum;
}

static double run(bool is_cold, bool has_callbacks) {
  double best = 1e18;
  volatile uint64_t sink = 0;
  for (int repeat = 0; repeat < REPEATS / (is_cold ? 20 : 1); repeat++) {
    double begin = now();
    for (int call = 0; call < CALLS; call++) {
      struct fake_op outer, inner;
      const struct fake_schema *schema = &schemas[call % OPERATORS];
      if (has_callbacks) fake_begin(&outer, SCOPE_FUNCTION, schema, true, call, inputs[call], 3);
      if (is_cold) sink = sink + touch_other();
      if (has_callbacks) {
        fake_begin(&inner, SCOPE_FUNCTION, &schemas[(call + 7) % OPERATORS], true, -1, inputs[(call + 1) % CALLS], 3);
        fake_end(&inner);
      }
      if (is_cold) sink = sink + touch_other();
      if (has_callbacks) fake_end(&outer);
    }
    double taken = (now() - begin) / (2 * CALLS);
    if (taken < best) best = taken;
  }
  return best;
}

void *memory_allocate(size_t bytes) __asm__("_ZN3c109alloc_cpuEm");
void memory_release(void *address) __asm__("_ZN3c108free_cpuEPv");

enum { PIECES = 512, MEMORY_REPEATS = 2000 };
static uint8_t pieces[PIECES][64];
static _Atomic unsigned given;
static void *give(size_t bytes) {
  (void)bytes;
  return pieces[given++ % PIECES];
}
static void take(void *address) { (void)address; }

/* ns of an allocation or a release. */
static double run_memory(void) {
  double best = 1e18;
  for (int repeat = 0; repeat < MEMORY_REPEATS; repeat++) {
    if (repeat % 16 == 0) tfprof_capture_flush();
    double begin = now();
    for (int i = 0; i < PIECES; i++) memory_release(memory_allocate(100));
    double taken = (now() - begin) / (2 * PIECES);
    if (taken < best) best = taken;
  }
  return best;
}

enum nvtx_way { BY_TEXT, BY_HANDLE, BY_NEW_TEXT, STARTED };
enum { RANGES = 512, RANGE_REPEATS = 400 };

/* ns of a range. */
static double run_ranges(enum nvtx_way way) {
  double best = 1e18;
  void *domain = domain_create("bench");
  struct nvtx_attributes attributes = fake_attributes("");
  attributes.message_type = NVTX_MESSAGE_REGISTERED;
  attributes.message = register_string(domain, "registered");
  attributes.value_type = NVTX_VALUE_UINT64;
  static char texts[RANGES][48];
  for (int repeat = 0; repeat < (way == BY_NEW_TEXT ? 20 : RANGE_REPEATS); repeat++) {
    for (int i = 0; i < RANGES; i++) snprintf(texts[i], sizeof texts[i], "request %d of batch %d", i, repeat);
    if (repeat % 16 == 0) tfprof_capture_flush();
    double begin = now();
    for (int i = 0; i < RANGES; i++) {
      attributes.value = (uint64_t)i;
      if (way == BY_HANDLE) {
        domain_push(domain, &attributes);
        domain_pop(domain);
      } else if (way == STARTED) {
        end_range(start_a("forward of the encoder"));
      } else {
        push_a(way == BY_TEXT ? "forward of the encoder" : texts[i]);
        pop();
      }
    }
    double taken = (now() - begin) / RANGES;
    if (taken < best) best = taken;
  }
  return best;
}

static void tell_ns(const char *what, double ns) {
  tell_figure(&(struct figure){.subject = "recorder", .value = ns, .unit = "ns", .command = "bench_capture_callbacks"},
              "%s", what);
}

static void bench_ranges(void) {
  double by_text = run_ranges(BY_TEXT), by_handle = run_ranges(BY_HANDLE), by_new_text = run_ranges(BY_NEW_TEXT);
  double started = run_ranges(STARTED);
  printf("ns per range of NVTX: %.0f by a text, %.0f by a registered one with a value, %.0f by new texts, %.0f started "
         "and ended\n",
         by_text, by_handle, by_new_text, started);
  tell_ns("A range of NVTX, pushed and popped, in the cache: by a text", by_text);
  tell_ns("A range of NVTX, pushed and popped, in the cache: by a registered text with a number", by_handle);
  tell_ns("A range of NVTX, pushed and popped, in the cache: by texts that are new every time", by_new_text);
  tell_ns("A range of NVTX, started and ended, in the cache", started);
}

int main(void) {
  fake_torch_begin();
  for (int i = 0; i < OPERATORS; i++) {
    snprintf(names[i], sizeof names[i], i % 2 ? "aten::operator_%d" : "aten::o%d", i * 7919);
    fake_schema_make(&schemas[i], names[i]);
  }
  for (int i = 0; i < CALLS; i++) {
    for (int t = 0; t < 2; t++)
      tensors[i][t] =
          (struct fake_tensor){.dimensions = (uint64_t)(1 + (i + t) % 4), .sizes = {8, (uint64_t)i, 3, 2}, .dtype = 6};
    inputs[i][0] = (struct fake_value){&tensors[i][0], TAG_TENSOR, 0};
    inputs[i][1] = (struct fake_value){&tensors[i][1], TAG_TENSOR, 0};
    inputs[i][2] = (struct fake_value){NULL, TAG_INT, 0};
  }
  check(tfprof_capture_arm(), "the library does not arm");
  double warm = run(false, true), cold = run(true, true) - run(true, false);
  printf("ns per op: %.0f with warm caches, %.0f with 200 kB of other work at each level\n", warm, cold);
  tell_ns("Our callbacks for an op, with warm caches", warm);
  tell_ns("Our callbacks for an op, with 200 kB of other work at each level", cold);
  torch_memory = (struct torch_memory_functions){give, take, NULL, NULL, 1, 2};
  double none = run_memory();
  memory_begin();
  memory_arm(false);
  double with_ops = run_memory();
  ops_disarm();
  double without = run_memory();
  printf("ns per allocation or release: %.1f while ops are recorded, %.1f while none are\n", with_ops - none,
         without - none);
  tell_ns("An allocation or a release beyond PyTorch's own part, in the cache, while ops are recorded",
          with_ops - none);
  tell_ns("An allocation or a release beyond PyTorch's own part, in the cache, while no ops are recorded",
          without - none);
  check(fake_nvtx_begin(), "NVTX is not attached");
  bench_ranges();
  tfprof_capture_finish();
  return 0;
}
