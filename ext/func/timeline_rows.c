/* timeline_rows.c: see timeline_rows.h.
**
** Rows are sorted by thread in one pass, and written thread by thread, in their own order.  Each value is looked up
** where it is wanted: neighbours mostly lie in one segment.
*/
#include "func/timeline_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "derive/rows.h"

enum { POLL_ROWS = 1 << 14, MOST_COLUMNS = 24, REAL_BYTES = 32 };

/* A table of one profile, its rows by thread. */
struct table {
  const struct profile_table *content;
  const struct pool *pool;
  uint32_t *rows, *first_of_thread; /* thread t has rows[first_of_thread[t]] ... rows[first_of_thread[t + 1] - 1] */
  uint32_t thread_count;
  const struct segment *segment; /* of the current row */
  size_t hint;
  uint32_t row; /* in it */
};

struct writing {
  struct timeline_rows *rows;
  const struct profile *profile;
  struct table table;
  uint32_t *threads_of_calls;              /* of the launches: by row of api_calls */
  int64_t *starts_of_calls, *correlations; /* the latter by row of ops; NULL: no row has an op */
  uint32_t call_count, op_count;
  const struct timeline_lane **lane_of_thread;
  uint64_t last_bits; /* of the real number that was written last, and its text */
  size_t last_length;
  char last_text[REAL_BYTES];
};

/* ---- values of the current row ---- */

static void to_row(struct table *table, uint32_t row) {
  table->segment = derive_segment_of(table->content, row, &table->hint);
  table->row = (uint32_t)(row - table->segment->first_row);
}

static int64_t integer_of(const struct table *table, unsigned column) {
  const struct column *values = table->segment->columns[column];
  return column_is_null(values, table->row) ? NO_VALUE : column_integer(values, table->row);
}

static void put_integer(struct writing *w, const char *key, int64_t value) {
  output_text(w->rows->file, key);
  output_integer(w->rows->file, value);
}

static void put_time(struct writing *w, const char *key, int64_t ns) {
  output_text(w->rows->file, key);
  output_thousandths(w->rows->file, ns);
}

static void put_column_text(struct writing *w, unsigned column) {
  int64_t id = integer_of(&w->table, column);
  const struct pool *pool = w->table.pool;
  if (id == NO_VALUE || !id) output_text(w->rows->file, "null");
  else output_json_text(w->rows->file, pool_text(pool, (string_id)id), pool_length(pool, (string_id)id));
}

static void put_real(struct writing *w, double real) {
  uint64_t bits;
  memcpy(&bits, &real, sizeof bits);
  if (!w->last_length || bits != w->last_bits) {
    w->last_bits = bits;
    w->last_length = (size_t)snprintf(w->last_text, sizeof w->last_text, isfinite(real) ? "%.17g" : "null", real);
  }
  output_bytes(w->rows->file, w->last_text, w->last_length);
}

/* [x,y,z] */
static void put_sizes(struct writing *w, unsigned first) {
  for (unsigned i = 0; i < 3; i++) {
    int64_t size = integer_of(&w->table, first + i);
    output_bytes(w->rows->file, i ? "," : "[", 1);
    if (size == NO_VALUE) output_text(w->rows->file, "null");
    else output_integer(w->rows->file, size);
  }
  output_bytes(w->rows->file, "]", 1);
}

/* Members of args: a comma before all but the first. */
static void begin_member(struct writing *w, bool *has_args, const char *key) {
  output_text(w->rows->file, *has_args ? "," : ",\"args\":{");
  output_text(w->rows->file, key);
  *has_args = true;
}

static void put_member(struct writing *w, bool *has_args, const char *key, int64_t value) {
  if (value == NO_VALUE) return;
  begin_member(w, has_args, key);
  output_integer(w->rows->file, value);
}

static int64_t correlation_of_op(const struct writing *w, unsigned op_column) {
  int64_t op = w->correlations ? integer_of(&w->table, op_column) : NO_VALUE;
  return op >= 0 && op < w->op_count ? w->correlations[op] : NO_VALUE;
}

static int64_t ordinal_of(const struct writing *w, int64_t device) {
  if (device == NO_VALUE) return NO_VALUE;
  int64_t id = id_make(w->profile->number, (uint64_t)device);
  for (size_t i = 0; i < w->rows->device_count; i++) {
    if (w->rows->devices[i].id == id) return w->rows->devices[i].ordinal;
  }
  return NO_VALUE;
}

