/* text_buffer.h: bytes that are put together, such as a text in JSON.
**
** Zeroed it is empty.  Want of memory is noted in it and asked for at the end; whatever is added after it is left out.
*/
#ifndef TFPROF_READ_ROWS_TEXT_BUFFER_H
#define TFPROF_READ_ROWS_TEXT_BUFFER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text_buffer {
  char *bytes; /* with a NUL behind them, once something was added */
  size_t length, capacity;
  bool failed; /* there was no memory: bytes are missing */
};

/* Room for so many bytes more and a NUL. False: failed. */
bool text_buffer_reserve(struct text_buffer *text, size_t more);

static inline void text_buffer_add(struct text_buffer *text, const void *bytes, size_t length) {
  assert(!text->bytes || text->length < text->capacity);
  if (text->length + length >= text->capacity && !text_buffer_reserve(text, length)) return;
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  text->bytes[text->length] = '\0';
}

/* At most 127 bytes. */
void text_buffer_print(struct text_buffer *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The number in decimal, as "%lld" has it, some ten times as fast. */
void text_buffer_integer(struct text_buffer *text, int64_t value);
void text_buffer_free(struct text_buffer *text);

#endif
