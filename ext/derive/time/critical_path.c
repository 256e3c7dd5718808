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
** without steps has one path over everything.  Where pieces of a path overlap, a moment counts for the first of them.
**
** What goes into the graphs is sorted by step once (counting sort of row numbers); then steps are independent, and done
** side by side, each with what it needs of its rows unpacked anew.
*/
#include "derive/time/longest_path.h"
#include "derive/match.h"
#include "derive/passes.h"
#include "store/parallel.h"

#include <stdatomic.h>
#include <string.h>

/* A stream on which kernels follow each other this closely is busy, as Holistic Trace Analysis has it. */
static const int64_t busy_gap_ns = 1500000;

enum edge_type { OPERATOR, DEPENDENCY, LAUNCH_DELAY, KERNEL_DELAY, SYNC, EDGE_TYPES };
/* The tables that events come from.  An event's number is that of its row, beyond those of the tables before. */
enum source { OP, CALL, KERNEL, TRANSFER, SOURCES };
enum kind { CPU, GPU_COMPUTE, GPU_COMMUNICATION, GPU_MEMORY, GPU_LAUNCH, GPU_KERNEL, WAIT, KINDS };
/* Names of edges, then of kinds. */
static const char *const edge_and_kind_names[EDGE_TYPES + KINDS + 1] = {
    "operator", "dependency", "kernel_launch_delay", "kernel_kernel_delay", "sync",
    "cpu", "gpu_compute", "gpu_communication", "gpu_memory", "kernel_launch", "kernel_kernel", "dependency", NULL};

struct source_columns { uint16_t table, start, end, thread, text, step, call; };
static const struct source_columns sources[SOURCES] = {
    {TABLE_ops, COLUMN_ops_start_ns, COLUMN_ops_end_ns, COLUMN_ops_thread_id, COLUMN_ops_category, COLUMN_ops_step_id,
     0},
    {TABLE_api_calls, COLUMN_api_calls_start_ns, COLUMN_api_calls_end_ns, COLUMN_api_calls_thread_id,
     COLUMN_api_calls_name, COLUMN_api_calls_step_id, 0},
    {TABLE_kernels, COLUMN_kernels_start_ns, COLUMN_kernels_end_ns, COLUMN_kernels_thread_id, COLUMN_kernels_kind, 0,
     COLUMN_kernels_api_call_id},
    {TABLE_transfers, COLUMN_transfers_start_ns, COLUMN_transfers_end_ns, COLUMN_transfers_thread_id,
     COLUMN_transfers_kind, 0, COLUMN_transfers_api_call_id}};

/* Numbers of events of the host, or of devices, by step: those of a step are first_of_step[step] ...
** first_of_step[step + 1]. */
struct list { uint32_t *events, *first_of_step; };

/* The events of one step. */
struct spans {
  struct lane_span *items; /* lane: row of threads; row: number of the event */
  uint32_t capacity;
};

struct call { int64_t start; uint32_t step, start_node, end_node; }; /* step NO_ROW: not an event */
struct work_of_device { uint32_t call, start_node, end_node; };       /* call NO_ROW: not an event */

struct syncs {
  uint32_t *calls, *threads, *kernels, *devices, *lane_devices;
  int64_t *kinds;
  uint32_t *order, *first_of_step; /* rows by step */
  string_id stream, context, device, event, wait;
};

/* What a path says of an edge: of its duration all counts, or nothing. */
struct edge_info { int64_t start, duration; uint32_t event; uint8_t type; bool is_slack; };

/* What works on one step after the other. */
struct path_worker {
  struct path_edge *edges;
  struct edge_info *infos;
  uint32_t edge_count, edge_capacity, node_count;
  uint32_t *stack, stack_capacity, *path, path_capacity;
  struct spans host, device;
  uint32_t *lanes; /* first items of host threads, then of streams */
  struct path_search search;
  struct edge_info *rows; /* of all its steps */
  uint32_t row_count, row_capacity;
};

struct work {
  struct profile *profile;
  uint32_t step_count, thread_count; /* at least 1 step */
  bool has_steps;
  uint32_t first_event[SOURCES + 1];
  string_id op_category, autograd_category, input_category; /* of the ops that are looked at */
  string_id communication;
  uint32_t autograd, waiting; /* threads; NO_ROW: they cannot be told */
  uint8_t *is_waiting;        /* by text: 1 a call of that name only waits, 2 it does not, 0 not known yet */
  struct list host, device;
  uint32_t *op_steps; /* NO_ROW: not an event */
  struct call *calls;
  struct work_of_device *works; /* kernels, then transfers */
  uint8_t *is_communication;    /* by row of kernels */
  uint8_t *is_waiting_call;     /* by row of api_calls */
  struct syncs syncs;
  struct path_worker workers[PARALLEL_MAXIMUM_WORKERS];
  struct step_path { uint32_t worker, first, count; } *paths; /* by step: rows of a worker */
  uint32_t *first_row;                                        /* by step, and one more */
  uint32_t *call_ops, *kernel_ops, *transfer_ops;
  string_id names[EDGE_TYPES + KINDS];
  atomic_int failure; /* an enum tfprof_status */
};

