/* file_threads.c: two threads with mailboxes (see file_threads.h). */
#include "file_threads.h"

#include "moments.h"
#include "own_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* on all architectures */
#endif

enum {
  CLOSE_RANGE_UNSHARED = 1 << 1, /* CLOSE_RANGE_UNSHARE of <linux/close_range.h>, which older systems lack */
  STACK_BYTES = 512 << 10,       /* thread-local variables of the program's libraries lie there, too */
  STANDARD_DESCRIPTORS = 3,
  REST_MS = 100,
  START_MS = 1000, /* copies of the program's files are closed meanwhile, which a hung file system may hold up */
  /* Beyond select()'s 1024 and what programs count up to when they close all; a table of this size has 64 KB. */
  HIGH_NUMBER = 4096,
};

/* Decided by the first thread that is started. */
enum { TABLES_UNKNOWN, TABLES_APART, TABLES_SHARED };
static _Atomic int tables;

enum { STARTING, SERVING, ENDED };

static struct mailbox {
  const char *thread_name;
  pthread_mutex_t lock;
  pthread_cond_t asked, done;
  _Atomic pid_t process;    /* which has the thread; 0: none has */
  _Atomic pthread_t thread; /* where it serves */
  _Atomic long number;      /* as the system has it */
  bool is_over;             /* it is to end */
  int state; /* STARTING ... */
  void (*work)(void *argument); /* NULL: none waits or runs */
  void *argument;
  uint64_t begun, finished;
  bool has_conditions; /* made once in a process: who waits stays where he is when the thread ends and begins anew */
} mailboxes[FILE_THREADS] = {
    [FILE_THREAD_DISK] = {.thread_name = "tfprof-disk", .lock = PTHREAD_MUTEX_INITIALIZER},
    [FILE_THREAD_QUICK] = {.thread_name = "tfprof-files", .lock = PTHREAD_MUTEX_INITIALIZER},
};

/* A thread-local variable would tell, but the first look at one may need the loader's lock, which whoever waits for the
** thread may have: NVTX may be called first by what runs while a library is loaded. */
static bool is_file_thread(void) {
  for (int i = 0; i < FILE_THREADS; i++)
    if (atomic_load(&mailboxes[i].process) && atomic_load(&mailboxes[i].thread) == pthread_self()) return true;
  return false;
}

bool file_threads_are_apart(void) { return atomic_load(&tables) == TABLES_APART; }

/* ---- The threads. */

/* The kernel copies no more than the first 64 entries before it closes them again. */
bool file_threads_take_table(void) {
  return syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_UNSHARED) == 0;
}

/* With the lock: the thread has its table, or has ended because it gets none. */
static void note_state(struct mailbox *box, int state) {
  int unknown = TABLES_UNKNOWN;
  atomic_compare_exchange_strong(&tables, &unknown, state == SERVING ? TABLES_APART : TABLES_SHARED);
  box->state = state;
  pthread_cond_broadcast(&box->done);
}

static void *serve_mailbox(void *argument) {
  struct mailbox *box = argument;
  prctl(PR_SET_NAME, box->thread_name);
  bool is_apart = file_threads_take_table();
  pthread_mutex_lock(&box->lock);
  box->number = syscall(SYS_gettid);
  atomic_store(&box->thread, is_apart ? pthread_self() : 0);
  note_state(box, is_apart ? SERVING : ENDED);
  while (is_apart) {
    while (!box->work && !box->is_over) pthread_cond_wait(&box->asked, &box->lock);
    void (*work)(void *) = box->work;
    if (!work) break;
    pthread_mutex_unlock(&box->lock);
    work(box->argument);
    pthread_mutex_lock(&box->lock);
    box->work = NULL;
    box->finished++;
    pthread_cond_broadcast(&box->done);
  }
  if (is_apart) { /* the next one who has work starts another thread */
    box->process = 0;
    box->thread = 0;
    note_state(box, ENDED);
  }
  pthread_mutex_unlock(&box->lock);
  return NULL;
}

/* With the lock. */
static void start_serving(struct mailbox *box) {
  if (!box->has_conditions) {
    moment_condition(&box->asked);
    moment_condition(&box->done);
    box->has_conditions = true;
  }
  box->process = getpid();
  box->state = STARTING;
  box->work = NULL;
  box->is_over = false;
  if (own_thread_start_small(STACK_BYTES, serve_mailbox, box)) return;
  box->state = ENDED; /* the kernel was not asked for a table */
  pthread_cond_broadcast(&box->done);
}

static void forget_thread(struct mailbox *box) {
  pthread_mutex_init(&box->lock, NULL);
  box->process = 0;
  box->thread = 0;
  box->has_conditions = false;
  box->begun = box->finished = 0; /* the parent's may have been in the middle of something */
}

void file_threads_after_fork_in_child(void) {
  for (int i = 0; i < FILE_THREADS; i++) forget_thread(&mailboxes[i]);
}

/* ---- From other threads. */

/* With the lock. */
static bool wait_for_thread(struct mailbox *box, const struct timespec *until) {
  return until ? pthread_cond_timedwait(&box->done, &box->lock, until) == 0
               : pthread_cond_wait(&box->done, &box->lock) == 0;
}