/* As SQL has a time in a column of integers: NULL is 0. */
static int64_t since_origin(const struct writing *w, int64_t time) {
  uint64_t ns = time == NO_VALUE ? 0 : (uint64_t)time + (uint64_t)w->profile->clock_offset_ns;
  return (int64_t)(ns - (uint64_t)w->rows->origin_ns);
}

/* ---- rows ---- */

static void begin_span(struct writing *w, unsigned name) {
  output_text(w->rows->file, w->rows->event_count++ ? ",\n{\"ph\":\"X\",\"name\":" : "{\"ph\":\"X\",\"name\":");
  put_column_text(w, name);
}

static void put_place(struct writing *w, const struct timeline_lane *lane, unsigned start, unsigned dur) {
  int64_t length = integer_of(&w->table, dur);
  put_integer(w, ",\"pid\":", lane->pid);
  put_integer(w, ",\"tid\":", lane->tid);
  put_time(w, ",\"ts\":", since_origin(w, integer_of(&w->table, start)));
  put_time(w, ",\"dur\":", length == NO_VALUE ? 0 : length);
}

static void write_kernel(struct writing *w, const struct timeline_lane *lane) {
  struct table *table = &w->table;
  bool has_args = false;
  begin_span(w, COLUMN_kernels_name);
  output_text(w->rows->file, ",\"cat\":\"kernel\"");
  put_place(w, lane, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns);
  put_member(w, &has_args, "\"device\":", ordinal_of(w, integer_of(table, COLUMN_kernels_device_id)));
  put_member(w, &has_args, "\"stream\":", lane->stream);
  put_member(w, &has_args, "\"correlation\":", integer_of(table, COLUMN_kernels_correlation));
  put_member(w, &has_args, "\"External id\":", correlation_of_op(w, COLUMN_kernels_op_id));
  begin_member(w, &has_args, "\"grid\":");
  put_sizes(w, COLUMN_kernels_grid_x);
  begin_member(w, &has_args, "\"block\":");
  put_sizes(w, COLUMN_kernels_block_x);
  put_member(w, &has_args, "\"registers per thread\":", integer_of(table, COLUMN_kernels_registers_per_thread));
  int64_t fixed = integer_of(table, COLUMN_kernels_static_shared_bytes);
  int64_t dynamic = integer_of(table, COLUMN_kernels_dynamic_shared_bytes);
  if (dynamic != NO_VALUE && fixed != NO_VALUE) dynamic += fixed;
  put_member(w, &has_args, "\"shared memory\":", dynamic);
  const struct column *occupancy = table->segment->columns[COLUMN_kernels_occupancy_ratio];
  double real = column_is_null(occupancy, table->row) ? NAN : 100 * column_real(occupancy, table->row);
  if (!isnan(real)) {
    begin_member(w, &has_args, "\"est. achieved occupancy %\":");
    put_real(w, real);
  }
  output_text(w->rows->file, "}}");
}

static void write_api_call(struct writing *w, const struct timeline_lane *lane) {
  bool has_args = false;
  begin_span(w, COLUMN_api_calls_name);
  int64_t domain = integer_of(&w->table, COLUMN_api_calls_domain);
  if (domain != NO_VALUE && domain) {
    char category[256];
    int length = snprintf(category, sizeof category, "cuda_%s", pool_text(w->table.pool, (string_id)domain));
    output_text(w->rows->file, ",\"cat\":");
    output_json_text(w->rows->file, category, length < (int)sizeof category ? (size_t)length : sizeof category - 1);
  }
  put_place(w, lane, COLUMN_api_calls_start_ns, COLUMN_api_calls_dur_ns);
  put_member(w, &has_args, "\"correlation\":", integer_of(&w->table, COLUMN_api_calls_correlation));
  put_member(w, &has_args, "\"External id\":", correlation_of_op(w, COLUMN_api_calls_op_id));
  output_text(w->rows->file, has_args ? "}}" : "}");
}

