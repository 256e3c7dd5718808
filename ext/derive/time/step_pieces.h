/* step_pieces.h: what each step's time went to, one thing at a time: steps cut into pieces.
**
** The table step_segments has every piece, step_segment_totals their sums: each takes the pieces as they are cut, so
** that whoever asks for sums alone needs no memory for a million pieces.
*/
#ifndef TFPROF_STEP_PIECES_H
#define TFPROF_STEP_PIECES_H

#include "derive/passes.h"
#include "derive/rows.h"
#include "derive/time/step_reach.h"

/* In the order of precedence, but of sources that number their steps (step_pieces.c). */
enum step_category {
  STEP_KERNEL, STEP_MEMCPY_HTOD, STEP_MEMCPY_DTOH, STEP_MEMCPY_DTOD, STEP_MEMCPY, STEP_MEMSET, STEP_COMMUNICATION,
  STEP_LOOP, STEP_RUNTIME, STEP_DATA_LOADER, STEP_COMPILATION, STEP_CPU, STEP_MARK, STEP_OTHER, STEP_CATEGORIES
};
/* Loops are called kernels. Behind them the texts of a diagnostic, and NULL: for derive_pass.texts. */
extern const char *const step_category_names[STEP_CATEGORIES + 4];

struct step_piece {
  int64_t start, end;
  uint32_t number; /* of its step, by start */
  uint32_t step;   /* its row */
  enum step_category category;
};

/* Pieces come in the order of their starts, but where steps overlap each is cut by them. False: no memory. */
typedef bool step_pieces_take(void *context, const struct step_piece *piece);
enum tfprof_status step_pieces_find(struct profile *profile, step_pieces_take *take, void *context,
                                    struct tfprof_error *error);

/* What a pass that finds them reads. */
#define STEP_PIECES_READS \
  STEP_REACH_READS, {TABLE_api_calls, COLUMN_api_calls_end_ns}, {TABLE_api_calls, COLUMN_api_calls_domain}, \
  {TABLE_kernels, COLUMN_kernels_self_ns}, {TABLE_kernels, COLUMN_kernels_api_call_id}, \
  {TABLE_transfers, COLUMN_transfers_kind}, {TABLE_transfers, COLUMN_transfers_direction}, \
  {TABLE_transfers, COLUMN_transfers_api_call_id}, {TABLE_transfers, COLUMN_transfers_collective_id}, \
  {TABLE_ops, COLUMN_ops_collective}, {TABLE_steps, COLUMN_steps_thread_id}, \
  {TABLE_compilations, COLUMN_compilations_kind}, {TABLE_compilations, COLUMN_compilations_start_ns}, \
  {TABLE_compilations, COLUMN_compilations_end_ns}, {TABLE_ops, COLUMN_ops_marked_step}, \
  {TABLE_ops, COLUMN_ops_connected_step}, {TABLE_ops, COLUMN_ops_thread_id}, {TABLE_ops, COLUMN_ops_category}, \
  {TABLE_ops, COLUMN_ops_op_type}, {TABLE_ops, COLUMN_ops_name}, {TABLE_ops, COLUMN_ops_start_ns}, \
  {TABLE_ops, COLUMN_ops_end_ns}

#endif
