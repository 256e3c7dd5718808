/* test_capture_jumps.c: the processor's counter jumps, forwards and backwards, CLOCK_MONOTONIC goes back, and
** CLOCK_REALTIME is set, and the kernel gives the counter up, while threads run ops: every op is there, with the times
** that it had by the system's clock.
*/
#include "fake_torch.h"
#include "moving_counter.h"
#include "recorder/clock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { THREADS = 3, OPS = 60000, PHASE_MS = 150, SHORT_OP_US = 100, LONG_EVERY = 40, LONG_MS = 60 };

/* ---- A clock that can go back. */

static _Atomic int64_t gone_back_ns, set_ns; /* of CLOCK_MONOTONIC; of CLOCK_REALTIME, forwards */

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (syscall(SYS_clock_gettime, clock, now)) return -1;
  int64_t moved = clock == CLOCK_MONOTONIC ? -gone_back_ns : clock == CLOCK_REALTIME ? set_ns : 0;
  int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + moved;
  *now = (struct timespec){ns / 1000000000, ns % 1000000000};
  return 0;
}

/* Those who wait do so by that clock. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until) {
  int64_t ns = (int64_t)until->tv_sec * 1000000000 + until->tv_nsec + gone_back_ns;
  const struct timespec moment = {ns / 1000000000, ns % 1000000000};
  return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &moment);
}

/* What the kernel keeps time by is another clock, once it trusts the counter no longer. */
static _Atomic bool is_distrusted;

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
  va_end(arguments);
  if (is_distrusted && strstr(path, "/current_clocksource")) path = "/dev/null";
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int64_t true_ns(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- What is run. */

static struct truth { /* by sequence number, from 1 on: within these times it began, and ended */
  int64_t start[2], end[2];
  int phase;
} truths[THREADS * OPS + 1];
static _Atomic int64_t ran;
static _Atomic int phase;
static _Atomic bool is_to_end;

static void run_op(const char *name, int64_t sequence, int microseconds) {
  struct fake_op op;
  struct truth *truth = &truths[sequence];
  truth->phase = phase;
  truth->start[0] = true_ns();
  fake_begin(&op, SCOPE_FUNCTION, name, false, sequence, NULL, 0);
  truth->start[1] = true_ns();
  int64_t last = sequence;
  if (microseconds >= 1000 * LONG_MS) /* others run inside it */
    while (true_ns() - truth->start[0] < (int64_t)microseconds * 1000 &&
           (last = atomic_fetch_add(&ran, 1) + 1) < THREADS * OPS)
      run_op("inner", last, SHORT_OP_US);
  else
    usleep((useconds_t)microseconds);
  truth->end[0] = true_ns();
  fake_end(&op);
  truth->end[1] = true_ns();
}

static void *work(void *unused) {
  int64_t sequence;
  while (!is_to_end && (sequence = atomic_fetch_add(&ran, 1) + 1) < THREADS * OPS)
    run_op("op", sequence, sequence % LONG_EVERY ? SHORT_OP_US : 1000 * LONG_MS);
  return unused;
}

/* At its end the recorder has looked at the clocks, also on a machine that is busy. */
static void wait_a_phase(void) {
  usleep(PHASE_MS * 1000);
  tfprof_capture_flush();
  phase++;
}

/* ---- What was recorded. */

static unsigned told_jumps(const struct read_dump *dump) {
  unsigned count = 0;
  for (size_t i = 0; i < dump->string_count; i++)
    count += dump->strings[i] && (strstr(dump->strings[i], "counter went") || strstr(dump->strings[i], "went back by"));
  return count;
}

/* Of the ops of phases until `last` the times are right but for `tolerance_ns`. */
static void check_ops(const struct read_dump *dump, int last, int64_t tolerance_ns) {
  static bool is_there[THREADS * OPS + 1];
  check(dump->file->is_closed, "the file has no end");
  for (size_t i = 0; i < dump->op_count; i++) {
    const struct read_op *op = &dump->ops[i];
    check(op->sequence > 0 && op->sequence <= THREADS * OPS, "an op of number %lld", (long long)op->sequence);
    const struct truth *truth = &truths[op->sequence];
    is_there[op->sequence] = true;
    check(op->duration >= 0 && op->duration <= truth->end[1] - truth->start[0] + 2 * tolerance_ns,
          "op %lld lasts %lld ns, and lasted %lld", (long long)op->sequence, (long long)op->duration,
          (long long)(truth->end[1] - truth->start[0]));
    if (truth->phase > last) continue;
    int64_t start = op->end - op->duration;
    check(start >= truth->start[0] - tolerance_ns && start <= truth->start[1] + tolerance_ns,
          "op %lld of phase %d begins %lld ns late", (long long)op->sequence, truth->phase,
          (long long)(start - truth->start[0]));
    check(op->end >= truth->end[0] - tolerance_ns && op->end <= truth->end[1] + tolerance_ns,
          "op %lld of phase %d ends %lld ns late", (long long)op->sequence, truth->phase,
          (long long)(op->end - truth->end[0]));
  }
  for (int64_t i = 1; i < ran && i < THREADS * OPS; i++)
    check(is_there[i], "op %lld of %lld, of phase %d, is missing", (long long)i, (long long)ran, truths[i].phase);
}

/* What comes later is later. */
static void check_order(const struct read_dump *dump) {
  int64_t latest[8] = {0}, earliest[8];
  for (int i = 0; i < 8; i++) earliest[i] = INT64_MAX;
  for (size_t i = 0; i < dump->op_count; i++) {
    const struct read_op *op = &dump->ops[i];
    int its = truths[op->sequence].phase;
    if (op->end > latest[its]) latest[its] = op->end;
    if (op->end < earliest[its]) earliest[its] = op->end;
  }
  for (int i = 2; i < 8 && latest[i]; i += 1)
    check(earliest[i] > latest[i - 2], "phase %d ends %lld ns before one that came before", i,
          (long long)(latest[i - 2] - earliest[i]));
}

static void with_ops(void (*happen)(void), void (*check_dump)(const struct read_dump *)) {
  pthread_t threads[THREADS];
  char path[4352];
  struct read_dump dump;
  fake_torch_begin();
  check(tfprof_capture_arm(), "the library does not arm");
  snprintf(path, sizeof path, "%s", tfprof_capture_path());
  for (int i = 0; i < THREADS; i++) check(!pthread_create(&threads[i], NULL, work, NULL), "no thread");
  happen();
  is_to_end = true;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  tfprof_capture_finish();
  read_dump_file(path, &dump);
  check_dump(&dump);
  printf("%zu ops, %d phases, %u jumps told\n", dump.op_count, phase + 1, told_jumps(&dump));
  release_dump(&dump);
}

/* ---- The counter. */

enum { FAR_JUMPS = 6 };

static void move_counter(void) {
  static const int64_t moves[] = {5000000000000, -10000000000000, 5000000000000, -1000000000000000, 2000000000000000,
                                  -5000000000000, 1250000000, -1250000000, -1250000000, 1250000000};
  check(counter_watch(), "the counter cannot be watched");
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
    wait_a_phase();
    check(counter_move("", moves[i]), "the program is not found");
  }
  wait_a_phase();
}

