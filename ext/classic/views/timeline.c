/* timeline.c: -output timeline: what a view shows, as a Chrome trace that chrome://tracing and ui.perfetto.dev open.
**
** graph: the runs of the displayed nodes in one step.  Each device is a process of the trace: "Op scheduling threads:
** D" for what was scheduled on it, "Op execution threads: D" for what ran on its streams; overlapping runs lie in lanes
** of their own.  Arrows lead from a run to the runs of the nodes that take its result on another device.  For each
** accelerator there are two counters: the memory in use, and the ten nodes that hold most of it, at most every 100
** microseconds.  Of runs that begin in the same microsecond on one device the first is shown, and arrows that would
** lead from the others, hidden nodes' runs among them, lead from it, as in TensorFlow's profiler.
**
** Of a capture each thread and each stream is a process of its own, with all its runs, an op above those that it calls,
** and above them the step and the ranges that the program marked, whatever is displayed; arrows lead from ops to what
** they launched on a device; and the memory of the host is shown as well.
**
** scope, code: the displayed tree as if all of it ran one after the other: an item is as wide as its total time, its
** children lie below it side by side, each depth is a process "Scope:N".
**
** One line of JSON: an object whose traceEvents are first M (names of processes) and X (runs), then s, t (arrows) and C
** (counters); the keys of each object in alphabetical order.  Times in microseconds, of captures with decimals and from
** `baseTimeNanoseconds` on: since 1970 they would have more digits than the numbers of those who read them.
** https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
*/
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "classic/views/runs.h"
#include "write/output_file.h"

enum { DENSEST_NS = 100000, MOST_HOLDERS = 10, TURNS_BETWEEN_LOOKS = 256, NONE = UINT32_MAX };

struct events {
  struct output_file *file;
  int64_t base_ns; /* what times are counted from; 0: since 1970 */
  bool has_any, is_interrupted;
  struct store *store; /* that can be interrupted */
  uint32_t turns;
};

static void begin_list(struct events *events) {
  output_text(events->file, "{");
  if (events->base_ns) output_format(events->file, "\"baseTimeNanoseconds\":%lld,", (long long)events->base_ns);
  output_text(events->file, "\"traceEvents\":[");
}

static void begin_timeline_event(struct events *events) {
  if (events->has_any) output_text(events->file, ",");
  else begin_list(events);
  events->has_any = true;
}

static void write_process_name(struct events *events, int64_t process, const char *prefix, const char *name,
                               const char *suffix) {
  char *text;
  begin_timeline_event(events);
  int length = asprintf(&text, "%s%s%s", prefix, name, suffix);
  output_text(events->file, "{\"args\":{\"name\":");
  output_json_text(events->file, length < 0 ? name : text, length < 0 ? strlen(name) : (size_t)length);
  output_format(events->file, "},\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%lld}", (long long)process);
  if (length >= 0) free(text);
}

/* Nanoseconds as microseconds, with three decimals where there are any. */
static void write_micros(struct events *events, int64_t ns) {
  if (ns % 1000 == 0) output_format(events->file, "%lld", (long long)(ns / 1000));
  else output_format(events->file, "%s%lld.%03d", ns < 0 ? "-" : "", llabs(ns / 1000), abs((int)(ns % 1000)));
}

static void write_time(struct events *events, int64_t time_ns) { write_micros(events, time_ns - events->base_ns); }

static void write_region(struct events *events, const char *category, const char *name, size_t length, bool has_op,
                         int64_t process, uint32_t lane, int64_t start_ns, int64_t dur_ns) {
  begin_timeline_event(events);
  output_text(events->file, "{\"args\":{\"name\":");
  output_json_text(events->file, name, length);
  if (has_op) {
    output_text(events->file, ",\"op\":");
    output_json_text(events->file, name, length);
  }
  output_format(events->file, "},\"cat\":\"%s\",\"dur\":", category);
  write_micros(events, dur_ns);
  output_text(events->file, ",\"name\":");
  output_json_text(events->file, name, length);
  output_format(events->file, ",\"ph\":\"X\",\"pid\":%lld,\"tid\":%u,\"ts\":", (long long)process, lane);
  write_time(events, start_ns);
  output_text(events->file, "}");
}

