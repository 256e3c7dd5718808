/* step_pieces.c: see step_pieces.h.
**
** The rules are those of the overview of the PyTorch TensorBoard plugin.  A step reaches from its start on the host,
** but not before the step before it has ended, to its end or that of the last kernel, copy or fill which calls lying
** wholly inside it launched, whichever comes last, without copies beside the main stream (step_reach.h); the first step
** does not begin before the end of the last work that no step launched and that was over before the first work of the
** step began.  Of what goes on at a moment the first in this list counts: kernel, memcpy_HtoD, memcpy_DtoH,
** memcpy_DtoD, memcpy (other copies), memset, communication, runtime (calls of the device's interfaces), data_loader,
** compilation (which the plugin takes for cpu), cpu (ops on any host thread), mark (ranges of the program, modules and
** Python frames: no ops, but the profilers take them for cpu), other.  Communication is communication kernels, copies
** that carry out a collective, and the ops nccl:* and gloo:* and those that XLA compiled of collectives.  The last
** steps are left out where they launched nothing, and the last of the others too where it launched less than 0.8 of
** what the step before it did: the profiler has stopped before their work was done.  Steps of which no work on a device
** is known are cut from their start to their end, and those of a host that runs ahead as steps.pace_ns has them.
**
** Where the source numbers its steps, as XPlane does, the rules are those of TensorFlow 2's profiler
** (xplane_to_step_events.cc). Of host rows only those count, and only within their step, that a step caused
** (connected_steps.c) or that lie in it on its own thread; where nothing tells causes, all. An op without length, such
** as the marks of what is handed to a thread pool and done there, lasts until the next op of its step has ended
** (open_moments). Marks of steps do not count, nor what says of all of a call that it runs; data_loader is waiting for
** the next element of the input pipeline and comes before communication; a TPU's infeed and outfeed are copies from and
** to the host, and its loops count as kernels only while nothing inside them goes on; runtime is what executors do too,
** where there is a device; no step is left out.
**
** Steps follow each other, or overlap a little where work on devices reaches into the next.  Of more than MOST_STEPS
** that go on at one moment the others have no piece there, so that pieces are bounded by what they are cut from.
**
** The intervals of each category are united; one sweep over all categories then says what counts from one end of an
** interval to the next.
*/
#include "derive/time/step_pieces.h"

#include "derive/match.h"
#include "derive/ranges/compilers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char overlapping[] =
    "more steps overlap than step_segments can tell apart: at each moment it has the first 16";
const char *const step_category_names[STEP_CATEGORIES + 4] = {
    "kernel",      "memcpy_HtoD", "memcpy_DtoH", "memcpy_DtoD", "memcpy", "memset",            "communication",
    "kernel",      "runtime",     "data_loader", "compilation", "cpu",    "mark",              "other",
    "info",        "overlapping_steps", overlapping, NULL};

enum source { KERNELS, COPIES, FILLS, CALLS, COMPILATIONS, OPS, STEPS, SOURCES };

struct interval { int64_t start, end; };
struct intervals {
  struct interval *items;
  size_t count, capacity;
};

struct step { int64_t start, end, host_start, host_end, device_start, device_end; uint32_t row, launched, thread; };
struct work {
  struct profile *profile;
  struct intervals of[SOURCES][STEP_CATEGORIES];
  struct intervals sets[STEP_CATEGORIES]; /* disjoint, ascending, none touching the next */
  struct lane_span *moments; /* ops without length, each until the end of its step, of a source that numbers steps;
                                row: 1 for a mark */
  size_t moment_count, moment_capacity;
  atomic_int failure;                /* an enum tfprof_status */
  struct step *steps;
  uint32_t step_count, step_rows;
  uint32_t *step_of_row; /* which of `steps` a row of the table is; NO_ROW: none */
  step_pieces_take *take;
  void *context;
  bool is_numbered;    /* the source numbers steps */
  bool is_connected;   /* and tells which step caused what */
  bool has_device;     /* which worked */
  bool has_more_steps; /* than can have pieces at one moment */
};

static bool grow_intervals(void **items, size_t *capacity, size_t count, size_t size) {
  if (count < *capacity) return true;
  size_t larger = *capacity ? *capacity * 2 : 1024;
  void *grown = scratch_resize(*items, larger * size);
  if (!grown) return false;
  *items = grown;
  *capacity = larger;
  return true;
}

