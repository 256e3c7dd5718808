/* thread_names.c: see thread_names.h. */
#include "thread_names.h"

#include "thread_record.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTED_MAXIMUM = 256, START_TIME_FIELD = 22 };

/* Looked at once per thread, so the room for it need not be in every thread of the program from its beginning. */
static _Thread_local char own_name[THREAD_NAME_MAXIMUM];

static struct noted {
  uint32_t tid;
  uint64_t started; /* in ticks since boot */
  char name[THREAD_NAME_MAXIMUM];
} noted[NOTED_MAXIMUM];
static _Atomic unsigned noted_count;

void thread_name_set(const char *name) { snprintf(own_name, sizeof own_name, "%s", name); }

/* Field 22 of /proc/self/task/TID/stat (proc(5)); the second is a name in brackets, which may hold anything. 0: not
** known. */
static uint64_t start_time(uint32_t tid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  ssize_t length = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  text[length < 0 ? 0 : length] = 0;
  const char *at = strrchr(text, ')');
  for (int field = 2; at && field < START_TIME_FIELD; field++) {
    at = strchr(at, ' ');
    if (at) at++;
  }
  return at ? strtoull(at, NULL, 10) : 0;
}

void thread_name_note(uint32_t tid, const char *name) {
  unsigned count = atomic_load(&noted_count);
  uint64_t started = count < NOTED_MAXIMUM ? start_time(tid) : 0;
  if (!started) return;
  noted[count].tid = tid;
  noted[count].started = started;
  snprintf(noted[count].name, sizeof noted[count].name, "%s", name);
  atomic_store_explicit(&noted_count, count + 1, memory_order_release);
}

void thread_name_copy(uint32_t tid, char *name, size_t size) {
  snprintf(name, size, "%s", own_name);
  unsigned count = own_name[0] ? 0 : atomic_load_explicit(&noted_count, memory_order_acquire);
  for (unsigned i = 0; i < count; i++) {
    if (noted[i].tid == tid && noted[i].started == start_time(tid)) snprintf(name, size, "%s", noted[i].name);
  }
}

void thread_names_reset(void) { atomic_store(&noted_count, 0); }
