/* reading.c: see reading.h. */
#include "read/hlo/reading.h"

#include <string.h>

#include "base/hash.h"
#include "derive/names/communication_names.h"
#include "read/hlo/instruction_rows.h"
#include "read/rows/stacks.h"

void hlo_programs_free(struct hlo_programs *programs) {
  list_free(&programs->ops);
  list_free(&programs->frames);
  row_map_free(&programs->names);
  row_map_free(&programs->frame_rows);
  row_map_free(&programs->stacks);
  *programs = (struct hlo_programs){0};
}

/* ---- finding ---- */

static uint64_t hash_name(struct text_part text) { return hash_fnv1a(HASH_FNV1A_START, text.bytes, text.length); }

/* Names are compared by hashes of 64 bits: of one file, two do not share one by chance. */
static struct row_key instruction_key(const uint64_t *number, uint64_t module, uint64_t instruction) {
  return (struct row_key){{number ? *number : module, instruction, number != NULL}};
}

const struct hlo_op *hlo_find(const struct hlo_programs *programs, const uint64_t *number, struct text_part module,
                              struct text_part instruction) {
  if (!programs->names.count) return NULL;
  uint64_t module_hash = number ? 0 : hash_name(module);
  uint32_t found = row_map_find(&programs->names, instruction_key(number, module_hash, hash_name(instruction)));
  uint32_t op = found == ROW_MAP_NONE ? 0 : programs->names.values[found];
  return op ? &programs->ops.items[op - 1] : NULL;
}

/* ---- stack frames ---- */

/* The stack (row + 1) of a frame on top of another one. */
static uint32_t push_frame(struct hlo_reading *r, uint32_t below, struct hlo_frame frame) {
  struct hlo_programs *programs = r->programs;
  struct row_key key = {{(uint64_t)frame.file, (uint64_t)frame.function, (uint64_t)frame.line}};
  uint32_t number = row_map_number(&programs->frame_rows, key);
  if (number == programs->frames.count) {
    struct hlo_frame *added = list_add(&programs->frames);
    if (added) *added = frame;
    else number = ROW_MAP_NONE;
  }
  uint32_t stack = number == ROW_MAP_NONE ? 0 : stacks_push(&programs->stacks, below, number);
  if (!stack) hlo_no_memory(r);
  return stack;
}

static struct hlo_frame frame_at(const struct hlo_reading *r, uint32_t number) {
  struct hlo_frame frame = {ROW_NULL, ROW_NULL, ROW_NULL};
  if (!number || number > r->locations.count) return frame;
  const struct hlo_location *location = &r->locations.items[number - 1];
  if (location->file && location->file <= r->files.count) frame.file = r->files.items[location->file - 1];
  if (location->function && location->function <= r->functions.count)
    frame.function = r->functions.items[location->function - 1];
  frame.line = location->line;
  return frame;
}

/* TensorFlow says of every op the line of its own that made it, and nothing of who asked for it. */
static bool is_maker_of_ops(const struct hlo_reading *r, struct hlo_frame frame) {
  static const char maker[] = "/tensorflow/python/framework/ops.py";
  if (frame.file == ROW_NULL) return false;
  size_t length = pool_length(r->pool, (string_id)frame.file), size = sizeof maker - 1;
  return length > size && memcmp(pool_text(r->pool, (string_id)frame.file) + length - size, maker, size) == 0;
}

/* The stack (row + 1) that ends in a frame; 0: none. Every frame is resolved once, whatever order they stand in; one
** that is its own caller has none. */
static uint32_t stack_of(struct hlo_reading *r, uint32_t number) {
  uint32_t below = 0;
  r->open.count = 0;
  while (number && number <= r->frames.count && !r->status) {
    struct hlo_program_frame *frame = &r->frames.items[number - 1];
    if (frame->is_resolved || frame->is_open) {
      below = frame->is_resolved ? frame->stack : 0;
      break;
    }
    uint32_t *open = list_add(&r->open);
    if (!open) hlo_no_memory(r);
    else *open = number;
    frame->is_open = true;
    number = frame->parent;
  }
  for (size_t i = r->open.count; i-- > 0 && !r->status;) {
    struct hlo_program_frame *frame = &r->frames.items[r->open.items[i] - 1];
    struct hlo_frame place = frame_at(r, frame->location);
    frame->stack = !below && is_maker_of_ops(r, place) ? 0 : push_frame(r, below, place);
    below = frame->stack;
    frame->is_resolved = true;
  }
  return below;
}

/* ---- instructions ---- */

