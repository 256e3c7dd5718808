/* heap_profile.c: see heap_profile.h. */
#include "read/pprof/heap_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "read/rows/text_buffer.h"
#include "write/json_text.h"
#include "write/pprof_fields.h"

enum {
  FREE_FRAMES = 1 << 20, /* always allowed; beyond that as many as a file can name without repeating itself */
  FRAMES_OF_BYTE = 2,
  MAXIMUM_ATTRIBUTES = 64 << 10
};

/* ---- texts ---- */

static struct heap_text *text_at(struct heap_profile *heap, uint64_t place) {
  return place < heap->texts.count ? &heap->texts.items[place] : NULL;
}

static bool text_is(struct heap_profile *heap, uint64_t place, const char *wanted) {
  const struct heap_text *text = text_at(heap, place);
  return text && text->length == strlen(wanted) && memcmp(text->bytes, wanted, text->length) == 0;
}

/* The text in the pool, 0 where it is empty or not there. */
static enum tfprof_status enter_text(struct heap_profile *heap, uint64_t place, string_id *id) {
  struct heap_text *text = text_at(heap, place);
  enum tfprof_status status = TFPROF_OK;
  if (text && text->length && !text->id)
    status = pool_intern_mended(heap->pool, text->bytes, text->length, &text->id, &heap->mended_count);
  *id = text ? text->id : 0;
  return status;
}

static void take_json(void *user, const void *bytes, size_t length) { text_buffer_add(user, bytes, length); }

static void put_text(struct heap_profile *heap, struct text_buffer *json, uint64_t place) {
  const struct heap_text *text = text_at(heap, place);
  json_text_write(text ? text->bytes : "", text ? text->length : 0, take_json, json);
}

static enum tfprof_status enter_json(struct heap_profile *heap, struct text_buffer *json, const char *end,
                                     string_id *id) {
  *id = 0;
  if (!json->length) return TFPROF_OK;
  text_buffer_add(json, end, strlen(end));
  if (json->failed) return TFPROF_NO_MEMORY;
  return pool_intern_mended(heap->pool, json->bytes, json->length, id, NULL);
}

/* ---- what samples name ---- */

struct value_type {
  uint64_t name, unit;
};
LIST_NAMED(value_types, struct value_type);

/* The number of an id, entered as the next; of several with one id the first counts. */
static bool number_id(struct row_map *ids, uint64_t id, size_t next) {
  uint32_t number = row_map_number(ids, (struct row_key){{id, 0, 0}});
  if (number == ROW_MAP_NONE) return false;
  if (number + 1 == ids->count && !ids->values[number]) ids->values[number] = (uint32_t)next + 1;
  return true;
}

static uint32_t find_id(const struct row_map *ids, uint64_t id) {
  uint32_t number = row_map_find(ids, (struct row_key){{id, 0, 0}});
  return number == ROW_MAP_NONE ? ROW_MAP_NONE : ids->values[number] - 1;
}

static bool take_function(struct heap_profile *heap, struct wire_reader message) {
  struct wire_field field;
  uint64_t id = 0;
  struct heap_function *function = list_add(&heap->functions);
  if (!function) return false;
  while (wire_next(&message, &field)) {
    if (field.number == Function_id) id = wire_uint64(&field);
    else if (field.number == Function_name) function->name = wire_uint64(&field);
    else if (field.number == Function_filename) function->file = wire_uint64(&field);
    else if (field.number == Function_start_line) function->first_line = wire_int64(&field);
  }
  return number_id(&heap->function_ids, id, heap->functions.count - 1);
}

static bool take_mapping(struct heap_profile *heap, struct wire_reader message) {
  struct wire_field field;
  uint64_t id = 0, *name = list_add(&heap->mappings);
  if (!name) return false;
  while (wire_next(&message, &field)) {
    if (field.number == Mapping_id) id = wire_uint64(&field);
    else if (field.number == Mapping_filename) *name = wire_uint64(&field);
  }
  return number_id(&heap->mapping_ids, id, heap->mappings.count - 1);
}

