/* attributes.c: the column `attributes`, read again from the file when it is asked for.
**
** A segment keeps where its rows' events begin (four bytes each).  Loading reads the chunk again, runs every event
** through emit.c with is_dry set, which notes the members that columns have taken, and writes the others as one JSON
** object: members of the event under their names, those of args beside them.  A range that was written as two events
** has the args of both; where both have one of a name, that of the end counts (the Trace Event Format says so).
*/
#include <stdlib.h>
#include <string.h>

#include "read/json/trace.h"
#include "read/rows/text_buffer.h"

/* The events of ranges lie all over the file and are read window by window; a window grows for an event of more bytes,
** up to the most that the reader took for an event. */
enum { FAR_WINDOW_BYTES = 4 << 20, FAR_EVENT_BYTES = 64 << 20 };

void segment_text_free(void *source_data) {
  struct segment_text *text = source_data;
  if (!text) return;
  free(text->offsets);
  free(text->far_places);
  free(text->processes);
  free(text);
}

/* A text as it stands in the file, made valid where a writer left control characters or the quotes of its own in it. */
static void put_string(struct text_buffer *w, const char *text, size_t length) {
  text_buffer_add(w, "\"", 1);
  size_t plain = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '\\' && i + 1 < length) {
      i++;
      continue;
    }
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    text_buffer_add(w, text + plain, i - plain);
    plain = i + 1;
    char escape[7] = "\\u00";
    static const char digits[] = "0123456789abcdef";
    escape[4] = digits[c >> 4];
    escape[5] = digits[c & 15];
    text_buffer_add(w, escape, 6);
  }
  text_buffer_add(w, text + plain, length - plain);
  text_buffer_add(w, "\"", 1);
}

static void put_member(struct text_buffer *w, const struct field *key, const struct field *value) {
  text_buffer_add(w, w->length ? "," : "{", 1);
  put_string(w, key->text, key->length);
  text_buffer_add(w, ":", 1);
  if (value->kind == FIELD_TEXT) {
    put_string(w, value->text, value->length);
  } else if (value->kind == FIELD_NESTED) {
    char *copy = malloc(text_compact_room(value->text, value->length));
    if (copy) text_buffer_add(w, copy, text_compact(value->text, value->length, copy));
    else w->failed = true;
    free(copy);
  } else if (value->kind == FIELD_LITERAL && !scan_key_is(value, "true") && !scan_key_is(value, "false") &&
             !scan_key_is(value, "null")) {
    put_string(w, value->text, value->length); /* NaN, Infinity: no JSON */
  } else {
    text_buffer_add(w, value->text, value->length);
  }
}

static bool is_args(unsigned key, const struct field *value) {
  return key == KEY_ARGS && value->kind == FIELD_NESTED && value->text[0] == '{';
}

static bool has_member(const struct field *object, const struct field *name) {
  struct field key, value;
  if (!object->length) return false;
  for (struct member_cursor members = scan_members(object); scan_next(&members, &key, &value);) {
    if (key.length == name->length && memcmp(key.text, name->text, key.length) == 0) return true;
  }
  return false;
}

/* The members that no column took, and those of `end_args`, which replace others of their names. Empty: none. */
static void put_rest(struct worker *worker, const char *text, size_t length, const struct field *end_args,
                     struct text_buffer *w) {
  w->length = 0;
  if (!emit_dry(worker, text, length)) return;
  struct field event = {.text = text, .length = (uint32_t)length}, key, value, name, argument;
  for (struct member_cursor members = scan_members(&event); scan_next(&members, &key, &value);) {
    unsigned found = key_find(key.text, key.length, 0);
    if (is_args(found, &value)) {
      for (struct member_cursor args = scan_members(&value); scan_next(&args, &name, &argument);) {
        found = key_find(name.text, name.length, 1);
        bool is_taken = found != KEY_UNKNOWN && key_set_has(&worker->consumed, found);
        if (!is_taken && !has_member(end_args, &name)) put_member(w, &name, &argument);
      }
    } else if (found == KEY_UNKNOWN || !key_set_has(&worker->consumed, found)) {
      put_member(w, &key, &value);
    }
  }
  if (end_args->length) {
    for (struct member_cursor args = scan_members(end_args); scan_next(&args, &name, &argument);)
      put_member(w, &name, &argument);
  }
  if (w->length) text_buffer_add(w, "}", 1);
}

