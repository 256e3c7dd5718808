/* bench_json.c: how fast a trace in JSON is loaded, side by side with simdjson's DOM parse of the same bytes.
**
**   bench_json FILE.json ...      load (open, every column of every table but the lazily read attributes, all
**                                 links) in a process of its own; in another the same and the tables of analyses,
**                                 such as critical_path, which no file has; simdjson DOM on one core, in a third;
**                                 rates, ratios, peak memory
**   bench_json inflate FILE.gz    the inflate libraries
**
** All tables are asked for at once; with BENCH_TABLES (environment) one after the other, each with its time.
** Traces are made by make_kineto_trace.py. Each figure is the best of RUNS (environment, default 5). FILE.json.gz
** beside FILE.json is loaded too.
*/
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "bench/figures.h"
#include "derive/derive.h"
#include "read/file/inflate.h"
#include "read/json/json.h"
#include "store/parallel.h"
#include "store/snapshot.h"
#ifdef BENCH_SIMDJSON
#include "bench/simdjson_dom.h"
#endif

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what, const char *path) {
  fprintf(stderr, "bench_json: %s: %s\n", path, what);
  exit(1);
}

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot be opened", path);
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*length + 64);
  if (!bytes || fread(bytes, 1, *length, file) != *length) fail("cannot be read", path);
  memset(bytes + *length, 0, 64);
  fclose(file);
  return bytes;
}

static unsigned runs(void);

struct figures { double open_seconds, seconds, cpu_seconds, peak_bytes, store_bytes, rows; };

/* A figure of a trace; `better` as in struct figure. */
static void tell_trace(const char *path, double bytes, const char *what, double value, const char *unit,
                       const char *better) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  tell_figure(&(struct figure){.subject = "opening",
                               .value = value,
                               .unit = unit,
                               .command = "bench_json FILE.json",
                               .better = better,
                               .trials = (long)runs()},
              "Trace in JSON of %.0f MB, `%.*s`: %s", bytes / 1e6, (int)strcspn(name, "."), name, what);
}

/* Tables that no file has and no link leads through: what the analyses ask for, computed from all others. */
static bool is_analysis(unsigned table) {
  return table == TABLE_step_segments || table == TABLE_step_phases || table == TABLE_critical_path ||
         table == TABLE_device_activities || table == TABLE_queue_events;
}

static double require_columns(struct store *store, unsigned table, const char *path) {
  struct tfprof_error error = {0};
  struct snapshot *snapshot;
  struct column_set columns = {{0, 0}};
  double start = now();
  for (unsigned column = 2; column + 1u < schema_tables[table].column_count; column++)
    column_set_add(&columns, column);
  if (store_snapshot(store, table, NULL, &snapshot, &error) || snapshot_require(snapshot, &columns, &error))
    fail(error.message, path);
  double rows = (double)snapshot->rows;
  if (getenv("BENCH_TABLES") && rows > 0)
    printf("    %-16s %9.0f rows %7.1f ms\n", schema_tables[table].name, rows, (now() - start) * 1e3);
  snapshot_release(snapshot);
  return rows;
}

/* Every column of the tables, those of analyses or not; returns the number of rows. */
static double require_tables(struct store *store, bool with_analyses, const char *path) {
  struct tfprof_error error = {0};
  bool is_wanted[TABLE_count];
  double rows = 0;
  for (unsigned table = 0; table < TABLE_count; table++) {
    is_wanted[table] = (with_analyses || !is_analysis(table)) && table != TABLE_runs && table != TABLE_profiles &&
                       table != TABLE_diagnostics;
  }
  for (size_t i = 0; i < store_profile_count(store) && !getenv("BENCH_TABLES"); i++) {
    if (profile_require_tables(store_profile_at(store, i), is_wanted, &error)) fail(error.message, path);
  }
  for (unsigned table = 0; table < TABLE_count; table++) {
    if (with_analyses || !is_analysis(table)) rows += require_columns(store, table, path);
  }
  return rows;
}

