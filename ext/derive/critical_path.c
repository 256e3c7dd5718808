/* critical_path.c: the table critical_path: for each step the longest chain of work and waiting.
**
** After HolisticTraceAnalysis' critical_path_analysis.py (a lightweight version of "Finding the critical path in GPU
** programs").  The nodes of a step's graph are the starts and ends of its ops, its calls of the device's interfaces and
** the kernels, copies and fills that these launched; its edges say how much time must pass from one to the other:
**
**   operator              on a host thread from one node to the next within an op or call, the time between them, which
**                         belongs to the innermost; nothing for a call that only waits for the device; on a stream from
**                         start to end of what runs
**   dependency            on a host thread between ops with none around them: no time
**   kernel_launch_delay   from the start of a call to what it launched, where the stream had nothing else to do
**   kernel_kernel_delay   from the end of what ran before on the stream to the start of the next, where the stream was
**                         busy and it is less than 1.5 ms
**   sync                  from the end of the last work that a call waits for to the end of the call, and from what a
**                         stream waits for to what it does next: no time
**
** The path is the one with the largest sum (longest_path.h).  Ops that autograd runs on the only thread of its own are
** taken as run by the thread of the step, which waits for them.  Events without length are left out.  A profile
** without steps has one path over everything.
*/
#include "derive/longest_path.h"
#include "derive/match.h"
#include "derive/passes.h"

#include <stdlib.h>
#include <string.h>

enum edge_type { OPERATOR, DEPENDENCY, LAUNCH_DELAY, KERNEL_DELAY, SYNC, EDGE_TYPES };
static const char *const edge_names[EDGE_TYPES] = {"operator", "dependency", "kernel_launch_delay",
                                                   "kernel_kernel_delay", "sync"};
enum source { OP, CALL, KERNEL, TRANSFER };
enum kind { CPU, GPU_COMPUTE, GPU_COMMUNICATION, GPU_MEMORY, GPU_LAUNCH, GPU_KERNEL, WAIT, KINDS };
static const char *const kind_names[KINDS] = {"cpu", "gpu_compute", "gpu_communication", "gpu_memory",
                                              "kernel_launch", "kernel_kernel", "dependency"};

struct event {
  uint32_t row, step, start_node, end_node;
  uint8_t source, is_waiting, is_communication;
  uint32_t call; /* of work on a device: index of its call among the events */
};

struct edge_info { int64_t start, end; uint32_t event; uint8_t type; };

struct list { struct lane_span *items; uint32_t count; }; /* row: index of event */

struct path_row { struct edge_info info; int64_t weight; uint32_t step; };

struct work {
  struct profile *profile;
  uint32_t step_count, thread_count; /* at least 1 step */
  struct event *events;
  uint32_t event_count;
  struct list host, device;   /* lane: step * threads + thread */
  uint32_t *event_of_call;    /* by row of api_calls */
  uint32_t *event_of_kernel;  /* by row of kernels */
  int64_t *call_starts;
  /* of the step that is worked on */
  struct path_edge *edges;
  struct edge_info *infos;
  uint32_t edge_count, edge_capacity, node_count;
  /* of all steps */
  struct path_row *rows;
  uint32_t row_count, row_capacity;
};

static bool add_edge(struct work *w, uint32_t from, uint32_t to, int64_t weight, struct edge_info info) {
  if (w->edge_count == w->edge_capacity) {
    uint32_t capacity = w->edge_capacity ? w->edge_capacity * 2 : 4096;
    struct path_edge *edges = realloc(w->edges, (size_t)capacity * sizeof *edges);
    if (edges) w->edges = edges;
    struct edge_info *infos = realloc(w->infos, (size_t)capacity * sizeof *infos);
    if (infos) w->infos = infos;
    if (!edges || !infos) return false;
    w->edge_capacity = capacity;
  }
  w->infos[w->edge_count] = info;
  w->edges[w->edge_count++] = (struct path_edge){from, to, weight > 0 ? weight : 0};
  return true;
}

/* ---- events ---- */

