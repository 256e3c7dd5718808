/* text.c: decoding of JSON texts. */
#include <stdlib.h>
#include <string.h>

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

static size_t put_utf8(char *to, uint32_t code) {
  if (code < 0x80) {
    to[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    to[0] = (char)(0xc0 | code >> 6);
    to[1] = (char)(0x80 | (code & 0x3f));
    return 2;
  }
  if (code < 0x10000) {
    to[0] = (char)(0xe0 | code >> 12);
    to[1] = (char)(0x80 | (code >> 6 & 0x3f));
    to[2] = (char)(0x80 | (code & 0x3f));
    return 3;
  }
  to[0] = (char)(0xf0 | code >> 18);
  to[1] = (char)(0x80 | (code >> 12 & 0x3f));
  to[2] = (char)(0x80 | (code >> 6 & 0x3f));
  to[3] = (char)(0x80 | (code & 0x3f));
  return 4;
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
    if (full >= 0xd800 && full < 0xe000) full = 0xfffd;
    out += put_utf8(out, full);
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

/* Of the character that begins here; 0 when these bytes are no character: a lone or missing continuation, more bytes
** than it needs, a surrogate, or beyond U+10FFFF (RFC 3629). */
static size_t character_length(const unsigned char *p, size_t left) {
  if (p[0] < 0x80) return 1;
  size_t length = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
  if (!length || length > left) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
  }
  if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
      (p[0] == 0xf4 && p[1] > 0x8f))
    return 0;
  return length;
}

/* How many bytes from the start are characters; eight at a time as long as they are ASCII, as nearly all are. */
static size_t valid_length(const unsigned char *text, size_t length) {
  size_t at = 0;
  while (at < length) {
    uint64_t eight;
    if (length - at >= sizeof eight && (memcpy(&eight, text + at, sizeof eight), !(eight & 0x8080808080808080u))) {
      at += sizeof eight;
      continue;
    }
    size_t character = character_length(text + at, length - at);
    if (!character) break;
    at += character;
  }
  return at;
}

enum tfprof_status pool_intern_mended(struct pool *pool, const char *text, size_t length, string_id *id,
                                      uint64_t *mended) {
  size_t at = valid_length((const unsigned char *)text, length);
  if (at == length) return pool_intern(pool, text, length, id);
  static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
  char *whole = malloc(3 * length), *out = whole;
  if (!whole) return TFPROF_NO_MEMORY;
  for (size_t from = 0; from < length; from = at) {
    at = from + valid_length((const unsigned char *)text + from, length - from);
    memcpy(out, text + from, at - from);
    out += at - from;
    if (at == length) break;
    memcpy(out, replacement, 3);
    out += 3;
    at++;
  }
  enum tfprof_status status = pool_intern(pool, whole, (size_t)(out - whole), id);
  free(whole);
  if (mended) ++*mended;
  return status;
}