/* For each turn of a loop that writes: false ends it, because of an interrupt. */
static bool timeline_goes_on(struct events *events) {
  if (++events->turns % TURNS_BETWEEN_LOOKS == 0) events->is_interrupted |= store_interrupted(events->store);
  return !events->is_interrupted;
}

static enum tfprof_status finish_timeline(struct events *events, enum tfprof_status status,
                                          struct tfprof_error *error) {
  if (!status && events->is_interrupted) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
  if (status) {
    output_abandon(events->file);
    return status;
  }
  if (!events->has_any) begin_list(events);
  output_text(events->file, "]}\n");
  return output_commit(events->file, error);
}

/* ---- scope and code ---- */

static enum tfprof_status write_tree(const struct classic_result *result, struct events *events,
                                     struct tfprof_error *error) {
  int64_t *next =
      malloc((result->row_count + 1) * sizeof *next); /* where a row's next child begins, ns; -1: left out */
  uint8_t *is_named = calloc(result->row_count + 1, 1);
  if (!next || !is_named) {
    free(next);
    free(is_named);
    return error_no_memory(error);
  }
  for (size_t i = 0; i < result->row_count && timeline_goes_on(events); i++) {
    const struct classic_row *row = &result->rows[i];
    int64_t ns, depth = row->depth - 1, start = 0;
    if (__builtin_mul_overflow(result->total[row->item].of[METRIC_micros], 1000, &ns)) ns = INT64_MAX / 1000 * 1000;
    if (row->parent >= 0) {
      start = next[row->parent];
      next[i] = -1;
      if (start < 0 || ns <= 0 || __builtin_add_overflow(start, ns, &next[row->parent])) continue;
    }
    next[i] = start;
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)depth);
    if (!is_named[depth]) write_process_name(events, depth, "Scope:", number, "");
    is_named[depth] = 1;
    size_t length;
    const char *name = classic_item_name(result, row->item, &length);
    write_region(events, "Op", name, length, true, depth, 0, start, ns);
  }
  free(next);
  free(is_named);
  return TFPROF_OK;
}

/* ---- lanes: the first lane that is free ---- */

/* The least end of the lanes in a tree over them: the leaves are ends[size ... 2 * size - 1]. */
struct lanes {
  int64_t *ends;
  uint32_t size;
};

static bool take_lane(struct lanes *lanes, int64_t start, int64_t end, uint32_t *lane) {
  if (!lanes->size || lanes->ends[1] > start) {
    uint32_t size = lanes->size ? lanes->size * 2 : 1;
    int64_t *ends = malloc(2 * (size_t)size * sizeof *ends);
    if (!ends) return false;
    for (uint32_t i = 0; i < size; i++) ends[size + i] = i < lanes->size ? lanes->ends[lanes->size + i] : INT64_MIN;
    for (size_t i = size - 1; i > 0; i--) ends[i] = ends[2 * i] < ends[2 * i + 1] ? ends[2 * i] : ends[2 * i + 1];
    free(lanes->ends);
    lanes->ends = ends;
    lanes->size = size;
  }
  size_t at = 1;
  while (at < lanes->size) at = lanes->ends[2 * at] <= start ? 2 * at : 2 * at + 1;
  *lane = (uint32_t)(at - lanes->size);
  for (lanes->ends[at] = end; at > 1; at /= 2) {
    int64_t left = lanes->ends[at & ~(size_t)1], right = lanes->ends[at | 1];
    lanes->ends[at / 2] = left < right ? left : right;
  }
  return true;
}

/* ---- graph ---- */

struct shown_run {
  uint32_t run, lane, place; /* run: in runs; place: when it was met */
  uint32_t arrow;            /* the first that leads from it; NONE */
};

struct arrow {
  uint32_t to, next; /* to: shown run */
};

