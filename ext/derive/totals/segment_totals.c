/* segment_totals.c: the table step_segment_totals, the pieces that steps are cut into added up by step and category.
** They are added up as they are cut: step_segments itself is not made for it.
*/
#include "derive/groups.h"
#include "derive/time/step_pieces.h"

#include <stdlib.h>

struct segment_total {
  uint32_t number, step;
  int64_t category, count, first_start, last_end;
  double sum;
};
struct segment_totals {
  struct groups groups; /* a step and category each */
  struct segment_total *items;
  uint32_t capacity;
  string_id names[STEP_CATEGORIES];
  /* Pieces of one step follow each other: the items of the last, NO_ROW where they were not looked for. */
  uint32_t last_step, of_last_step[STEP_CATEGORIES];
};

/* The number of the item that a piece belongs to; NO_ROW: no memory. */
static uint32_t find_item(struct segment_totals *t, const struct step_piece *piece) {
  const int64_t category = t->names[piece->category], key[] = {piece->number, category};
  uint32_t known = t->groups.count, number = groups_number(&t->groups, key);
  if (number != known) return number;
  struct segment_total *grown = scratch_grow(t->items, known, &t->capacity, 256, sizeof *grown);
  if (!grown) return NO_ROW;
  t->items = grown;
  grown[known] = (struct segment_total){piece->number, piece->step, category, 0, piece->start, piece->end, 0};
  return number;
}

static bool add_piece(void *context, const struct step_piece *piece) {
  struct segment_totals *t = context;
  if (piece->number != t->last_step) {
    t->last_step = piece->number;
    for (unsigned i = 0; i < STEP_CATEGORIES; i++) t->of_last_step[i] = NO_ROW;
  }
  uint32_t *number = &t->of_last_step[piece->category];
  if (*number == NO_ROW && (*number = find_item(t, piece)) == NO_ROW) return false;
  struct segment_total *total = &t->items[*number];
  total->count++;
  total->sum += (double)derive_difference(piece->end, piece->start);
  if (piece->start < total->first_start) total->first_start = piece->start;
  if (piece->end > total->last_end) total->last_end = piece->end;
  return true;
}

static int by_step_and_first_start(const void *left, const void *right) {
  const struct segment_total *a = left, *b = right;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return a->first_start < b->first_start ? -1 : a->first_start > b->first_start;
}

static enum tfprof_status set_segment_columns(struct profile *profile, const struct segment_total *totals,
                                              uint32_t count, struct tfprof_error *error) {
  int64_t *integers = scratch_allocate(((size_t)count + 1) * sizeof *integers);
  enum tfprof_status status = integers ? TFPROF_OK : error_no_memory(error);
#define SET(column, expression) \
  SET_TOTALS(integers, profile, TABLE_step_segment_totals, COLUMN_step_segment_totals_##column, expression)
  SET(step_id, totals[i].step);
  SET(category, totals[i].category);
  SET(count, totals[i].count);
  SET(sum_ns, whole_sum(totals[i].sum));
  SET(first_start_ns, totals[i].first_start);
  SET(last_end_ns, totals[i].last_end);
#undef SET
  scratch_free(integers);
  return status;
}

static enum tfprof_status run_segment_totals(struct profile *profile, struct tfprof_error *error) {
  struct segment_totals t = {.groups = {.width = 2}, .last_step = NO_ROW};
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < STEP_CATEGORIES && !status; i++)
    status = derive_text(profile, step_category_names[i], &t.names[i], error);
  if (!status) status = step_pieces_find(profile, add_piece, &t, error);
  uint32_t count = t.groups.count;
  if (!status && count) qsort(t.items, count, sizeof *t.items, by_step_and_first_start);
  if (!status) status = derive_make_table(profile, TABLE_step_segment_totals, count, error);
  if (!status && count) status = set_segment_columns(profile, t.items, count, error);
  scratch_free(t.items);
  groups_free(&t.groups);
  return status;
}

const struct derive_pass derive_segment_totals = {
    .name = "totals of step segments",
    .summary = "Pieces and time of each category in a step, added up as steps are cut.",
    .makes_table = TABLE_step_segment_totals,
    .reads = {STEP_PIECES_READS},
    .run = run_segment_totals,
    .has_diagnostics = true,
    .texts = step_category_names,
};