/* `end` is where the edge's time ends; its weight is that or nothing. */
static bool add_edge(struct path_worker *p, uint32_t from, uint32_t to, bool has_weight, int64_t start, int64_t end,
                     uint32_t event, enum edge_type type) {
  if (p->edge_count == p->edge_capacity) {
    uint32_t capacity = p->edge_capacity ? p->edge_capacity * 2 : 4096;
    struct path_edge *edges = scratch_resize(p->edges, (size_t)capacity * sizeof *edges);
    if (edges) p->edges = edges;
    struct edge_info *infos = scratch_resize(p->infos, (size_t)capacity * sizeof *infos);
    if (infos) p->infos = infos;
    if (!edges || !infos) return false;
    p->edge_capacity = capacity;
  }
  int64_t duration = derive_difference(end, start);
  has_weight &= duration > 0;
  p->infos[p->edge_count] = (struct edge_info){start, duration, event, (uint8_t)type, !has_weight};
  p->edges[p->edge_count++] = (struct path_edge){from, to, has_weight ? duration : 0};
  return true;
}

/* ---- events ---- */

static bool is_waiting_name(const char *name) {
  static const char *const names[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery",
                                      "cudaEventSynchronize", "cudaMemcpy", "cudaMemcpyAsync",
                                      "hipDeviceSynchronize", "hipStreamSynchronize", "hipEventQuery",
                                      "hipEventSynchronize", "hipMemcpy", "hipMemcpyAsync"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  return false;
}

static bool is_waiting_call(struct work *w, string_id name) {
  if (!name) return false;
  uint8_t *known = &w->is_waiting[name];
  if (!*known) *known = is_waiting_name(pool_text(store_pool(w->profile->store), name)) ? 1 : 2;
  return *known == 1;
}

/* The thread on which autograd alone runs, and the one that waits for it. */
static void find_autograd(struct work *w, const uint32_t *backwards, const uint32_t *others) {
  w->autograd = w->waiting = NO_ROW;
  for (uint32_t thread = 0; thread < w->thread_count; thread++) {
    if (backwards[thread]) {
      if (w->autograd != NO_ROW) {
        w->autograd = NO_ROW;
        return;
      }
      w->autograd = thread;
    } else if (others[thread] && (w->waiting == NO_ROW || others[thread] > others[w->waiting])) {
      w->waiting = thread;
    }
  }
  if (w->waiting == NO_ROW) w->autograd = NO_ROW;
}

/* A block of rows of one source. */
struct block {
  uint32_t row, count; /* number of the first row */
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
  uint32_t threads[ROWS_BLOCK], steps[ROWS_BLOCK], calls[ROWS_BLOCK];
  string_id texts[ROWS_BLOCK];
};

static void read_path_block(const struct work *w, enum source source, const struct segment *segment, uint32_t first,
                            struct block *b) {
  const struct source_columns *c = &sources[source];
  b->row = (uint32_t)segment->first_row + first;
  b->count = derive_block_rows(segment, first);
  derive_integers(segment->columns[c->start], first, b->count, b->starts);
  derive_integers(segment->columns[c->end], first, b->count, b->ends);
  derive_references(segment->columns[c->thread], first, b->count, w->thread_count, b->threads);
  derive_texts(segment->columns[c->text], first, b->count, b->texts);
  if (c->step) derive_references(segment->columns[c->step], first, b->count, w->step_count, b->steps);
  if (c->call) {
    uint32_t calls = w->first_event[CALL + 1] - w->first_event[CALL];
    derive_references(segment->columns[c->call], first, b->count, calls, b->calls);
  }
}

/* The step of a row of the host, NO_ROW: it is no event. */
static uint32_t step_of_host(const struct work *w, enum source source, const struct block *b, uint32_t i) {
  uint32_t step = w->has_steps ? b->steps[i] : 0;
  bool is_known = b->starts[i] != NO_VALUE && b->ends[i] != NO_VALUE && b->ends[i] > b->starts[i];
  if (!is_known || b->threads[i] == NO_ROW) return NO_ROW;
  if (source == OP && b->texts[i] != w->op_category && b->texts[i] != w->autograd_category &&
      b->texts[i] != w->input_category)
    return NO_ROW;
  return step;
}

static uint32_t step_of_device(const struct work *w, const struct block *b, uint32_t i) {
  bool is_known = b->starts[i] != NO_VALUE && b->ends[i] != NO_VALUE && b->ends[i] >= b->starts[i];
  return is_known && b->calls[i] != NO_ROW && b->threads[i] != NO_ROW ? w->calls[b->calls[i]].step : NO_ROW;
}

/* The first round: how many events each step has. first_of_step[step + 1] counts. */
static void count_block(struct work *w, enum source source, const struct block *b, uint32_t *backwards,
                        uint32_t *others) {
  uint32_t *counts = (source <= CALL ? w->host : w->device).first_of_step + 1;
  for (uint32_t i = 0; i < b->count; i++) {
    uint32_t row = b->row + i;
    uint32_t step = source <= CALL ? step_of_host(w, source, b, i) : step_of_device(w, b, i);
    if (source == OP) w->op_steps[row] = step;
    if (source == OP && b->threads[i] != NO_ROW) {
      if (b->texts[i] == w->autograd_category) backwards[b->threads[i]]++;
      else if (b->texts[i] == w->op_category) others[b->threads[i]]++;
    } else if (source == CALL) {
      w->calls[row] = (struct call){b->starts[i], step, NO_ROW, NO_ROW};
      w->is_waiting_call[row] = is_waiting_call(w, b->texts[i]);
    } else if (source >= KERNEL) {
      w->works[w->first_event[source] - w->first_event[KERNEL] + row].call = step == NO_ROW ? NO_ROW : b->calls[i];
      if (source == KERNEL) w->is_communication[row] = b->texts[i] == w->communication;
    }
    if (step != NO_ROW) counts[step]++;
  }
}

/* The second round: into their places. */
static void place(struct work *w, enum source source) {
  struct list *list = source <= CALL ? &w->host : &w->device;
  uint32_t first = w->first_event[source], rows = w->first_event[source + 1] - first;
  const struct work_of_device *works = w->works + (source >= KERNEL ? first - w->first_event[KERNEL] : 0);
  for (uint32_t row = 0; row < rows; row++) {
    uint32_t step = NO_ROW;
    if (source == OP) step = w->op_steps[row];
    else if (source == CALL) step = w->calls[row].step;
    else if (works[row].call != NO_ROW) step = w->calls[works[row].call].step;
    if (step != NO_ROW) list->events[list->first_of_step[step]++] = first + row;
  }
}

static enum tfprof_status count_events(struct work *w, enum source source, struct block *b, uint32_t *backwards,
                                       uint32_t *others, struct tfprof_error *error) {
  const struct profile_table *content = &w->profile->tables[sources[source].table];
  enum tfprof_status status = TFPROF_OK;
  for (size_t s = 0; s < content->segment_count && !status; s++) {
    for (uint32_t first = 0; first < content->segments[s]->rows && !status; first += ROWS_BLOCK) {
      read_path_block(w, source, content->segments[s], first, b);
      count_block(w, source, b, backwards, others);
      status = derive_poll(w->profile, error);
    }
  }
  return status;
}

/* first_of_step becomes where the events of each step begin; returns the number of all. */
static uint32_t sum_up(uint32_t *first_of_step, uint32_t steps) {
  for (uint32_t step = 0; step < steps; step++) first_of_step[step + 1] += first_of_step[step];
  return first_of_step[steps];
}

static bool make_list(struct list *list, uint32_t steps) {
  list->events = scratch_allocate(((size_t)sum_up(list->first_of_step, steps) + 1) * sizeof *list->events);
  return list->events;
}

/* Having placed all, each step's beginning is that of the next. */
static void mend_list(struct list *list, uint32_t steps) {
  memmove(list->first_of_step + 1, list->first_of_step, (size_t)steps * sizeof *list->first_of_step);
  list->first_of_step[0] = 0;
}

static enum tfprof_status collect_path_rows(struct work *w, struct tfprof_error *error) {
  struct block *b = scratch_allocate(sizeof *b);
  uint32_t *counts = scratch_allocate_zeroed((size_t)w->thread_count * 2, sizeof *counts);
  enum tfprof_status status = b && counts ? TFPROF_OK : error_no_memory(error);
  for (int source = OP; source < SOURCES && !status; source++)
    status = count_events(w, (enum source)source, b, counts, counts + w->thread_count, error);
  if (!status) find_autograd(w, counts, counts + w->thread_count);
  if (!status && (!make_list(&w->host, w->step_count) || !make_list(&w->device, w->step_count)))
    status = error_no_memory(error);
  for (int source = OP; source < SOURCES && !status; source++) place(w, (enum source)source);
  mend_list(&w->host, w->step_count);
  mend_list(&w->device, w->step_count);
  scratch_free(b);
  scratch_free(counts);
  return status;
}

/* ---- the graph of a step ---- */

static struct call *call_of_work(const struct work *w, uint32_t event) {
  return &w->calls[w->works[event - w->first_event[KERNEL]].call];
}

/* One host thread: items first ... end - 1, sorted so that what encloses comes first. */
static bool add_host_lane(struct work *w, struct path_worker *p, uint32_t first, uint32_t end) {
  uint32_t depth = 0, last = NO_ROW, *stack = p->stack;
  const struct lane_span *items = p->host.items;
  int64_t last_time = 0;
  for (uint32_t i = first; i <= end; i++) {
    while (depth && (i == end || items[stack[depth - 1]].end <= items[i].start)) {
      const struct lane_span *span = &items[stack[--depth]];
      bool is_call = span->row >= w->first_event[CALL];
      uint32_t call = span->row - w->first_event[CALL], node = p->node_count++;
      bool has_weight = !(is_call && w->is_waiting_call[call]);
      if (is_call) w->calls[call].end_node = node;
      if (!add_edge(p, last, node, has_weight, last_time, span->end, span->row, OPERATOR)) return false;
      last = node;
      last_time = span->end;
    }
    if (i == end) break;
    const struct lane_span *span = &items[i];
    uint32_t node = p->node_count++;
    if (span->row >= w->first_event[CALL]) w->calls[span->row - w->first_event[CALL]].start_node = node;
    if (last != NO_ROW) {
      uint32_t owner = depth ? items[stack[depth - 1]].row : NO_ROW;
      if (!add_edge(p, last, node, depth, last_time, span->start, owner, depth ? OPERATOR : DEPENDENCY)) return false;
    }
    last = node;
    last_time = span->start;
    stack[depth++] = i;
  }
  return true;
}

/* One stream. */
static bool add_device_lane(struct work *w, struct path_worker *p, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    const struct lane_span *span = &p->device.items[i], *before = i > first ? span - 1 : NULL;
    const struct lane_span *next = i + 1 < end ? span + 1 : NULL;
    struct work_of_device *work = &w->works[span->row - w->first_event[KERNEL]];
    const struct call *call = &w->calls[work->call];
    work->start_node = p->node_count++;
    work->end_node = p->node_count++;
    if (!add_edge(p, work->start_node, work->end_node, true, span->start, span->end, span->row, OPERATOR)) return false;
    bool was_idle = !before || (before->end <= call->start && before->start <= call->start);
    bool is_alone = !next || call_of_work(w, next->row)->start > span->start;
    if (was_idle && is_alone) {
      if (!add_edge(p, call->start_node, work->start_node, true, call->start, span->start, span->row, LAUNCH_DELAY))
        return false;
    } else if (before && derive_difference(span->start, before->end) < busy_gap_ns) {
      if (!add_edge(p, work->start_node - 1, work->start_node, true, before->end, span->start, span->row, KERNEL_DELAY))
        return false;
    }
  }
  return true;
}

