/* steps_of.c: step_id of rows on host threads: the step in whose span they began, whatever their thread.
**
** Threads other than that of the step (autograd, data loading) work for the step that is going on, so time decides
** alone, but where a source tells what caused what (connected_steps.c): there that step counts. Rows come roughly in
** the order of time and mostly find the step of the row before them (step_lookup.h).
**
** Rows of windows of the framework's own profiler (profiler_windows) that began between two steps are of the one
** before: what a batch has asked for often goes on after its end, as JAX hands work on and returns.  So far only as
** steps and what lies between them last as a rule: an evaluation, or what the program does after its last step, is of
** none.
*/
#include "derive/passes.h"
#include "derive/steps/step_lookup.h"

#include <stdatomic.h>
#include <stdlib.h>

/* So many rows that most of the time all of them are in one step. */
enum { FEW = 128 };

static void find_few(struct step_lookup *lookup, const int64_t *times, uint32_t count, uint32_t *steps) {
  int64_t earliest, latest;
  uint32_t step;
  if (derive_range(times, count, &earliest, &latest) && step_lookup_is_one(lookup, earliest, latest, &step)) {
    for (uint32_t i = 0; i < count; i++) steps[i] = step;
  } else {
    for (uint32_t i = 0; i < count; i++) {
      steps[i] = times[i] == NO_VALUE ? NO_ROW : step_lookup_find(lookup, times[i]);
    }
  }
}

