/* text.c: see text.h. */
#include "read/hlo/text.h"

#include "base/list.h"
#include "read/hlo/fields.h"
#include "read/hlo/text_parts.h"

struct reading {
  const char *start, *at, *end;
  struct text_buffer *proto;
  struct hlo_text_faults *faults;
  bool has_module, has_entry;
  bool is_in_computation, has_frames;
  size_t computation, frames; /* places of the messages that are open */
  uint64_t id, root;          /* of the computation */
  bool has_root;
  enum table { TABLE_NONE, TABLE_FILES, TABLE_FUNCTIONS, TABLE_LOCATIONS, TABLE_FRAMES } table;
  LIST(struct frame) stack;
};
struct frame {
  int64_t location, parent;
};

static void note_fault(struct reading *r, const char *at, const char *what) {
  if (r->faults->count++) return;
  r->faults->offset = (uint64_t)(at - r->start);
  r->faults->what = what;
}

/* ---- lines ---- */

static bool is_blank(struct hlo_cursor line) {
  hlo_skip_space(&line);
  return line.at == line.end;
}

/* "ROOT %name = ", "name = ", or the end of a computation: what goes before is over, whatever is open in it. */
static bool begins_anew(const char *at, const char *end) {
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  struct hlo_cursor line = {at, stop ? stop : end};
  if (hlo_take(&line, '}') || is_blank(line)) return true;
  struct text_part name = hlo_take_name(&line);
  if (hlo_is_text(name, "ROOT")) name = hlo_take_name(&line);
  return name.length && hlo_take(&line, '=') && line.at < line.end && *line.at == ' ';
}

/* The next line; of an instruction that is written on several, all of them. */
static bool next_line(struct reading *r, struct hlo_cursor *line) {
  if (r->at >= r->end) return false;
  const char *at = r->at;
  long depth = 0;
  for (line->at = at; at < r->end; at++) {
    if (*at == '"') {
      for (at++; at < r->end && *at != '"' && *at != '\n'; at++) at += *at == '\\' && at + 1 < r->end;
      if (at >= r->end) break; /* it is never closed */
    }
    depth += *at == '(' || *at == '[' || *at == '{';
    depth -= *at == ')' || *at == ']' || *at == '}';
    if (*at != '\n') continue;
    if (!r->is_in_computation || depth <= 0 || begins_anew(at + 1, r->end)) break;
  }
  line->end = at < r->end ? at : r->end;
  r->at = at < r->end ? at + 1 : r->end;
  return true;
}

/* ---- tables of stack frames ---- */

/* The number behind "key=" in "{file_location_id=1 parent_frame_id=1}"; 0: it has none. */
static int64_t number_behind(struct hlo_cursor line, const char *key) {
  const char *at = memmem(line.at, (size_t)(line.end - line.at), key, strlen(key));
  struct hlo_cursor value = {at ? at + strlen(key) : line.end, line.end};
  int64_t number = 0;
  return hlo_take_number(&value, &number) && number >= 0 && number <= INT32_MAX ? number : 0;
}

static void read_location(struct reading *r, struct hlo_cursor line) {
  size_t place = message_begin(r->proto, StackFrameIndexProto_file_locations);
  message_number(r->proto, FileLocation_file_name_id, (uint64_t)number_behind(line, "file_name_id="));
  message_number(r->proto, FileLocation_function_name_id, (uint64_t)number_behind(line, "function_name_id="));
  message_number(r->proto, FileLocation_line, (uint64_t)number_behind(line, " line="));
  message_end(r->proto, place);
}

