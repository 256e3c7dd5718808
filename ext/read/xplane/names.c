/* names.c: see names.h. */
#include "read/xplane/names.h"

#include <string.h>

#include "read/xplane/fields.h"
#include "read/xplane/framework_names.h"

enum { MAXIMUM_ENTRY = 16 << 20 /* bytes of one entry: modules are larger, but in planes that are not read so */ };

struct naming {
  struct plane_names *names;
  const struct xplane_index *index;
  struct window window;
  struct pool *pool;
  struct tfprof_error *error;
};

void plane_names_free(struct plane_names *names) {
  list_free(&names->events);
  list_free(&names->stats);
  list_free(&names->event_ids);
  list_free(&names->stat_ids);
  list_free(&names->inherited);
  list_free(&names->details);
  free(names->event_map.dense);
  free(names->stat_map.dense);
  free(names->dense_keys);
  row_map_free(&names->event_map.sparse);
  row_map_free(&names->stat_map.sparse);
  *names = (struct plane_names){0};
}

/* ---- ids ---- */

/* Of several entries of an id the last counts, as in any map of protobuf. */
static bool make_map(struct id_map *map, const int64_t *ids, size_t count) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    low = ids[i] < low ? ids[i] : low;
    high = ids[i] > high ? ids[i] : high;
  }
  if (!count) return true;
  uint64_t span = (uint64_t)high - (uint64_t)low;
  if (span < 4 * (uint64_t)count + 1024) {
    map->base = low;
    map->dense = calloc(span + 1, sizeof *map->dense);
    if (!map->dense) return false;
    map->dense_count = span + 1;
    for (size_t i = 0; i < count; i++) map->dense[(uint64_t)ids[i] - (uint64_t)low] = (uint32_t)i + 1;
    return true;
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t number = row_map_number(&map->sparse, (struct row_key){{(uint64_t)ids[i], 0, 0}});
    if (number == ROW_MAP_NONE) return false;
    map->sparse.values[number] = (uint32_t)i;
  }
  return true;
}

static bool make_keys(struct plane_names *names) {
  names->dense_keys = malloc(names->stat_map.dense_count + 1);
  if (!names->dense_keys) return false;
  for (uint64_t i = 0; i < names->stat_map.dense_count; i++) {
    uint32_t stat = names->stat_map.dense[i];
    names->dense_keys[i] = stat ? names->stats.items[stat - 1].key : KEY_UNKNOWN;
  }
  return true;
}

/* ---- stats ---- */

bool plane_read_stat(const struct plane_names *names, const struct wire_reader *outer, const struct wire_field *field,
                     struct event_field *value) {
  struct wire_reader reader = wire_enter(outer, field);
  struct wire_field part;
  int64_t id = 0;
  *value = (struct event_field){.form = FIELD_NONE};
  while (wire_next(&reader, &part)) {
    bool is_bytes = part.type == WIRE_BYTES;
    if (part.number == XStat_metadata_id && part.type == WIRE_VARINT) id = (int64_t)part.value;
    if (part.number < XStat_double_value || part.number > XStat_compressed_value) continue;
    static const uint8_t forms[] = {[XStat_double_value] = FIELD_REAL,   [XStat_uint64_value] = FIELD_UNSIGNED,
                                    [XStat_int64_value] = FIELD_INTEGER, [XStat_str_value] = FIELD_TEXT,
                                    [XStat_bytes_value] = FIELD_BYTES,   [XStat_ref_value] = FIELD_REFERENCE,
                                    [XStat_compressed_value] = FIELD_COMPRESSED};
    bool wants_bytes = part.number == XStat_str_value || part.number == XStat_bytes_value ||
                       part.number == XStat_compressed_value;
    bool wants_fixed = part.number == XStat_double_value;
    if (wants_bytes != is_bytes || (!is_bytes && wants_fixed != (part.type == WIRE_FIXED64))) continue;
    value->form = forms[part.number];
    value->number = part.value;
    value->bytes = (const char *)part.bytes;
    value->length = part.length;
  }
  if (value->form == FIELD_REFERENCE) value->number = id_map_find(&names->stat_map, (int64_t)value->number);
  value->stat = id_map_find(&names->stat_map, id);
  return !reader.wrong;
}