/* The item of a lane that was launched last before the moment, counted from 1 beyond `first`; launches of a stream
** come in the order of its work. */
static uint32_t launched_before(const struct work *w, const struct path_worker *p, uint32_t first, uint32_t end,
                                int64_t moment) {
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    if (call_of_work(w, p->device.items[middle].row)->start < moment) first = middle + 1;
    else end = middle;
  }
  return first;
}

/* first[thread] ... first[thread + 1] are the items of a stream. */
static bool add_syncs(struct work *w, struct path_worker *p, uint32_t step, const uint32_t *first) {
  const struct syncs *s = &w->syncs;
  for (uint32_t i = s->first_of_step[step]; i < s->first_of_step[step + 1]; i++) {
    uint32_t row = s->order[i], thread = s->threads[row];
    const struct call *call = &w->calls[s->calls[row]];
    const struct work_of_device *kernel = s->kernels[row] == NO_ROW ? NULL : &w->works[s->kernels[row]];
    bool is_of_step = kernel && kernel->call != NO_ROW && w->calls[kernel->call].step == step;
    uint32_t event = w->first_event[CALL] + s->calls[row];
    if (s->kinds[row] == s->stream || s->kinds[row] == s->context || s->kinds[row] == s->device) {
      for (uint32_t t = 0; t < w->thread_count; t++) {
        if (first[t] == first[t + 1] || (s->kinds[row] == s->stream && t != thread)) continue;
        if (s->kinds[row] != s->stream && s->devices[row] != NO_ROW && s->lane_devices[t] != s->devices[row]) continue;
        uint32_t after = launched_before(w, p, first[t], first[t + 1], call->start);
        if (after == first[t]) continue;
        const struct lane_span *span = &p->device.items[after - 1];
        uint32_t from = w->works[span->row - w->first_event[KERNEL]].end_node;
        if (!add_edge(p, from, call->end_node, false, span->end, span->end, event, SYNC)) return false;
      }
    } else if (s->kinds[row] == s->event && is_of_step) {
      if (!add_edge(p, kernel->end_node, call->end_node, false, call->start, call->start, event, SYNC)) return false;
    } else if (s->kinds[row] == s->wait && is_of_step && thread != NO_ROW) {
      uint32_t next = launched_before(w, p, first[thread], first[thread + 1], call->start);
      if (next == first[thread + 1]) continue;
      const struct work_of_device *work = &w->works[p->device.items[next].row - w->first_event[KERNEL]];
      if (work != kernel &&
          !add_edge(p, kernel->end_node, work->start_node, false, call->start, call->start, event, SYNC))
        return false;
    }
  }
  return true;
}