struct graph {
  const struct classic_result *result;
  struct classic_runs *runs;
  struct events events;
  uint8_t *is_displayed;   /* of each node */
  uint8_t *is_accounted;   /* of each node, displayed or not */
  int64_t *processes;      /* number in the trace of each device; -1: it has none */
  uint32_t *shown_of;      /* of each run: its shown one; NONE */
  struct shown_run *shown; /* by device, then start */
  uint32_t shown_count, *device_first;
  struct arrow *arrows; /* their order is that in which they were met */
  uint32_t *last_arrow; /* of each shown run */
  uint32_t arrow_count, arrow_capacity;
  int64_t process_count;
};

/* It ran in the step and belongs to a device, though it may have run on lanes alone that are not shown. */
static bool is_traced(const struct graph *graph, uint32_t node) {
  return graph->result->model->nodes[node].device && graph->runs->has_run[node];
}

static bool is_capture(const struct graph *graph) { return graph->result->model->op_nodes != NULL; }

static int compare_shown(const void *left, const void *right, void *context) {
  const struct graph *graph = context;
  const struct shown_run *a = left, *b = right;
  const struct classic_run *x = &graph->runs->runs[a->run], *y = &graph->runs->runs[b->run];
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  /* What was called lies below its caller, which takes longer. */
  if (x->dur_ns != y->dur_ns && graph->result->model->op_nodes) return x->dur_ns > y->dur_ns ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* Shows the runs from `first` to before `last`; names the devices as they are met. */
static void show_runs(struct graph *graph, uint32_t first, uint32_t last) {
  const struct classic_runs *runs = graph->runs;
  for (uint32_t k = first; k < last; k++) {
    const struct classic_run *run = &runs->runs[k];
    if (graph->processes[run->device] < 0) {
      graph->processes[run->device] = graph->process_count++;
      write_process_name(&graph->events, graph->processes[run->device],
                         run->is_scheduling ? "Op scheduling threads: " : "Op execution threads: ",
                         runs->devices[run->device], "");
    }
    graph->shown[graph->shown_count] = (struct shown_run){.run = k, .place = graph->shown_count, .arrow = NONE};
    graph->shown_count++;
  }
}

/* The runs of displayed nodes, in the order of the rows, and the marks. */
static bool collect_graph_events(struct graph *graph) {
  const struct classic_result *result = graph->result;
  const struct classic_runs *runs = graph->runs;
  for (size_t i = 0; i < result->row_count; i++) {
    uint32_t item = result->rows[i].item, node = item == result->item_count ? NONE : result->nodes[item];
    if (node != NONE && is_traced(graph, node)) show_runs(graph, runs->first[node], runs->first[node + 1]);
  }
  uint32_t marks = result->model->node_count;
  show_runs(graph, runs->first[marks], runs->first[marks + 1]);
  if (graph->shown_count > 1)
    qsort_r(graph->shown, graph->shown_count, sizeof *graph->shown, compare_shown, graph);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < graph->shown_count; i++) {
    const struct classic_run *run = &runs->runs[graph->shown[i].run];
    const struct classic_run *last = kept ? &runs->runs[graph->shown[kept - 1].run] : NULL;
    bool is_same = last && last->device == run->device && last->start_ns == run->start_ns && !is_capture(graph);
    if (!is_same) graph->shown[kept++] = graph->shown[i];
    graph->shown_of[graph->shown[i].run] = kept - 1;
  }
  graph->shown_count = kept;
  for (uint32_t i = 0; i < kept; i++) graph->device_first[runs->runs[graph->shown[i].run].device + 1]++;
  for (uint32_t i = 0; i < runs->device_count; i++) graph->device_first[i + 1] += graph->device_first[i];
  return true;
}

static bool add_arrow(struct graph *graph, uint32_t from, uint32_t to) {
  if (graph->arrow_count == INT32_MAX || !array_room(graph->arrows, graph->arrow_count, graph->arrow_capacity))
    return false;
  uint32_t arrow = graph->arrow_count++;
  graph->arrows[arrow] = (struct arrow){to, NONE};
  if (graph->shown[from].arrow == NONE)
    graph->shown[from].arrow = arrow;
  else
    graph->arrows[graph->last_arrow[from]].next = arrow;
  graph->last_arrow[from] = arrow;
  return true;
}

