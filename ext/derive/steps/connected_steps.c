/* connected_steps.c: ops.connected_step: the step that caused an op, on whatever thread and however late it ran.
**
** Sources such as the profilers of TensorFlow and JAX tell what caused what: an op that hands work on produces a
** context, and the op that does the work, on another thread, consumes it.  The ops that a root causes are found from it
** through the ops inside an op and through contexts, level by level; an op belongs to the root that reaches it first
** (tsl/profiler/utils/group_events.cc).
**
** Roots are rows with a level, the highest first, then the earliest.  One that is reached already, or lies inside
** another of its level, is none; nor are functions that the input pipeline calls, by the number of the call.  A context
** that 64 ops or more produce and as many consume connects nothing.  What a thread of a pool does between the marks
** around a task lies in the first of them, which consumes the task's context, and a step's mark that crosses a call has
** in it what it encloses (line_parents.h).  An executor and the iterators that its iteration asks (the same call and
** iteration) are connected as well.
**
** The step is that which the root marks or lies in.  What no root reaches has none here, and goes by time
** (steps_of.c).
*/
#include "derive/passes.h"
#include "derive/rows.h"
#include "derive/steps/line_parents.h"

#include <stdlib.h>
#include <string.h>

enum { CROWD = 64, MAXIMUM_NESTED_ROOTS = 64 };
#define NOT_KNOWN (NO_ROW - 1)
#define BEING_FOUND (NO_ROW - 2)

/* Rows by the context that they produce or consume. */
struct context {
  int64_t key;
  uint32_t row;
};
struct context_list {
  struct context *items; /* in buckets of like hashes, each by key and row */
  uint32_t *starts;      /* of the buckets, and where the last ends */
  uint32_t count;
  unsigned bits; /* of the hash, which are the bucket's number */
};

struct connecting {
  struct profile *profile;
  uint32_t rows;
  uint32_t *parents, *first_children, *siblings, *steps; /* by op; `steps`: of the root that reached it */
  uint32_t *roots_above;                                 /* by op: the innermost row with a level around it */
  bool *is_reached;
  int64_t *levels, *calls;
  struct context_list produced, consumed, executed, asked;
};

struct connection_root {
  int64_t level, start;
  uint32_t row;
};