/* ---- paths ---- */

static enum source source_of(const struct work *w, uint32_t event) {
  if (event < w->first_event[KERNEL]) return event < w->first_event[CALL] ? OP : CALL;
  return event < w->first_event[TRANSFER] ? KERNEL : TRANSFER;
}

/* Unpacks `count` events that follow each other in a segment. */
static void unpack_spans(const struct work *w, enum source source, const struct segment *segment, uint32_t first,
                         uint32_t count, struct lane_span *out) {
  const struct source_columns *c = &sources[source];
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
  uint32_t threads[ROWS_BLOCK], event = w->first_event[source] + (uint32_t)segment->first_row + first;
  derive_integers(segment->columns[c->start], first, count, starts);
  derive_integers(segment->columns[c->end], first, count, ends);
  derive_references(segment->columns[c->thread], first, count, w->thread_count, threads);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t thread = source <= CALL && threads[i] == w->autograd ? w->waiting : threads[i];
    out[i] = (struct lane_span){starts[i], ends[i], thread, event + i};
  }
}

/* The events of a step, sorted by thread and start. first[thread], and one more, become where each thread's are. */
static bool find_lanes(const struct work *w, const struct list *list, uint32_t step, struct spans *spans,
                       uint32_t *first) {
  struct tfprof_error error = {0};
  const uint32_t *events = list->events + list->first_of_step[step];
  uint32_t count = list->first_of_step[step + 1] - list->first_of_step[step], at = 0;
  size_t hints[SOURCES] = {0};
  if (count > spans->capacity || !spans->items) {
    scratch_free(spans->items);
    spans->capacity = count + count / 2 + 1;
    spans->items = scratch_allocate((size_t)spans->capacity * sizeof *spans->items);
    if (!spans->items) return false;
  }
  for (uint32_t i = 0, run; i < count; i += run) {
    enum source source = source_of(w, events[i]);
    uint32_t row = events[i] - w->first_event[source];
    const struct segment *segment = derive_segment_of(&w->profile->tables[sources[source].table], row, &hints[source]);
    if (!segment) return false;
    uint32_t in_segment = row - (uint32_t)segment->first_row, most = segment->rows - in_segment;
    if (most > count - i) most = count - i;
    if (most > ROWS_BLOCK) most = ROWS_BLOCK;
    for (run = 1; run < most && events[i + run] == events[i] + run;) run++;
    unpack_spans(w, source, segment, in_segment, run, spans->items + i);
  }
  if (lane_span_sort(spans->items, count, &error)) return false;
  for (uint32_t thread = 0; thread < w->thread_count; thread++) {
    first[thread] = at;
    while (at < count && spans->items[at].lane == thread) at++;
  }
  first[w->thread_count] = count;
  return true;
}