/* ---- entries ---- */

static enum tfprof_status intern_name(struct naming *n, const char *text, size_t length, string_id *id) {
  *id = 0;
  if (!length) return TFPROF_OK;
  enum tfprof_status status = pool_intern_mended(n->pool, text, length, id, &n->names->mended);
  return status ? error_set(n->error, status, "the names of the events cannot be kept") : TFPROF_OK;
}

static enum tfprof_status intern_part(struct naming *n, struct text_part part, string_id *id) {
  return intern_name(n, part.bytes, part.length, id);
}

static bool is_name_of_event(const char *text, size_t length, const char *other) {
  return length == strlen(other) && memcmp(text, other, length) == 0;
}
static bool has_prefix(const char *text, size_t length, const char *prefix) {
  return length >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

/* What the profiler itself takes for the mark of a step: it begins so, and is no op of the model. */
static bool is_step_name(const char *text, size_t length) {
  bool begins =
      has_prefix(text, length, "train") || has_prefix(text, length, "test") || has_prefix(text, length, "TraceContext");
  /* Keras 3 marks its batches by another name. */
  return is_name_of_event(text, length, "Profiled batch") ||
         (begins && !memchr(text, '/', length) && !memchr(text, ':', length));
}

static bool contains(struct text_part text, const char *part) {
  return text.length && memmem(text.bytes, text.length, part, strlen(part));
}

static bool ends_with(struct text_part text, const char *end) {
  size_t length = strlen(end);
  return text.length >= length && memcmp(text.bytes + text.length - length, end, length) == 0;
}

/* As TensorFlow's own analysis parts them (xprof, op_stats_to_input_pipeline_analysis.cc): what reads files does so in
** advance where something around it lets it run ahead. */
static enum iterator_stage stage_of(struct text_part name) {
  static const char *const readers[] = {"::TFRecord", "::TextLine", "::FixedLengthRecord",
                                        "::SSTable",  "::RecordIO", "::ArrayRecord"};
  static const char *const ahead[] = {"::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch",
                                      "::ParallelMap"};
  bool is_reader = false, is_ahead = false;
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) is_reader |= ends_with(name, readers[i]);
  for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) is_ahead |= contains(name, ahead[i]);
  return !is_reader ? STAGE_PREPROCESS : is_ahead ? STAGE_READ_IN_ADVANCE : STAGE_READ_ON_DEMAND;
}

static enum called_mode mode_of(const char *text, size_t length) {
  static const struct {
    const char *name;
    enum called_mode mode;
  } modes[] = {{"EagerExecute", CALLED_AS_TOLD},
               {"FunctionRun", CALLED_AS_FUNCTION},
               {"ExecutorState::Process", CALLED_AS_FUNCTION},
               {"SessionRun", CALLED_AS_GRAPH},
               {"RunGraph", CALLED_AS_GRAPH}};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    if (is_name_of_event(text, length, modes[i].name)) return modes[i].mode;
  }
  return CALLED_UNKNOWN;
}

static enum tfprof_status find_scopes(struct naming *n, struct text_part op, struct event_name *name) {
  size_t length;
  char *modules = memchr(op.bytes, '/', op.length) ? malloc(op.length + 1) : NULL;
  if (!modules) return TFPROF_OK; /* in none; or without memory, which shows elsewhere */
  xplane_scopes(op.bytes, op.length, modules, &length, &name->is_backward);
  enum tfprof_status status = length ? intern_part(n, (struct text_part){modules, length}, &name->module) : TFPROF_OK;
  free(modules);
  return status;
}

