/* runs.c: see runs.h.  Ops and kernels that belong to a node, from the tables ops and kernels; which nodes ran at all
** from node_steps; what they did to memory from allocations (by their op), memory_events and counters.
**
** The device of a run is what TensorFlow calls its lane, in lower case.  Of a capture each thread and each stream is
** one: "/device:cpu:0/thread:17 (python)", "/device:gpu:0/stream:7".
*/
#include "classic/views/runs.h"

#include "base/list.h"
#include "classic/views/ops_graph.h"

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
  string_id *lanes;         /* of each thread */
  const string_id *devices; /* of each row of devices, as in the nodes of the model */
  string_id *made_devices;  /* what `devices` is, unless the model has it */
  uint64_t lane_count, device_count;
  uint32_t *op_nodes, *op_runs; /* of each row of ops: its node, its run */
  uint64_t op_count;
  size_t capacity, other_capacity;
};

static int64_t integer(const struct segment *segment, unsigned column, uint32_t row, int64_t otherwise) {
  const struct column *c = segment->columns[column];
  return !c || column_is_null(c, row) ? otherwise : column_integer(c, row);
}

/* A time, on the clock that all profiles share. */
static int64_t time_of(const struct taking *taking, const struct segment *segment, unsigned column, uint32_t row) {
  int64_t time = integer(segment, column, row, 0), shifted;
  return __builtin_add_overflow(time, taking->profile->clock_offset_ns, &shifted) ? time : shifted;
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

static enum tfprof_status lower_case(const struct taking *taking, string_id text, string_id *lower) {
  char *copy = strdup(text ? pool_text(taking->model->pool, text) : "host");
  if (!copy) return error_no_memory(taking->error);
  for (char *at = copy; *at; at++) *at = (char)tolower((unsigned char)*at);
  enum tfprof_status status = pool_intern(store_pool(taking->model->store), copy, strlen(copy), lower);
  free(copy);
  return status ? error_no_memory(taking->error) : TFPROF_OK;
}

static enum tfprof_status name_devices(struct taking *taking) {
  taking->device_count = taking->profile->tables[TABLE_devices].rows;
  taking->devices = taking->model->device_names;
  if (taking->devices) return TFPROF_OK;
  enum tfprof_status status = REQUIRE(taking, TABLE_devices, COLUMN_devices_name);
  if (status) return status;
  taking->devices = taking->made_devices = calloc(taking->device_count + 1, sizeof *taking->made_devices);
  if (!taking->made_devices) return error_no_memory(taking->error);
  EACH_ROW(taking, TABLE_devices) {
    if (!status)
      status = lower_case(taking, (string_id)integer(segment, COLUMN_devices_name, row, 0),
                          &taking->made_devices[segment->first_row + row]);
  }
  return status;
}

/* "/device:gpu:0/stream:7", or "/device:cpu:0/thread:17 (python)"; the names of some traces are "thread 17
** (python)". */
static enum tfprof_status name_lane(struct taking *taking, const struct segment *segment, uint32_t row,
                                    string_id *lane) {
  int64_t device = integer(segment, COLUMN_threads_device_id, row, -1),
          tid = integer(segment, COLUMN_threads_tid, row, 0);
  bool is_known = device >= 0 && (uint64_t)device < taking->device_count;
  const struct column *streams = segment->columns[COLUMN_threads_stream];
  bool is_stream = streams && !column_is_null(streams, row);
  string_id name = is_stream ? 0 : (string_id)integer(segment, COLUMN_threads_name, row, 0);
  const char *on = is_known ? pool_text(taking->model->pool, taking->devices[device]) : "/device:cpu:0";
  const char *called = name ? pool_text(taking->model->pool, name) : "";
  char *text;
  int length;
  if (is_stream) length = asprintf(&text, "%s/stream:%lld", on, (long long)column_integer(streams, row));
  else if (strncmp(called, "thread ", 7) == 0) length = asprintf(&text, "%s/%s", on, called);
  else if (*called) length = asprintf(&text, "%s/thread:%lld (%s)", on, (long long)tid, called);
  else length = asprintf(&text, "%s/thread:%lld", on, (long long)tid);
  if (length < 0) return error_no_memory(taking->error);
  enum tfprof_status status = pool_intern(store_pool(taking->model->store), text, (size_t)length, lane);
  free(text);
  return status ? error_no_memory(taking->error) : TFPROF_OK;
}

static enum tfprof_status name_lanes(struct taking *taking) {
  bool is_capture = taking->model->op_nodes != NULL;
  enum tfprof_status status = REQUIRE(taking, TABLE_threads, COLUMN_threads_name, COLUMN_threads_device_id,
                                      COLUMN_threads_tid, COLUMN_threads_stream);
  if (status) return status;
  taking->lane_count = taking->profile->tables[TABLE_threads].rows;
  taking->lanes = calloc(taking->lane_count + 1, sizeof *taking->lanes);
  if (!taking->lanes) return error_no_memory(taking->error);
  EACH_ROW(taking, TABLE_threads) {
    string_id *lane = &taking->lanes[segment->first_row + row];
    if (status) break;
    status = is_capture ? name_lane(taking, segment, row, lane)
                        : lower_case(taking, (string_id)integer(segment, COLUMN_threads_name, row, 0), lane);
  }
  return status;
}

/* ---- runs ---- */

static enum tfprof_status append_run(struct taking *taking, struct classic_run **runs, uint32_t *count,
                                     size_t *capacity, const struct classic_run *run) {
  if (*count == INT32_MAX || !array_room(*runs, *count, *capacity)) return error_no_memory(taking->error);
  (*runs)[(*count)++] = *run;
  return TFPROF_OK;
}

static enum tfprof_status add_run(struct taking *taking, const struct classic_run *run) {
  return append_run(taking, &taking->runs->runs, &taking->runs->count, &taking->capacity, run);
}

static uint32_t node_at(const struct taking *taking, int64_t row) {
  return row >= 0 && (uint64_t)row < taking->rank_count ? taking->rank[row] : NO_NODE;
}

/* Where the runs come from: ops, and what ran on devices. */
struct run_table {
  unsigned table, node, step, thread, start, dur, op; /* op: the column with the op that launched it */
};
enum { OF_OPS, OF_KERNELS, OF_TRANSFERS, RUN_TABLES };
static const struct run_table run_tables[RUN_TABLES] = {
    [OF_OPS] = {TABLE_ops, COLUMN_ops_node_id, COLUMN_ops_step_id, COLUMN_ops_thread_id, COLUMN_ops_start_ns,
                COLUMN_ops_dur_ns, COLUMN_ops_parent_id},
    [OF_KERNELS] = {TABLE_kernels, COLUMN_kernels_node_id, COLUMN_kernels_step_id, COLUMN_kernels_thread_id,
                    COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns, COLUMN_kernels_op_id},
    /* Without nodes of their own: only a capture's have any. */
    [OF_TRANSFERS] = {TABLE_transfers, COLUMN_transfers_op_id, COLUMN_transfers_step_id, COLUMN_transfers_thread_id,
                      COLUMN_transfers_start_ns, COLUMN_transfers_dur_ns, COLUMN_transfers_op_id},
};

static enum tfprof_status make_room_for_ops(struct taking *taking) {
  taking->op_count = taking->profile->tables[TABLE_ops].rows;
  size_t bytes = (taking->op_count + 1) * sizeof *taking->op_nodes;
  taking->op_nodes = malloc(bytes);
  taking->op_runs = malloc(bytes);
  if (!taking->op_nodes || !taking->op_runs) return error_no_memory(taking->error);
  memset(taking->op_nodes, 0xff, bytes);
  memset(taking->op_runs, 0xff, bytes);
  return TFPROF_OK;
}

static enum tfprof_status take_runs(struct taking *taking, int which) {
  const struct run_table *from = &run_tables[which];
  const struct classic_model *model = taking->model;
  const uint32_t *known = which == OF_OPS ? model->op_nodes
                          : which == OF_KERNELS ? model->kernel_nodes
                                                : model->transfer_nodes;
  bool is_capture = model->op_nodes != NULL;
  if (which == OF_TRANSFERS && !known) return TFPROF_OK;
  const uint16_t columns[] = {(uint16_t)from->node,  (uint16_t)from->step, (uint16_t)from->thread,
                              (uint16_t)from->start, (uint16_t)from->dur,  (uint16_t)from->op};
  enum tfprof_status status = require(taking, from->table, columns, sizeof columns / sizeof *columns);
  if (!status && which == OF_OPS) status = make_room_for_ops(taking);
  if (status) return status;
  int64_t no_step = taking->profile->tables[TABLE_steps].rows ? -1 : taking->step; /* a profile without steps is one */
  EACH_ROW(taking, from->table) {
    uint64_t place = segment->first_row + row;
    uint32_t node = known ? known[place] : node_at(taking, integer(segment, from->node, row, -1));
    int64_t thread = integer(segment, from->thread, row, -1), op = integer(segment, from->op, row, -1);
    if (which == OF_OPS) taking->op_nodes[place] = node;
    bool is_lane = thread >= 0 && (uint64_t)thread < taking->lane_count;
    if (status || node == NO_NODE || !is_lane || integer(segment, from->step, row, no_step) != taking->step) continue;
    bool is_launched = is_capture && which != OF_OPS && op >= 0 && (uint64_t)op < taking->op_count;
    struct classic_run run = {.node = node,
                              .device = taking->lanes[thread],
                              .launcher = is_launched ? taking->op_runs[op] : NO_NODE,
                              .is_scheduling = which == OF_OPS,
                              .place = (uint32_t)place,
                              .start_ns = time_of(taking, segment, from->start, row),
                              .dur_ns = integer(segment, from->dur, row, 0)};
    if (which == OF_OPS) taking->op_runs[place] = taking->runs->count;
    status = add_run(taking, &run);
  }
  return status;
}

/* The step itself, on the thread that went through it. */
static enum tfprof_status take_step_mark(struct taking *taking) {
  const struct profile_table *steps = &taking->profile->tables[TABLE_steps];
  enum tfprof_status status = REQUIRE(taking, TABLE_steps, COLUMN_steps_name, COLUMN_steps_number,
                                      COLUMN_steps_thread_id, COLUMN_steps_start_ns, COLUMN_steps_dur_ns);
  if (status || taking->step < 0 || !steps->rows) return status;
  EACH_ROW(taking, TABLE_steps) {
    int64_t thread = integer(segment, COLUMN_steps_thread_id, row, -1);
    if ((int64_t)(segment->first_row + row) != taking->step || thread < 0 || (uint64_t)thread >= taking->lane_count)
      continue;
    string_id name = (string_id)integer(segment, COLUMN_steps_name, row, 0);
    if (!name) {
      char text[40];
      int length = snprintf(text, sizeof text, "step %lld",
                            (long long)integer(segment, COLUMN_steps_number, row, taking->step));
      if (pool_intern(store_pool(taking->model->store), text, (size_t)length, &name))
        return error_no_memory(taking->error);
    }
    return add_run(taking, &(struct classic_run){.node = taking->model->node_count,
                                                 .device = taking->lanes[thread],
                                                 .mark = name,
                                                 .launcher = NO_NODE,
                                                 .is_scheduling = true,
                                                 .start_ns = time_of(taking, segment, COLUMN_steps_start_ns, row),
                                                 .dur_ns = integer(segment, COLUMN_steps_dur_ns, row, 0)});
  }
  return TFPROF_OK;
}

/* What the program of a capture marked in the step: nodes of the graph are only what ran. */
static enum tfprof_status take_marks(struct taking *taking) {
  const struct pool *pool = taking->model->pool;
  string_id user = pool_find(pool, "user", 4);
  if (!taking->model->op_nodes) return TFPROF_OK;
  enum tfprof_status status = take_step_mark(taking);
  if (!status)
    status = REQUIRE(taking, TABLE_ops, COLUMN_ops_name, COLUMN_ops_category, COLUMN_ops_step_id, COLUMN_ops_thread_id,
                     COLUMN_ops_start_ns, COLUMN_ops_dur_ns);
  int64_t no_step = taking->profile->tables[TABLE_steps].rows ? -1 : taking->step;
  EACH_ROW(taking, TABLE_ops) {
    int64_t thread = integer(segment, COLUMN_ops_thread_id, row, -1);
    string_id name = (string_id)integer(segment, COLUMN_ops_name, row, 0);
    bool is_mark = user && name && (string_id)integer(segment, COLUMN_ops_category, row, 0) == user;
    if (status || !is_mark || thread < 0 || (uint64_t)thread >= taking->lane_count ||
        integer(segment, COLUMN_ops_step_id, row, no_step) != taking->step || ops_is_step_mark(pool_text(pool, name)))
      continue;
    status = add_run(taking, &(struct classic_run){.node = taking->model->node_count,
                                                   .device = taking->lanes[thread],
                                                   .mark = name,
                                                   .launcher = NO_NODE,
                                                   .is_scheduling = true,
                                                   .start_ns = time_of(taking, segment, COLUMN_ops_start_ns, row),
                                                   .dur_ns = integer(segment, COLUMN_ops_dur_ns, row, 0)});
  }
  return status;
}

static int compare_run_texts(const void *left, const void *right, void *context) {
  const struct pool *pool = context;
  return strcmp(pool_text(pool, *(const string_id *)left), pool_text(pool, *(const string_id *)right));
}

/* Puts the numbers of the devices, in the order of their names, into the runs, and these into the order of their nodes
** and devices. */
static enum tfprof_status order_runs(struct taking *taking) {
  struct classic_runs *runs = taking->runs;
  const struct pool *pool = taking->model->pool;
  string_id *names = malloc((taking->lane_count + 1) * sizeof *names);
  size_t count = 0, lanes = taking->lane_count, nodes = (size_t)taking->model->node_count + 1; /* and marks */
  if (!names) return error_no_memory(taking->error);
  for (size_t i = 0; i < lanes; i++) {
    if (taking->lanes[i]) names[count++] = taking->lanes[i];
  }
  if (count > 1) qsort_r(names, count, sizeof *names, compare_run_texts, (void *)(uintptr_t)pool);
  runs->devices = calloc(count + 1, sizeof *runs->devices);
  runs->first = calloc(nodes + 2, sizeof *runs->first);
  uint32_t *number = calloc((size_t)pool_count(pool) + 1, sizeof *number),
           *order = malloc(((size_t)runs->count + 1) * sizeof *order), /* of sorted ones: where they were */
      *place = malloc(((size_t)runs->count + 1) * sizeof *place);      /* and back */
  struct classic_run *sorted = malloc(((size_t)runs->count + 1) * sizeof *sorted);
  bool ok = runs->devices && runs->first && number && order && place && sorted;
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
    for (uint32_t i = 0; i < runs->count; i++) order[runs->first[runs->runs[i].node]++] = i;
    for (uint32_t i = 0; i < runs->count; i++) sorted[i] = runs->runs[order[i]];
    for (size_t i = nodes; i > 0; i--) runs->first[i] = runs->first[i - 1];
    runs->first[0] = 0;
    /* By device within a node; a node has few devices, mostly in order. */
    for (uint32_t i = 1; i < runs->count; i++) {
      struct classic_run run = sorted[i];
      uint32_t to = i, former = order[i];
      while (to > 0 && !run.mark && sorted[to - 1].node == run.node && sorted[to - 1].device > run.device) {
        sorted[to] = sorted[to - 1];
        order[to] = order[to - 1];
        to--;
      }
      sorted[to] = run;
      order[to] = former;
    }
    for (uint32_t i = 0; i < runs->count; i++) place[order[i]] = i;
    for (uint32_t i = 0; i < runs->count; i++)
      if (sorted[i].launcher != NO_NODE) sorted[i].launcher = place[sorted[i].launcher];
    free(runs->runs);
    runs->runs = sorted;
    sorted = NULL;
  }
  free(names);
  free(number);
  free(order);
  free(place);
  free(sorted);
  return ok ? TFPROF_OK : error_no_memory(taking->error);
}

