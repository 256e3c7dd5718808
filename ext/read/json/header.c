/* header.c: the members of the top-level object beside the events.
**
** libkineto writes them before or after the events, depending on its version (output_json.cpp).  What has no column
** goes into the profile's attributes; the texts of INFO, WARNING and ERROR arrays become one row of diagnostics each.
**
** `tfprofModules` is of tfprof's ProfileContext (ext/classic/python/_tfprof_sources.py), since torch.profiler tells
** nothing of parameters: the modules of the models and their parameters, each an object with the columns of nodes that
** it has, `parent_id` the place in the array of a module that comes before.
*/
#include <stdlib.h>
#include <string.h>

#include "read/json/number.h"
#include "read/json/trace.h"
#include "read/rows/text_buffer.h"

enum { MAXIMUM_MESSAGES = 200 };

static struct field value_of(const struct member *member) {
  struct field field = {0};
  scan_value(member->value, member->value + member->value_length + 1, &field);
  return field;
}

static int64_t integer_or_null(const struct field *field) {
  int64_t value;
  return number_integer(field, &value) ? value : ROW_NULL;
}

string_id header_text(struct trace *trace, const struct field *field) {
  string_id id = 0;
  char *copy = malloc(field->length + 1);
  if (!copy) return 0;
  size_t length = field->is_escaped ? text_unescape(field->text, field->length, copy) : field->length;
  if (!field->is_escaped) memcpy(copy, field->text, length);
  if (length) pool_intern_mended(trace->pool, copy, length, &id, &trace->problems[PROBLEM_NOT_UTF8].count);
  free(copy);
  return id;
}

static void read_device(struct trace *trace, const struct field *object) {
  struct device_info info = {0, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL};
  int64_t ordinal = ROW_NULL;
  struct field key, value;
  for (struct member_cursor cursor = scan_members(object); scan_next(&cursor, &key, &value);) {
    if (scan_key_is(&key, "id")) ordinal = integer_or_null(&value);
    else if (scan_key_is(&key, "name") && value.kind == FIELD_TEXT) info.model = header_text(trace, &value);
    else if (scan_key_is(&key, "totalGlobalMem")) info.memory_bytes = integer_or_null(&value);
    else if (scan_key_is(&key, "computeMajor")) info.major = integer_or_null(&value);
    else if (scan_key_is(&key, "computeMinor")) info.minor = integer_or_null(&value);
    else if (scan_key_is(&key, "numSms")) info.multiprocessors = integer_or_null(&value);
  }
  if (ordinal == ROW_NULL) return;
  uint32_t device = row_map_number(&trace->devices, (struct row_key){{DEVICE_GPU, (uint64_t)ordinal, 0}});
  while (device != INTERN_NONE && trace->device_infos.count <= device) {
    struct device_info *item = list_add(&trace->device_infos);
    if (!item) break;
    *item = (struct device_info){0, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL, ROW_NULL};
  }
  if (device < trace->device_infos.count) ((struct device_info *)trace->device_infos.items)[device] = info;
}

static void read_distributed(struct trace *trace, const struct field *object) {
  struct field key, value;
  for (struct member_cursor cursor = scan_members(object); scan_next(&cursor, &key, &value);) {
    if (scan_key_is(&key, "rank")) trace->rank = integer_or_null(&value);
    else if (scan_key_is(&key, "world_size")) trace->world_size = integer_or_null(&value);
  }
}

static bool is_named(const struct member *member, const char *name) { return strcmp(member->key, name) == 0; }

/* What tfprof_timeline() says of the profile that it wrote. */
static void read_source(struct trace *trace, const struct field *object) {
  struct field key, value;
  if (object->kind != FIELD_NESTED || object->text[0] != '{') return;
  for (struct member_cursor cursor = scan_members(object); scan_next(&cursor, &key, &value);) {
    if (value.kind != FIELD_TEXT || !value.length) continue;
    if (scan_key_is(&key, "framework")) trace->framework = header_text(trace, &value);
    else if (scan_key_is(&key, "framework_version")) trace->version = header_text(trace, &value);
    else if (scan_key_is(&key, "origin")) trace->origin = header_text(trace, &value);
    else if (scan_key_is(&key, "host")) trace->host = header_text(trace, &value);
  }
}