static struct figures load(const char *path, bool with_analyses) {
  struct figures figures = {0};
  struct tfprof_error error = {0};
  struct store *store = store_create(derive_passes, derive_pass_count);
  uint32_t run;
  double begin = now();
  if (store_add_run(store, path, "kineto", &run, &error) || json_open(store, run, path, &error))
    fail(error.message, path);
  store_publish_run(store, run);
  figures.open_seconds = now() - begin;
  figures.rows = require_tables(store, with_analyses, path);
  figures.seconds = now() - begin;
  figures.store_bytes = (double)store_bytes(store);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  figures.peak_bytes = (double)usage.ru_maxrss * 1024;
  figures.cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  store_release(store);
  return figures;
}

/* In a process of its own, so that peak memory is its own. */
static struct figures load_apart(const char *path, bool with_analyses) {
  int ends[2];
  struct figures figures = {0};
  if (pipe(ends)) fail("no pipe", path);
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) fail("no process", path);
  if (child == 0) {
    figures = load(path, with_analyses);
    fflush(stdout);
    _exit(write(ends[1], &figures, sizeof figures) == sizeof figures ? 0 : 1);
  }
  close(ends[1]);
  int status;
  bool ok = read(ends[0], &figures, sizeof figures) == sizeof figures;
  close(ends[0]);
  waitpid(child, &status, 0);
  if (!ok || status) fail("loading failed", path);
  return figures;
}

/* simdjson's rate in MB/s, in a process of its own too. 0: not built with it. */
static double dom_apart(const char *path) {
  double best = 0;
#ifdef BENCH_SIMDJSON
  int ends[2];
  if (pipe(ends)) fail("no pipe", path);
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) fail("no process", path);
  if (child == 0) {
    size_t length;
    char *bytes = read_file(path, &length);
    for (unsigned i = 0; i < runs() + 1; i++) { /* the first allocates */
      double seconds = simdjson_dom_seconds(bytes, length);
      if (seconds < 0) fail("simdjson does not take it", path);
      if (i && (double)length / seconds / 1e6 > best) best = (double)length / seconds / 1e6;
    }
    _exit(write(ends[1], &best, sizeof best) == sizeof best ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &best, sizeof best) != sizeof best) fail("simdjson failed", path);
  close(ends[0]);
  waitpid(child, NULL, 0);
  printf("  %-44s %7.0f MB/s (%s)\n", "simdjson DOM, one core, from memory", best, simdjson_dom_name());
#else
  (void)path;
#endif
  return best;
}

static unsigned runs(void) {
  const char *text = getenv("RUNS");
  return text && atoi(text) > 0 ? (unsigned)atoi(text) : 5;
}

/* MB/s */
static double bench_load(const char *path, double bytes, bool with_analyses) {
  struct figures best = {0};
  for (unsigned i = 0; i < runs(); i++) {
    struct figures figures = load_apart(path, with_analyses);
    if (i == 0 || figures.seconds < best.seconds) best = figures;
  }
  printf("  %-44s %7.0f MB/s (open alone %5.0f)  %.3f s, cpu %.3f s  peak %.1f MB = %.3f byte/byte  store %.1f MB  "
         "%.0f rows\n",
         with_analyses ? "  and the tables of analyses" : path, bytes / best.seconds / 1e6,
         bytes / best.open_seconds / 1e6, best.seconds, best.cpu_seconds, best.peak_bytes / 1e6,
         best.peak_bytes / bytes, best.store_bytes / 1e6, best.rows);
  bool is_gzip = strcmp(path + strlen(path) - 3, ".gz") == 0;
  if (!is_gzip && !with_analyses) {
    tell_trace(path, bytes, "opened", bytes / best.open_seconds / 1e9, "GB/s", "higher");
    tell_trace(path, bytes, "every table, link and derived column", bytes / best.seconds / 1e9, "GB/s", "higher");
    tell_trace(path, bytes, "most memory for a byte of the file", best.peak_bytes / bytes, "bytes per byte", NULL);
  } else if (!is_gzip) {
    tell_trace(path, bytes, "with the tables of analyses", bytes / best.seconds / 1e9, "GB/s", "higher");
    tell_trace(path, bytes, "with the tables of analyses, processor time", best.cpu_seconds, "CPU s", NULL);
    tell_trace(path, bytes, "most memory for a byte of the file, with the tables of analyses", best.peak_bytes / bytes,
               "bytes per byte", NULL);
  }
  return bytes / best.seconds / 1e6;
}

