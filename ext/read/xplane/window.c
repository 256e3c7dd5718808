/* window.c: see window.h. */
#include "read/xplane/window.h"

#include "base/list.h"

void window_free(struct window *window) {
  free(window->bytes);
  source_ranges_close(window->unpacked);
  window->bytes = NULL;
  window->unpacked = NULL;
  window->length = window->capacity = 0;
}

static enum tfprof_status read_range(struct window *window, uint64_t offset, size_t length,
                                     struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  size_t got = 0;
  if (!source_index_is_gzip(window->file)) return source_range(window->file, offset, length, window->bytes, error);
  if (!window->unpacked) status = source_ranges_open(window->file, &window->unpacked, error);
  if (!status) status = source_ranges_read(window->unpacked, offset, length, window->bytes, &got, error);
  if (!status && got < length) status = error_set(error, TFPROF_IO, "the gzip file cannot be read again");
  return status;
}

enum tfprof_status window_move(struct window *window, uint64_t offset, size_t length, const uint8_t **at, size_t *got,
                               struct tfprof_error *error) {
  uint64_t left = offset < window->file_bytes ? window->file_bytes - offset : 0;
  if (length > left) length = (size_t)left;
  *got = length;
  bool is_there = offset >= window->offset && offset - window->offset <= window->length &&
                  length <= window->length - (offset - window->offset);
  if (!is_there) {
    size_t wanted = length > WINDOW_BYTES ? length : WINDOW_BYTES;
    if (wanted > left) wanted = (size_t)left;
    if (!array_reserve(window->bytes, window->capacity, wanted + 1)) return error_no_memory(error);
    window->length = 0;
    window->offset = offset;
    enum tfprof_status status = read_range(window, offset, wanted, error);
    if (status) return status;
    window->length = wanted;
  }
  *at = (const uint8_t *)window->bytes + (window->bytes ? offset - window->offset : 0);
  return TFPROF_OK;
}

/* A tag and a number take at most twenty bytes. */
enum { FIELD_HEAD = 20 };

enum tfprof_status window_field(struct window *window, uint64_t *offset, uint64_t end, struct far_field *field,
                                const char **wrong, struct tfprof_error *error) {
  const uint8_t *start = NULL, *next;
  size_t got = 0;
  uint64_t tag = 0, value = 0, left = end - *offset;
  *field = (struct far_field){0};
  enum tfprof_status status =
      window_move(window, *offset, left < FIELD_HEAD ? (size_t)left : FIELD_HEAD, &start, &got, error);
  if (status) return status;
  const uint8_t *stop = got ? start + got : start;
  next = got ? varint_read(start, stop, &tag) : NULL;
  uint32_t type = (uint32_t)(tag & 7);
  bool is_number = type == WIRE_VARINT || type == WIRE_FIXED64 || type == WIRE_FIXED32;
  if (next && tag >= 8 && tag <= UINT32_MAX && (is_number || type == WIRE_BYTES)) {
    if (type == WIRE_FIXED64 || type == WIRE_FIXED32) {
      size_t width = type == WIRE_FIXED64 ? 8 : 4;
      if ((size_t)(stop - next) < width) next = NULL;
      else memcpy(&value, next, width), next += width;
    } else {
      next = varint_read(next, stop, &value);
    }
  } else {
    next = NULL;
  }
  if (!next) {
    *wrong = "there is no field where one should begin";
    *offset = end;
    return TFPROF_OK;
  }
  *field = (struct far_field){.number = (uint32_t)(tag >> 3), .type = type, .value = is_number ? value : 0};
  *offset += (uint64_t)(next - start);
  if (is_number) return TFPROF_OK;
  if (value > end - *offset) {
    *wrong = "a part is longer than what it lies in";
    field->missing = value - (end - *offset);
    value = end - *offset;
  }
  field->offset = *offset;
  field->length = value;
  *offset += value;
  return TFPROF_OK;
}
