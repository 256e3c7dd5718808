/* test_capture_forks.c: forks while other threads have locks.  PyTorch is a few lines whose list of callbacks is
** guarded as the real one's (torch_lock.h): its lock is found; a child records, and ends, whoever had the lock when it
** was forked, and whoever else forked then.
*/
#include "fake_torch.h"
#include "governor/sampling.h"
#include "python/guarded_read.h"
#include "recorder/clock.h"
#include "recorder/forks.h"
#include "recorder/recording.h"
#include "torch/memory_callbacks.h"
#include "torch/memory_pools.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int tfprof_capture_switch(int mode);
void *memory_allocate(size_t bytes) __asm__("_ZN3c109alloc_cpuEm");
void memory_release(void *address) __asm__("_ZN3c108free_cpuEPv");

enum { LISTED = 8, THREADS = 3, FORKS = 30, GRANDCHILDREN = 8, CHILD_SECONDS = 60,
       FORKERS = 4, LONG_FORK_US = 150000, INHERITED_BYTES = 12345 };

/* AddressSanitizer's allocator has locks that stay taken in a child when other threads allocate. */
#ifdef __SANITIZE_ADDRESS__
static const bool allocator_breaks_forks = true;
#else
static const bool allocator_breaks_forks = false;
#endif

/* ---- at::GlobalCallbackManager. */

