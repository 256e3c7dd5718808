/* utf8.c: see utf8.h. */
#include "base/utf8.h"

#include <stdbool.h>

#include "base/bytes.h"

size_t utf8_character(const char *text, size_t left) {
  const unsigned char *p = (const unsigned char *)text;
  if (p[0] < 0x80) return 1;
  size_t length = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
  if (!length || length > left) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
  }
  bool is_overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
  bool is_beyond = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
  return is_overlong || is_beyond ? 0 : length;
}

size_t utf8_put(char *to, uint32_t character) {
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) character = 0xfffd;
  if (character < 0x80) {
    to[0] = (char)character;
    return 1;
  }
  size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, character >>= 6) to[i] = (char)(0x80 | (character & 0x3f));
  to[0] = (char)((length == 2 ? 0xc0 : length == 3 ? 0xe0 : 0xf0) | character);
  return length;
}

/* Eight bytes at a time as long as they are ASCII, as nearly all are. */
size_t utf8_valid(const char *text, size_t length) {
  size_t at = 0;
  while (at < length) {
    if (length - at >= 8 && !(load_u64(text + at) & 0x8080808080808080u)) {
      at += 8;
      continue;
    }
    size_t character = utf8_character(text + at, length - at);
    if (!character) break;
    at += character;
  }
  return at;
}