static void read_table_line(struct reading *r, struct hlo_cursor line) {
  int64_t number;
  const char *start = line.at;
  if (!hlo_take_number(&line, &number)) {
    note_fault(r, start, "a line of the tables of stack frames has no number");
    return;
  }
  hlo_skip_space(&line);
  if (r->table == TABLE_FILES || r->table == TABLE_FUNCTIONS) {
    size_t place = message_begin(r->proto, r->table == TABLE_FILES ? StackFrameIndexProto_file_names
                                                                   : StackFrameIndexProto_function_names);
    hlo_unquote((struct text_part){line.at, (size_t)(line.end - line.at)}, r->proto);
    message_end(r->proto, place);
  } else if (r->table == TABLE_LOCATIONS) {
    read_location(r, line);
  } else {
    struct frame *frame = list_add(&r->stack);
    if (!frame) r->proto->failed = true;
    else *frame = (struct frame){number_behind(line, "file_location_id="), number_behind(line, "parent_frame_id=")};
  }
}

/* Writers number parents from 1 on, or say 1 more, so that none is 1: then every frame has one. */
static void end_tables(struct reading *r) {
  int64_t more = 1;
  if (!r->has_frames) return;
  for (size_t i = 0; i < r->stack.count; i++) more = r->stack.items[i].parent == 0 ? 0 : more;
  for (size_t i = 0; i < r->stack.count; i++) {
    size_t place = message_begin(r->proto, StackFrameIndexProto_stack_frames);
    message_number(r->proto, StackFrame_file_location_id, (uint64_t)r->stack.items[i].location);
    message_number(r->proto, StackFrame_parent_frame_id, (uint64_t)(r->stack.items[i].parent - more));
    message_end(r->proto, place);
  }
  message_end(r->proto, r->frames);
  r->has_frames = false;
  r->table = TABLE_NONE;
  r->stack.count = 0;
}

static enum table table_named(struct text_part name) {
  if (hlo_is_text(name, "FileNames")) return TABLE_FILES;
  if (hlo_is_text(name, "FunctionNames")) return TABLE_FUNCTIONS;
  if (hlo_is_text(name, "FileLocations")) return TABLE_LOCATIONS;
  return hlo_is_text(name, "StackFrames") ? TABLE_FRAMES : TABLE_NONE;
}

/* ---- instructions ---- */

/* "%a, f32[8]{0} %b": the last name of each. */
static void read_operands(struct reading *r, struct hlo_cursor within) {
  struct text_part part;
  size_t list = message_begin(r->proto, HloInstructionProto_operand_ids);
  while (hlo_take_part(&within, &part)) {
    const char *start = part.bytes + part.length;
    while (start > part.bytes && start[-1] != ' ' && start[-1] != '%') start--;
    struct hlo_cursor name = {start, part.bytes + part.length};
    message_varint(r->proto, hlo_id_of_name(hlo_take_name(&name)));
  }
  message_end(r->proto, list);
}

static bool read_instruction(struct reading *r, struct hlo_cursor line) {
  struct hlo_cursor within;
  int64_t number;
  struct text_part name = hlo_take_name(&line);
  bool is_root = hlo_is_text(name, "ROOT");
  if (is_root) name = hlo_take_name(&line);
  if (!name.length || !hlo_take(&line, '=')) return false;
  message_bytes(r->proto, HloInstructionProto_name, name.bytes, name.length);
  message_number(r->proto, HloInstructionProto_id, hlo_id_of_name(name));
  if (!hlo_take_shape(&line, r->proto, HloInstructionProto_shape)) return false;
  struct text_part opcode = hlo_take_name(&line);
  if (!opcode.length || !hlo_take_within(&line, &within)) return false;
  message_bytes(r->proto, HloInstructionProto_opcode, opcode.bytes, opcode.length);
  if (hlo_is_text(opcode, "parameter")) {
    if (hlo_take_number(&within, &number) && number >= 0)
      message_number(r->proto, HloInstructionProto_parameter_number, (uint64_t)number);
  } else if (!hlo_is_text(opcode, "constant")) {
    read_operands(r, within);
  }
  hlo_take(&line, ',');
  hlo_read_attributes(line, opcode, r->proto);
  r->root = is_root || !r->has_root ? hlo_id_of_name(name) : r->root; /* the last one, where none says so */
  r->has_root |= is_root;
  return true;
}