struct loading_rows {
  struct profile *profile;
  const struct segment *segment;
  const struct segment_text *text;
  struct worker *worker;
  struct text_buffer writer;
  struct end_args { char *text; uint32_t length; } *end_args; /* of ranges, by row; owned; padding follows */
  int64_t *values;
  uint64_t mended, mended_offset; /* rows with bytes that are not UTF-8, and the event of the first */
};

static enum tfprof_status interrupted(const struct loading_rows *l, struct tfprof_error *error) {
  return store_interrupted(l->profile->store) ? error_set(error, TFPROF_INTERRUPTED, "interrupted") : TFPROF_OK;
}

static enum tfprof_status load_row(struct loading_rows *l, uint32_t row, const char *event, size_t length,
                                   struct tfprof_error *error) {
  struct end_args args = l->end_args ? l->end_args[row] : (struct end_args){NULL, 0};
  struct field end_args = {.text = args.text, .length = args.length, .kind = FIELD_NESTED};
  string_id id = 0;
  put_rest(l->worker, event, length, &end_args, &l->writer);
  if (l->writer.failed) return error_no_memory(error);
  if (!l->writer.length) return TFPROF_OK;
  uint64_t mended = 0;
  enum tfprof_status status =
      pool_intern_mended(store_pool(l->profile->store), l->writer.bytes, l->writer.length, &id, &mended);
  if (mended && !l->mended++) {
    l->mended_offset = l->text->far_places ? l->text->far_places[row].begin : l->text->offset + l->text->offsets[row];
  }
  if (status) return error_set(error, status, "no room for attributes");
  l->values[row] = id;
  return TFPROF_OK;
}

/* Copies an event to to[2 * (end - p)] with the quotes escaped that its writer did not escape: the texts end where the
** parser took them to end. Returns its length; 0: it does not end before `end`. */
static size_t copy_event(const char *p, const char *end, char *to) {
  char *out = to;
  struct field key = {0}, value;
  unsigned level = 0;
  bool is_value = false;
  while (p < end) {
    char c = *p;
    bool is_args = level == 1 && scan_key_is(&key, "args");
    if (c == '}' || (c == '{' && (level == 0 || (is_value && is_args)))) {
      *out++ = *p++;
      level = c == '{' ? level + 1 : level - 1;
      if (level == 0) return (size_t)(out - to);
      is_value = false;
      continue;
    }
    if (c != '"' && !(is_value && (c == '[' || c == '{'))) {
      if (c == ':' || c == ',') is_value = c == ':';
      *out++ = *p++;
      continue;
    }
    const char *start = p, *quoted;
    p = scan_value(p, end, &value);
    if (p >= end) return 0;
    const char *next = scan_space(p);
    bool is_cut = is_value && c == '"' && *next != ',' && *next != '}';
    const char *repaired = is_cut ? parse_extend_text(p, end, &value) : NULL;
    if (!is_value) key = value;
    if (!repaired) {
      memcpy(out, start, (size_t)(p - start));
      out += p - start;
      continue;
    }
    *out++ = '"';
    for (const char *from = value.text, *stop = from + value.length; from < stop; from = quoted) {
      quoted = memchr(from, '"', (size_t)(stop - from));
      if (!quoted) quoted = stop;
      memcpy(out, from, (size_t)(quoted - from));
      out += quoted - from;
      if (quoted == stop) break;
      if (quoted == from || quoted[-1] != '\\') *out++ = '\\';
      *out++ = *quoted++;
    }
    *out++ = '"';
    p = repaired;
  }
  return 0;
}