/* From each shown op of a capture to what it launched. */
static bool connect_launches(struct graph *graph) {
  const struct classic_runs *runs = graph->runs;
  bool ok = true;
  for (uint32_t i = 0; ok && i < graph->shown_count; i++) {
    uint32_t launcher = runs->runs[graph->shown[i].run].launcher;
    if (launcher != NONE && graph->shown_of[launcher] != NONE) ok = add_arrow(graph, graph->shown_of[launcher], i);
  }
  return ok;
}

/* The shown run of that device and start, which stands for all of them, even of nodes that are not displayed; NONE. */
static uint32_t find_shown(const struct graph *graph, const struct classic_run *run) {
  uint32_t first = graph->device_first[run->device], end = graph->device_first[run->device + 1], last = end;
  while (first < end) {
    uint32_t middle = first + (end - first) / 2;
    if (graph->runs->runs[graph->shown[middle].run].start_ns < run->start_ns) first = middle + 1;
    else end = middle;
  }
  return first < last && graph->runs->runs[graph->shown[first].run].start_ns == run->start_ns ? first : NONE;
}

/* To each shown run on a device itself from those of its inputs on other devices. */
static bool connect(struct graph *graph) {
  const struct classic_model *model = graph->result->model;
  const struct classic_runs *runs = graph->runs;
  if (is_capture(graph)) return connect_launches(graph);
  for (uint32_t i = 0; i < graph->shown_count; i++) {
    const struct classic_run *to = &runs->runs[graph->shown[i].run];
    const struct classic_node *node = &model->nodes[to->node];
    for (uint32_t k = node->first_input; to->is_scheduling && k < node[1].first_input; k++) {
      uint32_t source = model->inputs[k].source;
      if (source == UINT32_MAX || !graph->is_accounted[source] || !is_traced(graph, source)) continue;
      for (uint32_t r = runs->first[source]; r < runs->first[source + 1]; r++) {
        const struct classic_run *from = &runs->runs[r];
        if (!from->is_scheduling || from->device == to->device) continue;
        uint32_t shown = find_shown(graph, from);
        if (shown != NONE && !add_arrow(graph, shown, i)) return false;
      }
    }
  }
  return true;
}

static bool allocate_lanes(struct graph *graph) {
  bool ok = true;
  for (uint32_t device = 0; ok && device < graph->runs->device_count; device++) {
    struct lanes lanes = {0};
    for (uint32_t i = graph->device_first[device]; ok && i < graph->device_first[device + 1]; i++) {
      const struct classic_run *run = &graph->runs->runs[graph->shown[i].run];
      ok = take_lane(&lanes, run->start_ns, classic_run_end(run), &graph->shown[i].lane);
    }
    free(lanes.ends);
  }
  return ok;
}

static const char *node_name(const struct graph *graph, uint32_t node, size_t *length) {
  const struct classic_model *model = graph->result->model;
  string_id name = model->nodes[node].name;
  *length = name ? pool_length(model->pool, name) : 0;
  return name ? pool_text(model->pool, name) : "";
}

static void write_arrow(struct graph *graph, const char *phase, int64_t number, const struct shown_run *from,
                        const struct shown_run *at, int64_t time_ns) {
  size_t length;
  const char *name = node_name(graph, graph->runs->runs[from->run].node, &length);
  char *text;
  int text_length = asprintf(&text, "%.*s_flow", (int)length, name);
  begin_timeline_event(&graph->events);
  output_format(graph->events.file, "{\"cat\":\"DataFlow\",\"id\":%lld,\"name\":", (long long)number);
  output_json_text(graph->events.file, text_length < 0 ? name : text, text_length < 0 ? length : (size_t)text_length);
  output_format(graph->events.file, ",\"ph\":\"%s\",\"pid\":%lld,\"tid\":%u,\"ts\":", phase,
                (long long)graph->processes[graph->runs->runs[at->run].device], at->lane);
  write_time(&graph->events, time_ns);
  output_text(graph->events.file, "}");
  if (text_length >= 0) free(text);
}

struct place {
  int64_t process;
  uint32_t lane, shown;
};

