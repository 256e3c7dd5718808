/* outermost_ops.c: ops.outermost_id, the op of the framework that a program called, for all that was called inside it.
**
** Ranges that the program marked, modules and Python frames are not what is looked for: they enclose whole steps.  The
** way up from each op is walked once, so that it is linear.
*/
#include "derive/passes.h"
#include "derive/rows.h"
#include "store/scratch.h"

#include <stdlib.h>
#include <string.h>

/* 1 for ops that count, by row. */
static enum tfprof_status find_counting(const struct profile *profile, uint32_t rows, uint8_t **counts,
                                        struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  static const char *const others[] = {"user", "module", "python"};
  string_id left_out[sizeof others / sizeof *others];
  uint8_t *found = scratch_allocate_zeroed((size_t)rows + 1, 1);
  if (!found) return error_no_memory(error);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) left_out[i] = derive_known_text(profile, others[i]);
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
      string_id categories[ROWS_BLOCK];
      derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      for (uint32_t i = 0; i < count; i++) {
        found[segment->first_row + first + i] =
            categories[i] != left_out[0] && categories[i] != left_out[1] && categories[i] != left_out[2];
      }
    }
  }
  *counts = found;
  return TFPROF_OK;
}

/* outermost[row]: NO_ROW until known, NONE when there is none. */
#define NONE (NO_ROW - 1)

/* Of a row whose parent has `above`. */
static inline uint32_t below(uint32_t above, const uint8_t *counts, uint32_t row) {
  return above == NONE && counts[row] ? row : above;
}

static void climb(const uint32_t *parents, const uint8_t *counts, uint32_t row, uint32_t *outermost, uint32_t *way) {
  uint32_t length = 0, known = NONE;
  for (; row != NO_ROW; row = parents[row]) {
    if (outermost[row] != NO_ROW) {
      known = outermost[row];
      break;
    }
    way[length++] = row;
  }
  while (length) {
    row = way[--length];
    outermost[row] = known = below(known, counts, row);
  }
}

/* From the end, for parents mostly come after their children and are known then. */
static void find_outermost(const uint32_t *parents, const uint8_t *counts, uint32_t rows, uint32_t *outermost,
                           uint32_t *way) {
  for (uint32_t row = rows; row-- > 0;) {
    uint32_t parent = parents[row], above = parent == NO_ROW ? NONE : outermost[parent];
    if (outermost[row] != NO_ROW) continue;
    if (above != NO_ROW) outermost[row] = below(above, counts, row);
    else climb(parents, counts, row, outermost, way);
  }
  for (uint32_t row = 0; row < rows; row++) outermost[row] = outermost[row] == NONE ? NO_ROW : outermost[row];
}

static enum tfprof_status run(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *parents = NULL, *outermost = NULL, *way = NULL;
  uint8_t *counts = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  status = derive_all_op_parents(profile, &parents, error);
  if (!status) status = find_counting(profile, rows, &counts, error);
  outermost = scratch_allocate((size_t)rows * sizeof *outermost);
  way = scratch_allocate((size_t)rows * sizeof *way);
  if (!status && (!outermost || !way)) status = error_no_memory(error);
  if (!status) memset(outermost, 0xff, (size_t)rows * sizeof *outermost); /* NO_ROW */
  if (!status) status = derive_poll(profile, error);
  if (!status) find_outermost(parents, counts, rows, outermost, way);
  if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_outermost_id, outermost, error);
  scratch_free(parents);
  scratch_free(counts);
  scratch_free(outermost);
  scratch_free(way);
  return status;
}

const struct derive_pass derive_outermost_ops = {
    .name = "outermost ops",
    .summary =
        "The outermost op around each op, ranges, modules and Python frames left aside; every way up walked once.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_parent_id}, {TABLE_ops, COLUMN_ops_category}},
    .writes = {{TABLE_ops, COLUMN_ops_outermost_id}},
    .run = run,
};
