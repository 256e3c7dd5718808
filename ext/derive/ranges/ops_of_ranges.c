/* ops_of_ranges.c: ranges.op_count, how many ops a range calls itself, for sources that mark ranges among their ops.
**
** The ranges there are the ops of categories `user` and `input`, in the order of ops (ranges.c), so which range an op
** is follows from how many of them come before it.  Ops that take part in a gradient (they have a sequence number, or
** are of category `autograd`) are left out: they are of a forward or backward pass that runs within the range.
*/
#include "derive/passes.h"
#include "derive/ranges/user_rows.h"

struct marks {
  uint32_t op_count;
  uint64_t *bits;   /* by row of ops: it is a range */
  uint32_t *before; /* by word of bits: ranges in the words before */
};

static enum tfprof_status find_range_marks(struct marks *marks, const struct profile *profile,
                                           struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  string_id user = derive_known_text(profile, "user"), input = derive_known_text(profile, "input");
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &marks->op_count, error);
  size_t words = (size_t)marks->op_count / 64 + 1;
  if (status) return status;
  marks->bits = scratch_allocate_zeroed(words, sizeof *marks->bits);
  marks->before = scratch_allocate(words * sizeof *marks->before);
  if (!marks->bits || !marks->before) return error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    const string_id kinds[] = {user, input};
    for (unsigned kind = 0; kind < 2; kind++) {
      uint32_t row = derive_find_text(categories, 0, kinds[kind]);
      for (; row < segment->rows; row = derive_find_text(categories, row + 1, kinds[kind])) {
        uint64_t op = segment->first_row + row;
        marks->bits[op / 64] |= (uint64_t)1 << op % 64;
      }
    }
  }
  uint32_t count = 0;
  for (size_t i = 0; i < words; i++) {
    marks->before[i] = count;
    count += (uint32_t)__builtin_popcountll(marks->bits[i]);
  }
  return TFPROF_OK;
}

static enum tfprof_status count_ops(const struct marks *marks, const struct profile *profile, int64_t *counts,
                                    uint32_t range_count, struct tfprof_error *error) {
  string_id user = derive_known_text(profile, "user"), autograd = derive_known_text(profile, "autograd");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    uint32_t parents[ROWS_BLOCK];
    string_id categories[ROWS_BLOCK];
    block_references(&block, COLUMN_ops_parent_id, marks->op_count, parents);
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t parent = parents[i];
      if (parent == NO_ROW || !(marks->bits[parent / 64] >> parent % 64 & 1)) continue;
      if (!categories[i] || categories[i] == user || categories[i] == autograd) continue;
      if (!column_is_null(block.segment->columns[COLUMN_ops_sequence_number], block.first + i)) continue;
      uint64_t earlier = marks->bits[parent / 64] & (((uint64_t)1 << parent % 64) - 1);
      uint32_t range = marks->before[parent / 64] + (uint32_t)__builtin_popcountll(earlier);
      if (range < range_count) counts[range]++;
    }
  }
  return status;
}

static enum tfprof_status run_ops_of_ranges(struct profile *profile, struct tfprof_error *error) {
  struct marks marks = {.op_count = 0};
  int64_t *counts = NULL;
  uint32_t range_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_ranges, &range_count, error);
  if (status || !range_count || !profile->tables[TABLE_ranges].is_made) return status;
  status = find_range_marks(&marks, profile, error);
  if (!status && !(counts = scratch_allocate_zeroed((size_t)range_count, sizeof *counts)))
    status = error_no_memory(error);
  if (!status) status = count_ops(&marks, profile, counts, range_count, error);
  if (!status) status = derive_set_integers(profile, TABLE_ranges, COLUMN_ranges_op_count, counts, error);
  scratch_free(marks.bits);
  scratch_free(marks.before);
  scratch_free(counts);
  return status;
}

const struct derive_pass derive_ops_of_ranges = {
    .name = "ops of ranges",
    .summary = "How many ops without gradients each range calls itself, by one pass over the parents of ops.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_sequence_number}},
    .writes = {{TABLE_ranges, COLUMN_ranges_op_count}},
    .run = run_ops_of_ranges,
};