static void take_instruction(struct reading *r, struct hlo_cursor line) {
  size_t before = r->proto->length;
  size_t place = message_begin(r->proto, HloComputationProto_instructions);
  if (read_instruction(r, line)) {
    message_end(r->proto, place);
    return;
  }
  if (!r->proto->failed) r->proto->length = before;
  if (line.end < r->end) note_fault(r, line.at, "a line of a computation is no instruction"); /* else it was cut off */
}

/* ---- computations ---- */

static void end_computation(struct reading *r) {
  message_number(r->proto, HloComputationProto_id, r->id);
  message_number(r->proto, HloComputationProto_root_id, r->root);
  message_end(r->proto, r->computation);
  r->is_in_computation = false;
}

/* "ENTRY %main.3 (x: f32[8]) -> f32[8] {", "region_0.1 {". */
static bool begin_computation(struct reading *r, struct hlo_cursor line) {
  const char *end = line.end;
  while (end > line.at && (end[-1] == ' ' || end[-1] == '\r')) end--;
  if (end == line.at || end[-1] != '{') return false;
  struct text_part name = hlo_take_name(&line);
  bool is_entry = hlo_is_text(name, "ENTRY");
  if (is_entry) name = hlo_take_name(&line);
  if (!name.length) return false;
  r->id = hlo_id_of_name(name);
  if (is_entry) message_number(r->proto, HloModuleProto_entry_computation_id, r->id);
  r->computation = message_begin(r->proto, HloModuleProto_computations);
  message_bytes(r->proto, HloComputationProto_name, name.bytes, name.length);
  r->is_in_computation = true;
  r->has_root = false;
  r->root = 0;
  r->has_entry |= is_entry;
  return true;
}

/* ---- all of it ---- */

static void read_outer_line(struct reading *r, struct hlo_cursor line) {
  struct hlo_cursor rest = line;
  struct text_part name = hlo_take_name(&rest);
  enum table table = table_named(name);
  if (table) {
    if (!r->has_frames) r->frames = message_begin(r->proto, HloModuleProto_stack_frame_index);
    r->has_frames = true;
    r->table = table;
  } else if (r->table && name.length && *name.bytes >= '0' && *name.bytes <= '9') {
    read_table_line(r, line);
  } else {
    end_tables(r);
    if (hlo_is_text(name, "HloModule")) {
      name = hlo_take_name(&rest);
      if (r->has_module) note_fault(r, line.at, "a second module begins, of which all is left out");
      else message_bytes(r->proto, HloModuleProto_name, name.bytes, name.length);
      if (r->has_module) r->at = r->end;
      r->has_module = true;
    } else if (!begin_computation(r, line)) {
      note_fault(r, line.at, "a line is neither a computation nor a part of one");
    }
  }
}

void hlo_text_read(const char *text, size_t length, struct text_buffer *proto, struct hlo_text_faults *faults) {
  struct reading r = {.start = text, .at = text, .end = text + length, .proto = proto, .faults = faults};
  struct hlo_cursor line;
  *faults = (struct hlo_text_faults){0};
  while (next_line(&r, &line)) {
    if (is_blank(line)) continue;
    struct hlo_cursor first = line;
    if (!r.is_in_computation) read_outer_line(&r, line);
    else if (hlo_take(&first, '}')) end_computation(&r);
    else take_instruction(&r, line);
  }
  end_tables(&r);
  if (r.is_in_computation) {
    end_computation(&r);
    note_fault(&r, r.end, "the text ends within a computation: it was cut off");
  } else if (!r.has_entry) {
    note_fault(&r, r.end, "the text ends before the computation in which the module begins (ENTRY)");
  }
  list_free(&r.stack);
}

bool hlo_text_begins(const char *text, size_t length) {
  struct hlo_cursor cursor = {text, text + length};
  hlo_skip_space(&cursor);
  struct text_part name = hlo_take_name(&cursor);
  return hlo_is_text(name, "HloModule") && cursor.at < cursor.end && *cursor.at == ' ';
}