static bool append_interval(struct intervals *list, int64_t start, int64_t end) {
  if (!grow_intervals((void **)&list->items, &list->capacity, list->count, sizeof *list->items)) return false;
  list->items[list->count++] = (struct interval){start, end};
  return true;
}

static bool append_moment(struct work *w, int64_t start, int64_t end, bool is_mark) {
  if (!grow_intervals((void **)&w->moments, &w->moment_capacity, w->moment_count, sizeof *w->moments)) return false;
  w->moments[w->moment_count++] = (struct lane_span){start, end, 0, is_mark};
  return true;
}

/* Ops come after those inside them, where they are written as they end: an interval takes in those before it that it
** meets, and few are left of millions. */
static bool add_interval(struct intervals *list, int64_t start, int64_t end) {
  if (start == NO_VALUE || end == NO_VALUE || end <= start) return true;
  for (; list->count; list->count--) {
    struct interval *last = &list->items[list->count - 1];
    if (start > last->end || end < last->start) break;
    if (start >= last->start) {
      if (end > last->end) last->end = end;
      return true;
    }
    if (end < last->end) end = last->end;
  }
  return append_interval(list, start, end);
}

/* ---- steps ---- */

static int segments_by_start(const void *left, const void *right) {
  const struct step *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static enum tfprof_status find_steps(struct work *w, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  uint32_t rows, *threads = NULL;
  enum tfprof_status status = derive_row_count(w->profile, TABLE_steps, &rows, error);
  if (!status) status = derive_all_references(w->profile, TABLE_steps, COLUMN_steps_thread_id, &threads, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  w->steps = scratch_allocate(((size_t)rows + 1) * sizeof *w->steps);
  w->step_of_row = scratch_allocate(((size_t)rows + 1) * sizeof *w->step_of_row);
  w->step_rows = rows;
  if (!status && (!w->steps || !w->step_of_row)) status = error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (starts[row] == NO_VALUE || ends[row] == NO_VALUE || ends[row] < starts[row]) continue;
    w->steps[w->step_count++] =
        (struct step){starts[row], ends[row], starts[row], ends[row], INT64_MAX, INT64_MIN, row, 0, threads[row]};
  }
  if (!status) qsort(w->steps, w->step_count, sizeof *w->steps, segments_by_start);
  for (uint32_t row = 0; row < rows && !status; row++) w->step_of_row[row] = NO_ROW;
  for (uint32_t i = 0; i < w->step_count && !status; i++) w->step_of_row[w->steps[i].row] = i;
  scratch_free(threads);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

/* The step in which all of a call lies, or step_count where there is none. Of steps that overlap only the one that
** began last counts. *hint is the step of the call before: calls mostly lie in the same one. */
static uint32_t step_of(const struct work *w, int64_t start, int64_t end, uint32_t *hint) {
  uint32_t low = 0, high = w->step_count;
  if (w->steps[*hint].start <= start && (*hint + 1 == high || w->steps[*hint + 1].start > start)) {
    low = *hint + 1;
  } else {
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (w->steps[middle].start <= start) low = middle + 1;
      else high = middle;
    }
    if (low) *hint = low - 1;
  }
  return low && end <= w->steps[low - 1].end ? low - 1 : w->step_count;
}

/* What the steps' calls launched, and where the first step may begin. */
static enum tfprof_status extend_steps(struct work *w, struct tfprof_error *error) {
  static const struct { uint16_t table, call, start, end, stream; } tables[2] = {
      {TABLE_kernels, COLUMN_kernels_api_call_id, COLUMN_kernels_start_ns, COLUMN_kernels_end_ns,
       COLUMN_kernels_thread_id},
      {TABLE_transfers, COLUMN_transfers_api_call_id, COLUMN_transfers_start_ns, COLUMN_transfers_end_ns,
       COLUMN_transfers_thread_id}};
  struct step_reach reach = {NULL, NULL};
  bool *is_main = NULL;
  int64_t *call_starts = NULL, *call_ends = NULL, previous = w->steps[0].start;
  uint32_t call_count, stream_count, hint = 0;
  bool has_work = false;
  enum tfprof_status status = derive_row_count(w->profile, TABLE_api_calls, &call_count, error);
  if (!status)
    status = derive_all_integers(w->profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &call_starts, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_api_calls, COLUMN_api_calls_end_ns, &call_ends, error);
  if (!status) status = derive_row_count(w->profile, TABLE_threads, &stream_count, error);
  if (!status && !w->is_numbered) status = step_reach_main_streams(w->profile, &is_main, error);
  if (!status && !w->is_numbered) status = step_reach_find(w->profile, &reach, error);
  /* The second round needs the first work of the first step. */
  for (unsigned round = 0; round < 2 && !status; round++) {
    for (unsigned t = 0; t < 2 && !status; t++) {
      const struct profile_table *content = &w->profile->tables[tables[t].table];
      for (size_t s = 0; s < content->segment_count && !status; s++) {
        const struct segment *segment = content->segments[s];
        for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
          uint32_t count = derive_block_rows(segment, first);
          int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
          uint32_t calls[ROWS_BLOCK], streams[ROWS_BLOCK];
          derive_integers(segment->columns[tables[t].start], first, count, starts);
          derive_integers(segment->columns[tables[t].end], first, count, ends);
          derive_references(segment->columns[tables[t].stream], first, count, stream_count, streams);
          derive_references(segment->columns[tables[t].call], first, count, call_count, calls);
          for (uint32_t i = 0; i < count; i++) {
            if (starts[i] == NO_VALUE || ends[i] == NO_VALUE) continue;
            if (round && (ends[i] >= w->steps[0].device_start || ends[i] <= previous)) continue;
            uint32_t call = calls[i], step = w->step_count;
            if (call != NO_ROW && call_starts[call] != NO_VALUE && call_ends[call] != NO_VALUE)
              step = step_of(w, call_starts[call], call_ends[call], &hint);
            if (round && step == w->step_count) previous = ends[i];
            if (round || step == w->step_count) continue;
            has_work = true;
            struct step *of = &w->steps[step];
            of->launched++;
            if (starts[i] < of->device_start) of->device_start = starts[i];
            bool is_beside = t && is_main && streams[i] != NO_ROW && !is_main[streams[i]];
            if (ends[i] > of->device_end && !is_beside) of->device_end = ends[i];
          }
        }
        status = derive_poll(w->profile, error);
      }
    }
    if (w->steps[0].device_start == INT64_MAX) break;
  }
  scratch_free(call_starts);
  scratch_free(call_ends);
  for (uint32_t i = 0; i < w->step_count && has_work && !status; i++) {
    struct step *s = &w->steps[i];
    if (reach.starts) {
      s->start = reach.starts[s->row];
      s->end = reach.ends[s->row];
      continue;
    }
    if (previous > s->start) s->start = previous;
    if (s->device_end > s->end) s->end = s->device_end;
    if (s->end < s->start) s->end = s->start;
    previous = s->end;
  }
  step_reach_free(&reach);
  scratch_free(is_main);
  if (has_work && w->step_count > 1 && !w->is_numbered && !status) {
    uint32_t last = w->step_count - 1;
    while (last && !w->steps[last].launched) last--;
    bool is_cut = last && (double)w->steps[last - 1].launched * 0.8 > (double)w->steps[last].launched;
    w->step_count = last + !is_cut;
  }
  return status;
}