static int compare_places(const void *left, const void *right) {
  const struct place *a = left, *b = right;
  if (a->process != b->process) return a->process < b->process ? -1 : 1;
  if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
  return a->shown < b->shown ? -1 : a->shown > b->shown;
}

/* By process, lane and start: the runs (arrows: false), or what leads from them. */
static void write_runs(struct graph *graph, const struct place *places, bool arrows) {
  int64_t number = 1;
  for (uint32_t i = 0; i < graph->shown_count && timeline_goes_on(&graph->events); i++) {
    const struct shown_run *shown = &graph->shown[places[i].shown];
    const struct classic_run *run = &graph->runs->runs[shown->run];
    if (!arrows) {
      const struct pool *pool = graph->result->model->pool;
      size_t length = run->mark ? pool_length(pool, run->mark) : 0;
      const char *name = run->mark ? pool_text(pool, run->mark) : node_name(graph, run->node, &length);
      write_region(&graph->events, run->mark ? "Mark" : "Op", name, length, false, places[i].process, shown->lane,
                   run->start_ns, run->dur_ns);
      continue;
    }
    uint32_t at = shown->arrow;
    for (; at != NONE && timeline_goes_on(&graph->events); at = graph->arrows[at].next, number++) {
      const struct shown_run *to = &graph->shown[graph->arrows[at].to];
      /* A launch leaves its op while that runs, the result of a node when it has run. */
      write_arrow(graph, "s", number, shown, shown, is_capture(graph) ? run->start_ns : classic_run_end(run));
      write_arrow(graph, "t", number, shown, to, graph->runs->runs[to->run].start_ns);
    }
  }
}

/* ---- memory ---- */

struct holder {
  uint32_t node;
  int64_t bytes;
};

/* Most bytes first, then by name, which is the order of the nodes. */
static int compare_holders(const void *left, const void *right) {
  const struct holder *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a->node < b->node ? -1 : a->node > b->node;
}

/* What each shown node of a device held right before a moment: what the last change before it left. */
static uint32_t find_holders(const struct graph *graph, string_id device, int64_t time_ns, struct holder *holders) {
  const struct classic_runs *runs = graph->runs;
  const struct classic_model *model = graph->result->model;
  uint32_t count = 0;
  for (uint32_t i = 0, last; i < runs->allocation_count; i = last) {
    uint32_t node = runs->allocations[i].node;
    int64_t held = 0;
    for (last = i; last < runs->allocation_count && runs->allocations[last].node == node; last++)
      held += runs->allocations[last].time_ns < time_ns ? runs->allocations[last].bytes : 0;
    if (held > 0 && model->nodes[node].device == device && graph->is_displayed[node] && is_traced(graph, node))
      holders[count++] = (struct holder){node, held};
  }
  if (count) qsort(holders, count, sizeof *holders, compare_holders);
  return count;
}

static void write_point(struct graph *graph, int64_t process, int64_t time_ns, int64_t bytes,
                        const struct holder *holders, uint32_t count) {
  struct output_file *file = graph->events.file;
  begin_timeline_event(&graph->events);
  output_format(
      file, "{\"args\":{\"Allocator Bytes in Use\":%lld},\"cat\":\"Memory\",\"name\":\"Allocated Bytes\",\"ph\":\"C\",",
      (long long)bytes);
  output_format(file, "\"pid\":%lld,\"tid\":0,\"ts\":", (long long)process);
  write_time(&graph->events, time_ns);
  output_text(file, "}");
  struct holder shown[MOST_HOLDERS];
  uint32_t shown_count = 0;
  int64_t rest = bytes;
  for (uint32_t i = 0; i < count && shown_count < MOST_HOLDERS; i++) {
    if (rest < holders[i].bytes) continue; /* the counter and the allocations need not agree */
    shown[shown_count++] = holders[i];
    rest -= holders[i].bytes;
  }
  begin_timeline_event(&graph->events);
  output_format(file, "{\"args\":{\"Not Displayed\":\"%.2f MB\"", (double)rest / 1e6);
  for (uint32_t i = 0; i < MOST_HOLDERS; i++) {
    char *text;
    size_t length;
    if (i >= shown_count) {
      if (i) output_format(file, ",\"Top Allocation %02u\":\"N/A\"", i);
      continue;
    }
    const char *name = node_name(graph, shown[i].node, &length);
    output_format(file, ",\"Top Allocation %02u\":", i);
    if (asprintf(&text, "%g MB from %.*s", (double)shown[i].bytes / 1e6, (int)length, name) >= 0) {
      output_json_text(file, text, strlen(text));
      free(text);
    } else {
      output_text(file, "null");
    }
  }
  output_format(file,
                "},\"cat\":\"Memory\",\"name\":\"Top Allocations\",\"ph\":\"C\",\"pid\":%lld,\"tid\":0,\"ts\":",
                (long long)process + 1);
  write_time(&graph->events, time_ns);
  output_text(file, "}");
}