struct listed {
  struct torch_callback callback;
  uint64_t handle, is_enabled;
  uint64_t fake_handle; /* 0: it is never called */
};
static struct {
  uint64_t version;
  struct listed *begin, *end, *room_end;
  pthread_mutex_t lock;
} manager = {.version = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
static struct listed listed[LISTED];
static uint64_t last_handle;

static uint64_t locked_add(struct torch_callback callback) {
  pthread_mutex_lock(&manager.lock);
  manager.version++;
  uint64_t handle = ++last_handle;
  *manager.end++ = (struct listed){callback, handle, 1, callback.start ? fake_add(callback) : 0};
  pthread_mutex_unlock(&manager.lock);
  return handle;
}

static void locked_remove(uint64_t handle) {
  pthread_mutex_lock(&manager.lock);
  for (struct listed *at = manager.begin; at < manager.end; at++) {
    if (at->handle != handle) continue;
    if (at->fake_handle) fake_remove(at->fake_handle);
    memmove(at, at + 1, (size_t)(manager.end - at - 1) * sizeof *at);
    manager.end--;
    manager.version++;
    break;
  }
  pthread_mutex_unlock(&manager.lock);
}

/* ---- What is run. */

static _Atomic bool is_taken, is_to_end;

/* In the child nobody is in the place of this thread to give the lock back. */
static void *hold(void *lock) {
  pthread_mutex_lock(lock);
  atomic_store(&is_taken, true);
  while (!atomic_load(&is_to_end)) usleep(100);
  pthread_mutex_unlock(lock);
  return NULL;
}

static void run_op(void) {
  struct fake_op op;
  fake_begin(&op, SCOPE_FUNCTION, "op", false, -1, NULL, 0);
  memory_release(memory_allocate(64));
  fake_end(&op);
}

/* Forks; the child runs ops and ends its recording. */
static pid_t fork_recorded(int *status) {
  pid_t pid = fork();
  if (pid == 0) {
    alarm(CHILD_SECONDS); /* a child that hangs is ended by it */
    run_op();
    tfprof_capture_switch(0);
    tfprof_capture_switch(1);
    run_op();
    tfprof_capture_finish();
    _exit(0);
  }
  check(waitpid(pid, status, 0) == pid, "the child cannot be waited for");
  return pid;
}

static void check_child(const char *when, pid_t pid, int status, bool is_recorded) {
  check(status == 0, "%s: the child ended with status %d", when, status);
  char host[128], path[512];
  check(gethostname(host, sizeof host) == 0, "no host name");
  snprintf(path, sizeof path, "%s/%s-%d.tfprof", test_directory, host, (int)pid);
  check((access(path, F_OK) == 0) == is_recorded, "%s: %s is%s there", when, path, is_recorded ? " not" : "");
  if (!is_recorded) return;
  struct read_dump dump;
  read_dump_file(path, &dump);
  check(dump.op_count == 2 && dump.file->is_closed, "%s: the child has %zu ops", when, dump.op_count);
  release_dump(&dump);
  unlink(path);
}

static void test_find(void) {
  check(guarded_read_begin(), "no pipe");
  check(torch_lock_find() && torch_lock == &manager.lock, "the lock is not found");
  check(manager.begin == manager.end, "a callback is left");
  /* A list without a lock of its own. */
  torch.add_global_callback = fake_add;
  torch.remove_callback = fake_remove;
  check(!torch_lock_find() && !torch_lock, "a lock is found where there is none");
  torch.add_global_callback = locked_add;
  torch.remove_callback = locked_remove;
  check(torch_lock_find(), "the lock is not found again");
}

/* A lock in the hands of a thread that keeps it longer than a fork waits. */
static void test_lock_in_other_hands(const char *name, pthread_mutex_t *lock, bool is_recorded) {
  pthread_t holder;
  atomic_store(&is_taken, false);
  atomic_store(&is_to_end, false);
  check(pthread_create(&holder, NULL, hold, lock) == 0, "no thread");
  while (!atomic_load(&is_taken)) usleep(100);
  int status;
  pid_t pid = fork_recorded(&status);
  atomic_store(&is_to_end, true); /* before a check fails: the end of the program needs the lock */
  pthread_join(holder, NULL);
  check_child(name, pid, status, is_recorded);
  pid = fork_recorded(&status);
  check_child("afterwards", pid, status, is_recorded);
}

static void *work(void *argument) {
  (void)argument;
  while (!atomic_load(&is_to_end)) {
    run_op();
    locked_remove(locked_add((struct torch_callback){.start = NULL}));
    tfprof_capture_switch(1);
  }
  return NULL;
}

static void test_forks_at_any_moment(void) {
  pthread_t threads[THREADS];
  atomic_store(&is_to_end, false);
  for (int i = 0; i < THREADS; i++) check(pthread_create(&threads[i], NULL, work, NULL) == 0, "no thread");
  for (int i = 0; i < FORKS; i++) {
    int status;
    pid_t pid = fork_recorded(&status);
    check_child("at any moment", pid, status, true);
  }
  atomic_store(&is_to_end, true);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static _Atomic bool forks_take_long;
static void take_long(void) {
  if (atomic_load(&forks_take_long)) usleep(LONG_FORK_US);
}

/* Releases what it inherited: a child that knows what that was has a row of it. */
static void *fork_beside_others(void *inherited) {
  pid_t pid = fork();
  if (pid == 0) {
    alarm(CHILD_SECONDS);
    run_op();
    memory_release(inherited);
    tfprof_capture_finish();
    _exit(0);
  }
  int status;
  check(waitpid(pid, &status, 0) == pid && status == 0, "a child beside others ended with status %d", status);
  return (void *)(intptr_t)pid;
}

/* Threads that fork at once, each for longer than a fork waits for other locks, as that of a large process is. */
static void test_forks_at_once(void) {
  enum { ROWS = DUMP_MAXIMUM_FRAME_ROWS };
  static int64_t bytes[ROWS];
  static uint64_t nulls[ROWS / 64];
  pthread_t threads[FORKERS];
  void *inherited = memory_allocate(INHERITED_BYTES), *result;
  char host[128], path[512];
  check(gethostname(host, sizeof host) == 0, "no host name");
  tfprof_capture_flush(); /* the recorder has seen it be given */
  atomic_store(&forks_take_long, true);
  for (int i = 0; i < FORKERS; i++)
    check(pthread_create(&threads[i], NULL, fork_beside_others, inherited) == 0, "no thread");
  for (int i = 0; i < FORKERS; i++) {
    check(pthread_join(threads[i], &result) == 0, "no child");
    snprintf(path, sizeof path, "%s/%s-%d.tfprof", test_directory, host, (int)(intptr_t)result);
    struct read_dump dump;
    struct dump_cursor *cursor;
    bool is_known = false;
    read_dump_file(path, &dump);
    check(dump.op_count == 1 && dump.file->is_closed, "a child beside others has %zu ops", dump.op_count);
    check(dump_cursor_open(dump.file, &cursor, NULL) == TFPROF_OK, "no cursor");
    for (size_t f = 0; f < dump.file->frame_count; f++) {
      const struct dump_frame *frame = &dump.file->frames[f];
      if (frame->table_dump_id != DUMP_TABLE_memory_events) continue;
      const struct dump_block *block = dump_frame_block(frame, DUMP_memory_events_bytes);
      check(block && !dump_block_decode(cursor, frame, block, bytes, nulls, NULL), "no column");
      for (uint32_t row = 0; row < frame->rows; row++) is_known |= bytes[row] == -INHERITED_BYTES;
    }
    check(is_known, "child %d of %d that were forked at once does not know what it inherited", i, FORKERS);
    dump_cursor_close(cursor);
    release_dump(&dump);
  }
  atomic_store(&forks_take_long, false);
  memory_release(inherited);
}

static void *give_memory(void *argument) {
  (void)argument;
  for (;;) memory_release(memory_allocate(64));
  return NULL;
}

/* Children of a child that has not begun to record: one of its threads is about to, or gives memory back. */
static void test_grandchildren(void) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    alarm(CHILD_SECONDS);
    pthread_t thread;
    if (pthread_create(&thread, NULL, give_memory, NULL)) _exit(2);
    for (int i = 0; i < GRANDCHILDREN; i++) {
      pid_t pid = fork();
      if (pid == 0) {
        alarm(CHILD_SECONDS);
        run_op();
        tfprof_capture_finish();
        _exit(0);
      }
      if (waitpid(pid, &status, 0) != pid || status) _exit(1);
    }
    _exit(0);
  }
  check(waitpid(child, &status, 0) == child, "the child cannot be waited for");
  check(status == 0, "grandchildren: status %d", status);
}

