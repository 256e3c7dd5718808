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
** The step is that which the root marks or lies in.  What no root reaches has that of the call that launched it, where
** this is known (launched_runs.h), or else none here, and goes by time (steps_of.c).
*/
#include "base/hash.h"
#include "derive/groups.h"
#include "derive/passes.h"
#include "derive/rows.h"
#include "derive/steps/launched_runs.h"
#include "derive/steps/line_parents.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD = 64, MAXIMUM_NESTED_ROOTS = 64 };
#define NOT_KNOWN (NO_ROW - 1)
#define BEING_FOUND (NO_ROW - 2)

/* Which rows have the same key as a row that hands work on: what it caused. */
struct hand_overs {
  struct groups keys;
  uint32_t *key_of;    /* by row: 1 + the number of the key that it hands over; 0: none */
  uint32_t *takers;    /* rows that took it, key by key, each's in order */
  uint32_t *first_of;  /* by key: where its takers begin, and those of the next */
  uint32_t *givers;    /* by key: how many rows hand it over */
  uint32_t key_room;
};

/* A row with a level. */
struct connection_root {
  int64_t level, start, end, call;
  uint32_t row, thread, step; /* `step`: that it marks */
};

struct connecting {
  struct profile *profile;
  uint32_t rows;
  uint32_t *parents, *first_children, *siblings, *steps; /* by op; `steps`: of the root that reached it */
  bool *is_reached;
  struct connection_root *roots; /* by row */
  uint32_t root_count, root_room;
  bool *is_root;         /* by op */
  uint32_t *roots_above; /* by op, of roots: the innermost other root around it */
  struct hand_overs contexts, iterations;
  int64_t *functions; /* calls of functions of the input pipeline, ascending */
  uint32_t function_count, function_room;
  atomic_int failure; /* an enum tfprof_status */
};

static void hand_overs_free(struct hand_overs *h) {
  groups_free(&h->keys);
  scratch_free(h->key_of);
  scratch_free(h->takers);
  scratch_free(h->first_of);
  scratch_free(h->givers);
}

static void connecting_free(struct connecting *c) {
  scratch_free(c->parents);
  scratch_free(c->first_children);
  scratch_free(c->siblings);
  scratch_free(c->steps);
  scratch_free(c->is_reached);
  scratch_free(c->roots);
  scratch_free(c->is_root);
  scratch_free(c->roots_above);
  scratch_free(c->functions);
  hand_overs_free(&c->contexts);
  hand_overs_free(&c->iterations);
}

/* Whether no row of the block has a value in the column, which is seen at once where none of the segment has. */
static bool is_empty(const struct row_block *block, unsigned column) {
  return derive_find_value(block->segment->columns[column], block->first) >= block->first + block->count;
}

/* ---- what is handed over ---- */

/* The number of a key, which has a place in first_of and givers; NO_ROW: no memory. */
static uint32_t number_of_key(struct hand_overs *h, int64_t key) {
  uint32_t known = h->keys.count, number = groups_number(&h->keys, &key);
  if (number != known) return number;
  if (known + 2 > h->key_room) { /* one more, where the last ends */
    uint32_t room = h->key_room;
    uint32_t *first_of = scratch_grow(h->first_of, known + 1, &room, 1024, sizeof *first_of);
    if (!first_of) return NO_ROW;
    h->first_of = first_of;
    uint32_t *givers = scratch_resize(h->givers, (size_t)room * sizeof *givers);
    if (!givers) return NO_ROW;
    h->givers = givers;
    h->key_room = room;
  }
  h->first_of[known] = h->first_of[known + 1] = h->givers[known] = 0;
  return number;
}

/* Says of each row of a block what it takes or hands over, NO_VALUE: nothing. */
typedef void read_keys(struct connecting *c, const struct row_block *block, bool gives, int64_t *keys);