/* "jit(f)/jvp()/dot_general[dims=...]": dot_general. Empty of ops that XLA made of several, whose names it joins:
** "jit(f)/(jvp()/mul:jvp()/reduce_sum)". */
static struct text_part type_in_name(const char *name, size_t length) {
  const char *bracket = length ? memchr(name, '[', length) : NULL;
  size_t end = bracket ? (size_t)(bracket - name) : length;
  const char *slash = end ? memrchr(name, '/', end) : NULL;
  size_t start = slash ? (size_t)(slash + 1 - name) : 0;
  bool is_of_several = end > start && memchr(name + start, ')', end - start);
  return (struct text_part){name + start, is_of_several ? 0 : end - start};
}

/* Where the op stands in the model, by the name that the framework gave it. `is_typed`: it said its type, too, as
** TensorFlow does. */
static void find_modules(struct hlo_reading *r, struct text_part name, bool is_typed, struct hlo_op *op) {
  char *modules = malloc(name.length + 1);
  size_t length;
  bool is_backward;
  if (!modules) {
    hlo_no_memory(r);
    return;
  }
  bool is_known = xplane_modules(name.bytes, name.length, modules, &length, &is_backward);
  if (!is_known && is_typed && name.length) {
    xplane_scopes(name.bytes, name.length, modules, &length, &is_backward);
    is_known = true;
  }
  if (is_known) {
    int64_t id = hlo_enter(r, modules, length);
    op->module = id == ROW_NULL ? 0 : (string_id)id;
    op->is_backward = is_backward;
  }
  free(modules);
}

/* The opcode's text where it is one of a collective. */
static string_id collective_of(struct hlo_reading *r, struct text_part opcode) {
  char text[64];
  if (opcode.length >= sizeof text) return 0;
  memcpy(text, opcode.bytes, opcode.length);
  text[opcode.length] = 0;
  int64_t id = communication_instruction(text) ? hlo_enter(r, text, opcode.length) : ROW_NULL;
  return id == ROW_NULL ? 0 : (string_id)id;
}

static struct hlo_op made_of(struct hlo_reading *r, const struct hlo_metadata *metadata, struct text_part opcode) {
  struct text_part name = metadata->op_name, type = metadata->op_type, file = metadata->file;
  bool is_typed = type.length;
  if (!type.length) type = type_in_name(name.bytes, name.length);
  if (!type.length) type = opcode;
  int64_t name_id = hlo_enter(r, name.bytes, name.length), type_id = hlo_enter(r, type.bytes, type.length);
  uint32_t stack = stack_of(r, metadata->frame);
  struct hlo_frame place = {ROW_NULL, ROW_NULL, metadata->line};
  if (!stack && file.length && !r->status) place.file = hlo_enter(r, file.bytes, file.length);
  if (place.file != ROW_NULL && !is_maker_of_ops(r, place)) stack = push_frame(r, 0, place);
  struct hlo_op op = {.framework_name = name_id == ROW_NULL ? 0 : (string_id)name_id,
                      .op_type = type_id == ROW_NULL ? 0 : (string_id)type_id,
                      .is_backward = ROW_NULL,
                      .flops = ROW_NULL,
                      .bytes_accessed = ROW_NULL,
                      .collective = collective_of(r, opcode),
                      .exchanged = ROW_NULL,
                      .group_size = ROW_NULL,
                      .instruction = ROW_NULL,
                      .trace = stack ? (int64_t)stack - 1 : ROW_NULL};
  find_modules(r, name, is_typed, &op);
  return op;
}

static bool has_same_origin(const struct hlo_op *a, const struct hlo_op *b) {
  return a->framework_name == b->framework_name && a->op_type == b->op_type && a->trace == b->trace;
}

