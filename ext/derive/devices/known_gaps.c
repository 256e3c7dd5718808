/* known_gaps.c: device_activities.is_device_gap_known and is_stream_gap_known: whether a gap is idle time.
**
** Where work of devices was left out of a step (work_weights.h), what that step launched may have run until the first
** work of the next step on the device, or until the first that comes to light in a step.  A gap that ends there is no
** idle time of the device; of a stream it is none that began before.  On devices that work on several streams the end
** of such work may lie in later gaps, too, which cannot be told.  Nor is it known what ran around work that lies in no
** step.  Where nothing was left out the columns take no memory.
*/
#include "derive/passes.h"
#include "derive/rows.h"
#include "derive/steps/work_weights.h"
#include "derive/groups.h"

#include <stdlib.h>

struct known_gaps {
  struct profile *profile;
  struct work_weights work;
  uint32_t device_count;
  bool *follows;          /* by step: the one before it was left out */
  struct groups firsts;   /* by such a step and device */
  int64_t *first_starts;  /* by number of those */
  uint32_t capacity;
};

struct step_start {
  int64_t start;
  uint32_t step;
};

static int compare_starts(const void *left, const void *right) {
  const struct step_start *a = left, *b = right;
  int order = (a->start > b->start) - (a->start < b->start);
  return order ? order : (a->step > b->step) - (a->step < b->step);
}

static enum tfprof_status find_followers(struct known_gaps *gaps, struct tfprof_error *error) {
  uint32_t count = gaps->work.step_count;
  struct step_start *order = scratch_allocate(((size_t)count + 1) * sizeof *order);
  int64_t *starts = NULL;
  enum tfprof_status status = order ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(gaps->profile, TABLE_steps, COLUMN_steps_start_ns, &starts, error);
  if (!status) {
    for (uint32_t i = 0; i < count; i++) order[i] = (struct step_start){starts[i], i};
    qsort(order, count, sizeof *order, compare_starts);
    for (uint32_t i = 1; i < count; i++)
      gaps->follows[order[i].step] = gaps->work.steps[order[i - 1].step].is_left_out;
  }
  scratch_free(order);
  scratch_free(starts);
  return status;
}

/* What a block needs of its rows. */
struct gap_block {
  int64_t starts[ROWS_BLOCK], previous_ends[ROWS_BLOCK];
  uint32_t steps[ROWS_BLOCK], devices[ROWS_BLOCK];
  string_id kinds[ROWS_BLOCK];
};

static void read_block(const struct known_gaps *gaps, const struct row_block *block, struct gap_block *rows) {
  block_integers(block, COLUMN_device_activities_start_ns, rows->starts);
  block_integers(block, COLUMN_device_activities_previous_end_ns, rows->previous_ends);
  block_references(block, COLUMN_device_activities_step_id, gaps->work.step_count, rows->steps);
  block_references(block, COLUMN_device_activities_device_id, gaps->device_count, rows->devices);
  block_texts(block, COLUMN_device_activities_kind, rows->kinds);
}

static void make_key(const struct gap_block *rows, uint32_t i, int64_t key[2]) {
  key[0] = rows->steps[i];
  key[1] = rows->devices[i] == NO_ROW ? NO_VALUE : (int64_t)rows->devices[i];
}

static bool add_first(struct known_gaps *gaps, const struct gap_block *rows, uint32_t i) {
  int64_t key[2];
  make_key(rows, i, key);
  uint32_t known = gaps->firsts.count, number = groups_number(&gaps->firsts, key);
  if (number == NO_ROW) return false;
  if (number == known) {
    int64_t *starts = scratch_grow(gaps->first_starts, known, &gaps->capacity, 64, sizeof *starts);
    if (!starts) return false;
    gaps->first_starts = starts;
    starts[number] = rows->starts[i];
  } else if (rows->starts[i] < gaps->first_starts[number]) {
    gaps->first_starts[number] = rows->starts[i];
  }
  return true;
}

static enum tfprof_status find_firsts(struct known_gaps *gaps, struct gap_block *rows, struct tfprof_error *error) {
  string_id sync = derive_known_text(gaps->profile, "sync");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0};
       derive_next_block(gaps->profile, TABLE_device_activities, &block, &status, error);) {
    read_block(gaps, &block, rows);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      bool is_first = rows->kinds[i] && rows->kinds[i] != sync && rows->starts[i] != NO_VALUE &&
                      rows->steps[i] != NO_ROW && gaps->follows[rows->steps[i]];
      if (is_first && !add_first(gaps, rows, i)) status = error_no_memory(error);
    }
  }
  return status;
}

