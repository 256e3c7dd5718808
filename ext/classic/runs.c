/* runs.c: see runs.h.  Ops and kernels that belong to a node, from the tables ops and kernels; what they did to memory
** from allocations (by their op), memory_events and counters.
**
** The device of a run is what TensorFlow calls its lane: there the name of the thread or stream, elsewhere that of the
** device, with "/stream:all" for kernels.
*/
#include "classic/runs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NO_NODE = UINT32_MAX };

struct taking {
  const struct classic_model *model;
  struct profile *profile;
  struct tfprof_error *error;
  struct classic_runs *runs;
  int64_t step;   /* row of steps */
  uint32_t *rank; /* node of each row of nodes */
  uint64_t rank_count;
  string_id *lanes;   /* device name of each thread, for ops and for kernels; 0: not known yet */
  string_id *devices; /* of each row of devices, in lower case */
  uint64_t lane_count, device_count;
  uint32_t *op_nodes; /* node of each row of ops */
  uint64_t op_count;
  size_t capacity;
};

static int64_t integer(const struct segment *segment, unsigned column, uint32_t row, int64_t otherwise) {
  const struct column *c = segment->columns[column];
  return !c || column_is_null(c, row) ? otherwise : column_integer(c, row);
}

static double real(const struct segment *segment, unsigned column, uint32_t row) {
  const struct column *c = segment->columns[column];
  return !c || column_is_null(c, row) ? 0 : column_real(c, row);
}

