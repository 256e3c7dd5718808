/* instruction_rows.c: see instruction_rows.h. */
#include "read/hlo/instruction_rows.h"

#include <string.h>

#include "read/hlo/fields.h"
#include "read/hlo/shape_text.h"

void hlo_rows_free(struct hlo_rows *rows) {
  list_free(&rows->rows);
  list_free(&rows->operands);
}

/* ---- one instruction ---- */

static struct hlo_row *last_row(const struct hlo_reading *r) {
  return r->rows && r->rows->rows.count && !r->status ? &r->rows->rows.items[r->rows->rows.count - 1] : NULL;
}

void hlo_rows_add(struct hlo_reading *r) {
  if (!r->rows || r->status) return;
  struct hlo_row *row = list_add(&r->rows->rows);
  if (!row) {
    hlo_no_memory(r);
    return;
  }
  *row = (struct hlo_row){.module = r->module_name,
                          .program = r->has_number ? (int64_t)r->number : ROW_NULL,
                          .computation = ROW_NULL,
                          .name = ROW_NULL,
                          .opcode = ROW_NULL,
                          .result = ROW_NULL,
                          .dtype = ROW_NULL,
                          .fusion_kind = ROW_NULL,
                          .target = ROW_NULL,
                          .parameter = ROW_NULL,
                          .op = HLO_NONE,
                          .caller = HLO_NONE,
                          .part_of = HLO_NONE};
}

void hlo_rows_name(struct hlo_reading *r, struct text_part name, struct text_part opcode) {
  static const char parameter[] = "parameter";
  struct hlo_row *row = last_row(r);
  if (!row) return;
  row->name = hlo_enter(r, name.bytes, name.length);
  row->opcode = hlo_enter(r, opcode.bytes, opcode.length);
  bool is_parameter = opcode.length == sizeof parameter - 1 && memcmp(opcode.bytes, parameter, opcode.length) == 0;
  if (!is_parameter) row->parameter = ROW_NULL;
  else if (row->parameter == ROW_NULL) row->parameter = 0; /* which no writer writes */
}

static void print_result(struct hlo_reading *r, struct hlo_row *row, struct wire_reader shape) {
  struct text_part type = hlo_shape_type(shape);
  r->text.length = 0;
  hlo_shape_print(&r->text, shape);
  if (r->text.failed) {
    hlo_no_memory(r);
    return;
  }
  row->result = hlo_enter(r, r->text.bytes, r->text.length);
  row->dtype = hlo_enter(r, type.bytes, type.length);
}

void hlo_rows_take(struct hlo_reading *r, const struct wire_reader *reader, const struct wire_field *field) {
  struct hlo_row *row = last_row(r);
  size_t length;
  if (!row) return;
  const char *text = wire_text(field, &length);
  switch (field->number) {
    case HloInstructionProto_shape:
      if (field->type == WIRE_BYTES) print_result(r, row, wire_enter(reader, field));
      break;
    case HloInstructionProto_parameter_number:
      row->parameter = wire_int64(field) >= 0 ? wire_int64(field) : ROW_NULL;
      break;
    case HloInstructionProto_fusion_kind: row->fusion_kind = hlo_enter(r, text, length); break;
    case HloInstructionProto_custom_call_target: row->target = hlo_enter(r, text, length); break;
    default: break;
  }
}

/* ---- what calls what ---- */

/* Of a computation. */
struct calling {
  uint32_t caller;  /* instruction; HLO_NONE */
  uint32_t part_of; /* the same */
  bool is_met, is_done;
};

/* What runs the instructions of the computations that it calls one by one. */
static bool runs_by_itself(const struct hlo_instruction *caller) {
  return caller->cost == COST_WHILE || caller->cost == COST_CALL || caller->cost == COST_CONDITIONAL;
}


