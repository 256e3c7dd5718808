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
  size_t length = text ? device_length(text) : 0;
  if (!length) return true; /* a name may begin with NUL */
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
  return at == length || length - at > 9 ? ROW_NULL : strtoll(lower + at, NULL, 10);
}

int64_t tf_device_row(const struct tf_model *model, string_id lower) {
  const char *text = pool_text(model->pool, lower);
  if (!text || !model->device_names) return -1;
  struct devices devices = {NULL, model->device_names, model->device_count};
  size_t length = device_length(text);
  return length ? find_device(model->pool, &devices, text, length) : -1;
}

bool tf_publish_devices(struct tf_model *model, struct profile *profile) {
  struct devices devices;
  struct eager_rows rows = {0};
  bool ok = collect_devices(model, &devices) &&
            eager_rows_begin(&rows, profile, TABLE_devices, devices.count, &model->status, model->error);
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = devices.names[i];
  ok = ok && eager_rows_set_known(&rows, COLUMN_devices_name);
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    const char *kind = device_kind(pool_text(model->pool, devices.lower[i]));
    string_id id;
    ok = tf_intern(model, kind, 3, &id);
    rows.values[i] = id;
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_devices_kind);
  for (uint32_t i = 0; ok && i < rows.count; i++)
    rows.values[i] = device_ordinal(pool_text(model->pool, devices.lower[i]));
  ok = ok && eager_rows_set_known(&rows, COLUMN_devices_ordinal);
  eager_rows_end(&rows);
  free(devices.names);
  model->device_names = devices.lower;
  model->device_count = devices.count;

  size_t lanes = model->lanes.count;
  string_id host = 0, stream = 0;
  ok = ok && tf_intern(model, "host", 4, &host) && tf_intern(model, "stream", 6, &stream) &&
       eager_rows_begin(&rows, profile, TABLE_threads, lanes, &model->status, model->error);
#define SET(column, expression)                          \
  for (uint32_t i = 0; ok && i < rows.count; i++) {      \
    const struct tf_lane *lane = &model->lanes.items[i]; \
    (void)lane;                                          \
    rows.values[i] = (expression);                       \
  }                                                      \
  ok = ok && eager_rows_set_known(&rows, COLUMN_threads_##column);
  if (!ok) return false;
  model->lane_devices = malloc((lanes + 1) * sizeof *model->lane_devices);
  if (!model->lane_devices) ok = tf_no_memory(model);
  for (size_t i = 0; ok && i < lanes; i++) {
    int64_t row = tf_device_row(model, model->lanes.items[i].device_lower);
    model->lane_devices[i] = row < 0 ? ROW_NULL : row;
  }
  SET(device_id, model->lane_devices[i])
  SET(kind, lane->is_accelerator ? stream : host)
  SET(name, lane->device)
  SET(tid, lane->thread == TF_NONE || lane->is_accelerator ? ROW_NULL : lane->thread)
#undef SET
  eager_rows_end(&rows);
  return ok;
}

/* ---- steps ---- */

static int compare_steps(const void *left, const void *right, void *context) {
  const struct tf_step *steps = context;
  int64_t a = steps[*(const uint32_t *)left].number, b = steps[*(const uint32_t *)right].number;
  return a < b ? -1 : a > b;
}

static bool publish_step_rows(struct tf_model *model, struct profile *profile, const uint32_t *order) {
  struct eager_rows rows;
  size_t count = model->steps.count;
  string_id session;
  if (!tf_intern(model, "session", 7, &session) ||
      !eager_rows_begin(&rows, profile, TABLE_steps, count, &model->status, model->error))
    return false;
  int64_t *lengths = malloc((count + 1) * sizeof *lengths);
  bool ok = lengths ? true : tf_no_memory(model);
  for (uint32_t i = 0; ok && i < count; i++) {
    const struct tf_step *step = &model->steps.items[order[i]];
    rows.values[i] = step->start_micros ? step->start_micros * 1000 : ROW_NULL;
    lengths[i] = step->start_micros ? (step->end_micros - step->start_micros) * 1000 : ROW_NULL;
  }
  ok = ok && eager_rows_set_span(&rows, COLUMN_steps_start_ns, COLUMN_steps_dur_ns, COLUMN_steps_end_ns, lengths);
  for (uint32_t i = 0; ok && i < count; i++) rows.values[i] = model->steps.items[order[i]].number;
  ok = ok && eager_rows_set_known(&rows, COLUMN_steps_number) &&
       eager_rows_set_constant(&rows, COLUMN_steps_origin, session) &&
       eager_rows_set_constant(&rows, COLUMN_steps_is_warmup, 0) &&
       eager_rows_set_constant(&rows, COLUMN_steps_ops_recorded, 1) &&
       /* Session.run is called by any thread, which nothing tells. */
       eager_rows_set_absent(&rows, COLUMN_steps_thread_id);
  free(lengths);
  eager_rows_end(&rows);
  return ok;
}

