/* proto.c: see proto.h. */
#include "read/hlo/proto.h"

#include "read/hlo/fields.h"

#include <stdlib.h>
#include <string.h>
enum {
  MAXIMUM_INSTRUCTION = 64 << 10, /* bytes; of a longer one, such as a constant, only fields up to that size are read */
  MAXIMUM_STACKS = 64 << 20       /* bytes of the stack frames of a program */
};

bool hlo_next_field(struct hlo_reading *r, uint64_t *offset, uint64_t end, struct far_field *field) {
  const char *wrong = NULL;
  uint64_t start = *offset;
  if (r->status || start >= end) return false;
  r->status = window_field(&r->window, offset, end, field, &wrong, r->error);
  if (wrong && !r->status) hlo_note_wrong(r, start);
  return !r->status;
}

struct text_part hlo_field_bytes(struct hlo_reading *r, const struct far_field *field, size_t maximum) {
  const uint8_t *bytes = NULL;
  size_t got = 0, wanted = field->length < maximum ? (size_t)field->length : maximum;
  if (r->status || field->type != WIRE_BYTES || !wanted) return (struct text_part){"", 0};
  r->status = window_move(&r->window, field->offset, wanted, &bytes, &got, r->error);
  return r->status ? (struct text_part){"", 0} : (struct text_part){(const char *)bytes, got};
}

/* ---- stack frames ---- */

static void read_location(struct hlo_reading *r, const struct wire_reader *outer, const struct wire_field *whole) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field;
  struct hlo_location *location = list_add(&r->locations);
  if (!location) {
    hlo_no_memory(r);
    return;
  }
  location->line = ROW_NULL;
  while (wire_next(&reader, &field)) {
    if (field.number == FileLocation_file_name_id) location->file = wire_uint32(&field);
    else if (field.number == FileLocation_function_name_id) location->function = wire_uint32(&field);
    else if (field.number == FileLocation_line && wire_int32(&field) > 0) location->line = wire_int32(&field);
  }
}

static void read_frame(struct hlo_reading *r, const struct wire_reader *outer, const struct wire_field *whole) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field;
  struct hlo_program_frame *frame = list_add(&r->frames);
  if (!frame) {
    hlo_no_memory(r);
    return;
  }
  while (wire_next(&reader, &field)) {
    if (field.number == StackFrame_file_location_id) frame->location = wire_uint32(&field);
    else if (field.number == StackFrame_parent_frame_id) frame->parent = wire_uint32(&field);
  }
}

static void read_stacks(struct hlo_reading *r, const struct far_field *far) {
  struct text_part bytes = hlo_field_bytes(r, far, MAXIMUM_STACKS);
  struct wire_reader reader = wire_open(bytes.bytes, bytes.length);
  struct wire_field field;
  while (!r->status && wire_next(&reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number == StackFrameIndexProto_file_names || field.number == StackFrameIndexProto_function_names) {
      int64_t id = hlo_enter(r, text, length);
      int64_t *added = field.number == StackFrameIndexProto_file_names ? list_add(&r->files) : list_add(&r->functions);
      if (added) *added = id;
      else hlo_no_memory(r);
    } else if (field.number == StackFrameIndexProto_file_locations) {
      read_location(r, &reader, &field);
    } else if (field.number == StackFrameIndexProto_stack_frames) {
      read_frame(r, &reader, &field);
    }
  }
  if (reader.wrong || far->length > MAXIMUM_STACKS) hlo_note_wrong(r, far->offset + wire_offset(&reader));
}

/* ---- instructions ---- */

static void read_metadata(struct wire_reader reader, struct hlo_metadata *metadata) {
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    switch (field.number) {
      case OpMetadata_op_type: metadata->op_type.bytes = wire_text(&field, &metadata->op_type.length); break;
      case OpMetadata_op_name: metadata->op_name.bytes = wire_text(&field, &metadata->op_name.length); break;
      case OpMetadata_source_file: metadata->file.bytes = wire_text(&field, &metadata->file.length); break;
      case OpMetadata_source_line: metadata->line = wire_int32(&field) > 0 ? wire_int32(&field) : ROW_NULL; break;
      case OpMetadata_stack_frame_id: metadata->frame = wire_uint32(&field); break;
      default: break;
    }
  }
}

/* What is read of an instruction while its fields are. */
struct instruction_texts {
  struct text_part name, opcode;
  struct hlo_metadata metadata;
};
static const struct instruction_texts no_texts = {{"", 0}, {"", 0}, {{"", 0}, {"", 0}, {"", 0}, 0, ROW_NULL}};

static void take_field(struct hlo_reading *r, const struct wire_reader *reader, const struct wire_field *field,
                       struct instruction_texts *texts) {
  if (field->number == HloInstructionProto_name) texts->name.bytes = wire_text(field, &texts->name.length);
  else if (field->number == HloInstructionProto_opcode) texts->opcode.bytes = wire_text(field, &texts->opcode.length);
  else if (field->number == HloInstructionProto_metadata && field->type == WIRE_BYTES)
    read_metadata(wire_enter(reader, field), &texts->metadata);
  hlo_take_field(r, reader, field);
}

/* A text that stays when the window moves on; to be freed. */
static char *keep(struct hlo_reading *r, struct text_part *text) {
  char *bytes = malloc(text->length + 1);
  if (!bytes) {
    hlo_no_memory(r);
    *text = (struct text_part){"", 0};
    return NULL;
  }
  memcpy(bytes, text->bytes, text->length);
  text->bytes = bytes;
  return bytes;
}