/* Threads of AddressSanitizer end by a lock of its own. */
#if defined(SYS_fork) && !defined(__SANITIZE_ADDRESS__)
/* In the child of a fork that no handler sees it runs ops, ends a step though the lock of steps was taken when it was
** forked, and ends. */
static void *fork_unseen(void *argument) {
  pid_t *child = argument;
  run_op();
  pthread_mutex_lock(&sampling_lock); /* in the child for ever */
  *child = (pid_t)syscall(SYS_fork);
  if (*child) {
    pthread_mutex_unlock(&sampling_lock);
    return NULL;
  }
  alarm(CHILD_SECONDS);
  run_op();
  sampling_mark_ended(MARK_OPTIMIZER, 1, 0, clock_ticks(), clock_ticks());
  sampling_window(1);
  memory_release(memory_allocate(64));
  return NULL;
}

static void test_unseen_fork(void) {
  pthread_t thread;
  pid_t child = 0;
  int status;
  check(pthread_create(&thread, NULL, fork_unseen, &child) == 0 && pthread_join(thread, NULL) == 0, "no thread");
  if (!child) pthread_exit(NULL); /* where the C library goes on in the child */
  check(waitpid(child, &status, 0) == child && status == 0, "a child that no handler saw: status %d", status);
}
#else
static void test_unseen_fork(void) {}
#endif

int main(void) {
#ifdef __SANITIZE_THREAD__
  puts("ThreadSanitizer allows no threads in the child");
  return 77;
#endif
  /* Called when the library's own handler has taken its locks: the last one registered comes first. */
  check(pthread_atfork(take_long, NULL, NULL) == 0, "no handler");
  fake_torch_begin();
  torch_memory = (struct torch_memory_functions){.allocate = malloc, .release = free};
  manager.begin = manager.end = listed;
  manager.room_end = listed + LISTED;
  torch.add_global_callback = locked_add;
  torch.remove_callback = locked_remove;
  test_find();
  check(tfprof_capture_arm(), "the library does not arm");
  memory_begin();
  memory_arm(false);
  test_lock_in_other_hands("PyTorch's lock", &manager.lock, true);
  test_lock_in_other_hands("the lock of sampling", &sampling_lock, true);
  test_lock_in_other_hands("the lock of memory", &memory_lock, true);
  torch_lock = NULL;
  test_lock_in_other_hands("a lock that was not found", &manager.lock, false);
  torch_lock = &manager.lock;
  if (!allocator_breaks_forks) {
    test_grandchildren();
    test_forks_at_once();
    test_forks_at_any_moment();
    test_unseen_fork();
  }
  tfprof_capture_finish();
  return 0;
}