/* Which nodes ran: TensorFlow's stats of "/host:CPU" or of a single stream give no run, but a start in node_steps. */
static enum tfprof_status find_nodes_that_ran(struct taking *taking) {
  struct classic_runs *runs = taking->runs;
  enum tfprof_status status = REQUIRE(taking, TABLE_node_steps, COLUMN_node_steps_node_id, COLUMN_node_steps_step_id,
                                      COLUMN_node_steps_start_ns);
  if (status) return status;
  runs->has_run = calloc((size_t)taking->model->node_count + 1, sizeof *runs->has_run);
  if (!runs->has_run) return error_no_memory(taking->error);
  for (uint32_t i = 0; i < runs->count; i++) runs->has_run[runs->runs[i].node] = 1;
  EACH_ROW(taking, TABLE_node_steps) {
    const struct column *starts = segment->columns[COLUMN_node_steps_start_ns];
    uint32_t node = node_at(taking, integer(segment, COLUMN_node_steps_node_id, row, -1));
    bool is_timed = starts && !column_is_null(starts, row);
    if (node == NO_NODE || !is_timed || integer(segment, COLUMN_node_steps_step_id, row, -1) != taking->step) continue;
    runs->has_run[node] = 1;
  }
  return TFPROF_OK;
}

/* ---- memory ---- */