static enum tfprof_status number_keys(struct connecting *c, struct hand_overs *h, bool gives, read_keys *read) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_ops, &block, &status, NULL);) {
    int64_t keys[ROWS_BLOCK];
    read(c, &block, gives, keys);
    for (uint32_t i = 0; i < block.count; i++) {
      if (keys[i] == NO_VALUE) continue;
      uint32_t number = number_of_key(h, keys[i]);
      if (number == NO_ROW) return TFPROF_NO_MEMORY;
      h->key_of[block.row + i] = number + 1;
      (gives ? h->givers : h->first_of)[number]++;
    }
  }
  return status;
}

/* First who takes what, so that takers can be put together by key; then who gives it. */
static enum tfprof_status find_hand_overs(struct connecting *c, struct hand_overs *h, read_keys *read) {
  h->keys.width = 1;
  h->key_of = scratch_allocate_zeroed((size_t)c->rows + 1, sizeof *h->key_of);
  if (!h->key_of) return TFPROF_NO_MEMORY;
  enum tfprof_status status = number_keys(c, h, false, read);
  uint32_t taker_count = 0;
  for (uint32_t i = 0; i < h->keys.count; i++) { /* how many become where they begin */
    uint32_t count = h->first_of[i];
    h->first_of[i] = taker_count;
    taker_count += count;
  }
  h->takers = scratch_allocate(((size_t)taker_count + 1) * sizeof *h->takers);
  if (!h->takers) return TFPROF_NO_MEMORY;
  for (uint32_t row = 0; row < c->rows && !status && taker_count; row++) {
    if (h->key_of[row]) h->takers[h->first_of[h->key_of[row] - 1]++] = row;
  }
  for (uint32_t i = h->keys.count; i > 0; i--) h->first_of[i] = h->first_of[i - 1]; /* each has moved to its end */
  if (h->keys.count) h->first_of[0] = 0;
  memset(h->key_of, 0, c->rows * sizeof *h->key_of);
  uint32_t taken = h->keys.count;
  if (!status && taken) status = number_keys(c, h, true, read);
  for (uint32_t i = taken; i < h->keys.count; i++) h->first_of[i] = h->first_of[i + 1] = taker_count; /* by nobody */
  return status;
}

static void read_contexts(struct connecting *c, const struct row_block *block, bool gives, int64_t *keys) {
  (void)c;
  block_integers(block, gives ? COLUMN_ops_produced_context : COLUMN_ops_consumed_context, keys);
}

static bool is_prefix(const char *text, const char *prefix) {
  return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* One number for a call and an iteration of it. */
static int64_t key_of_iteration(int64_t call, int64_t iteration) {
  uint64_t hash = ((uint64_t)call * HASH_FACTOR_1) ^ (uint64_t)iteration;
  hash *= HASH_FACTOR_2;
  return (int64_t)((hash ^ hash >> 31) >> 1);
}

/* Executors hand the iteration of a call over to the iterators that are asked in it. */
static void read_iterations(struct connecting *c, const struct row_block *block, bool gives, int64_t *keys) {
  const struct pool *pool = store_pool(c->profile->store);
  string_id executor = derive_known_text(c->profile, "ExecutorState::Process"), names[ROWS_BLOCK], last = 0;
  int64_t calls[ROWS_BLOCK];
  bool is_iterator = false;
  block_integers(block, COLUMN_ops_iteration, keys);
  if (is_empty(block, COLUMN_ops_iteration)) return;
  block_integers(block, COLUMN_ops_call, calls);
  block_texts(block, COLUMN_ops_name, names);
  for (uint32_t i = 0; i < block->count; i++) {
    if (keys[i] == NO_VALUE) continue;
    if (names[i] != last) {
      is_iterator = is_prefix(pool_text(pool, names[i]), "IteratorGetNext");
      last = names[i];
    }
    bool is_meant = calls[i] != NO_VALUE && (gives ? names[i] == executor : is_iterator);
    keys[i] = is_meant ? key_of_iteration(calls[i], keys[i]) : NO_VALUE;
  }
}

/* ---- functions of the input pipeline ---- */

static int by_call(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

/* `is_function`, by name: 1 it is none, 2 it is one. */
static enum tfprof_status list_functions(struct connecting *c) {
  const struct pool *pool = store_pool(c->profile->store);
  uint8_t *is_function = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1);
  enum tfprof_status status = is_function ? TFPROF_OK : TFPROF_NO_MEMORY;
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_ops, &block, &status, NULL);) {
    string_id names[ROWS_BLOCK];
    int64_t calls[ROWS_BLOCK];
    if (is_empty(&block, COLUMN_ops_call)) continue;
    block_texts(&block, COLUMN_ops_name, names);
    block_integers(&block, COLUMN_ops_call, calls);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      uint8_t *about = &is_function[names[i]];
      if (!*about) *about = is_prefix(pool_text(pool, names[i]), "InstantiatedCapturedFunction::") ? 2 : 1;
      if (*about != 2 || calls[i] == NO_VALUE) continue;
      int64_t *functions =
          scratch_grow(c->functions, c->function_count, &c->function_room, 256, sizeof *functions);
      if (!functions) status = TFPROF_NO_MEMORY;
      else c->functions = functions;
      if (functions) functions[c->function_count++] = calls[i];
    }
  }
  if (!status && c->function_count) qsort(c->functions, c->function_count, sizeof *c->functions, by_call);
  scratch_free(is_function);
  return status;
}