/* The start of the first work of its step on its device, NO_VALUE where gaps before that are known, too. */
static int64_t first_start_of(const struct known_gaps *gaps, const struct gap_block *rows, uint32_t i) {
  if (rows->steps[i] == NO_ROW || !gaps->follows[rows->steps[i]]) return NO_VALUE;
  int64_t key[2];
  make_key(rows, i, key);
  uint32_t number = groups_find(&gaps->firsts, key);
  return number == NO_ROW ? NO_VALUE : gaps->first_starts[number];
}

static enum tfprof_status tell_gaps(struct known_gaps *gaps, struct gap_block *rows, struct tfprof_error *error) {
  uint32_t count;
  enum tfprof_status status = derive_row_count(gaps->profile, TABLE_device_activities, &count, error);
  int64_t *of_device = scratch_allocate(((size_t)count + 1) * sizeof *of_device);
  int64_t *of_stream = scratch_allocate(((size_t)count + 1) * sizeof *of_stream);
  if (!status && (!of_device || !of_stream)) status = error_no_memory(error);
  for (struct row_block block = {0};
       derive_next_block(gaps->profile, TABLE_device_activities, &block, &status, error);) {
    read_block(gaps, &block, rows);
    for (uint32_t i = 0; i < block.count; i++) {
      int64_t first = first_start_of(gaps, rows, i), before = rows->previous_ends[i];
      bool is_outside = rows->steps[i] == NO_ROW;
      of_device[block.row + i] = first == NO_VALUE ? !(is_outside && gaps->work.is_thinned) : rows->starts[i] > first;
      of_stream[block.row + i] = !is_outside && (first == NO_VALUE || before == NO_VALUE || before >= first);
    }
  }
  if (!status)
    status = derive_set_integers(gaps->profile, TABLE_device_activities, COLUMN_device_activities_is_device_gap_known,
                                 of_device, error);
  if (!status)
    status = derive_set_integers(gaps->profile, TABLE_device_activities, COLUMN_device_activities_is_stream_gap_known,
                                 of_stream, error);
  scratch_free(of_device);
  scratch_free(of_stream);
  return status;
}

static enum tfprof_status know_all(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[TABLE_device_activities];
  for (size_t i = 0; i < content->segment_count; i++) {
    struct segment *segment = content->segments[i];
    if (segment_set_column(segment, COLUMN_device_activities_is_device_gap_known, column_constant(segment->rows, 1)) ||
        segment_set_column(segment, COLUMN_device_activities_is_stream_gap_known, column_constant(segment->rows, 1)))
      return error_no_memory(error);
  }
  return TFPROF_OK;
}

static enum tfprof_status run_known_gaps(struct profile *profile, struct tfprof_error *error) {
  struct known_gaps gaps = {.profile = profile, .firsts = {.width = 2}};
  enum tfprof_status status = work_weights_load(profile, &gaps.work, error);
  if (!status && !gaps.work.is_thinned && !gaps.work.has_left_out) {
    status = know_all(profile, error);
  } else if (!status) {
    struct gap_block *rows = scratch_allocate(sizeof *rows);
    gaps.follows = scratch_allocate_zeroed((size_t)gaps.work.step_count + 1, sizeof *gaps.follows);
    if (!rows || !gaps.follows) status = error_no_memory(error);
    if (!status) status = derive_row_count(profile, TABLE_devices, &gaps.device_count, error);
    if (!status) status = find_followers(&gaps, error);
    if (!status) status = find_firsts(&gaps, rows, error);
    if (!status) status = tell_gaps(&gaps, rows, error);
    scratch_free(rows);
  }
  groups_free(&gaps.firsts);
  scratch_free(gaps.first_starts);
  scratch_free(gaps.follows);
  scratch_free(gaps.work.steps);
  return status;
}

const struct derive_pass derive_known_gaps = {
    .name = "known gaps",
    .summary = "Gaps of devices and streams in which work may have run that was not recorded, by the steps before.",
    .makes_table = -1,
    .reads = {WORK_WEIGHTS_READ,
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_devices, COLUMN_devices_ordinal},
              {TABLE_device_activities, COLUMN_device_activities_kind},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_previous_end_ns},
              {TABLE_device_activities, COLUMN_device_activities_step_id},
              {TABLE_device_activities, COLUMN_device_activities_device_id}},
    .writes = {{TABLE_device_activities, COLUMN_device_activities_is_device_gap_known},
               {TABLE_device_activities, COLUMN_device_activities_is_stream_gap_known}},
    .run = run_known_gaps,
};
