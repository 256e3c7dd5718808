/* wire.h: reads protobuf messages from a range of bytes, field by field.
**
** For the big foreign formats (XSpace, GraphDef, RunMetadata, pprof), which are read once from front to back and of
** which most is skipped: no schema, no allocation, no copy.  Total over any bytes: a message that is cut off, a varint
** that is too long, a length past the end stop the reader with `wrong` set; nothing outside the range is ever read.
**
**   struct wire_reader reader = wire_open(bytes, length);
**   struct wire_field field;
**   while (wire_next(&reader, &field)) {
**     switch (field.number) {
**     case 1: id = wire_int64(&field); break;
**     case 2: name = wire_text(&field, &name_length); break;
**     case 3: { struct wire_reader child = wire_enter(&reader, &field); read_child(&child); break; }
**     case 4: for (struct wire_packed list = wire_unpack(&field, WIRE_VARINT); wire_packed_next(&list, &value);) ...
**     }
**   }
**   if (reader.wrong) ... at byte wire_offset(&reader)
**
** A getter asked for another wire type than the field has returns 0 or an empty range: a file may say anything. Groups
** are skipped.  Damage inside a child does not stop its parent unless the caller checks child.wrong.
*/
#ifndef TFPROF_WIRE_H
#define TFPROF_WIRE_H

#include "base/bytes.h"

enum wire_type {
  WIRE_VARINT = 0,
  WIRE_FIXED64 = 1,
  WIRE_BYTES = 2,
  WIRE_GROUP = 3,
  WIRE_GROUP_END = 4,
  WIRE_FIXED32 = 5
};

enum { WIRE_MAXIMUM_DEPTH = 100 };

struct wire_reader {
  const uint8_t *at, *end;
  const uint8_t *origin; /* of the outermost message: offsets count from here */
  const uint8_t *limit;  /* end of the outermost message: what can be read ahead, though it is not this message's */
  const char *wrong;     /* NULL, or what stopped the reader: one phrase */
  unsigned depth;
};

struct wire_field {
  uint32_t number;      /* 1 ... 2^29-1 */
  uint64_t value;       /* of a number: its bits; of bytes: 0 */
  const uint8_t *bytes; /* of WIRE_BYTES, else NULL */
  size_t length;
  const uint8_t *limit; /* the reader's */
  /* WIRE_VARINT, WIRE_FIXED64, WIRE_FIXED32 or WIRE_BYTES. Not beside the number: gcc would compare both with one load,
  ** which waits until the two stores before it are in the cache. */
  uint32_t type;
};

/* Values of a repeated number field, whether packed or a single one. */
struct wire_packed {
  const uint8_t *at, *end, *limit;
  uint32_t type;
  bool has_single;
  uint64_t single;
};

static inline struct wire_reader wire_open(const void *bytes, size_t length) {
  const uint8_t *start = bytes;
  const uint8_t *end = length ? start + length : start;
  return (struct wire_reader){.at = start, .end = end, .origin = start, .limit = end};
}

/* The general cases of wire_next. */
bool wire_next_slow(struct wire_reader *reader, struct wire_field *field);

/* Reads the next field; false at the end and when something is wrong. */
__attribute__((always_inline)) static inline bool wire_next(struct wire_reader *reader, struct wire_field *field) {
  const uint8_t *at = reader->at, *end = reader->end;
  if (at == end) return false;
  field->limit = reader->limit;
  /* The common case: a tag of one or two bytes, then a number or length of at most eight.  What is read ahead of the
  ** end of a small message belongs to those around it, and does not count. */
  if (reader->limit - at >= 10 && (at[0] < 0x80 || at[1] < 0x80)) {
    uint32_t tag = *at++;
    uint64_t value = 0;
    if (tag >= 0x80) tag = (tag & 0x7f) | (uint32_t)*at++ << 7;
    field->number = tag >> 3;
    field->type = tag & 7;
    if (field->number != 0 && (field->type == WIRE_VARINT || field->type == WIRE_BYTES)) {
      /* Most are one byte; the length of the others is not to be foreseen, so that there is no branch on it. */
      if (*at < 0x80) value = *at++;
      else at = varint_read_ahead(at, &value);
      if (at && at <= end && field->type == WIRE_VARINT) {
        field->value = value;
        field->bytes = NULL;
        field->length = 0;
        reader->at = at;
        return true;
      }
      if (at && at <= end && value <= (size_t)(end - at)) {
        field->value = 0;
        field->bytes = at;
        field->length = (size_t)value;
        reader->at = at + value;
        return true;
      }
    }
  }
  return wire_next_slow(reader, field);
}

