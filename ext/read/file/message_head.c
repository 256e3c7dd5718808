/* message_head.c: see message_head.h. */
#include "read/file/message_head.h"

bool message_peek(const uint8_t **at, const uint8_t *end, struct wire_field *field) {
  uint64_t tag, value;
  const uint8_t *next = varint_read(*at, end, &tag);
  if (!next || tag < 8 || tag > UINT32_MAX) return false;
  field->number = (uint32_t)(tag >> 3);
  field->type = (uint32_t)(tag & 7);
  field->bytes = NULL;
  field->length = 0;
  if (field->type == WIRE_FIXED64 || field->type == WIRE_FIXED32) {
    size_t width = field->type == WIRE_FIXED64 ? 8 : 4;
    if ((size_t)(end - next) < width) return false;
    *at = next + width;
    return true;
  }
  if (field->type != WIRE_VARINT && field->type != WIRE_BYTES) return false;
  next = varint_read(next, end, &value);
  if (!next) return false;
  field->value = value;
  if (field->type == WIRE_BYTES) {
    field->bytes = next;
    field->length = value < (size_t)(end - next) ? (size_t)value : (size_t)(end - next);
    next += field->length;
  }
  *at = next;
  return true;
}

bool message_is_name(const struct wire_field *field) {
  if (field->type != WIRE_BYTES || field->length == 0) return false;
  for (size_t i = 0; i < field->length; i++) {
    if (field->bytes[i] < 0x20 || field->bytes[i] == 0x7f) return false;
  }
  return true;
}

bool is_trace_device(const uint8_t *at, const uint8_t *end) {
  struct wire_field field;
  bool has_name = message_peek(&at, end, &field) && field.number == 1 && message_is_name(&field);
  return has_name && message_peek(&at, end, &field) && field.number == 2 && field.type == WIRE_VARINT;
}

/* A map entry, as everything in a map: {1: key, 2: value}. */
bool is_trace_message(const uint8_t *head, size_t length) {
  const uint8_t *at = head;
  struct wire_field entry, key, device;
  if (!message_peek(&at, head + length, &entry) || entry.number != 1 || entry.type != WIRE_BYTES) return false;
  const uint8_t *inner = entry.bytes, *end = entry.bytes + entry.length;
  return message_peek(&inner, end, &key) && key.number == 1 && key.type == WIRE_VARINT &&
         message_peek(&inner, end, &device) && device.number == 2 && device.type == WIRE_BYTES &&
         is_trace_device(device.bytes, device.bytes + device.length);
}
