/* halves.c: what can only be put together when all events are known: ranges, and rows of other tables, that are written
** as two events, and call stacks that are written as links, from python_function to python_function or as the
** stackFrames of the file.
*/
#include <stdlib.h>
#include <string.h>

#include "read/json/number.h"
#include "read/json/trace.h"

/* The Trace Event Format: B and E of one thread form a stack in the order of time, events of equal time in the order of
** the file; b and e (S and F) of one id, category and name do, so that ranges of one id may overlap each other.
**
** An E with a name ends the innermost B of that name: the ends of those inside may be missing, or come later.  One
** without a name ends the innermost; so do all of a file whose ends never have the name of a beginning. */
struct half_order { const struct half_event *halves; };

static int compare_halves(const void *a, const void *b, void *context) {
  const struct half_event *halves = ((struct half_order *)context)->halves;
  uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
  const struct half_event *x = &halves[i], *y = &halves[k];
#define BY(member) \
  if (x->member != y->member) return x->member < y->member ? -1 : 1
  BY(is_async);
  BY(id);
  if (x->is_async) {
    BY(category);
    BY(name);
  }
  BY(time_ns);
#undef BY
  return i < k ? -1 : i > k;
}

static bool same_stack(const struct half_event *x, const struct half_event *y) {
  if (x->is_async != y->is_async || x->id != y->id) return false;
  return !x->is_async || (x->category == y->category && x->name == y->name);
}

static void tally(struct trace *trace, enum problem problem, uint64_t offset) {
  if (trace->problems[problem].count++ == 0) trace->problems[problem].offset = offset;
}

static bool add_range(struct worker *out, const struct half_event *begin, int64_t duration) {
  uint32_t row = worker_row(out, ROWS_ranges);
  if (row == UINT32_MAX) return false;
#define SET(row, column, x) out->values[ROW_ranges_##column][row] = (x)
  SET(row, name, begin->name ? (int64_t)begin->name : ROW_NULL);
  SET(row, category, begin->category ? (int64_t)begin->category : ROW_NULL);
  SET(row, thread_id, begin->lane == INTERN_NONE ? ROW_NULL : (int64_t)begin->lane);
  SET(row, start_ns, begin->time_ns);
  SET(row, dur_ns, duration);
  SET(row, is_process_wide, begin->is_async);
#undef SET
  return true;
}

/* ---- rows that only lack their duration ---- */

struct row_end { uint64_t row; int64_t duration; uint8_t rows; };
LIST_NAMED(end_list, struct row_end);

static bool add_end(struct end_list *ends, unsigned rows, uint64_t row, int64_t duration) {
  if (row == HALF_NO_ROW) return true;
  struct row_end *end = list_add(ends);
  if (end) *end = (struct row_end){row, duration, (uint8_t)rows};
  return end != NULL;
}

