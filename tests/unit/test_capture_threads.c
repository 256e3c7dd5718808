/* test_capture_threads.c: more threads than are recorded live at the same time: those that are have all their ops, what
** the others do is counted, and a thread that was left out is recorded once there is room for it; threads that come and
** go meanwhile are. */
#include "fake_torch.h"

#include "channel/number_list.h"

enum { LEFT_OUT = 50, OPS = 20, COMING = 300, AT_ONCE = 4, TAKERS = 4, TURNS = 20000, NUMBERS = 8 };

#ifdef __SANITIZE_THREAD__
enum { LIVES_MANY = 0 }; /* ThreadSanitizer needs much memory for each thread */
#else
enum { LIVES_MANY = 1 };
#endif

static struct fake_schema schema;

static void run_ops(int count) {
  struct fake_op op;
  for (int i = 0; i < count; i++) {
    fake_begin(&op, SCOPE_FUNCTION, &schema, true, -1, NULL, 0);
    fake_end(&op);
  }
}

/* ---- Numbers that are free: nobody gets one that another has. */

static _Atomic uint32_t next_number[NUMBERS];
static struct number_list numbers = {.next = next_number};
static _Atomic uint32_t owners[NUMBERS];

static void *take_numbers(void *unused) {
  for (int i = 0; i < TURNS; i++) {
    uint32_t mine[2];
    for (int j = 0; j < 2; j++) {
      mine[j] = number_list_take(&numbers);
      if (mine[j]) check(atomic_fetch_add(&owners[mine[j] - 1], 1) == 0, "number %u has two owners", mine[j]);
    }
    for (int j = 0; j < 2; j++) {
      if (!mine[j]) continue;
      atomic_fetch_sub(&owners[mine[j] - 1], 1);
      number_list_give(&numbers, mine[j]);
    }
  }
  return unused;
}

static void test_numbers(void) {
  pthread_t takers[TAKERS];
  for (uint32_t number = 1; number <= NUMBERS; number++) number_list_give(&numbers, number);
  for (int i = 0; i < TAKERS; i++) check(!pthread_create(&takers[i], NULL, take_numbers, NULL), "no thread");
  for (int i = 0; i < TAKERS; i++) pthread_join(takers[i], NULL);
  unsigned left = 0;
  while (number_list_take(&numbers)) left++;
  check(left == NUMBERS, "%u of the numbers are left", left);
}

/* ---- Threads. */

static pthread_barrier_t all_have_come, all_are_done;
static _Atomic bool may_go[2];     /* most; those that were left out */
static _Atomic unsigned late_left; /* of those, after they have gone on */

static void *live(void *unused) {
  run_ops(OPS);
  bool is_left_out = !capture_current_thread;
  pthread_barrier_wait(&all_have_come);
  run_ops(OPS); /* all live, so that nobody's chances have changed */
  check(is_left_out == !capture_current_thread, "there is room for a thread where there was none");
  pthread_barrier_wait(&all_are_done);
  while (!atomic_load(&may_go[is_left_out])) usleep(2000);
  if (is_left_out) run_ops(OPS);
  if (is_left_out && !capture_current_thread) atomic_fetch_add(&late_left, 1);
  return unused;
}

static void *come_and_go(void *unused) {
  run_ops(OPS);
  return unused;
}

/* Until the writer thread has made free what the threads had that have ended. */
static void wait_for_room(unsigned wanted) {
  for (unsigned open = 0; open < wanted;) {
    tfprof_capture_flush();
    open = 0;
    for (unsigned number = 1; number <= thread_count(); number++)
      open += thread_of_number(number) && thread_state_of(thread_of_number(number)) == THREAD_FREE;
  }
}

static uint64_t test_living(void) {
  enum { LIVING = THREAD_MAXIMUM + LEFT_OUT };
  static pthread_t threads[LIVING];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)64 * 1024);
  pthread_barrier_init(&all_have_come, NULL, LIVING + 1);
  pthread_barrier_init(&all_are_done, NULL, LIVING + 1);
  for (int i = 0; i < LIVING; i++)
    check(!pthread_create(&threads[i], &attributes, live, NULL), "thread %d cannot be made", i);
  pthread_barrier_wait(&all_have_come);
  pthread_barrier_wait(&all_are_done);
  check(threads_left_out() == LEFT_OUT, "%llu threads are left out", (unsigned long long)threads_left_out());
  uint64_t refused = threads_refused(REFUSED_OP);
  check(refused == (uint64_t)LEFT_OUT * OPS * 2, "%llu ops are counted as lost", (unsigned long long)refused);
  atomic_store(&may_go[0], true);
  wait_for_room(LEFT_OUT);
  atomic_store(&may_go[1], true);
  for (int i = 0; i < LIVING; i++) pthread_join(threads[i], NULL);
  check(!atomic_load(&late_left), "%u threads have not heard that there is room", atomic_load(&late_left));
  return (uint64_t)THREAD_MAXIMUM * OPS * 2 + (uint64_t)LEFT_OUT * OPS;
}

static uint64_t test_coming(void) {
  for (int i = 0; i < COMING; i++) {
    pthread_t threads[AT_ONCE];
    for (int j = 0; j < AT_ONCE; j++) check(!pthread_create(&threads[j], NULL, come_and_go, NULL), "no thread");
    for (int j = 0; j < AT_ONCE; j++) pthread_join(threads[j], NULL);
    if (i % 50 == 0) wait_for_room(1);
  }
  return (uint64_t)COMING * AT_ONCE * OPS;
}

int main(void) {
  char path[4352];
  uint64_t expected = 0;
  test_numbers();
  fake_torch_begin();
  fake_schema_make(&schema, "aten::one");
  check(tfprof_capture_arm(), "the library does not arm");
  expected += test_coming();
  if (LIVES_MANY) expected += test_living();
  uint64_t lost = threads_refused(REFUSED_OP);
  expected += test_coming();
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();
  struct read_dump dump;
  read_dump_file(path, &dump);
  check(dump.file->is_closed && dump.op_count == expected && dump.dropped == lost,
        "%zu ops and not %llu; %llu dropped and not %llu", dump.op_count, (unsigned long long)expected,
        (unsigned long long)dump.dropped, (unsigned long long)lost);
  printf("%zu ops of %llu threads, %llu dropped\n", dump.op_count, (unsigned long long)dump.threads,
         (unsigned long long)dump.dropped);
  release_dump(&dump);
  return 0;
}