static int by_key(const void *left, const void *right) {
  const struct context *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static uint32_t bucket_of(int64_t key, unsigned bits) {
  return (uint32_t)(((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits));
}

/* Puts items with one key next to each other. Most come in order, so that few buckets are left to sort. */
static bool sort_contexts(struct context_list *list) {
  list->bits = 1;
  while (list->bits < 31 && list->count >> list->bits > 1) list->bits++;
  uint32_t buckets = UINT32_C(1) << list->bits, *ends;
  struct context *sorted = scratch_allocate(((size_t)list->count + 1) * sizeof *sorted);
  list->starts = scratch_allocate_zeroed((size_t)buckets + 2, sizeof *list->starts);
  if (!sorted || !list->starts) {
    scratch_free(sorted);
    return false;
  }
  ends = list->starts + 1; /* while the items are put there, where each bucket's next one comes */
  for (uint32_t i = 0; i < list->count; i++) ends[bucket_of(list->items[i].key, list->bits) + 1]++;
  for (uint32_t i = 0; i < buckets; i++) ends[i + 1] += ends[i];
  for (uint32_t i = 0; i < list->count; i++) sorted[ends[bucket_of(list->items[i].key, list->bits)]++] = list->items[i];
  scratch_free(list->items);
  list->items = sorted;
  for (uint32_t i = 0; i < buckets; i++) {
    uint32_t first = list->starts[i], end = list->starts[i + 1], at = first + 1;
    while (at < end && by_key(&sorted[at - 1], &sorted[at]) <= 0) at++;
    if (at < end) qsort(sorted + first, end - first, sizeof *sorted, by_key);
  }
  return true;
}

static int by_level_and_start(const void *left, const void *right) {
  const struct connection_root *a = left, *b = right;
  if (a->level != b->level) return a->level > b->level ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static void contexts_free(struct context_list *list) {
  scratch_free(list->items);
  scratch_free(list->starts);
}

static void connecting_free(struct connecting *c) {
  scratch_free(c->parents);
  scratch_free(c->first_children);
  scratch_free(c->siblings);
  scratch_free(c->steps);
  scratch_free(c->roots_above);
  scratch_free(c->is_reached);
  scratch_free(c->levels);
  scratch_free(c->calls);
  contexts_free(&c->produced);
  contexts_free(&c->consumed);
  contexts_free(&c->executed);
  contexts_free(&c->asked);
}

/* ---- what is connected ---- */

static enum tfprof_status list_contexts(const struct connecting *c, unsigned column, struct context_list *list,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  list->items = scratch_allocate(((size_t)c->rows + 1) * sizeof *list->items);
  if (!list->items) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_ops, &block, &status, error);) {
    int64_t keys[ROWS_BLOCK];
    block_integers(&block, column, keys);
    for (uint32_t i = 0; i < block.count; i++) {
      if (keys[i] != NO_VALUE) list->items[list->count++] = (struct context){keys[i], (uint32_t)block.row + i};
    }
  }
  if (!status && !sort_contexts(list)) status = error_no_memory(error);
  return status;
}

static bool is_prefix(const char *text, const char *prefix) {
  return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* One number for a call and an iteration of it. */
static int64_t key_of_iteration(int64_t call, int64_t iteration) {
  uint64_t hash = ((uint64_t)call * UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)iteration;
  hash *= UINT64_C(0xbf58476d1ce4e5b9);
  return (int64_t)((hash ^ hash >> 31) >> 1);
}

/* Executors and iterators, by call and iteration. *functions gets the calls of functions of the input pipeline. */
static enum tfprof_status list_iterations(struct connecting *c, struct context_list *functions,
                                          struct tfprof_error *error) {
  const struct pool *pool = store_pool(c->profile->store);
  enum tfprof_status status = TFPROF_OK;
  size_t size = ((size_t)c->rows + 1) * sizeof(struct context);
  string_id executor = derive_known_text(c->profile, "ExecutorState::Process");
  c->executed.items = scratch_allocate(size);
  c->asked.items = scratch_allocate(size);
  functions->items = scratch_allocate(size);
  if (!c->executed.items || !c->asked.items || !functions->items) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK], last = 0;
    int64_t iterations[ROWS_BLOCK];
    bool is_iterator = false, is_function = false;
    block_texts(&block, COLUMN_ops_name, names);
    block_integers(&block, COLUMN_ops_iteration, iterations);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      if (c->calls[row] == NO_VALUE) continue;
      if (names[i] != last) {
        const char *name = pool_text(pool, names[i]);
        is_iterator = is_prefix(name, "IteratorGetNext");
        is_function = is_prefix(name, "InstantiatedCapturedFunction::");
        last = names[i];
      }
      if (is_function) functions->items[functions->count++] = (struct context){c->calls[row], row};
      if (iterations[i] == NO_VALUE) continue;
      struct context context = {key_of_iteration(c->calls[row], iterations[i]), row};
      if (names[i] == executor) c->executed.items[c->executed.count++] = context;
      else if (is_iterator) c->asked.items[c->asked.count++] = context;
    }
  }
  if (status) return status;
  bool ok = sort_contexts(&c->executed) && sort_contexts(&c->asked) && sort_contexts(functions);
  return ok ? TFPROF_OK : error_no_memory(error);
}

