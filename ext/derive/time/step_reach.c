/* step_reach.c: see step_reach.h. */
#include "derive/time/step_reach.h"

#include <stdlib.h>

static const struct work_columns { uint16_t table, step, device, stream, start, end; } work_tables[] = {
#define WORK(table) \
  {TABLE_##table, COLUMN_##table##_step_id, COLUMN_##table##_device_id, COLUMN_##table##_thread_id, \
   COLUMN_##table##_start_ns, COLUMN_##table##_end_ns}
    WORK(kernels),
    WORK(transfers)
#undef WORK
};
enum { WORK_TABLES = sizeof work_tables / sizeof *work_tables };

/* A block of kernels or transfers; NO_VALUE in starts: not known. */
struct work_block {
  uint32_t count;
  uint32_t steps[ROWS_BLOCK], devices[ROWS_BLOCK], streams[ROWS_BLOCK];
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
  bool computes[ROWS_BLOCK];
};

static void load_work(const struct profile *profile, const struct row_block *block, unsigned t, uint32_t step_count,
                      uint32_t stream_count, struct work_block *work) {
  const struct work_columns *c = &work_tables[t];
  work->count = block->count;
  block_references(block, c->step, step_count, work->steps);
  block_references(block, c->device, NO_ROW, work->devices);
  block_references(block, c->stream, stream_count, work->streams);
  block_integers(block, c->start, work->starts);
  block_integers(block, c->end, work->ends);
  string_id kinds[ROWS_BLOCK], communication = derive_known_text(profile, "communication");
  if (!t) block_texts(block, COLUMN_kernels_kind, kinds);
  for (uint32_t i = 0; i < block->count; i++) {
    work->computes[i] = !t && (!kinds[i] || kinds[i] != communication);
    if (work->ends[i] == NO_VALUE || work->ends[i] < work->starts[i]) work->starts[i] = NO_VALUE;
  }
}

/* ---- main streams ---- */

/* What a stream does for steps: kernels that compute say more than those that communicate, and these than copies. */
enum stream_use { UNUSED, COPIES, COMMUNICATES, COMPUTES };
struct stream { uint32_t device, step, steps; enum stream_use use; int64_t busy; };

static void add_to_streams(struct stream *streams, const struct work_block *work, unsigned t) {
  for (uint32_t i = 0; i < work->count; i++) {
    if (work->steps[i] == NO_ROW || work->streams[i] == NO_ROW || work->starts[i] == NO_VALUE) continue;
    struct stream *stream = &streams[work->streams[i]];
    enum stream_use use = t ? COPIES : work->computes[i] ? COMPUTES : COMMUNICATES;
    if (use < stream->use) continue;
    if (use > stream->use) *stream = (struct stream){work->devices[i], NO_ROW, 0, use, 0};
    if (stream->step != work->steps[i]) stream->steps++;
    stream->step = work->steps[i];
    stream->busy = derive_sum(stream->busy, derive_difference(work->ends[i], work->starts[i]));
  }
}

static int streams_by_rank(const void *left, const void *right) {
  const struct stream *a = *(struct stream *const *)left, *b = *(struct stream *const *)right;
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  if (a->use != b->use) return a->use > b->use ? -1 : 1;
  if (a->steps != b->steps) return a->steps > b->steps ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* Of each device, whose streams stand together, those of most use first: the busiest of those that have work in half as
** many steps as the first, or more. A device that has something to do in a few steps only has none. */
static void choose_main_streams(struct stream **ranked, size_t count, const struct stream *streams, bool *is_main) {
  uint32_t most = 0;
  for (size_t i = 0; i < count; i++) most = ranked[i]->steps > most ? ranked[i]->steps : most;
  for (size_t first = 0, end; first < count; first = end) {
    const struct stream *best = ranked[first];
    for (end = first; end < count && ranked[end]->device == ranked[first]->device; end++) {
      bool competes = ranked[end]->use == ranked[first]->use && ranked[end]->steps >= (ranked[first]->steps + 1) / 2;
      if (competes && ranked[end]->busy > best->busy) best = ranked[end];
    }
    is_main[best - streams] = best->steps >= (most + 1) / 2;
  }
}

enum tfprof_status step_reach_main_streams(struct profile *profile, bool **is_main, struct tfprof_error *error) {
  uint32_t step_count, stream_count;
  *is_main = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &step_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &stream_count, error);
  if (status) return status;
  struct stream *streams = scratch_allocate_zeroed((size_t)stream_count + 1, sizeof *streams);
  struct stream **ranked = scratch_allocate(((size_t)stream_count + 1) * sizeof *ranked);
  struct work_block *work = scratch_allocate(sizeof *work);
  *is_main = scratch_allocate_zeroed((size_t)stream_count + 1, sizeof **is_main);
  if (!streams || !ranked || !work || !*is_main) status = error_no_memory(error);
  for (unsigned t = 0; t < WORK_TABLES && !status; t++) {
    for (struct row_block block = {0}; derive_next_block(profile, work_tables[t].table, &block, &status, error);) {
      load_work(profile, &block, t, step_count, stream_count, work);
      add_to_streams(streams, work, t);
    }
  }
  size_t used = 0;
  for (uint32_t row = 0; row < stream_count && !status; row++)
    if (streams[row].use != UNUSED) ranked[used++] = &streams[row];
  if (!status && used) {
    qsort(ranked, used, sizeof *ranked, streams_by_rank);
    choose_main_streams(ranked, used, streams, *is_main);
  }
  scratch_free(streams);
  scratch_free(ranked);
  scratch_free(work);
  return status;
}

/* ---- ends of the work of steps ---- */

struct reach {
  int64_t start, end;             /* on the host */
  int64_t work_start, work_end;   /* on main streams; NO_VALUE */
  int64_t other_start, other_end; /* of kernels on others */
  int64_t last_launch, last_lost; /* when the last kernels were launched that are there, and are lost */
  uint32_t row, kernels;
};

static int reaches_by_start(const void *left, const void *right) {
  const struct reach *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static void take_in(int64_t *from, int64_t *to, int64_t start, int64_t end) {
  if (*from == NO_VALUE || start < *from) *from = start;
  if (*to == NO_VALUE || end > *to) *to = end;
}

static enum tfprof_status add_work(struct reach *steps, uint32_t count, struct profile *profile,
                                   struct tfprof_error *error) {
  uint32_t stream_count;
  bool *is_main = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &stream_count, error);
  if (!status) status = step_reach_main_streams(profile, &is_main, error);
  struct work_block *work = scratch_allocate(sizeof *work);
  if (!status && !work) status = error_no_memory(error);
  for (unsigned t = 0; t < WORK_TABLES && !status; t++) {
    for (struct row_block block = {0}; derive_next_block(profile, work_tables[t].table, &block, &status, error);) {
      load_work(profile, &block, t, count, stream_count, work);
      for (uint32_t i = 0; i < work->count; i++) {
        if (work->steps[i] == NO_ROW || work->starts[i] == NO_VALUE) continue;
        struct reach *step = &steps[work->steps[i]];
        uint32_t stream = work->streams[i];
        step->kernels += !t;
        if (stream != NO_ROW ? is_main[stream] : !t)
          take_in(&step->work_start, &step->work_end, work->starts[i], work->ends[i]);
        else if (work->computes[i])
          take_in(&step->other_start, &step->other_end, work->starts[i], work->ends[i]);
      }
    }
  }
  scratch_free(work);
  scratch_free(is_main);
  for (uint32_t row = 0; row < count && !status; row++) {
    if (steps[row].work_end != NO_VALUE) continue;
    steps[row].work_start = steps[row].other_start;
    steps[row].work_end = steps[row].other_end;
  }
  return status;
}

static enum tfprof_status add_launches(struct reach *steps, uint32_t count, struct profile *profile,
                                       struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_api_calls, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], lost[ROWS_BLOCK];
    uint32_t of_steps[ROWS_BLOCK];
    block_integers(&block, COLUMN_api_calls_start_ns, starts);
    block_integers(&block, COLUMN_api_calls_lacks_kernel, lost);
    block_references(&block, COLUMN_api_calls_step_id, count, of_steps);
    for (uint32_t i = 0; i < block.count; i++) {
      if (of_steps[i] == NO_ROW || starts[i] == NO_VALUE || lost[i] == NO_VALUE) continue;
      int64_t *last = lost[i] ? &steps[of_steps[i]].last_lost : &steps[of_steps[i]].last_launch;
      if (starts[i] > *last) *last = starts[i];
    }
  }
  return status;
}