/* Room for `count` numbers. */
static bool reserve_numbers(uint32_t **numbers, uint32_t *capacity, size_t count) {
  if (*numbers && count <= *capacity) return true;
  scratch_free(*numbers);
  *capacity = (uint32_t)(count + count / 2 + 1);
  *numbers = scratch_allocate((size_t)*capacity * sizeof **numbers);
  return *numbers;
}

static bool make_graph(struct work *w, struct path_worker *p, uint32_t step) {
  uint32_t threads = w->thread_count, hosts = w->host.first_of_step[step + 1] - w->host.first_of_step[step];
  if (!p->lanes) p->lanes = scratch_allocate(((size_t)threads + 1) * 2 * sizeof *p->lanes);
  if (!p->lanes || !reserve_numbers(&p->stack, &p->stack_capacity, hosts)) return false;
  uint32_t *streams = p->lanes + threads + 1;
  p->edge_count = p->node_count = 0;
  if (!find_lanes(w, &w->host, step, &p->host, p->lanes)) return false;
  if (!find_lanes(w, &w->device, step, &p->device, streams)) return false;
  for (uint32_t thread = 0; thread < threads; thread++) {
    if (!add_host_lane(w, p, p->lanes[thread], p->lanes[thread + 1])) return false;
  }
  for (uint32_t thread = 0; thread < threads; thread++) {
    if (!add_device_lane(w, p, streams[thread], streams[thread + 1])) return false;
  }
  return add_syncs(w, p, step, streams);
}

