/* thread_switches.c: two files of /proc (see thread_switches.h). */
#include "thread_switches.h"

#include "process_counters.h"
#include "recorder/small_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_of_thread(long tid, const char *name, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/%s", tid, name);
  return small_file_read(path, text, size);
}

/* Documentation/scheduler/sched-stats.rst: nanoseconds on a processor, and waiting for one. */
double thread_wait_ns(long tid) {
  char text[128], *end;
  if (!read_of_thread(tid, "schedstat", text, sizeof text)) return -1;
  strtoull(text, &end, 10);
  return strtod(end, NULL);
}

double thread_run_ns(long tid) {
  char text[128];
  return read_of_thread(tid, "schedstat", text, sizeof text) ? strtod(text, NULL) : -1;
}

/* proc(5): "nonvoluntary_ctxt_switches:\t12" on a line of its own. */
static void add_line(struct recorder *recorder, int64_t time_ns, const char *text, const char *key, const char *name) {
  const char *line = strstr(text, key);
  if (line) process_counters_add(recorder, time_ns, name, "count", strtod(line + strlen(key), NULL));
}

/* A kernel without one of the files has no such values, and a thread that has ended neither. */
static void switches_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  char text[4096];
  double wait_ns = thread_wait_ns(getpid());
  (void)is_end;
  if (read_of_thread(getpid(), "status", text, sizeof text)) {
    add_line(recorder, now->monotonic_ns, text, "\nvoluntary_ctxt_switches:", "main_thread_voluntary_switches");
    add_line(recorder, now->monotonic_ns, text, "\nnonvoluntary_ctxt_switches:", "main_thread_involuntary_switches");
  }
  if (wait_ns >= 0) process_counters_add(recorder, now->monotonic_ns, "main_thread_wait_s", "s", wait_ns * 1e-9);
}

const struct capture_source switches_source = {.name = "switches", .tick = switches_tick};