/* ---- reach ---- */

/* Writes the ends of the work of steps, NO_VALUE where none is told; returns how many are.  Where `is_strict`, a step
** whose last launches are lost has none, nor has the last one with less than 0.8 of the kernels of the step before it:
** the profiler has stopped before its work was done. */
static uint32_t find_ends(const struct reach *steps, uint32_t count, bool is_strict, int64_t *ends) {
  uint32_t known = 0;
  int64_t later = INT64_MAX;
  bool is_last = true;
  for (uint32_t i = count; i-- > 0;) {
    const struct reach *step = &steps[i];
    bool is_short = is_last && i && steps[i - 1].kernels * 0.8 > step->kernels;
    is_last = is_last && !step->kernels;
    bool is_cut = is_strict && (is_short || step->last_lost > step->last_launch);
    bool is_told = step->work_end != NO_VALUE && !is_cut && step->work_end < later;
    ends[i] = is_told ? step->work_end : NO_VALUE;
    known += is_told;
    if (is_told) later = step->work_end;
  }
  return known;
}

/* Whether the work of steps ends later than the host, by a fifth of the host's time; *last is the last end told. */
static bool runs_ahead(const struct reach *steps, uint32_t count, const int64_t *ends, uint32_t *last) {
  int64_t host_end = steps[0].end;
  *last = count - 1;
  while (ends[*last] == NO_VALUE) --*last;
  for (uint32_t i = 0; i <= *last; i++) host_end = steps[i].end > host_end ? steps[i].end : host_end;
  return derive_difference(ends[*last], host_end) > derive_difference(host_end, steps[0].start) / 5;
}

