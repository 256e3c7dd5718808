/* test_capture_files.c: files that the recorder uses within somebody else's program (recorder/file_threads.h), with a
** table of descriptors of their own and, where the system refuses one, beside the program's; and a dump whose
** descriptor is replaced while it is written.
**
** Which of the two it is, is decided once in a process: so each test is a process.
*/
#include "dump/descriptor.h"
#include "dump/reader.h"
#include "dump/writer.h"
#include "recorder/file_threads.h"
#include "recorder/small_file.h"
#include "scratch.h"
#include "stopping_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, CLOSE_RANGE = 436, STORM_NUMBERS = 1024 };

/* ---- What stands between the recorder and the system. */

static bool is_table_refused;
static int replacing = -1; /* a file that takes the descriptor's number right before the next write */

long syscall(long number, ...) {
  static long (*real)(long, ...);
  va_list arguments;
  long words[6];
  va_start(arguments, number);
  for (int i = 0; i < 6; i++) words[i] = va_arg(arguments, long);
  va_end(arguments);
  if (number == CLOSE_RANGE && is_table_refused) {
    errno = ENOSYS;
    return -1;
  }
  if (!real) {
    void *symbol = dlsym(RTLD_NEXT, "syscall");
    memcpy(&real, &symbol, sizeof real);
  }
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

ssize_t pwrite(int number, const void *bytes, size_t length, off_t offset) {
  if (replacing >= 0) {
    dup2(replacing, number);
    replacing = -1;
  }
  return (ssize_t)syscall(SYS_pwrite64, number, bytes, length, offset);
}

/* ---- Work. */

struct use {
  const char *path;
  struct descriptor file;
  pid_t thread;
  char text[16];
  bool is_whole;
};

static void open_file(void *argument) {
  struct use *use = argument;
  use->thread = (pid_t)syscall(SYS_gettid);
  use->is_whole = descriptor_take(&use->file, file_open(use->path, O_RDWR | O_CREAT, 0600));
  errno = 4711;
}

static void write_file(void *argument) {
  struct use *use = argument;
  use->is_whole = descriptor_is_ours(&use->file) && pwrite(use->file.number, use->text, 4, 100) == 4 &&
                  descriptor_is_ours(&use->file);
}

static void close_file(void *argument) {
  struct use *use = argument;
  use->is_whole = descriptor_close(&use->file);
}

static void run(void (*work)(void *), struct use *use, const char *what) {
  use->is_whole = false;
  check(file_thread_run(FILE_THREAD_DISK, work, use) && use->is_whole, "%s: %s", what, strerror(errno));
}

static bool is_open(int number) { return fcntl(number, F_GETFD) >= 0; }

static int count_open(void) {
  int count = 0;
  for (int number = 0; number < 2 * STORM_NUMBERS; number++) count += is_open(number);
  return count;
}

static off_t size_of(int number) { return lseek(number, 0, SEEK_END); }

/* As another process sees it. */
static bool is_locked(const char *path) {
  pid_t child = fork();
  if (!child) {
    struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
    _exit(fcntl(open(path, O_RDWR), F_GETLK, &lock) || lock.l_type != F_UNLCK);
  }
  int status;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

/* ---- Tests. */

static void test_apart(void) {
  int own = open(test_path("own"), O_RDWR | O_CREAT, 0600), ends[2];
  struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
  check(own >= 0 && !fcntl(own, F_SETLK, &lock) && !pipe(ends), "cannot begin");
  int before = count_open();
  struct use use = {.path = test_path("ours"), .text = "text"};
  errno = 12;
  run(open_file, &use, "open");
  check(errno == 12, "errno is %d", errno);
  if (!file_threads_are_apart()) exit(SKIPPED);
  check(use.thread != (pid_t)syscall(SYS_gettid) && use.file.number > 2, "it has the number %d", use.file.number);
  check(count_open() == before, "%d descriptors became %d", before, count_open());
  /* Whatever the program does to its numbers: */
  for (int round = 0; round < 20; round++) {
    for (int number = 3; number < STORM_NUMBERS; number++)
      if (number != own && number != ends[0] && number != ends[1]) check(dup2(own, number) == number, "dup2");
    run(write_file, &use, "write");
    for (int number = 3; number < STORM_NUMBERS; number++)
      if (number != own && number != ends[0] && number != ends[1]) check(!close(number), "close %d", number);
    run(write_file, &use, "write");
  }
  check(size_of(own) == 0, "the program's file has grown");
  char byte;
  check(!close(ends[1]) && read(ends[0], &byte, 1) == 0, "the pipe has no end");
  check(!fcntl(own, F_SETLK, &lock) && is_locked(test_path("own")), "the lock is gone");
  run(close_file, &use, "close");
}

/* Children have no such thread, and get one of their own; one that no handler saw, too. */
static void test_forks(void) {
#ifdef __SANITIZE_THREAD__
  return; /* it allows no threads in the child */
#endif
  struct use use = {.path = test_path("ours"), .text = "text"};
  run(open_file, &use, "open");
  if (!file_threads_are_apart()) exit(SKIPPED);
  for (int is_raw = 0; is_raw < 2; is_raw++) {
    pid_t child = is_raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (!child) {
      if (!is_raw) file_threads_after_fork_in_child();
      char text[64];
      struct use its = {.path = test_path("its")};
      alarm(60);
      bool is_there = small_file_read("/proc/self/stat", text, sizeof text) && atoi(text) == getpid();
      run(open_file, &its, "open in a child");
      run(close_file, &its, "close in a child");
      _exit(!is_there);
    }
    int status;
    check(waitpid(child, &status, 0) == child && status == 0, "a child (%d) ends with %x", is_raw, status);
  }
  run(write_file, &use, "write");
}

static void *read_often(void *argument) {
  char text[64];
  for (int i = 0; i < 200; i++) check(small_file_read("/proc/self/stat", text, sizeof text), "nothing is read");
  return argument;
}

static void test_threads(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) check(!pthread_create(&threads[i], NULL, read_often, NULL), "pthread_create");
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  check(small_file_read_bytes("/proc/self/nothing", (char[4]){0}, 4) == 0, "something is read");
}

static void test_shared(void) {
  is_table_refused = true;
  struct rlimit limit = {20000, 20000};
  bool is_high = !setrlimit(RLIMIT_NOFILE, &limit);
  struct use use = {.path = test_path("ours"), .text = "text"};
  close(0);
  run(open_file, &use, "open");
  check(!file_threads_are_apart() && use.thread == (pid_t)syscall(SYS_gettid), "there is a thread");
  check(!is_open(0) && (use.file.number >= 4096 || !is_high), "it has the number %d", use.file.number);
  check(fcntl(use.file.number, F_GETFD) == FD_CLOEXEC, "children get it");
  int own = open(test_path("own"), O_RDWR | O_CREAT, 0600);
  check(own == 0, "the program gets %d", own);
  /* Replaced: neither written to nor closed. */
  check(dup2(own, use.file.number) >= 0, "dup2");
  check(file_thread_run(FILE_THREAD_DISK, write_file, &use) && !use.is_whole && size_of(own) == 0, "it is written to");
  int number = use.file.number;
  run(close_file, &use, "close");
  check(is_open(number), "it is closed");
  close(number);
  /* Few numbers, and none. */
  limit.rlim_cur = 64;
  check(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
  run(open_file, &use, "open");
  check(use.file.number >= 56, "it has the number %d of 64", use.file.number);
  run(close_file, &use, "close");
  while (dup(own) >= 0) continue;
  close(2);
  use.is_whole = true;
  check(file_thread_run(FILE_THREAD_DISK, open_file, &use) && !use.is_whole && !is_open(2), "it is 2");
}

static bool run_here(void (*work)(void *), void *argument) {
  work(argument);
  return true;
}

/* The worst that can be where the tables are one: the number is taken between the last look and the write. */
static void test_stray(void) {
  is_table_refused = true;
  static const struct dump_host host = {run_here, file_open, file_threads_are_apart};
  struct dump_profile profile = {.host = "host", .rank = -1, .clock_domain = "monotonic", .pid = 1};
  struct dump_writer *writer;
  struct tfprof_error error;
  struct dump_file *file;
  struct use use = {.path = test_path("first")};
  run(open_file, &use, "open"); /* now it is known that it is refused */
  check(!dump_writer_create_as_guest(test_path("dump"), &host, &profile, &writer, &error), "create");
  dump_writer_keep_room(writer, 4096);
  for (int i = 0; i < 10; i++) {
    if (i == 5) replacing = open(test_path("own"), O_RDWR | O_CREAT, 0600);
    check(!dump_writer_clock(writer, &(struct dump_clock){.monotonic_ns = i}, &error), "frame %d", i);
    check(dump_writer_strays(writer) == (i >= 5), "frame %d: %d strays", i, (int)dump_writer_strays(writer));
  }
  check(!dump_writer_close(writer, &error), "close");
  check(!dump_file_open(test_path("dump"), &file, NULL) && file->is_closed && file->clock_count == 10, "it is torn");
  dump_file_close(file);
}

int main(void) {
  static void (*const tests[])(void) = {test_apart, test_forks, test_threads, test_shared, test_stray};
  int skipped = 0;
  make_test_directory();
  for (unsigned i = 0; i < sizeof tests / sizeof tests[0]; i++) {
    pid_t child = fork();
    if (!child) {
      tests[i]();
      _exit(0);
    }
    int status;
    check(waitpid(child, &status, 0) == child, "waitpid");
    skipped += WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
    check(WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == SKIPPED), "test %u: %x", i, status);
  }
  if (skipped) puts("this system refuses a table of descriptors to a thread");
  return 0;
}