static bool take_location(struct heap_profile *heap, struct wire_reader message) {
  struct wire_field field, part;
  uint64_t id = 0;
  struct heap_location *location = list_add(&heap->locations);
  if (!location) return false;
  location->first_line = heap->lines.count;
  while (wire_next(&message, &field)) {
    if (field.number == Location_id) id = wire_uint64(&field);
    else if (field.number == Location_mapping_id) location->mapping = wire_uint64(&field);
    else if (field.number == Location_address) location->address = wire_uint64(&field);
    if (field.number != Location_line || field.type != WIRE_BYTES) continue;
    struct wire_reader inner = wire_enter(&message, &field);
    struct heap_line *line = list_add(&heap->lines);
    if (!line) return false;
    while (wire_next(&inner, &part)) {
      if (part.number == Line_function_id) line->function = wire_uint64(&part);
      else if (part.number == Line_line) line->line = wire_int64(&part);
    }
  }
  location->line_count = heap->lines.count - location->first_line;
  return number_id(&heap->location_ids, id, heap->locations.count - 1);
}

static bool take_type(struct value_types *types, struct wire_reader message) {
  struct wire_field field;
  struct value_type *type = list_add(types);
  if (!type) return false;
  while (wire_next(&message, &field)) {
    if (field.number == ValueType_type) type->name = wire_uint64(&field);
    else if (field.number == ValueType_unit) type->unit = wire_uint64(&field);
  }
  return true;
}

static bool take_string(struct heap_profile *heap, const struct wire_field *field) {
  struct heap_text *text = list_add(&heap->texts);
  if (!text) return false;
  text->bytes = wire_text(field, &text->length);
  return true;
}

static void note_damage(struct heap_profile *heap, const struct wire_reader *reader) {
  if (!reader->wrong || heap->wrong) return;
  heap->wrong = reader->wrong;
  heap->wrong_offset = wire_offset(reader);
}

/* Everything but the samples. */
static bool read_names(struct heap_profile *heap, struct wire_reader reader, struct value_types *types) {
  struct wire_field field;
  bool ok = true;
  while (ok && wire_next(&reader, &field)) {
    struct wire_reader inner = wire_enter(&reader, &field);
    switch (field.number) {
      case Profile_sample_type: ok = take_type(types, inner); break;
      case Profile_mapping: ok = take_mapping(heap, inner); break;
      case Profile_location: ok = take_location(heap, inner); break;
      case Profile_function: ok = take_function(heap, inner); break;
      case Profile_string_table: ok = take_string(heap, &field); break;
      case Profile_time_nanos: heap->time_ns = wire_int64(&field); break;
    }
  }
  note_damage(heap, &reader);
  return ok;
}

/* ---- stacks ---- */

static enum tfprof_status enter_frame(struct heap_profile *heap, struct row_key key, const struct heap_frame *frame,
                                      uint32_t *number) {
  *number = row_map_number(&heap->frame_index, key);
  if (*number == ROW_MAP_NONE) return TFPROF_NO_MEMORY;
  if (*number < heap->frames.count) return TFPROF_OK;
  struct heap_frame *added = list_add(&heap->frames);
  if (!added) return TFPROF_NO_MEMORY;
  *added = *frame;
  return TFPROF_OK;
}

static enum tfprof_status push_line(struct heap_profile *heap, const struct heap_line *line, uint32_t *stack) {
  uint32_t function = find_id(&heap->function_ids, line->function), number = 0;
  struct heap_frame frame = {.line = line->line > 0 ? line->line : ROW_NULL, .first_line = ROW_NULL};
  enum tfprof_status status = TFPROF_OK;
  if (function != ROW_MAP_NONE) {
    const struct heap_function *of = &heap->functions.items[function];
    if (of->first_line > 0) frame.first_line = of->first_line;
    status = enter_text(heap, of->name, &frame.name);
    if (!status) status = enter_text(heap, of->file, &frame.file);
  }
  if (!status) status = enter_frame(heap, (struct row_key){{function, (uint64_t)line->line, 0}}, &frame, &number);
  if (status) return status;
  *stack = stacks_push(&heap->stacks, *stack, number);
  return *stack ? TFPROF_OK : TFPROF_NO_MEMORY;
}