static enum tfprof_status find_class(struct naming *n, const char *text, size_t length, struct event_name *name) {
  struct text_part op, type;
  enum op_kind kind = xplane_op_name(text, length, &op, &type);
  if (kind == OP_TENSORFLOW || kind == OP_JAX) {
    name->kind = EVENT_OP;
    enum tfprof_status status = intern_part(n, op, &name->op_name);
    if (!status && kind == OP_TENSORFLOW && op.length) status = find_scopes(n, op, name);
    return status ? status : intern_part(n, type, &name->op_type);
  }
  if (kind == OP_DATASET) {
    struct text_part last = xplane_innermost(text, length);
    char shortened[128] = "Iterator::";
    size_t size = last.length < sizeof shortened - 10 ? last.length : sizeof shortened - 10;
    memcpy(shortened + 10, last.bytes, size);
    name->kind = EVENT_ITERATOR;
    name->stage = (uint8_t)stage_of((struct text_part){text, length});
    return intern_name(n, shortened, 10 + size, &name->op_name);
  }
  if (is_name_of_event(text, length, "MemoryAllocation")) name->kind = EVENT_ALLOCATION;
  else if (is_name_of_event(text, length, "MemoryDeallocation")) name->kind = EVENT_RELEASE;
  else if (length > 1 && text[0] == '$') name->kind = EVENT_PYTHON;
  else if (is_step_name(text, length)) name->kind = EVENT_STEP;
  else if (kind == OP_COPY || has_prefix(text, length, "Memcpy")) name->kind = EVENT_COPY;
  else if (has_prefix(text, length, "Memset")) name->kind = EVENT_FILL;
  else if (length && !xplane_is_framework_name(text, length)) name->kind = EVENT_MARK;
  return TFPROF_OK;
}

static enum tfprof_status find_op(struct naming *n, const char *text, size_t length, struct stat_name *stat) {
  struct text_part outermost = xplane_outermost(text, length), name, type;
  enum op_kind kind = xplane_op_name(outermost.bytes, outermost.length, &name, &type);
  if (kind != OP_TENSORFLOW && kind != OP_JAX) return TFPROF_OK;
  enum tfprof_status status = intern_part(n, name, &stat->op_name);
  return status ? status : intern_part(n, type, &stat->op_type);
}

/* The details that the text of a stat may be: every one is read once. */
static enum tfprof_status find_details(struct naming *n, const char *text, size_t length, struct stat_name *stat) {
  if (!has_prefix(text, length, "regs:") && !has_prefix(text, length, "kind")) return find_op(n, text, length, stat);
  struct xplane_details read;
  if (!xplane_details_read(text, length, &read)) return TFPROF_OK;
  /* The texts within them must outlive the window: they are taken from the pool's copy. */
  if (!xplane_details_read(pool_text(n->pool, stat->text), pool_length(n->pool, stat->text), &read)) return TFPROF_OK;
  struct xplane_details *details = list_add(&n->names->details);
  if (!details) return error_no_memory(n->error);
  *details = read;
  stat->details = (uint32_t)n->names->details.count;
  return TFPROF_OK;
}

static enum tfprof_status add_stat_name(struct naming *n, int64_t id, const struct wire_reader *outer,
                                        const struct wire_field *value) {
  const char *text = "";
  size_t length = 0;
  struct wire_reader reader = wire_enter(outer, value);
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    if (field.number == XStatMetadata_name) text = wire_text(&field, &length);
  }
  int64_t *key = list_add(&n->names->stat_ids);
  struct stat_name *stat = list_add(&n->names->stats);
  if (!key || !stat) return error_no_memory(n->error);
  *key = id;
  stat->key = (uint8_t)xplane_find_key(text, length);
  stat->gpu = xplane_gpu_of_allocator(text, length);
  enum tfprof_status status = intern_name(n, text, length, &stat->text);
  return status ? status : find_details(n, text, length, stat);
}

/* The stats that all events of a name have. Their bytes go to the pool, which keeps them. */
static enum tfprof_status add_inherited(struct naming *n, const struct wire_reader *outer,
                                        const struct wire_field *field, struct event_name *name) {
  struct event_field value;
  if (!plane_read_stat(n->names, outer, field, &value) || value.form == FIELD_NONE) return TFPROF_OK;
  if (value.bytes && value.length) {
    string_id id = 0;
    enum tfprof_status status = pool_intern(n->pool, value.bytes, value.length, &id);
    if (status) return error_set(n->error, status, "the stats of the events cannot be kept");
    value.bytes = pool_text(n->pool, id);
  }
  struct event_field *kept = list_add(&n->names->inherited);
  if (!kept) return error_no_memory(n->error);
  *kept = value;
  name->stat_count++;
  return TFPROF_OK;
}