static int by_length(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* The median of how long stretches of steps last, or of what lies between two; 0: there is none. Of many some are
** looked at. */
static int64_t usual_length(const struct step_lookup *lookup, bool is_between) {
  enum { MOST = 2048 };
  int64_t lengths[MOST];
  uint32_t used = 0, every = lookup->count / MOST + 1;
  for (uint32_t i = 0; i + 1 < lookup->count; i++)
    if ((lookup->steps[i] == NO_ROW) == is_between && i / 2 % every == 0 && used < MOST)
      lengths[used++] = derive_difference(lookup->times[i + 1], lookup->times[i]);
  qsort(lengths, used, sizeof *lengths, by_length);
  return used ? lengths[used / 2] : 0;
}

/* How long after the end of a step what begins is of that step, where none goes on; of a single one nobody knows. */
static int64_t following_ns(const struct step_lookup *lookup) {
  if (lookup->count <= 2) return INT64_MAX;
  int64_t between = usual_length(lookup, true), step = usual_length(lookup, false);
  if (between < INT64_MAX / 2) between *= 2;
  return between > step ? between : step;
}

/* Those that lie in none are of the last one before, up to `most` nanoseconds after its end. */
static void follow_steps(struct step_lookup *lookup, const int64_t *times, uint32_t count, int64_t most,
                         uint32_t *steps) {
  for (uint32_t i = 0; i < count; i++) {
    if (steps[i] != NO_ROW || times[i] == NO_VALUE) continue;
    step_lookup_find(lookup, times[i]);
    uint32_t place = lookup->hint;
    bool is_behind = place && times[i] >= lookup->times[place];
    if (is_behind && derive_difference(times[i], lookup->times[place]) <= most) steps[i] = lookup->steps[place - 1];
  }
}

struct search {
  struct profile *profile;
  unsigned table, time_column, step_column;
  int connected_column; /* of the step that is told otherwise; -1: none is */
  const struct step_lookup *lookup;
  int64_t following_ns;
  atomic_int failure; /* an enum tfprof_status */
};

static void take_connected(const struct segment *segment, unsigned column, uint32_t first, uint32_t *steps) {
  const struct column *connected = segment->columns[column];
  if (connected->form == COLUMN_ABSENT) return;
  uint32_t count = derive_block_rows(segment, first), told[ROWS_BLOCK];
  derive_references(connected, first, count, NO_ROW, told);
  for (uint32_t i = 0; i < count; i++) {
    if (told[i] != NO_ROW) steps[i] = told[i];
  }
}

static void search_segment(struct search *search, struct segment *segment) {
  struct step_lookup lookup = *search->lookup; /* with a hint of its own */
  uint32_t *steps = scratch_allocate(segment->rows * sizeof *steps);
  if (!steps) atomic_store(&search->failure, TFPROF_NO_MEMORY);
  for (uint32_t first = 0; first < segment->rows && !atomic_load(&search->failure); first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    int64_t times[ROWS_BLOCK];
    derive_integers(segment->columns[search->time_column], first, count, times);
    for (uint32_t i = 0; i < count; i += FEW) {
      find_few(&lookup, times + i, count - i < FEW ? count - i : FEW, steps + first + i);
    }
    if (segment->is_of_other_kind) follow_steps(&lookup, times, count, search->following_ns, steps + first);
    if (search->connected_column >= 0)
      take_connected(segment, (unsigned)search->connected_column, first, steps + first);
    if (store_interrupted(search->profile->store)) atomic_store(&search->failure, TFPROF_INTERRUPTED);
  }
  if (steps && !atomic_load(&search->failure) && derive_set_segment(segment, search->step_column, steps)) {
    atomic_store(&search->failure, TFPROF_NO_MEMORY);
  }
  scratch_free(steps);
}

static void search_one_of_all(void *context, size_t i, unsigned worker) {
  struct search *search = context;
  (void)worker;
  search_segment(search, search->profile->tables[search->table].segments[i]);
}

/* segment NULL: of all rows. */
static enum tfprof_status steps_of(struct profile *profile, struct segment *segment, unsigned table,
                                   unsigned time_column, unsigned step_column, int connected_column,
                                   struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[table];
  struct step_lookup lookup;
  struct search search = {profile, table, time_column, step_column, connected_column, &lookup, 0, TFPROF_OK};
  if (content->segment_count == 0) return TFPROF_OK;
  enum tfprof_status status = step_lookup_of_profile(&lookup, profile, error);
  bool has_others = content->has_kinds || content->segments[0]->is_of_other_kind;
  if (!status && has_others) search.following_ns = following_ns(&lookup);
  if (!status && lookup.count) {
    if (segment) search_segment(&search, segment);
    else derive_parallel(content->rows, content->segment_count, search_one_of_all, &search);
    status = derive_failure(atomic_load(&search.failure), error);
  }
  step_lookup_free(&lookup);
  return status;
}

#define SUMMARY "The step in whose span a row began, found by a sweep over the steps in the order of time."
/* What a source connects is told before: `connected` is the column, {TABLE, COLUMN}, {0, 0} where there is none. */
#define PASS(table, time_column) PASS_BESIDE(table, time_column, -1, {0, 0})
#define CONNECTED_PASS(table, time_column) \
  PASS_BESIDE(table, time_column, COLUMN_##table##_connected_step, {TABLE_##table, COLUMN_##table##_connected_step})
#define PASS_BESIDE(table, time_column, connected, ...) \
  static enum tfprof_status run_of_##table(struct profile *profile, struct segment *segment, \
                                           struct tfprof_error *error) { \
    return steps_of(profile, segment, TABLE_##table, COLUMN_##table##_##time_column, COLUMN_##table##_step_id, \
                    connected, error); \
  } \
  static enum tfprof_status run_##table(struct profile *profile, struct tfprof_error *error) { \
    return run_of_##table(profile, NULL, error); \
  } \
  const struct derive_pass derive_steps_of_##table = { \
      .name = "steps of " #table, \
      .summary = SUMMARY, \
      .makes_table = -1, \
      .reads = {{TABLE_steps, COLUMN_steps_start_ns}, {TABLE_steps, COLUMN_steps_end_ns}}, \
      .reads_here = {{TABLE_##table, COLUMN_##table##_##time_column}, __VA_ARGS__}, \
      .writes = {{TABLE_##table, COLUMN_##table##_step_id}}, \
      .run = run_##table, \
      .run_segment = run_of_##table, \
  };

CONNECTED_PASS(ops, start_ns)
CONNECTED_PASS(api_calls, start_ns)
PASS(compilations, start_ns)
PASS(instants, time_ns)
PASS(memory_events, time_ns)
PASS(allocations, allocated_ns)
PASS(memory_totals, start_ns)
PASS(node_changes, time_ns)
PASS(module_calls, start_ns)
PASS(node_steps, start_ns)
PASS(node_runs, start_ns)
PASS(python_samples, time_ns)
