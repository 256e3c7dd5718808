/* bench_store.c: how fast and how small the store is on a dump of a million ops.
**
**   bench_store PATH        a dump, best made with make_ops_dump
**
** Prints one line for each measurement: what, milliseconds that passed and, in parentheses, that all threads worked:
** the two agree on a machine with nothing else to do.
*/
#include "bench/figures.h"
#include "derive/derive.h"
#include "read/read.h"
#include "store/snapshot.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct moment {
  double passed, worked;
};

static double read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct moment now(void) {
  return (struct moment){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

static uint64_t op_count; /* of the dump; 0 before it is open */

static void tell_store(const char *what, double value, const char *unit) {
  tell_figure(&(struct figure){.subject = "opening", .value = value, .unit = unit, .command = "bench_store DUMP"},
              "Dump of %s ops: %s", figure_count(op_count).text, what);
}

static void print_since(const char *what, struct moment begin) {
  struct moment end = now();
  char worked[120];
  snprintf(worked, sizeof worked, "%s, processor time", what);
  tell_store(what, end.passed - begin.passed, "ms");
  tell_store(worked, end.worked - begin.worked, "CPU ms");
  printf("%-46s %8.2f ms (%.2f)\n", what, end.passed - begin.passed, end.worked - begin.worked);
}

static double resident_bytes(void) {
  long total = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  fclose(file);
  return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void stop(const struct tfprof_error *error) {
  char text[2200];
  error_text(error, text, sizeof text);
  fprintf(stderr, "bench_store: %s\n", text);
  exit(1);
}

struct opened {
  struct store *store;
  struct snapshot *ops;
  double begin_resident;
};

static struct opened open_ops_with(const char *path, bool with_passes) {
  struct tfprof_error error;
  struct opened opened;
  uint32_t run;
  malloc_trim(0);
  opened.begin_resident = resident_bytes();
  opened.store = with_passes ? store_create(derive_passes, derive_pass_count) : store_create(NULL, 0);
  struct moment begin = now();
  if (read_open(opened.store, path, &run, &error)) stop(&error);
  if (store_snapshot(opened.store, TABLE_ops, NULL, &opened.ops, &error)) stop(&error);
  op_count = opened.ops->rows;
  print_since("open", begin);
  return opened;
}

static struct opened open_ops(const char *path) { return open_ops_with(path, false); }

static void close_ops(struct opened *opened) {
  snapshot_release(opened->ops);
  store_release(opened->store);
}

static void require(struct opened *opened, const uint16_t *columns, unsigned count, const char *what) {
  struct tfprof_error error;
  struct column_set set = {{0, 0}};
  for (unsigned i = 0; i < count; i++) column_set_add(&set, columns[i]);
  struct moment begin = now();
  if (snapshot_require(opened->ops, &set, &error)) stop(&error);
  print_since(what, begin);
}

static void print_memory(const struct opened *opened, const char *of) {
  malloc_trim(0);
  double rows = (double)opened->ops->rows;
  char what[100];
  printf("  memory                            %8.1f bytes/op by store_bytes, %.1f resident\n",
         (double)store_bytes(opened->store) / rows, (resident_bytes() - opened->begin_resident) / rows);
  snprintf(what, sizeof what, "memory for an op, %s", of);
  tell_store(what, (double)store_bytes(opened->store) / rows, "B");
}

static void three_columns(const char *path) {
  static const uint16_t columns[] = {COLUMN_ops_name, COLUMN_ops_start_ns, COLUMN_ops_dur_ns};
  struct opened opened = open_ops(path);
  struct tfprof_error error;
  const uint32_t *positions;
  require(&opened, columns, 3, "three columns: name, start_ns, dur_ns");
  struct moment begin = now();
  if (snapshot_order(opened.ops, columns, 1, &positions, &error)) stop(&error);
  print_since("order by name", begin);
  print_memory(&opened, "three columns and the order by name");
  begin = now();
  if (snapshot_order(opened.ops, columns + 1, 1, &positions, &error)) stop(&error);
  print_since("order by start_ns", begin);
  begin = now();
  if (snapshot_order(opened.ops, columns + 2, 1, &positions, &error)) stop(&error);
  print_since("order by dur_ns", begin);
  static const uint16_t pair[] = {COLUMN_ops_name, COLUMN_ops_dur_ns};
  begin = now();
  if (snapshot_order(opened.ops, pair, 2, &positions, &error)) stop(&error);
  print_since("order by name, dur_ns", begin);
  close_ops(&opened);
}

static void one_segment(const char *path, bool with_passes) {
  struct opened opened = open_ops_with(path, with_passes);
  struct tfprof_error error;
  struct column_set all = {{0, 0}};
  for (unsigned column = 2; column < schema_tables[TABLE_ops].column_count; column++) column_set_add(&all, column);
  struct moment begin = now();
  if (snapshot_require_segment(opened.ops, 0, &all, &error)) stop(&error);
  print_since(with_passes ? "first segment, every column, derived ones too" : "first segment, every column", begin);
  close_ops(&opened);
}

static void all_columns(const char *path, bool with_passes) {
  uint16_t columns[SCHEMA_MAXIMUM_COLUMNS];
  unsigned count = 0;
  struct opened opened = open_ops_with(path, with_passes);
  for (unsigned column = 2; column < schema_tables[TABLE_ops].column_count; column++)
    columns[count++] = (uint16_t)column;
  require(&opened, columns, count, with_passes ? "every column, derived ones too" : "every column");
  print_memory(&opened, with_passes ? "every column, derived ones too" : "every column");
  close_ops(&opened);
}

/* As many lookups as there are rows, each of a value that a row has. */
static void lookups(const char *path, unsigned column, const char *name) {
  struct opened opened = open_ops(path);
  struct tfprof_error error;
  struct snapshot *ops = opened.ops;
  const uint32_t *positions;
  uint64_t count, found = 0, step = 7919 % ops->rows;
  uint16_t columns[1] = {(uint16_t)column};
  struct moment begin = now();
  if (snapshot_order(ops, columns, 1, &positions, &error)) stop(&error);
  char what[64];
  snprintf(what, sizeof what, "order by %s", name);
  print_since(what, begin);
  struct value *values = malloc(ops->rows * sizeof *values);
  size_t hint = 0;
  uint32_t row;
  for (uint64_t i = 0; i < ops->rows; i++) {
    const struct segment *segment = snapshot_segment(ops, i * step % ops->rows, &hint, &row);
    values[i] = segment_value(segment, column, row);
  }
  begin = now();
  for (uint64_t i = 0; i < ops->rows; i++) {
    if (snapshot_equal(ops, column, values[i], &positions, &count, &error)) stop(&error);
    found += count != 0;
  }
  snprintf(what, sizeof what, "a lookup by %s for each row", name);
  print_since(what, begin);
  if (found != ops->rows) printf("  only %llu found\n", (unsigned long long)found);
  free(values);
  close_ops(&opened);
}

static void ids(const char *path) {
  struct opened opened = open_ops(path);
  uint64_t step = 7919 % opened.ops->rows;
  int64_t sum = 0;
  struct moment begin = now();
  for (uint64_t i = 0; i < opened.ops->rows; i++) {
    sum += snapshot_find_id(opened.ops, id_make(1, i * step % opened.ops->rows)) >= 0;
  }
  print_since("a lookup by id for each row", begin);
  if (sum != (int64_t)opened.ops->rows) printf("  only %lld found\n", (long long)sum);
  close_ops(&opened);
}

int main(int argument_count, char **arguments) {
  if (argument_count != 2) {
    fprintf(stderr, "usage: bench_store DUMP\n");
    return 2;
  }
  three_columns(arguments[1]);
  one_segment(arguments[1], false);
  one_segment(arguments[1], true);
  all_columns(arguments[1], false);
  all_columns(arguments[1], true);
  ids(arguments[1]);
  lookups(arguments[1], COLUMN_ops_name, "name");
  lookups(arguments[1], COLUMN_ops_sequence_number, "sequence_number");
  lookups(arguments[1], COLUMN_ops_thread_id, "thread_id");
  lookups(arguments[1], COLUMN_ops_start_ns, "start_ns");
  return 0;
}
