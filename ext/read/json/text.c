/* text.c: decoding of JSON texts. */
#include <string.h>

#include "dump/utf8.h"
#include "read/json/trace.h"

static int hex4(const char *p) {
  int value = 0;
  for (unsigned i = 0; i < 4; i++) {
    char c = p[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

size_t text_unescape(const char *from, size_t length, char *to) {
  const char *p = from, *end = from + length;
  char *out = to;
  while (p < end) {
    if (*p != '\\' || p + 1 == end) {
      *out++ = *p++;
      continue;
    }
    static const char simple[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    const char *found = NULL;
    for (unsigned i = 0; i < sizeof simple - 1; i += 2) {
      if (simple[i] == p[1]) found = simple + i + 1;
    }
    if (found) {
      *out++ = *found;
      p += 2;
      continue;
    }
    int code = p[1] == 'u' && end - p >= 6 ? hex4(p + 2) : -1;
    if (code < 0) {
      *out++ = *p++;
      continue;
    }
    p += 6;
    uint32_t full = (uint32_t)code;
    if (code >= 0xd800 && code < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
      int low = hex4(p + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        full = 0x10000 + (((uint32_t)code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        p += 6;
      }
    }
    out += utf8_put(out, full); /* half a pair is U+FFFD */
  }
  return (size_t)(out - to);
}

size_t text_compact(const char *from, size_t length, char *to) {
  char *out = to;
  bool in_string = false;
  for (const char *p = from, *end = from + length; p < end; p++) {
    if (in_string) {
      *out++ = *p;
      if (*p == '\\' && p + 1 < end) *out++ = *++p;
      else if (*p == '"') in_string = false;
    } else if (!scan_is_space(*p)) {
      in_string = *p == '"';
      *out++ = *p;
    }
  }
  return (size_t)(out - to);
}