static int compare_allocations(const void *left, const void *right) {
  const struct classic_allocation *a = left, *b = right;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
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
    const struct column *allocated = segment->columns[COLUMN_allocations_allocated_ns],
                        *released = segment->columns[COLUMN_allocations_released_ns];
    bool is_opened = allocated && !column_is_null(allocated, row),
         is_closed = released && !column_is_null(released, row);
    uint32_t node = op >= 0 && (uint64_t)op < taking->op_count ? taking->op_nodes[op] : NO_NODE;
    /* What lasts from before the first step belongs to every step. */
    bool is_lasting = !is_opened && !is_closed && persistent &&
                      (string_id)integer(segment, COLUMN_allocations_region, row, 0) == persistent;
    if (node == NO_NODE || (!is_lasting && integer(segment, COLUMN_allocations_step_id, row, -1) != taking->step))
      continue;
    int64_t opened = is_opened ? time_of(taking, segment, COLUMN_allocations_allocated_ns, row) : 0;
    if (is_opened || is_lasting)
      runs->allocations[runs->allocation_count++] = (struct classic_allocation){node, opened, bytes};
    if (is_closed)
      runs->allocations[runs->allocation_count++] = (struct classic_allocation){
          node, time_of(taking, segment, COLUMN_allocations_released_ns, row), -bytes};
  }
  qsort(runs->allocations, runs->allocation_count, sizeof *runs->allocations, compare_allocations);
  return TFPROF_OK;
}

