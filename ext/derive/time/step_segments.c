/* step_segments.c: the table step_segments: the pieces that steps are cut into (step_pieces.h). */
#include "derive/time/step_pieces.h"

#include <stdlib.h>

struct pieces {
  struct step_piece *items;
  size_t count, capacity;
  string_id names[STEP_CATEGORIES];
};

static bool keep_piece(void *context, const struct step_piece *piece) {
  struct pieces *p = context;
  if (p->count == p->capacity) {
    size_t larger = p->capacity ? p->capacity * 2 : 1024;
    struct step_piece *grown = scratch_resize(p->items, larger * sizeof *grown);
    if (!grown) return false;
    p->items = grown;
    p->capacity = larger;
  }
  p->items[p->count++] = *piece;
  return true;
}

static int by_step_and_start(const void *left, const void *right) {
  const struct step_piece *a = left, *b = right;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return a->start < b->start ? -1 : a->start > b->start;
}

static void sort_pieces(struct pieces *p) {
  bool is_sorted = true; /* unless steps overlap */
  for (size_t i = 1; i < p->count && is_sorted; i++)
    is_sorted = by_step_and_start(&p->items[i - 1], &p->items[i]) < 0;
  if (!is_sorted) qsort(p->items, p->count, sizeof *p->items, by_step_and_start);
}

/* ---- rows ---- */

#define FILL(name, type, expression) \
  static void fill_##name(const void *context, uint32_t first, uint32_t count, void *out) { \
    const struct pieces *p = context; \
    const struct step_piece *pieces = p->items + first; \
    type *values = out; \
    for (uint32_t i = 0; i < count; i++) values[i] = (expression); \
  }
FILL(step, uint32_t, pieces[i].step)
FILL(category, string_id, p->names[pieces[i].category])
FILL(start, int64_t, pieces[i].start)
FILL(duration, int64_t, derive_difference(pieces[i].end, pieces[i].start))
#undef FILL

static enum tfprof_status make_rows(struct profile *profile, struct pieces *p, struct tfprof_error *error) {
  static const struct made_column columns[] = {{COLUMN_step_segments_step_id, MADE_REFERENCES, fill_step, 0, 0},
                                               {COLUMN_step_segments_category, MADE_TEXTS, fill_category, 0, 0},
                                               {COLUMN_step_segments_start_ns, MADE_INTEGERS, fill_start, 0, 0},
                                               {COLUMN_step_segments_dur_ns, MADE_INTEGERS, fill_duration, 0, 0},
                                               {COLUMN_step_segments_end_ns, MADE_SUM, NULL,
                                                COLUMN_step_segments_start_ns, COLUMN_step_segments_dur_ns}};
  enum { COLUMNS = sizeof columns / sizeof *columns };
  if (p->count >= NO_ROW) return error_set(error, TFPROF_LIMIT, "too many pieces of steps for one table");
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < STEP_CATEGORIES && !status; i++)
    status = derive_text(profile, step_category_names[i], &p->names[i], error);
  if (!status) status = derive_make_table(profile, TABLE_step_segments, (uint32_t)p->count, error);
  if (!status) status = derive_fill_table(profile, TABLE_step_segments, columns, COLUMNS, p, error);
  return status;
}

static enum tfprof_status run_step_segments(struct profile *profile, struct tfprof_error *error) {
  struct pieces p = {.items = NULL};
  enum tfprof_status status = step_pieces_find(profile, keep_piece, &p, error);
  if (!status) {
    sort_pieces(&p);
    status = make_rows(profile, &p, error);
  }
  scratch_free(p.items);
  return status;
}

const struct derive_pass derive_step_segments = {
    .name = "step segments",
    .summary = "Steps with their work on devices, cut by precedence of categories as the TensorBoard plugin does.",
    .makes_table = TABLE_step_segments,
    .reads = {STEP_PIECES_READS},
    .run = run_step_segments,
    .has_diagnostics = true,
    .texts = step_category_names,
};
