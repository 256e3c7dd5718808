/* publish_steps.c: the tables of what ran: devices, threads, steps, node_steps, ops, kernels. */
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
      if (lane->is_accelerator == (pass == 1) && !add_device(model, devices, lane->device, lane->device_lower)) return false;
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
  for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = device_ordinal(pool_text(model->pool, devices.lower[i]));
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

static bool publish_step_rows(struct tf_model *model, struct profile *profile, const uint32_t *order, const uint32_t *rank) {
  struct tf_rows rows;
  size_t count = model->steps.count;
  string_id session;
  if (!tf_intern(model, "session", 7, &session) || !tf_rows_begin(&rows, model, profile, TABLE_steps, count)) return false;
  int64_t *starts = malloc((count + 1) * sizeof *starts), *ends = malloc((count + 1) * sizeof *ends);
  bool ok = starts && ends ? true : tf_no_memory(model);
  for (size_t i = 0; ok && i < count; i++) starts[i] = ends[i] = TF_NULL;
  for (size_t i = 0; ok && i < model->execs.count; i++) {
    const struct tf_exec *exec = &model->execs.items[i];
    uint32_t row = rank[exec->step];
    if (exec->start_micros <= 0) continue;
    if (starts[row] == TF_NULL || exec->start_micros * 1000 < starts[row]) starts[row] = exec->start_micros * 1000;
    if (ends[row] == TF_NULL || exec->end_micros * 1000 > ends[row]) ends[row] = exec->end_micros * 1000;
  }
  for (uint32_t i = 0; ok && i < count; i++) {
    rows.values[i] = starts[i];
    ends[i] = starts[i] == TF_NULL ? TF_NULL : ends[i] - starts[i];
  }
  ok = ok && tf_rows_set_span(&rows, COLUMN_steps_start_ns, COLUMN_steps_dur_ns, COLUMN_steps_end_ns, ends);
  for (uint32_t i = 0; ok && i < count; i++) rows.values[i] = model->steps.items[order[i]].number;
  ok = ok && tf_rows_set(&rows, COLUMN_steps_number) && tf_rows_set_constant(&rows, COLUMN_steps_origin, session) &&
       tf_rows_set_constant(&rows, COLUMN_steps_is_warmup, 0) && tf_rows_set_constant(&rows, COLUMN_steps_ops_recorded, 1);
  free(starts);
  free(ends);
  tf_rows_end(&rows);
  return ok;
}

/* Executions by row of their node, then of their step: a node's lie together or come by step, so that few are moved. */
static uint32_t *order_execs(const struct tf_model *model, const struct tf_node_order *order, const uint32_t *rank) {
  size_t nodes = model->nodes.count, count = model->execs.count;
  const struct tf_exec *execs = model->execs.items;
  uint32_t *starts = calloc(nodes + 2, sizeof *starts), *sorted = malloc((count + 1) * sizeof *sorted);
  if (!starts || !sorted) {
    free(starts);
    free(sorted);
    return NULL;
  }
  for (size_t i = 0; i < count; i++) starts[order->rows[execs[i].node] + 1]++;
  for (size_t i = 0; i < nodes; i++) starts[i + 1] += starts[i];
  for (size_t i = 0; i < count; i++) sorted[starts[order->rows[execs[i].node]]++] = (uint32_t)i;
  /* Insertion; the steps of a node are few and mostly in order. In a map they may come in any order. */
  for (size_t i = 1; i < count; i++) {
    uint32_t item = sorted[i];
    size_t to = i;
    while (to > 0 && execs[sorted[to - 1]].node == execs[item].node && rank[execs[sorted[to - 1]].step] > rank[execs[item].step]) {
      sorted[to] = sorted[to - 1];
      to--;
    }
    sorted[to] = item;
  }
  free(starts);
  return sorted;
}