/* A reader of the message in a field; empty when the field is no message, `wrong` when messages nest too deeply. */
static inline struct wire_reader wire_enter(const struct wire_reader *reader, const struct wire_field *field) {
  struct wire_reader child = {.at = reader->at,
                              .end = reader->at,
                              .origin = reader->origin,
                              .limit = reader->limit,
                              .depth = reader->depth + 1};
  if (field->type != WIRE_BYTES) return child;
  child.at = child.end = field->bytes;
  if (child.depth > WIRE_MAXIMUM_DEPTH) child.wrong = "messages nest too deeply";
  else child.end += field->length;
  return child;
}

/* Bytes from the start of the outermost message, for error messages. */
static inline uint64_t wire_offset(const struct wire_reader *reader) { return (uint64_t)(reader->at - reader->origin); }

/* ---- Values: one for each kind of field in a .proto ---- */

static inline bool wire_is_number(const struct wire_field *field) { return field->type != WIRE_BYTES; }
static inline uint64_t wire_uint64(const struct wire_field *field) {
  return field->type == WIRE_BYTES ? 0 : field->value;
}
static inline int64_t wire_int64(const struct wire_field *field) { return (int64_t)wire_uint64(field); }
static inline int32_t wire_int32(const struct wire_field *field) { return (int32_t)wire_uint64(field); }
static inline uint32_t wire_uint32(const struct wire_field *field) { return (uint32_t)wire_uint64(field); }
static inline bool wire_bool(const struct wire_field *field) { return wire_uint64(field) != 0; }
static inline int64_t wire_sint64(const struct wire_field *field) { return unzigzag(wire_uint64(field)); }

static inline double wire_double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline float wire_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline double wire_double(const struct wire_field *field) {
  return field->type == WIRE_FIXED64 ? wire_double_of_bits(field->value) : 0;
}

static inline float wire_float(const struct wire_field *field) {
  return field->type == WIRE_FIXED32 ? wire_float_of_bits((uint32_t)field->value) : 0;
}

/* Not terminated by a zero byte; never NULL. */
static inline const char *wire_text(const struct wire_field *field, size_t *length) {
  *length = field->type == WIRE_BYTES ? field->length : 0;
  return *length ? (const char *)field->bytes : "";
}

/* ---- Repeated numbers ---- */

/* `element_type` is the wire type of one element: WIRE_VARINT, WIRE_FIXED32 or WIRE_FIXED64. */
static inline struct wire_packed wire_unpack(const struct wire_field *field, enum wire_type element_type) {
  struct wire_packed packed = {.type = element_type};
  if (field->type == WIRE_BYTES) {
    packed.at = field->bytes;
    packed.end = field->bytes + field->length;
    packed.limit = field->limit;
  } else if (field->type == (uint32_t)element_type) {
    packed.has_single = true;
    packed.single = field->value;
  }
  return packed;
}
/* The general cases of wire_packed_next. */
bool wire_packed_next_slow(struct wire_packed *packed, uint64_t *value);
/* False at the end, and at an element that is cut off. */
static inline bool wire_packed_next(struct wire_packed *packed, uint64_t *value) {
  if (packed->type == WIRE_VARINT && packed->at != packed->end && packed->limit - packed->at >= 8) {
    const uint8_t *at = varint_read_ahead(packed->at, value);
    if (at && at <= packed->end) {
      packed->at = at;
      return true;
    }
  }
  return wire_packed_next_slow(packed, value);
}

#endif
