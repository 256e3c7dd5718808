/* publish_steps.c: the tables of what ran: devices, threads, steps, node_steps. */
#include "read/tensorflow/publish.h"

#include <ctype.h>

/* ---- devices ---- */

/* "/device:GPU:0/stream:all" is a lane of "/device:GPU:0". */
static size_t device_length(const char *name) {
  const char *device = NULL;
  static const char *const kinds[] = {"cpu:", "gpu:", "tpu:"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !device; i++) device = strcasestr(name, kinds[i]);
  if (!device) return strlen(name);
  size_t digits = strspn(device + 4, "0123456789");
  return (size_t)(device - name) + 4 + digits;
}

struct devices {
  string_id *names; /* as the source writes them */
  string_id *lower;
  size_t count;
};

/* A lane may leave out the job: "/device:gpu:0" is the device that ends in it. */
static int64_t find_device(const struct pool *pool, const struct devices *devices, const char *lower, size_t length) {
  for (size_t i = 0; i < devices->count; i++) {
    const char *other = pool_text(pool, devices->lower[i]);
    size_t other_length = pool_length(pool, devices->lower[i]);
    if (other_length >= length && memcmp(other + other_length - length, lower, length) == 0) return (int64_t)i;
  }
  return -1;
}

static bool add_device(struct tf_model *model, struct devices *devices, string_id name, string_id lower) {
  const char *text = pool_text(model->pool, lower);
  if (!text) return true;
  size_t length = device_length(text);
  if (find_device(model->pool, devices, text, length) >= 0) return true;
  string_id *names = realloc(devices->names, (devices->count + 1) * sizeof *names);
  if (names) devices->names = names;
  string_id *lowers = realloc(devices->lower, (devices->count + 1) * sizeof *lowers);
  if (lowers) devices->lower = lowers;
  if (!names || !lowers) return tf_no_memory(model);
  const char *full = pool_text(model->pool, name);
  bool ok = tf_intern(model, full, device_length(full), &names[devices->count]) &&
            tf_intern(model, text, length, &lowers[devices->count]);
  devices->count += ok;
  return ok;
}

/* All devices: those of lanes with a job first, so that those without one find them. */
static bool collect_devices(struct tf_model *model, struct devices *devices) {
  *devices = (struct devices){0};
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < model->lanes.count; i++) {
      const struct tf_lane *lane = &model->lanes.items[i];
      if (lane->is_accelerator == (pass == 1) && !add_device(model, devices, lane->device, lane->device_lower))
        return false;
    }
    string_id last = 0;
    for (size_t i = 0; pass == 0 && i < model->nodes.count; i++) {
      string_id device = model->nodes.items[i].device;
      if (device == last) continue;
      last = device;
      if (!add_device(model, devices, device, device)) return false;
    }
  }
  return true;
}

static const char *device_kind(const char *lower) {
  return strstr(lower, "gpu:") ? "gpu" : strstr(lower, "tpu:") ? "tpu" : "cpu";
}

static int64_t device_ordinal(const char *lower) {
  size_t length = strlen(lower), at = length;
  while (at > 0 && isdigit((unsigned char)lower[at - 1])) at--;
  return at == length || length - at > 9 ? TF_NULL : strtoll(lower + at, NULL, 10);
}

int64_t tf_device_row(const struct tf_model *model, string_id lower) {
  const char *text = pool_text(model->pool, lower);
  if (!text || !model->device_names) return -1;
  struct devices devices = {NULL, model->device_names, model->device_count};
  return find_device(model->pool, &devices, text, device_length(text));
}

bool tf_publish_devices(struct tf_model *model, struct profile *profile) {
  struct devices devices;
  struct tf_rows rows = {0};
  bool ok = collect_devices(model, &devices) && tf_rows_begin(&rows, model, profile, TABLE_devices, devices.count);
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = devices.names[i];
  ok = ok && tf_rows_set(&rows, COLUMN_devices_name);
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    const char *kind = device_kind(pool_text(model->pool, devices.lower[i]));
    string_id id;
    ok = tf_intern(model, kind, 3, &id);
    rows.values[i] = id;
  }
  ok = ok && tf_rows_set(&rows, COLUMN_devices_kind);
  for (uint32_t i = 0; ok && i < rows.count; i++)
    rows.values[i] = device_ordinal(pool_text(model->pool, devices.lower[i]));
  ok = ok && tf_rows_set(&rows, COLUMN_devices_ordinal);
  tf_rows_end(&rows);
  free(devices.names);
  model->device_names = devices.lower;
  model->device_count = devices.count;

  size_t lanes = model->lanes.count;
  string_id host = 0, stream = 0;
  ok = ok && tf_intern(model, "host", 4, &host) && tf_intern(model, "stream", 6, &stream) &&
       tf_rows_begin(&rows, model, profile, TABLE_threads, lanes);