static bool is_waiting_call(const char *name) {
  static const char *const names[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery",
                                      "cudaEventSynchronize", "cudaMemcpy", "cudaMemcpyAsync",
                                      "hipDeviceSynchronize", "hipStreamSynchronize", "hipEventQuery",
                                      "hipEventSynchronize", "hipMemcpy", "hipMemcpyAsync"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  return false;
}

struct source_columns {
  int64_t *starts, *ends, *texts;
  uint32_t *threads, *steps, *calls;
  uint32_t rows;
};

static void source_free(struct source_columns *c) {
  free(c->starts);
  free(c->ends);
  free(c->texts);
  free(c->threads);
  free(c->steps);
  free(c->calls);
}

static enum tfprof_status source_load(const struct profile *profile, unsigned table, const uint16_t columns[6],
                                      struct source_columns *c, struct tfprof_error *error) {
  memset(c, 0, sizeof *c);
  enum tfprof_status status = derive_row_count(profile, table, &c->rows, error);
  if (!status) status = derive_all_integers(profile, table, columns[0], &c->starts, error);
  if (!status) status = derive_all_integers(profile, table, columns[1], &c->ends, error);
  if (!status) status = derive_all_references(profile, table, columns[2], &c->threads, error);
  if (!status) status = derive_all_integers(profile, table, columns[3], &c->texts, error);
  if (!status && columns[4]) status = derive_all_references(profile, table, columns[4], &c->steps, error);
  if (!status && columns[5]) status = derive_all_references(profile, table, columns[5], &c->calls, error);
  return status;
}

/* The step's number, 0 where a profile has none; NO_ROW: outside. */
static uint32_t step_of(const struct work *w, uint32_t step, bool has_steps) {
  if (!has_steps) return 0;
  return step < w->step_count ? step : NO_ROW;
}

/* The thread on which autograd alone runs, and the one that waits for it; false: they cannot be told. */
static bool find_autograd(const struct profile *profile, const struct source_columns *ops, uint32_t threads,
                          uint32_t *autograd, uint32_t *waiting) {
  string_id backward = derive_known_text(profile, "autograd"), op = derive_known_text(profile, "op");
  uint32_t *backwards = calloc((size_t)threads + 1, sizeof *backwards);
  uint32_t *others = calloc((size_t)threads + 1, sizeof *others);
  bool is_found = backwards && others;
  *autograd = *waiting = NO_ROW;
  for (uint32_t row = 0; row < ops->rows && is_found; row++) {
    if (ops->threads[row] == NO_ROW) continue;
    if (ops->texts[row] == backward) backwards[ops->threads[row]]++;
    else if (ops->texts[row] == op) others[ops->threads[row]]++;
  }
  for (uint32_t thread = 0; thread < threads && is_found; thread++) {
    if (backwards[thread]) {
      is_found = *autograd == NO_ROW;
      *autograd = thread;
    } else if (others[thread] && (*waiting == NO_ROW || others[thread] > others[*waiting])) {
      *waiting = thread;
    }
  }
  free(backwards);
  free(others);
  return is_found && *autograd != NO_ROW && *waiting != NO_ROW;
}

static enum tfprof_status collect_host(struct work *w, bool has_steps, struct tfprof_error *error) {
  static const uint16_t of_ops[6] = {COLUMN_ops_start_ns, COLUMN_ops_end_ns, COLUMN_ops_thread_id,
                                     COLUMN_ops_category, COLUMN_ops_step_id, 0};
  static const uint16_t of_calls[6] = {COLUMN_api_calls_start_ns, COLUMN_api_calls_end_ns, COLUMN_api_calls_thread_id,
                                       COLUMN_api_calls_name, COLUMN_api_calls_step_id, 0};
  const struct pool *pool = store_pool(w->profile->store);
  string_id wanted[] = {derive_known_text(w->profile, "op"), derive_known_text(w->profile, "autograd"),
                        derive_known_text(w->profile, "input")};
  struct source_columns ops = {0}, calls = {0};
  uint32_t autograd = NO_ROW, waiting = NO_ROW;
  enum tfprof_status status = source_load(w->profile, TABLE_ops, of_ops, &ops, error);
  if (!status) status = source_load(w->profile, TABLE_api_calls, of_calls, &calls, error);
  bool is_merged = !status && find_autograd(w->profile, &ops, w->thread_count, &autograd, &waiting);
  if (!status) {
    w->event_of_call = malloc(((size_t)calls.rows + 1) * sizeof *w->event_of_call);
    w->events = malloc(((size_t)ops.rows + calls.rows + 1) * sizeof *w->events);
    w->host.items = malloc(((size_t)ops.rows + calls.rows + 1) * sizeof *w->host.items);
    if (!w->event_of_call || !w->events || !w->host.items) status = error_no_memory(error);
  }
  for (unsigned source = OP; source <= CALL && !status; source++) {
    const struct source_columns *c = source == OP ? &ops : &calls;
    for (uint32_t row = 0; row < c->rows; row++) {
      if (source == CALL) w->event_of_call[row] = NO_ROW;
      uint32_t step = step_of(w, c->steps[row], has_steps), thread = c->threads[row];
      bool is_known = c->starts[row] != NO_VALUE && c->ends[row] != NO_VALUE && c->ends[row] > c->starts[row];
      if (!is_known || step == NO_ROW || thread == NO_ROW) continue;
      if (source == OP && c->texts[row] != wanted[0] && c->texts[row] != wanted[1] && c->texts[row] != wanted[2])
        continue;
      if (is_merged && thread == autograd) thread = waiting;
      const char *name = source == CALL && c->texts[row] != NO_VALUE ? pool_text(pool, (string_id)c->texts[row]) : NULL;
      w->host.items[w->host.count++] =
          (struct lane_span){c->starts[row], c->ends[row], step * w->thread_count + thread, w->event_count};
      if (source == CALL) w->event_of_call[row] = w->event_count;
      w->events[w->event_count++] = (struct event){.row = row, .step = step, .source = (uint8_t)source, .call = NO_ROW,
                                                   .is_waiting = name && is_waiting_call(name)};
    }
    status = derive_poll(w->profile, error);
  }
  w->call_starts = calls.starts;
  calls.starts = NULL;
  source_free(&ops);
  source_free(&calls);
  return status ? status : lane_span_sort(w->host.items, w->host.count, error);
}

static enum tfprof_status collect_device(struct work *w, struct tfprof_error *error) {
  static const uint16_t of_kernels[6] = {COLUMN_kernels_start_ns, COLUMN_kernels_end_ns, COLUMN_kernels_thread_id,
                                         COLUMN_kernels_kind, 0, COLUMN_kernels_api_call_id};
  static const uint16_t of_transfers[6] = {COLUMN_transfers_start_ns, COLUMN_transfers_end_ns,
                                           COLUMN_transfers_thread_id, COLUMN_transfers_kind, 0,
                                           COLUMN_transfers_api_call_id};
  string_id communication = derive_known_text(w->profile, "communication");
  struct source_columns kernels = {0}, transfers = {0};
  enum tfprof_status status = source_load(w->profile, TABLE_kernels, of_kernels, &kernels, error);
  if (!status) status = source_load(w->profile, TABLE_transfers, of_transfers, &transfers, error);
  size_t all = (size_t)kernels.rows + transfers.rows;
  struct event *grown = status ? NULL : realloc(w->events, (w->event_count + all + 1) * sizeof *grown);
  if (grown) w->events = grown;
  w->device.items = malloc((all + 1) * sizeof *w->device.items);
  w->event_of_kernel = malloc(((size_t)kernels.rows + 1) * sizeof *w->event_of_kernel);
  if (!status && (!grown || !w->device.items || !w->event_of_kernel)) status = error_no_memory(error);
  for (unsigned source = KERNEL; source <= TRANSFER && !status; source++) {
    const struct source_columns *c = source == KERNEL ? &kernels : &transfers;
    for (uint32_t row = 0; row < c->rows; row++) {
      if (source == KERNEL) w->event_of_kernel[row] = NO_ROW;
      uint32_t call = c->calls[row] == NO_ROW ? NO_ROW : w->event_of_call[c->calls[row]];
      bool is_known = c->starts[row] != NO_VALUE && c->ends[row] != NO_VALUE && c->ends[row] >= c->starts[row];
      if (!is_known || call == NO_ROW || c->threads[row] == NO_ROW) continue;
      uint32_t step = w->events[call].step, lane = step * w->thread_count + c->threads[row];
      w->device.items[w->device.count++] = (struct lane_span){c->starts[row], c->ends[row], lane, w->event_count};
      if (source == KERNEL) w->event_of_kernel[row] = w->event_count;
      w->events[w->event_count++] =
          (struct event){.row = row, .step = step, .source = (uint8_t)source, .call = call,
                         .is_communication = source == KERNEL && c->texts[row] == communication};
    }
    status = derive_poll(w->profile, error);
  }
  source_free(&kernels);
  source_free(&transfers);
  return status ? status : lane_span_sort(w->device.items, w->device.count, error);
}

/* ---- the graph of a step ---- */

/* One host thread: items first ... end - 1, sorted so that what encloses comes first. */
static bool add_host_lane(struct work *w, uint32_t first, uint32_t end, uint32_t *stack) {
  uint32_t depth = 0, last = NO_ROW;
  int64_t last_time = 0;
  for (uint32_t i = first; i <= end; i++) {
    while (depth && (i == end || w->host.items[stack[depth - 1]].end <= w->host.items[i].start)) {
      const struct lane_span *span = &w->host.items[stack[--depth]];
      struct event *event = &w->events[span->row];
      int64_t weight = event->is_waiting ? 0 : derive_difference(span->end, last_time);
      event->end_node = w->node_count++;
      if (!add_edge(w, last, event->end_node, weight, (struct edge_info){last_time, span->end, span->row, OPERATOR}))
        return false;
      last = event->end_node;
      last_time = span->end;
    }
    if (i == end) break;
    const struct lane_span *span = &w->host.items[i];
    struct event *event = &w->events[span->row];
    event->start_node = w->node_count++;
    if (last != NO_ROW) {
      uint32_t owner = depth ? w->host.items[stack[depth - 1]].row : NO_ROW;
      struct edge_info info = {last_time, span->start, owner, depth ? OPERATOR : DEPENDENCY};
      int64_t weight = depth ? derive_difference(span->start, last_time) : 0;
      if (!add_edge(w, last, event->start_node, weight, info)) return false;
    }
    last = event->start_node;
    last_time = span->start;
    stack[depth++] = i;
  }
  return true;
}

/* One stream. */
static bool add_device_lane(struct work *w, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    const struct lane_span *span = &w->device.items[i], *before = i > first ? span - 1 : NULL;
    const struct lane_span *next = i + 1 < end ? span + 1 : NULL;
    struct event *event = &w->events[span->row];
    const struct event *call = &w->events[event->call];
    int64_t launch = w->call_starts[call->row];
    event->start_node = w->node_count++;
    event->end_node = w->node_count++;
    if (!add_edge(w, event->start_node, event->end_node, derive_difference(span->end, span->start),
                  (struct edge_info){span->start, span->end, span->row, OPERATOR}))
      return false;
    bool was_idle = !before || (before->end <= launch && before->start <= launch);
    bool is_alone = !next || w->call_starts[w->events[w->events[next->row].call].row] > span->start;
    if (was_idle && is_alone) {
      if (!add_edge(w, call->start_node, event->start_node, derive_difference(span->start, launch),
                    (struct edge_info){launch, span->start, span->row, LAUNCH_DELAY}))
        return false;
    } else if (before && derive_difference(span->start, before->end) < 1500000) {
      if (!add_edge(w, w->events[before->row].end_node, event->start_node, derive_difference(span->start, before->end),
                    (struct edge_info){before->end, span->start, span->row, KERNEL_DELAY}))
        return false;
    }
  }
  return true;
}