/* Of a location without lines the address is what is known, and the file that was mapped there. */
static enum tfprof_status push_address(struct heap_profile *heap, const struct heap_location *location,
                                       uint32_t *stack) {
  struct heap_frame frame = {.line = ROW_NULL, .first_line = ROW_NULL};
  uint32_t mapping = find_id(&heap->mapping_ids, location->mapping), number = 0;
  char name[24];
  snprintf(name, sizeof name, "0x%" PRIx64, location->address);
  enum tfprof_status status = pool_intern(heap->pool, name, strlen(name), &frame.name);
  if (!status && mapping != ROW_MAP_NONE) status = enter_text(heap, heap->mappings.items[mapping], &frame.file);
  if (!status) status = enter_frame(heap, (struct row_key){{mapping, location->address, 1}}, &frame, &number);
  if (status) return status;
  *stack = stacks_push(&heap->stacks, *stack, number);
  return *stack ? TFPROF_OK : TFPROF_NO_MEMORY;
}

/* Whether so many frames may still be looked at. */
static bool spend(struct heap_profile *heap, uint64_t frames) {
  heap->is_too_much |= heap->budget < frames;
  heap->budget -= heap->budget < frames ? heap->budget : frames;
  return !heap->is_too_much;
}

/* The row of code_traces of locations that are in `ids` innermost first. */
static enum tfprof_status push_locations(struct heap_profile *heap, const uint64_t *ids, size_t count, int64_t *trace) {
  uint32_t stack = 0;
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = count; i-- > 0 && !status;) {
    uint32_t number = find_id(&heap->location_ids, ids[i]);
    if (number == ROW_MAP_NONE) continue;
    const struct heap_location *location = &heap->locations.items[number];
    if (!spend(heap, location->line_count + 1)) break;
    for (size_t k = location->line_count; k-- > 0 && !status;)
      status = push_line(heap, &heap->lines.items[location->first_line + k], &stack);
    if (!location->line_count) status = push_address(heap, location, &stack);
  }
  *trace = stack ? (int64_t)stack - 1 : ROW_NULL;
  return status;
}

/* ---- samples ---- */

struct label {
  uint64_t key, text, unit;
  int64_t number;
};

struct sample_room {
  LIST(uint64_t) locations, values;
  struct text_buffer json;
};

/* "cpu:0", "gpu:1" */
static enum tfprof_status enter_device(struct heap_profile *heap, uint64_t place, int64_t *row) {
  static const struct {
    const char *prefix, *kind;
  } kinds[] = {{"cpu", "cpu"}, {"gpu", "gpu"}, {"cuda", "gpu"}, {"rocm", "gpu"}, {"tpu", "tpu"}};
  string_id name = 0, kind = 0;
  enum tfprof_status status = enter_text(heap, place, &name);
  if (status || !name) return status;
  uint32_t number = row_map_number(&heap->device_index, (struct row_key){{name, 0, 0}});
  if (number == ROW_MAP_NONE) return TFPROF_NO_MEMORY;
  *row = number;
  if (number < heap->devices.count) return TFPROF_OK;
  const char *text = pool_text(heap->pool, name), *colon = strrchr(text, ':');
  int64_t ordinal = ROW_NULL;
  if (colon && colon[1] >= '0' && colon[1] <= '9' && strlen(colon) < 10) ordinal = strtol(colon + 1, NULL, 10);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !kind && !status; i++) {
    if (strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
      status = pool_intern(heap->pool, kinds[i].kind, strlen(kinds[i].kind), &kind);
  }
  struct heap_device *device = list_add(&heap->devices);
  if (!device) return TFPROF_NO_MEMORY;
  *device = (struct heap_device){name, kind, ordinal};
  return status;
}

