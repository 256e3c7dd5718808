/* test_capture_ops.c: what goes in at the callbacks comes out of the dump: threads, nesting, names, shapes, ranges
** that end elsewhere, tables that fill up, a writer thread that is held up, a fork.  Built with ThreadSanitizer it is
** the stress test of all that is shared. */
#include "fake_torch.h"

#include "recorder/clock.h"
#include "recorder/recording.h"

#include <sys/wait.h>

enum {
  THREADS = 6,
  ROUNDS = 3000,
  SHORT_THREADS = 100,
  LATE_RANGES = 500,
  LONG_NAMES = 20000,
  STARVED_OPS = 50000,
  TASKS = 40,
  TURNS = 6000,
  FLOOD = 1200000
};

static struct fake_schema schemas[THREADS];
static struct fake_op handed_over[LATE_RANGES];
static _Atomic int handed_count, taken_count;
static uint64_t expected_ops;

static void run_op(const struct fake_schema *schema, int64_t sequence, const struct fake_value *inputs,
                   uint64_t count) {
  struct fake_op op;
  fake_begin(&op, SCOPE_FUNCTION, schema, true, sequence, inputs, count);
  fake_end(&op);
}

/* A sanitizer slows the writer thread down more than those who write little. */
static void keep_pace(int turn) {
  while (turn % 32 == 0 && chunk_pool_used() > CHUNK_COUNT / 2) usleep(500);
}

static void *run_thread(void *argument) {
  int number = (int)(intptr_t)argument;
  char text[32];
  for (int round = 0; round < ROUNDS; round++) {
    struct fake_tensor tensor = {.dimensions = 2, .sizes = {(uint64_t)number, (uint64_t)(round % 97)}, .dtype = 6};
    struct fake_value inputs[2] = {{&tensor, TAG_TENSOR, 0}, {NULL, TAG_INT, 0}};
    struct fake_op range, outer;
    keep_pace(round);
    snprintf(text, sizeof text, "range %d", round % 50);
    fake_begin(&range, SCOPE_USER, text, false, -1, NULL, 0);
    fake_begin(&outer, SCOPE_FUNCTION, &schemas[number], true, round, inputs, 2);
    run_op(&schemas[number], round, inputs, 2);
    fake_end(&outer);
    fake_end(&range);
  }
  return NULL;
}

/* One thread begins ranges, another ends them. */
static void *begin_ranges(void *argument) {
  static char texts[LATE_RANGES][24];
  (void)argument;
  for (int i = 0; i < LATE_RANGES; i++) {
    snprintf(texts[i], sizeof texts[i], "handed over %d", i);
    fake_begin(&handed_over[i], SCOPE_USER, texts[i], false, -1, NULL, 0);
    atomic_store(&handed_count, i + 1);
    while (atomic_load(&handed_count) - atomic_load(&taken_count) > 20) usleep(50);
  }
  while (atomic_load(&taken_count) < LATE_RANGES) usleep(50);
  return NULL;
}
static void *end_ranges(void *argument) {
  (void)argument;
  for (int i = 0; i < LATE_RANGES; i++) {
    while (atomic_load(&handed_count) <= i) usleep(50);
    fake_end(&handed_over[i]);
    atomic_store(&taken_count, i + 1);
  }
  return NULL;
}

static void *run_once(void *argument) {
  run_op(argument, -1, NULL, 0);
  return NULL;
}

/* A range stays open while so many names come that the thread's tables are emptied several times. */
static void *fill_tables(void *argument) {
  struct fake_op range;
  char *text = malloc(2048);
  (void)argument;
  fake_begin(&range, SCOPE_USER, "open all the while", false, -1, NULL, 0);
  for (int i = 0; i < LONG_NAMES; i++) {
    struct fake_op op;
    memset(text, 'a' + i % 26, 1500);
    snprintf(text + 1500, 24, " %d", i);
    fake_begin(&op, SCOPE_USER, text, false, -1, NULL, 0);
    fake_end(&op);
    keep_pace(i);
  }
  fake_end(&range);
  free(text);
  return NULL;
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument) {
  check(pthread_create(thread, NULL, function, argument) == 0, "no thread");
}

static size_t count_named(const struct read_dump *dump, const char *prefix, const char *shapes) {
  size_t count = 0;
  for (size_t i = 0; i < dump->op_count; i++)
    count += !strncmp(dump->ops[i].name, prefix, strlen(prefix)) &&
             (!shapes || (dump->ops[i].shapes && !strcmp(dump->ops[i].shapes, shapes)));
  return count;
}

