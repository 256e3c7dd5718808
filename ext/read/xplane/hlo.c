/* hlo.c: see hlo.h. */
#include "derive/names/communication_names.h"
#include "read/xplane/hlo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/json/inflate.h"
#include "read/rows/eager_rows.h"
#include "read/rows/hash.h"
#include "read/rows/stacks.h"
#include "read/xplane/hlo_graph.h"

enum {
  MAXIMUM_INSTRUCTION = 64 << 10, /* bytes; of a longer one, as of a constant, fields that are no longer are read */
  MAXIMUM_STACKS = 64 << 20,      /* bytes of the stack frames of a program */
  MAXIMUM_PROGRAM = 256 << 20     /* bytes of a program that was compressed */
};

struct program_frame {
  uint32_t location, parent; /* from 1 on */
  uint32_t stack;            /* row + 1 in stacks, where it is resolved */
  bool is_resolved, is_open;
};
struct location {
  uint32_t file, function; /* from 1 on */
  int64_t line;
};
struct reading {
  struct hlo_programs *programs;
  struct profile *profile;
  struct pool *pool;
  struct window window;
  struct tfprof_error *error;
  enum tfprof_status status;
  bool has_number;
  uint64_t number, module; /* of the program that is being read; a hash of its name */
  LIST(int64_t) files, functions;
  LIST(struct location) locations;
  LIST(struct program_frame) frames;
  LIST(uint32_t) open; /* frames that wait for their parents */
  struct hlo_graph graph;
};

bool hlo_is_in_plane(const struct xplane_plane *plane) { return strcmp(plane->name, "/host:metadata") == 0; }

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

/* ---- reading ---- */

static void no_memory(struct reading *r) {
  if (!r->status) r->status = error_no_memory(r->error);
}

static void note_wrong(struct reading *r, uint64_t offset) {
  if (!r->programs->wrong++) r->programs->wrong_offset = offset;
}

static int64_t enter(struct reading *r, const char *text, size_t length) {
  string_id id = 0;
  enum tfprof_status status = length ? pool_intern_mended(r->pool, text, length, &id, &r->programs->mended) : TFPROF_OK;
  if (status && !r->status) r->status = error_set(r->error, status, "the names of XLA's programs cannot be kept");
  return id ? (int64_t)id : ROW_NULL;
}

/* The next field of a message in the file; false at its end, and when reading failed. */
static bool next_field(struct reading *r, uint64_t *offset, uint64_t end, struct far_field *field) {
  const char *wrong = NULL;
  uint64_t start = *offset;
  if (r->status || start >= end) return false;
  r->status = window_field(&r->window, offset, end, field, &wrong, r->error);
  if (wrong && !r->status) note_wrong(r, start);
  return !r->status;
}

/* The bytes of a field, of a long one the beginning. */
static struct text_part field_bytes(struct reading *r, const struct far_field *field, size_t maximum) {
  const uint8_t *bytes = NULL;
  size_t got = 0, wanted = field->length < maximum ? (size_t)field->length : maximum;
  if (r->status || field->type != WIRE_BYTES || !wanted) return (struct text_part){"", 0};
  r->status = window_move(&r->window, field->offset, wanted, &bytes, &got, r->error);
  return r->status ? (struct text_part){"", 0} : (struct text_part){(const char *)bytes, got};
}

/* ---- stack frames ---- */

static void read_location(struct reading *r, const struct wire_reader *outer, const struct wire_field *whole) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field;
  struct location *location = list_add(&r->locations);
  if (!location) {
    no_memory(r);
    return;
  }
  location->line = ROW_NULL;
  while (wire_next(&reader, &field)) {
    if (field.number == 1) location->file = wire_uint32(&field);
    else if (field.number == 2) location->function = wire_uint32(&field);
    else if (field.number == 3 && wire_int32(&field) > 0) location->line = wire_int32(&field);
  }
}