/* The item of a lane that was launched last before the moment, counted from 1 beyond `first`; launches of a stream
** come in the order of its work. */
static uint32_t launched_before(const struct work *w, uint32_t first, uint32_t end, int64_t moment) {
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    if (w->call_starts[w->events[w->events[w->device.items[middle].row].call].row] < moment) first = middle + 1;
    else end = middle;
  }
  return first;
}

struct syncs {
  uint32_t *calls, *threads, *kernels, *devices, *lane_devices;
  int64_t *kinds;
  uint32_t *order, *first_of_step; /* rows by step */
  string_id stream, context, device, event, wait;
};

/* The lanes of a step: first[thread] ... first[thread + 1] are its items. */
static bool add_syncs(struct work *w, const struct syncs *s, uint32_t step, const uint32_t *first) {
  for (uint32_t i = s->first_of_step[step]; i < s->first_of_step[step + 1]; i++) {
    uint32_t row = s->order[i], call = w->event_of_call[s->calls[row]], thread = s->threads[row];
    int64_t moment = w->call_starts[s->calls[row]];
    uint32_t kernel = s->kernels[row] == NO_ROW ? NO_ROW : w->event_of_kernel[s->kernels[row]];
    bool is_of_step = kernel != NO_ROW && w->events[kernel].step == step;
    struct edge_info info = {moment, moment, call, SYNC};
    if (s->kinds[row] == s->stream || s->kinds[row] == s->context || s->kinds[row] == s->device) {
      for (uint32_t t = 0; t < w->thread_count; t++) {
        if (first[t] == first[t + 1] || (s->kinds[row] == s->stream && t != thread)) continue;
        if (s->kinds[row] != s->stream && s->devices[row] != NO_ROW && s->lane_devices[t] != s->devices[row]) continue;
        uint32_t after = launched_before(w, first[t], first[t + 1], moment);
        if (after == first[t]) continue;
        const struct lane_span *span = &w->device.items[after - 1];
        info.start = info.end = span->end;
        if (!add_edge(w, w->events[span->row].end_node, w->events[call].end_node, 0, info)) return false;
      }
    } else if (s->kinds[row] == s->event && is_of_step) {
      if (!add_edge(w, w->events[kernel].end_node, w->events[call].end_node, 0, info)) return false;
    } else if (s->kinds[row] == s->wait && is_of_step && thread != NO_ROW) {
      uint32_t next = launched_before(w, first[thread], first[thread + 1], moment);
      if (next == first[thread + 1] || w->device.items[next].row == kernel) continue;
      if (!add_edge(w, w->events[kernel].end_node, w->events[w->device.items[next].row].start_node, 0, info))
        return false;
    }
  }
  return true;
}

