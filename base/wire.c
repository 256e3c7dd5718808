/* wire.c: the cases of wire.h that are not worth inlining. */
#include "base/wire.h"

static bool stop_reading(struct wire_reader *reader, const char *wrong) {
  reader->wrong = wrong;
  return false;
}

static bool take_bytes(struct wire_reader *reader, struct wire_field *field, uint64_t length) {
  if (length > (size_t)(reader->end - reader->at)) return stop_reading(reader, "a field is longer than its message");
  field->bytes = reader->at;
  field->length = (size_t)length;
  reader->at += length;
  return true;
}

static bool take_fixed(struct wire_reader *reader, struct wire_field *field, size_t width) {
  if (width > (size_t)(reader->end - reader->at)) return stop_reading(reader, "a number is cut off");
  field->value = width == 8 ? load_u64(reader->at) : load_u32(reader->at);
  reader->at += width;
  return true;
}

static bool take_varint(struct wire_reader *reader, uint64_t *value) {
  const uint8_t *at = varint_read(reader->at, reader->end, value);
  if (!at) return stop_reading(reader, "a number is cut off or too long");
  reader->at = at;
  return true;
}

static bool take_tag(struct wire_reader *reader, struct wire_field *field) {
  uint64_t tag;
  if (!take_varint(reader, &tag)) return false;
  if (tag > UINT32_MAX || tag < 8) return stop_reading(reader, "a field number is impossible");
  field->number = (uint32_t)(tag >> 3);
  field->type = (uint32_t)(tag & 7);
  return true;
}

/* The value after the tag. Groups are left to the caller. */
static bool take_value(struct wire_reader *reader, struct wire_field *field) {
  field->value = 0;
  field->bytes = NULL;
  field->length = 0;
  switch (field->type) {
    case WIRE_VARINT: return take_varint(reader, &field->value);
    case WIRE_FIXED64: return take_fixed(reader, field, 8);
    case WIRE_FIXED32: return take_fixed(reader, field, 4);
    case WIRE_BYTES: {
      uint64_t length;
      return take_varint(reader, &length) && take_bytes(reader, field, length);
    }
    case WIRE_GROUP:
    case WIRE_GROUP_END: return true;
  }
  return stop_reading(reader, "a field has an impossible wire type");
}

/* Skips to the end of the group that `number` opened.  Nested groups need a stack of their numbers, which is
** bounded. */
static bool skip_group(struct wire_reader *reader, uint32_t number) {
  uint32_t open[WIRE_MAXIMUM_DEPTH];
  unsigned depth = 0;
  struct wire_field field;
  open[depth++] = number;
  while (depth) {
    if (reader->at == reader->end) return stop_reading(reader, "a group is cut off");
    if (!take_tag(reader, &field) || !take_value(reader, &field)) return false;
    if (field.type == WIRE_GROUP) {
      if (depth == WIRE_MAXIMUM_DEPTH) return stop_reading(reader, "groups nest too deeply");
      open[depth++] = field.number;
    } else if (field.type == WIRE_GROUP_END && open[--depth] != field.number) {
      return stop_reading(reader, "a group ends that was not begun");
    }
  }
  return true;
}

bool wire_next_slow(struct wire_reader *reader, struct wire_field *field) {
  while (!reader->wrong && reader->at != reader->end) {
    const uint8_t *start = reader->at;
    bool done = take_tag(reader, field) && take_value(reader, field);
    if (done && field->type == WIRE_GROUP) {
      done = skip_group(reader, field->number);
      if (done) continue;
    }
    if (done && field->type == WIRE_GROUP_END) done = stop_reading(reader, "a group ends that was not begun");
    if (done) return true;
    reader->at = start; /* for wire_offset: the field that is wrong */
  }
  return false;
}

bool wire_packed_next_slow(struct wire_packed *packed, uint64_t *value) {
  if (packed->has_single) {
    packed->has_single = false;
    *value = packed->single;
    return true;
  }
  if (packed->at == packed->end) return false;
  size_t left = (size_t)(packed->end - packed->at), width = packed->type == WIRE_FIXED64 ? 8 : 4;
  if (packed->type == WIRE_VARINT) {
    const uint8_t *at = varint_read(packed->at, packed->end, value);
    packed->at = at ? at : packed->end;
    return at != NULL;
  }
  if (left < width) {
    packed->at = packed->end;
    return false;
  }
  *value = width == 8 ? load_u64(packed->at) : load_u32(packed->at);
  packed->at += width;
  return true;
}