static int by_row(const void *left, const void *right) {
  const struct row_end *a = left, *b = right;
  if (a->rows != b->rows) return a->rows < b->rows ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* Sets the durations of rows of one table of a chunk, which come from `at` on; returns where those of others begin. */
static size_t end_rows(struct chunk_table *t, unsigned slot, const struct end_list *ends, size_t at, bool *ok) {
  struct column **column = &t->columns[slot];
  uint8_t rows = ends->items[at].rows;
  int64_t *values = malloc(t->rows * sizeof *values);
  *ok = values != NULL;
  for (uint32_t i = 0; *ok && i < t->rows; i++)
    values[i] = column_is_null(*column, i) ? ROW_NULL : column_integer(*column, i);
  for (; at < ends->count && ends->items[at].rows == rows && ends->items[at].row < t->first_row + t->rows; at++) {
    if (*ok) values[ends->items[at].row - t->first_row] = ends->items[at].duration;
  }
  struct column *made = *ok ? pack_values(values, t->rows, false) : NULL;
  free(values);
  *ok = made != NULL;
  if (made) {
    column_release(*column);
    *column = made;
  }
  return at;
}

/* False: no memory. */
static bool set_durations(struct trace *trace, struct end_list *ends) {
  static const uint16_t slots[ROWS_COUNT] = {[ROWS_ops] = ROW_ops_dur_ns - ROW_FIRST_ops,
      [ROWS_kernels] = ROW_kernels_dur_ns - ROW_FIRST_kernels,
      [ROWS_transfers] = ROW_transfers_dur_ns - ROW_FIRST_transfers,
      [ROWS_api_calls] = ROW_api_calls_dur_ns - ROW_FIRST_api_calls,
      [ROWS_syncs] = ROW_syncs_dur_ns - ROW_FIRST_syncs, [ROWS_ranges] = ROW_ranges_dur_ns - ROW_FIRST_ranges};
  bool ok = true;
  if (ends->count) qsort(ends->items, ends->count, sizeof *ends->items, by_row);
  size_t at = 0;
  for (unsigned table = 0; table < ROWS_COUNT && ends->count; table++) {
    for (size_t c = 0; ok && c < trace->chunks.count; c++) {
      struct chunk_table *t = &trace->chunks.items[c]->tables[table];
      bool is_here = at < ends->count && ends->items[at].rows == table && t->rows &&
                     ends->items[at].row < t->first_row + t->rows;
      if (is_here) at = end_rows(t, slots[table], ends, at, &ok);
    }
  }
  assert(!ok || at == ends->count);
  return ok;
}

/* ---- ends and their beginnings ---- */

struct opened {
  uint32_t half;  /* OPEN_NONE: it has ended, and others that began later have not */
  uint32_t outer; /* where the next one outside of it with its name is */
};
#define OPEN_NONE UINT32_MAX

struct matching {
  struct trace *trace;
  struct worker out;
  struct end_list ends;
  struct far_place *places; /* of the rows of `out` */
  struct opened *open;      /* the stack; what is at its top has not ended */
  uint32_t depth;
  struct row_map names; /* of beginnings; the values: where in the stack the innermost of the name is */
  bool ends_have_names; /* those of beginnings */
};

/* What a beginning and its end make; of one that never ends the duration is ROW_NULL. */

static bool add_pair(struct matching *m, const struct half_event *begin, const struct half_event *end) {
  int64_t duration = end ? end->time_ns - begin->time_ns : ROW_NULL;
  if (!end) tally(m->trace, PROBLEM_UNMATCHED_BEGIN, begin->offset);
  if (begin->rows == ROWS_COUNT) {
    m->places[m->out.rows[ROWS_ranges].count] = (struct far_place){begin->offset, end ? end->offset : FAR_NONE};
    return add_range(&m->out, begin, duration);
  }
  if (end && end->has_more) tally(m->trace, PROBLEM_END_MEMBERS, end->offset);
  return !end || (add_end(&m->ends, begin->rows, begin->row, duration) &&
                  add_end(&m->ends, ROWS_ranges, begin->range_row, duration));
}

static uint32_t number_of_name(const struct matching *m, const struct half_event *half) {
  return row_map_find(&m->names, (struct row_key){{half->name, 0, 0}});
}

static void open_range(struct matching *m, uint32_t half) {
  uint32_t name = number_of_name(m, &m->trace->halves.items[half]);
  m->open[m->depth] = (struct opened){half, m->names.values[name]};
  m->names.values[name] = m->depth++;
}

/* What is at `at` in the stack, the innermost of its name, ends; `end` is NULL where that is not known. */
static bool close_range(struct matching *m, uint32_t at, const struct half_event *end) {
  const struct half_event *begin = &m->trace->halves.items[m->open[at].half];
  m->names.values[number_of_name(m, begin)] = m->open[at].outer;
  m->open[at].half = OPEN_NONE;
  while (m->depth && m->open[m->depth - 1].half == OPEN_NONE) m->depth--;
  return add_pair(m, begin, end);
}

static bool match_end(struct matching *m, const struct half_event *end) {
  uint32_t innermost = m->depth ? m->depth - 1 : OPEN_NONE, at = innermost;
  if (end->name && m->ends_have_names) {
    uint32_t name = number_of_name(m, end);
    at = name == ROW_MAP_NONE ? OPEN_NONE : m->names.values[name];
  }
  if (at == OPEN_NONE) {
    tally(m->trace, PROBLEM_UNMATCHED_END, end->offset);
    return true;
  }
  if (at != innermost) tally(m->trace, PROBLEM_CROSSING_END, end->offset);
  return close_range(m, at, end);
}

/* False: no memory. */
static bool number_names(struct matching *m) {
  const struct half_event *halves = m->trace->halves.items;
  for (size_t i = 0; i < m->trace->halves.count; i++) {
    if (!halves[i].is_begin) continue;
    uint32_t name = row_map_number(&m->names, (struct row_key){{halves[i].name, 0, 0}});
    if (name == ROW_MAP_NONE) return false;
    m->names.values[name] = OPEN_NONE;
  }
  for (size_t i = 0; i < m->trace->halves.count && !m->ends_have_names; i++)
    m->ends_have_names = !halves[i].is_begin && halves[i].name && number_of_name(m, &halves[i]) != ROW_MAP_NONE;
  return true;
}

/* Threads by the order in which they first begin or end something, in place of their hashes. False: no memory. */
static bool number_threads(struct trace *trace) {
  struct half_event *halves = trace->halves.items;
  struct row_map threads = {0};
  bool ok = true;
  for (size_t i = 0; i < trace->halves.count && ok; i++) {
    if (halves[i].is_async) continue;
    uint32_t thread = row_map_number(&threads, (struct row_key){{halves[i].id, 0, 0}});
    halves[i].id = thread;
    ok = thread != ROW_MAP_NONE;
  }
  row_map_free(&threads);
  return ok;
}

enum tfprof_status halves_match(struct trace *trace, struct far_place **places_out) {
  size_t count = trace->halves.count;
  const struct half_event *halves = trace->halves.items;
  *places_out = NULL;
  if (!count) return TFPROF_OK;
  if (count > UINT32_MAX / 2) return TFPROF_LIMIT;
  struct matching m = {.trace = trace};
  if (!worker_init(&m.out)) return TFPROF_NO_MEMORY;
  uint32_t *order = malloc(count * sizeof *order);
  m.open = malloc(count * sizeof *m.open);
  m.places = malloc(count * sizeof *m.places);
  struct chunk *chunk = calloc(1, sizeof *chunk), **slot = NULL;
  bool ok = order && m.open && m.places && chunk && number_threads(trace) && number_names(&m);
  for (size_t i = 0; ok && i < count; i++) order[i] = (uint32_t)i;
  if (ok) qsort_r(order, count, sizeof *order, compare_halves, &(struct half_order){halves});
  for (size_t i = 0; ok && i <= count; i++) {
    const struct half_event *half = i < count ? &halves[order[i]] : NULL;
    bool is_over = m.depth && (!half || !same_stack(&halves[m.open[m.depth - 1].half], half));
    while (is_over && ok && m.depth) ok = close_range(&m, m.depth - 1, NULL);
    if (!half || !ok) break;
    if (half->is_begin) open_range(&m, order[i]);
    else ok = match_end(&m, half);
  }
  ok = ok && set_durations(trace, &m.ends);
  uint32_t rows = m.out.rows[ROWS_ranges].count;
  if (ok && rows) {
    slot = list_add(&trace->chunks);
    ok = slot != NULL;
  }
  if (slot) {
    chunk->tables[ROWS_ranges].rows = rows;
    chunk->tables[ROWS_ranges].first_row = trace->rows[ROWS_ranges];
    trace->rows[ROWS_ranges] += rows;
    *slot = chunk;
    ok = pack_chunk(&m.out, chunk, true) == TFPROF_OK;
    chunk = NULL;
    *places_out = m.places;
    m.places = NULL;
  }
  worker_free(&m.out);
  list_free(&m.ends);
  row_map_free(&m.names);
  free(order);
  free(m.open);
  free(m.places);
  free(chunk);
  return ok ? TFPROF_OK : TFPROF_NO_MEMORY;
}

/* ---- stacks of python_function events ---- */

/* The stack of every frame; parents first, without recursion. A cycle of parents is cut where it is met. */
static bool resolve(struct trace *trace, const struct python_frame *frames, size_t count, uint32_t *stacks) {
  struct row_map by_id = {0}; /* the frame of an id, UINT32_MAX: it is not in the trace */
  uint32_t *path = malloc(count * sizeof *path);
  uint8_t *state = calloc(count, 1); /* 1: on the path, 2: done */
  bool ok = path && state;
  for (size_t i = 0; ok && i < count; i++) {
    if (frames[i].is_of_file) state[i] = 2;
    if (frames[i].id == ROW_NULL || frames[i].is_of_file) continue;
    uint32_t before = by_id.count, at = row_map_number(&by_id, (struct row_key){{(uint64_t)frames[i].id, 0, 0}});
    ok = at != INTERN_NONE;
    if (at == before) by_id.values[at] = (uint32_t)i; /* of several with one id the first */
  }
  for (size_t i = 0; ok && i < count; i++) {
    uint32_t depth = 0, at = (uint32_t)i;
    while (state[at] == 0) {
      state[at] = 1;
      path[depth++] = at;
      if (frames[at].parent == ROW_NULL) break;
      uint32_t before = by_id.count,
               parent = row_map_number(&by_id, (struct row_key){{(uint64_t)frames[at].parent, 0, 0}});
      if (parent == INTERN_NONE) {
        ok = false;
        break;
      }
      if (parent == before) by_id.values[parent] = UINT32_MAX;
      if (by_id.values[parent] == UINT32_MAX) break;
      at = by_id.values[parent];
    }
    uint32_t stack = depth && at != path[depth - 1] && state[at] == 2 ? stacks[at] : 0;
    while (depth) {
      at = path[--depth];
      stack =
          stack_push(trace, stack, pool_text(trace->pool, frames[at].name), pool_length(trace->pool, frames[at].name));
      stacks[at] = stack;
      state[at] = 2;
    }
  }
  row_map_free(&by_id);
  free(path);
  free(state);
  return ok;
}

/* ---- stacks of the file ---- */

/* stackFrames of the Trace Event Format: {"7": {"name": "file(line): function", "parent": "3"}, ...} */
static bool read_stack_frames(struct trace *trace, const struct field *object, struct python_frame **frames,
                              size_t *count) {
  LIST(struct python_frame) list = {0};
  struct field key, value, name, part;
  bool ok = true;
  for (struct member_cursor all = scan_members(object); ok && scan_next(&all, &key, &value);) {
    struct python_frame frame = {ROW_NULL, ROW_NULL, 0, 0, false};
    string_id text = 0;
    if (!number_integer(&key, &frame.id) || value.kind != FIELD_NESTED || value.text[0] != '{') continue;
    for (struct member_cursor parts = scan_members(&value); scan_next(&parts, &name, &part);) {
      int64_t parent;
      if (scan_key_is(&name, "name") && part.kind == FIELD_TEXT) text = header_text(trace, &part);
      else if (scan_key_is(&name, "parent") && number_integer(&part, &parent)) frame.parent = parent;
    }
    if (!text) continue; /* without a name it is none */
    frame.name = text;
    struct python_frame *item = list_add(&list);
    if (item) *item = frame;
    else ok = false;
  }
  *frames = list.items;
  *count = list.count;
  return ok;
}

/* Gives frames that name one of the file's stacks that stack. */
static bool find_stacks(struct trace *trace, const struct python_frame *events, size_t event_count, uint32_t *stacks) {
  const struct member *members = trace->members.items;
  struct python_frame *frames = NULL;
  struct row_map by_id = {0};
  uint32_t *known = NULL;
  size_t count = 0, at = 0;
  bool ok = true;
  while (at < event_count && !events[at].is_of_file) at++;
  for (size_t i = 0; i < trace->members.count && at < event_count && ok; i++) {
    struct field object = {0};
    if (count || strcmp(members[i].key, "stackFrames") != 0) continue;
    scan_value(members[i].value, members[i].value + members[i].value_length + 1, &object);
    if (object.kind == FIELD_NESTED && object.text[0] == '{') ok = read_stack_frames(trace, &object, &frames, &count);
  }
  if (ok && count) ok = (known = calloc(count, sizeof *known)) != NULL && resolve(trace, frames, count, known);
  for (size_t i = 0; ok && i < count; i++) {
    uint32_t before = by_id.count, row = row_map_number(&by_id, (struct row_key){{(uint64_t)frames[i].id, 0, 0}});
    ok = row != INTERN_NONE;
    if (ok && row == before) by_id.values[row] = known[i];
  }
  for (; ok && count && at < event_count; at++) {
    if (!events[at].is_of_file) continue;
    uint32_t before = by_id.count, row = row_map_number(&by_id, (struct row_key){{(uint64_t)events[at].id, 0, 0}});
    ok = row != INTERN_NONE;
    if (ok && row == before) by_id.values[row] = 0; /* the file has no such stack */
    if (ok) stacks[at] = by_id.values[row];
  }
  row_map_free(&by_id);
  free(frames);
  free(known);
  return ok;
}

enum tfprof_status python_stacks(struct trace *trace) {
  const struct python_frame *frames = trace->python_frames.items;
  size_t count = trace->python_frames.count;
  if (!count) return TFPROF_OK;
  uint32_t *stacks = calloc(count, sizeof *stacks);
  if (!stacks || !resolve(trace, frames, count, stacks) || !find_stacks(trace, frames, count, stacks)) {
    free(stacks);
    return TFPROF_NO_MEMORY;
  }
  enum tfprof_status status = TFPROF_OK;
  struct chunk **chunks = trace->chunks.items;
  size_t at = 0;
  for (size_t c = 0; c < trace->chunks.count && !status; c++) {
    struct chunk_table *ops = &chunks[c]->tables[ROWS_ops];
    if (!ops->rows || at == count || frames[at].row >= ops->first_row + ops->rows) continue;
    struct column **column = &ops->columns[ROW_ops_recorded_code_trace - ROW_FIRST_ops];
    int64_t *values = malloc(ops->rows * sizeof *values);
    if (!values) {
      status = TFPROF_NO_MEMORY;
      break;
    }
    for (uint32_t i = 0; i < ops->rows; i++)
      values[i] = column_is_null(*column, i) ? ROW_NULL : column_integer(*column, i);
    for (; at < count && frames[at].row < ops->first_row + ops->rows; at++) {
      if (stacks[at]) values[frames[at].row - ops->first_row] = (int64_t)stacks[at] - 1;
    }
    struct column *made = pack_values(values, ops->rows, false);
    free(values);
    if (!made) status = TFPROF_NO_MEMORY;
    else column_release(*column), *column = made;
  }
  free(stacks);
  return status;
}