/* ---- intervals ---- */

static enum step_category of_kernel(const char *kind, bool *is_wanted) {
  (void)is_wanted;
  if (strcmp(kind, "infeed") == 0) return STEP_MEMCPY_HTOD;
  if (strcmp(kind, "outfeed") == 0) return STEP_MEMCPY_DTOH;
  return strcmp(kind, "communication") == 0 ? STEP_COMMUNICATION : STEP_KERNEL;
}
static enum step_category of_copy(const char *direction, bool *is_wanted) {
  *is_wanted = *direction; /* fills have none */
  if (strcmp(direction, "HtoD") == 0) return STEP_MEMCPY_HTOD;
  if (strcmp(direction, "DtoH") == 0) return STEP_MEMCPY_DTOH;
  return strcmp(direction, "DtoD") == 0 ? STEP_MEMCPY_DTOD : STEP_MEMCPY;
}
static enum step_category of_transfer(const char *kind, bool *is_wanted) {
  bool is_exchange = strcmp(kind, "exchange") == 0;
  *is_wanted = is_exchange || strcmp(kind, "memset") == 0;
  return is_exchange ? STEP_COMMUNICATION : STEP_MEMSET;
}
static enum step_category of_call(const char *domain, bool *is_wanted) {
  (void)domain;
  (void)is_wanted;
  return STEP_RUNTIME;
}
static enum step_category of_compilation(const char *kind, bool *is_wanted) {
  (void)kind;
  (void)is_wanted;
  return STEP_COMPILATION;
}
static enum step_category of_op(const char *name, bool *is_wanted) {
  *is_wanted = strncmp(name, "ProfilerStep", 12) != 0;
  if (strncmp(name, "enumerate(DataLoader)#", 22) == 0 || strncmp(name, "enumerate(DataPipe)#", 20) == 0 ||
      strncmp(name, "IteratorGetNext", 15) == 0)
    return STEP_DATA_LOADER;
  return strncmp(name, "nccl:", 5) == 0 || strncmp(name, "gloo:", 5) == 0 ? STEP_COMMUNICATION : STEP_CPU;
}