static bool add_row(struct work *w, uint32_t step, const struct edge_info *info, int64_t weight) {
  if (w->row_count == w->row_capacity) {
    uint32_t capacity = w->row_capacity ? w->row_capacity * 2 : 4096;
    struct path_row *rows = realloc(w->rows, (size_t)capacity * sizeof *rows);
    if (!rows) return false;
    w->rows = rows;
    w->row_capacity = capacity;
  }
  w->rows[w->row_count++] = (struct path_row){*info, weight, step};
  return true;
}

/* The lanes of a step among sorted items: first[thread], and one more. Advances *at past them. */
static void find_lanes(const struct list *list, uint32_t step, uint32_t threads, uint32_t *at, uint32_t *first) {
  for (uint32_t thread = 0; thread < threads; thread++) {
    first[thread] = *at;
    while (*at < list->count && list->items[*at].lane == step * threads + thread) ++*at;
  }
  first[threads] = *at;
}

static enum tfprof_status find_paths(struct work *w, const struct syncs *syncs, struct tfprof_error *error) {
  uint32_t host_at = 0, device_at = 0;
  uint32_t *hosts = malloc(((size_t)w->thread_count + 1) * sizeof *hosts);
  uint32_t *streams = malloc(((size_t)w->thread_count + 1) * sizeof *streams);
  uint32_t *stack = malloc(((size_t)w->host.count + 1) * sizeof *stack);
  uint32_t *path = malloc(((size_t)w->event_count * 2 + 1) * sizeof *path);
  enum tfprof_status status = hosts && streams && stack && path ? TFPROF_OK : error_no_memory(error);
  for (uint32_t step = 0; step < w->step_count && !status; step++) {
    find_lanes(&w->host, step, w->thread_count, &host_at, hosts);
    find_lanes(&w->device, step, w->thread_count, &device_at, streams);
    w->edge_count = w->node_count = 0;
    bool is_made = true;
    for (uint32_t thread = 0; thread < w->thread_count && is_made; thread++)
      is_made = add_host_lane(w, hosts[thread], hosts[thread + 1], stack);
    for (uint32_t thread = 0; thread < w->thread_count && is_made; thread++)
      is_made = add_device_lane(w, streams[thread], streams[thread + 1]);
    if (is_made) is_made = add_syncs(w, syncs, step, streams);
    if (!is_made) status = error_no_memory(error);
    uint32_t length = 0;
    if (!status) status = longest_path(w->edges, w->edge_count, w->node_count, path, &length, error);
    for (uint32_t i = 0; i < length && !status; i++) {
      if (!add_row(w, step, &w->infos[path[i]], w->edges[path[i]].weight)) status = error_no_memory(error);
    }
    if (!status) status = derive_poll(w->profile, error);
  }
  free(hosts);
  free(streams);
  free(stack);
  free(path);
  return status;
}

