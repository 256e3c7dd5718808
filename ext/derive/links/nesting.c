/* nesting.c: ops.parent_id, depth and self_ns: which op called which, from time spans and row order alone.
**
** On one thread the ops of a call stack end in the reverse order of their beginning, so a row that has just ended has
** as its children exactly the earlier rows of its thread that no other row has taken yet and that began no earlier
** than it. A recording writes rows as they end.  One pass with a stack of rows without a parent per thread is
** therefore enough: each row takes from the top of the stack all that began no earlier than itself and is then put
** there itself.  Starts and ends both rise from the bottom of the stack to its top.  Each row is put and taken once:
** linear.  (The same idea as building a tree from its postfix form; the TensorBoard plugin does it from the prefix
** form, sorted by start.)
**
** What counts as nested, precisely: the parent of a row is the row on the same thread that encloses it and ends first.
**   - Equal spans: the row that ended first (comes first in end order) is the child.
**   - Equal ends: the row that began later is the child.  A row of no length that comes after a row which ends at the
**     same moment is not its child, since it came after.
**   - A row of no length has no children, for there is nothing to share out.
**   - A row that overlaps another without lying inside it is not its child, and does not shorten its self_ns.
**   - A row without start or end or thread, or with an end before its start, nests with nothing: parent_id, depth and
**     self_ns are NULL for it.
**
** Ranges of category `user` may be asynchronous: begun on one thread and ended on another, long after the function
** that began them has returned.  By time alone such a range would swallow all ops that its thread happened to run
** until then. It is recognised by crossing: it begins inside a row of another category and outlives it, or ends
** inside one that began later; or it begins inside another user range and outlives that.  Rows of a call stack never
** cross.  Frames of Python do not count there: where they are recorded, every range begins within that of __enter__ or
** start, outlives it, and ends within that of __exit__ or stop.  Such frames lie beside the range.  An asynchronous
** range nests with nothing: parent_id, depth and self_ns are NULL, and rows inside it belong to what is around it.
** (One that by chance crosses nothing cannot be told from a synchronous range and is taken for one.)
**
** Other sources write rows in order of their beginning or in none.  Each thread's rows are checked for end order on
** the way, and where they are not in it, they are brought into it and gone through again; so are the rows of a thread
** on which something crossed, now with the crossing ranges left out.  From start order that takes one sweep with the
** rows that have begun and not ended yet, in end order; from any other a radix sort by start, then by end.  Ties in a
** sorted source: rows of equal spans are parent first if the source is closer to start order, else child first.
**
** self_ns is the duration minus what the direct children cover.  Children that overlap each other (only rows that
** cross do) are counted once, so that it is never negative.  What recording the direct children took, where the source
** tells, is taken off as well: that was paid between them (steps/recording_cost.h).
*/
#include "derive/links/nesting.h"

#include "derive/links/ancestors.h"
#include "derive/links/async_names.h"
#include "derive/steps/sampling.h"
#include "store/scratch.h"

#include <string.h>

/* ---- what recording took ---- */

/* Each record of an op took so much from what is around it. */
static enum tfprof_status take_cost_off(struct nesting *nesting, int64_t of_op, struct tfprof_error *error) {
  string_id op = derive_known_text(nesting->profile, "op"), autograd = derive_known_text(nesting->profile, "autograd");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(nesting->profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t parent = nesting->parents[block.row + i];
      if (parent == NO_ROW || (categories[i] != op && categories[i] != autograd)) continue;
      int64_t *self = &nesting->selves[parent];
      *self = *self > of_op ? *self - of_op : 0;
    }
  }
  return status;
}

static enum tfprof_status take_recording_off(struct nesting *nesting, struct tfprof_error *error) {
  struct sampling sampling;
  enum tfprof_status status = sampling_load(&sampling, nesting->profile, error);
  double of_op = sampling_op_cost(&sampling);
  sampling_free(&sampling);
  return !status && of_op > 0 && of_op < 1e9 ? take_cost_off(nesting, (int64_t)of_op, error) : status;
}

/* ---- the columns ---- */

static enum tfprof_status set_depths(const struct nesting *nesting, struct tfprof_error *error) {
  /* NO_ROW means NULL for references, which is what it means here. */
  return derive_set_references(nesting->profile, TABLE_ops, COLUMN_ops_depth, nesting->depths, error);
}

static enum tfprof_status ask_for_async(const struct nesting *nesting, bool *are_async, struct tfprof_error *error) {
  uint32_t count = atomic_load(&nesting->pair_count);
  struct crossing_names *pairs = scratch_allocate(MOST_PAIRS * sizeof *pairs);
  int64_t *names = NULL, *room = scratch_allocate(2 * sizeof *room * MOST_PAIRS);
  enum tfprof_status status = pairs && room ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(nesting->profile, TABLE_ops, COLUMN_ops_name, &names, error);
  if (count > MOST_PAIRS) count = MOST_PAIRS;
  for (uint32_t i = 0; i < count && !status; i++) {
    const uint32_t *rows = nesting->pairs[i].rows;
    pairs[i] = (struct crossing_names){{names[rows[0]], names[rows[1]]}};
  }
  *are_async = !status && async_names_explain(pairs, count, names, nesting->rows, room);
  scratch_free(names);
  scratch_free(room);
  scratch_free(pairs);
  return status;
}

