/* attributes.c: the column `attributes`, read again from the file when it is asked for.
**
** A segment keeps where its rows' events lie (four bytes each).  Loading reads the pieces again, runs every event
** through emit_*.c with is_dry set, which notes the stats that columns have taken, and writes the others as one JSON
** object under their names.  References are the texts that they name: a name has no references of its own, so they end
** there.  Bytes that are a message of protobuf are an object of its fields by number, others hexadecimal digits.
*/
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "read/rows/text_buffer.h"
#include "read/xplane/fields.h"
#include "read/xplane/source.h"
#include "write/json_text.h"

enum {
  MAXIMUM_BYTES = 64 << 10, /* of attributes of one row: what is beyond is left out */
  MAXIMUM_DEPTH = 6         /* of messages in bytes */
};

static void take_json(void *user, const void *bytes, size_t length) { text_buffer_add(user, bytes, length); }

static void put_text(struct text_buffer *json, const char *text, size_t length) {
  json_text_write(text, length, take_json, json);
}

static void put_unsigned(struct text_buffer *json, uint64_t number) { text_buffer_print(json, "%" PRIu64, number); }

static void put_real(struct text_buffer *json, double real) {
  if (isfinite(real)) text_buffer_print(json, "%.17g", real);
  else text_buffer_add(json, "null", 4);
}

/* ---- bytes ---- */

/* Whether the bytes can be nothing but a message: every field whole, and of a number that is used for fields. */
static bool is_message(const uint8_t *bytes, size_t length) {
  struct wire_reader reader = wire_open(bytes, length);
  struct wire_field field;
  bool has_any = false;
  while (wire_next(&reader, &field)) {
    if (field.number > 1000) return false;
    has_any = true;
  }
  return has_any && !reader.wrong;
}

static bool is_printed(const uint8_t *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] < ' ' || bytes[i] == 0x7f) return false;
  }
  return true;
}

static void put_bytes(struct text_buffer *json, const uint8_t *bytes, size_t length, unsigned depth);

/* Fields that come several times are an array. */
static void put_message(struct text_buffer *json, const uint8_t *bytes, size_t length, unsigned depth) {
  struct wire_reader reader = wire_open(bytes, length);
  struct wire_field field;
  bool is_first = true;
  text_buffer_add(json, "[", 1);
  while (wire_next(&reader, &field) && json->length < MAXIMUM_BYTES) {
    text_buffer_print(json, "%s{\"%u\":", is_first ? "" : ",", field.number);
    is_first = false;
    if (field.type == WIRE_BYTES) put_bytes(json, field.bytes, field.length, depth + 1);
    else if (field.type == WIRE_FIXED64) put_real(json, wire_double_of_bits(field.value));
    else put_unsigned(json, field.value);
    text_buffer_add(json, "}", 1);
  }
  text_buffer_add(json, "]", 1);
}

static void put_bytes(struct text_buffer *json, const uint8_t *bytes, size_t length, unsigned depth) {
  if (is_printed(bytes, length)) {
    put_text(json, (const char *)bytes, length);
  } else if (depth < MAXIMUM_DEPTH && is_message(bytes, length)) {
    put_message(json, bytes, length, depth);
  } else {
    size_t shown = length < MAXIMUM_BYTES / 4 ? length : MAXIMUM_BYTES / 4;
    text_buffer_add(json, "\"", 1);
    for (size_t i = 0; i < shown; i++) text_buffer_print(json, "%02x", bytes[i]);
    text_buffer_add(json, "\"", 1);
  }
}

/* ---- stats ---- */

static void begin_member(struct text_buffer *json, const char *name, size_t length) {
  text_buffer_add(json, json->length ? "," : "{", 1);
  put_text(json, name, length);
  text_buffer_add(json, ":", 1);
}

void xplane_put_stat(struct text_buffer *json, const struct plane_names *names, const struct pool *pool,
                     const struct event_field *value) {
  if (value->form == FIELD_NONE || json->length > MAXIMUM_BYTES) return;
  string_id name = value->stat == ROW_MAP_NONE ? 0 : names->stats.items[value->stat].text;
  begin_member(json, name ? pool_text(pool, name) : "", name ? pool_length(pool, name) : 0);
  switch (value->form) {
    case FIELD_INTEGER: text_buffer_integer(json, (int64_t)value->number); break;
    case FIELD_UNSIGNED: put_unsigned(json, value->number); break;
    case FIELD_REAL: put_real(json, wire_double_of_bits(value->number)); break;
    case FIELD_TEXT: put_text(json, value->length ? value->bytes : "", value->length); break;
    case FIELD_COMPRESSED:
    case FIELD_BYTES: put_bytes(json, (const uint8_t *)value->bytes, value->length, 0); break;
    case FIELD_REFERENCE: {
      string_id text = value->number == ROW_MAP_NONE ? 0 : names->stats.items[value->number].text;
      put_text(json, text ? pool_text(pool, text) : "", text ? pool_length(pool, text) : 0);
      break;
    }
    case FIELD_NONE: break;
  }
}

static bool is_taken(const struct batch *batch, const struct event_field *value) {
  unsigned key = value->stat == ROW_MAP_NONE ? KEY_UNKNOWN : batch->names->stats.items[value->stat].key;
  return key != KEY_UNKNOWN && (batch->event.consumed >> key & 1);
}

/* Whether the event has a stat of its own in place of one that its name gives to all. */
static bool is_replaced(const struct wire_reader *outer, const struct wire_field *event, const struct batch *batch,
                        uint32_t stat) {
  struct wire_reader reader = wire_enter(outer, event);
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    struct event_field value;
    if (field.number == XEvent_stats && plane_read_stat(batch->names, &reader, &field, &value) && value.stat == stat)
      return true;
  }
  return false;
}

