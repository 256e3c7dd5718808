/* proto.h: programs of XLA as protocol buffers: an HloProto, or the HloModuleProto that it holds.
**
** Of a module only names, metadata, stack frames and what costs rest on (graph.h) are read: constants and buffers are
** passed over.
**
**   HloProto          hlo_module=1
**   HloModuleProto    name=1 computations=3 entry_computation_id=6 stack_frame_index=17
**   HloComputation    name=1 instructions=2 id=5 root_id=6
**   HloInstruction    name=1 opcode=2 metadata=7, fusion_kind=11, and more in graph.h
**   OpMetadata        op_type=1 op_name=2 source_file=3 source_line=4 stack_frame_id=15
**   StackFrameIndex   file_names=1 function_names=2 file_locations=3 stack_frames=4; all are numbered from 1, 0 is none
**   FileLocation      file_name_id=1 function_name_id=2 line=3
**   StackFrame        file_location_id=1 parent_frame_id=2
*/
#ifndef TFPROF_HLO_PROTO_H
#define TFPROF_HLO_PROTO_H

#include "read/hlo/reading.h"

/* The next field of a message in the window; false at its end, and when reading failed. */
bool hlo_next_field(struct hlo_reading *r, uint64_t *offset, uint64_t end, struct far_field *field);
/* The bytes of a field, of a long one the beginning. */
struct text_part hlo_field_bytes(struct hlo_reading *r, const struct far_field *field, size_t maximum);
/* The HloProto in the window's [at, end). */
void hlo_read_proto(struct hlo_reading *r, uint64_t at, uint64_t end);

/* All of the window, `length` bytes, which is an HloProto or an HloModuleProto. */
void hlo_read_file(struct hlo_reading *r, uint64_t length);

#endif
