/* optimizer_marks.c: see optimizer_marks.h.
**
** A recorded gradient scaler is a range around each update, in every step; of other profilers' traces the op tells that
** updates the scale.
*/
#include "derive/steps/optimizer_marks.h"

#include <stdio.h>
#include <stdlib.h>

enum { UNKNOWN_KIND, NO_KIND, FIRST_KIND }; /* by name: FIRST_KIND + enum training_mark_kind */

struct found {
  struct training_mark *items;
  uint32_t count, capacity, threads;
  bool has_scaler;
};

static enum tfprof_status add_row(struct profile *profile, const struct segment *segment, uint32_t row, int kind,
                                  struct found *found, struct tfprof_error *error) {
  struct training_mark mark = {.row = (uint32_t)segment->first_row + row, .kind = (uint8_t)kind};
  int64_t optimizer = NO_VALUE;
  derive_references(segment->columns[COLUMN_ops_thread_id], row, 1, found->threads, &mark.thread);
  derive_integers(segment->columns[COLUMN_ops_start_ns], row, 1, &mark.start);
  derive_integers(segment->columns[COLUMN_ops_end_ns], row, 1, &mark.end);
  if (mark.thread == NO_ROW || mark.start == NO_VALUE || mark.end < mark.start) return TFPROF_OK;
  if (kind == STEP_OF_OPTIMIZER) derive_integers(segment->columns[COLUMN_ops_optimizer], row, 1, &optimizer);
  if (kind == STEP_OF_OPTIMIZER && optimizer == NO_VALUE) { /* all of a name are one */
    string_id name;
    derive_texts(segment->columns[COLUMN_ops_name], row, 1, &name);
    optimizer = -1 - (int64_t)name;
  }
  mark.object = (uint64_t)optimizer;
  struct training_mark *items = scratch_grow(found->items, found->count, &found->capacity, 256, sizeof *items);
  if (!items) return error_no_memory(error);
  found->items = items;
  found->items[found->count++] = mark;
  found->has_scaler |= kind == STEP_SCALER;
  return derive_poll(profile, error);
}

/* Rows of one category that are marks by their names. */
static enum tfprof_status find_marked(struct profile *profile, const char *category_name, uint8_t *kinds,
                                      struct found *found, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  string_id category = derive_known_text(profile, category_name);
  enum tfprof_status status = TFPROF_OK;
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    uint32_t row = derive_find_text(categories, 0, category);
    for (; row < segment->rows && !status; row = derive_find_text(categories, row + 1, category)) {
      string_id name;
      derive_texts(segment->columns[COLUMN_ops_name], row, 1, &name);
      if (!name) continue;
      if (kinds[name] == UNKNOWN_KIND) {
        int kind = training_mark_kind(pool_text(store_pool(profile->store), name));
        kinds[name] = kind < 0 ? NO_KIND : (uint8_t)(FIRST_KIND + kind);
      }
      if (kinds[name] != NO_KIND) status = add_row(profile, segment, row, kinds[name] - FIRST_KIND, found, error);
    }
    if (!status) status = derive_poll(profile, error);
  }
  return status;
}

static enum tfprof_status find_scale_updates(struct profile *profile, struct found *found, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  string_id update = derive_known_text(profile, "aten::_amp_update_scale_");
  enum tfprof_status status = TFPROF_OK;
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *names = segment->columns[COLUMN_ops_name];
    uint32_t row = derive_find_text(names, 0, update);
    for (; row < segment->rows && !status; row = derive_find_text(names, row + 1, update))
      status = add_row(profile, segment, row, STEP_SCALER, found, error);
  }
  return status;
}

/* Of the first end at which an optimizer stepped. */
static void name_first(const struct profile *profile, struct optimizer_marks *marks) {
  size_t hint = 0;
  for (uint32_t i = 0; i < marks->steps.count && marks->optimizer == NO_VALUE; i++) {
    const struct segment *segment = derive_segment_of(&profile->tables[TABLE_ops], marks->steps.ends[i].row, &hint);
    if (!segment) return;
    uint32_t row = marks->steps.ends[i].row - (uint32_t)segment->first_row;
    derive_texts(segment->columns[COLUMN_ops_name], row, 1, &marks->name);
    derive_integers(segment->columns[COLUMN_ops_optimizer], row, 1, &marks->optimizer);
  }
}

enum tfprof_status optimizer_marks_find(struct profile *profile, struct optimizer_marks *marks,
                                        struct tfprof_error *error) {
  struct found found = {.items = NULL};
  *marks = (struct optimizer_marks){.optimizer = NO_VALUE};
  uint8_t *kinds = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, 1);
  enum tfprof_status status = kinds ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &found.threads, error);
  if (!status) status = find_marked(profile, "user", kinds, &found, error);
  if (!status) status = find_marked(profile, "input", kinds, &found, error);
  if (!status && !found.has_scaler) status = find_scale_updates(profile, &found, error);
  if (!status && found.count) {
    marks->room = scratch_allocate(optimizer_steps_room(found.count));
    if (marks->room) optimizer_steps_find(found.items, found.count, marks->room, &marks->steps);
    else status = error_no_memory(error);
  }
  if (!status && marks->steps.count) name_first(profile, marks);
  scratch_free(kinds);
  scratch_free(found.items);
  return status;
}

void optimizer_marks_free(struct optimizer_marks *marks) {
  scratch_free(marks->room);
  marks->room = NULL;
}

void optimizer_marks_diagnose(struct profile *profile, const struct optimizer_marks *marks) {
  const struct optimizer_steps *steps = &marks->steps;
  const char *name = marks->name ? pool_text(store_pool(profile->store), marks->name) : "an optimizer";
  if (steps->by_batches) {
    profile_diagnose_once(profile, "info", "steps_by_batches",
                          "%u steps are the batches in which one of %u optimizers stepped, for these take turns and no "
                          "single one steps as often; candidate_steps has the steps of each",
                          steps->count, steps->optimizers);
    return;
  }
  if (steps->optimizers > steps->chosen) {
    char which[64] = "";
    if (marks->optimizer != NO_VALUE && steps->chosen == 1)
      snprintf(which, sizeof which, " (optimizer %lld)", (long long)marks->optimizer);
    profile_diagnose_once(profile, "info", "steps_by_optimizer",
                          "%u steps end with %.100s%s, the last of those that step most often; all %u optimizers step "
                          "%u times in them; candidate_steps has the other ways to count",
                          steps->count, name, which, steps->optimizers, steps->all_marks);
  }
  if (steps->optimizers == 1 && marks->optimizer == NO_VALUE)
    profile_diagnose_once(profile, "info", "optimizers_not_told",
                          "%u steps each end with %.100s; all look alike, so whether they are of one optimizer or of "
                          "several that take turns is not known; candidate_steps has the steps by turns of two; a "
                          "trace from the first step on, or with_stack=True, tells",
                          steps->count, name);
  if (steps->skipped)
    profile_diagnose_once(profile, "info", "skipped_optimizer_steps",
                          "in %u of %u steps the optimizer did not step, as gradients overflowed: they end where the "
                          "gradient scaler was updated",
                          steps->skipped, steps->count);
}
