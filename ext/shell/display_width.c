/* display_width.c: see display_width.h.  The C library knows the characters, in a UTF-8 locale, which main() sets:
** glibc brings C.UTF-8 wherever it is installed. Where a system has none after all, each character counts as one
** column.
*/
#include "display_width.h"

#include <wchar.h>

int display_width(uint32_t c) {
  int width = wcwidth((wchar_t)c);
  return width < 0 ? 1 : width;
}

size_t display_decode(const char *text, size_t length, uint32_t *character) {
  const unsigned char *bytes = (const unsigned char *)text;
  uint32_t c = bytes[0], least;
  size_t size;
  *character = DISPLAY_INVALID;
  if (c < 0x80) {
    *character = c;
    return 1;
  }
  if (c >= 0xc2 && c < 0xe0)
    size = 2, c &= 0x1f, least = 0x80;
  else if (c >= 0xe0 && c < 0xf0)
    size = 3, c &= 0x0f, least = 0x800;
  else if (c >= 0xf0 && c < 0xf5)
    size = 4, c &= 0x07, least = 0x10000;
  else
    return 1;
  for (size_t i = 1; i < size; i++) {
    if (i >= length || (bytes[i] & 0xc0) != 0x80) return i;
    c = c << 6 | (bytes[i] & 0x3f);
  }
  if (c >= least && c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000)) *character = c;
  return size;
}