static void put_rest(const struct batch *batch, const struct wire_reader *outer, const struct wire_field *event,
                     struct text_buffer *json) {
  const struct pool *pool = batch->listing->pool;
  const struct event_name *name = batch->event.name;
  struct wire_reader reader = wire_enter(outer, event);
  struct wire_field field;
  json->length = 0;
  if (name && name->display) {
    begin_member(json, "display_name", 12);
    put_text(json, pool_text(pool, name->display), pool_length(pool, name->display));
    if (batch->line->role != LINE_PLAIN && name->name) { /* there the other one is the row's name */
      begin_member(json, "long_name", 9);
      put_text(json, pool_text(pool, name->name), pool_length(pool, name->name));
    }
  }
  while (wire_next(&reader, &field)) {
    struct event_field value;
    bool is_stat = field.number == XEvent_stats && plane_read_stat(batch->names, &reader, &field, &value);
    if (is_stat && !is_taken(batch, &value)) xplane_put_stat(json, batch->names, pool, &value);
  }
  for (uint32_t i = 0; name && i < name->stat_count; i++) {
    const struct event_field *value = &batch->names->inherited.items[name->first_stat + i];
    if (!is_taken(batch, value) && !is_replaced(outer, event, batch, value->stat))
      xplane_put_stat(json, batch->names, pool, value);
  }
  if (json->length) text_buffer_add(json, "}", 1);
}

/* ---- loading ---- */

struct reading {
  struct profile *profile;
  const struct segment *segment;
  const struct segment_places *places;
  struct batch *batch;
  struct text_buffer json;
  char *bytes;
  size_t capacity;
  int64_t *values;
};

static enum tfprof_status read_row(struct reading *r, const struct piece_part *part, uint32_t row,
                                   struct tfprof_error *error) {
  uint32_t place = r->places->places[row] - part->place;
  struct wire_reader reader = wire_open(r->bytes, part->length);
  struct wire_field field;
  string_id id = 0;
  reader.at += place;
  if (!wire_next(&reader, &field) || field.type != WIRE_BYTES) return TFPROF_OK;
  if (!event_read(r->batch, field.bytes, field.length, reader.limit, part->offset + place)) return TFPROF_OK;
  if (r->places->table < ROWS_kernels) emit_host(r->batch);
  else emit_device(r->batch);
  put_rest(r->batch, &reader, &field, &r->json);
  if (r->json.failed || r->batch->no_memory) return error_no_memory(error);
  if (!r->json.length) return TFPROF_OK;
  enum tfprof_status status = pool_intern(store_pool(r->profile->store), r->json.bytes, r->json.length, &id);
  if (status) return error_set(error, status, "no room for attributes");
  r->values[row] = id;
  return TFPROF_OK;
}

static enum tfprof_status read_rows(struct reading *r, struct tfprof_error *error) {
  const struct xplane_source *source = r->profile->source_data;
  enum tfprof_status status = TFPROF_OK;
  uint32_t row = 0;
  for (size_t i = 0; i < r->places->part_count && !status && row < r->segment->rows; i++) {
    const struct piece_part *part = &r->places->parts[i];
    if (r->places->places[row] - part->place >= part->length) continue; /* none of its events is of the table */
    if (!array_reserve(r->bytes, r->capacity, (size_t)part->length + 1)) return error_no_memory(error);
    status = xplane_names(r->profile, source->index.lines.items[part->line].plane, error);
    if (!status) status = source_range(source->index.file, part->offset, part->length, r->bytes, error);
    batch_take_line(r->batch, source, part->line);
    for (; !status && row < r->segment->rows && r->places->places[row] - part->place < part->length; row++) {
      status = read_row(r, part, row, error);
      if (!status && (row & 4095) == 0 && store_interrupted(r->profile->store))
        status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
    }
  }
  return status;
}

static enum tfprof_status load_attributes(struct profile *profile, struct segment *segment, struct column **out,
                                          struct tfprof_error *error) {
  struct listing listing;
  struct reading r = {.profile = profile, .segment = segment, .places = segment->source_data};
  struct tfprof_error reason = {0};
  enum tfprof_status status = listing_init(&listing, profile, error);
  if (status) return status;
  r.batch = calloc(1, sizeof *r.batch);
  r.values = malloc(((size_t)segment->rows + 1) * sizeof *r.values);
  if (!r.batch || !r.values) {
    status = error_no_memory(error);
  } else {
    r.batch->listing = &listing;
    r.batch->is_dry = true;
    r.batch->dry_table = r.places->table;
    r.batch->group = xplane_group_of_table(segment->table);
    for (uint32_t row = 0; row < segment->rows; row++) r.values[row] = ROW_NULL;
    status = read_rows(&r, &reason);
    if (status == TFPROF_NOT_FOUND || status == TFPROF_REPLACED || status == TFPROF_IO) {
      segment_lose(segment, schema_tables[segment->table].column_count - 1u, &reason); /* those read before stay */
      status = TFPROF_OK;
    }
    if (status && error) *error = reason;
  }
  if (!status && !(*out = pack_values(r.values, segment->rows, false))) status = error_no_memory(error);
  if (r.batch) batch_free(r.batch);
  free(r.batch);
  free(r.values);
  free(r.bytes);
  text_buffer_free(&r.json);
  return status;
}

enum tfprof_status xplane_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                               unsigned count, struct column **out, struct tfprof_error *error) {
  const unsigned attributes = schema_tables[segment->table].column_count - 1u;
  enum tfprof_status status = TFPROF_OK;
  memset(out, 0, count * sizeof *out);
  for (unsigned i = 0; i < count && !status; i++) {
    if (columns[i] == attributes && segment->source_data) status = load_attributes(profile, segment, &out[i], error);
  }
  return status;
}