/* Devices that the shown nodes belong to, in the order of their names; but for captures, no processors of the host. */
static int compare_device_names(const void *left, const void *right, void *context) {
  const struct pool *pool = context;
  return strcmp(pool_text(pool, *(const string_id *)left), pool_text(pool, *(const string_id *)right));
}

static string_id *memory_devices(const struct graph *graph, uint32_t *count) {
  const struct classic_model *model = graph->result->model;
  string_id *devices = malloc(((size_t)model->node_count + 1) * sizeof *devices);
  uint8_t *seen = calloc((size_t)pool_count(model->pool) + 1, 1);
  *count = 0;
  for (size_t i = 0; devices && seen && i < graph->result->row_count; i++) {
    uint32_t item = graph->result->rows[i].item,
             node = item == graph->result->item_count ? NONE : graph->result->nodes[item];
    if (node == NONE || !is_traced(graph, node) || seen[model->nodes[node].device]) continue;
    seen[model->nodes[node].device] = 1;
    if (is_capture(graph) || !strstr(pool_text(model->pool, model->nodes[node].device), "cpu"))
      devices[(*count)++] = model->nodes[node].device;
  }
  free(seen);
  if (devices && *count > 1)
    qsort_r(devices, *count, sizeof *devices, compare_device_names, (void *)(uintptr_t)model->pool);
  return devices;
}

/* When a node of TensorFlow ended a run on its own device, which is when it read how much memory was in use there. */
struct reading {
  string_id device;
  int64_t time_ns;
  uint32_t place, row; /* row: that of the displayed node + 1; 0: it is not displayed */
  bool is_sure;        /* a run of no length counts as one of a microsecond: its end may be its start */
};