/* ---- rows ---- */

static enum kind kind_of(const struct work *w, const struct path_row *row) {
  if (row->info.type == LAUNCH_DELAY) return GPU_LAUNCH;
  if (row->info.type == KERNEL_DELAY) return GPU_KERNEL;
  if (row->info.type != OPERATOR) return WAIT;
  const struct event *event = &w->events[row->info.event];
  if (event->source <= CALL) return CPU;
  if (event->source == TRANSFER) return GPU_MEMORY;
  return event->is_communication ? GPU_COMMUNICATION : GPU_COMPUTE;
}

static enum tfprof_status set_columns(struct work *w, bool has_steps, struct tfprof_error *error) {
  static const struct { uint16_t column; uint8_t source; } sources[] = {
      {COLUMN_critical_path_api_call_id, CALL},
      {COLUMN_critical_path_kernel_id, KERNEL},
      {COLUMN_critical_path_transfer_id, TRANSFER}};
  uint32_t rows = w->row_count, *references = malloc(((size_t)rows + 1) * sizeof *references), *ops[3] = {NULL};
  int64_t *integers = malloc(((size_t)rows + 1) * sizeof *integers);
  string_id edges[EDGE_TYPES], kinds[KINDS];
  enum tfprof_status status = references && integers ? TFPROF_OK : error_no_memory(error);
  for (unsigned i = 0; i < EDGE_TYPES && !status; i++)
    status = derive_text(w->profile, edge_names[i], &edges[i], error);
  for (unsigned i = 0; i < KINDS && !status; i++) status = derive_text(w->profile, kind_names[i], &kinds[i], error);
  if (!status) status = derive_all_references(w->profile, TABLE_api_calls, COLUMN_api_calls_op_id, &ops[0], error);
  if (!status) status = derive_all_references(w->profile, TABLE_kernels, COLUMN_kernels_op_id, &ops[1], error);
  if (!status) status = derive_all_references(w->profile, TABLE_transfers, COLUMN_transfers_op_id, &ops[2], error);
  if (!status) status = derive_make_table(w->profile, TABLE_critical_path, rows, error);
#define SET(kind, column, array, expression) \
  for (uint32_t i = 0; i < rows && !status; i++) array[i] = (expression); \
  if (!status) status = derive_set_##kind(w->profile, TABLE_critical_path, COLUMN_critical_path_##column, array, error)
  SET(integers, position, integers, i && w->rows[i].step == w->rows[i - 1].step ? integers[i - 1] + 1 : 0);
  SET(references, step_id, references, has_steps ? w->rows[i].step : NO_ROW);
  SET(texts, kind, references, kinds[kind_of(w, &w->rows[i])]);
  SET(texts, edge, references, edges[w->rows[i].info.type]);
  SET(integers, start_ns, integers, w->rows[i].info.start);
  SET(integers, end_ns, integers, w->rows[i].info.end);
  SET(integers, dur_ns, integers, derive_difference(w->rows[i].info.end, w->rows[i].info.start));
  SET(integers, slack_ns, integers, derive_difference(integers[i], w->rows[i].weight));
#undef SET
  for (unsigned k = 0; k < 3 && !status; k++) {
    for (uint32_t i = 0; i < rows; i++) {
      const struct event *event = w->rows[i].info.event == NO_ROW ? NULL : &w->events[w->rows[i].info.event];
      references[i] = event && event->source == sources[k].source ? event->row : NO_ROW;
    }
    status = derive_set_references(w->profile, TABLE_critical_path, sources[k].column, references, error);
  }
  for (uint32_t i = 0; i < rows && !status; i++) {
    const struct event *event = w->rows[i].info.event == NO_ROW ? NULL : &w->events[w->rows[i].info.event];
    references[i] = !event ? NO_ROW : event->source == OP ? event->row : ops[event->source - CALL][event->row];
  }
  if (!status)
    status = derive_set_references(w->profile, TABLE_critical_path, COLUMN_critical_path_op_id, references, error);
  for (unsigned i = 0; i < 3; i++) free(ops[i]);
  free(references);
  free(integers);
  return status;
}