static bool is_call_of_function(const struct connecting *c, int64_t call) {
  return call != NO_VALUE && c->function_count &&
         bsearch(&call, c->functions, c->function_count, sizeof *c->functions, by_call);
}

/* ---- roots, and the steps that they mark ---- */

struct step_span {
  int64_t start, end;
  uint32_t thread, step;
};

static int by_span_start(const void *left, const void *right) {
  const struct step_span *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->step < b->step ? -1 : a->step > b->step;
}

static enum tfprof_status list_roots(struct connecting *c) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(c->profile, TABLE_ops, &block, &status, NULL);) {
    int64_t levels[ROWS_BLOCK], starts[ROWS_BLOCK], ends[ROWS_BLOCK], calls[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    if (is_empty(&block, COLUMN_ops_root_level)) continue;
    block_integers(&block, COLUMN_ops_root_level, levels);
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_integers(&block, COLUMN_ops_end_ns, ends);
    block_integers(&block, COLUMN_ops_call, calls);
    block_references(&block, COLUMN_ops_thread_id, NO_ROW, threads);
    for (uint32_t i = 0; i < block.count; i++) {
      if (levels[i] == NO_VALUE) continue;
      struct connection_root *roots = scratch_grow(c->roots, c->root_count, &c->root_room, 256, sizeof *roots);
      if (!roots) return TFPROF_NO_MEMORY;
      c->roots = roots;
      c->is_root[block.row + i] = true;
      roots[c->root_count++] = (struct connection_root){
          levels[i], starts[i], ends[i], calls[i], (uint32_t)block.row + i, threads[i], NO_ROW};
    }
  }
  return status;
}

/* root->step becomes the step that the op marks: the one of its thread and span. */
static enum tfprof_status find_marks(struct connecting *c) {
  struct profile *profile = c->profile;
  int64_t *starts = NULL, *ends = NULL;
  uint32_t *threads = NULL, count;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, NULL);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, NULL);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, NULL);
  if (!status) status = derive_all_references(profile, TABLE_steps, COLUMN_steps_thread_id, &threads, NULL);
  struct step_span *spans = status ? NULL : scratch_allocate(((size_t)count + 1) * sizeof *spans);
  if (!status && !spans) status = TFPROF_NO_MEMORY;
  for (uint32_t i = 0; i < count && !status; i++) spans[i] = (struct step_span){starts[i], ends[i], threads[i], i};
  if (!status) qsort(spans, count, sizeof *spans, by_span_start);
  for (uint32_t i = 0; i < c->root_count && !status; i++) {
    struct connection_root *root = &c->roots[i];
    uint32_t low = 0, high = count;
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (spans[middle].start < root->start) low = middle + 1;
      else high = middle;
    }
    for (; low < count && spans[low].start == root->start; low++) {
      if (spans[low].end == root->end && spans[low].thread == root->thread) root->step = spans[low].step;
    }
  }
  scratch_free(starts);
  scratch_free(ends);
  scratch_free(threads);
  scratch_free(spans);
  return status;
}