/* The first of the key's bucket whose key is not less, or with `is_behind` is greater. */
static uint32_t bound_of_context(const struct context_list *list, int64_t key, bool is_behind) {
  uint32_t bucket = bucket_of(key, list->bits), low = list->starts[bucket], high = list->starts[bucket + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (list->items[middle].key < key || (is_behind && list->items[middle].key == key)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The slice of a list that has the key. */
static uint32_t find_context(const struct context_list *list, int64_t key, uint32_t *count) {
  uint32_t first = bound_of_context(list, key, false);
  *count = bound_of_context(list, key, true) - first;
  return first;
}

static void link_children(struct connecting *c) {
  for (uint32_t row = c->rows; row-- > 0;) {
    uint32_t parent = c->parents[row];
    if (parent == NO_ROW) continue;
    c->siblings[row] = c->first_children[parent];
    c->first_children[parent] = row;
  }
}

/* places[row] becomes 1 + the place of the row in the list. */
static void note_places(const struct context_list *list, uint32_t *places) {
  for (uint32_t i = 0; i < list->count; i++) places[list->items[i].row] = i + 1;
}

/* ---- reaching ---- */

struct reaching {
  struct connecting *c;
  uint32_t *queue, count;
  const uint32_t *produced, *executed; /* by op: 1 + its place in the list; 0: none */
  uint32_t step;
};

static void reach(struct reaching *r, uint32_t row) {
  if (r->c->is_reached[row]) return;
  r->c->is_reached[row] = true;
  r->c->steps[row] = r->step;
  r->queue[r->count++] = row;
}

static void reach_consumers(struct reaching *r, const struct context_list *from, uint32_t place,
                            const struct context_list *to) {
  uint32_t producers, consumers;
  if (!place) return;
  int64_t key = from->items[place - 1].key;
  uint32_t first = find_context(to, key, &consumers);
  if (consumers >= CROWD) {
    find_context(from, key, &producers);
    if (producers >= CROWD) return;
  }
  for (uint32_t i = 0; i < consumers; i++) reach(r, to->items[first + i].row);
}

static void reach_all(struct reaching *r, uint32_t root) {
  r->count = 0;
  reach(r, root);
  for (uint32_t i = 0; i < r->count; i++) {
    uint32_t row = r->queue[i];
    for (uint32_t child = r->c->first_children[row]; child != NO_ROW; child = r->c->siblings[child]) reach(r, child);
    reach_consumers(r, &r->c->produced, r->produced[row], &r->c->consumed);
    reach_consumers(r, &r->c->executed, r->executed[row], &r->c->asked);
  }
}

/* Each row is looked at once. Parents of a damaged file may go round in a circle, in which nothing lies in a root.
** `path` has room for all rows. */
static void find_roots_above(struct connecting *c, uint32_t *path) {
  for (uint32_t row = 0; row < c->rows; row++) c->roots_above[row] = NOT_KNOWN;
  for (uint32_t row = 0; row < c->rows; row++) {
    uint32_t length = 0, at = row;
    for (; at != NO_ROW && c->roots_above[at] == NOT_KNOWN; at = c->parents[at]) {
      c->roots_above[at] = BEING_FOUND;
      path[length++] = at;
    }
    uint32_t above = at == NO_ROW || c->roots_above[at] == BEING_FOUND ? NO_ROW
                     : c->levels[at] != NO_VALUE                       ? at
                                                                       : c->roots_above[at];
    while (length-- > 0) {
      c->roots_above[path[length]] = above;
      if (c->levels[path[length]] != NO_VALUE) above = path[length];
    }
  }
}

static bool is_inside_root_of_its_level(const struct connecting *c, uint32_t row) {
  uint32_t at = c->roots_above[row];
  for (unsigned i = 0; i < MAXIMUM_NESTED_ROOTS && at != NO_ROW; i++, at = c->roots_above[at]) {
    if (c->levels[at] == c->levels[row]) return true;
  }
  return false;
}

/* ---- the steps that roots mark ---- */

struct step_span {
  int64_t start, end;
  uint32_t thread, step;
};

static int by_span_start(const void *left, const void *right) {
  const struct step_span *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->step < b->step ? -1 : a->step > b->step;
}

/* marks[row] becomes the step that the op marks: the one of its thread and span. */
static enum tfprof_status find_marks(struct connecting *c, uint32_t *marks, struct tfprof_error *error) {
  struct profile *profile = c->profile;
  int64_t *starts = NULL, *ends = NULL;
  uint32_t *threads = NULL, count;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  if (!status) status = derive_all_references(profile, TABLE_steps, COLUMN_steps_thread_id, &threads, error);
  struct step_span *spans = scratch_allocate(((size_t)count + 1) * sizeof *spans);
  if (!status && !spans) status = error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) spans[i] = (struct step_span){starts[i], ends[i], threads[i], i};
  if (!status) qsort(spans, count, sizeof *spans, by_span_start);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    int64_t from[ROWS_BLOCK], to[ROWS_BLOCK];
    uint32_t on[ROWS_BLOCK];
    block_integers(&block, COLUMN_ops_start_ns, from);
    block_integers(&block, COLUMN_ops_end_ns, to);
    block_references(&block, COLUMN_ops_thread_id, NO_ROW, on);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      marks[row] = NO_ROW;
      if (c->levels[row] == NO_VALUE) continue;
      uint32_t low = 0, high = count;
      while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans[middle].start < from[i]) low = middle + 1;
        else high = middle;
      }
      for (; low < count && spans[low].start == from[i]; low++) {
        if (spans[low].end == to[i] && spans[low].thread == on[i]) marks[row] = spans[low].step;
      }
    }
  }
  scratch_free(starts);
  scratch_free(ends);
  scratch_free(threads);
  scratch_free(spans);
  return status;
}

