/* text.c: decoding of JSON texts. */
#include <assert.h>
#include <string.h>

#include "base/utf8.h"
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
  assert((size_t)(out - to) <= length);
  return (size_t)(out - to);
}

size_t text_compact_room(const char *from, size_t length) {
  size_t controls = 0;
  for (size_t i = 0; i < length; i++) controls += (unsigned char)from[i] < 0x20;
  return 2 * length + 2 + 5 * controls; /* "[a,a]" becomes "["a","a"]" */
}

static inline bool is_structure(char c) {
  char folded = c | 0x20; /* '{' is '[' | 0x20 and '}' is ']' | 0x20 */
  return c == ',' || c == ':' || folded == '{' || folded == '}';
}

/* Whether what begins with neither digit nor quote is JSON; NaN, Infinity, N/A and the like are not. */
static bool is_json_word(const char *word, size_t length, bool is_behind_digit) {
  struct field field = {.text = word, .length = (uint32_t)length};
  if (is_behind_digit) return true; /* the exponent of a number */
  if (*word == '-') return length > 1 && word[1] >= '0' && word[1] <= '9';
  return scan_key_is(&field, "true") || scan_key_is(&field, "false") || scan_key_is(&field, "null");
}

static char *put_control(char *out, char c) {
  static const char digits[] = "0123456789abcdef";
  memcpy(out, "\\u00", 4);
  out[4] = digits[(unsigned char)c >> 4];
  out[5] = digits[c & 15];
  return out + 6;
}

size_t text_compact(const char *from, size_t length, char *to) {
  char *out = to;
  for (const char *p = from, *end = from + length; p < end;) {
    if (*p == '"') {
      *out++ = *p++;
      for (; p < end && *p != '"'; p++) {
        if ((unsigned char)*p < 0x20) {
          out = put_control(out, *p);
          continue;
        }
        if (*p == '\\' && p + 1 < end && (unsigned char)p[1] >= 0x20) *out++ = *p++;
        *out++ = *p;
      }
      if (p < end) *out++ = *p++;
    } else if ((*p >= '0' && *p <= '9') || *p == '.' || is_structure(*p)) {
      *out++ = *p++;
    } else if (scan_is_space(*p)) {
      p++;
    } else {
      const char *word = p;
      bool is_behind_digit = out > to && ((out[-1] >= '0' && out[-1] <= '9') || out[-1] == '.');
      while (p < end && !scan_is_space(*p) && *p != '"' && !is_structure(*p)) p++;
      bool is_quoted = !is_json_word(word, (size_t)(p - word), is_behind_digit);
      if (is_quoted) *out++ = '"';
      memcpy(out, word, (size_t)(p - word));
      out += p - word;
      if (is_quoted) *out++ = '"';
    }
  }
  assert((size_t)(out - to) <= text_compact_room(from, length));
  return (size_t)(out - to);
}
