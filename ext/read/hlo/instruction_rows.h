/* instruction_rows.h: instructions of XLA's programs as rows of hlo_instructions and hlo_operands.
**
** They are kept only where somebody asks for these tables (hlo_reading.rows): runs of instructions need no more than
** programs.h has, and the rows of both are numbered alike.  Rows are one module after the other, of each all
** instructions in its order.
*/
#ifndef TFPROF_HLO_INSTRUCTION_ROWS_H
#define TFPROF_HLO_INSTRUCTION_ROWS_H

#include "read/hlo/reading.h"

struct hlo_row {
  int64_t module, program, computation, name, opcode, result, dtype, fusion_kind, target; /* texts; ROW_NULL */
  int64_t parameter;                                                                     /* ROW_NULL */
  uint32_t op;              /* of programs; HLO_NONE */
  uint32_t caller, part_of; /* rows; HLO_NONE */
  uint32_t operand_count;   /* as many of `operands`, behind those of the row before */
  bool is_root, is_entry;
};
struct hlo_rows {
  LIST(struct hlo_row) rows;
  LIST(uint32_t) operands; /* rows; HLO_NONE */
};
void hlo_rows_free(struct hlo_rows *rows);

/* A row for the instruction that was added to the graph last; what its name and fields tell. All are for
** hlo_reading.rows, and do nothing where that is NULL. */
void hlo_rows_add(struct hlo_reading *r);
void hlo_rows_name(struct hlo_reading *r, struct text_part name, struct text_part opcode);
void hlo_rows_take(struct hlo_reading *r, const struct wire_reader *reader, const struct wire_field *field);
/* What calls what, once the graph of the module is linked. */
void hlo_rows_end_module(struct hlo_reading *r);

/* The tables. */
enum tfprof_status hlo_publish_rows(const struct hlo_rows *all, const struct hlo_programs *programs,
                                    struct profile *profile, struct tfprof_error *error);

#endif