/* Of several programs of one name, as of a function that was compiled for several shapes, an instruction that was made
** of the same costs what it costs in all of them, or nothing is told of it. */
static void name_op(struct hlo_reading *r, struct row_key key, uint32_t number) {
  struct row_map *names = &r->programs->names;
  uint32_t before = names->count, name = row_map_number(names, key);
  if (name == ROW_MAP_NONE) {
    hlo_no_memory(r);
    return;
  }
  if (name == before) {
    names->values[name] = number + 1;
    return;
  }
  if (!names->values[name]) return;
  struct hlo_op named = r->programs->ops.items[names->values[name] - 1], other = r->programs->ops.items[number];
  if (!has_same_origin(&named, &other)) {
    names->values[name] = 0;
    return;
  }
  bool is_one = named.instruction == other.instruction || named.instruction == ROW_NULL;
  bool is_same = is_one && named.flops == other.flops && named.bytes_accessed == other.bytes_accessed &&
                 named.collective == other.collective && named.exchanged == other.exchanged &&
                 named.group_size == other.group_size;
  if (is_same) return;
  struct hlo_op *common = r->programs->ops.count < UINT32_MAX / 2 ? list_add(&r->programs->ops) : NULL;
  if (!common) {
    hlo_no_memory(r);
    return;
  }
  *common = named;
  if (!is_one) common->instruction = ROW_NULL;
  if (named.flops != other.flops) common->flops = ROW_NULL;
  if (named.bytes_accessed != other.bytes_accessed) common->bytes_accessed = ROW_NULL;
  if (named.collective != other.collective) common->collective = 0;
  if (named.exchanged != other.exchanged) common->exchanged = ROW_NULL;
  if (named.group_size != other.group_size) common->group_size = ROW_NULL;
  names->values[name] = (uint32_t)r->programs->ops.count;
}

static int64_t whole_number(double number) { return number >= 0 && number < 0x1p63 ? (int64_t)number : ROW_NULL; }

/* ---- modules ---- */

void hlo_begin_module(struct hlo_reading *r) {
  r->files.count = r->functions.count = r->locations.count = r->frames.count = 0;
  r->module = HASH_FNV1A_START;
  r->module_name = ROW_NULL;
  r->entry = -1;
  r->computation_names.count = 0;
  hlo_graph_clear(&r->graph);
}

void hlo_set_module_name(struct hlo_reading *r, struct text_part name) {
  r->module = hash_name(name);
  r->module_name = hlo_enter(r, name.bytes, name.length);
}

void hlo_end_computation(struct hlo_reading *r, int64_t name, int64_t id, int64_t root_id) {
  if (r->status) return;
  hlo_graph_set_ids(&r->graph, id, root_id);
  int64_t *added = r->rows ? list_add(&r->computation_names) : NULL;
  if (added) *added = name;
  else if (r->rows) hlo_no_memory(r);
}

bool hlo_add_instruction(struct hlo_reading *r) {
  if (!hlo_graph_add(&r->graph)) hlo_no_memory(r);
  hlo_rows_add(r);
  return !r->status;
}

void hlo_take_field(struct hlo_reading *r, const struct wire_reader *reader, const struct wire_field *field) {
  if (!hlo_graph_take(&r->graph, reader, field)) hlo_no_memory(r);
  hlo_rows_take(r, reader, field);
}

void hlo_name_instruction(struct hlo_reading *r, struct text_part name, struct text_part opcode,
                          const struct hlo_metadata *metadata) {
  struct hlo_instruction *instruction = &r->graph.instructions.items[r->graph.instructions.count - 1];
  instruction->op = HLO_NONE;
  if (!r->status) hlo_rows_name(r, name, opcode);
  if (!name.length || r->status) return;
  instruction->name = hash_name(name);
  struct hlo_op read = made_of(r, metadata, opcode);
  struct hlo_op *op = r->programs->ops.count < UINT32_MAX / 2 ? list_add(&r->programs->ops) : NULL;
  if (!op) {
    hlo_no_memory(r);
    return;
  }
  *op = read;
  instruction->op = (uint32_t)r->programs->ops.count - 1;
}

void hlo_end_module(struct hlo_reading *r) {
  if (r->status) return;
  if (!hlo_graph_link(&r->graph)) {
    hlo_no_memory(r);
    return;
  }
  hlo_graph_count(&r->graph);
  for (size_t i = 0; i < r->graph.instructions.count && !r->status; i++) {
    const struct hlo_instruction *instruction = &r->graph.instructions.items[i];
    if (instruction->op == HLO_NONE) continue;
    struct hlo_op *op = &r->programs->ops.items[instruction->op];
    op->instruction = (int64_t)(r->programs->instruction_count + i);
    op->flops = whole_number(instruction->flops);
    op->bytes_accessed = whole_number(instruction->bytes);
    if (op->collective) {
      op->exchanged = whole_number(hlo_graph_exchanged_bytes(&r->graph, instruction));
      op->group_size = instruction->group_size ? instruction->group_size : ROW_NULL;
    }
    if (r->has_number) name_op(r, instruction_key(&r->number, 0, instruction->name), instruction->op);
    name_op(r, instruction_key(NULL, r->module, instruction->name), instruction->op);
  }
  hlo_rows_end_module(r);
  r->programs->instruction_count += r->graph.instructions.count;
}