static void check_counter(const struct read_dump *dump) {
  /* Until the first near one, which begins in the phase after. */
  check_ops(dump, FAR_JUMPS - 1, 5000000);
  check_ops(dump, 100, 600000000);
  check(told_jumps(dump) == 10, "%u jumps are told of 10", told_jumps(dump));
}

/* ---- The clock. */

static void move_clock(void) {
  for (int i = 0; i < 3; i++) {
    wait_a_phase();
    gone_back_ns += 1000000000000ll;
  }
  wait_a_phase();
}

static void check_clock(const struct read_dump *dump) {
  check_ops(dump, 0, INT64_C(2000000000));
  check_order(dump);
  check(told_jumps(dump) >= 3, "%u jumps are told of 3", told_jumps(dump));
}

/* ---- CLOCK_REALTIME is set: an hour ahead, an hour back, and a second, as by NTP or where one is inserted. */

static void set_clock(void) {
  static const int64_t moves[] = {3600000000000, -3600000000000, -3600000000000, 1000000000, -1000000000};
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
    wait_a_phase();
    set_ns += moves[i];
  }
  wait_a_phase();
}

static void check_set_clock(const struct read_dump *dump) {
  check_ops(dump, 100, 5000000);
  check(!told_jumps(dump), "%u jumps are told", told_jumps(dump));
}

/* ---- The kernel trusts the counter no longer. */

static void distrust(void) {
  is_distrusted = true;
  for (int i = 0; clock_is_counter && i < 1000; i++) wait_a_phase();
  wait_a_phase();
}

static void check_distrusted(const struct read_dump *dump) {
  bool is_told = false;
  check_ops(dump, 10000, 5000000);
  check(!clock_is_counter, "it is still read");
  for (size_t i = 0; i < dump->string_count; i++)
    is_told |= dump->strings[i] && strstr(dump->strings[i], "the kernel keeps time by");
  check(is_told && !told_jumps(dump), "%u jumps are told", told_jumps(dump));
}

static void in_child(void (*test)(void)) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    test();
    exit(0);
  }
  check(waitpid(pid, &status, 0) == pid, "the child cannot be waited for");
  check(status == 0, "ended with status %d", status);
}

static void test_counter(void) {
  check(counter_watch(), "the counter cannot be watched");
  with_ops(move_counter, check_counter);
}

static void test_clock_beside_counter(void) { with_ops(move_clock, check_clock); }

static void test_clock_alone(void) {
  clock_is_counter = false;
  with_ops(move_clock, check_clock);
}

static void test_set_clock(void) { with_ops(set_clock, check_set_clock); }

static void test_distrusted(void) { with_ops(distrust, check_distrusted); }

int main(void) {
#ifdef __SANITIZE_THREAD__
  puts("ThreadSanitizer reads the counter itself");
  return 77;
#endif
  in_child(test_clock_alone);
  in_child(test_set_clock);
  if (!clock_is_counter) return 0;
  in_child(test_clock_beside_counter);
  in_child(test_distrusted);
  in_child(test_counter);
  return 0;
}
