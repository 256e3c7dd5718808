/* hlo.h: the programs that XLA compiled, as the plane /host:metadata holds them: what op of the framework, called at
** which place in the program, each of their instructions was made of, and what it computes and moves.
**
** Events name an instruction (hlo_op) of a program (program_id, or hlo_module alone).  Read once, before the
** first events are; of a module only names, metadata, stack frames and what costs rest on (hlo_graph.h): constants and
** buffers are passed over.
**
**   XEventMetadata    name=2, "module(program id)"; stats=5, of which "Hlo Proto" is an HloProto, as it is or by gzip
**   HloProto          hlo_module=1
**   HloModuleProto    name=1 computations=3 stack_frame_index=17
**   HloComputation    instructions=2 id=5 root_id=6
**   HloInstruction    name=1 opcode=2 metadata=7, and more in hlo_graph.h
**   OpMetadata        op_type=1 op_name=2 source_file=3 source_line=4 stack_frame_id=15
**   StackFrameIndex   file_names=1 function_names=2 file_locations=3 stack_frames=4; all are numbered from 1, 0 is none
**   FileLocation      file_name_id=1 function_name_id=2 line=3
**   StackFrame        file_location_id=1 parent_frame_id=2
*/
#ifndef TFPROF_XPLANE_HLO_H
#define TFPROF_XPLANE_HLO_H

#include "read/rows/row_map.h"
#include "read/xplane/index.h"
#include "read/xplane/texts.h"
#include "store/store.h"

/* What an instruction was made of; texts are 0 and the trace is ROW_NULL where it is not told. */
struct hlo_op {
  string_id framework_name; /* jit(train_step)/jvp()/dot_general */
  string_id op_type;        /* dot_general */
  string_id module;         /* Encoder.Dense_0 */
  int64_t is_backward;      /* 1, 0; ROW_NULL: it is not told */
  int64_t trace;            /* row in code_traces */
  int64_t flops, bytes_accessed; /* ROW_NULL: not known, or what it runs has them (hlo_costs.c) */
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
  uint64_t wrong, wrong_offset; /* parts that are damaged, and where the first is */
  uint64_t mended;
};

/* Texts go into the profile's pool. */
enum tfprof_status hlo_programs_read(struct hlo_programs *programs, const struct xplane_index *index,
                                     struct profile *profile, struct tfprof_error *error);
void hlo_programs_free(struct hlo_programs *programs);
/* The tables code_frames and code_traces. */
enum tfprof_status hlo_publish_traces(const struct hlo_programs *programs, struct profile *profile,
                                      struct tfprof_error *error);
bool hlo_is_in_plane(const struct xplane_plane *plane);
/* An instruction of the program of that number, or of the only one that the module's name can mean where number is
** NULL. NULL: it is not known. */
const struct hlo_op *hlo_find(const struct hlo_programs *programs, const uint64_t *number, struct text_part module,
                              struct text_part instruction);

#endif