/* Of pieces that overlap - ops that cross each other, kernels that begin before the one before ends - each moment
** counts for the first: no piece lasts less than no time, and all together no longer than from the first to the end.
*/
static bool add_rows(struct path_worker *p, const uint32_t *path, uint32_t length) {
  if (p->row_capacity - p->row_count < length) {
    uint32_t capacity = p->row_capacity * 2 + length;
    struct edge_info *rows = scratch_resize(p->rows, (size_t)capacity * sizeof *rows);
    if (!rows) return false;
    p->rows = rows;
    p->row_capacity = capacity;
  }
  int64_t until = INT64_MIN;
  for (uint32_t i = 0; i < length; i++) {
    struct edge_info row = p->infos[path[i]];
    if (row.duration) {
      int64_t end = row.start + row.duration, start = row.start > until ? row.start : until;
      row.start = start < end ? start : row.start < end ? row.start : end;
      row.duration = start < end ? derive_difference(end, start) : 0;
      if (end > until) until = end;
    }
    p->rows[p->row_count++] = row;
  }
  return true;
}

static void find_path(void *context, size_t step, unsigned worker) {
  struct work *w = context;
  struct path_worker *p = &w->workers[worker];
  uint32_t length = 0;
  if (store_interrupted(w->profile->store)) atomic_store(&w->failure, TFPROF_INTERRUPTED);
  if (atomic_load(&w->failure)) return;
  bool is_found = make_graph(w, p, (uint32_t)step) && reserve_numbers(&p->path, &p->path_capacity, p->node_count) &&
                  longest_path(&p->search, p->edges, p->edge_count, p->node_count, p->path, &length);
  w->paths[step] = (struct step_path){worker, p->row_count, length};
  if (!is_found || !add_rows(p, p->path, length)) atomic_store(&w->failure, TFPROF_NO_MEMORY);
}

/* ---- rows ---- */

static enum kind kind_of_edge(const struct work *w, const struct edge_info *row) {
  if (row->type == LAUNCH_DELAY) return GPU_LAUNCH;
  if (row->type == KERNEL_DELAY) return GPU_KERNEL;
  if (row->type != OPERATOR) return WAIT;
  enum source source = source_of(w, row->event);
  if (source <= CALL) return CPU;
  if (source == TRANSFER) return GPU_MEMORY;
  return w->is_communication[row->event - w->first_event[KERNEL]] ? GPU_COMMUNICATION : GPU_COMPUTE;
}

static uint32_t row_of(const struct work *w, uint32_t event, enum source source) {
  return event != NO_ROW && source_of(w, event) == source ? event - w->first_event[source] : NO_ROW;
}

static uint32_t op_of(const struct work *w, uint32_t event) {
  if (event == NO_ROW) return NO_ROW;
  enum source source = source_of(w, event);
  uint32_t row = event - w->first_event[source];
  return source == OP ? row : (source == CALL ? w->call_ops : source == KERNEL ? w->kernel_ops : w->transfer_ops)[row];
}

/* The step that holds a row of the table. */
static uint32_t step_of_row(const struct work *w, uint32_t row) {
  uint32_t low = 0, high = w->step_count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (w->first_row[middle] <= row) low = middle;
    else high = middle;
  }
  return low;
}

/* Functions for derive_fill_table(): `row`, its `step` and its `position` in the path are there for the expression. */
#define FILL(name, type, expression) \
  static void fill_##name(const void *context, uint32_t first, uint32_t count, void *out) { \
    const struct work *w = context; \
    type *values = out; \
    uint32_t step = step_of_row(w, first), position = first - w->first_row[step]; \
    for (uint32_t i = 0; i < count; step++, position = 0) { \
      const struct edge_info *rows = w->workers[w->paths[step].worker].rows + w->paths[step].first; \
      for (; i < count && position < w->paths[step].count; i++, position++) { \
        const struct edge_info *row = &rows[position]; \
        (void)row; \
        values[i] = (expression); \
      } \
    } \
  }
FILL(position, int64_t, position)
FILL(step, uint32_t, w->has_steps ? step : NO_ROW)
FILL(kind, string_id, w->names[EDGE_TYPES + kind_of_edge(w, row)])
FILL(edge, string_id, w->names[row->type])
FILL(start, int64_t, row->start)
FILL(duration, int64_t, row->duration)
FILL(slack, int64_t, row->is_slack ? row->duration : 0)
FILL(call, uint32_t, row_of(w, row->event, CALL))
FILL(kernel, uint32_t, row_of(w, row->event, KERNEL))
FILL(transfer, uint32_t, row_of(w, row->event, TRANSFER))
FILL(op, uint32_t, op_of(w, row->event))
#undef FILL