static const struct connection_root *root_at(const struct connecting *c, uint32_t row) {
  uint32_t low = 0, high = c->root_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (c->roots[middle].row < row) low = middle + 1;
    else high = middle;
  }
  return &c->roots[low];
}

/* Each row is looked at once. Parents of a damaged file may go round in a circle, in which nothing lies in a root.
** `path` has room for all rows. */
static void find_roots_above(struct connecting *c, uint32_t *path) {
  for (uint32_t row = 0; row < c->rows; row++) c->roots_above[row] = NOT_KNOWN;
  for (uint32_t i = 0; i < c->root_count; i++) {
    uint32_t length = 0, at = c->roots[i].row;
    for (; at != NO_ROW && c->roots_above[at] == NOT_KNOWN; at = c->parents[at]) {
      c->roots_above[at] = BEING_FOUND;
      path[length++] = at;
    }
    uint32_t above = at == NO_ROW || c->roots_above[at] == BEING_FOUND ? NO_ROW
                     : c->is_root[at]                                  ? at
                                                                       : c->roots_above[at];
    while (length-- > 0) {
      c->roots_above[path[length]] = above;
      if (c->is_root[path[length]]) above = path[length];
    }
  }
}

static bool is_inside_root_of_its_level(const struct connecting *c, const struct connection_root *root) {
  uint32_t at = c->roots_above[root->row];
  for (unsigned i = 0; i < MAXIMUM_NESTED_ROOTS && at != NO_ROW; i++, at = c->roots_above[at]) {
    if (root_at(c, at)->level == root->level) return true;
  }
  return false;
}

/* The step that a root marks or lies in: those that mark one have a level. */
static uint32_t step_around(const struct connecting *c, const struct connection_root *root) {
  for (unsigned i = 0; i < MAXIMUM_NESTED_ROOTS; i++) {
    if (root->step != NO_ROW) return root->step;
    uint32_t above = c->roots_above[root->row];
    if (above == NO_ROW) break;
    root = root_at(c, above);
  }
  return NO_ROW;
}