void header_read(struct trace *trace) {
  const struct member *members = trace->members.items;
  for (size_t i = 0; i < trace->members.count; i++) {
    const struct member *member = &members[i];
    struct field value = value_of(member), element;
    bool is_object = value.kind == FIELD_NESTED && value.text[0] == '{';
    bool is_array = value.kind == FIELD_NESTED && value.text[0] == '[';
    if (is_named(member, "deviceProperties") && is_array) {
      trace->is_kineto = true;
      for (struct member_cursor cursor = scan_members(&value); scan_next(&cursor, NULL, &element);) {
        if (element.kind == FIELD_NESTED && element.text[0] == '{') read_device(trace, &element);
      }
    } else if (is_named(member, "distributedInfo") && is_object) {
      trace->is_kineto = true;
      read_distributed(trace, &value);
    } else if (is_named(member, "baseTimeNanoseconds")) {
      int64_t base = integer_or_null(&value);
      trace->is_kineto = true;
      /* Times in the file are below 2^62: the sum fits. */
      if (base != ROW_NULL && base >= 0 && base < INT64_MAX / 2) trace->base_ns = base;
    } else if (is_named(member, "host_name") && value.kind == FIELD_TEXT) {
      trace->host = header_text(trace, &value);
    } else if (is_named(member, "pytorch_version") && value.kind == FIELD_TEXT) {
      trace->version = header_text(trace, &value);
    } else if (is_named(member, "tfprofSource")) {
      read_source(trace, &value);
    } else if (is_named(member, "schemaVersion")) {
      trace->is_kineto = true;
    }
  }
}

/* ---- modules ---- */

enum { MODULE_NUMBERS = 6, MODULE_TEXTS = 6 };
static const struct module_column {
  const char *name;
  uint16_t column;
} module_numbers[MODULE_NUMBERS] = {{"parent_id", COLUMN_nodes_parent_id},
                                    {"depth", COLUMN_nodes_depth},
                                    {"is_scope", COLUMN_nodes_is_scope},
                                    {"param_count", COLUMN_nodes_param_count},
                                    {"param_bytes", COLUMN_nodes_param_bytes},
                                    {"trainable", COLUMN_nodes_trainable}},
  module_texts[MODULE_TEXTS] = {{"name", COLUMN_nodes_name},
                                {"op_type", COLUMN_nodes_op_type},
                                {"shape", COLUMN_nodes_shape},
                                {"dtype", COLUMN_nodes_dtype},
                                {"canonical_device", COLUMN_nodes_canonical_device},
                                {"attributes", COLUMN_nodes_attributes}};

struct module {
  int64_t numbers[MODULE_NUMBERS], texts[MODULE_TEXTS];
};

/* False: it has no name, or lies in one that comes later. */
static bool read_module(struct trace *trace, const struct field *object, size_t place, struct module *module) {
  struct field key, value;
  for (int i = 0; i < MODULE_NUMBERS; i++) module->numbers[i] = ROW_NULL;
  for (int i = 0; i < MODULE_TEXTS; i++) module->texts[i] = ROW_NULL;
  if (object->kind != FIELD_NESTED || object->text[0] != '{') return false;
  for (struct member_cursor cursor = scan_members(object); scan_next(&cursor, &key, &value);) {
    for (int i = 0; i < MODULE_NUMBERS; i++) {
      int64_t number = scan_key_is(&key, module_numbers[i].name) ? integer_or_null(&value) : ROW_NULL;
      if (number >= 0) module->numbers[i] = number;
    }
    for (int i = 0; i < MODULE_TEXTS && value.kind == FIELD_TEXT; i++) {
      string_id text = scan_key_is(&key, module_texts[i].name) ? header_text(trace, &value) : 0;
      if (text) module->texts[i] = (int64_t)text;
    }
  }
  int64_t parent = module->numbers[0];
  return module->texts[0] != ROW_NULL && (parent == ROW_NULL || (uint64_t)parent < place);
}

enum tfprof_status header_add_modules(struct trace *trace, struct profile *profile) {
  const struct member *members = trace->members.items, *member = NULL;
  for (size_t i = 0; i < trace->members.count; i++)
    if (is_named(&members[i], "tfprofModules")) member = &members[i];
  if (!member) return TFPROF_OK;
  struct field array = value_of(member), element;
  LIST(struct module) modules = {0};
  bool is_sound = array.kind == FIELD_NESTED && array.text[0] == '[', ok = true;
  for (struct member_cursor cursor = scan_members(&array); ok && is_sound && scan_next(&cursor, NULL, &element);) {
    struct module *module = list_add(&modules);
    ok = module != NULL;
    is_sound = ok && modules.count < INT32_MAX && read_module(trace, &element, modules.count - 1, module);
  }
  if (ok && !is_sound)
    profile_diagnose(profile, "warning", "malformed_modules", 1, (int64_t)member->offset, -1,
                     "tfprofModules is no array, or holds what has no name or lies in a module that comes later; all "
                     "of it is left out");
  const struct module *all = modules.items;
  if (ok && is_sound && modules.count) {
    enum tfprof_status status = TFPROF_OK;
    struct eager_rows rows;
    eager_rows_begin(&rows, profile, TABLE_nodes, modules.count, &status, trace->error);
    for (int column = 0; column < MODULE_NUMBERS + MODULE_TEXTS && !status; column++) {
      bool is_number = column < MODULE_NUMBERS;
      int which = is_number ? column : column - MODULE_NUMBERS;
      for (uint32_t i = 0; i < rows.count; i++)
        rows.values[i] = is_number ? all[i].numbers[which] : all[i].texts[which];
      eager_rows_set(&rows, is_number ? module_numbers[which].column : module_texts[which].column);
    }
    eager_rows_end(&rows);
    ok = !status;
  }
  list_free(&modules);
  return ok ? TFPROF_OK : TFPROF_NO_MEMORY;
}

