/* process_counters.c: getrusage and two files of /proc (see process_counters.h). */
#include "process_counters.h"

#include "recorder/clock.h"
#include "recorder/dump_ids.h"
#include "small_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { COUNTER_NAME, COUNTER_UNIT, COUNTER_TIME, COUNTER_VALUE, COUNTER_COLUMNS };
static const struct row_column columns[COUNTER_COLUMNS] = {
    {DUMP_counters_name, DUMP_UNORDERED, false, false},
    {DUMP_counters_unit, DUMP_UNORDERED, false, false},
    {DUMP_counters_time_ns, DUMP_ASCENDING, false, false},
    {DUMP_counters_value, DUMP_UNORDERED, true, false},
};

bool process_counters_begin(struct process_counters *counters) {
  memset(counters, 0, sizeof *counters);
  return row_buffer_begin(&counters->rows, DUMP_TABLE_counters, columns, COUNTER_COLUMNS, 64);
}

void process_counters_end(struct process_counters *counters) { row_buffer_end(&counters->rows); }

struct measurement {
  struct process_counters *counters;
  struct dump_writer *writer;
  int64_t time_ns;
};

static void add(const struct measurement *now, const char *name, const char *unit, double value) {
  struct row_buffer *rows = &now->counters->rows;
  uint32_t row = row_add(rows);
  if (row == UINT32_MAX) return;
  row_set(rows, row, COUNTER_NAME, dump_writer_string(now->writer, name, strlen(name)));
  row_set(rows, row, COUNTER_UNIT, dump_writer_string(now->writer, unit, strlen(unit)));
  row_set(rows, row, COUNTER_TIME, now->time_ns);
  row_set_real(rows, row, COUNTER_VALUE, value);
}

void process_counters_add(struct process_counters *counters, struct dump_writer *writer, int64_t time_ns,
                          const char *name, const char *unit, double value) {
  const struct measurement now = {counters, writer, time_ns};
  add(&now, name, unit, value);
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec * 1e-6; }

static void measure_usage(const struct measurement *now, double elapsed) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage)) return;
  double user = seconds(usage.ru_utime), kernel = seconds(usage.ru_stime);
  if (elapsed > 0) add(now, "process_cpu", "ratio", (user + kernel - now->counters->last_cpu) / elapsed);
  now->counters->last_cpu = user + kernel;
  add(now, "process_cpu_user_s", "s", user);
  add(now, "process_cpu_system_s", "s", kernel);
  add(now, "process_major_faults", "count", (double)usage.ru_majflt);
  add(now, "process_voluntary_switches", "count", (double)usage.ru_nvcsw);
  add(now, "process_involuntary_switches", "count", (double)usage.ru_nivcsw);
}

/* proc(5): after the name in parentheses, which may hold anything, field 3. */
enum { STATUS_THREADS = 20, STATUS_START = 22, STATUS_PAGES = 24, STATUS_FIELDS };

static bool read_status(double *fields) {
  char text[2048];
  if (!small_file_read("/proc/self/stat", text, sizeof text)) return false;
  const char *cursor = strrchr(text, ')');
  for (int field = 3; field < STATUS_FIELDS; field++) {
    if (cursor) cursor = strchr(cursor + 1, ' ');
    if (!cursor) return false;
    fields[field] = strtod(cursor, NULL);
  }
  return true;
}

static void measure_status(const struct measurement *now) {
  double fields[STATUS_FIELDS];
  if (!read_status(fields)) return;
  add(now, "process_threads", "count", fields[STATUS_THREADS]);
  add(now, "process_resident_bytes", "bytes", fields[STATUS_PAGES] * (double)sysconf(_SC_PAGESIZE));
}

double process_age_ns(void) {
  double fields[STATUS_FIELDS];
  struct timespec now;
  if (!read_status(fields) || clock_gettime(CLOCK_BOOTTIME, &now)) return 0;
  double age = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - fields[STATUS_START] / (double)sysconf(_SC_CLK_TCK);
  return age > 0 ? age * 1e9 : 0;
}

static void measure_host(const struct measurement *now, const struct host_processors *host) {
  char text[4096];
  if (host->busy >= 0) add(now, "host_cpu", "ratio", host->busy);
  const char *available = small_file_read("/proc/meminfo", text, sizeof text) ? strstr(text, "MemAvailable:") : NULL;
  if (available) add(now, "host_available_bytes", "bytes", strtod(available + 13, NULL) * 1024);
}

void process_counters_measure(struct process_counters *counters, const struct host_processors *host,
                              struct dump_writer *writer) {
  uint64_t time_ns = clock_monotonic_ns();
  double elapsed = counters->last_ns ? (double)(time_ns - counters->last_ns) * 1e-9 : 0;
  struct measurement now = {counters, writer, (int64_t)time_ns};
  measure_usage(&now, elapsed);
  measure_status(&now);
  measure_host(&now, host);
  counters->last_ns = time_ns;
}