static int by_level_and_start(const void *left, const void *right) {
  const struct connection_root *a = left, *b = right;
  if (a->level != b->level) return a->level > b->level ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* ---- reaching ---- */

struct reaching {
  struct connecting *c;
  uint32_t *queue, count;
  uint32_t step;
};

static inline void reach(struct reaching *r, uint32_t row) {
  if (r->c->is_reached[row]) return;
  r->c->is_reached[row] = true;
  r->c->steps[row] = r->step;
  r->queue[r->count++] = row;
}

static inline void reach_takers(struct reaching *r, const struct hand_overs *h, uint32_t row) {
  uint32_t key = h->key_of[row];
  if (!key) return;
  uint32_t first = h->first_of[key - 1], end = h->first_of[key];
  if (end - first >= CROWD && h->givers[key - 1] >= CROWD) return;
  for (uint32_t i = first; i < end; i++) reach(r, h->takers[i]);
}

static void reach_all(struct reaching *r, uint32_t root) {
  r->count = 0;
  reach(r, root);
  for (uint32_t i = 0; i < r->count; i++) {
    uint32_t row = r->queue[i];
    for (uint32_t child = r->c->first_children[row]; child != NO_ROW; child = r->c->siblings[child]) reach(r, child);
    reach_takers(r, &r->c->contexts, row);
    reach_takers(r, &r->c->iterations, row);
  }
}

static enum tfprof_status reach_from_roots(struct connecting *c, struct tfprof_error *error) {
  struct reaching r = {.c = c, .queue = scratch_allocate(((size_t)c->rows + 1) * sizeof *r.queue)};
  struct connection_root *roots = scratch_allocate(((size_t)c->root_count + 1) * sizeof *roots); /* by level */
  enum tfprof_status status = r.queue && roots ? TFPROF_OK : error_no_memory(error);
  uint32_t count = 0;
  if (!status) find_roots_above(c, r.queue);
  for (uint32_t i = 0; i < c->root_count && !status; i++) {
    const struct connection_root *root = &c->roots[i];
    if (root->start != NO_VALUE && !is_call_of_function(c, root->call)) roots[count++] = *root;
  }
  if (!status) qsort(roots, count, sizeof *roots, by_level_and_start);
  for (uint32_t i = 0; i < count && !status; i++) {
    if (c->is_reached[roots[i].row] || is_inside_root_of_its_level(c, &roots[i])) continue;
    r.step = step_around(c, &roots[i]);
    reach_all(&r, roots[i].row);
    status = derive_poll(c->profile, error);
  }
  scratch_free(r.queue);
  scratch_free(roots);
  return status;
}

/* ---- the pass ---- */

static enum tfprof_status link_children(struct connecting *c) {
  memset(c->first_children, 0xff, c->rows * sizeof *c->first_children); /* NO_ROW */
  for (uint32_t row = c->rows; row-- > 0;) {
    uint32_t parent = c->parents[row];
    c->siblings[row] = parent == NO_ROW ? NO_ROW : c->first_children[parent];
    if (parent != NO_ROW) c->first_children[parent] = row;
  }
  return TFPROF_OK;
}

/* What is looked at side by side, each by itself. */
static void look_at_part(void *context, size_t part, unsigned worker) {
  struct connecting *c = context;
  enum tfprof_status status = (enum tfprof_status)atomic_load(&c->failure);
  (void)worker;
  switch (status ? SIZE_MAX : part) {
    case 0: status = find_hand_overs(c, &c->contexts, read_contexts); break;
    case 1: status = link_children(c); break;
    case 2:
      status = list_roots(c);
      if (!status) status = find_marks(c);
      break;
    case 3: status = find_hand_overs(c, &c->iterations, read_iterations); break;
    case 4: status = list_functions(c); break;
    default: break;
  }
  if (status) atomic_store(&c->failure, (int)status);
}
enum { PARTS = 5 };

static bool has_none(const struct profile *profile) {
  if (launched_runs_are_told(profile)) return false;
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t i = 0; i < ops->segment_count; i++) {
    if (column_set_has(&ops->segments[i]->is_raw, COLUMN_ops_root_level)) return false;
  }
  return true;
}

static bool allocate_connections(struct connecting *c) {
  size_t count = (size_t)c->rows + 1;
  c->first_children = scratch_allocate(count * sizeof *c->first_children);
  c->siblings = scratch_allocate(count * sizeof *c->siblings);
  c->steps = scratch_allocate(count * sizeof *c->steps);
  c->roots_above = scratch_allocate(count * sizeof *c->roots_above);
  c->is_reached = scratch_allocate_zeroed(count, sizeof *c->is_reached);
  c->is_root = scratch_allocate_zeroed(count, sizeof *c->is_root);
  if (c->steps) memset(c->steps, 0xff, c->rows * sizeof *c->steps); /* NO_ROW */
  return c->first_children && c->siblings && c->steps && c->roots_above && c->is_reached && c->is_root;
}

static enum tfprof_status run_connected_steps(struct profile *profile, struct tfprof_error *error) {
  struct connecting c = {.profile = profile};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &c.rows, error);
  if (status || !c.rows || !profile->tables[TABLE_steps].rows) return status;
  if (!allocate_connections(&c)) status = error_no_memory(error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_parent_id, &c.parents, error);
  if (!status) status = line_parents_find(profile, c.parents, error);
  if (!status) {
    derive_parallel(c.rows, PARTS, look_at_part, &c);
    status = derive_failure(atomic_load(&c.failure), error);
  }
  if (!status) status = reach_from_roots(&c, error);
  if (!status) status = launched_runs_find(profile, c.steps, error);
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
              {TABLE_steps, COLUMN_steps_thread_id},
              LAUNCHED_RUNS_READ},
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
