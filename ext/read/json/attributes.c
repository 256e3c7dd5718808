/* attributes.c: the column `attributes`, read again from the file when it is asked for.
**
** A segment keeps where its rows' events begin (four bytes each).  Loading reads the chunk again, runs every event
** through emit.c with is_dry set, which notes the members that columns have taken, and writes the others as one JSON
** object: members of the event under their names, those of args beside them.
*/
#include <stdlib.h>
#include <string.h>

#include "read/json/trace.h"

enum { FAR_EVENT_BYTES = 1 << 16 }; /* events of B/E pairs are read one by one; longer ones have no attributes */

void segment_text_free(void *source_data) {
  struct segment_text *text = source_data;
  if (!text) return;
  free(text->offsets);
  free(text->far_offsets);
  free(text);
}

struct writer { char *bytes; size_t length, capacity; bool failed; };

static void put(struct writer *w, const char *bytes, size_t length) {
  if (w->length + length > w->capacity) {
    size_t capacity = (w->length + length) * 2;
    char *grown = realloc(w->bytes, capacity);
    if (!grown) {
      w->failed = true;
      return;
    }
    w->bytes = grown;
    w->capacity = capacity;
  }
  memcpy(w->bytes + w->length, bytes, length);
  w->length += length;
}

/* A text as it stands in the file, made valid where a writer left control characters or the quotes of its own in it. */
static void put_string(struct writer *w, const char *text, size_t length) {
  put(w, "\"", 1);
  size_t plain = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '\\' && i + 1 < length) {
      i++;
      continue;
    }
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    put(w, text + plain, i - plain);
    plain = i + 1;
    char escape[7] = "\\u00";
    static const char digits[] = "0123456789abcdef";
    escape[4] = digits[c >> 4];
    escape[5] = digits[c & 15];
    put(w, escape, 6);
  }
  put(w, text + plain, length - plain);
  put(w, "\"", 1);
}

static void put_member(struct writer *w, const struct field *key, const struct field *value) {
  put(w, w->length ? "," : "{", 1);
  put_string(w, key->text, key->length);
  put(w, ":", 1);
  if (value->kind == FIELD_TEXT) {
    put_string(w, value->text, value->length);
  } else if (value->kind == FIELD_NESTED) {
    char *copy = malloc(value->length);
    if (copy) put(w, copy, text_compact(value->text, value->length, copy));
    else w->failed = true;
    free(copy);
  } else if (value->kind == FIELD_LITERAL && !scan_key_is(value, "true") && !scan_key_is(value, "false") &&
             !scan_key_is(value, "null")) {
    put_string(w, value->text, value->length); /* NaN, Infinity: no JSON */
  } else {
    put(w, value->text, value->length);
  }
}

/* The members that no column took. Empty: none. */
static void put_rest(struct worker *worker, const char *text, size_t length, struct writer *w) {
  w->length = 0;
  if (!emit_dry(worker, text, length)) return;
  struct field event = {.text = text, .length = (uint32_t)length}, key, value;
  for (struct member_cursor members = scan_members(&event); scan_next(&members, &key, &value);) {
    unsigned found = key_find(key.text, key.length, 0);
    if (found == KEY_ARGS && value.kind == FIELD_NESTED && value.text[0] == '{') {
      struct field name, argument;
      for (struct member_cursor args = scan_members(&value); scan_next(&args, &name, &argument);) {
        found = key_find(name.text, name.length, 1);
        if (found == KEY_UNKNOWN || !key_set_has(&worker->consumed, found)) put_member(w, &name, &argument);
      }
    } else if (found == KEY_UNKNOWN || !key_set_has(&worker->consumed, found)) {
      put_member(w, &key, &value);
    }
  }
  if (w->length) put(w, "}", 1);
}

static enum tfprof_status load_rows(struct profile *profile, const struct segment *segment,
                                    const struct segment_text *text, struct worker *worker, int64_t *values,
                                    struct tfprof_error *error) {
  const struct source_index *index = profile->source_data;
  struct pool *pool = store_pool(profile->store);
  bool is_far = text->far_offsets != NULL;
  size_t size = is_far ? FAR_EVENT_BYTES : (size_t)text->length;
  char *buffer = malloc(size + SCAN_PADDING);
  struct writer writer = {0};
  enum tfprof_status status = buffer ? TFPROF_OK : error_no_memory(error);
  if (!status && !is_far) status = source_range(index, text->offset, size, buffer, error);
  for (uint32_t row = 0; row < segment->rows && !status; row++) {
    const char *event = buffer, *end = buffer + size;
    if (is_far) {
      size_t got;
      status = source_prefix(index, text->far_offsets[row], size, buffer, &got, error);
      if (status) break;
      end = buffer + got;
    } else {
      if (text->offsets[row] >= size) continue;
      event += text->offsets[row];
    }
    memset(buffer + (end - buffer), '"', SCAN_PADDING);
    const char *close = *event == '{' ? scan_nested(event, end) : NULL;
    if (!close) continue;
    put_rest(worker, event, (size_t)(close - event), &writer);
    if (writer.failed) status = error_no_memory(error);
    string_id id = 0;
    if (!status && writer.length) {
      status = pool_intern(pool, writer.bytes, writer.length, &id);
      if (status) error_set(error, status, "no room for attributes");
    }
    if (id) values[row] = id;
    if ((row & 4095) == 0 && store_interrupted(profile->store))
      status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
  }
  free(buffer);
  free(writer.bytes);
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