static int compare_readings(const void *left, const void *right) {
  const struct reading *a = left, *b = right;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static void add_reading(const struct graph *graph, const struct classic_run *run, uint32_t row,
                        struct reading *readings, size_t *count) {
  string_id device = graph->result->model->nodes[run->node].device;
  bool is_sure = run->dur_ns != 1000;
  readings[(*count)++] = (struct reading){device, classic_run_end(run), run->place, row, is_sure};
  if (!is_sure) readings[(*count)++] = (struct reading){device, run->start_ns, run->place, row, is_sure};
}

/* The readings of the step, and those of other steps that may be taken for them, by device, time and place in the
** source; NULL: no memory. */
static struct reading *find_readings(const struct graph *graph, size_t *count) {
  const struct classic_result *result = graph->result;
  const struct classic_runs *runs = graph->runs;
  uint32_t *rows = calloc((size_t)result->model->node_count + 1, sizeof *rows);
  size_t most = 2 * ((size_t)runs->count + runs->other_count);
  struct reading *readings = rows ? malloc((most + 1) * sizeof *readings) : NULL;
  *count = 0;
  for (uint32_t i = 0; readings && i < result->row_count; i++) {
    uint32_t item = result->rows[i].item;
    if (item != result->item_count && result->nodes[item] != NONE) rows[result->nodes[item]] = i + 1;
  }
  for (uint32_t k = 0; readings && k < runs->count; k++) {
    const struct classic_run *run = &runs->runs[k];
    if (run->is_scheduling && !run->mark && is_traced(graph, run->node))
      add_reading(graph, run, rows[run->node], readings, count);
  }
  for (uint32_t k = 0; readings && k < runs->other_count; k++) add_reading(graph, &runs->others[k], 0, readings, count);
  free(rows);
  if (*count > 1) qsort(readings, *count, sizeof *readings, compare_readings);
  return readings;
}

/* Of several points of one device and moment the one that the last displayed node read; NULL: none did. Points and
** readings come in the order of the source; where their numbers differ, which is whose is not known, and the last
** counts. */
static const struct classic_memory_point *last_read(const struct reading *readings, size_t count,
                                                    const struct classic_memory_point *points, uint32_t point_count) {
  size_t first = 0, end = count, sure = 0;
  uint32_t row = 0, taken = 0;
  while (first < end) {
    size_t middle = first + (end - first) / 2;
    const struct reading *reading = &readings[middle];
    bool is_before = reading->device != points->device ? reading->device < points->device
                                                       : reading->time_ns < points->time_ns;
    if (is_before) first = middle + 1;
    else end = middle;
  }
  for (; end < count && readings[end].device == points->device && readings[end].time_ns == points->time_ns; end++) {
    sure += readings[end].is_sure;
    if (readings[end].row > row) row = readings[end].row;
  }
  bool are_all = end - first == point_count;
  if (!row) return NULL;
  if (point_count == 1 || (!are_all && sure != point_count)) return &points[point_count - 1];
  const struct classic_memory_point *last = NULL;
  row = 0;
  for (size_t i = first; i < end; i++) {
    if (!are_all && !readings[i].is_sure) continue;
    const struct classic_memory_point *point = &points[taken++];
    if (!readings[i].row || readings[i].row < row) continue;
    row = readings[i].row;
    last = point;
  }
  return last;
}

static bool has_points(const struct classic_runs *runs, string_id device) {
  for (uint32_t i = 0; i < runs->point_count; i++) {
    if (runs->points[i].device == device) return true;
  }
  return false;
}

/* Points that are far enough from the last; of TensorFlow's profiles those that displayed nodes read. The names of the
** processes come with the runs, before all counters, so that this is called twice. */
static bool write_memory(struct graph *graph, bool names, FILE *messages) {
  const struct classic_model *model = graph->result->model;
  const struct classic_runs *runs = graph->runs;
  uint32_t device_count;
  string_id *devices = memory_devices(graph, &device_count);
  struct holder *holders = malloc(((size_t)runs->allocation_count + 1) * sizeof *holders);
  size_t reading_count;
  struct reading *readings = find_readings(graph, &reading_count);
  bool ok = devices && holders && readings;
  int64_t process = graph->process_count;
  for (uint32_t d = 0; ok && d < device_count; d++, process += 2) {
    const char *name = pool_text(model->pool, devices[d]);
    if (is_capture(graph) && !has_points(runs, devices[d])) continue;
    int64_t peak = 0, last = -1;
    if (names) {
      write_process_name(&graph->events, process, "mem usage on:", name, "");
      write_process_name(&graph->events, process + 1, "mem usage on:", name, " allocations");
      continue;
    }
    for (uint32_t i = 0, next; i < runs->point_count && timeline_goes_on(&graph->events); i = next) {
      const struct classic_memory_point *point = &runs->points[i];
      for (next = i + 1; next < runs->point_count; next++) {
        if (runs->points[next].device != point->device || runs->points[next].time_ns != point->time_ns) break;
      }
      if (point->device != devices[d] || point->time_ns < 1000) continue;
      point = is_capture(graph) ? &runs->points[next - 1] : last_read(readings, reading_count, point, next - i);
      if (!point) continue;
      if (point->bytes > peak) peak = point->bytes;
      if (last >= 0 && point->time_ns - last < DENSEST_NS) continue;
      last = point->time_ns;
      write_point(graph, process, point->time_ns, point->bytes, holders,
                  find_holders(graph, devices[d], point->time_ns, holders));
    }
    if (messages) fprintf(messages, "%s peak memory: %.2f MB\n", name, (double)peak / 1e6);
  }
  free(devices);
  free(holders);
  free(readings);
  return ok;
}

static bool write_graph(struct graph *graph, FILE *messages) {
  struct place *places = malloc(((size_t)graph->shown_count + 1) * sizeof *places);
  if (!places) return false;
  for (uint32_t i = 0; i < graph->shown_count; i++)
    places[i] =
        (struct place){graph->processes[graph->runs->runs[graph->shown[i].run].device], graph->shown[i].lane, i};
  if (graph->shown_count) qsort(places, graph->shown_count, sizeof *places, compare_places);
  write_runs(graph, places, false);
  bool ok = write_memory(graph, true, NULL);
  if (ok) write_runs(graph, places, true);
  free(places);
  return ok && write_memory(graph, false, messages);
}

/* The second in which the first run of a capture begins. */
static int64_t base_of(const struct graph *graph) {
  const int64_t second = 1000000000;
  int64_t first = INT64_MAX;
  for (uint32_t i = 0; i < graph->runs->count; i++)
    if (graph->runs->runs[i].start_ns < first) first = graph->runs->runs[i].start_ns;
  return is_capture(graph) && first > 0 && first < INT64_MAX ? first / second * second : 0;
}

static enum tfprof_status graph_timeline(const struct classic_result *result, int64_t step, struct events *events,
                                         FILE *messages, struct tfprof_error *error) {
  struct graph graph = {.result = result, .events = *events};
  graph.runs = classic_runs_create(result->model, step, error);
  if (!graph.runs) return error->status;
  graph.events.base_ns = base_of(&graph);
  size_t runs = (size_t)graph.runs->count + 1, nodes = (size_t)result->model->node_count + 1;
  graph.is_displayed = calloc(nodes, 1);
  graph.is_accounted = calloc(nodes, 1);
  graph.processes = malloc(((size_t)graph.runs->device_count + 1) * sizeof *graph.processes);
  graph.shown_of = malloc(runs * sizeof *graph.shown_of);
  graph.last_arrow = malloc(runs * sizeof *graph.last_arrow);
  graph.shown = malloc(runs * sizeof *graph.shown);
  graph.device_first = calloc((size_t)graph.runs->device_count + 2, sizeof *graph.device_first);
  bool ok = graph.is_displayed && graph.is_accounted && graph.processes && graph.shown_of && graph.last_arrow &&
            graph.shown && graph.device_first;
  if (ok) {
    memset(graph.processes, 0xff, ((size_t)graph.runs->device_count + 1) * sizeof *graph.processes);
    memset(graph.shown_of, 0xff, runs * sizeof *graph.shown_of);
    for (size_t i = 0; i < result->row_count; i++) {
      uint32_t item = result->rows[i].item;
      if (item != result->item_count && result->nodes[item] != NONE) graph.is_displayed[result->nodes[item]] = 1;
    }
    for (uint32_t item = 0; item < result->item_count; item++) {
      if (result->nodes[item] != NONE) graph.is_accounted[result->nodes[item]] = result->accounted[item];
    }
    ok = collect_graph_events(&graph) && connect(&graph) && allocate_lanes(&graph) && write_graph(&graph, messages);
  }
  *events = graph.events;
  free(graph.is_displayed);
  free(graph.is_accounted);
  free(graph.processes);
  free(graph.shown_of);
  free(graph.last_arrow);
  free(graph.shown);
  free(graph.device_first);
  free(graph.arrows);
  classic_runs_free(graph.runs);
  return ok ? TFPROF_OK : error_no_memory(error);
}

enum tfprof_status classic_write_timeline(const struct classic_result *result, int64_t step, const char *path,
                                          FILE *messages, struct tfprof_error *error) {
  struct events events = {.store = result->model->store};
  if (result->view == CLASSIC_OP)
    return error_set(error, TFPROF_USAGE, "the op view has no timeline; scope, graph and code have one");
  enum tfprof_status status = output_open(&events.file, path, false, error);
  if (status) return status;
  status = result->view == CLASSIC_GRAPH ? graph_timeline(result, step, &events, messages, error)
                                         : write_tree(result, &events, error);
  return finish_timeline(&events, status, error);
}
