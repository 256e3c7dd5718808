/* test_capture_agreement.c: ranks agree on the level of each block (sampling_agreement.h).
**
** A rank is a child process that does what it is told through a pipe, so that what comes after what is the test's to
** say.  Jobs have names that no other process uses.
*/
#include "governor/agreement_table.h"
#include "governor/sampling_agreement.h"
#include "governor/sampling_levels.h"
#include "stopping_check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct order {
  enum { LEVEL, TELL, FORK, LEAVE } what;
  uint64_t seed, step;
  int rank;
  struct level_wish wish;
};
struct rank {
  pid_t pid;
  int orders, answers;
  uint64_t seed;
  int number;
};

static uint64_t new_seed(void) {
  static char name[64];
  static unsigned jobs;
  snprintf(name, sizeof name, "test %ld %u %ld", (long)getpid(), jobs++, (long)time(NULL));
  return sampling_seed_of(name);
}

static const char *path_of(uint64_t seed) {
  static char path[64];
  snprintf(path, sizeof path, "/dev/shm/tfprof-%lu-%016llx", (unsigned long)geteuid(), (unsigned long long)seed);
  return path;
}

static bool is_there(uint64_t seed) { return access(path_of(seed), F_OK) == 0; }

static unsigned do_as(const struct order *order) {
  unsigned level = 0;
  if (order->what == LEVEL) level = sampling_agreement_level(order->seed, order->rank, order->step, order->wish);
  if (order->what == TELL) sampling_agreement_tell(order->wish);
  if (order->what == LEAVE) sampling_agreement_leave();
  if (order->what != FORK) return level;
#ifdef __SANITIZE_THREAD__
  return order->wish.level; /* it allows no threads in the child */
#endif
  pid_t child = fork();
  if (!child) {
    sampling_agreement_after_fork_in_child();
    _exit((int)sampling_agreement_level(order->seed, order->rank, order->step, order->wish));
  }
  int status;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 255;
}

static struct rank start(uint64_t seed, int number) {
  int orders[2], answers[2];
  check(!pipe(orders) && !pipe(answers), "pipe");
  struct rank rank = {.seed = seed, .number = number, .pid = fork()};
  if (!rank.pid) {
    struct order order;
    while (read(orders[0], &order, sizeof order) == (ssize_t)sizeof order) {
      unsigned answer = do_as(&order);
      if (write(answers[1], &answer, sizeof answer) != (ssize_t)sizeof answer || order.what == LEAVE) break;
    }
    syscall(SYS_exit_group, 0); /* in _exit() ThreadSanitizer waits a second where there are other threads */
  }
  close(orders[0]);
  close(answers[1]);
  rank.orders = orders[1];
  rank.answers = answers[0];
  return rank;
}

static unsigned tell(const struct rank *rank, int what, uint64_t step, unsigned level, bool is_learning) {
  const struct order order = {what, rank->seed, step, rank->number, {level, is_learning}};
  unsigned answer = 0;
  check(write(rank->orders, &order, sizeof order) == (ssize_t)sizeof order &&
            read(rank->answers, &answer, sizeof answer) == (ssize_t)sizeof answer,
        "rank %d does not answer", rank->number);
  return answer;
}

static void finish(struct rank *rank, int with_signal) {
  if (with_signal) kill(rank->pid, with_signal);
  else tell(rank, LEAVE, 0, 0, false);
  close(rank->orders);
  close(rank->answers);
  waitpid(rank->pid, NULL, 0);
}

static unsigned below(uint64_t *state, unsigned bound) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33) % bound;
}

/* ---- Tests. */