static enum tfprof_status require(const struct taking *taking, unsigned table, const uint16_t *columns, size_t count) {
  struct column_set set = {{0, 0}};
  for (size_t i = 0; i < count; i++) column_set_add(&set, columns[i]);
  return profile_require(taking->profile, table, &set, taking->error);
}
#define REQUIRE(taking, table, ...) \
  require(taking, table, (const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

/* Runs the block for each row of a table, which is `row` of `segment`. */
#define EACH_ROW(taking, table_id)                                                                                  \
  for (size_t s_ = 0; s_ < (taking)->profile->tables[table_id].segment_count; s_++)                                 \
    for (const struct segment *segment = (taking)->profile->tables[table_id].segments[s_], *once_ = segment; once_; \
         once_ = NULL)                                                                                              \
      for (uint32_t row = 0; row < segment->rows; row++)

/* ---- names of devices ---- */

static enum tfprof_status lower_case(const struct taking *taking, string_id text, const char *end, string_id *lower) {
  const char *from = text ? pool_text(taking->model->pool, text) : "";
  char *copy;
  int length = asprintf(&copy, "%s%s", from, end);
  if (length < 0) return error_no_memory(taking->error);
  for (char *at = copy; *at; at++) *at = (char)tolower((unsigned char)*at);
  enum tfprof_status status = pool_intern(store_pool(taking->model->store), copy, (size_t)length, lower);
  free(copy);
  return status ? error_no_memory(taking->error) : TFPROF_OK;
}

static enum tfprof_status name_devices(struct taking *taking) {
  enum tfprof_status status = REQUIRE(taking, TABLE_devices, COLUMN_devices_name);
  if (status) return status;
  taking->device_count = taking->profile->tables[TABLE_devices].rows;
  taking->devices = calloc(taking->device_count + 1, sizeof *taking->devices);
  if (!taking->devices) return error_no_memory(taking->error);
  EACH_ROW(taking, TABLE_devices) {
    if (!status)
      status = lower_case(taking, (string_id)integer(segment, COLUMN_devices_name, row, 0), "",
                          &taking->devices[segment->first_row + row]);
  }
  return status;
}

/* Of each thread, as ops see it and as kernels do. */
static enum tfprof_status name_lanes(struct taking *taking) {
  const char *framework = taking->profile->framework ? pool_text(taking->model->pool, taking->profile->framework) : "";
  bool is_tensorflow = strcmp(framework, "tensorflow") == 0;
  enum tfprof_status status = REQUIRE(taking, TABLE_threads, COLUMN_threads_name, COLUMN_threads_device_id);
  if (status) return status;
  taking->lane_count = taking->profile->tables[TABLE_threads].rows;
  taking->lanes = calloc(2 * (taking->lane_count + 1), sizeof *taking->lanes);
  if (!taking->lanes) return error_no_memory(taking->error);
  EACH_ROW(taking, TABLE_threads) {
    string_id *lane = &taking->lanes[2 * (segment->first_row + row)];
    int64_t device = integer(segment, COLUMN_threads_device_id, row, -1);
    string_id name = is_tensorflow ? (string_id)integer(segment, COLUMN_threads_name, row, 0)
                     : device >= 0 && (uint64_t)device < taking->device_count ? taking->devices[device]
                                                                              : 0;
    if (!name && !status) status = pool_intern(store_pool(taking->model->store), "host", 4, &name);
    if (!status) status = lower_case(taking, name, "", &lane[0]);
    if (!status) status = lower_case(taking, name, is_tensorflow ? "" : "/stream:all", &lane[1]);
  }
  return status;
}

/* ---- runs ---- */

static enum tfprof_status add_run(struct taking *taking, const struct classic_run *run) {
  struct classic_runs *runs = taking->runs;
  if (runs->count == taking->capacity) {
    size_t capacity = taking->capacity * 2 + 256;
    struct classic_run *grown = capacity < INT32_MAX ? realloc(runs->runs, capacity * sizeof *grown) : NULL;
    if (!grown) return error_no_memory(taking->error);
    runs->runs = grown;
    taking->capacity = capacity;
  }
  runs->runs[runs->count++] = *run;
  return TFPROF_OK;
}

static uint32_t node_at(const struct taking *taking, int64_t row) {
  return row >= 0 && (uint64_t)row < taking->rank_count ? taking->rank[row] : NO_NODE;
}

/* The node of an op or a kernel. */
static uint32_t node_of(const struct taking *taking, const struct segment *segment, uint32_t row, unsigned column) {
  const uint32_t *known = segment->table == TABLE_ops ? taking->model->op_nodes : taking->model->kernel_nodes;
  if (known) return known[segment->first_row + row];
  return node_at(taking, integer(segment, column, row, -1));
}

static enum tfprof_status take_runs(struct taking *taking, bool is_kernels) {
  unsigned table = is_kernels ? TABLE_kernels : TABLE_ops;
  enum tfprof_status status = is_kernels
                                  ? REQUIRE(taking, TABLE_kernels, COLUMN_kernels_node_id, COLUMN_kernels_step_id,
                                            COLUMN_kernels_thread_id, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns)
                                  : REQUIRE(taking, TABLE_ops, COLUMN_ops_node_id, COLUMN_ops_step_id,
                                            COLUMN_ops_thread_id, COLUMN_ops_start_ns, COLUMN_ops_dur_ns);
  if (status) return status;
#define COLUMN_OF(name) (is_kernels ? (unsigned)COLUMN_kernels_##name : (unsigned)COLUMN_ops_##name)
  if (!is_kernels) {
    taking->op_count = taking->profile->tables[TABLE_ops].rows;
    taking->op_nodes = malloc((taking->op_count + 1) * sizeof *taking->op_nodes);
    if (!taking->op_nodes) return error_no_memory(taking->error);
    memset(taking->op_nodes, 0xff, (taking->op_count + 1) * sizeof *taking->op_nodes);
  }
  int64_t no_step = taking->profile->tables[TABLE_steps].rows ? -1 : taking->step; /* a profile without steps is one */
  EACH_ROW(taking, table) {
    uint32_t node = node_of(taking, segment, row, COLUMN_OF(node_id));
    int64_t thread = integer(segment, COLUMN_OF(thread_id), row, -1),
            start = integer(segment, COLUMN_OF(start_ns), row, 0);
    if (!is_kernels) taking->op_nodes[segment->first_row + row] = node;
    bool is_lane = thread >= 0 && (uint64_t)thread < taking->lane_count;
    if (status || node == NO_NODE || !is_lane || integer(segment, COLUMN_OF(step_id), row, no_step) != taking->step)
      continue;
    struct classic_run run = {.node = node,
                              .device = taking->lanes[2 * thread + is_kernels],
                              .is_scheduling = !is_kernels,
                              .start_micros = start / 1000,
                              .micros = integer(segment, COLUMN_OF(dur_ns), row, 0) / 1000};
    status = add_run(taking, &run);
  }
#undef COLUMN_OF
  return status;
}

static int compare_names(const void *left, const void *right, void *context) {
  const struct pool *pool = context;
  return strcmp(pool_text(pool, *(const string_id *)left), pool_text(pool, *(const string_id *)right));
}

/* Puts the numbers of the devices, in the order of their names, into the runs, and these into the order of their nodes
** and devices. */
static enum tfprof_status order_runs(struct taking *taking) {
  struct classic_runs *runs = taking->runs;
  const struct pool *pool = taking->model->pool;
  string_id *names = malloc((2 * taking->lane_count + 1) * sizeof *names);
  size_t count = 0, lanes = 2 * taking->lane_count, nodes = taking->model->node_count;
  if (!names) return error_no_memory(taking->error);
  for (size_t i = 0; i < lanes; i++) {
    if (taking->lanes[i]) names[count++] = taking->lanes[i];
  }
  if (count > 1) qsort_r(names, count, sizeof *names, compare_names, (void *)(uintptr_t)pool);
  runs->devices = calloc(count + 1, sizeof *runs->devices);
  runs->first = calloc(nodes + 2, sizeof *runs->first);
  uint32_t *number = calloc((size_t)pool_count(pool) + 1, sizeof *number),
           *order = malloc(((size_t)runs->count + 1) * sizeof *order);
  struct classic_run *sorted = malloc(((size_t)runs->count + 1) * sizeof *sorted);
  bool ok = runs->devices && runs->first && number && order && sorted;
  for (size_t i = 0; ok && i < count; i++) {
    if (i > 0 && names[i] == names[i - 1]) continue;
    number[names[i]] = runs->device_count;
    runs->devices[runs->device_count] = strdup(pool_text(pool, names[i]));
    ok = runs->devices[runs->device_count++] != NULL;
  }
  if (ok) {
    for (uint32_t i = 0; i < runs->count; i++) {
      runs->runs[i].device = number[runs->runs[i].device];
      runs->first[runs->runs[i].node + 1]++;
    }
    for (size_t i = 0; i < nodes; i++) runs->first[i + 1] += runs->first[i];
    for (uint32_t i = 0; i < runs->count; i++) sorted[runs->first[runs->runs[i].node]++] = runs->runs[i];
    for (size_t i = nodes; i > 0; i--) runs->first[i] = runs->first[i - 1];
    runs->first[0] = 0;
    /* By device within a node; a node has few devices, mostly in order. */
    for (uint32_t i = 1; i < runs->count; i++) {
      struct classic_run run = sorted[i];
      uint32_t to = i;
      while (to > 0 && sorted[to - 1].node == run.node && sorted[to - 1].device > run.device) {
        sorted[to] = sorted[to - 1];
        to--;
      }
      sorted[to] = run;
    }
    free(runs->runs);
    runs->runs = sorted;
    sorted = NULL;
  }
  free(names);
  free(number);
  free(order);
  free(sorted);
  return ok ? TFPROF_OK : error_no_memory(taking->error);
}

/* ---- memory ---- */

static int compare_allocations(const void *left, const void *right) {
  const struct classic_allocation *a = left, *b = right;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  return a->micros < b->micros ? -1 : a->micros > b->micros;
}

static enum tfprof_status take_allocations(struct taking *taking) {
  struct classic_runs *runs = taking->runs;
  enum tfprof_status status =
      REQUIRE(taking, TABLE_allocations, COLUMN_allocations_bytes, COLUMN_allocations_op_id, COLUMN_allocations_step_id,
              COLUMN_allocations_allocated_ns, COLUMN_allocations_released_ns, COLUMN_allocations_region);
  if (status) return status;
  string_id persistent = pool_find(taking->model->pool, "persistent", 10);
  uint64_t rows = 0;
  EACH_ROW(taking, TABLE_allocations) rows++;
  if (rows >= INT32_MAX / 2) return error_set(taking->error, TFPROF_LIMIT, "more than 2^30 allocations");
  runs->allocations = malloc((2 * rows + 1) * sizeof *runs->allocations);
  if (!runs->allocations) return error_no_memory(taking->error);
  EACH_ROW(taking, TABLE_allocations) {
    int64_t op = integer(segment, COLUMN_allocations_op_id, row, -1),
            bytes = integer(segment, COLUMN_allocations_bytes, row, 0);
    int64_t opened = integer(segment, COLUMN_allocations_allocated_ns, row, -1);
    int64_t closed = integer(segment, COLUMN_allocations_released_ns, row, -1);
    uint32_t node = op >= 0 && (uint64_t)op < taking->op_count ? taking->op_nodes[op] : NO_NODE;
    /* What lasts from before the first step belongs to every step. */
    bool is_lasting = opened < 0 && closed < 0 && persistent &&
                      (string_id)integer(segment, COLUMN_allocations_region, row, 0) == persistent;
    if (node == NO_NODE || (!is_lasting && integer(segment, COLUMN_allocations_step_id, row, -1) != taking->step))
      continue;
    if (opened >= 0 || is_lasting)
      runs->allocations[runs->allocation_count++] =
          (struct classic_allocation){node, is_lasting ? 0 : opened / 1000, bytes};
    if (closed >= 0)
      runs->allocations[runs->allocation_count++] = (struct classic_allocation){node, closed / 1000, -bytes};
  }
  qsort(runs->allocations, runs->allocation_count, sizeof *runs->allocations, compare_allocations);
  return TFPROF_OK;
}

static int compare_points(const void *left, const void *right) {
  const struct classic_memory_point *a = left, *b = right;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  return a->micros < b->micros ? -1 : a->micros > b->micros;
}

/* What was in use, between the first and the last run of the step. */
static enum tfprof_status take_points(struct taking *taking) {
  struct classic_runs *runs = taking->runs;
  enum tfprof_status status = REQUIRE(taking, TABLE_counters, COLUMN_counters_name, COLUMN_counters_device_id,
                                      COLUMN_counters_time_ns, COLUMN_counters_value);
  if (!status)
    status = REQUIRE(taking, TABLE_memory_events, COLUMN_memory_events_device_id, COLUMN_memory_events_time_ns,
                     COLUMN_memory_events_in_use_bytes);
  if (status) return status;
  string_id name = pool_find(taking->model->pool, CLASSIC_MEMORY_COUNTER, sizeof CLASSIC_MEMORY_COUNTER - 1);
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (uint32_t i = 0; i < runs->count; i++) {
    const struct classic_run *run = &runs->runs[i];
    if (run->start_micros < first) first = run->start_micros;
    if (run->start_micros + run->micros > last) last = run->start_micros + run->micros;
  }
  uint64_t rows = 0;
  EACH_ROW(taking, TABLE_counters) rows++;
  EACH_ROW(taking, TABLE_memory_events) rows++;
  if (rows >= INT32_MAX) return error_set(taking->error, TFPROF_LIMIT, "more than 2^31 readings of memory");
  runs->points = malloc((rows + 1) * sizeof *runs->points);
  if (!runs->points) return error_no_memory(taking->error);
  EACH_ROW(taking, TABLE_counters) {
    int64_t device = integer(segment, COLUMN_counters_device_id, row, -1);
    int64_t micros = integer(segment, COLUMN_counters_time_ns, row, 0) / 1000;
    if (!name || (string_id)integer(segment, COLUMN_counters_name, row, 0) != name) continue;
    if (device < 0 || (uint64_t)device >= taking->device_count || micros < first || micros > last) continue;
    runs->points[runs->point_count++] = (struct classic_memory_point){
        taking->devices[device], micros, (int64_t)real(segment, COLUMN_counters_value, row)};
  }
  EACH_ROW(taking, TABLE_memory_events) {
    int64_t device = integer(segment, COLUMN_memory_events_device_id, row, -1);
    int64_t micros = integer(segment, COLUMN_memory_events_time_ns, row, 0) / 1000;
    int64_t bytes = integer(segment, COLUMN_memory_events_in_use_bytes, row, -1);
    if (bytes < 0 || device < 0 || (uint64_t)device >= taking->device_count || micros < first || micros > last)
      continue;
    runs->points[runs->point_count++] = (struct classic_memory_point){taking->devices[device], micros, bytes};
  }
  qsort(runs->points, runs->point_count, sizeof *runs->points, compare_points);
  return TFPROF_OK;
}

/* ---- life ---- */

static enum tfprof_status take(struct taking *taking) {
  const struct classic_model *model = taking->model;
  taking->rank_count = taking->profile->tables[TABLE_nodes].rows;
  taking->rank = malloc((taking->rank_count + 1) * sizeof *taking->rank);
  if (!taking->rank) return error_no_memory(taking->error);
  memset(taking->rank, 0xff, (taking->rank_count + 1) * sizeof *taking->rank);
  for (uint32_t i = 0; i < model->node_count; i++) {
    if (model->nodes[i].row >= 0 && (uint64_t)model->nodes[i].row < taking->rank_count)
      taking->rank[model->nodes[i].row] = i;
  }
  enum tfprof_status status = name_devices(taking);
  if (!status) status = name_lanes(taking);
  if (!status) status = take_runs(taking, false);
  if (!status) status = take_runs(taking, true);
  if (!status) status = order_runs(taking);
  if (!status) status = take_allocations(taking);
  return status ? status : take_points(taking);
}

struct classic_runs *classic_runs_create(const struct classic_model *model, int64_t step, struct tfprof_error *error) {
  struct taking taking = {.model = model, .error = error, .step = -1};
  taking.profile = store_profile_by_number(model->store, model->profile_number);
  taking.runs = calloc(1, sizeof *taking.runs);
  enum tfprof_status status = TFPROF_OK;
  if (!taking.runs)
    status = error_no_memory(error);
  else if (!taking.profile)
    status = error_set(error, TFPROF_NOT_FOUND, "the profile is not open any more");
  for (uint32_t i = 0; i < model->step_count; i++) {
    if (model->steps[i] == step) taking.step = i;
  }
  if (!status) status = take(&taking);
  free(taking.rank);
  free(taking.lanes);
  free(taking.devices);
  free(taking.op_nodes);
  if (!status) return taking.runs;
  classic_runs_free(taking.runs);
  return NULL;
}

void classic_runs_free(struct classic_runs *runs) {
  if (!runs) return;
  for (uint32_t i = 0; i < runs->device_count; i++) free(runs->devices[i]);
  free(runs->devices);
  free(runs->runs);
  free(runs->first);
  free(runs->allocations);
  free(runs->points);
  free(runs);
}