/* Of sources that number their steps. */
static enum step_category of_caused_op(const char *name, bool *is_wanted) {
  static const char *const enclosing[] = {"EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun"};
  for (size_t i = 0; i < sizeof enclosing / sizeof *enclosing; i++) {
    if (strncmp(name, enclosing[i], strlen(enclosing[i])) == 0) *is_wanted = false;
  }
  if (strncasecmp(name, "MemcpyHToD", 10) == 0) return STEP_MEMCPY_HTOD;
  if (is_runtime_compiling(name)) return STEP_COMPILATION;
  return strncasecmp(name, "IteratorGetNext", 15) == 0 ? STEP_DATA_LOADER : STEP_CPU;
}
static enum step_category of_launching_op(const char *name, bool *is_wanted) {
  return strncasecmp(name, "ExecutorState::Process", 22) == 0 ? STEP_RUNTIME : of_caused_op(name, is_wanted);
}

static const struct source_columns {
  uint16_t table, start, end, text;
  int exchange; /* a column that rows have which carry out a collective; -1: no such column */
  enum step_category (*choose)(const char *text, bool *is_wanted);
} sources[] = {
#define SOURCE(table, text, exchange, choose) \
  {TABLE_##table, COLUMN_##table##_start_ns, COLUMN_##table##_end_ns, COLUMN_##table##_##text, exchange, choose}
    SOURCE(kernels, kind, -1, of_kernel),
    SOURCE(transfers, direction, COLUMN_transfers_collective_id, of_copy),
    SOURCE(transfers, kind, -1, of_transfer),
    SOURCE(api_calls, domain, -1, of_call),
    SOURCE(compilations, kind, -1, of_compilation),
    SOURCE(ops, name, COLUMN_ops_collective, of_op)
#undef SOURCE
};

/* Cuts a block of ops to the steps that they are of, which end at `limits`; the end of one that does not count becomes
** NO_VALUE. A stage of the input on the step's own thread `waits`: those of tf.data lie in what asks for an element, or
** on other threads. What the program marked on that thread is work of the host, as XProf has it; the mark of a step is
** none. Of `exchanges` (NULL: there are none) those that are not NO_ROW count in the step that they lie in, on whatever
** thread: the devices of a host are threads, which nothing connects with the step. */
static void cut_to_steps(const struct work *w, const struct segment *segment, uint32_t first, uint32_t count,
                         const string_id *categories, const uint32_t *exchanges, int64_t *starts, int64_t *ends,
                         int64_t *limits, bool *waits) {
  uint32_t steps[ROWS_BLOCK], threads[ROWS_BLOCK], hint = 0;
  string_id types[ROWS_BLOCK], input = derive_known_text(w->profile, "input");
  string_id dataset = derive_known_text(w->profile, "Dataset"), user = derive_known_text(w->profile, "user");
  const struct column *numbers = segment->columns[COLUMN_ops_marked_step];
  derive_texts(segment->columns[COLUMN_ops_op_type], first, count, types);
  derive_references(segment->columns[COLUMN_ops_connected_step], first, count, w->step_rows, steps);
  derive_references(segment->columns[COLUMN_ops_thread_id], first, count, NO_ROW, threads);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = steps[i] == NO_ROW ? NO_ROW : w->step_of_row[steps[i]];
    waits[i] = categories[i] == input && types[i] != dataset;
    limits[i] = NO_VALUE;
    bool is_mark = categories[i] == user, is_step = is_mark && !column_is_null(numbers, first + i);
    if (is_step || starts[i] == NO_VALUE || ends[i] == NO_VALUE) {
      ends[i] = NO_VALUE;
      continue;
    }
    if (!w->is_connected) {
      if (is_mark) ends[i] = NO_VALUE;
      continue;
    }
    if (at == NO_ROW) {
      uint32_t around = step_of(w, starts[i], ends[i], &hint);
      const struct step *step = around < w->step_count ? &w->steps[around] : NULL;
      bool is_exchange = exchanges && exchanges[i] != NO_ROW;
      bool is_inside = step && (is_exchange || (step->thread != NO_ROW && step->thread == threads[i])) &&
                       starts[i] >= step->host_start && ends[i] <= step->host_end;
      if (is_inside) at = around;
    }
    if (at == NO_ROW || (is_mark && w->steps[at].thread != threads[i])) {
      ends[i] = NO_VALUE;
      continue;
    }
    waits[i] &= w->steps[at].thread == threads[i];
    limits[i] = w->steps[at].end;
    if (starts[i] < w->steps[at].start) starts[i] = w->steps[at].start;
    if (ends[i] > w->steps[at].end) ends[i] = w->steps[at].end;
  }
}