static void write_launch(struct writing *w, const struct timeline_lane *lane) {
  int64_t call = integer_of(&w->table, COLUMN_kernels_api_call_id);
  if (call < 0 || call >= w->call_count || w->threads_of_calls[call] == NO_ROW) return;
  const struct timeline_lane *caller = w->lane_of_thread[w->threads_of_calls[call]];
  if (!caller) return;
  struct output_file *file = w->rows->file;
  output_text(file, w->rows->event_count++ ? ",\n{\"ph\":\"s\"" : "{\"ph\":\"s\"");
  put_integer(w, ",\"name\":\"launch\",\"cat\":\"ac2g\",\"pid\":", caller->pid);
  put_integer(w, ",\"tid\":", caller->tid);
  put_time(w, ",\"ts\":", since_origin(w, w->starts_of_calls[call]));
  put_integer(w, ",\"id\":", ++w->rows->next_arrow);
  w->rows->event_count++;
  put_integer(w, "},\n{\"ph\":\"f\",\"name\":\"launch\",\"cat\":\"ac2g\",\"pid\":", lane->pid);
  put_integer(w, ",\"tid\":", lane->tid);
  put_time(w, ",\"ts\":", since_origin(w, integer_of(&w->table, COLUMN_kernels_start_ns)));
  put_integer(w, ",\"id\":", w->rows->next_arrow);
  output_text(file, ",\"bp\":\"e\"}");
}

/* ---- tables ---- */

static const struct part {
  uint16_t table, thread, op;
  void (*write)(struct writing *w, const struct timeline_lane *lane);
  uint16_t columns[MOST_COLUMNS]; /* to be loaded beside these; ends with 0, which is the id */
} parts[] = {
    [TIMELINE_KERNELS] = {TABLE_kernels,
                          COLUMN_kernels_thread_id,
                          COLUMN_kernels_op_id,
                          write_kernel,
                          {COLUMN_kernels_name, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns,
                           COLUMN_kernels_device_id, COLUMN_kernels_correlation, COLUMN_kernels_grid_x,
                           COLUMN_kernels_grid_y, COLUMN_kernels_grid_z, COLUMN_kernels_block_x, COLUMN_kernels_block_y,
                           COLUMN_kernels_block_z, COLUMN_kernels_registers_per_thread,
                           COLUMN_kernels_static_shared_bytes, COLUMN_kernels_dynamic_shared_bytes,
                           COLUMN_kernels_occupancy_ratio}},
    [TIMELINE_CALLS] = {TABLE_api_calls,
                        COLUMN_api_calls_thread_id,
                        COLUMN_api_calls_op_id,
                        write_api_call,
                        {COLUMN_api_calls_name, COLUMN_api_calls_domain, COLUMN_api_calls_start_ns,
                         COLUMN_api_calls_dur_ns, COLUMN_api_calls_correlation}},
    [TIMELINE_LAUNCHES] = {TABLE_kernels,
                           COLUMN_kernels_thread_id,
                           COLUMN_kernels_op_id,
                           write_launch,
                           {COLUMN_kernels_start_ns, COLUMN_kernels_api_call_id}},
};

_Static_assert(COLUMN_kernels_grid_x + 2 == COLUMN_kernels_grid_z &&
                   COLUMN_kernels_block_x + 2 == COLUMN_kernels_block_z,
               "put_sizes() takes three columns that follow each other");

static enum tfprof_status require_columns(struct profile *profile, unsigned table, const uint16_t *columns,
                                          unsigned count, struct tfprof_error *error) {
  struct column_set wanted = {{0, 0}};
  for (unsigned i = 0; i < count && columns[i]; i++) column_set_add(&wanted, columns[i]);
  return profile_require(profile, table, &wanted, error);
}

static enum tfprof_status sort_by_thread(struct table *table, struct profile *profile, const struct part *part,
                                         struct tfprof_error *error) {
  uint32_t *threads = NULL, count;
  enum tfprof_status status = derive_row_count(profile, part->table, &count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &table->thread_count, error);
  if (!status) status = derive_all_references(profile, part->table, part->thread, &threads, error);
  if (!status) {
    table->rows = scratch_allocate(((size_t)count + 1) * sizeof *table->rows);
    table->first_of_thread = scratch_allocate_zeroed((size_t)table->thread_count + 2, sizeof(uint32_t));
    if (!table->rows || !table->first_of_thread) status = error_no_memory(error);
  }
  if (!status) {
    uint32_t *ends = table->first_of_thread + 1; /* of thread t at first its rows, then where they end */
    for (uint32_t row = 0; row < count; row++) {
      if (threads[row] != NO_ROW) ends[threads[row] + 1]++;
    }
    for (uint32_t thread = 0; thread < table->thread_count; thread++) ends[thread + 1] += ends[thread];
    for (uint32_t row = 0; row < count; row++) {
      if (threads[row] != NO_ROW) table->rows[ends[threads[row]]++] = row;
    }
  }
  scratch_free(threads);
  return status;
}

