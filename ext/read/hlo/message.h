/* message.h: messages of protocol buffers that are put together in a text_buffer.
**
** The length of a message stands before it and is known behind it: it is written in five bytes, whatever it is.
*/
#ifndef TFPROF_HLO_MESSAGE_H
#define TFPROF_HLO_MESSAGE_H

#include "base/wire.h"
#include "read/rows/text_buffer.h"

enum { MESSAGE_LENGTH = 5 };

static inline void message_varint(struct text_buffer *out, uint64_t value) {
  char bytes[10];
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = (char)(value | 0x80);
  bytes[count++] = (char)value;
  text_buffer_add(out, bytes, count);
}
static inline void message_number(struct text_buffer *out, unsigned field, uint64_t value) {
  message_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
  message_varint(out, value);
}
static inline void message_bytes(struct text_buffer *out, unsigned field, const char *bytes, size_t length) {
  message_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
  message_varint(out, length);
  text_buffer_add(out, bytes, length);
}
/* Begins a field that is a message, or a list of numbers; returns its place for message_end(). */
static inline size_t message_begin(struct text_buffer *out, unsigned field) {
  message_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
  text_buffer_add(out, "\x80\x80\x80\x80", MESSAGE_LENGTH);
  return out->length;
}
static inline void message_end(struct text_buffer *out, size_t place) {
  if (out->failed) return;
  size_t length = out->length - place;
  for (unsigned i = 0; i < MESSAGE_LENGTH; i++, length >>= 7)
    out->bytes[place - MESSAGE_LENGTH + i] = (char)((length & 0x7f) | (i + 1 < MESSAGE_LENGTH ? 0x80 : 0));
}

#endif