static enum tfprof_status add_event_name(struct naming *n, int64_t id, const struct wire_reader *outer,
                                         const struct wire_field *value) {
  const char *text = "", *display = "";
  size_t length = 0, display_length = 0;
  struct wire_reader reader = wire_enter(outer, value);
  struct wire_field field;
  struct event_name name = {.first_stat = (uint32_t)n->names->inherited.count};
  enum tfprof_status status = TFPROF_OK;
  while (!status && wire_next(&reader, &field)) {
    if (field.number == XEventMetadata_name) text = wire_text(&field, &length);
    else if (field.number == XEventMetadata_display_name) display = wire_text(&field, &display_length);
    else if (field.number == XEventMetadata_stats) status = add_inherited(n, &reader, &field, &name);
  }
  if (!status) status = intern_name(n, text, length, &name.name);
  if (!status && (display_length != length || memcmp(display, text, length) != 0))
    status = intern_name(n, display, display_length, &name.display);
  if (!status) status = find_class(n, text, length, &name);
  name.mode = (uint8_t)mode_of(text, length);
  name.is_driver = length > 2 && memcmp(text, "cu", 2) == 0 && text[2] >= 'A' && text[2] <= 'Z';
  if (status) return status;
  int64_t *key = list_add(&n->names->event_ids);
  struct event_name *added = list_add(&n->names->events);
  if (!key || !added) return error_no_memory(n->error);
  *key = id;
  *added = name;
  return TFPROF_OK;
}

/* A map entry that begins in the window. */
static enum tfprof_status add_entry(struct naming *n, const struct far_field *far, uint32_t number) {
  const uint8_t *bytes;
  size_t got;
  enum tfprof_status status = window_move(&n->window, far->offset, (size_t)far->length, &bytes, &got, n->error);
  if (status) return status;
  struct wire_reader reader = wire_open(bytes, got);
  struct wire_field field, value = {0};
  int64_t id = 0;
  while (wire_next(&reader, &field)) {
    if (field.number == XMetadataEntry_key && field.type == WIRE_VARINT) id = (int64_t)field.value;
    if (field.number == XMetadataEntry_value && field.type == WIRE_BYTES) value = field;
  }
  if (reader.wrong && !n->names->wrong++) n->names->wrong_offset = far->offset;
  if (!value.bytes) value.type = WIRE_VARINT; /* no message: an entry of nothing but its key */
  return number == XPlane_stat_metadata ? add_stat_name(n, id, &reader, &value)
                                        : add_event_name(n, id, &reader, &value);
}

static enum tfprof_status add_entries(struct naming *n, const struct xplane_plane *plane, uint32_t number) {
  uint64_t offset = plane->names;
  enum tfprof_status status = TFPROF_OK;
  while (!status && offset < plane->names_end) {
    struct far_field field;
    const char *wrong = NULL;
    status = window_field(&n->window, &offset, plane->names_end, &field, &wrong, n->error);
    if (status || field.number != number || field.type != WIRE_BYTES) continue;
    if (field.length > MAXIMUM_ENTRY) {
      if (!n->names->wrong++) n->names->wrong_offset = field.offset;
      continue;
    }
    status = add_entry(n, &field, number);
  }
  return status;
}

enum tfprof_status plane_names_read(struct plane_names *names, const struct xplane_index *index,
                                    const struct xplane_plane *plane, struct pool *pool, struct tfprof_error *error) {
  struct naming n = {names, index, {.file = index->file, .file_bytes = index->file_bytes}, pool, error};
  *names = (struct plane_names){0};
  enum tfprof_status status = add_entries(&n, plane, XPlane_stat_metadata);
  bool ok = make_map(&names->stat_map, names->stat_ids.items, names->stat_ids.count) && make_keys(names);
  if (!status && !ok) status = error_no_memory(error);
  if (!status) status = add_entries(&n, plane, XPlane_event_metadata);
  if (!status && !make_map(&names->event_map, names->event_ids.items, names->event_ids.count))
    status = error_no_memory(error);
  window_free(&n.window);
  if (status) plane_names_free(names);
  return status;
}
