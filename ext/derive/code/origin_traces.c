/* origin_traces.c: ops.origin_code_trace_id and is_backward: which place in the program the work of an op comes from.
**
** Outside of a backward pass that is where the op was called.  A backward op does the work of its forward op, so it
** comes from where that was called, whoever called backward(): the program, a trainer, autograd.grad, a thread of
** autograd's own.  What runs inside a backward op does its work, too, but for ops that lines of the program itself call
** there: those of a custom function's backward(), of hooks, and of a part of the model that is computed again under
** torch.utils.checkpoint.  They come from these lines.  Such a line is known by the stack that was recorded inside the
** backward op: it has a frame of the program that the stack at the backward op has not.  (Wrappers of libraries, and
** the code that compiles whole backward passes, run Python in there as well; they work for the forward op.)
**
** A forward op may be part of a backward pass itself, where gradients of gradients are taken or in a part computed
** again: then its own origin counts.  Backward ops without a forward op, which sum gradients up in parameters, do the
** work of the backward op around them, or else come from where they were called.
**
** A backward op is one of the category autograd, or the engine's range around it.
*/
#include "derive/links/ancestors.h"
#include "derive/code/code_lines.h"
#include "derive/passes.h"

#include <string.h>

enum { MAXIMUM_ORDER = 8 }; /* of derivatives: how many times the forward op of a forward op is looked for */

struct search {
  uint32_t rows;
  uint32_t *parents, *forwards, *traces;
  uint32_t *recorded; /* the trace that was recorded at the op or the nearest one around it; NULL: none are recorded */
  uint32_t *answering; /* the op, or the nearest one around it, that has a forward op */
  struct code_lines lines;
};

static uint32_t depth_of(const struct search *search, const uint32_t *depths, uint32_t trace) {
  return trace < search->lines.count ? depths[trace] : 0;
}

/* Whether lines of the program run inside `around`, a backward op that the op is or lies in, down to the op. */
static bool is_called_by_program(const struct search *search, uint32_t op, uint32_t around) {
  uint32_t depth = depth_of(search, search->lines.program_depths, search->recorded[op]);
  return depth > depth_of(search, search->lines.depths, search->recorded[around]);
}

static uint32_t origin_of(const struct search *search, uint32_t op) {
  uint32_t at = op;
  for (int order = 0; order < MAXIMUM_ORDER; order++) {
    uint32_t around = search->answering[at];
    if (around == NO_ROW || is_called_by_program(search, at, around)) break;
    at = search->forwards[around];
  }
  return search->traces[at] == NO_ROW ? search->traces[op] : search->traces[at];
}

static enum tfprof_status read_ops(struct search *search, const struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status;
  status = derive_all_references(profile, TABLE_ops, COLUMN_ops_code_trace_id, &search->traces, error);
  if (!status) status = derive_all_op_parents(profile, &search->parents, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_forward_op_id, &search->forwards, error);
  if (!status && derive_has_value(profile, TABLE_ops, COLUMN_ops_recorded_code_trace))
    status = derive_all_references(profile, TABLE_ops, COLUMN_ops_recorded_code_trace, &search->recorded, error);
  return status;
}

static enum tfprof_status set_origins(struct search *search, struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  bool has_forward = false;
  search->answering = scratch_allocate((size_t)search->rows * sizeof *search->answering);
  if (!search->answering) return error_no_memory(error);
  for (uint32_t op = 0; op < search->rows; op++) {
    search->answering[op] = search->forwards[op] == NO_ROW ? NO_ROW : op;
    has_forward |= search->forwards[op] != NO_ROW;
  }
  if (!has_forward || !search->recorded)
    return derive_set_references(profile, TABLE_ops, COLUMN_ops_origin_code_trace_id, search->traces, error);
  derive_inherit(search->parents, search->answering, search->rows);
  derive_inherit(search->parents, search->recorded, search->rows);
  uint32_t *origins = scratch_allocate((size_t)search->rows * sizeof *origins);
  if (!origins) return error_no_memory(error);
  for (uint32_t op = 0; op < search->rows && !status; op++) {
    origins[op] = search->answering[op] == NO_ROW ? search->traces[op] : origin_of(search, op);
    if (op % ROWS_BLOCK == 0) status = derive_poll(profile, error);
  }
  if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_origin_code_trace_id, origins, error);
  scratch_free(origins);
  return status;
}

/* Gives ops of a backward pass a value in `marks`, each its own row. */
static enum tfprof_status mark_backward_ops(const struct search *search, const struct profile *profile,
                                            uint32_t *marks, struct tfprof_error *error) {
  static const char engine[] = "autograd::engine::evaluate_function";
  const struct pool *pool = store_pool(profile->store);
  string_id autograd = derive_known_text(profile, "autograd"), last = 0;
  bool is_engine = false;
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t op = 0; op < search->rows; op++) marks[op] = search->forwards[op] == NO_ROW ? NO_ROW : op;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK], categories[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_name, names);
    block_texts(&block, COLUMN_ops_category, categories);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t op = (uint32_t)block.row + i;
      if (names[i] && names[i] != last)
        is_engine = strncmp(pool_text(pool, last = names[i]), engine, sizeof engine - 1) == 0;
      if ((names[i] && is_engine) || (categories[i] && categories[i] == autograd)) marks[op] = op;
    }
  }
  return status;
}

static enum tfprof_status set_backward(const struct search *search, struct profile *profile,
                                       struct tfprof_error *error) {
  uint32_t *marks = scratch_allocate((size_t)search->rows * sizeof *marks);
  int64_t *values = scratch_allocate((size_t)search->rows * sizeof *values);
  enum tfprof_status status = marks && values ? TFPROF_OK : error_no_memory(error);
  if (!status) status = mark_backward_ops(search, profile, marks, error);
  if (!status) {
    derive_inherit(search->parents, marks, search->rows);
    for (uint32_t op = 0; op < search->rows; op++) values[op] = marks[op] != NO_ROW;
    status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_is_backward, values, error);
  }
  scratch_free(marks);
  scratch_free(values);
  return status;
}

static enum tfprof_status run_origin_traces(struct profile *profile, struct tfprof_error *error) {
  struct search search = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &search.rows, error);
  if (status || !search.rows) return status;
  status = read_ops(&search, profile, error);
  if (!status) status = code_lines_find(&search.lines, profile, error);
  if (!status) status = set_backward(&search, profile, error);
  if (!status) status = set_origins(&search, profile, error);
  code_lines_free(&search.lines);
  scratch_free(search.parents);
  scratch_free(search.forwards);
  scratch_free(search.traces);
  scratch_free(search.recorded);
  scratch_free(search.answering);
  return status;
}

const struct derive_pass derive_origin_traces = {
    .name = "origin traces",
    .summary = "The trace of an op, in a backward pass that of the forward op unless lines of the program run inside "
               "the backward op.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_forward_op_id},
              {TABLE_ops, COLUMN_ops_code_trace_id},
              {TABLE_ops, COLUMN_ops_recorded_code_trace},
              CODE_LINES_READ},
    .writes = {{TABLE_ops, COLUMN_ops_origin_code_trace_id}, {TABLE_ops, COLUMN_ops_is_backward}},
    .run = run_origin_traces,
};