/* ---- what is left ---- */

static const char *const known[] = {"deviceProperties", "baseTimeNanoseconds", "host_name", "pytorch_version",
                                    "schemaVersion",    "tfprofModules",       "tfprofSource", "stackFrames"};

static void diagnose_messages(struct profile *profile, const struct member *member, const struct field *array) {
  bool is_error = is_named(member, "ERROR"), is_warning = is_named(member, "WARNING");
  const char *severity = is_error ? "error" : is_warning ? "warning" : "info";
  struct field text;
  unsigned count = 0;
  for (struct member_cursor cursor = scan_members(array); scan_next(&cursor, NULL, &text);) {
    if (text.kind != FIELD_TEXT || count++ >= MAXIMUM_MESSAGES) continue;
    profile_diagnose(profile, severity, "profiler_message", 1, (int64_t)member->offset, -1, "%.*s",
                     (int)(text.length < 2000 ? text.length : 2000), text.text);
  }
  if (count > MAXIMUM_MESSAGES) {
    profile_diagnose(profile, "info", "profiler_messages_left_out", count - MAXIMUM_MESSAGES, (int64_t)member->offset,
                     -1, "more messages of the profiler than are shown");
  }
}

static void describe_name(struct text_buffer *text, const char *member, const char *name, size_t length) {
  bool is_plain = length > 0 && length < 256;
  for (size_t i = 0; i < length && is_plain; i++)
    is_plain = (unsigned char)name[i] >= ' ' && name[i] != '"' && name[i] != '\\';
  if (!is_plain) return;
  text_buffer_print(text, "%s\"%s\":\"", text->length ? "," : "{", member);
  text_buffer_add(text, name, length);
  text_buffer_add(text, "\"", 1);
}

/* What tells a process without a rank from others of its pid, for views, and stays when a copy is saved: which of the
** processes of a merged file it is, its name where the pid is none, and what names of windows of a process have in
** common, up to the first point. */
static void describe_process(const struct trace *trace, const struct profile *profile, struct text_buffer *text) {
  const struct trace_part *part = trace->part;
  const char *slash = strrchr(trace->path, '/'), *name = slash ? slash + 1 : trace->path;
  if (!trace->is_kineto || profile->rank >= 0) return;
  if (part)
    text_buffer_print(text, "%s\"merged_process\":\"%u of %u\"", text->length ? "," : "{", part->number + 1,
                      part->count);
  const char *process = pool_text(trace->pool, trace->process_name);
  if (process) describe_name(text, "process", process, strlen(process));
  describe_name(text, "worker", name, strcspn(name, "."));
}

void header_describe(struct trace *trace, struct profile *profile) {
  const struct member *members = trace->members.items;
  struct text_buffer text = {0};
  for (size_t i = 0; i < trace->members.count && !text.failed; i++) {
    const struct member *member = &members[i];
    struct field value = value_of(member);
    bool is_known = false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) is_known |= is_named(member, known[k]);
    if (is_known) continue;
    bool is_messages = is_named(member, "INFO") || is_named(member, "WARNING") || is_named(member, "ERROR");
    if (is_messages && value.kind == FIELD_NESTED && value.text[0] == '[') {
      diagnose_messages(profile, member, &value);
      continue;
    }
    text_buffer_add(&text, text.length ? ",\"" : "{\"", 2);
    text_buffer_add(&text, member->key, member->key_length);
    text_buffer_add(&text, "\":", 2);
    if (!text_buffer_reserve(&text, text_compact_room(member->value, member->value_length))) break;
    text.length += text_compact(member->value, member->value_length, text.bytes + text.length);
  }
  if (!text.failed) describe_process(trace, profile, &text);
  if (text.length) text_buffer_add(&text, "}", 1);
  string_id id = 0;
  if (text.length && !text.failed &&
      pool_intern_mended(trace->pool, text.bytes, text.length, &id, &trace->problems[PROBLEM_NOT_UTF8].count) ==
          TFPROF_OK) {
    profile->attributes = id;
  }
  text_buffer_free(&text);
}