static void bench_file(const char *path) {
  struct stat info;
  if (stat(path, &info)) fail("cannot be examined", path);
  size_t length = (size_t)info.st_size;
  printf("%s: %.1f MB, %u workers\n", path, (double)length / 1e6, parallel_workers());
  /* First the loads: a process begins with the peak memory of the one that it was made by. */
  double plain = bench_load(path, (double)length, false), all = bench_load(path, (double)length, true), gzip = 0;
  char compressed[4096];
  snprintf(compressed, sizeof compressed, "%s.gz", path);
  if (access(compressed, R_OK) == 0) gzip = bench_load(compressed, (double)length, false);
  double dom = dom_apart(path);
  if (dom > 0) {
    printf("  load / simdjson DOM = %.2f; with analyses %.2f\n", plain / dom, all / dom);
    tell_trace(path, (double)length, "the same, in times of the rate of simdjson's DOM parse on one core", plain / dom,
               "times", "higher");
    tell_trace(path, (double)length, "with the tables of analyses, in times of simdjson's DOM parse", all / dom,
               "times", "higher");
  }
  if (gzip > 0) {
    printf("  gzip / plain = %.2f\n", gzip / plain);
    tell_trace(path, (double)length, "from gzip, in times of the rate of the plain file", gzip / plain, "times",
               "higher");
  }
}

static void bench_inflate(const char *path) {
  size_t length, total = 0;
  char *bytes = read_file(path, &length);
  static uint8_t block[1 << 20];
  double best = 1e9;
  for (unsigned i = 0; i < runs(); i++) {
    struct inflater *inflater = inflater_create();
    const uint8_t *in = (const uint8_t *)bytes;
    size_t left = length;
    enum inflater_status status = INFLATER_MORE;
    double begin = now();
    for (total = 0; status == INFLATER_MORE;) {
      uint8_t *out = block;
      size_t room = sizeof block;
      status = inflater_step(inflater, &in, &left, &out, &room);
      total += sizeof block - room;
    }
    if (status != INFLATER_END) fail("is damaged", path);
    if (now() - begin < best) best = now() - begin;
    inflater_free(inflater);
  }
  printf("%s: %.1f MB\n  read/file/inflate  %6.0f MB/s\n", path, (double)total / 1e6, (double)total / best / 1e6);
  tell_trace(path, (double)total, "inflating alone, from gzip", (double)total / best / 1e9, "GB/s", "higher");
  best = 1e9;
  for (unsigned i = 0; i < runs(); i++) {
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)length};
    inflateInit2(&stream, 31);
    double begin = now();
    int status;
    do {
      stream.next_out = block;
      stream.avail_out = sizeof block;
      status = inflate(&stream, Z_NO_FLUSH);
    } while (status == Z_OK);
    if (now() - begin < best) best = now() - begin;
    inflateEnd(&stream);
  }
  printf("  zlib %s        %6.0f MB/s\n", zlibVersion(), (double)total / best / 1e6);
  char *whole = malloc(total);
  if (!whole) fail("no memory", path);
  memset(whole, 1, total);
  best = 1e9;
  for (unsigned i = 0; i < runs(); i++) {
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    double begin = now();
    libdeflate_gzip_decompress(decompressor, bytes, length, whole, total, NULL);
    if (now() - begin < best) best = now() - begin;
    libdeflate_free_decompressor(decompressor);
  }
  printf("  libdeflate (whole) %6.0f MB/s\n", (double)total / best / 1e6);
  free(whole);
  free(bytes);
}

int main(int count, char **arguments) {
  if (count > 2 && strcmp(arguments[1], "inflate") == 0) {
    for (int i = 2; i < count; i++) bench_inflate(arguments[i]);
    return 0;
  }
  if (count < 2) {
    fprintf(stderr, "usage: bench_json FILE.json ... | bench_json inflate FILE.gz\n");
    return 2;
  }
  for (int i = 1; i < count; i++) bench_file(arguments[i]);
  return 0;
}
