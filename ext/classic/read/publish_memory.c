/* publish_memory.c: the tables allocations, counters and transfers: what ops did to the memory of accelerators, and
** what was moved between devices and between processes.
**
** Allocation records belong to a node in a step and come as sizes, below 0 for a release.  A release is taken as that
** of the oldest allocation of the same node, step and size that still stands; one without such an allocation is the
** release of an older one.  Memory that a node keeps from step to step is an allocation of its own, of the region
** persistent, with the most that any step tells.
*/
#include "classic/read/publish.h"

/* ---- allocations ---- */

struct piece {
  uint32_t node, step, run;
  int64_t bytes, opened_micros, closed_micros; /* 0: not known */
  bool is_persistent;
};

static uint64_t size_of(const struct tf_allocation *allocation) {
  return allocation->bytes < 0 ? 0 - (uint64_t)allocation->bytes : (uint64_t)allocation->bytes;
}

static int compare_allocations(const void *left, const void *right) {
  const struct tf_allocation *a = left, *b = right;
  if (a->is_persistent != b->is_persistent) return a->is_persistent ? 1 : -1;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  if (size_of(a) != size_of(b)) return size_of(a) < size_of(b) ? -1 : 1;
  if (a->micros != b->micros) return a->micros < b->micros ? -1 : 1;
  return a->bytes == b->bytes ? 0 : a->bytes > b->bytes ? -1 : 1;
}

static bool are_alike(const struct tf_allocation *a, const struct tf_allocation *b) {
  return a->node == b->node && a->step == b->step && a->is_persistent == b->is_persistent && size_of(a) == size_of(b);
}

/* Records of one node, step and size, in the order of time. */
static size_t pair(const struct tf_allocation *records, size_t count, struct piece *pieces) {
  size_t made = 0, oldest = 0;
  for (size_t i = 0; i < count; i++) {
    const struct tf_allocation *record = &records[i];
    while (oldest < made && pieces[oldest].closed_micros) oldest++;
    if (record->bytes < 0 && oldest < made) {
      pieces[oldest].closed_micros = record->micros;
      continue;
    }
    pieces[made++] = (struct piece){.node = record->node,
                                    .step = record->step,
                                    .run = record->run,
                                    .bytes = (int64_t)size_of(record),
                                    .opened_micros = record->bytes < 0 ? 0 : record->micros,
                                    .closed_micros = record->bytes < 0 ? record->micros : 0};
  }
  return made;
}

/* What a node keeps: the sum of each step, and of these the largest. */
static struct piece persistent_piece(struct tf_model *model, const struct tf_allocation *records, size_t count) {
  struct piece piece = {.node = records[0].node, .run = records[0].run, .is_persistent = true};
  for (size_t i = 0, next; i < count; i = next) {
    int64_t sum = 0;
    for (next = i; next < count && records[next].step == records[i].step; next++)
      sum = tf_add(model, sum, records[next].bytes);
    if (sum > piece.bytes) piece.bytes = sum;
  }
  return piece;
}

/* Returns how many; pieces holds one for each record. */
static size_t make_pieces(struct tf_model *model, struct piece *pieces) {
  struct tf_allocation *records = model->allocations.items;
  size_t count = model->allocations.count, made = 0;
  if (count > 1) qsort(records, count, sizeof *records, compare_allocations);
  for (size_t i = 0, next; i < count; i = next) {
    bool is_persistent = records[i].is_persistent;
    for (next = i + 1; next < count; next++) {
      bool is_same = is_persistent ? records[next].node == records[i].node : are_alike(&records[next], &records[i]);
      if (!is_same) break;
    }
    if (is_persistent) pieces[made++] = persistent_piece(model, records + i, next - i);
    else made += pair(records + i, next - i, pieces + made);
  }
  return made;
}

/* The row in ops of each run; -1: it is none. NULL: no memory. */
static int64_t *op_rows(const struct tf_model *model) {
  int64_t *rows = malloc((model->runs.count + 1) * sizeof *rows), row = 0;
  struct tf_run_reader reader = {.block = model->runs.first};
  for (size_t i = 0; rows && i < model->runs.count; i++)
    rows[i] = model->lanes.items[tf_next_run(&reader)->lane].is_accelerator ? -1 : row++;
  return rows;
}

static int64_t node_device(const struct tf_model *model, uint32_t node) {
  int64_t row = tf_device_row(model, model->nodes.items[node].device);
  return row < 0 ? ROW_NULL : row;
}