static enum tfprof_status make_rows(struct work *w, struct tfprof_error *error) {
  static const struct made_column columns[] = {
      {COLUMN_critical_path_position, MADE_INTEGERS, fill_position, 0, 0},
      {COLUMN_critical_path_step_id, MADE_REFERENCES, fill_step, 0, 0},
      {COLUMN_critical_path_kind, MADE_TEXTS, fill_kind, 0, 0},
      {COLUMN_critical_path_edge, MADE_TEXTS, fill_edge, 0, 0},
      {COLUMN_critical_path_start_ns, MADE_INTEGERS, fill_start, 0, 0},
      {COLUMN_critical_path_dur_ns, MADE_INTEGERS, fill_duration, 0, 0},
      {COLUMN_critical_path_end_ns, MADE_SUM, NULL, COLUMN_critical_path_start_ns, COLUMN_critical_path_dur_ns},
      {COLUMN_critical_path_slack_ns, MADE_INTEGERS, fill_slack, 0, 0},
      {COLUMN_critical_path_api_call_id, MADE_REFERENCES, fill_call, 0, 0},
      {COLUMN_critical_path_kernel_id, MADE_REFERENCES, fill_kernel, 0, 0},
      {COLUMN_critical_path_transfer_id, MADE_REFERENCES, fill_transfer, 0, 0},
      {COLUMN_critical_path_op_id, MADE_REFERENCES, fill_op, 0, 0}};
  struct profile *profile = w->profile;
  uint64_t rows = 0;
  for (uint32_t step = 0; step < w->step_count; step++) {
    w->first_row[step] = (uint32_t)rows;
    rows += w->paths[step].count;
    if (rows >= NO_ROW) return error_set(error, TFPROF_LIMIT, "the critical paths are too long for one table");
  }
  w->first_row[w->step_count] = (uint32_t)rows;
  if (!rows) return TFPROF_OK;
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < EDGE_TYPES + KINDS && !status; i++)
    status = derive_text(profile, edge_and_kind_names[i], &w->names[i], error);
  if (!status) status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, &w->call_ops, error);
  if (!status) status = derive_all_references(profile, TABLE_kernels, COLUMN_kernels_op_id, &w->kernel_ops, error);
  if (!status)
    status = derive_all_references(profile, TABLE_transfers, COLUMN_transfers_op_id, &w->transfer_ops, error);
  if (!status) status = derive_make_table(profile, TABLE_critical_path, (uint32_t)rows, error);
  if (!status)
    status = derive_fill_table(profile, TABLE_critical_path, columns, sizeof columns / sizeof *columns, w, error);
  return status;
}

static enum tfprof_status load_syncs(struct work *w, struct tfprof_error *error) {
  struct syncs *s = &w->syncs;
  uint32_t rows;
  enum tfprof_status status = derive_row_count(w->profile, TABLE_syncs, &rows, error);
  if (!status) status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_api_call_id, &s->calls, error);
  if (!status) status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_thread_id, &s->threads, error);
  if (!status) status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_device_id, &s->devices, error);
  if (!status)
    status = derive_all_references(w->profile, TABLE_syncs, COLUMN_syncs_waits_on_kernel_id, &s->kernels, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_syncs, COLUMN_syncs_kind, &s->kinds, error);
  if (!status)
    status = derive_all_references(w->profile, TABLE_threads, COLUMN_threads_device_id, &s->lane_devices, error);
  s->order = scratch_allocate(((size_t)rows + 1) * sizeof *s->order);
  s->first_of_step = scratch_allocate_zeroed((size_t)w->step_count + 2, sizeof *s->first_of_step);
  if (!status && (!s->order || !s->first_of_step)) status = error_no_memory(error);
  if (status) return status;
  s->stream = derive_known_text(w->profile, "stream");
  s->context = derive_known_text(w->profile, "context");
  s->device = derive_known_text(w->profile, "device");
  s->event = derive_known_text(w->profile, "event");
  s->wait = derive_known_text(w->profile, "stream_wait");
  for (unsigned round = 0; round < 2; round++) {
    for (uint32_t row = 0; row < rows; row++) {
      uint32_t step = s->calls[row] == NO_ROW ? NO_ROW : w->calls[s->calls[row]].step;
      if (step == NO_ROW) continue;
      if (round == 0) s->first_of_step[step + 2]++;
      else s->order[s->first_of_step[step + 1]++] = row;
    }
    for (uint32_t step = 0; step < w->step_count && round == 0; step++)
      s->first_of_step[step + 2] += s->first_of_step[step + 1];
  }
  return TFPROF_OK;
}