static const char *const crossing_texts[] = {
    "warning", "crossing_ranges",
    "ranges of one thread cross each other, as those of coroutines do: each of these began inside another one and "
    "outlived it; it has no ops of its own, and those of both may count for the one that began first",
    "crossing_ops",
    "ops of one thread cross each other, each of these began inside another one and outlived it, as calls of a thread "
    "cannot: several processes or threads have its number, as where traces were merged, or ops are asynchronous; which "
    "op called which is not known there; open the file of each process instead where several were merged",
    "info",
    "ops of one thread cross each other, each of these began inside another one and outlived it: a few of their names "
    "are in all of that, so that ops of these are asynchronous and end after the call that began them; which op called "
    "which is not known there", NULL};

static void tell_crossing(struct segment *segment, unsigned column, uint32_t count, const char *severity,
                          const char *reason, const char *message) {
  if (!count) return;
  segment_diagnose(segment, column, severity, reason, count, -1, "%s", message);
  column_set_add(&segment->is_told, column);
}

static enum tfprof_status tell_crossings(struct nesting *nesting, struct tfprof_error *error) {
  struct profile_table *ops = &nesting->profile->tables[TABLE_ops];
  uint32_t crossing = atomic_load(&nesting->crossing_ops);
  bool are_async;
  /* Of other sources lines need be no threads. */
  bool has_threads = strcmp(profile_origin(nesting->profile), "kineto") == 0;
  if (!ops->segment_count) return TFPROF_OK;
  tell_crossing(ops->segments[0], COLUMN_ops_parent_id, atomic_load(&nesting->crossing_ranges), crossing_texts[0],
                crossing_texts[1], crossing_texts[2]);
  if (!has_threads || !crossing) return TFPROF_OK;
  enum tfprof_status status = ask_for_async(nesting, &are_async, error);
  if (!status)
    tell_crossing(ops->segments[0], COLUMN_ops_depth, crossing, crossing_texts[are_async ? 5 : 0], crossing_texts[3],
                  crossing_texts[are_async ? 6 : 4]);
  return status;
}

static enum tfprof_status nest(struct nesting *nesting, struct tfprof_error *error) {
  struct profile *profile = nesting->profile;
  enum tfprof_status status = nesting_of_segments(nesting, error);
  if (!status) status = nesting_again(nesting, error);
  if (!status) derive_number_depths(nesting->parents, nesting->depths, nesting->rows);
  if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_parent_id, nesting->parents, error);
  if (!status) status = set_depths(nesting, error);
  if (!status) status = take_recording_off(nesting, error);
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_self_ns, nesting->selves, error);
  if (!status) status = tell_crossings(nesting, error);
  return status;
}

static void clear_nesting(struct nesting *nesting, size_t segments) {
  for (size_t i = 0; nesting->parts && i < segments; i++) {
    for (uint32_t k = 0; k < nesting->parts[i].count; k++) {
      scratch_free(nesting->parts[i].items[k].stack);
      scratch_free(nesting->parts[i].items[k].reaching);
    }
    scratch_free(nesting->parts[i].items);
  }
  for (unsigned i = 0; i < PARALLEL_MAXIMUM_WORKERS; i++) scratch_free(nesting->part_of[i]);
  scratch_free(nesting->parts);
  scratch_free(nesting->lanes);
  scratch_free(nesting->selves);
}

static enum tfprof_status run_nesting(struct profile *profile, struct tfprof_error *error) {
  struct nesting nesting = {.profile = profile};
  size_t segments = profile->tables[TABLE_ops].segment_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &nesting.rows, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &nesting.lane_count, error);
  if (status) return status;
  size_t rows = (size_t)nesting.rows + 1;
  nesting.parts = scratch_allocate_zeroed(segments + 1, sizeof *nesting.parts);
  nesting.lanes = scratch_allocate_zeroed((size_t)nesting.lane_count + 1, sizeof *nesting.lanes);
  nesting.selves = scratch_allocate(rows * (sizeof *nesting.selves + 2 * sizeof *nesting.parents));
  if (nesting.parts && nesting.lanes && nesting.selves) {
    nesting.parents = (uint32_t *)(nesting.selves + rows);
    nesting.depths = nesting.parents + rows;
    status = nest(&nesting, error);
  } else {
    status = error_no_memory(error);
  }
  clear_nesting(&nesting, segments);
  return status;
}

const struct derive_pass derive_nesting = {
    .name = "nesting",
    .summary = "Which op called which, from spans in end order with a stack per thread; asynchronous ranges left out.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_counters, COLUMN_counters_name},
              {TABLE_counters, COLUMN_counters_time_ns},
              {TABLE_counters, COLUMN_counters_value}},
    .writes = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_depth}, {TABLE_ops, COLUMN_ops_self_ns}},
    .run = run_nesting,
    .has_diagnostics = true,
    .texts = crossing_texts,
};