/* The intervals of one source, by category. */
static void collect_segment_source(void *context, size_t source, unsigned worker) {
  struct work *w = context;
  const struct source_columns *c = &sources[source];
  const struct profile_table *content = &w->profile->tables[c->table];
  const struct pool *pool = store_pool(w->profile->store);
  uint8_t *known = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* by text: 1 not wanted, 2 + category */
  int failure = known ? atomic_load(&w->failure) : TFPROF_NO_MEMORY;
  bool is_cut = w->is_numbered && source == OPS;
  bool has_exchanges = c->exchange >= 0 && derive_has_value(w->profile, c->table, (unsigned)c->exchange);
  bool has_selves = source == KERNELS && derive_has_value(w->profile, TABLE_kernels, COLUMN_kernels_self_ns);
  bool is_told_by_ops = w->is_numbered && source == COMPILATIONS; /* these are cut to their steps */
  string_id marks[OP_MARKS];
  derive_op_marks(w->profile, marks);
  enum step_category (*choose)(const char *text, bool *is_wanted) =
      !is_cut ? c->choose : w->has_device ? of_launching_op : of_caused_op;
  (void)worker;
  for (size_t s = 0; s < content->segment_count && !failure && !is_told_by_ops; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t first = 0; first < segment->rows && !failure; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], selves[ROWS_BLOCK], limits[ROWS_BLOCK];
      uint32_t exchanges[ROWS_BLOCK];
      bool waits[ROWS_BLOCK];
      string_id texts[ROWS_BLOCK], categories[ROWS_BLOCK];
      derive_integers(segment->columns[c->start], first, count, starts);
      derive_integers(segment->columns[c->end], first, count, ends);
      derive_texts(segment->columns[c->text], first, count, texts);
      if (source == OPS) derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      if (has_selves) derive_integers(segment->columns[COLUMN_kernels_self_ns], first, count, selves);
      if (has_exchanges) derive_references(segment->columns[c->exchange], first, count, NO_ROW, exchanges);
      if (is_cut) {
        cut_to_steps(w, segment, first, count, categories, has_exchanges ? exchanges : NULL, starts, ends, limits,
                     waits);
      }
      for (uint32_t i = 0; i < count && !failure; i++) {
        uint8_t *about = &known[texts[i]];
        if (!*about) {
          bool is_wanted = true;
          enum step_category category = choose(texts[i] ? pool_text(pool, texts[i]) : "", &is_wanted);
          *about = is_wanted ? (uint8_t)(2 + category) : 1;
        }
        unsigned category = is_cut && waits[i] ? (unsigned)STEP_DATA_LOADER : *about - 2u;
        if (has_selves && selves[i] != NO_VALUE && selves[i] < derive_difference(ends[i], starts[i]))
          category = STEP_LOOP;
        if (has_exchanges && exchanges[i] != NO_ROW) category = STEP_COMMUNICATION;
        if (source == OPS && category == STEP_CPU && derive_is_op_mark(marks, categories[i])) category = STEP_MARK;
        bool is_mark = category == STEP_MARK;
        bool is_moment = is_cut && *about > 1 && (is_mark || category == STEP_CPU) && ends[i] == starts[i] &&
                         starts[i] < limits[i];
        if (is_moment && !append_moment(w, starts[i], limits[i], is_mark)) failure = TFPROF_NO_MEMORY;
        if (*about > 1 && !add_interval(&w->of[source][category], starts[i], ends[i])) failure = TFPROF_NO_MEMORY;
      }
      if (store_interrupted(w->profile->store)) failure = TFPROF_INTERRUPTED;
    }
  }
  scratch_free(known);
  if (failure) atomic_store(&w->failure, failure);
}