/* As the writer thread does that samples Python: ThreadSanitizer tells what may not be read so. */
static atomic_bool is_watched;
static void *watch_threads(void *unused) {
  while (atomic_load(&is_watched)) {
    for (unsigned number = 1; number <= THREADS; number++) {
      const struct capture_thread *thread = thread_of_number(number);
      bool is_backward;
      if (thread) thread_runs_op(thread, &is_backward);
    }
  }
  return unused;
}

static void test_what_runs(void) {
  struct fake_op range, outer, inner;
  bool is_backward;
  fake_begin(&range, SCOPE_USER, "a range", false, -1, NULL, 0);
  check(!thread_runs_op(capture_current_thread, &is_backward), "a range is taken for an op");
  fake_begin(&outer, SCOPE_FUNCTION, &schemas[0], true, -1, NULL, 0);
  check(thread_runs_op(capture_current_thread, &is_backward) && !is_backward, "an op is not seen");
  fake_begin(&inner, SCOPE_BACKWARD_FUNCTION, "MulBackward0", false, 1, NULL, 0);
  check(thread_runs_op(capture_current_thread, &is_backward) && is_backward, "an op of the backward pass is not seen");
  fake_end(&inner);
  check(thread_runs_op(capture_current_thread, &is_backward) && !is_backward, "an op has not ended");
  fake_end(&outer);
  check(!thread_runs_op(capture_current_thread, &is_backward), "an op has not ended");
  fake_end(&range);
  fake_begin(&outer, SCOPE_FUNCTION, "autograd::engine::evaluate_function: MulBackward0", false, -1, NULL, 0);
  check(thread_runs_op(capture_current_thread, &is_backward) && is_backward, "the engine's range is not seen");
  fake_end(&outer);
  expected_ops += 4;
}

static void test_threads(void) {
  pthread_t threads[THREADS], beginner, ender, filler, watcher;
  atomic_store(&is_watched, true);
  start(&watcher, watch_threads, NULL);
  for (int i = 0; i < THREADS; i++) start(&threads[i], run_thread, (void *)(intptr_t)i);
  start(&beginner, begin_ranges, NULL);
  start(&ender, end_ranges, NULL);
  start(&filler, fill_tables, NULL);
  for (int i = 0; i < SHORT_THREADS; i++) {
    pthread_t thread;
    start(&thread, run_once, &schemas[0]);
    pthread_join(thread, NULL);
    if (i % 10 == 0) usleep(1000);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_join(beginner, NULL);
  pthread_join(ender, NULL);
  pthread_join(filler, NULL);
  atomic_store(&is_watched, false);
  pthread_join(watcher, NULL);
  expected_ops += THREADS * ROUNDS * 3 + SHORT_THREADS + LATE_RANGES + LONG_NAMES + 1;
}

static void check_threads(const struct read_dump *dump) {
  for (int number = 0; number < THREADS; number++) {
    char shapes[32];
    snprintf(shapes, sizeof shapes, "[[%d,7],[]]", number);
    size_t rounds = 0;
    for (int round = 0; round < ROUNDS; round++) rounds += round % 97 == 7;
    size_t found = count_named(dump, schemas[number].text, shapes);
    check(found == 2 * rounds, "%s: %zu ops of shapes %s and not %zu", schemas[number].text, found, shapes, 2 * rounds);
  }
  check(count_named(dump, "range ", NULL) == THREADS * ROUNDS, "%zu ranges", count_named(dump, "range ", NULL));
  check(count_named(dump, "handed over ", NULL) == LATE_RANGES, "%zu ranges were handed over",
        count_named(dump, "handed over ", NULL));
  check(count_named(dump, "open all the while", NULL) == 1, "the long range is lost");
  check(count_named(dump, "aaaa", NULL) == (LONG_NAMES + 25) / 26, "%zu long names", count_named(dump, "aaaa", NULL));
  int64_t owner = -1;
  for (size_t i = 0; i < dump->op_count; i++) {
    const struct read_op *op = &dump->ops[i];
    check(op->duration >= 0, "op %zu took %lld ns", i, (long long)op->duration);
    if (strncmp(op->name, "handed over ", 12)) continue;
    check(owner < 0 || owner == op->thread, "a range is on another thread than the one that began it");
    owner = op->thread;
  }
}

/* Tasks take turns: what one has begun ends below what others have begun since, and something is open all the while. */
static void test_tasks(uint8_t scope, const char *name) {
  static struct fake_op open[TASKS];
  for (int turn = 0; turn < TURNS; turn++) {
    struct fake_op *mine = &open[turn * 7 % TASKS];
    keep_pace(turn);
    if (turn >= TASKS) fake_end(mine);
    fake_begin(mine, scope, name, false, -1, NULL, 0);
    run_op(&schemas[3], -1, NULL, 0);
  }
  for (int task = 0; task < TASKS; task++) fake_end(&open[task]);
  check(!thread_open_count(capture_current_thread), "%u are open", thread_open_count(capture_current_thread));
  expected_ops += (uint64_t)2 * TURNS;
}

/* Ranges are open in as many places as there are, and some more, while names fill the tables: what those are that were
** pinned is known when they end, in any order. */
static void test_open_ranges(void) {
  static struct fake_op open[RANGE_MAXIMUM + 5];
  static char texts[RANGE_MAXIMUM + 5][24];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < RANGE_MAXIMUM + 5; i++) {
      snprintf(texts[i], sizeof texts[i], "open at once %d", i % 1000);
      fake_begin(&open[i], SCOPE_USER, texts[i], false, -1, NULL, 0);
      keep_pace(i);
    }
    check(thread_open_count(capture_current_thread) == RANGE_MAXIMUM, "%u are open",
          thread_open_count(capture_current_thread));
    check(thread_forget(capture_current_thread), "there is no room to empty the tables");
    for (int i = 0; i < RANGE_MAXIMUM + 5; i++) {
      keep_pace(i);
      fake_end(&open[i * 5 % (RANGE_MAXIMUM + 5)]);
    }
  }
  expected_ops += (uint64_t)2 * (RANGE_MAXIMUM + 5);
}