static enum tfprof_status find_callers(struct writing *w, struct profile *profile, struct tfprof_error *error) {
  static const uint16_t columns[] = {COLUMN_api_calls_start_ns, COLUMN_api_calls_thread_id};
  enum tfprof_status status = require_columns(profile, TABLE_api_calls, columns, 2, error);
  if (!status) status = derive_row_count(profile, TABLE_api_calls, &w->call_count, error);
  if (!status)
    status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_thread_id, &w->threads_of_calls, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &w->starts_of_calls, error);
  return status;
}

static enum tfprof_status find_correlations(struct writing *w, struct profile *profile, const struct part *part,
                                            struct tfprof_error *error) {
  static const uint16_t columns[] = {COLUMN_ops_correlation};
  if (!derive_has_value(profile, part->table, part->op)) return TFPROF_OK;
  enum tfprof_status status = require_columns(profile, TABLE_ops, columns, 1, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &w->op_count, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_correlation, &w->correlations, error);
  return status;
}

static enum tfprof_status write_lane(struct writing *w, const struct part *part, const struct timeline_lane *lane,
                                     struct tfprof_error *error) {
  uint64_t thread = id_row(lane->id);
  if (thread >= w->table.thread_count) return TFPROF_OK;
  uint32_t end = w->table.first_of_thread[thread + 1];
  for (uint32_t i = w->table.first_of_thread[thread]; i < end; i++) {
    if (i % POLL_ROWS == 0) {
      enum tfprof_status status = derive_poll(w->profile, error);
      if (status) return status;
    }
    to_row(&w->table, w->table.rows[i]);
    part->write(w, lane);
  }
  return TFPROF_OK;
}

/* The lanes of one profile. */
static enum tfprof_status write_profile(struct timeline_rows *rows, const struct part *part, struct profile *profile,
                                        const struct timeline_lane *lanes, size_t count, struct tfprof_error *error) {
  struct writing w = {.rows = rows, .profile = profile};
  uint16_t columns[] = {part->thread, part->op};
  bool is_launch = part->write == write_launch;
  enum tfprof_status status = require_columns(profile, part->table, columns, is_launch ? 1 : 2, error);
  if (!status) status = require_columns(profile, part->table, part->columns, MOST_COLUMNS, error);
  w.table.content = &profile->tables[part->table];
  w.table.pool = store_pool(profile->store);
  if (!status) status = sort_by_thread(&w.table, profile, part, error);
  if (!status && is_launch) status = find_callers(&w, profile, error);
  if (!status && !is_launch) status = find_correlations(&w, profile, part, error);
  if (!status) {
    w.lane_of_thread = scratch_allocate_zeroed((size_t)w.table.thread_count + 1, sizeof *w.lane_of_thread);
    if (!w.lane_of_thread) status = error_no_memory(error);
  }
  for (size_t i = 0; i < count && !status; i++) {
    if (id_row(lanes[i].id) < w.table.thread_count) w.lane_of_thread[id_row(lanes[i].id)] = &lanes[i];
  }
  for (size_t i = 0; i < count && !status; i++) status = write_lane(&w, part, &lanes[i], error);
  scratch_free(w.table.rows);
  scratch_free(w.table.first_of_thread);
  scratch_free(w.threads_of_calls);
  scratch_free(w.starts_of_calls);
  scratch_free(w.correlations);
  scratch_free(w.lane_of_thread);
  return status;
}

enum tfprof_status timeline_rows_write(struct timeline_rows *rows, enum timeline_part part,
                                       struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (size_t first = 0, end; first < rows->lane_count && !status; first = end) {
    uint32_t number = id_profile(rows->lanes[first].id);
    for (end = first + 1; end < rows->lane_count && id_profile(rows->lanes[end].id) == number;) end++;
    struct profile *profile = store_profile_by_number(rows->store, number);
    if (profile) status = write_profile(rows, &parts[part], profile, rows->lanes + first, end - first, error);
  }
  return status;
}