static int compare_points(const void *left, const void *right) {
  const struct classic_memory_point *a = left, *b = right;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* From the first to the last moment of the step; first after last: nothing ran. */
struct span {
  int64_t first, last;
};

static struct span find_span(const struct classic_runs *runs) {
  struct span span = {INT64_MAX, INT64_MIN};
  for (uint32_t i = 0; i < runs->count; i++) {
    const struct classic_run *run = &runs->runs[i];
    if (run->start_ns < span.first) span.first = run->start_ns;
    if (classic_run_end(run) > span.last) span.last = classic_run_end(run);
  }
  return span;
}

static void add_point(struct taking *taking, int64_t device, int64_t time, int64_t bytes, const struct span *span) {
  struct classic_runs *runs = taking->runs;
  if (device < 0 || (uint64_t)device >= taking->device_count || time < span->first || time > span->last) return;
  runs->points[runs->point_count] =
      (struct classic_memory_point){taking->devices[device], time, bytes, runs->point_count};
  runs->point_count++;
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
  struct span span = find_span(runs);
  uint64_t rows = 0;
  EACH_ROW(taking, TABLE_counters) rows++;
  EACH_ROW(taking, TABLE_memory_events) rows++;
  if (rows >= INT32_MAX) return error_set(taking->error, TFPROF_LIMIT, "more than 2^31 readings of memory");
  runs->points = malloc((rows + 1) * sizeof *runs->points);
  if (!runs->points) return error_no_memory(taking->error);
  EACH_ROW(taking, TABLE_counters) {
    if (!name || (string_id)integer(segment, COLUMN_counters_name, row, 0) != name) continue;
    add_point(taking, integer(segment, COLUMN_counters_device_id, row, -1),
              time_of(taking, segment, COLUMN_counters_time_ns, row),
              (int64_t)real(segment, COLUMN_counters_value, row), &span);
  }
  EACH_ROW(taking, TABLE_memory_events) {
    int64_t bytes = integer(segment, COLUMN_memory_events_in_use_bytes, row, -1);
    if (bytes < 0) continue;
    add_point(taking, integer(segment, COLUMN_memory_events_device_id, row, -1),
              time_of(taking, segment, COLUMN_memory_events_time_ns, row), bytes, &span);
  }
  qsort(runs->points, runs->point_count, sizeof *runs->points, compare_points);
  return TFPROF_OK;
}

/* Points do not say which step read them: where two of them meet, the runs of steps at the same time do. */
static enum tfprof_status take_others(struct taking *taking) {
  struct classic_runs *runs = taking->runs;
  struct span span = find_span(runs);
  bool do_meet = false;
  for (uint32_t i = 1; i < runs->point_count && !do_meet; i++)
    do_meet = runs->points[i].device == runs->points[i - 1].device &&
              runs->points[i].time_ns == runs->points[i - 1].time_ns;
  if (!do_meet || taking->model->op_nodes) return TFPROF_OK;
  enum tfprof_status status = TFPROF_OK;
  EACH_ROW(taking, TABLE_ops) {
    uint64_t place = segment->first_row + row;
    struct classic_run run = {.node = taking->op_nodes[place],
                              .launcher = NO_NODE,
                              .is_scheduling = true,
                              .place = (uint32_t)place,
                              .start_ns = time_of(taking, segment, COLUMN_ops_start_ns, row),
                              .dur_ns = integer(segment, COLUMN_ops_dur_ns, row, 0)};
    bool is_other = run.node != NO_NODE && integer(segment, COLUMN_ops_step_id, row, taking->step) != taking->step;
    if (status || !is_other || run.start_ns > span.last || classic_run_end(&run) < span.first) continue;
    status = append_run(taking, &runs->others, &runs->other_count, &taking->other_capacity, &run);
  }
  return status;
}

/* ---- life ---- */

static enum tfprof_status take_all_runs(struct taking *taking) {
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
  for (int which = 0; which < RUN_TABLES && !status; which++) status = take_runs(taking, which);
  if (!status) status = take_marks(taking);
  if (!status) status = order_runs(taking);
  if (!status) status = find_nodes_that_ran(taking);
  if (!status) status = take_allocations(taking);
  if (!status) status = take_points(taking);
  return status ? status : take_others(taking);
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
  if (!status) status = profile_list_all(taking.profile, error); /* it may have been refreshed */
  if (!status) status = take_all_runs(&taking);
  free(taking.rank);
  free(taking.lanes);
  free(taking.made_devices);
  free(taking.op_nodes);
  free(taking.op_runs);
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
  free(runs->has_run);
  free(runs->allocations);
  free(runs->points);
  free(runs->others);
  free(runs);
}