/* ---- pieces ---- */

/* Puts an interval behind others that begin no later, or into the last of them. */
static struct interval *join_interval(struct interval *first, struct interval *end, const struct interval *next) {
  if (end > first && next->start <= end[-1].end) {
    if (next->end > end[-1].end) end[-1].end = next->end;
    return end;
  }
  *end = *next;
  return end + 1;
}

/* The union of two ascending lists; returns its end. */
static struct interval *unite_lists(const struct interval *a, const struct interval *a_end, const struct interval *b,
                                    const struct interval *b_end, struct interval *to) {
  struct interval *end = to;
  while (a < a_end && b < b_end) end = join_interval(to, end, b->start < a->start ? b++ : a++);
  while (a < a_end) end = join_interval(to, end, a++);
  while (b < b_end) end = join_interval(to, end, b++);
  return end;
}

/* Where runs of ascending intervals end; NULL: no memory. */
static size_t *find_interval_runs(const struct intervals *list, size_t *runs) {
  size_t *ends = NULL, capacity = 0;
  *runs = 0;
  for (size_t i = 1; i <= list->count; i++) {
    if (i < list->count && list->items[i].start >= list->items[i - 1].start) continue;
    if (!grow_intervals((void **)&ends, &capacity, *runs, sizeof *ends)) {
      scratch_free(ends);
      return NULL;
    }
    ends[(*runs)++] = i;
  }
  return ends;
}

/* Makes intervals disjoint and ascending: what ascends already is a list, and neighbouring lists are united in pairs
** until one is left. False: no memory. */
static bool unite_intervals(struct intervals *list) {
  size_t runs = 0, *ends = list->count ? find_interval_runs(list, &runs) : NULL;
  struct interval *from = list->items, *to = runs > 1 ? scratch_allocate(list->count * sizeof *to) : NULL;
  if (!list->count) return true;
  if (!ends || (runs > 1 && !to)) {
    scratch_free(ends);
    scratch_free(to);
    return false;
  }
  if (runs == 1) list->count = (size_t)(unite_lists(from, from + list->count, NULL, NULL, from) - from);
  while (runs > 1) {
    size_t made = 0, begin = 0, at = 0;
    for (size_t i = 0; i < runs; i += 2) {
      size_t middle = ends[i], end = i + 1 < runs ? ends[i + 1] : middle;
      struct interval *next = unite_lists(from + begin, from + middle, from + middle, from + end, to + at);
      begin = end;
      ends[made++] = at = (size_t)(next - to);
    }
    runs = made;
    list->count = at;
    struct interval *swap = from;
    from = to;
    to = swap;
  }
  if (from != list->items) { /* the other one is as large as the intervals, which are fewer now */
    list->items = from;
    list->capacity = 0;
  }
  scratch_free(to);
  scratch_free(ends);
  return true;
}

/* The union of what all sources have of a category. */
static void unite(void *context, size_t category, unsigned worker) {
  struct work *w = context;
  struct intervals *set = &w->sets[category];
  (void)worker;
  for (unsigned source = 0; source < SOURCES; source++) {
    struct intervals *from = &w->of[source][category];
    if (!set->count) { /* most categories have one source */
      struct intervals none = *set;
      *set = *from;
      *from = none;
      continue;
    }
    for (size_t i = 0; i < from->count; i++) {
      if (!add_interval(set, from->items[i].start, from->items[i].end)) atomic_store(&w->failure, TFPROF_NO_MEMORY);
    }
  }
  if (!unite_intervals(set)) atomic_store(&w->failure, TFPROF_NO_MEMORY);
}