#define SET(column, expression)                                    \
  for (uint32_t i = 0; ok && i < rows.count; i++) {                \
    const struct tf_lane *lane = &model->lanes.items[i];           \
    (void)lane;                                                    \
    rows.values[i] = (expression);                                 \
  }                                                                \
  ok = ok && tf_rows_set(&rows, COLUMN_threads_##column);
  if (!ok) return false;
  model->lane_devices = malloc((lanes + 1) * sizeof *model->lane_devices);
  if (!model->lane_devices) ok = tf_no_memory(model);
  for (size_t i = 0; ok && i < lanes; i++) {
    int64_t row = tf_device_row(model, model->lanes.items[i].device_lower);
    model->lane_devices[i] = row < 0 ? TF_NULL : row;
  }
  SET(device_id, model->lane_devices[i])
  SET(kind, lane->is_accelerator ? stream : host)
  SET(name, lane->device)
  SET(tid, lane->thread == TF_NONE || lane->is_accelerator ? TF_NULL : lane->thread)
#undef SET
  tf_rows_end(&rows);
  return ok;
}

/* ---- steps ---- */

static int compare_steps(const void *left, const void *right, void *context) {
  const struct tf_step *steps = context;
  int64_t a = steps[*(const uint32_t *)left].number, b = steps[*(const uint32_t *)right].number;
  return a < b ? -1 : a > b;
}

/* What the executions are sorted by, and the outcome. */
struct execs {
  const struct tf_exec *items;
  size_t count;
  uint32_t *nodes, *steps; /* of each: the row of its node, of its step */
  uint32_t *order;         /* of rows of node_steps: the execution */
};

/* Stable. `keys` below `buckets`, by item. False: no memory. */
static bool counting_sort(const uint32_t *items, uint32_t *sorted, size_t count, const uint32_t *keys, size_t buckets) {
  uint32_t *starts = calloc(buckets + 1, sizeof *starts);
  if (!starts) return false;
  for (size_t i = 0; i < count; i++) starts[keys[items[i]] + 1]++;
  for (size_t i = 0; i < buckets; i++) starts[i + 1] += starts[i];
  for (size_t i = 0; i < count; i++) sorted[starts[keys[items[i]]]++] = items[i];
  free(starts);
  return true;
}

/* Executions by row of their node, then of their step; in a ProfileProto both come in any order. */
static bool order_execs(struct tf_model *model, struct execs *execs, const struct tf_node_order *order,
                        const uint32_t *rank) {
  size_t count = model->execs.count;
  *execs = (struct execs){.items = model->execs.items, .count = count};
  execs->nodes = malloc((count + 1) * sizeof *execs->nodes);
  execs->steps = malloc((count + 1) * sizeof *execs->steps);
  execs->order = malloc((count + 1) * sizeof *execs->order);
  uint32_t *items = malloc((count + 1) * sizeof *items), *by_step = malloc((count + 1) * sizeof *by_step);
  bool ok = execs->nodes && execs->steps && execs->order && items && by_step;
  for (size_t i = 0; ok && i < count; i++) {
    items[i] = (uint32_t)i;
    execs->nodes[i] = order->rows[execs->items[i].node];
    execs->steps[i] = rank[execs->items[i].step];
  }
  ok = ok && counting_sort(items, by_step, count, execs->steps, model->steps.count) &&
       counting_sort(by_step, execs->order, count, execs->nodes, model->nodes.count);
  free(items);
  free(by_step);
  return ok ? true : tf_no_memory(model);
}

static void free_execs(struct execs *execs) {
  free(execs->nodes);
  free(execs->steps);
  free(execs->order);
}

