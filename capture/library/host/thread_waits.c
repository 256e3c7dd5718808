/* thread_waits.c: /proc/self/task/TID/syscall (see thread_waits.h). */
#include "thread_waits.h"

#include "recorder/small_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What calls wait for whatever they are called with. */
static const struct {
  long number;
  const char *what;
} calls[] = {
    {SYS_nanosleep, "sleep"},
    {SYS_clock_nanosleep, "sleep"},
    {SYS_wait4, "process"},
    {SYS_waitid, "process"},
    {SYS_clone, "process"},
    {SYS_execve, "process"},
#ifdef SYS_clone3
    {SYS_clone3, "process"},
#endif
#ifdef SYS_vfork
    {SYS_fork, "process"},
    {SYS_vfork, "process"},
    {SYS_open, "file"},
    {SYS_stat, "file"},
    {SYS_rename, "file"},
    {SYS_unlink, "file"},
    {SYS_mkdir, "file"},
    {SYS_poll, "events"},
    {SYS_epoll_wait, "events"},
#endif
#ifdef SYS_newfstatat
    {SYS_newfstatat, "file"},
#endif
    {SYS_openat, "file"},
    {SYS_fsync, "file"},
    {SYS_fdatasync, "file"},
    {SYS_sync, "file"},
    {SYS_syncfs, "file"},
    {SYS_sync_file_range, "file"},
    {SYS_msync, "file"},
    {SYS_close, "file"},
    {SYS_flock, "file"},
    {SYS_fcntl, "file"},
    {SYS_ftruncate, "file"},
    {SYS_fallocate, "file"},
    {SYS_statx, "file"},
    {SYS_getdents64, "file"},
    {SYS_renameat, "file"},
    {SYS_unlinkat, "file"},
    {SYS_mkdirat, "file"},
    {SYS_copy_file_range, "file"},
    {SYS_io_getevents, "file"},
    {SYS_recvfrom, "connection"},
    {SYS_recvmsg, "connection"},
    {SYS_sendto, "connection"},
    {SYS_sendmsg, "connection"},
    {SYS_accept, "connection"},
    {SYS_accept4, "connection"},
    {SYS_connect, "connection"},
    {SYS_ppoll, "events"},
    {SYS_epoll_pwait, "events"},
};

/* Those that read or write the file whose number is their first argument. */
static const long transfers[] = {SYS_read,   SYS_write,  SYS_readv,  SYS_writev,  SYS_pread64, SYS_pwrite64,
                                 SYS_preadv, SYS_pwritev, SYS_splice, SYS_sendfile};

/* By the name of what is open, which asks nothing of a file system that may hang. A FIFO with a name is a file. */
static const char *kind_of_file(long tid, unsigned long descriptor) {
  static const struct {
    const char *begins, *what;
  } kinds[] = {{"socket:", "connection"}, {"pipe:", "pipe"}, {"anon_inode:", "events"}, {"/dev/shm/", "file"},
               {"/dev/", "pipe"}};
  char path[64], name[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/fd/%lu", tid, descriptor);
  ssize_t length = readlink(path, name, sizeof name - 1);
  if (length <= 0) return "something else";
  name[length] = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (!strncmp(name, kinds[i].begins, strlen(kinds[i].begins))) return kinds[i].what;
  return "file";
}

/* The lock of the main interpreter lies within what Python calls _PyRuntime, in all versions. */
static bool is_in_python_runtime(uintptr_t address) {
  static uintptr_t begin, size;
  if (!begin) {
    Dl_info library;
    void *entry = NULL, *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    bool is_known = runtime && dladdr1(runtime, &library, &entry, RTLD_DL_SYMENT) && entry;
    begin = is_known ? (uintptr_t)runtime : 1;
    size = is_known ? (uintptr_t)((const ElfW(Sym) *)entry)->st_size : 0;
  }
  return address - begin < size;
}

static const char *kind_of_call(long tid, long number, const unsigned long *arguments) {
  if (number == SYS_futex) return is_in_python_runtime(arguments[0]) ? "GIL" : "lock";
#ifdef SYS_select
  if (number == SYS_select) return arguments[0] ? "events" : "sleep";
#endif
  if (number == SYS_pselect6) return arguments[0] ? "events" : "sleep";
  for (size_t i = 0; i < sizeof transfers / sizeof transfers[0]; i++)
    if (number == transfers[i]) return kind_of_file(tid, arguments[0]);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (number == calls[i].number) return calls[i].what;
  return "something else";
}

/* proc(5): "running", or the number of the call and its six arguments, or -1 where it sleeps outside of any: there
** memory of a file is read. */
const char *thread_waits_for(long tid) {
  char path[64], text[256], *cursor = text, *end;
  unsigned long arguments[2] = {0};
  snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", tid);
  if (!small_file_read(path, text, sizeof text)) return NULL;
  long number = strtol(text, &end, 10);
  if (end == text) return NULL;
  if (number < 0) return "file";
  for (int i = 0; i < 2; i++) {
    cursor = end;
    arguments[i] = strtoul(cursor, &end, 16);
    if (end == cursor) return NULL;
  }
  return kind_of_call(tid, number, arguments);
}

/* The kernel's own numbers of clocks (include/linux/posix-timers_types.h): of a thread, what the scheduler counts. */
int64_t thread_ran_ns(long tid) {
  enum { OF_THREAD = 4, OF_SCHEDULER = 2 };
  struct timespec ran;
  clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | OF_THREAD | OF_SCHEDULER);
  return clock_gettime(clock, &ran) ? -1 : (int64_t)ran.tv_sec * 1000000000 + ran.tv_nsec;
}
