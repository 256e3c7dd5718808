/* programs.h: the programs that XLA compiled: what op of the framework, called at which place in the program, each of
** their instructions was made of, and what it computes and moves.
**
** proto.h reads them, of a file or of the profile that ran them; reading.h is what happens to what was read.
*/
#ifndef TFPROF_HLO_PROGRAMS_H
#define TFPROF_HLO_PROGRAMS_H

#include "base/list.h"
#include "base/row_map.h"
#include "read/xplane/texts.h"
#include "store/store.h"

/* What an instruction was made of; texts are 0 and the trace is ROW_NULL where it is not told. */
struct hlo_op {
  string_id framework_name; /* jit(train_step)/jvp()/dot_general */
  string_id op_type;        /* dot_general */
  string_id module;         /* Encoder.Dense_0 */
  int64_t is_backward;      /* 1, 0; ROW_NULL: it is not told */
  int64_t trace;            /* row in code_traces */
  int64_t instruction;      /* row in hlo_instructions; ROW_NULL: one of several */
  int64_t flops, bytes_accessed; /* ROW_NULL: not known, or what it runs has them (costs.c) */
  string_id collective;             /* its opcode, all-reduce, where it is one; 0 */
  int64_t exchanged, group_size;    /* of a collective: bytes and devices; ROW_NULL: not known */
};
struct hlo_frame {
  int64_t file, function, line; /* texts and a number; ROW_NULL */
};
struct hlo_programs {
  LIST(struct hlo_op) ops;
  struct row_map names; /* of instructions in programs: number of the op + 1, 0 where several are meant */
  LIST(struct hlo_frame) frames;
  struct row_map frame_rows, stacks;
  uint64_t instruction_count; /* rows of hlo_instructions so far */
  uint64_t wrong, wrong_offset; /* parts that are damaged, and where the first is */
  uint64_t mended;
};

void hlo_programs_free(struct hlo_programs *programs);
/* An instruction of the program of that number, or of the only one that the module's name can mean where number is
** NULL. NULL: it is not known. */
const struct hlo_op *hlo_find(const struct hlo_programs *programs, const uint64_t *number, struct text_part module,
                              struct text_part instruction);

/* trace_rows.c: the tables code_frames and code_traces. */
enum tfprof_status hlo_publish_traces(const struct hlo_programs *programs, struct profile *profile,
                                      struct tfprof_error *error);

#endif
