/* bench_store.c: how fast and how small the store is on a dump of a million ops.
**
**   bench_store PATH        a dump, best made with make_ops_dump
**
** Prints one line for each measurement: what, milliseconds, and bytes where that is meant.
*/
#include "read/read.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
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

static struct opened open_ops(const char *path) {
  struct tfprof_error error;
  struct opened opened;
  uint32_t run;
  malloc_trim(0);
  opened.begin_resident = resident_bytes();
  opened.store = store_create(NULL, 0);
  double begin = now_ms();
  if (read_open(opened.store, path, &run, &error)) stop(&error);
  if (store_snapshot(opened.store, TABLE_ops, NULL, &opened.ops, &error)) stop(&error);
  printf("open                               %8.2f ms\n", now_ms() - begin);
  return opened;
}

static void close_ops(struct opened *opened) {
  snapshot_release(opened->ops);
  store_release(opened->store);
}

static double require(struct opened *opened, const uint16_t *columns, unsigned count) {
  struct tfprof_error error;
  struct column_set set = {{0, 0}};
  for (unsigned i = 0; i < count; i++) column_set_add(&set, columns[i]);
  double begin = now_ms();
  if (snapshot_require(opened->ops, &set, &error)) stop(&error);
  return now_ms() - begin;
}

static void print_memory(const struct opened *opened) {
  malloc_trim(0);
  double rows = (double)opened->ops->rows;
  printf("  memory                            %8.1f bytes/op by store_bytes, %.1f resident\n",
         (double)store_bytes(opened->store) / rows, (resident_bytes() - opened->begin_resident) / rows);
}

static void three_columns(const char *path) {
  static const uint16_t columns[] = {COLUMN_ops_name, COLUMN_ops_start_ns, COLUMN_ops_dur_ns};
  struct opened opened = open_ops(path);
  struct tfprof_error error;
  const uint32_t *positions;
  printf("require name, start_ns, dur_ns     %8.2f ms\n", require(&opened, columns, 3));
  double begin = now_ms();
  if (snapshot_order(opened.ops, columns, 1, &positions, &error)) stop(&error);
  printf("order by name                      %8.2f ms\n", now_ms() - begin);
  print_memory(&opened);
  begin = now_ms();
  if (snapshot_order(opened.ops, columns + 1, 1, &positions, &error)) stop(&error);
  printf("order by start_ns                  %8.2f ms\n", now_ms() - begin);
  begin = now_ms();
  if (snapshot_order(opened.ops, columns + 2, 1, &positions, &error)) stop(&error);
  printf("order by dur_ns                    %8.2f ms\n", now_ms() - begin);
  static const uint16_t pair[] = {COLUMN_ops_name, COLUMN_ops_dur_ns};
  begin = now_ms();
  if (snapshot_order(opened.ops, pair, 2, &positions, &error)) stop(&error);
  printf("order by name, dur_ns              %8.2f ms\n", now_ms() - begin);
  close_ops(&opened);
}

static void one_segment(const char *path) {
  struct opened opened = open_ops(path);
  struct tfprof_error error;
  struct column_set all = {{0, 0}};
  for (unsigned column = 2; column < schema_tables[TABLE_ops].column_count; column++) column_set_add(&all, column);
  double begin = now_ms();
  if (snapshot_require_segment(opened.ops, 0, &all, &error)) stop(&error);
  printf("require all of the first segment   %8.2f ms\n", now_ms() - begin);
  close_ops(&opened);
}

static void all_columns(const char *path) {
  uint16_t columns[SCHEMA_MAXIMUM_COLUMNS];
  unsigned count = 0;
  struct opened opened = open_ops(path);
  for (unsigned column = 2; column < schema_tables[TABLE_ops].column_count; column++) columns[count++] = (uint16_t)column;
  printf("require all columns                %8.2f ms\n", require(&opened, columns, count));
  print_memory(&opened);
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
  double begin = now_ms();
  if (snapshot_order(ops, columns, 1, &positions, &error)) stop(&error);
  printf("order by %-25s %8.2f ms\n", name, now_ms() - begin);
  struct value *values = malloc(ops->rows * sizeof *values);
  size_t hint = 0;
  uint32_t row;
  for (uint64_t i = 0; i < ops->rows; i++) {
    const struct segment *segment = snapshot_segment(ops, i * step % ops->rows, &hint, &row);
    values[i] = segment_value(segment, column, row);
  }
  begin = now_ms();
  for (uint64_t i = 0; i < ops->rows; i++) {
    if (snapshot_equal(ops, column, values[i], &positions, &count, &error)) stop(&error);
    found += count != 0;
  }
  printf("%8llu lookups by %-15s %8.2f ms, %llu found\n", (unsigned long long)ops->rows, name, now_ms() - begin,
         (unsigned long long)found);
  begin = now_ms();
  int64_t sum = 0;
  for (uint64_t i = 0; i < ops->rows; i++) sum += snapshot_find_id(ops, id_make(1, i * step % ops->rows));
  printf("%8llu lookups by id              %8.2f ms (%lld)\n", (unsigned long long)ops->rows, now_ms() - begin,
         (long long)(sum > 0));
  free(values);
  close_ops(&opened);
}

int main(int argument_count, char **arguments) {
  if (argument_count != 2) {
    fprintf(stderr, "usage: bench_store DUMP\n");
    return 2;
  }
  three_columns(arguments[1]);
  one_segment(arguments[1]);
  all_columns(arguments[1]);
  lookups(arguments[1], COLUMN_ops_name, "name");
  lookups(arguments[1], COLUMN_ops_correlation, "correlation");
  lookups(arguments[1], COLUMN_ops_thread_id, "thread_id");
  lookups(arguments[1], COLUMN_ops_start_ns, "start_ns");
  return 0;
}
