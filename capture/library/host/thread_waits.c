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

/* What calls wait for. */
#define CALL(name, what) {SYS_##name, #name, what}
static const char transfers[] = "transfers";
static const struct call {
  long number;
  const char *name, *what; /* NULL: it depends */
} calls[] = {
    CALL(nanosleep, "sleep"),
    CALL(clock_nanosleep, "sleep"),
    CALL(wait4, "process"),
    CALL(waitid, "process"),
    CALL(clone, "process"),
    CALL(execve, "process"),
#ifdef SYS_clone3
    CALL(clone3, "process"),
#endif
#ifdef SYS_vfork
    CALL(fork, "process"),
    CALL(vfork, "process"),
    CALL(open, "file"),
    CALL(stat, "file"),
    CALL(rename, "file"),
    CALL(unlink, "file"),
    CALL(mkdir, "file"),
    CALL(poll, "events"),
    CALL(epoll_wait, "events"),
#endif
#ifdef SYS_newfstatat
    CALL(newfstatat, "file"),
#endif
    CALL(openat, "file"),
    CALL(fsync, "file"),
    CALL(fdatasync, "file"),
    CALL(sync, "file"),
    CALL(syncfs, "file"),
    CALL(sync_file_range, "file"),
    CALL(msync, "file"),
    CALL(close, "file"),
    CALL(flock, "file"),
    CALL(fcntl, "file"),
    CALL(ftruncate, "file"),
    CALL(fallocate, "file"),
    CALL(statx, "file"),
    CALL(getdents64, "file"),
    CALL(renameat, "file"),
    CALL(unlinkat, "file"),
    CALL(mkdirat, "file"),
    CALL(copy_file_range, "file"),
    CALL(io_getevents, "file"),
    CALL(recvfrom, "connection"),
    CALL(recvmsg, "connection"),
    CALL(sendto, "connection"),
    CALL(sendmsg, "connection"),
    CALL(accept, "connection"),
    CALL(accept4, "connection"),
    CALL(connect, "connection"),
    CALL(ppoll, "events"),
    CALL(epoll_pwait, "events"),
    CALL(futex, NULL),
#ifdef SYS_select
    CALL(select, NULL),
#endif
    CALL(pselect6, NULL),
    /* These read or write the file whose number is their first argument. */
    CALL(read, transfers),
    CALL(write, transfers),
    CALL(readv, transfers),
    CALL(writev, transfers),
    CALL(pread64, transfers),
    CALL(pwrite64, transfers),
    CALL(preadv, transfers),
    CALL(pwritev, transfers),
    CALL(splice, transfers),
    CALL(sendfile, transfers),
};
#undef CALL

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

void thread_waits_prepare(void) { is_in_python_runtime(0); }

static const struct call *known_call(long number) {
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (number == calls[i].number) return &calls[i];
  return NULL;
}

static const char *kind_of_call(long tid, const struct call *call, const unsigned long *arguments) {
  if (!call) return "something else";
  if (call->number == SYS_futex) return is_in_python_runtime(arguments[0]) ? "GIL" : "lock";
  if (!call->what) return arguments[0] ? "events" : "sleep"; /* select: of files, or of none */
  return call->what == transfers ? kind_of_file(tid, arguments[0]) : call->what;
}

/* proc(5): "running", or the number of the call and its six arguments, or -1 where it sleeps outside of any: there
** memory of a file is read. */
const char *thread_waits_in(long tid, const char **name) {
  char path[64], text[256], *cursor = text, *end;
  unsigned long arguments[2] = {0};
  *name = NULL;
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
  const struct call *call = known_call(number);
  if (call) *name = call->name;
  return kind_of_call(tid, call, arguments);
}

const char *thread_waits_for(long tid) {
  const char *name;
  return thread_waits_in(tid, &name);
}

/* The kernel's own numbers of clocks (include/linux/posix-timers_types.h): of a thread, what the scheduler counts. */
int64_t thread_ran_ns(long tid) {
  enum { OF_THREAD = 4, OF_SCHEDULER = 2 };
  struct timespec ran;
  clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | OF_THREAD | OF_SCHEDULER);
  return clock_gettime(clock, &ran) ? -1 : (int64_t)ran.tv_sec * 1000000000 + ran.tv_nsec;
}