/* Whoever comes first: all have the same blocks, as long as they are not too far apart, and the highest wish counts. */
static void test_same_blocks(void) {
  enum { RANKS = 3, BLOCKS = 400 };
  uint64_t seed = new_seed(), random = 1, next[RANKS] = {1, 1, 1};
  static unsigned levels[RANKS][1 << 20];
  struct rank ranks[RANKS];
  for (int i = 0; i < RANKS; i++) ranks[i] = start(seed, i);
  memset(levels, 0xff, sizeof levels);
  for (unsigned i = 0; i < RANKS * BLOCKS; i++) {
    unsigned rank = below(&random, RANKS);
    for (unsigned other = 0; other < RANKS; other++)
      if (next[other] + AGREEMENT_STEPS / 2 < next[rank]) rank = other; /* it has to catch up */
    unsigned level = tell(&ranks[rank], LEVEL, next[rank], below(&random, 6), i < 30);
    check(level <= sampling_block_level(next[rank]) && (i >= 30 || level == 0), "level %u at step %llu", level,
          (unsigned long long)next[rank]);
    levels[rank][next[rank]] = level;
    next[rank] += 1u << level;
  }
  uint64_t end = next[0];
  for (int i = 1; i < RANKS; i++)
    if (next[i] < end) end = next[i];
  for (uint64_t step = 1; step < end; step++)
    for (int i = 1; i < RANKS; i++)
      check(levels[i][step] == levels[0][step], "step %llu: rank %d has level %d, rank 0 %d", (unsigned long long)step,
            i, (int)levels[i][step], (int)levels[0][step]);
  check(end > 1000, "only %llu steps", (unsigned long long)end);
  for (int i = 0; i < RANKS; i++) finish(&ranks[i], 0);
  check(!is_there(seed), "the table is left behind");
}

static void test_highest_wish(void) {
  uint64_t seed = new_seed();
  struct rank cheap = start(seed, 0), costly = start(seed, 1);
  tell(&cheap, LEVEL, 1, 0, true);
  tell(&costly, LEVEL, 1, 0, true);
  check(tell(&cheap, LEVEL, 2, 1, false) == 0, "a rank that learns has steps left out");
  check(tell(&costly, LEVEL, 2, 3, true) == 0 && tell(&costly, LEVEL, 3, 3, false) == 0, "it still learns");
  check(tell(&cheap, LEVEL, 3, 1, false) == 0 && tell(&cheap, LEVEL, 4, 1, false) == 2, "a block of four at step 4");
  check(tell(&costly, LEVEL, 4, 0, false) == 2, "what the first decided holds");
  tell(&costly, TELL, 0, 5, false);
  check(tell(&cheap, LEVEL, 8, 1, false) == 3 && tell(&cheap, LEVEL, 16, 1, false) == 4, "what it told is not heard");
  check(tell(&cheap, LEVEL, 32, 1, false) == 5 && tell(&costly, LEVEL, 8, 5, false) == 3, "level 5 at step 32");
  /* One that has fallen back is waited for no longer, and finds what was decided as far as that is kept. */
  check(tell(&cheap, LEVEL, 64, 1, false) == 5 && tell(&cheap, LEVEL, 128, 1, false) == 1, "it has fallen back");
  check(tell(&costly, LEVEL, 64, 5, false) == 5, "it chooses by itself");
  finish(&costly, 0);
  finish(&cheap, 0);
}

/* A rank that dies holds the others back no longer than until the next block; nor does its place stay taken. */
static void test_death(void) {
  uint64_t seed = new_seed();
  struct rank first = start(seed, 0), second = start(seed, 1);
  tell(&first, LEVEL, 1, 1, false);
  tell(&second, LEVEL, 1, 6, false);
  check(tell(&first, LEVEL, 64, 1, false) == 6, "the second counts");
  finish(&second, SIGKILL);
  check(tell(&first, LEVEL, 128, 1, false) == 1, "the dead count");
  second = start(seed, 1);
  check(tell(&second, LEVEL, 130, 4, false) == 1 && tell(&first, LEVEL, 130, 0, false) == 1, "a new one is not heard");
  finish(&second, SIGKILL);
  finish(&first, SIGKILL);
  check(is_there(seed), "who could have removed it?");
  /* The same job once more: what was decided then does not count now. */
  first = start(seed, 0);
  check(tell(&first, LEVEL, 128, 7, false) == 7, "the old table counts");
  agreement_table_remove_unused();
  check(is_there(seed), "it is removed in use");
  finish(&first, SIGKILL);
  agreement_table_remove_unused();
  check(!is_there(seed), "it is left behind");
}