/* With the lock: there is a thread, whose table is its own. It is started again where it has rested. false: there is
** none, or none yet. */
static bool is_served(struct mailbox *box) {
  const struct timespec until = moment_after(START_MS);
  if (!box->process) start_serving(box);
  while (box->state == STARTING)
    if (!wait_for_thread(box, &until)) return false;
  if (box->state == SERVING) return true;
  box->process = 0; /* there may be room for a thread later */
  return false;
}

/* With the lock. */
static bool hand_over(struct mailbox *box, void (*work)(void *), void *argument, const struct timespec *until) {
  do {
    if (!is_served(box)) return false;
    if (box->work && !wait_for_thread(box, until)) return false;
  } while (box->work || box->state != SERVING);
  box->work = work;
  box->argument = argument;
  uint64_t mine = ++box->begun;
  pthread_cond_signal(&box->asked);
  while (box->finished < mine)
    if (!wait_for_thread(box, until)) return box->finished >= mine;
  return true;
}

static bool run_by(struct mailbox *box, void (*work)(void *), void *argument, const struct timespec *until) {
  bool is_done = false, is_here = is_file_thread() || atomic_load(&tables) == TABLES_SHARED;
  if (!is_here) {
    if (box->process && box->process != getpid()) forget_thread(box); /* a child by clone(2) that no handler saw */
    pthread_mutex_lock(&box->lock);
    is_done = hand_over(box, work, argument, until);
    is_here = !is_done && atomic_load(&tables) == TABLES_SHARED;
    pthread_mutex_unlock(&box->lock);
  }
  if (is_here) work(argument);
  return is_done || is_here;
}

static bool run_until(enum file_thread which, void (*work)(void *), void *argument, const struct timespec *until) {
  int before = errno, state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); /* whoever is cancelled would be so with the lock */
  bool is_done = run_by(&mailboxes[which], work, argument, until);
  pthread_setcancelstate(state, NULL);
  errno = before;
  return is_done;
}

bool file_thread_run(enum file_thread which, void (*work)(void *argument), void *argument) {
  return run_until(which, work, argument, NULL);
}

bool file_thread_run_within(enum file_thread which, void (*work)(void *argument), void *argument, int milliseconds) {
  const struct timespec until = moment_after(milliseconds);
  return run_until(which, work, argument, &until);
}

long file_thread_number(enum file_thread which) {
  const struct mailbox *box = &mailboxes[which];
  return atomic_load(&box->process) == getpid() ? atomic_load(&box->number) : 0;
}

static bool rest(struct mailbox *box) {
  const struct timespec until = moment_after(REST_MS);
  pthread_mutex_lock(&box->lock);
  bool is_there = box->process == getpid() && box->state == SERVING;
  bool may_end = is_there && !box->work;
  if (may_end) {
    box->is_over = true;
    pthread_cond_signal(&box->asked);
    while (box->state == SERVING)
      if (!wait_for_thread(box, &until)) break;
  }
  bool has_ended = box->state != SERVING;
  pthread_mutex_unlock(&box->lock);
  if (is_there && has_ended) own_thread_wait_until_gone(box->number);
  return !is_there || has_ended;
}

bool file_threads_rest(void) {
  bool are_gone = true;
  for (int i = 0; i < FILE_THREADS; i++) are_gone &= rest(&mailboxes[i]);
  return are_gone;
}

/* ---- Descriptors. */

/* Those of a table of our own are as high, and others than those of the other thread: ThreadSanitizer takes the numbers
** of all threads for those of one table, and would report races of ours with the program. For the same reason files are
** opened, and low numbers closed, by the plain system calls, which it does not see. */
static int least_number(void) {
  struct rlimit limit;
  int apart = file_threads_are_apart() && atomic_load(&mailboxes[FILE_THREAD_QUICK].thread) == pthread_self();
  if (getrlimit(RLIMIT_NOFILE, &limit)) return STANDARD_DESCRIPTORS;
  if (limit.rlim_cur >= (rlim_t)2 * HIGH_NUMBER) return HIGH_NUMBER + apart * (HIGH_NUMBER / 2);
  return limit.rlim_cur > 32 ? (int)(limit.rlim_cur - limit.rlim_cur / (apart ? 16 : 8)) : STANDARD_DESCRIPTORS;
}

static bool is_still(int number, const struct stat *facts) {
  struct stat now;
  return fstat(number, &now) == 0 && now.st_dev == facts->st_dev && now.st_ino == facts->st_ino;
}

/* -1, with errno: it was closed, for want of a number that may be taken. */
static int move_up(int number) {
  int least = least_number();
  bool is_apart = file_threads_are_apart();
  struct stat facts;
  if (number < 0 || number >= least || (!is_apart && fstat(number, &facts))) return number;
  int moved = fcntl(number, F_DUPFD_CLOEXEC, least);
  if (moved < 0 && number >= STANDARD_DESCRIPTORS) return number;
  if (moved < 0) moved = fcntl(number, F_DUPFD_CLOEXEC, STANDARD_DESCRIPTORS);
  int reason = errno;
  if (is_apart || is_still(number, &facts)) syscall(SYS_close, number);
  errno = reason;
  return moved;
}

int file_open(const char *path, int flags, unsigned mode) {
  return move_up((int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

bool file_open_pipe(int ends[2]) {
  if (syscall(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK)) return false;
  for (int i = 0; i < 2; i++) ends[i] = move_up(ends[i]);
  return ends[0] >= 0 && ends[1] >= 0;
}