/* The first start and last end of each step, in microseconds; TF_NULL: nothing in it was timed. */
static void find_spans(const struct execs *execs, size_t step_count, int64_t *starts, int64_t *ends) {
  for (size_t i = 0; i < step_count; i++) starts[i] = ends[i] = TF_NULL;
  for (size_t i = 0; i < execs->count; i++) {
    const struct tf_exec *exec = &execs->items[i];
    uint32_t row = execs->steps[i];
    if (exec->start_micros <= 0) continue;
    if (starts[row] == TF_NULL || exec->start_micros < starts[row]) starts[row] = exec->start_micros;
    if (ends[row] == TF_NULL || exec->end_micros > ends[row]) ends[row] = exec->end_micros;
  }
}

static bool publish_step_rows(struct tf_model *model, struct profile *profile, const uint32_t *order,
                              const struct execs *execs) {
  struct tf_rows rows;
  size_t count = model->steps.count;
  string_id session;
  if (!tf_intern(model, "session", 7, &session) || !tf_rows_begin(&rows, model, profile, TABLE_steps, count))
    return false;
  int64_t *starts = malloc((count + 1) * sizeof *starts), *ends = malloc((count + 1) * sizeof *ends);
  bool ok = starts && ends ? true : tf_no_memory(model);
  if (ok) find_spans(execs, count, starts, ends);
  for (uint32_t i = 0; ok && i < count; i++) {
    rows.values[i] = starts[i] == TF_NULL ? TF_NULL : starts[i] * 1000;
    ends[i] = starts[i] == TF_NULL ? TF_NULL : (ends[i] - starts[i]) * 1000;
  }
  ok = ok && tf_rows_set_span(&rows, COLUMN_steps_start_ns, COLUMN_steps_dur_ns, COLUMN_steps_end_ns, ends);
  for (uint32_t i = 0; ok && i < count; i++) rows.values[i] = model->steps.items[order[i]].number;
  ok = ok && tf_rows_set(&rows, COLUMN_steps_number) && tf_rows_set_constant(&rows, COLUMN_steps_origin, session) &&
       tf_rows_set_constant(&rows, COLUMN_steps_is_warmup, 0) &&
       tf_rows_set_constant(&rows, COLUMN_steps_ops_recorded, 1);
  free(starts);
  free(ends);
  tf_rows_end(&rows);
  return ok;
}

/* ---- node_steps ---- */

enum {
  NODE,
  STEP,
  RUN_COUNT,
  START,
  END,
  EXEC,
  ACCELERATOR,
  CPU,
  REQUESTED,
  PEAK,
  RESIDUAL,
  OUTPUT,
  VALUE_COUNT,
  BLOCK = 256
};
static const uint16_t value_columns[VALUE_COUNT] = {
    [NODE] = COLUMN_node_steps_node_id,
    [STEP] = COLUMN_node_steps_step_id,
    [RUN_COUNT] = COLUMN_node_steps_run_count,
    [START] = COLUMN_node_steps_start_ns,
    [END] = COLUMN_node_steps_end_ns,
    [EXEC] = COLUMN_node_steps_exec_ns,
    [ACCELERATOR] = COLUMN_node_steps_accelerator_ns,
    [CPU] = COLUMN_node_steps_cpu_ns,
    [REQUESTED] = COLUMN_node_steps_requested_bytes,
    [PEAK] = COLUMN_node_steps_peak_bytes,
    [RESIDUAL] = COLUMN_node_steps_residual_bytes,
    [OUTPUT] = COLUMN_node_steps_output_bytes,
};

/* The values of some rows, a column beside the other: an execution is read once, not once for each column. */
struct block {
  int64_t values[VALUE_COUNT][BLOCK];
};

static uint32_t fill_block(struct block *block, const struct execs *execs, uint32_t first) {
  uint32_t count = execs->count - first < BLOCK ? (uint32_t)(execs->count - first) : BLOCK;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t place = execs->order[first + i];
    const struct tf_exec *exec = &execs->items[place];
    bool is_timed = exec->start_micros > 0;
    block->values[NODE][i] = execs->nodes[place];
    block->values[STEP][i] = execs->steps[place];
    block->values[RUN_COUNT][i] = exec->run_count;
    block->values[START][i] = is_timed ? exec->start_micros * 1000 : TF_NULL;
    block->values[END][i] = is_timed ? exec->end_micros * 1000 : TF_NULL;
    block->values[EXEC][i] = (exec->accelerator_micros + exec->cpu_micros) * 1000;
    block->values[ACCELERATOR][i] = exec->accelerator_micros * 1000;
    block->values[CPU][i] = exec->cpu_micros * 1000;
    block->values[REQUESTED][i] = exec->requested_bytes;
    block->values[PEAK][i] = exec->peak_bytes;
    block->values[RESIDUAL][i] = exec->residual_bytes;
    block->values[OUTPUT][i] = exec->output_bytes;
  }
  return count;
}