static void read_frame(struct reading *r, const struct wire_reader *outer, const struct wire_field *whole) {
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field;
  struct program_frame *frame = list_add(&r->frames);
  if (!frame) {
    no_memory(r);
    return;
  }
  while (wire_next(&reader, &field)) {
    if (field.number == 1) frame->location = wire_uint32(&field);
    else if (field.number == 2) frame->parent = wire_uint32(&field);
  }
}

static void read_stacks(struct reading *r, const struct far_field *far) {
  struct text_part bytes = field_bytes(r, far, MAXIMUM_STACKS);
  struct wire_reader reader = wire_open(bytes.bytes, bytes.length);
  struct wire_field field;
  while (!r->status && wire_next(&reader, &field)) {
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number == 1 || field.number == 2) {
      int64_t id = enter(r, text, length), *added = field.number == 1 ? list_add(&r->files) : list_add(&r->functions);
      if (added) *added = id;
      else no_memory(r);
    } else if (field.number == 3) {
      read_location(r, &reader, &field);
    } else if (field.number == 4) {
      read_frame(r, &reader, &field);
    }
  }
  if (reader.wrong || far->length > MAXIMUM_STACKS) note_wrong(r, far->offset + wire_offset(&reader));
}

/* The stack (row + 1) of a frame on top of another one. */
static uint32_t push_frame(struct reading *r, uint32_t below, struct hlo_frame frame) {
  struct hlo_programs *programs = r->programs;
  struct row_key key = {{(uint64_t)frame.file, (uint64_t)frame.function, (uint64_t)frame.line}};
  uint32_t number = row_map_number(&programs->frame_rows, key);
  if (number == programs->frames.count) {
    struct hlo_frame *added = list_add(&programs->frames);
    if (added) *added = frame;
    else number = ROW_MAP_NONE;
  }
  uint32_t stack = number == ROW_MAP_NONE ? 0 : stacks_push(&programs->stacks, below, number);
  if (!stack) no_memory(r);
  return stack;
}

static struct hlo_frame frame_at(const struct reading *r, uint32_t number) {
  struct hlo_frame frame = {ROW_NULL, ROW_NULL, ROW_NULL};
  if (!number || number > r->locations.count) return frame;
  const struct location *location = &r->locations.items[number - 1];
  if (location->file && location->file <= r->files.count) frame.file = r->files.items[location->file - 1];
  if (location->function && location->function <= r->functions.count)
    frame.function = r->functions.items[location->function - 1];
  frame.line = location->line;
  return frame;
}

/* TensorFlow says of every op the line of its own that made it, and nothing of who asked for it. */
static bool is_maker_of_ops(const struct reading *r, struct hlo_frame frame) {
  static const char maker[] = "/tensorflow/python/framework/ops.py";
  if (frame.file == ROW_NULL) return false;
  size_t length = pool_length(r->pool, (string_id)frame.file), size = sizeof maker - 1;
  return length > size && memcmp(pool_text(r->pool, (string_id)frame.file) + length - size, maker, size) == 0;
}