/* Of each computation the first that calls it. */
static void find_callers(const struct hlo_graph *graph, struct calling *callings) {
  for (uint32_t i = 0; i < graph->instructions.count; i++) {
    const struct hlo_instruction *instruction = &graph->instructions.items[i];
    for (uint32_t k = 0; k < instruction->called_count; k++) {
      int64_t called = graph->links.items[instruction->first_called + k];
      if (called != HLO_NONE && callings[called].caller == HLO_NONE) callings[called].caller = i;
    }
  }
}

/* Outermost first; where computations call each other in a circle, one of them has no caller. */
static void find_parts(struct hlo_reading *r, const uint32_t *owners, struct calling *callings, uint32_t computation) {
  r->open.count = 0;
  for (uint32_t at = computation; !callings[at].is_done;) {
    uint32_t *added = list_add(&r->open);
    if (!added) {
      hlo_no_memory(r);
      return;
    }
    *added = at;
    callings[at].is_met = true;
    if (callings[at].caller == HLO_NONE) break;
    uint32_t above = owners[callings[at].caller];
    if (callings[above].is_met && !callings[above].is_done) {
      callings[at].caller = HLO_NONE;
      break;
    }
    at = above;
  }
  for (size_t i = r->open.count; i-- > 0;) {
    struct calling *calling = &callings[r->open.items[i]];
    calling->is_done = true;
    if (calling->caller == HLO_NONE) continue;
    uint32_t outer = callings[owners[calling->caller]].part_of;
    bool is_apart = runs_by_itself(&r->graph.instructions.items[calling->caller]);
    calling->part_of = outer != HLO_NONE ? outer : is_apart ? HLO_NONE : calling->caller;
  }
}

/* Operands are those of one computation after the other, as instructions are. */
static void add_operands(struct hlo_reading *r, const struct hlo_instruction *instruction, struct hlo_row *row,
                         uint32_t first_row) {
  for (uint32_t i = 0; i < instruction->operand_count; i++) {
    uint32_t *operand = r->rows->operands.count < HLO_NONE ? list_add(&r->rows->operands) : NULL;
    if (!operand) {
      hlo_no_memory(r);
      return;
    }
    int64_t link = r->graph.links.items[instruction->first_operand + i];
    *operand = link == HLO_NONE ? HLO_NONE : first_row + (uint32_t)link;
    row->operand_count++;
  }
}

static void fill_rows(struct hlo_reading *r, const struct calling *callings, uint32_t first_row) {
  const struct hlo_graph *graph = &r->graph;
  for (uint32_t c = 0; c < graph->computations.count && !r->status; c++) {
    const struct hlo_computation *computation = &graph->computations.items[c];
    for (uint32_t i = computation->first; i < computation->first + computation->count && !r->status; i++) {
      struct hlo_row *row = &r->rows->rows.items[first_row + i];
      row->op = graph->instructions.items[i].op;
      row->computation = r->computation_names.items[c];
      row->is_root = computation->root == i;
      row->is_entry = computation->id == r->entry;
      if (callings[c].caller != HLO_NONE) row->caller = first_row + callings[c].caller;
      if (callings[c].part_of != HLO_NONE) row->part_of = first_row + callings[c].part_of;
      add_operands(r, &graph->instructions.items[i], row, first_row);
    }
  }
}

void hlo_rows_end_module(struct hlo_reading *r) {
  const struct hlo_graph *graph = &r->graph;
  if (!r->rows || r->status) return;
  struct calling *callings = calloc(graph->computations.count + 1, sizeof *callings);
  uint32_t *owners = calloc(graph->instructions.count + 1, sizeof *owners);
  if (!callings || !owners) hlo_no_memory(r);
  for (uint32_t c = 0; c < graph->computations.count && !r->status; c++) {
    const struct hlo_computation *computation = &graph->computations.items[c];
    callings[c] = (struct calling){.caller = HLO_NONE, .part_of = HLO_NONE};
    for (uint32_t i = 0; i < computation->count; i++) owners[computation->first + i] = c;
  }
  if (!r->status) find_callers(graph, callings);
  for (uint32_t c = 0; c < graph->computations.count && !r->status; c++) find_parts(r, owners, callings, c);
  if (!r->status) fill_rows(r, callings, (uint32_t)(r->rows->rows.count - graph->instructions.count));
  free(callings);
  free(owners);
}

