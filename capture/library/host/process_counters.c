/* process_counters.c: getrusage and two files of /proc (see process_counters.h). */
#include "process_counters.h"

#include "cpu_facts.h"
#include "recorder/small_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { COUNTER_NAME, COUNTER_UNIT, COUNTER_DEVICE, COUNTER_TIME, COUNTER_VALUE, COUNTER_COLUMNS };
static const struct row_column columns[COUNTER_COLUMNS] = {
    {DUMP_counters_name, DUMP_UNORDERED, false, false},
    {DUMP_counters_unit, DUMP_UNORDERED, false, false},
    {DUMP_counters_device_id, DUMP_UNORDERED, false, false},
    {DUMP_counters_time_ns, DUMP_ASCENDING, false, false},
    {DUMP_counters_value, DUMP_UNORDERED, true, false},
};

static const struct table_form form = TABLE_FORM(counters, TABLE_CONTEXT, "values of counters", columns, 64);

static struct row_buffer rows;
static struct host_processors host;
static uint64_t last_ns;
static double last_cpu;

const struct host_processors *process_counters_host(void) { return &host; }

struct measurement {
  struct recorder *recorder;
  int64_t time_ns;
  int64_t device; /* -1: of none */
};

static void add_value(const struct measurement *now, const char *name, const char *unit, double value) {
  struct dump_writer *writer = now->recorder->writer;
  uint32_t row = row_add(&rows);
  if (row == UINT32_MAX) return;
  row_set(&rows, row, COUNTER_NAME, dump_writer_string(writer, name, strlen(name)));
  row_set(&rows, row, COUNTER_UNIT, dump_writer_string(writer, unit, strlen(unit)));
  if (now->device >= 0) row_set(&rows, row, COUNTER_DEVICE, now->device);
  row_set(&rows, row, COUNTER_TIME, now->time_ns);
  row_set_real(&rows, row, COUNTER_VALUE, value);
}

void process_counters_add(struct recorder *recorder, int64_t time_ns, const char *name, const char *unit,
                          double value) {
  process_counters_add_of_device(recorder, time_ns, -1, name, unit, value);
}

void process_counters_add_of_device(struct recorder *recorder, int64_t time_ns, int64_t device, const char *name,
                                    const char *unit, double value) {
  const struct measurement now = {recorder, time_ns, device};
  add_value(&now, name, unit, value);
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec * 1e-6; }

static void measure_usage(const struct measurement *now, double elapsed) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage)) return;
  double user = seconds(usage.ru_utime), kernel = seconds(usage.ru_stime);
  if (elapsed > 0) add_value(now, "process_cpu", "ratio", (user + kernel - last_cpu) / elapsed);
  last_cpu = user + kernel;
  add_value(now, "process_cpu_user_s", "s", user);
  add_value(now, "process_cpu_system_s", "s", kernel);
  add_value(now, "process_major_faults", "count", (double)usage.ru_majflt);
  add_value(now, "process_voluntary_switches", "count", (double)usage.ru_nvcsw);
  add_value(now, "process_involuntary_switches", "count", (double)usage.ru_nivcsw);
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
  add_value(now, "process_threads", "count", fields[STATUS_THREADS]);
  add_value(now, "process_resident_bytes", "bytes", fields[STATUS_PAGES] * (double)sysconf(_SC_PAGESIZE));
}

double process_age_ns(void) {
  double fields[STATUS_FIELDS];
  struct timespec now;
  if (!read_status(fields) || clock_gettime(CLOCK_BOOTTIME, &now)) return 0;
  double age = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - fields[STATUS_START] / (double)sysconf(_SC_CLK_TCK);
  return age > 0 ? age * 1e9 : 0;
}

static void measure_host(const struct measurement *now) {
  char text[4096];
  if (host.busy >= 0) add_value(now, "host_cpu", "ratio", host.busy);
  const char *available = small_file_read("/proc/meminfo", text, sizeof text) ? strstr(text, "MemAvailable:") : NULL;
  if (available) add_value(now, "host_available_bytes", "bytes", strtod(available + 13, NULL) * 1024);
}

/* Those over a time need a tick before. */
static void counters_tick(struct recorder *recorder, const struct clock_reading *reading, bool is_end) {
  uint64_t time_ns = clock_monotonic_ns();
  double elapsed = last_ns ? (double)(time_ns - last_ns) * 1e-9 : 0;
  const struct measurement now = {recorder, (int64_t)time_ns, -1};
  (void)reading;
  (void)is_end;
  host_processors_read(&host, time_ns);
  measure_usage(&now, elapsed);
  measure_status(&now);
  measure_host(&now);
  last_ns = time_ns;
}

static bool counters_open(struct recorder *recorder) {
  host_processors_begin(&host, "");
  last_ns = 0;
  last_cpu = 0;
  recorder->devices.tell_cpu = cpu_facts_tell;
  return row_tables_add(&recorder->tables, &rows, &form);
}

static struct capture_part counters_part = {.name = "counters", .state = PART_OK};

const struct capture_source counters_source = {
    .name = "counters",
    .parts = (struct capture_part *const[]){&counters_part, NULL},
    .open = counters_open,
    .tick = counters_tick,
};
