/* thread_names.c: see thread_names.h. */
#include "thread_names.h"

#include "recorder/gate.h"
#include "recorder/small_file.h"
#include "thread_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NOTED_MAXIMUM = 1024, TOLD_MAXIMUM = 4096, START_TIME_FIELD = 22 };

/* Looked at once per thread, so the room for it need not be in every thread of the program from its beginning. */
static _Thread_local struct own {
  uint32_t tid;
  char name[THREAD_NAME_MAXIMUM];
} own;

/* Where the last threads that told their names have them: a thread that has ended has given that memory back. */
static struct told {
  _Atomic uint32_t tid;
  _Atomic uintptr_t address; /* of its `own` */
} told[TOLD_MAXIMUM];
static _Atomic uint32_t told_count;

static struct noted {
  uint32_t tid;
  uint64_t started; /* in ticks since boot */
  char name[THREAD_NAME_MAXIMUM];
} noted[NOTED_MAXIMUM];
static unsigned noted_count;

pthread_mutex_t thread_names_lock = PTHREAD_MUTEX_INITIALIZER;

void thread_name_set(const char *name) {
  snprintf(own.name, sizeof own.name, "%s", name);
  own.tid = (uint32_t)syscall(SYS_gettid);
  struct told *place = &told[atomic_fetch_add(&told_count, 1) % TOLD_MAXIMUM];
  atomic_store(&place->tid, 0);
  atomic_store(&place->address, (uintptr_t)&own);
  atomic_store(&place->tid, own.tid);
}

/* What lies there now, whoever's it is. */
static bool read_own(uintptr_t address, struct own *copy) {
  struct iovec to = {copy, sizeof *copy};
  struct iovec from = {(void *)address, sizeof *copy}; /* NOLINT(performance-no-int-to-ptr) */
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof *copy;
}

bool thread_name_told(uint32_t tid, char *name, size_t size) {
  struct own copy;
  uint32_t count = atomic_load(&told_count), kept = count < TOLD_MAXIMUM ? count : TOLD_MAXIMUM;
  for (uint32_t i = 1; i <= kept; i++) { /* the last one first */
    const struct told *place = &told[(count - i) % TOLD_MAXIMUM];
    if (atomic_load(&place->tid) != tid || !read_own(atomic_load(&place->address), &copy) || copy.tid != tid) continue;
    snprintf(name, size, "%.*s", (int)sizeof copy.name - 1, copy.name);
    return name[0] != 0;
  }
  return false;
}

/* Field 22 of /proc/self/task/TID/stat (proc(5)); the second is a name in brackets, which may hold anything. 0: not
** known. */
static uint64_t start_time(uint32_t tid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  if (!small_file_read(path, text, sizeof text)) return 0;
  const char *at = strrchr(text, ')');
  for (int field = 2; at && field < START_TIME_FIELD; field++) {
    at = strchr(at, ' ');
    if (at) at++;
  }
  return at ? strtoull(at, NULL, 10) : 0;
}

void thread_name_note(uint32_t tid, const char *name) {
  if (!gate_is_ours()) return;
  uint64_t started = start_time(tid);
  if (!started) return;
  pthread_mutex_lock(&thread_names_lock);
  unsigned place = 0;
  while (place < noted_count && (noted[place].tid != tid || noted[place].started != started)) place++;
  if (place < NOTED_MAXIMUM) {
    noted[place].tid = tid;
    noted[place].started = started;
    snprintf(noted[place].name, sizeof noted[place].name, "%s", name);
    if (place == noted_count) noted_count++;
  }
  pthread_mutex_unlock(&thread_names_lock);
}

bool thread_name_noted(uint32_t tid, char *name, size_t size) {
  bool is_noted = false;
  uint64_t started = 0; /* 0: of one that has ended, whose name is asked for late */
  pthread_mutex_lock(&thread_names_lock);
  for (unsigned i = 0; i < noted_count; i++) {
    if (noted[i].tid != tid) continue;
    if (!started) started = start_time(tid);
    if (started && noted[i].started != started) continue;
    snprintf(name, size, "%s", noted[i].name);
    is_noted = true;
  }
  pthread_mutex_unlock(&thread_names_lock);
  return is_noted;
}

void thread_name_copy(uint32_t tid, char *name, size_t size) {
  snprintf(name, size, "%s", own.name);
  if (!own.name[0]) thread_name_noted(tid, name, size);
}

void thread_names_reset(void) {
  noted_count = 0;
  atomic_store(&told_count, 0);
}