static enum tfprof_status load_syncs(struct work *w, struct syncs *s, struct tfprof_error *error) {
  uint32_t rows, calls;
  enum tfprof_status status = derive_row_count(w->profile, TABLE_syncs, &rows, error);
  if (!status) status = derive_row_count(w->profile, TABLE_api_calls, &calls, error);
  if (!status) status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_api_call_id, &s->calls, error);
  if (!status) status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_thread_id, &s->threads, error);
  if (!status) status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_device_id, &s->devices, error);
  if (!status)
    status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_waits_on_kernel_id, &s->kernels, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_syncs, COLUMN_syncs_kind, &s->kinds, error);
  if (!status)
    status = derive_all_references(w->profile, TABLE_threads, COLUMN_threads_device_id, &s->lane_devices, error);
  s->order = malloc(((size_t)rows + 1) * sizeof *s->order);
  s->first_of_step = calloc((size_t)w->step_count + 2, sizeof *s->first_of_step);
  if (!status && (!s->order || !s->first_of_step)) status = error_no_memory(error);
  if (status) return status;
  s->stream = derive_known_text(w->profile, "stream");
  s->context = derive_known_text(w->profile, "context");
  s->device = derive_known_text(w->profile, "device");
  s->event = derive_known_text(w->profile, "event");
  s->wait = derive_known_text(w->profile, "stream_wait");
  for (unsigned round = 0; round < 2; round++) {
    for (uint32_t row = 0; row < rows; row++) {
      uint32_t call = s->calls[row] == NO_ROW ? NO_ROW : w->event_of_call[s->calls[row]];
      if (call == NO_ROW) continue;
      uint32_t step = w->events[call].step;
      if (round == 0) s->first_of_step[step + 2]++;
      else s->order[s->first_of_step[step + 1]++] = row;
    }
    for (uint32_t step = 0; step < w->step_count && round == 0; step++)
      s->first_of_step[step + 2] += s->first_of_step[step + 1];
  }
  return TFPROF_OK;
}

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  struct work w = {.profile = profile};
  struct syncs syncs = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &w.step_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &w.thread_count, error);
  bool has_steps = w.step_count > 0;
  if (!has_steps) w.step_count = 1;
  if (status || !w.thread_count) return status;
  if ((uint64_t)w.step_count * w.thread_count >= NO_ROW)
    return error_set(error, TFPROF_LIMIT, "%u steps on %u threads are too many", w.step_count, w.thread_count);
  status = collect_host(&w, has_steps, error);
  if (!status) status = collect_device(&w, error);
  if (!status) status = load_syncs(&w, &syncs, error);
  if (!status) status = find_paths(&w, &syncs, error);
  if (!status && w.row_count) status = set_columns(&w, has_steps, error);
  free(syncs.calls);
  free(syncs.threads);
  free(syncs.kernels);
  free(syncs.devices);
  free(syncs.lane_devices);
  free(syncs.kinds);
  free(syncs.order);
  free(syncs.first_of_step);
  free(w.events);
  free(w.host.items);
  free(w.device.items);
  free(w.event_of_call);
  free(w.event_of_kernel);
  free(w.call_starts);
  free(w.edges);
  free(w.infos);
  free(w.rows);
  return status;
}