struct range {
  int64_t minimum, maximum;
  bool has_nulls;
};

static void find_ranges(struct block *block, const struct execs *execs, struct range *ranges) {
  for (unsigned v = 0; v < VALUE_COUNT; v++) ranges[v] = (struct range){INT64_MAX, INT64_MIN, false};
  for (uint32_t first = 0, count; first < execs->count; first += count) {
    count = fill_block(block, execs, first);
    for (unsigned v = 0; v < VALUE_COUNT; v++) {
      const int64_t *values = block->values[v];
      int64_t minimum = ranges[v].minimum, maximum = ranges[v].maximum;
      bool has_nulls = false;
      for (uint32_t i = 0; i < count; i++) {
        int64_t value = values[i];
        has_nulls |= value == TF_NULL;
        maximum = value > maximum ? value : maximum;
        minimum = value < minimum && value != TF_NULL ? value : minimum;
      }
      ranges[v] = (struct range){minimum, maximum, ranges[v].has_nulls || has_nulls};
    }
  }
}

static void put_block(struct column_builder *builder, const struct block *block, unsigned v, uint32_t first,
                      uint32_t count, bool has_nulls) {
  if (!has_nulls) {
    column_builder_put_all(builder, first, block->values[v], count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (block->values[v][i] == TF_NULL) column_builder_put_null(builder, first + i);
    else column_builder_put(builder, first + i, block->values[v][i]);
  }
}

static bool publish_node_steps(struct tf_model *model, struct profile *profile, const struct execs *execs) {
  struct tf_rows rows;
  struct range ranges[VALUE_COUNT];
  struct column_builder builders[VALUE_COUNT] = {{0}};
  if (!tf_rows_begin(&rows, model, profile, TABLE_node_steps, execs->count)) return false;
  if (rows.count == 0) return true;
  struct block *block = malloc(sizeof *block);
  bool ok = block ? true : tf_no_memory(model);
  if (ok) find_ranges(block, execs, ranges);
  for (unsigned v = 0; ok && v < VALUE_COUNT; v++) {
    if (ranges[v].maximum == TF_NULL) continue; /* what the files do not have may be derived */
    if (column_builder_start(&builders[v], rows.count, ranges[v].minimum, ranges[v].maximum, false,
                             ranges[v].has_nulls))
      ok = tf_no_memory(model);
  }
  for (uint32_t first = 0, count; ok && first < rows.count; first += count) {
    count = fill_block(block, execs, first);
    for (unsigned v = 0; v < VALUE_COUNT; v++) {
      if (builders[v].column) put_block(&builders[v], block, v, first, count, ranges[v].has_nulls);
    }
  }
  for (unsigned v = 0; v < VALUE_COUNT; v++) {
    if (!builders[v].column) continue;
    if (ok) ok = tf_rows_take(&rows, value_columns[v], column_builder_done(&builders[v]));
    else column_builder_cancel(&builders[v]);
  }
  free(block);
  tf_rows_end(&rows);
  return ok;
}

bool tf_publish_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order) {
  size_t count = model->steps.count;
  struct execs execs = {0};
  uint32_t *steps = malloc((count + 1) * sizeof *steps), *rank = malloc((count + 1) * sizeof *rank);
  bool ok = steps && rank ? true : tf_no_memory(model);
  for (uint32_t i = 0; ok && i < count; i++) steps[i] = i;
  if (ok && count > 1) qsort_r(steps, count, sizeof *steps, compare_steps, model->steps.items);
  for (uint32_t i = 0; ok && i < count; i++) rank[steps[i]] = i;
  ok = ok && order_execs(model, &execs, order, rank) && publish_step_rows(model, profile, steps, &execs) &&
       publish_node_steps(model, profile, &execs) && tf_publish_memory(model, profile, rank) &&
       tf_publish_runs(model, profile, execs.order);
  free_execs(&execs);
  free(steps);
  free(rank);
  return ok;
}