static enum tfprof_status take_label(struct heap_profile *heap, struct wire_reader message,
                                     struct heap_allocation *allocation, struct text_buffer *json) {
  struct wire_field field;
  struct label label = {0};
  while (wire_next(&message, &field)) {
    switch (field.number) {
      case Label_key: label.key = wire_uint64(&field); break;
      case Label_str: label.text = wire_uint64(&field); break;
      case Label_num: label.number = wire_int64(&field); break;
      case Label_num_unit: label.unit = wire_uint64(&field); break;
    }
  }
  bool is_kind = text_is(heap, label.key, "kind");
  if (text_is(heap, label.key, "device") && label.text) return enter_device(heap, label.text, &allocation->device);
  if (is_kind && text_is(heap, label.text, "executable")) {
    heap->is_of_jax = true;
    return enter_text(heap, label.text, &allocation->region);
  }
  heap->is_of_jax |= is_kind && text_is(heap, label.text, "buffer");
  if (json->length > MAXIMUM_ATTRIBUTES) return TFPROF_OK;
  text_buffer_add(json, json->length ? "," : "{", 1);
  put_text(heap, json, label.key);
  text_buffer_add(json, ":", 1);
  if (label.text) put_text(heap, json, label.text);
  else text_buffer_integer(json, label.number);
  return TFPROF_OK;
}

static enum tfprof_status take_sample(struct heap_profile *heap, struct wire_reader message, struct sample_room *room) {
  struct wire_field field;
  struct heap_allocation allocation = {.device = ROW_NULL, .trace = ROW_NULL};
  enum tfprof_status status = TFPROF_OK;
  room->locations.count = room->values.count = room->json.length = 0;
  while (!status && wire_next(&message, &field)) {
    if (field.number == Sample_location_id || field.number == Sample_value) {
      uint64_t number, *item;
      struct wire_packed packed = wire_unpack(&field, WIRE_VARINT);
      while (wire_packed_next(&packed, &number)) {
        item = field.number == Sample_location_id ? list_add(&room->locations) : list_add(&room->values);
        if (!item) return TFPROF_NO_MEMORY;
        *item = number;
      }
    } else if (field.number == Sample_label && field.type == WIRE_BYTES) {
      status = take_label(heap, wire_enter(&message, &field), &allocation, &room->json);
    }
  }
  if (status) return status;
  bool has_values = room->values.count == heap->type_count && !message.wrong;
  if (has_values) {
    allocation.bytes = (int64_t)room->values.items[heap->bytes_type];
    allocation.count = heap->count_type < heap->type_count ? (int64_t)room->values.items[heap->count_type] : 1;
  }
  if (!has_values || allocation.bytes < 0 || allocation.count < 0) {
    heap->odd_count++;
    return TFPROF_OK;
  }
  status = push_locations(heap, room->locations.items, room->locations.count, &allocation.trace);
  if (!status) status = enter_json(heap, &room->json, "}", &allocation.attributes);
  if (status || heap->is_too_much) return status;
  struct heap_allocation *added = list_add(&heap->allocations);
  if (!added) return TFPROF_NO_MEMORY;
  *added = allocation;
  return TFPROF_OK;
}

static enum tfprof_status read_samples(struct heap_profile *heap, struct wire_reader reader) {
  struct wire_field field;
  struct sample_room room = {.json = {0}};
  struct text_buffer comments = {0};
  enum tfprof_status status = TFPROF_OK;
  while (!status && !heap->is_too_much && wire_next(&reader, &field)) {
    if (field.number == Profile_sample && field.type == WIRE_BYTES)
      status = take_sample(heap, wire_enter(&reader, &field), &room);
    struct wire_packed packed = wire_unpack(&field, WIRE_VARINT);
    for (uint64_t place;
         field.number == Profile_comment && comments.length < MAXIMUM_ATTRIBUTES &&
         wire_packed_next(&packed, &place);) {
      const char *before = comments.length ? "," : "{\"comments\":[";
      text_buffer_add(&comments, before, strlen(before));
      put_text(heap, &comments, place);
    }
    if (!status && store_interrupted(heap->store)) status = TFPROF_INTERRUPTED;
  }
  if (!status) status = enter_json(heap, &comments, "]}", &heap->comments);
  list_free(&room.locations);
  list_free(&room.values);
  text_buffer_free(&room.json);
  text_buffer_free(&comments);
  return status;
}