static void check_tasks(const struct read_dump *dump) {
  check(count_named(dump, "a task's range", NULL) == TURNS && count_named(dump, "a task's op", NULL) == TURNS,
        "%zu ranges and %zu ops of tasks", count_named(dump, "a task's range", NULL),
        count_named(dump, "a task's op", NULL));
  size_t open = count_named(dump, "open at once ", NULL);
  check(open == (size_t)2 * RANGE_MAXIMUM && count_named(dump, "open at once 7", NULL) > 3000, "%zu were open at once",
        open);
}

/* Until it has read nearly everything, which on a busy machine takes longer than the two seconds that a flush waits. */
static void wait_for_writer(void) {
  do tfprof_capture_flush();
  while (chunk_pool_used() >= 20);
}

/* The writer thread does nothing for 100 ms while one thread goes on at full speed: nothing is lost. */
static void test_starved_writer(void) {
  struct fake_tensor tensor = {.dimensions = 1, .sizes = {4}, .dtype = 6};
  struct fake_value input = {&tensor, TAG_TENSOR, 0};
  wait_for_writer();
  recording_before_fork();
  for (int i = 0; i < STARVED_OPS; i++) run_op(&schemas[1], i, &input, 1);
  usleep(100000);
  recording_after_fork_in_parent();
  expected_ops += STARVED_OPS;
  wait_for_writer();
}

/* More than the memory takes: what is lost is counted, one by one, and memory stays within its bound. */
static uint64_t test_flood(void) {
  recording_before_fork();
  for (int i = 0; i < FLOOD; i++) run_op(&schemas[2], i, NULL, 0);
  /* And one for each of the threads that were there last, and are about to be forgotten. */
  check(chunk_pool_used() >= CHUNK_COUNT && chunk_pool_used() <= CHUNK_COUNT + THREADS + 4, "%u chunks are in use",
        chunk_pool_used());
  recording_after_fork_in_parent();
  wait_for_writer();
  return FLOOD;
}