static bool publish_allocations(struct tf_model *model, struct profile *profile, const uint32_t *rank) {
  struct eager_rows rows = {0};
  string_id persistent;
  if (model->allocations.count == 0) return true;
  struct piece *pieces = malloc((model->allocations.count + 1) * sizeof *pieces);
  int64_t *ops = op_rows(model);
  bool ok = (pieces && ops ? true : tf_no_memory(model)) && tf_intern(model, "persistent", 10, &persistent);
  ok = ok &&
       eager_rows_begin(&rows, profile, TABLE_allocations, make_pieces(model, pieces), &model->status, model->error);
#define SET(column, expression)                     \
  for (uint32_t i = 0; ok && i < rows.count; i++) { \
    const struct piece *piece = &pieces[i];         \
    rows.values[i] = (expression);                  \
  }                                                 \
  ok = ok && eager_rows_set_known(&rows, COLUMN_allocations_##column);
  SET(bytes, piece->bytes)
  SET(device_id, node_device(model, piece->node))
  SET(allocated_ns, piece->opened_micros > 0 ? piece->opened_micros * 1000 : ROW_NULL)
  SET(released_ns, piece->closed_micros > 0 ? piece->closed_micros * 1000 : ROW_NULL)
  SET(op_id, piece->run == UINT32_MAX || ops[piece->run] < 0 ? ROW_NULL : ops[piece->run])
  SET(step_id, piece->is_persistent ? ROW_NULL : (int64_t)rank[piece->step])
  SET(region, piece->is_persistent ? (int64_t)persistent : ROW_NULL)
#undef SET
  free(pieces);
  free(ops);
  eager_rows_end(&rows);
  return ok;
}

/* ---- counters: how much memory was in use, as it was collected until somebody asks ---- */

/* By time, digit by digit; those of the same time stay in the order in which they were added. `other` has room for as
** many; returns whichever holds the result. */
static struct tf_memory_point *sort_points(struct tf_memory_point *points, struct tf_memory_point *other,
                                           uint32_t count) {
  enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
  uint32_t starts[DIGITS];
  int64_t least = INT64_MAX, most = 0;
  for (uint32_t i = 0; i < count; i++) {
    least = points[i].micros < least ? points[i].micros : least;
    most = points[i].micros > most ? points[i].micros : most;
  }
  for (unsigned shift = 0; shift < 64 && count && (most - least) >> shift; shift += DIGIT_BITS) {
    memset(starts, 0, sizeof starts);
    for (uint32_t i = 0; i < count; i++) starts[(points[i].micros - least) >> shift & (DIGITS - 1)]++;
    for (uint32_t i = 0, next = 0; i < DIGITS; i++) {
      uint32_t size = starts[i];
      starts[i] = next;
      next += size;
    }
    for (uint32_t i = 0; i < count; i++)
      other[starts[(points[i].micros - least) >> shift & (DIGITS - 1)]++] = points[i];
    struct tf_memory_point *sorted = other;
    other = points;
    points = sorted;
  }
  return points;
}

static bool publish_counters(struct tf_model *model, struct profile *profile) {
  struct tf_source *source = profile->source_data;
  struct eager_rows rows;
  string_id name, unit;
  bool ok = tf_intern(model, "allocator_bytes_in_use", 22, &name) && tf_intern(model, "bytes", 5, &unit) &&
            eager_rows_begin(&rows, profile, TABLE_counters, model->memory_points.count, &model->status, model->error);
  if (!ok || rows.count == 0) return ok;
  source->memory_points = model->memory_points;
  model->memory_points = (struct tf_packed){0};
  column_set_add(&rows.segment->is_raw, COLUMN_counters_device_id);
  column_set_add(&rows.segment->is_raw, COLUMN_counters_time_ns);
  column_set_add(&rows.segment->is_raw, COLUMN_counters_value);
  ok = eager_rows_set_constant(&rows, COLUMN_counters_name, name) &&
       eager_rows_set_constant(&rows, COLUMN_counters_unit, unit);
  eager_rows_end(&rows);
  return ok;
}

/* Where the points are put in order, and the columns that they make. */
struct counters {
  struct tf_memory_point *points; /* room for all of them twice */
  int64_t *values;
  double *reals;
  struct column *device, *time, *value;
};

static bool make_counters(const struct segment *segment, struct counters *counters) {
  const struct profile *profile = segment->profile;
  const struct tf_source *source = profile->source_data;
  const struct column *nodes = tf_column_of(profile, TABLE_node_steps, COLUMN_node_steps_node_id);
  const struct column *devices = tf_column_of(profile, TABLE_nodes, COLUMN_nodes_device_id);
  struct tf_memory_point *points = counters->points = malloc(((size_t)segment->rows + 1) * 2 * sizeof *points);
  int64_t *values = counters->values = malloc(((size_t)segment->rows + 1) * sizeof *values);
  double *reals = counters->reals = malloc(((size_t)segment->rows + 1) * sizeof *reals);
  if (!points || !values || !reals) return false;
  struct tf_point_reader reader = {.block = source->memory_points.first};
  for (uint32_t i = 0; i < segment->rows; i++) points[i] = *tf_next_point(&reader);
  points = sort_points(points, points + segment->rows, segment->rows);
  for (uint32_t i = 0; i < segment->rows; i++) values[i] = tf_value_at(devices, tf_value_at(nodes, points[i].exec));
  counters->device = pack_values(values, segment->rows, false);
  for (uint32_t i = 0; i < segment->rows; i++) values[i] = points[i].micros * 1000;
  counters->time = pack_values(values, segment->rows, false);
  for (uint32_t i = 0; i < segment->rows; i++) reals[i] = (double)points[i].bytes;
  counters->value = column_from_reals(reals, NULL, segment->rows);
  return counters->device && counters->time && counters->value;
}

/* Gives a column to the load, or else to the segment, since one is not made without the others. */
static void give(struct segment *segment, unsigned column, struct column *value, const uint16_t *columns,
                 unsigned count, struct column **out) {
  for (unsigned i = 0; i < count; i++) {
    if (columns[i] != column) continue;
    out[i] = column_retain(value);
    return;
  }
  if (!segment->columns[column]) segment->columns[column] = column_retain(value);
}

enum tfprof_status tf_load_counters(struct segment *segment, const uint16_t *columns, unsigned count,
                                    struct column **out, struct tfprof_error *error) {
  struct counters counters = {0};
  bool ok = make_counters(segment, &counters);
  if (ok) {
    give(segment, COLUMN_counters_device_id, counters.device, columns, count, out);
    give(segment, COLUMN_counters_time_ns, counters.time, columns, count, out);
    give(segment, COLUMN_counters_value, counters.value, columns, count, out);
  }
  column_release(counters.device);
  column_release(counters.time);
  column_release(counters.value);
  free(counters.points);
  free(counters.values);
  free(counters.reals);
  return ok ? TFPROF_OK : error_no_memory(error);
}

/* ---- transfers ---- */

static bool publish_transfers(struct tf_model *model, struct profile *profile, const uint32_t *rank) {
  struct eager_rows rows;
  size_t count = model->transfers.count;
  string_id receive = 0, copy = 0, direction = 0;
  if (!eager_rows_begin(&rows, profile, TABLE_transfers, count, &model->status, model->error)) return false;
  int64_t *lengths = malloc((count + 1) * sizeof *lengths);
  bool ok = (lengths ? true : tf_no_memory(model)) && tf_intern(model, "receive", 7, &receive) &&
            tf_intern(model, "memcpy", 6, &copy);
#define SET(column, expression)                                      \
  for (uint32_t i = 0; ok && i < rows.count; i++) {                  \
    const struct tf_transfer *transfer = &model->transfers.items[i]; \
    rows.values[i] = (expression);                                   \
  }                                                                  \
  ok = ok && eager_rows_set_known(&rows, COLUMN_transfers_##column);
  SET(kind, transfer->is_receive ? receive : copy)
  SET(name, transfer->name ? (int64_t)transfer->name : ROW_NULL)
  SET(bytes, transfer->bytes < 0 ? ROW_NULL : transfer->bytes)
  SET(step_id, rank[transfer->step])
  SET(thread_id, transfer->lane == UINT32_MAX ? ROW_NULL : (int64_t)transfer->lane)
  SET(device_id, transfer->lane == UINT32_MAX ? ROW_NULL : model->lane_devices[transfer->lane])
#undef SET
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    const char *text = pool_text(model->pool, model->transfers.items[i].name);
    static const char *const directions[] = {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH"};
    rows.values[i] = ROW_NULL;
    for (size_t k = 0; text && k < sizeof directions / sizeof directions[0] && ok; k++) {
      if (!strstr(text, directions[k])) continue;
      ok = tf_intern(model, directions[k], 4, &direction);
      rows.values[i] = direction;
    }
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_transfers_direction);
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = model->transfers.items[i].attributes;
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = rows.values[i] ? rows.values[i] : ROW_NULL;
  ok = ok && eager_rows_set_known(&rows, COLUMN_transfers_attributes);
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    lengths[i] = model->transfers.items[i].micros * 1000;
    rows.values[i] = model->transfers.items[i].start_micros * 1000;
  }
  ok = ok &&
       eager_rows_set_span(&rows, COLUMN_transfers_start_ns, COLUMN_transfers_dur_ns, COLUMN_transfers_end_ns, lengths);
  free(lengths);
  eager_rows_end(&rows);
  return ok;
}

bool tf_publish_memory(struct tf_model *model, struct profile *profile, const uint32_t *rank) {
  return publish_allocations(model, profile, rank) && publish_counters(model, profile) &&
         publish_transfers(model, profile, rank);
}