/* Ops of the host without length, outside of all others, count until the end of what comes next in their step. This
** follows from how the profiler cuts steps (ToNonOverlappedEvents in tsl/profiler/utils/timespan.h and event_span.cc,
** where an end comes before a beginning at the same time), and is what it shows: programs of XLA on the host hand their
** work to a pool, and only such marks are of the step while it goes on. */
static enum tfprof_status open_moments(struct work *w, enum step_category category, struct tfprof_error *error) {
  struct intervals *from = &w->sets[category], made = {.items = NULL};
  enum tfprof_status status = TFPROF_OK;
  size_t at = 0;
  for (size_t i = 0; i < w->moment_count && !status; i++) {
    int64_t start = w->moments[i].start, limit = w->moments[i].end;
    if (category == STEP_CPU && w->moments[i].row) continue;
    while (at < from->count && from->items[at].end <= start) { /* where one ends it is over */
      if (!add_interval(&made, from->items[at].start, from->items[at].end)) status = error_no_memory(error);
      at++;
    }
    if (at < from->count && from->items[at].start <= start) continue;
    int64_t end = at < from->count && from->items[at].start < limit ? from->items[at].end : limit;
    if (!add_interval(&made, start, end < limit ? end : limit)) status = error_no_memory(error);
  }
  for (; at < from->count && !status; at++)
    if (!add_interval(&made, from->items[at].start, from->items[at].end)) status = error_no_memory(error);
  scratch_free(from->items);
  *from = made;
  return status;
}

/* At one moment, and how many are looked at that may have ended before it. */
enum { MOST_STEPS = 16, MOST_LOOKED_AT = 1024 };

static bool emit(struct work *w, int64_t start, int64_t end, enum step_category category, uint32_t *step) {
  while (*step < w->step_count && w->steps[*step].end <= start) (*step)++;
  unsigned emitted = 0, looked_at = 0; /* since steps overlap each other */
  int64_t until = start;
  for (uint32_t at = *step; at < w->step_count && w->steps[at].start < end; at++) {
    if (w->steps[at].start >= until) emitted = looked_at = 0;
    if (w->steps[at].end > until) until = w->steps[at].end;
    if (looked_at++ == MOST_LOOKED_AT || emitted == MOST_STEPS) {
      w->has_more_steps = true;
      break;
    }
    int64_t from = start > w->steps[at].start ? start : w->steps[at].start;
    int64_t to = end < w->steps[at].end ? end : w->steps[at].end;
    if (to <= from) continue;
    if (!w->take(w->context, &(struct step_piece){from, to, at, w->steps[at].row, category})) return false;
    emitted++;
  }
  return true;
}