/* A second process with the number of a rank, and a child of it: they choose by themselves, and nobody hears of it. */
static void test_others(void) {
  uint64_t seed = new_seed();
  struct rank rank = start(seed, 0), same = start(seed, 0), other = start(seed, 1);
  tell(&rank, LEVEL, 1, 1, false);
  tell(&other, LEVEL, 1, 1, false);
  check(tell(&same, LEVEL, 16, 4, false) == 4 && tell(&rank, FORK, 16, 3, false) == 3, "they do not choose");
  check(tell(&rank, LEVEL, 16, 1, false) == 1 && tell(&other, LEVEL, 16, 1, false) == 1, "others count");
  finish(&rank, SIGKILL); /* now its number is free */
  check(tell(&same, LEVEL, 18, 0, false) == 1 && tell(&other, LEVEL, 18, 0, false) == 1, "it may come in now");
  finish(&same, 0);
  finish(&other, 0);
}

/* Whatever somebody writes into the table, cuts it to, or puts in its place: a level that can be, and no crash. */
static void test_nonsense(void) {
  uint64_t random = 7;
  for (unsigned trial = 0; trial < 300; trial++) {
    uint64_t seed = new_seed(), step = 1;
    struct rank first = start(seed, 0), second = start(seed, 1);
    tell(&first, LEVEL, step, 2, false);
    tell(&second, LEVEL, step, 2, false);
    for (unsigned i = 0; i < 6; i++) {
      int descriptor = open(path_of(seed), O_RDWR);
      unsigned char bytes[4096];
      for (size_t at = 0; at < sizeof bytes; at++) bytes[at] = (unsigned char)below(&random, 4) * (trial % 3 ? 1 : 77);
      off_t from = trial % 2 ? 16 + below(&random, 2000) : below(&random, 100);
      if (descriptor >= 0) {
        if (trial % 5 == 4) check(!ftruncate(descriptor, below(&random, 3000)), "ftruncate");
        else check(pwrite(descriptor, bytes, below(&random, 2000), from) >= 0, "pwrite");
        close(descriptor);
      }
      step += 1 + below(&random, 100);
      const struct rank *rank = below(&random, 2) ? &first : &second;
      unsigned level = tell(rank, LEVEL, step, below(&random, 30), below(&random, 4) == 0);
      check(level <= sampling_block_level(step), "level %u at step %llu", level, (unsigned long long)step);
      tell(rank, TELL, 0, below(&random, 30), false);
    }
    finish(&first, 0);
    finish(&second, 0);
    unlink(path_of(seed));
  }
  uint64_t seed = new_seed();
  check(!mkdir(path_of(seed), 0700), "mkdir");
  struct rank rank = start(seed, 0);
  check(tell(&rank, LEVEL, 16, 4, false) == 4, "a directory in its place");
  finish(&rank, 0);
  rmdir(path_of(seed));
  check(!symlink("/dev/null", path_of(seed)), "symlink");
  rank = start(seed, 0);
  check(tell(&rank, LEVEL, 16, 4, false) == 4, "a symbolic link in its place");
  finish(&rank, 0);
  unlink(path_of(seed));
}

/* Who holds the lock and does not give it back makes nobody wait for long, and only once. */
static void test_held_lock(void) {
  uint64_t seed = new_seed();
  struct rank first = start(seed, 0), second = start(seed, 1);
  tell(&first, LEVEL, 1, 4, false);
  tell(&second, LEVEL, 1, 1, false);
  int descriptor = open(path_of(seed), O_RDWR);
  struct flock lock = {.l_type = F_WRLCK, .l_start = 0, .l_len = 1};
  check(descriptor >= 0 && !fcntl(descriptor, F_SETLK, &lock), "lock");
  for (uint64_t step = 16; step < 320; step += 16)
    check(tell(&second, LEVEL, step, 1, false) == 1, "step %llu", (unsigned long long)step);
  close(descriptor);
  finish(&second, 0);
  finish(&first, 0);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  if (access("/dev/shm", W_OK)) {
    puts("there is no /dev/shm");
    return 77;
  }
  test_same_blocks();
  test_highest_wish();
  test_death();
  test_others();
  test_nonsense();
  test_held_lock();
  return 0;
}
