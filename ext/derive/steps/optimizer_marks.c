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
  bool has_scaler, has_optimizer, has_epochs;
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
  found->has_optimizer |= kind == STEP_OF_OPTIMIZER;
  found->has_epochs |= kind == STEP_EPOCH;
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

/* ---- Batches in which nothing runs, or something else than in three quarters of them. */

struct first_op {
  int64_t start;
  string_id name;
};

static int by_thread_and_start(const void *left, const void *right) {
  const struct training_mark *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* The last that begins by a time on a thread; NULL: none. */
static struct training_mark *mark_before(const struct found *found, uint32_t thread, int64_t time) {
  uint32_t low = 0, high = found->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct training_mark *mark = &found->items[middle];
    if (mark->thread < thread || (mark->thread == thread && mark->start <= time)) low = middle + 1; else high = middle;
  }
  return low && found->items[low - 1].thread == thread ? &found->items[low - 1] : NULL;
}

static int by_name(const void *left, const void *right) {
  const struct first_op *a = left, *b = right;
  return a->name < b->name ? -1 : a->name > b->name;
}

/* What most of those that have ops begin with; 0: no name is in three quarters of them. */
static string_id usual_name(const struct first_op *firsts, uint32_t count, struct first_op *room) {
  uint32_t used = 0, most = 0;
  string_id usual = 0;
  for (uint32_t i = 0; i < count; i++)
    if (firsts[i].name) room[used++] = firsts[i];
  if (used) qsort(room, used, sizeof *room, by_name);
  for (uint32_t first = 0, end; first < used; first = end) {
    for (end = first + 1; end < used && room[end].name == room[first].name;) end++;
    if (end - first <= most) continue;
    most = end - first;
    usual = room[first].name;
  }
  return (uint64_t)most * 4 >= (uint64_t)used * 3 ? usual : 0;
}

static enum tfprof_status find_idle_batches(struct profile *profile, struct found *found, struct tfprof_error *error) {
  struct first_op *firsts = scratch_allocate_zeroed(2 * (size_t)found->count, sizeof *firsts);
  if (!firsts) return error_no_memory(error);
  string_id others[] = {derive_known_text(profile, "user"), derive_known_text(profile, "input"),
                        derive_known_text(profile, "python"), derive_known_text(profile, "module")};
  enum tfprof_status status = TFPROF_OK;
  qsort(found->items, found->count, sizeof *found->items, by_thread_and_start);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK], names[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_name, names);
    block_texts(&block, COLUMN_ops_category, categories);
    block_references(&block, COLUMN_ops_thread_id, found->threads, threads);
    block_integers(&block, COLUMN_ops_start_ns, starts);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_op = threads[i] != NO_ROW && starts[i] != NO_VALUE;
      for (size_t k = 0; k < sizeof others / sizeof *others; k++) is_op &= categories[i] != others[k];
      struct training_mark *mark = is_op ? mark_before(found, threads[i], starts[i]) : NULL;
      if (!mark || starts[i] < mark->end) continue;
      struct first_op *first = &firsts[mark - found->items];
      if (!first->name || starts[i] < first->start) *first = (struct first_op){starts[i], names[i]};
    }
  }
  string_id usual = usual_name(firsts, found->count, firsts + found->count);
  for (uint32_t i = 0; i < found->count; i++) {
    bool is_first = !i || found->items[i - 1].thread != found->items[i].thread; /* in which a model may be compiled */
    found->items[i].is_idle = !firsts[i].name || (usual && firsts[i].name != usual && !is_first);
  }
  scratch_free(firsts);
  return status;
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
  if (!status && found.count && !found.has_optimizer && !found.has_epochs)
    status = find_idle_batches(profile, &found, error);
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
  if (!steps->optimizers) {
    profile_diagnose_once(profile, "info", "steps_by_batches",
                          "%u steps are the batches that data loaders gave, for no optimizer is seen to step; mark "
                          "others with tfprof.step()",
                          steps->count);
    return;
  }
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