/* Marks count where no op goes on, and ops only where ops and marks together do: an op without length may last longer
** among ops alone. */
static enum tfprof_status add_ops_to_marks(struct work *w, struct tfprof_error *error) {
  const struct intervals *ops = &w->of[OPS][STEP_CPU];
  struct intervals *marks = &w->of[OPS][STEP_MARK];
  bool has_marks = marks->count > 0;
  for (size_t i = 0; i < w->moment_count && !has_marks; i++) has_marks = w->moments[i].row;
  for (size_t i = 0; i < ops->count && has_marks; i++) {
    if (!add_interval(marks, ops->items[i].start, ops->items[i].end)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

/* From moment to moment at which an interval begins or ends, of the categories that have any: `next` is that moment of
** each of them, at[] which of its intervals it belongs to; of those that are `inside` one the lowest bit counts. */
static enum tfprof_status sweep(struct work *w, struct tfprof_error *error) {
  static const enum step_category numbered_order[STEP_CATEGORIES] = {
      STEP_KERNEL,      STEP_MEMCPY_HTOD, STEP_MEMCPY_DTOH,   STEP_MEMCPY_DTOD, STEP_MEMCPY,
      STEP_MEMSET,      STEP_DATA_LOADER, STEP_COMMUNICATION, STEP_LOOP,        STEP_RUNTIME,
      STEP_COMPILATION, STEP_CPU,         STEP_MARK,          STEP_OTHER};
  enum step_category present[STEP_CATEGORIES];
  uint32_t ops = 0, ops_and_marks = 0; /* the bits of both; 0: there are no marks */
  int64_t next[STEP_CATEGORIES], since = 0;
  size_t at[STEP_CATEGORIES] = {0};
  uint32_t step = 0, inside = 0, before = 0, rounds = 0;
  unsigned count = 0;
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < STEP_CATEGORIES; i++) {
    enum step_category c = w->is_numbered ? numbered_order[i] : (enum step_category)i;
    if (!w->sets[c].count) continue;
    next[count] = w->sets[c].items[0].start;
    if (c == STEP_CPU) ops = (uint32_t)1 << count;
    if (c == STEP_MARK) ops_and_marks = (uint32_t)1 << count | ops;
    present[count++] = c;
  }
  while (!status) {
    int64_t moment = INT64_MAX;
    for (unsigned i = 0; i < count; i++) moment = next[i] < moment ? next[i] : moment;
    if (moment == INT64_MAX) break;
    for (unsigned i = 0; i < count; i++) {
      if (next[i] != moment) continue;
      const struct intervals *set = &w->sets[present[i]];
      inside ^= (uint32_t)1 << i;
      if (inside >> i & 1) next[i] = set->items[at[i]].end;
      else next[i] = ++at[i] < set->count ? set->items[at[i]].start : INT64_MAX;
    }
    uint32_t counts = ops_and_marks && (inside & ops_and_marks) == ops ? inside & ~ops : inside;
    if ((before & -before) == (counts & -counts)) continue;
    if (before && !emit(w, since, moment, present[__builtin_ctz(before)], &step)) status = error_no_memory(error);
    since = moment;
    before = counts;
    if (!status && ++rounds % ROWS_BLOCK == 0) status = derive_poll(w->profile, error);
  }
  return status;
}

static enum tfprof_status cut(struct work *w, struct tfprof_error *error) {
  uint64_t rows = 0;
  for (unsigned i = 0; i < STEPS; i++) rows += w->profile->tables[sources[i].table].rows;
  derive_parallel(rows, STEPS, collect_segment_source, w);
  for (uint32_t i = 0; i < w->step_count; i++) {
    if (!add_interval(&w->of[STEPS][STEP_OTHER], w->steps[i].start, w->steps[i].end)) return error_no_memory(error);
  }
  enum tfprof_status status = derive_failure(atomic_load(&w->failure), error);
  if (!status) status = add_ops_to_marks(w, error);
  if (!status) derive_parallel(rows, STEP_CATEGORIES, unite, w);
  if (!status) status = derive_failure(atomic_load(&w->failure), error);
  if (!status && w->moment_count) status = lane_span_sort(w->moments, w->moment_count, error);
  if (!status) status = open_moments(w, STEP_CPU, error);
  if (!status && w->sets[STEP_MARK].count) status = open_moments(w, STEP_MARK, error);
  if (!status) status = sweep(w, error);
  if (!status && w->has_more_steps)
    profile_diagnose_once(w->profile, "info", "overlapping_steps", "%s", overlapping);
  return status;
}

enum tfprof_status step_pieces_find(struct profile *profile, step_pieces_take *take, void *context,
                                    struct tfprof_error *error) {
  struct work w = {.profile = profile,
                   .take = take,
                   .context = context,
                   .is_numbered = derive_has_value(profile, TABLE_ops, COLUMN_ops_marked_step),
                   .is_connected = derive_has_value(profile, TABLE_ops, COLUMN_ops_connected_step),
                   .has_device = profile->tables[TABLE_kernels].rows || profile->tables[TABLE_transfers].rows};
  enum tfprof_status status = find_steps(&w, error);
  if (!status && w.step_count) {
    status = extend_steps(&w, error);
    if (!status) status = cut(&w, error);
  }
  for (unsigned i = 0; i < STEP_CATEGORIES; i++) {
    for (unsigned source = 0; source < SOURCES; source++) scratch_free(w.of[source][i].items);
    scratch_free(w.sets[i].items);
  }
  scratch_free(w.steps);
  scratch_free(w.step_of_row);
  scratch_free(w.moments);
  return status;
}