/* The step that a root marks or lies in: those that mark one have a level. */
static uint32_t step_around(const struct connecting *c, const uint32_t *marks, uint32_t root) {
  for (unsigned i = 0; i < MAXIMUM_NESTED_ROOTS && root != NO_ROW; i++, root = c->roots_above[root]) {
    if (marks[root] != NO_ROW) return marks[root];
  }
  return NO_ROW;
}

/* ---- the pass ---- */

static enum tfprof_status connect(struct connecting *c, struct tfprof_error *error) {
  size_t size = ((size_t)c->rows + 1) * sizeof(uint32_t);
  uint32_t *marks = scratch_allocate(size), *produced = scratch_allocate_zeroed((size_t)c->rows + 1, sizeof(uint32_t)),
           *executed = scratch_allocate_zeroed((size_t)c->rows + 1, sizeof(uint32_t));
  struct connection_root *roots = scratch_allocate(((size_t)c->rows + 1) * sizeof *roots);
  struct reaching r = {.c = c, .queue = scratch_allocate(size), .produced = produced, .executed = executed};
  struct context_list functions = {.items = NULL};
  uint32_t root_count = 0, found;
  bool ok = marks && produced && executed && roots && r.queue;
  enum tfprof_status status = ok ? list_iterations(c, &functions, error) : error_no_memory(error);
  if (!status) status = find_marks(c, marks, error);
  if (!status) find_roots_above(c, r.queue);
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_ops, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK];
    block_integers(&block, COLUMN_ops_start_ns, starts);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      if (c->levels[row] == NO_VALUE || starts[i] == NO_VALUE) continue;
      if (c->calls[row] != NO_VALUE) find_context(&functions, c->calls[row], &found);
      if (c->calls[row] != NO_VALUE && found) continue;
      roots[root_count++] = (struct connection_root){c->levels[row], starts[i], row};
    }
  }
  if (!status) {
    qsort(roots, root_count, sizeof *roots, by_level_and_start);
    note_places(&c->produced, produced);
    note_places(&c->executed, executed);
  }
  for (uint32_t i = 0; i < root_count && !status; i++) {
    uint32_t row = roots[i].row;
    if (c->is_reached[row] || is_inside_root_of_its_level(c, row)) continue;
    r.step = step_around(c, marks, row);
    reach_all(&r, row);
    status = derive_poll(c->profile, error);
  }
  scratch_free(marks);
  scratch_free(produced);
  scratch_free(executed);
  scratch_free(roots);
  scratch_free(r.queue);
  contexts_free(&functions);
  return status;
}

