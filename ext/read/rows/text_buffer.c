/* text_buffer.c: see text_buffer.h. */
#include "read/rows/text_buffer.h"

#include "base/list.h"

#include <stdarg.h>
#include <stdio.h>

bool text_buffer_reserve(struct text_buffer *text, size_t more) {
  if (text->failed || !array_reserve(text->bytes, text->capacity, text->length + more + 1)) text->failed = true;
  return !text->failed;
}

void text_buffer_print(struct text_buffer *text, const char *format, ...) {
  char buffer[128];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  assert(length >= 0 && (size_t)length < sizeof buffer);
  text_buffer_add(text, buffer, (size_t)length);
}

void text_buffer_integer(struct text_buffer *text, int64_t value) {
  char digits[20], *at = digits + sizeof digits; /* "-9223372036854775808" */
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + left % 10);
  while ((left /= 10) != 0);
  if (value < 0) *--at = '-';
  text_buffer_add(text, at, (size_t)(digits + sizeof digits - at));
}

void text_buffer_free(struct text_buffer *text) {
  free(text->bytes);
  *text = (struct text_buffer){0};
}
