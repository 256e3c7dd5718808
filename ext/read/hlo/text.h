/* text.h: the text of a module of HLO, as compiled.as_text(), lowered.as_text("hlo") of JAX and --xla_dump_to of XLA
** write it, made the HloModuleProto that it is the text of.
**
**   HloModule jit_f, is_scheduled=true, ...
**   FileNames, FunctionNames, FileLocations, StackFrames       tables of numbered lines, from 2025 on
**   %fused_computation (p: f32[8]) -> f32[8] {                 before all that call it, ENTRY before the last
**     ROOT %add.1 = f32[8]{0} add(%p, %p), metadata={op_name="jit(f)/add" source_file="f.py" source_line=3}
**   }
**
** Of an instruction come name, shape, opcode, operands and the attributes that proto.h reads; ids are hashes of names.
** What is no instruction, by whatever it is wrong, is left out and counted; any bytes are text of something.
*/
#ifndef TFPROF_HLO_TEXT_H
#define TFPROF_HLO_TEXT_H

#include "read/rows/text_buffer.h"

struct hlo_text_faults {
  uint64_t count, offset; /* of the first */
  const char *what;       /* the first: one phrase */
};

/* The message, into `proto`, which was empty; want of memory is noted there. */
void hlo_text_read(const char *text, size_t length, struct text_buffer *proto, struct hlo_text_faults *faults);
/* Whether it begins as such a text does. */
bool hlo_text_begins(const char *text, size_t length);

#endif