static bool publish_node_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order,
                               const uint32_t *rank) {
  struct tf_rows rows;
  if (!tf_rows_begin(&rows, model, profile, TABLE_node_steps, model->execs.count)) return false;
  uint32_t *execs = order_execs(model, order, rank);
  bool ok = execs ? true : tf_no_memory(model);
#define SET(column, expression)                                         \
  for (uint32_t i = 0; ok && i < rows.count; i++) {                     \
    const struct tf_exec *exec = &model->execs.items[execs[i]];         \
    rows.values[i] = (expression);                                      \
  }                                                                     \
  ok = ok && tf_rows_set(&rows, COLUMN_node_steps_##column);
  SET(node_id, order->rows[exec->node])
  SET(step_id, rank[exec->step])
  SET(run_count, exec->run_count)
  SET(start_ns, exec->start_micros > 0 ? exec->start_micros * 1000 : TF_NULL)
  SET(end_ns, exec->start_micros > 0 ? exec->end_micros * 1000 : TF_NULL)
  SET(exec_ns, tf_add(model, exec->accelerator_micros, exec->cpu_micros) * 1000)
  SET(accelerator_ns, exec->accelerator_micros * 1000)
  SET(cpu_ns, exec->cpu_micros * 1000)
  SET(requested_bytes, exec->requested_bytes)
  SET(peak_bytes, exec->peak_bytes)
  SET(residual_bytes, exec->residual_bytes)
  SET(output_bytes, exec->output_bytes)
#undef SET
  free(execs);
  tf_rows_end(&rows);
  return ok;
}

/* ---- runs ---- */

static bool publish_runs(struct tf_model *model, struct profile *profile, const struct tf_node_order *order,
                         const uint32_t *rank, bool is_accelerator) {
  struct tf_rows rows;
  size_t count = 0;
  uint32_t *runs = malloc((model->runs.count + 1) * sizeof *runs);
  int64_t *lengths = malloc((model->runs.count + 1) * sizeof *lengths);
  bool ok = runs && lengths ? true : tf_no_memory(model);
  for (size_t i = 0; ok && i < model->runs.count; i++) {
    if (model->lanes.items[model->runs.items[i].lane].is_accelerator == is_accelerator) runs[count++] = (uint32_t)i;
  }
  if (!ok || !tf_rows_begin(&rows, model, profile, is_accelerator ? TABLE_kernels : TABLE_ops, count)) {
    free(runs);
    free(lengths);
    return false;
  }
  string_id op = 0, compute = 0;
  ok = tf_intern(model, "op", 2, &op) && tf_intern(model, "compute", 7, &compute);
#define COLUMN_OF(name) (is_accelerator ? (unsigned)COLUMN_kernels_##name : (unsigned)COLUMN_ops_##name)
#define FILL(expression)                                            \
  for (uint32_t i = 0; ok && i < rows.count; i++) {                 \
    const struct tf_run *run = &model->runs.items[runs[i]];         \
    const struct tf_node *node = &model->nodes.items[run->node];    \
    (void)node;                                                     \
    rows.values[i] = (expression);                                  \
  }
#define SET(column, expression)  \
  FILL(expression)               \
  ok = ok && tf_rows_set(&rows, COLUMN_OF(column));
  SET(name, node->name ? (int64_t)node->name : TF_NULL)
  SET(node_id, order->rows[run->node])
  SET(thread_id, run->lane)
  SET(device_id, model->lane_devices[run->lane])
  SET(step_id, rank[run->step])
  for (uint32_t i = 0; ok && i < rows.count; i++) lengths[i] = model->runs.items[runs[i]].micros * 1000;
  FILL(run->start_micros * 1000)
  ok = ok && tf_rows_set_span(&rows, COLUMN_OF(start_ns), COLUMN_OF(dur_ns), COLUMN_OF(end_ns), lengths);
  if (is_accelerator) {
    ok = ok && tf_rows_set_constant(&rows, COLUMN_kernels_kind, compute);
    FILL(node->op ? (int64_t)node->op : TF_NULL)
    ok = ok && tf_rows_set(&rows, COLUMN_kernels_short_name);
  } else {
    FILL(node->op ? (int64_t)node->op : TF_NULL)
    ok = ok && tf_rows_set(&rows, COLUMN_ops_op_type) && tf_rows_set_constant(&rows, COLUMN_ops_category, op);
    FILL(node->trace ? (int64_t)node->trace - 1 : TF_NULL)
    ok = ok && tf_rows_set(&rows, COLUMN_ops_code_trace_id);
    /* Ops of one lane overlap, since a device runs many at once; none calls another. */
    for (uint32_t i = 0; ok && i < rows.count; i++) rows.values[i] = lengths[i];
    ok = ok && tf_rows_set(&rows, COLUMN_ops_self_ns) && tf_rows_set_absent(&rows, COLUMN_ops_parent_id) &&
         tf_rows_set_constant(&rows, COLUMN_ops_depth, 0);
  }
#undef SET
#undef FILL
#undef COLUMN_OF
  free(runs);
  free(lengths);
  tf_rows_end(&rows);
  return ok;
}

bool tf_publish_steps(struct tf_model *model, struct profile *profile, const struct tf_node_order *order) {
  size_t count = model->steps.count;
  uint32_t *steps = malloc((count + 1) * sizeof *steps), *rank = malloc((count + 1) * sizeof *rank);
  bool ok = steps && rank ? true : tf_no_memory(model);
  for (uint32_t i = 0; ok && i < count; i++) steps[i] = i;
  if (ok && count > 1) qsort_r(steps, count, sizeof *steps, compare_steps, model->steps.items);
  for (uint32_t i = 0; ok && i < count; i++) rank[steps[i]] = i;
  ok = ok && publish_step_rows(model, profile, steps, rank) && publish_node_steps(model, profile, order, rank) &&
       publish_runs(model, profile, order, rank, false) && publish_runs(model, profile, order, rank, true);
  free(steps);
  free(rank);
  return ok;
}