static void read_long_instruction(struct hlo_reading *r, const struct far_field *far) {
  uint64_t at = far->offset, end = far->offset + far->length;
  struct far_field part;
  struct instruction_texts texts = no_texts;
  char *kept[3] = {NULL, NULL, NULL}; /* name, opcode and metadata: the last of each counts */
  while (hlo_next_field(r, &at, end, &part)) {
    struct wire_field field = {.number = part.number, .type = part.type, .value = part.value};
    struct text_part bytes = {"", 0};
    if (part.type == WIRE_BYTES && part.length > MAXIMUM_INSTRUCTION) continue;
    if (part.type == WIRE_BYTES) bytes = hlo_field_bytes(r, &part, MAXIMUM_INSTRUCTION);
    unsigned place = part.number == HloInstructionProto_name ? 0 : part.number == HloInstructionProto_opcode ? 1 : 2;
    if (part.type == WIRE_BYTES && (place < 2 || part.number == HloInstructionProto_metadata)) {
      free(kept[place]);
      kept[place] = keep(r, &bytes);
    }
    struct wire_reader reader = wire_open(bytes.bytes, bytes.length);
    field.bytes = (const uint8_t *)bytes.bytes;
    field.length = bytes.length;
    field.limit = reader.limit;
    take_field(r, &reader, &field, &texts);
  }
  hlo_name_instruction(r, texts.name, texts.opcode, &texts.metadata);
  for (unsigned i = 0; i < 3; i++) free(kept[i]);
}

static void read_short_instruction(struct hlo_reading *r, const struct far_field *far) {
  struct text_part bytes = hlo_field_bytes(r, far, MAXIMUM_INSTRUCTION);
  struct wire_reader reader = wire_open(bytes.bytes, bytes.length);
  struct instruction_texts texts = no_texts;
  struct wire_field field;
  while (!r->status && wire_next(&reader, &field)) take_field(r, &reader, &field, &texts);
  if (reader.wrong) hlo_note_wrong(r, far->offset + wire_offset(&reader));
  hlo_name_instruction(r, texts.name, texts.opcode, &texts.metadata);
}

static void read_instruction(struct hlo_reading *r, const struct far_field *far) {
  if (!hlo_add_instruction(r)) return;
  if (far->length > MAXIMUM_INSTRUCTION) read_long_instruction(r, far);
  else read_short_instruction(r, far);
}

/* ---- modules ---- */

static int64_t enter_field(struct hlo_reading *r, const struct far_field *far) {
  struct text_part text = hlo_field_bytes(r, far, MAXIMUM_INSTRUCTION);
  return hlo_enter(r, text.bytes, text.length);
}

static void read_computation(struct hlo_reading *r, const struct far_field *far) {
  uint64_t at = far->offset, end = far->offset + far->length;
  int64_t id = 0, root = 0, name = ROW_NULL;
  struct far_field part;
  if (!hlo_graph_begin(&r->graph)) hlo_no_memory(r);
  while (hlo_next_field(r, &at, end, &part)) {
    if (part.number == HloComputationProto_instructions && part.type == WIRE_BYTES) read_instruction(r, &part);
    else if (part.number == HloComputationProto_name && r->rows) name = enter_field(r, &part);
    else if (part.number == HloComputationProto_id) id = (int64_t)part.value;
    else if (part.number == HloComputationProto_root_id) root = (int64_t)part.value;
  }
  hlo_end_computation(r, name, id, root);
}

static void read_module(struct hlo_reading *r, const struct far_field *far) {
  uint64_t at = far->offset, end = far->offset + far->length;
  struct far_field field;
  hlo_begin_module(r);
  while (hlo_next_field(r, &at, end, &field)) { /* the stacks stand behind what refers to them */
    if (field.number == HloModuleProto_name) hlo_set_module_name(r, hlo_field_bytes(r, &field, MAXIMUM_INSTRUCTION));
    else if (field.number == HloModuleProto_entry_computation_id) r->entry = (int64_t)field.value;
    else if (field.number == HloModuleProto_stack_frame_index && field.type == WIRE_BYTES) read_stacks(r, &field);
  }
  for (at = far->offset; hlo_next_field(r, &at, end, &field);) {
    if (field.number != HloModuleProto_computations || field.type != WIRE_BYTES) continue;
    read_computation(r, &field);
    if (!r->status && store_interrupted(r->profile->store))
      r->status = error_set(r->error, TFPROF_INTERRUPTED, "interrupted");
  }
  hlo_end_module(r);
}

void hlo_read_proto(struct hlo_reading *r, uint64_t at, uint64_t end) {
  struct far_field field;
  while (hlo_next_field(r, &at, end, &field)) {
    if (field.number == HloProto_hlo_module && field.type == WIRE_BYTES) read_module(r, &field);
  }
}

/* A module begins with its name, in which nothing stands that a message begins with. */
static bool is_bare_module(struct hlo_reading *r, uint64_t length) {
  struct far_field field;
  for (uint64_t at = 0; hlo_next_field(r, &at, length, &field);) {
    if (field.number != HloModuleProto_name || field.type != WIRE_BYTES) return true;
    struct text_part text = hlo_field_bytes(r, &field, 1);
    return text.length && (unsigned char)*text.bytes > ' ';
  }
  return false;
}

void hlo_read_file(struct hlo_reading *r, uint64_t length) {
  struct far_field all = {.type = WIRE_BYTES, .length = length};
  bool is_module = is_bare_module(r, length);
  r->programs->wrong = 0; /* what is wrong is met again */
  if (is_module) read_module(r, &all);
  else hlo_read_proto(r, 0, length);
}