static bool has_none(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t i = 0; i < ops->segment_count; i++) {
    if (column_set_has(&ops->segments[i]->is_raw, COLUMN_ops_root_level)) return false;
  }
  return true;
}

static enum tfprof_status run_connected_steps(struct profile *profile, struct tfprof_error *error) {
  struct connecting c = {.profile = profile};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &c.rows, error);
  if (status || !c.rows || !profile->tables[TABLE_steps].rows) return status;
  c.first_children = scratch_allocate(((size_t)c.rows + 1) * sizeof *c.first_children);
  c.siblings = scratch_allocate(((size_t)c.rows + 1) * sizeof *c.siblings);
  c.steps = scratch_allocate(((size_t)c.rows + 1) * sizeof *c.steps);
  c.roots_above = scratch_allocate(((size_t)c.rows + 1) * sizeof *c.roots_above);
  c.is_reached = scratch_allocate_zeroed((size_t)c.rows + 1, sizeof *c.is_reached);
  if (!c.first_children || !c.siblings || !c.steps || !c.roots_above || !c.is_reached) status = error_no_memory(error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_parent_id, &c.parents, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_root_level, &c.levels, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_call, &c.calls, error);
  if (!status) status = line_parents_find(profile, c.parents, error);
  if (!status) status = list_contexts(&c, COLUMN_ops_produced_context, &c.produced, error);
  if (!status) status = list_contexts(&c, COLUMN_ops_consumed_context, &c.consumed, error);
  if (!status) {
    memset(c.first_children, 0xff, c.rows * sizeof *c.first_children); /* NO_ROW */
    memset(c.siblings, 0xff, c.rows * sizeof *c.siblings);
    memset(c.steps, 0xff, c.rows * sizeof *c.steps);
    link_children(&c);
    status = connect(&c, error);
  }
  if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_connected_step, c.steps, error);
  connecting_free(&c);
  return status;
}

const struct derive_pass derive_connected_steps = {
    .name = "connected steps",
    .summary = "The step whose mark causes an op, through nesting and the contexts that threads hand to each other.",
    .makes_table = -1,
    .is_idle = has_none,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_depth},
              {TABLE_ops, COLUMN_ops_root_level},
              {TABLE_ops, COLUMN_ops_produced_context},
              {TABLE_ops, COLUMN_ops_consumed_context},
              {TABLE_ops, COLUMN_ops_iteration},
              {TABLE_ops, COLUMN_ops_call},
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_steps, COLUMN_steps_thread_id}},
    .writes = {{TABLE_ops, COLUMN_ops_connected_step}},
    .run = run_connected_steps,
};

/* ---- calls: as the op that made them ---- */

static enum tfprof_status run_connected_calls(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *ops = NULL, *steps = NULL, op_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &op_count, error);
  if (status || !rows) return status;
  status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, &ops, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_connected_step, &steps, error);
  for (uint32_t i = 0; i < rows && !status; i++) ops[i] = ops[i] < op_count ? steps[ops[i]] : NO_ROW;
  if (!status) status = derive_set_references(profile, TABLE_api_calls, COLUMN_api_calls_connected_step, ops, error);
  scratch_free(ops);
  scratch_free(steps);
  return status;
}

const struct derive_pass derive_connected_steps_of_api_calls = {
    .name = "connected steps of api_calls",
    .summary = "The connected step of the op that made a call.",
    .makes_table = -1,
    .is_idle = has_none,
    .reads = {{TABLE_api_calls, COLUMN_api_calls_op_id}, {TABLE_ops, COLUMN_ops_connected_step}},
    .writes = {{TABLE_api_calls, COLUMN_api_calls_connected_step}},
    .run = run_connected_calls,
};
