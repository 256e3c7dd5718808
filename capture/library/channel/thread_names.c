/* thread_names.c: see thread_names.h. */
#include "thread_names.h"

#include "recorder/gate.h"
#include "recorder/small_file.h"
#include "thread_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTED_MAXIMUM = 1024, START_TIME_FIELD = 22 };

/* Looked at once per thread, so the room for it need not be in every thread of the program from its beginning. */
static _Thread_local char own_name[THREAD_NAME_MAXIMUM];

static struct noted {
  uint32_t tid;
  uint64_t started; /* in ticks since boot */
  char name[THREAD_NAME_MAXIMUM];
} noted[NOTED_MAXIMUM];
static unsigned noted_count;

pthread_mutex_t thread_names_lock = PTHREAD_MUTEX_INITIALIZER;

void thread_name_set(const char *name) { snprintf(own_name, sizeof own_name, "%s", name); }

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
  snprintf(name, size, "%s", own_name);
  if (!own_name[0]) thread_name_noted(tid, name, size);
}

void thread_names_reset(void) { noted_count = 0; }