/* ---- the tables ---- */

static int64_t row_or_null(uint32_t row) { return row == HLO_NONE ? ROW_NULL : row; }
static int64_t text_or_null(string_id id) { return id ? (int64_t)id : ROW_NULL; }

static void publish_operands(const struct hlo_rows *all, struct profile *profile, enum tfprof_status *status,
                             struct tfprof_error *error) {
  struct eager_rows rows;
  eager_rows_begin(&rows, profile, TABLE_hlo_operands, all->operands.count, status, error);
  for (uint32_t pass = 0; pass < 2 && rows.count; pass++) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < all->rows.count; i++) {
      for (uint32_t k = 0; k < all->rows.items[i].operand_count; k++) rows.values[at++] = pass ? k : i;
    }
    eager_rows_set(&rows, pass ? COLUMN_hlo_operands_position : COLUMN_hlo_operands_instruction_id);
  }
  for (uint32_t i = 0; i < rows.count; i++) rows.values[i] = row_or_null(all->operands.items[i]);
  eager_rows_set_known(&rows, COLUMN_hlo_operands_operand_id);
  eager_rows_end(&rows);
}

enum tfprof_status hlo_publish_rows(const struct hlo_rows *all, const struct hlo_programs *programs,
                                    struct profile *profile, struct tfprof_error *error) {
  static const struct hlo_op no_op = {.is_backward = ROW_NULL, .trace = ROW_NULL, .flops = ROW_NULL,
                                      .bytes_accessed = ROW_NULL};
  struct eager_rows rows;
  enum tfprof_status status = TFPROF_OK;
  eager_rows_begin(&rows, profile, TABLE_hlo_instructions, all->rows.count, &status, error);
#define COLUMN_OF(column, expression)                                                               \
  for (uint32_t i = 0; i < rows.count; i++) {                                                       \
    const struct hlo_row *row = &all->rows.items[i];                                                \
    const struct hlo_op *op = row->op == HLO_NONE ? &no_op : &programs->ops.items[row->op];         \
    (void)op;                                                                                       \
    rows.values[i] = (expression);                                                                  \
  }                                                                                                 \
  eager_rows_set_known(&rows, COLUMN_hlo_instructions_##column);
  COLUMN_OF(hlo_module, row->module)
  COLUMN_OF(program, row->program)
  COLUMN_OF(computation, row->computation)
  COLUMN_OF(name, row->name)
  COLUMN_OF(opcode, row->opcode)
  COLUMN_OF(result, row->result)
  COLUMN_OF(dtype, row->dtype)
  COLUMN_OF(is_root, row->is_root)
  COLUMN_OF(is_entry, row->is_entry)
  COLUMN_OF(caller_id, row_or_null(row->caller))
  COLUMN_OF(part_of_id, row_or_null(row->part_of))
  COLUMN_OF(parameter, row->parameter)
  COLUMN_OF(fusion_kind, row->fusion_kind)
  COLUMN_OF(custom_call_target, row->target)
  COLUMN_OF(framework_name, text_or_null(op->framework_name))
  COLUMN_OF(op_type, text_or_null(op->op_type))
  COLUMN_OF(module, text_or_null(op->module))
  COLUMN_OF(is_backward, op->is_backward)
  COLUMN_OF(code_trace_id, op->trace)
  COLUMN_OF(flops, op->flops)
  COLUMN_OF(bytes_accessed, op->bytes_accessed)
#undef COLUMN_OF
  eager_rows_end(&rows);
  publish_operands(all, profile, &status, error);
  return status;
}