/* From where on the steps `first` to `last` take their time, after `until` (NO_VALUE: they are the first ones). */
static int64_t begin_of(const struct reach *steps, uint32_t first, uint32_t last, int64_t until, int64_t end) {
  const struct reach *step = &steps[first];
  if (until != NO_VALUE) return until > step->start ? until : step->start;
  if (first < last) return step->start;
  int64_t begin = step->start > step->work_start ? step->start : step->work_start;
  int64_t duration = derive_difference(step->end, step->start);
  return derive_difference(end, begin) < duration ? step->start : begin;
}

/* Of steps by their start; false: the host does not run ahead. */
static bool find_reach(const struct reach *steps, uint32_t count, int64_t *ends, struct step_reach *reach) {
  uint32_t last, first = 0, known = count ? find_ends(steps, count, true, ends) : 0;
  if (known < (count + 1) / 2) known = find_ends(steps, count, false, ends);
  if (!known || known < count / 3 || !runs_ahead(steps, count, ends, &last)) return false;
  int64_t until = NO_VALUE, covered = 0;
  for (uint32_t i = 0; i <= last; i++) {
    if (ends[i] == NO_VALUE) continue;
    int64_t end = ends[i] > steps[i].end ? ends[i] : steps[i].end;
    int64_t begin = begin_of(steps, first, i, until, end);
    if (end <= begin) continue; /* a step before it lasts longer on the host */
    int64_t whole = derive_difference(end, begin), share = whole / (i - first + 1);
    covered = derive_sum(covered, whole);
    for (uint32_t at = first; at <= i; at++) {
      reach->starts[steps[at].row] = begin + share * (at - first);
      reach->ends[steps[at].row] = at < i ? begin + share * (at - first + 1) : end;
    }
    first = i + 1;
    until = end;
  }
  if (!first) return false;
  for (int64_t mean = covered / first; first < count; first++) {
    int64_t duration = derive_difference(steps[first].end, steps[first].start);
    reach->starts[steps[first].row] = until;
    reach->ends[steps[first].row] = until = derive_sum(until, duration > mean ? duration : mean);
  }
  return true;
}

enum tfprof_status step_reach_find(struct profile *profile, struct step_reach *reach, struct tfprof_error *error) {
  int64_t *starts = NULL, *ends = NULL;
  uint32_t rows, count = 0;
  *reach = (struct step_reach){NULL, NULL};
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &rows, error);
  if (status || !rows || !profile->tables[TABLE_kernels].rows) return status;
  struct reach *steps = scratch_allocate((size_t)rows * sizeof *steps);
  reach->starts = scratch_allocate((size_t)rows * sizeof *reach->starts);
  reach->ends = scratch_allocate((size_t)rows * sizeof *reach->ends);
  if (!steps || !reach->starts || !reach->ends) status = error_no_memory(error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &ends, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    steps[row] = (struct reach){.start = starts[row], .end = ends[row], .row = row};
    steps[row].work_start = steps[row].work_end = steps[row].other_start = steps[row].other_end = NO_VALUE;
    steps[row].last_launch = steps[row].last_lost = NO_VALUE;
    reach->starts[row] = reach->ends[row] = NO_VALUE;
  }
  if (!status) status = add_work(steps, rows, profile, error);
  if (!status) status = add_launches(steps, rows, profile, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (steps[row].start != NO_VALUE && steps[row].end != NO_VALUE && steps[row].end >= steps[row].start)
      steps[count++] = steps[row];
  }
  if (!status) qsort(steps, count, sizeof *steps, reaches_by_start);
  if (status || !find_reach(steps, count, ends, reach)) step_reach_free(reach);
  scratch_free(steps);
  scratch_free(starts);
  scratch_free(ends);
  return status;
}

void step_reach_free(struct step_reach *reach) {
  scratch_free(reach->starts);
  scratch_free(reach->ends);
  *reach = (struct step_reach){NULL, NULL};
}