/* Rows whose events lie in one stretch of the file. */
static enum tfprof_status load_near(struct loading_rows *l, struct tfprof_error *error) {
  size_t size = (size_t)l->text->length;
  char *buffer = malloc(size + SCAN_PADDING);
  char *copy = l->text->has_quotes ? malloc(2 * size + SCAN_PADDING) : NULL;
  if (!buffer || (l->text->has_quotes && !copy)) {
    free(buffer);
    return error_no_memory(error);
  }
  enum tfprof_status status = source_range(l->profile->source_data, l->text->offset, size, buffer, error);
  memset(buffer + size, '"', SCAN_PADDING);
  for (uint32_t row = 0; row < l->segment->rows && !status; row++) {
    if (l->text->offsets[row] >= size) continue;
    const char *event = buffer + l->text->offsets[row];
    size_t copied = copy && *event == '{' ? copy_event(event, buffer + size, copy) : 0;
    if (copied) {
      memset(copy + copied, '"', SCAN_PADDING);
      event = copy;
    }
    const char *close = *event == '{' ? scan_nested(event, copied ? copy + copied : buffer + size) : NULL;
    if (close) status = load_row(l, row, event, (size_t)(close - event), error);
    if (!status && (row & 4095) == 0) status = interrupted(l, error);
  }
  free(copy);
  free(buffer);
  return status;
}

/* ---- ranges written as two events ---- */

static enum tfprof_status keep_end_args(struct loading_rows *l, uint32_t row, const char *event, size_t length,
                                        struct tfprof_error *error) {
  struct field whole = {.text = event, .length = (uint32_t)length}, key, value;
  for (struct member_cursor members = scan_members(&whole); scan_next(&members, &key, &value);) {
    if (!is_args(key_find(key.text, key.length, 0), &value) || value.length <= 2) continue;
    struct end_args *args = &l->end_args[row];
    free(args->text);
    args->text = malloc((size_t)value.length + SCAN_PADDING);
    args->length = args->text ? value.length : 0;
    if (!args->text) return error_no_memory(error);
    memcpy(args->text, value.text, value.length);
    memset(args->text + value.length, '"', SCAN_PADDING);
  }
  return TFPROF_OK;
}

struct far_event { uint64_t offset; uint32_t row; };

static int by_offset(const void *a, const void *b) {
  const struct far_event *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Hands each of the events, which are in the order of the file, to `take`. */
static enum tfprof_status each_far_event(struct loading_rows *l, const struct far_event *events, uint32_t count,
                                         enum tfprof_status (*take)(struct loading_rows *, uint32_t, const char *,
                                                                    size_t, struct tfprof_error *),
                                         struct tfprof_error *error) {
  size_t size = FAR_WINDOW_BYTES, got = 0;
  char *buffer = NULL;
  size_t capacity = 0;
  enum tfprof_status status = array_reserve(buffer, capacity, size + SCAN_PADDING) ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < count && !status;) {
    uint64_t start = events[i].offset;
    status = source_prefix(l->profile->source_data, start, size, buffer, &got, error);
    memset(buffer + got, '"', SCAN_PADDING);
    uint32_t first = i;
    for (; i < count && !status && events[i].offset - start < got; i++) {
      const char *event = buffer + (events[i].offset - start), *end = buffer + got;
      const char *close = *event == '{' ? scan_nested(event, end) : end;
      if (!close) break; /* ends behind the window */
      if (*event == '{') status = take(l, events[i].row, event, (size_t)(close - event), error);
    }
    if (!status) status = interrupted(l, error);
    if (status || i > first) continue;
    if (got < size || size >= FAR_EVENT_BYTES) { /* no event any more */
      i++;
      continue;
    }
    size *= 4;
    if (!array_reserve(buffer, capacity, size + SCAN_PADDING)) status = error_no_memory(error);
  }
  free(buffer);
  return status;
}