/* The stack (row + 1) that ends in a frame; 0: none. Every frame is resolved once, whatever order they stand in; one
** that is its own caller has none. */
static uint32_t stack_of(struct reading *r, uint32_t number) {
  uint32_t below = 0;
  r->open.count = 0;
  while (number && number <= r->frames.count && !r->status) {
    struct program_frame *frame = &r->frames.items[number - 1];
    if (frame->is_resolved || frame->is_open) {
      below = frame->is_resolved ? frame->stack : 0;
      break;
    }
    uint32_t *open = list_add(&r->open);
    if (!open) no_memory(r);
    else *open = number;
    frame->is_open = true;
    number = frame->parent;
  }
  for (size_t i = r->open.count; i-- > 0 && !r->status;) {
    struct program_frame *frame = &r->frames.items[r->open.items[i] - 1];
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
static void find_modules(struct reading *r, struct text_part name, bool is_typed, struct hlo_op *op) {
  char *modules = malloc(name.length + 1);
  size_t length;
  bool is_backward;
  if (!modules) {
    no_memory(r);
    return;
  }
  bool is_known = xplane_modules(name.bytes, name.length, modules, &length, &is_backward);
  if (!is_known && is_typed && name.length) {
    xplane_scopes(name.bytes, name.length, modules, &length, &is_backward);
    is_known = true;
  }
  if (is_known) {
    int64_t id = enter(r, modules, length);
    op->module = id == ROW_NULL ? 0 : (string_id)id;
    op->is_backward = is_backward;
  }
  free(modules);
}

/* The opcode's text where it is one of a collective. */
static string_id collective_of(struct reading *r, struct text_part opcode) {
  char text[64];
  if (opcode.length >= sizeof text) return 0;
  memcpy(text, opcode.bytes, opcode.length);
  text[opcode.length] = 0;
  int64_t id = communication_instruction(text) ? enter(r, text, opcode.length) : ROW_NULL;
  return id == ROW_NULL ? 0 : (string_id)id;
}

/* `opcode`: what it is to XLA, where the framework did not say its type or made it not. */
static struct hlo_op read_metadata(struct reading *r, const struct wire_reader *outer, const struct wire_field *whole,
                                   struct text_part opcode) {
  struct wire_reader reader = whole->type == WIRE_BYTES ? wire_enter(outer, whole) : wire_open("", 0);
  struct wire_field field;
  struct text_part name = {"", 0}, type = {"", 0}, file = {"", 0};
  uint32_t frame = 0;
  int64_t line = ROW_NULL;
  while (wire_next(&reader, &field)) {
    switch (field.number) {
      case 1: type.bytes = wire_text(&field, &type.length); break;
      case 2: name.bytes = wire_text(&field, &name.length); break;
      case 3: file.bytes = wire_text(&field, &file.length); break;
      case 4: line = wire_int32(&field) > 0 ? wire_int32(&field) : ROW_NULL; break;
      case 15: frame = wire_uint32(&field); break;
      default: break;
    }
  }
  bool is_typed = type.length;
  if (!type.length) type = type_in_name(name.bytes, name.length);
  if (!type.length) type = opcode;
  int64_t name_id = enter(r, name.bytes, name.length), type_id = enter(r, type.bytes, type.length);
  uint32_t stack = stack_of(r, frame);
  struct hlo_frame place = {ROW_NULL, ROW_NULL, line};
  if (!stack && file.length && !r->status) place.file = enter(r, file.bytes, file.length);
  if (place.file != ROW_NULL && !is_maker_of_ops(r, place)) stack = push_frame(r, 0, place);
  struct hlo_op op = {.framework_name = name_id == ROW_NULL ? 0 : (string_id)name_id,
                      .op_type = type_id == ROW_NULL ? 0 : (string_id)type_id,
                      .is_backward = ROW_NULL,
                      .flops = ROW_NULL,
                      .bytes_accessed = ROW_NULL,
                      .collective = collective_of(r, opcode),
                      .exchanged = ROW_NULL,
                      .group_size = ROW_NULL,
                      .trace = stack ? (int64_t)stack - 1 : ROW_NULL};
  find_modules(r, name, is_typed, &op);
  return op;
}

static bool has_same_origin(const struct hlo_op *a, const struct hlo_op *b) {
  return a->framework_name == b->framework_name && a->op_type == b->op_type && a->trace == b->trace;
}

/* Of several programs of one name, as of a function that was compiled for several shapes, an instruction that was made
** of the same costs what it costs in all of them, or nothing is told of it. */
static void name_op(struct reading *r, struct row_key key, uint32_t number) {
  struct row_map *names = &r->programs->names;
  uint32_t before = names->count, name = row_map_number(names, key);
  if (name == ROW_MAP_NONE) {
    no_memory(r);
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
  bool is_same = named.flops == other.flops && named.bytes_accessed == other.bytes_accessed &&
                 named.collective == other.collective && named.exchanged == other.exchanged &&
                 named.group_size == other.group_size;
  if (is_same) return;
  struct hlo_op *common = r->programs->ops.count < UINT32_MAX / 2 ? list_add(&r->programs->ops) : NULL;
  if (!common) {
    no_memory(r);
    return;
  }
  *common = named;
  if (named.flops != other.flops) common->flops = ROW_NULL;
  if (named.bytes_accessed != other.bytes_accessed) common->bytes_accessed = ROW_NULL;
  if (named.collective != other.collective) common->collective = 0;
  if (named.exchanged != other.exchanged) common->exchanged = ROW_NULL;
  if (named.group_size != other.group_size) common->group_size = ROW_NULL;
  names->values[name] = (uint32_t)r->programs->ops.count;
}

/* What is read of an instruction while its fields are. */
struct instruction_texts {
  struct text_part name, opcode;
  struct wire_field metadata;
};

static void take_instruction(struct reading *r, const struct wire_reader *reader, const struct wire_field *field,
                             struct instruction_texts *texts) {
  if (field->number == 1) texts->name.bytes = wire_text(field, &texts->name.length);
  else if (field->number == 2) texts->opcode.bytes = wire_text(field, &texts->opcode.length);
  else if (field->number == 7) texts->metadata = *field;
  if (!hlo_graph_take(&r->graph, reader, field)) no_memory(r);
}

/* Names and opcodes stay short of what is read of them, as the window moves on behind them. */
static void read_long_instruction(struct reading *r, const struct far_field *far, struct hlo_op *op, uint64_t *hash) {
  uint64_t at = far->offset, end = far->offset + far->length;
  struct far_field part;
  struct text_part bytes;
  char opcode[64];
  size_t length = 0;
  *op = (struct hlo_op){.is_backward = ROW_NULL, .trace = ROW_NULL, .flops = ROW_NULL, .bytes_accessed = ROW_NULL,
                        .exchanged = ROW_NULL, .group_size = ROW_NULL};
  *hash = 0;
  while (next_field(r, &at, end, &part)) {
    struct wire_field field = {.number = part.number, .type = part.type, .value = part.value};
    if (part.type == WIRE_BYTES && part.length > MAXIMUM_INSTRUCTION) continue;
    if (part.type == WIRE_BYTES) {
      bytes = field_bytes(r, &part, MAXIMUM_INSTRUCTION);
      field.bytes = (const uint8_t *)bytes.bytes;
      field.length = bytes.length;
    }
    struct wire_reader reader = wire_open(field.bytes, field.length);
    field.limit = reader.limit;
    if (part.number == 1) *hash = field.length ? hash_name(bytes) : 0;
    if (part.number == 2) {
      length = field.length < sizeof opcode ? field.length : 0;
      memcpy(opcode, field.bytes, length);
    }
    if (part.number == 7) *op = read_metadata(r, &reader, &field, (struct text_part){opcode, length});
    if (!hlo_graph_take(&r->graph, &reader, &field)) no_memory(r);
  }
  if (!op->op_type && length && !r->status) {
    int64_t type = enter(r, opcode, length);
    op->op_type = type == ROW_NULL ? 0 : (string_id)type;
  }
}

static void read_short_instruction(struct reading *r, const struct far_field *far, struct hlo_op *op, uint64_t *hash) {
  struct text_part bytes = field_bytes(r, far, MAXIMUM_INSTRUCTION);
  struct wire_reader reader = wire_open(bytes.bytes, bytes.length);
  struct instruction_texts texts = {{"", 0}, {"", 0}, {.type = WIRE_VARINT}};
  struct wire_field field;
  while (!r->status && wire_next(&reader, &field)) take_instruction(r, &reader, &field, &texts);
  if (reader.wrong) note_wrong(r, far->offset + wire_offset(&reader));
  *hash = texts.name.length ? hash_name(texts.name) : 0;
  if (*hash && !r->status) *op = read_metadata(r, &reader, &texts.metadata, texts.opcode);
}

static void read_instruction(struct reading *r, const struct far_field *far) {
  struct hlo_instruction *instruction = hlo_graph_add(&r->graph);
  if (!instruction) {
    no_memory(r);
    return;
  }
  struct hlo_op read;
  uint64_t hash;
  if (far->length > MAXIMUM_INSTRUCTION) read_long_instruction(r, far, &read, &hash);
  else read_short_instruction(r, far, &read, &hash);
  instruction = &r->graph.instructions.items[r->graph.instructions.count - 1];
  instruction->op = HLO_NONE;
  if (!hash || r->status) return;
  struct hlo_op *op = r->programs->ops.count < UINT32_MAX / 2 ? list_add(&r->programs->ops) : NULL;
  if (!op) {
    no_memory(r);
    return;
  }
  *op = read;
  instruction->name = hash;
  instruction->op = (uint32_t)r->programs->ops.count - 1;
}

static int64_t whole_number(double number) { return number >= 0 && number < 0x1p63 ? (int64_t)number : ROW_NULL; }

/* Once the program is there. */
static void name_instructions(struct reading *r) {
  if (!hlo_graph_link(&r->graph)) {
    no_memory(r);
    return;
  }
  hlo_graph_count(&r->graph);
  for (size_t i = 0; i < r->graph.instructions.count && !r->status; i++) {
    const struct hlo_instruction *instruction = &r->graph.instructions.items[i];
    if (instruction->op == HLO_NONE) continue;
    struct hlo_op *op = &r->programs->ops.items[instruction->op];
    op->flops = whole_number(instruction->flops);
    op->bytes_accessed = whole_number(instruction->bytes);
    if (op->collective) {
      op->exchanged = whole_number(hlo_graph_exchanged_bytes(&r->graph, instruction));
      op->group_size = instruction->group_size ? instruction->group_size : ROW_NULL;
    }
    if (r->has_number) name_op(r, instruction_key(&r->number, 0, instruction->name), instruction->op);
    name_op(r, instruction_key(NULL, r->module, instruction->name), instruction->op);
  }
}

/* ---- modules ---- */

static void read_computation(struct reading *r, const struct far_field *far) {
  uint64_t at = far->offset, end = far->offset + far->length;
  int64_t id = 0, root = 0;
  struct far_field part;
  if (!hlo_graph_begin(&r->graph)) no_memory(r);
  while (next_field(r, &at, end, &part)) {
    if (part.number == 2 && part.type == WIRE_BYTES) read_instruction(r, &part);
    else if (part.number == 5) id = (int64_t)part.value;
    else if (part.number == 6) root = (int64_t)part.value;
  }
  if (!r->status) hlo_graph_set_ids(&r->graph, id, root);
}

static void read_module(struct reading *r, const struct far_field *far) {
  uint64_t at = far->offset, end = far->offset + far->length;
  struct far_field field;
  r->files.count = r->functions.count = r->locations.count = r->frames.count = 0;
  r->module = HASH_FNV1A_START;
  hlo_graph_clear(&r->graph);
  while (next_field(r, &at, end, &field)) { /* the stacks stand behind what refers to them */
    if (field.number == 1) r->module = hash_name(field_bytes(r, &field, MAXIMUM_INSTRUCTION));
    else if (field.number == 17 && field.type == WIRE_BYTES) read_stacks(r, &field);
  }
  for (at = far->offset; next_field(r, &at, end, &field);) {
    if (field.number != 3 || field.type != WIRE_BYTES) continue;
    read_computation(r, &field);
    if (!r->status && store_interrupted(r->profile->store))
      r->status = error_set(r->error, TFPROF_INTERRUPTED, "interrupted");
  }
  if (!r->status) name_instructions(r);
}

/* The number in "jit_train_step(26)". */
static bool number_in_name(struct text_part name, uint64_t *number) {
  char digits[32];
  const char *open = name.length ? memrchr(name.bytes, '(', name.length) : NULL;
  size_t length = open ? name.length - (size_t)(open + 1 - name.bytes) : 0;
  if (length < 2 || length > sizeof digits || name.bytes[name.length - 1] != ')') return false;
  memcpy(digits, open + 1, length - 1);
  digits[length - 1] = '\0';
  char *end;
  *number = strtoull(digits, &end, 10); /* of a negative number the bits, as the events have them */
  return end != digits && !*end;
}

static void read_proto(struct reading *r, uint64_t at, uint64_t end) {
  struct far_field field;
  while (next_field(r, &at, end, &field)) {
    if (field.number == 1 && field.type == WIRE_BYTES) read_module(r, &field);
  }
}

/* The whole of what gzip made smaller, to be freed; NULL: it is damaged, larger than any program, or no memory. */
static char *expand(struct reading *r, struct text_part packed, size_t *length) {
  struct inflater *inflater = inflater_create();
  const uint8_t *in = (const uint8_t *)packed.bytes;
  size_t left = packed.length, capacity = 0;
  char *bytes = NULL;
  enum inflater_status status = INFLATER_MORE;
  *length = 0;
  while (inflater && status == INFLATER_MORE && *length < MAXIMUM_PROGRAM) {
    if (!array_reserve(bytes, capacity, *length + (1 << 20))) {
      no_memory(r);
      break;
    }
    uint8_t *out = (uint8_t *)bytes + *length;
    size_t room = capacity - *length, before = left;
    status = inflater_step(inflater, &in, &left, &out, &room);
    size_t written = capacity - *length - room;
    *length += written;
    if (status == INFLATER_MORE && !written && left == before) break; /* it was cut off */
  }
  if (!inflater) no_memory(r);
  inflater_free(inflater);
  if (status == INFLATER_END && *length) return bytes;
  free(bytes);
  return NULL;
}

/* A program that the writer compressed is read from memory. */
static void read_compressed(struct reading *r, const struct far_field *far) {
  size_t length;
  char *bytes = expand(r, field_bytes(r, far, MAXIMUM_PROGRAM), &length);
  if (r->status) return;
  if (!bytes) {
    note_wrong(r, far->offset);
    return;
  }
  uint64_t wrong = r->programs->wrong;
  struct window of_file = r->window;
  r->window = (struct window){.file_bytes = length, .bytes = bytes, .length = length, .capacity = length};
  read_proto(r, 0, length);
  window_free(&r->window);
  r->window = of_file;
  if (!wrong && r->programs->wrong) r->programs->wrong_offset = far->offset;
}

static void read_stat(struct reading *r, const struct far_field *far, int64_t proto_stat) {
  uint64_t at = far->offset, end = far->offset + far->length, id = 0;
  struct far_field field, bytes = {0};
  while (next_field(r, &at, end, &field)) {
    if (field.number == 1) id = field.value;
    else if (field.number == 6 || field.number == 8) bytes = field;
  }
  if (r->status || (int64_t)id != proto_stat) return;
  if (bytes.number == 8) read_compressed(r, &bytes);
  else if (bytes.number == 6) read_proto(r, bytes.offset, bytes.offset + bytes.length);
}

/* An XEventMetadata. */
static void read_program(struct reading *r, const struct far_field *far, int64_t proto_stat) {
  uint64_t at = far->offset, end = far->offset + far->length;
  struct far_field field;
  r->has_number = false;
  while (next_field(r, &at, end, &field)) {
    if (field.number == 2) r->has_number = number_in_name(field_bytes(r, &field, MAXIMUM_INSTRUCTION), &r->number);
  }
  for (at = far->offset; next_field(r, &at, end, &field);) {
    if (field.number == 5 && field.type == WIRE_BYTES) read_stat(r, &field, proto_stat);
  }
}

/* The number of the stat "Hlo Proto"; false: the plane has none. */
static bool find_proto_stat(struct reading *r, const struct xplane_plane *plane, int64_t *id) {
  static const char name[] = "Hlo Proto";
  uint64_t at = plane->names;
  struct far_field entry, part, field;
  while (next_field(r, &at, plane->names_end, &entry)) {
    uint64_t inner = entry.offset, key = 0;
    bool is_it = false;
    if (entry.number != 5 || entry.type != WIRE_BYTES) continue;
    while (next_field(r, &inner, entry.offset + entry.length, &part)) {
      uint64_t innermost = part.offset;
      if (part.number == 1) key = part.value;
      if (part.number != 2 || part.type != WIRE_BYTES) continue;
      while (next_field(r, &innermost, part.offset + part.length, &field)) {
        if (field.number != 2) continue;
        struct text_part text = field_bytes(r, &field, sizeof name);
        is_it = field.length == sizeof name - 1 && memcmp(text.bytes, name, text.length) == 0;
      }
    }
    *id = (int64_t)key;
    if (is_it) return true;
  }
  return false;
}

enum tfprof_status hlo_programs_read(struct hlo_programs *programs, const struct xplane_index *index,
                                     struct profile *profile, struct tfprof_error *error) {
  struct reading r = {.programs = programs,
                      .profile = profile,
                      .pool = store_pool(profile->store),
                      .error = error,
                      .window = {.file = index->file, .file_bytes = index->file_bytes}};
  for (size_t i = 0; i < index->planes.count && !r.status; i++) {
    const struct xplane_plane *plane = &index->planes.items[i];
    int64_t proto_stat;
    if (!hlo_is_in_plane(plane) || !find_proto_stat(&r, plane, &proto_stat)) continue;
    struct far_field entry, part;
    for (uint64_t at = plane->names; next_field(&r, &at, plane->names_end, &entry);) {
      if (entry.number != 4 || entry.type != WIRE_BYTES) continue;
      uint64_t inner = entry.offset, end = entry.offset + entry.length;
      while (next_field(&r, &inner, end, &part)) {
        if (part.number == 2 && part.type == WIRE_BYTES) read_program(&r, &part, proto_stat);
      }
    }
  }
  list_free(&r.files);
  list_free(&r.functions);
  list_free(&r.locations);
  list_free(&r.frames);
  list_free(&r.open);
  hlo_graph_free(&r.graph);
  window_free(&r.window);
  if (r.status) hlo_programs_free(programs);
  return r.status;
}

/* ---- rows ---- */

static const char *text_of(const struct profile *profile, int64_t id) {
  return id == ROW_NULL ? NULL : pool_text(store_pool(profile->store), (string_id)id);
}

enum tfprof_status hlo_publish_traces(const struct hlo_programs *programs, struct profile *profile,
                                      struct tfprof_error *error) {
  struct eager_rows rows;
  enum tfprof_status status = TFPROF_OK;
  string_id python;
  status = pool_intern(store_pool(profile->store), "python", 6, &python);
  if (status) return error_set(error, status, "the texts of the profile cannot be kept");
  eager_rows_begin(&rows, profile, TABLE_code_frames, programs->frames.count, &status, error);
#define COLUMN_OF(column, expression) \
  for (uint32_t i = 0; i < rows.count; i++) { \
    const struct hlo_frame *frame = &programs->frames.items[i]; \
    (void)frame; \
    rows.values[i] = (expression); \
  } \
  eager_rows_set_known(&rows, COLUMN_code_frames_##column);
  COLUMN_OF(file, frame->file)
  COLUMN_OF(function, frame->function)
  COLUMN_OF(line, frame->line)
  COLUMN_OF(language, python)
#undef COLUMN_OF
  eager_rows_end(&rows);
  eager_rows_begin(&rows, profile, TABLE_code_traces, programs->stacks.count, &status, error);
  stacks_set(&rows, &programs->stacks);
  for (uint32_t i = 0; i < rows.count; i++) {
    uint32_t parent = stacks_parent(&programs->stacks, i);
    const struct hlo_frame *frame = &programs->frames.items[stacks_frame(&programs->stacks, i)];
    rows.values[i] = stacks_hash(parent ? &rows.values[parent - 1] : NULL, text_of(profile, frame->file),
                                 text_of(profile, frame->function), frame->line);
  }
  eager_rows_set_known(&rows, COLUMN_code_traces_hash);
  eager_rows_end(&rows);
  return status;
}