/* While one callback takes the place of another a range meets both, and is recorded once. */
static void test_change_of_callbacks(void) {
  struct fake_op ranges[2];
  struct torch_callback callback = {.start = NULL};
  for (int i = 0; i < FAKE_CALLBACKS; i++)
    if (fake_callbacks[i].start && fake_callbacks[i].scopes[SCOPE_USER]) callback = fake_callbacks[i];
  check(callback.start, "no callback is there for ranges");
  uint64_t second = fake_add(callback);
  fake_begin(&ranges[0], SCOPE_USER, "met by both", false, -1, NULL, 0);
  fake_begin(&ranges[1], SCOPE_USER, "met by both", false, -1, NULL, 0);
  fake_end(&ranges[1]);
  fake_remove(second);
  fake_end(&ranges[0]);
  fake_begin(&ranges[0], SCOPE_USER, "met by one", false, -1, NULL, 0);
  fake_end(&ranges[0]);
  expected_ops += 3;
}

/* An operator goes and another is made at its address, with a name as long. */
static void test_operators_at_one_address(void) {
  static const char *const names[2][2] = {{"mine::first", "mine::other"},
                                          {"mine::first_with_a_long_name_1", "mine::first_with_a_long_name_2"}};
  static char text[64];
  for (int length = 0; length < 2; length++) {
    for (int turn = 0; turn < 4; turn++) {
      struct fake_schema schema;
      fake_schema_make(&schema, strcpy(text, names[length][turn % 2]));
      run_op(&schema, -1, NULL, 0);
    }
  }
  expected_ops += 8;
}

static void check_operators(const struct read_dump *dump) {
  check(count_named(dump, "met by both", NULL) == 2 && count_named(dump, "met by one", NULL) == 1,
        "%zu and %zu ranges while callbacks changed", count_named(dump, "met by both", NULL),
        count_named(dump, "met by one", NULL));
  check(count_named(dump, "mine::first", NULL) == 6 && count_named(dump, "mine::other", NULL) == 2 &&
            count_named(dump, "mine::first_with_a_long_name_2", NULL) == 2,
        "operators at the same address are taken for one");
}

static void test_fork(const char *directory) {
#ifdef __SANITIZE_THREAD__
  (void)directory; /* ThreadSanitizer allows no threads in the child */
#else
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < 1234; i++) run_op(&schemas[3], i, NULL, 0);
    tfprof_capture_finish();
    _exit(strstr(tfprof_capture_path(), directory) ? 0 : 1);
  }
  check(waitpid(pid, &status, 0) == pid && status == 0, "the child ended with status %d", status);
  char host[128], path[512];
  check(gethostname(host, sizeof host) == 0, "no host name");
  snprintf(path, sizeof path, "%s/%s-%d.tfprof", directory, host, (int)pid);
  struct read_dump dump;
  read_dump_file(path, &dump);
  check(dump.op_count == 1234 && dump.file->is_closed && dump.dropped == 0, "the child has %zu ops", dump.op_count);
  release_dump(&dump);
#endif
}

int main(void) {
  char path[4352];
  fake_torch_begin();
  static const char *const names[THREADS] = {
      "aten::zero", "aten::one", "aten::two", "aten::three", "aten::four_and_longer_than_15", "aten::five"};
  for (int i = 0; i < THREADS; i++) fake_schema_make(&schemas[i], names[i]);
  check(tfprof_capture_arm(), "the library does not arm");
  test_threads();
  test_change_of_callbacks();
  test_operators_at_one_address();
  test_what_runs();
  test_tasks(SCOPE_USER, "a task's range");
  test_tasks(SCOPE_FUNCTION, "a task's op");
  test_open_ranges();
  test_starved_writer();
  uint64_t flood = test_flood();
  test_fork(test_directory);
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  tfprof_capture_finish();

  struct read_dump dump;
  read_dump_file(path, &dump);
  check(dump.file->is_closed, "the dump is not closed");
  check(dump.op_count + dump.dropped == expected_ops + flood, "%zu ops and %llu dropped are not %llu", dump.op_count,
        (unsigned long long)dump.dropped, (unsigned long long)(expected_ops + flood));
  check(dump.dropped > 0 && dump.dropped < flood && count_named(&dump, names[2], NULL) >= flood - dump.dropped,
        "%llu dropped", (unsigned long long)dump.dropped);
  check(count_named(&dump, names[1], "[[4]]") == STARVED_OPS, "%zu of the ops of the starved time",
        count_named(&dump, names[1], "[[4]]"));
  check_threads(&dump);
  check_operators(&dump);
  check_tasks(&dump);
  printf("%zu ops of %llu threads, %llu dropped\n", dump.op_count, (unsigned long long)dump.threads,
         (unsigned long long)dump.dropped);
  release_dump(&dump);
  return 0;
}