static enum tfprof_status load_far(struct loading_rows *l, struct tfprof_error *error) {
  uint32_t rows = l->segment->rows, ends = 0;
  const struct far_place *places = l->text->far_places;
  struct far_event *events = malloc(((size_t)rows + 1) * sizeof *events);
  l->end_args = calloc((size_t)rows + 1, sizeof *l->end_args);
  enum tfprof_status status = events && l->end_args ? TFPROF_OK : error_no_memory(error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (places[row].end != FAR_NONE) events[ends++] = (struct far_event){places[row].end, row};
  }
  if (!status) {
    qsort(events, ends, sizeof *events, by_offset);
    status = each_far_event(l, events, ends, keep_end_args, error);
  }
  for (uint32_t row = 0; row < rows && !status; row++) events[row] = (struct far_event){places[row].begin, row};
  if (!status) {
    qsort(events, rows, sizeof *events, by_offset);
    status = each_far_event(l, events, rows, load_row, error);
  }
  for (uint32_t row = 0; row < rows && l->end_args; row++) free(l->end_args[row].text);
  free(l->end_args);
  free(events);
  return status;
}

static enum tfprof_status load_rows(struct profile *profile, struct segment *segment, const struct segment_text *text,
                                    struct worker *worker, int64_t *values, struct tfprof_error *error) {
  struct loading_rows l = {.profile = profile, .segment = segment, .text = text, .worker = worker, .values = values};
  if (text->processes) worker->processes = *text->processes;
  enum tfprof_status status = text->far_places ? load_far(&l, error) : load_near(&l, error);
  if (l.mended) {
    segment_diagnose(segment, schema_tables[segment->table].column_count - 1u, "warning", "not_utf8", (int64_t)l.mended,
                     (int64_t)l.mended_offset, "attributes: " NOT_UTF8_MESSAGE);
  }
  text_buffer_free(&l.writer);
  return status;
}

enum tfprof_status attributes_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                   unsigned count, struct column **out, struct tfprof_error *error) {
  const struct segment_text *text = segment->source_data;
  const unsigned attributes = schema_tables[segment->table].column_count - 1u;
  for (unsigned i = 0; i < count; i++) {
    if (columns[i] != attributes || !text) {
      out[i] = column_absent(segment->rows);
    } else {
      struct worker worker;
      int64_t *values = malloc(((size_t)segment->rows + 1) * sizeof *values);
      bool ok = values && worker_init(&worker);
      enum tfprof_status status = ok ? TFPROF_OK : error_no_memory(error);
      for (uint32_t row = 0; ok && row < segment->rows; row++) values[row] = ROW_NULL;
      if (ok) {
        struct tfprof_error reason;
        status = load_rows(profile, segment, text, &worker, values, &reason);
        worker_free(&worker);
        if (status == TFPROF_NOT_FOUND || status == TFPROF_REPLACED || status == TFPROF_IO) {
          segment_lose(segment, columns[i], &reason); /* those read before stay */
          status = TFPROF_OK;
        }
        if (status && error) *error = reason;
      }
      out[i] = status ? NULL : pack_values(values, segment->rows, false);
      free(values);
      if (status) {
        while (i--) column_release(out[i]);
        return status;
      }
    }
    if (!out[i]) {
      while (i--) column_release(out[i]);
      return error_no_memory(error);
    }
  }
  return TFPROF_OK;
}

static bool is_to_verify(const struct segment *segment) {
  const struct segment_text *text = segment->source_data;
  return text && !text->is_utf8;
}

enum tfprof_status attributes_verify(struct profile *profile, struct tfprof_error *error) {
  struct tfprof_error reason;
  enum tfprof_status status = source_check(profile->source_data, &reason);
  if (status == TFPROF_NOT_FOUND || status == TFPROF_REPLACED || status == TFPROF_IO) {
    profile_tell_file(profile, &reason);
    return TFPROF_OK;
  }
  if (status && error) *error = reason;
  return status ? status : profile_load_some(profile, is_to_verify, error);
}