/* ---- node_steps ---- */

/* Rows of the model become rows of a table. */
static struct column *translate(const struct column *column, const uint32_t *rows, size_t row_count) {
  enum { BLOCK = 1024 };
  int64_t values[BLOCK];
  uint64_t nulls[BLOCK / 64];
  struct column_builder builder;
  if (!column || column_builder_start(&builder, column->rows, 0, (int64_t)row_count - 1, false, false)) return NULL;
  for (uint32_t first = 0; first < column->rows; first += BLOCK) {
    uint32_t count = column->rows - first < BLOCK ? column->rows - first : BLOCK;
    column_read(column, first, count, values, nulls);
    for (uint32_t i = 0; i < count; i++) values[i] = rows[values[i]];
    column_builder_put_all(&builder, first, values, count);
  }
  return column_builder_done(&builder);
}

/* Takes the costs of the model. */
static bool publish_node_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order,
                               const uint32_t *rank) {
  struct column *costs[TF_COST_count] = {NULL};
  struct eager_rows rows;
  bool ok = eager_rows_begin(&rows, profile, TABLE_node_steps, model->costs.count, &model->status, model->error);
  for (int i = 0; ok && i < TF_COST_count; i++) {
    costs[i] = column_appender_done(&model->costs.columns[i], rows.count);
    if (!costs[i]) ok = tf_no_memory(model);
  }
  ok = ok && rows.count &&
       eager_rows_take(&rows, COLUMN_node_steps_node_id,
                       translate(costs[TF_COST_node], order->rows, model->nodes.count)) &&
       eager_rows_take(&rows, COLUMN_node_steps_step_id, translate(costs[TF_COST_step], rank, model->steps.count)) &&
       eager_rows_take(&rows, COLUMN_node_steps_exec_ns, column_sum(costs[TF_COST_accelerator], costs[TF_COST_cpu])) &&
       eager_rows_take(&rows, COLUMN_node_steps_end_ns, column_sum(costs[TF_COST_start], costs[TF_COST_length]));
#define TAKE(cost, column) \
  ok = ok && eager_rows_take(&rows, COLUMN_node_steps_##column, column_retain(costs[TF_COST_##cost]))
  TAKE(run_count, run_count);
  TAKE(start, start_ns);
  TAKE(accelerator, accelerator_ns);
  TAKE(cpu, cpu_ns);
  TAKE(requested, requested_bytes);
  TAKE(peak, peak_bytes);
  TAKE(residual, residual_bytes);
  TAKE(output, output_bytes);
#undef TAKE
  for (int i = 0; i < TF_COST_count; i++) column_release(costs[i]);
  eager_rows_end(&rows);
  return !model->status;
}

bool tf_publish_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order) {
  size_t count = model->steps.count;
  uint32_t *steps = malloc((count + 1) * sizeof *steps), *rank = malloc((count + 1) * sizeof *rank);
  bool ok = steps && rank ? true : tf_no_memory(model);
  for (uint32_t i = 0; ok && i < count; i++) steps[i] = i;
  if (ok && count > 1) qsort_r(steps, count, sizeof *steps, compare_steps, model->steps.items);
  for (uint32_t i = 0; ok && i < count; i++) rank[steps[i]] = i;
  ok = ok && publish_step_rows(model, profile, steps) && publish_node_steps(model, profile, order, rank) &&
       tf_publish_memory(model, profile, rank) && tf_publish_runs(model, profile);
  free(steps);
  free(rank);
  return ok;
}