/* Which of the values is what is held, in bytes, and which says in how many pieces. */
static bool find_types(struct heap_profile *heap, const struct value_types *types) {
  static const char *const held[] = {"space", "inuse_space"};
  static const char *const pieces[] = {"allocations", "inuse_objects", "objects"};
  heap->type_count = heap->bytes_type = heap->count_type = types->count;
  for (size_t i = types->count; i-- > 0;) {
    const struct value_type *type = &types->items[i];
    for (size_t k = 0; k < sizeof held / sizeof *held; k++) {
      if (text_is(heap, type->name, held[k]) && text_is(heap, type->unit, "bytes")) heap->bytes_type = i;
    }
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
      if (text_is(heap, type->name, pieces[k]) && text_is(heap, type->unit, "count")) heap->count_type = i;
    }
  }
  return heap->bytes_type < types->count;
}

enum tfprof_status heap_profile_read(struct heap_profile *heap, struct store *store, const uint8_t *bytes,
                                     size_t length, struct tfprof_error *error) {
  struct value_types types = {0};
  enum tfprof_status status = TFPROF_OK;
  *heap = (struct heap_profile){
      .store = store, .pool = store_pool(store), .budget = FREE_FRAMES + (uint64_t)length * FRAMES_OF_BYTE};
  if (!read_names(heap, wire_open(bytes, length), &types)) {
    status = TFPROF_NO_MEMORY;
  } else if (!find_types(heap, &types)) {
    list_free(&types);
    return TFPROF_WRONG_KIND; /* the caller knows what else may be wrong, and tells */
  }
  list_free(&types);
  if (!status) status = read_samples(heap, wire_open(bytes, length));
  if (status == TFPROF_NO_MEMORY) return error_no_memory(error);
  if (status == TFPROF_INTERRUPTED) return error_set(error, status, "interrupted");
  return status ? error_set(error, status, "the profile's texts are more than can be held") : TFPROF_OK;
}

void heap_profile_free(struct heap_profile *heap) {
  list_free(&heap->texts);
  list_free(&heap->functions);
  list_free(&heap->locations);
  list_free(&heap->lines);
  list_free(&heap->mappings);
  list_free(&heap->frames);
  list_free(&heap->allocations);
  list_free(&heap->devices);
  row_map_free(&heap->function_ids);
  row_map_free(&heap->location_ids);
  row_map_free(&heap->mapping_ids);
  row_map_free(&heap->frame_index);
  row_map_free(&heap->stacks);
  row_map_free(&heap->device_index);
}

/* ---- the tables ---- */

enum tfprof_status heap_profile_publish(const struct heap_profile *heap, struct profile *profile,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  struct eager_rows made;

  eager_rows_begin(&made, profile, TABLE_devices, heap->devices.count, &status, error);
  eager_rows_set_members(&made, COLUMN_devices_name, heap->devices, name);
  eager_rows_set_members(&made, COLUMN_devices_kind, heap->devices, kind);
  eager_rows_set_members(&made, COLUMN_devices_ordinal, heap->devices, ordinal);
  eager_rows_end(&made);

  eager_rows_begin(&made, profile, TABLE_code_frames, heap->frames.count, &status, error);
  eager_rows_set_members(&made, COLUMN_code_frames_function, heap->frames, name);
  eager_rows_set_members(&made, COLUMN_code_frames_file, heap->frames, file);
  eager_rows_set_members(&made, COLUMN_code_frames_line, heap->frames, line);
  eager_rows_set_members(&made, COLUMN_code_frames_first_line, heap->frames, first_line);
  eager_rows_end(&made);

  eager_rows_begin(&made, profile, TABLE_code_traces, heap->stacks.count, &status, error);
  stacks_set(&made, &heap->stacks);
  eager_rows_end(&made);

  eager_rows_begin(&made, profile, TABLE_allocations, heap->allocations.count, &status, error);
  eager_rows_set_members(&made, COLUMN_allocations_bytes, heap->allocations, bytes);
  eager_rows_set_members(&made, COLUMN_allocations_occurrence_count, heap->allocations, count);
  eager_rows_set_members(&made, COLUMN_allocations_device_id, heap->allocations, device);
  eager_rows_set_members(&made, COLUMN_allocations_region, heap->allocations, region);
  eager_rows_set_members(&made, COLUMN_allocations_code_trace_id, heap->allocations, trace);
  eager_rows_set_members(&made, COLUMN_allocations_attributes, heap->allocations, attributes);
  eager_rows_end(&made);
  return status;
}