const struct derive_pass derive_critical_path = {
    .name = "critical path",
    .summary = "The longest path through each step's graph of ops, calls, kernels and waits, after HTA.",
    .makes_table = TABLE_critical_path,
    .reads = {{TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_threads, COLUMN_threads_device_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_thread_id},
              {TABLE_api_calls, COLUMN_api_calls_name},
              {TABLE_api_calls, COLUMN_api_calls_step_id},
              {TABLE_api_calls, COLUMN_api_calls_op_id},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_end_ns},
              {TABLE_kernels, COLUMN_kernels_thread_id},
              {TABLE_kernels, COLUMN_kernels_kind},
              {TABLE_kernels, COLUMN_kernels_api_call_id},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_transfers, COLUMN_transfers_start_ns},
              {TABLE_transfers, COLUMN_transfers_end_ns},
              {TABLE_transfers, COLUMN_transfers_thread_id},
              {TABLE_transfers, COLUMN_transfers_kind},
              {TABLE_transfers, COLUMN_transfers_api_call_id},
              {TABLE_transfers, COLUMN_transfers_op_id},
              {TABLE_syncs, COLUMN_syncs_kind},
              {TABLE_syncs, COLUMN_syncs_thread_id},
              {TABLE_syncs, COLUMN_syncs_device_id},
              {TABLE_syncs, COLUMN_syncs_api_call_id},
              {TABLE_syncs, COLUMN_syncs_waits_on_kernel_id}},
    .run = run,
};