/* Numbers of events, and the arrays by row. */
static enum tfprof_status begin_path(struct work *w, struct tfprof_error *error) {
  uint64_t events = 0;
  for (unsigned source = OP; source < SOURCES; source++) {
    w->first_event[source] = (uint32_t)events;
    events += w->profile->tables[sources[source].table].rows;
    if (events >= NO_ROW) return error_set(error, TFPROF_LIMIT, "too many ops, calls and kernels for critical paths");
  }
  w->first_event[SOURCES] = (uint32_t)events;
  w->op_category = derive_known_text(w->profile, "op");
  w->autograd_category = derive_known_text(w->profile, "autograd");
  w->input_category = derive_known_text(w->profile, "input");
  w->communication = derive_known_text(w->profile, "communication");
  size_t calls = w->first_event[KERNEL] - w->first_event[CALL], works = events - w->first_event[KERNEL];
  w->calls = scratch_allocate((calls + 1) * sizeof *w->calls);
  w->works = scratch_allocate((works + 1) * sizeof *w->works);
  w->op_steps = scratch_allocate(((size_t)w->first_event[CALL] + 1) * sizeof *w->op_steps);
  for (size_t i = 0; i < calls && w->calls; i++) w->calls[i].step = NO_ROW;
  for (size_t i = 0; i < works && w->works; i++) w->works[i].call = NO_ROW;
  for (size_t i = 0; i < w->first_event[CALL] && w->op_steps; i++) w->op_steps[i] = NO_ROW;
  w->is_waiting = scratch_allocate_zeroed((size_t)pool_count(store_pool(w->profile->store)) + 1, 1);
  w->is_waiting_call = scratch_allocate_zeroed(calls + 1, 1);
  w->is_communication = scratch_allocate_zeroed(works + 1, 1);
  w->host.first_of_step = scratch_allocate_zeroed((size_t)w->step_count + 1, sizeof *w->host.first_of_step);
  w->device.first_of_step = scratch_allocate_zeroed((size_t)w->step_count + 1, sizeof *w->device.first_of_step);
  w->paths = scratch_allocate_zeroed((size_t)w->step_count + 1, sizeof *w->paths);
  w->first_row = scratch_allocate(((size_t)w->step_count + 1) * sizeof *w->first_row);
  bool has_all = w->op_steps && w->calls && w->works && w->is_waiting && w->is_waiting_call && w->is_communication;
  has_all = has_all && w->paths && w->host.first_of_step && w->device.first_of_step && w->first_row;
  return has_all ? TFPROF_OK : error_no_memory(error);
}

static void end(struct work *w) {
  void *pieces[] = {w->op_steps, w->calls, w->works, w->is_waiting, w->is_waiting_call, w->is_communication,
                    w->host.events, w->host.first_of_step, w->device.events, w->device.first_of_step, w->paths,
                    w->first_row, w->call_ops, w->kernel_ops, w->transfer_ops, w->syncs.calls, w->syncs.threads,
                    w->syncs.kernels, w->syncs.devices, w->syncs.lane_devices, w->syncs.kinds, w->syncs.order,
                    w->syncs.first_of_step};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) scratch_free(pieces[i]);
  for (unsigned i = 0; i < PARALLEL_MAXIMUM_WORKERS; i++) {
    struct path_worker *p = &w->workers[i];
    void *of_worker[] = {p->edges, p->infos, p->stack, p->path, p->lanes, p->rows, p->host.items, p->device.items};
    for (size_t k = 0; k < sizeof of_worker / sizeof *of_worker; k++) scratch_free(of_worker[k]);
    path_search_free(&p->search);
  }
  scratch_free(w);
}

static enum tfprof_status run_critical_path(struct profile *profile, struct tfprof_error *error) {
  struct work *w = scratch_allocate_zeroed(1, sizeof *w);
  if (!w) return error_no_memory(error);
  w->profile = profile;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &w->step_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &w->thread_count, error);
  w->has_steps = w->step_count > 0;
  if (!w->has_steps) w->step_count = 1;
  if (!status && w->thread_count) {
    status = begin_path(w, error);
    if (!status) status = collect_path_rows(w, error);
    if (!status) status = load_syncs(w, error);
    if (!status) {
      derive_parallel(w->first_event[SOURCES], w->step_count, find_path, w);
      status = derive_failure(atomic_load(&w->failure), error);
    }
    if (!status) status = make_rows(w, error);
  }
  end(w);
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
    .run = run_critical_path,
    .texts = edge_and_kind_names,
};
