/* json_text.c: see json_text.h.  The grammar of strings is that of RFC 8259. */
#include "write/json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* ASCII that stands as it is: nearly all of nearly every text. */
static bool is_plain(unsigned char byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; }

/* Whether eight of them follow: none below 0x20, none from 0x7f on, neither quote nor backslash. A borrow or carry from
** one byte into the next only follows one that is not plain itself. */
static bool are_plain(const char *text) {
  const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
  uint64_t bytes;
  memcpy(&bytes, text, sizeof bytes);
  uint64_t quotes = bytes ^ ones * '"', backslashes = bytes ^ ones * '\\';
  return !((bytes | (bytes + ones) | ((bytes - ones * 0x20) & ~bytes) | ((quotes - ones) & ~quotes) |
            ((backslashes - ones) & ~backslashes)) &
           high);
}

void json_text_write_part(const char *text, size_t length, void (*take)(void *user, const void *bytes, size_t length),
                          void *user) {
  const char *at = text, *end = text + length, *plain = text;
  while (at < end) {
    while (end - at >= 8 && are_plain(at)) at += 8;
    while (at < end && is_plain((unsigned char)*at)) at++;
    if (at == end) break;
    size_t character = utf8_character(at, (size_t)(end - at));
    if (character > 1) {
      at += character;
      continue;
    }
    char escape[8];
    const char *replacement = escape;
    switch (*at) {
      case '"': replacement = "\\\""; break;
      case '\\': replacement = "\\\\"; break;
      case '\n': replacement = "\\n"; break;
      case '\t': replacement = "\\t"; break;
      case '\r': replacement = "\\r"; break;
      default:
        if (character) snprintf(escape, sizeof escape, "\\u%04x", *at);
        else replacement = UTF8_REPLACEMENT;
    }
    take(user, plain, (size_t)(at - plain));
    take(user, replacement, strlen(replacement));
    plain = ++at;
  }
  take(user, plain, (size_t)(at - plain));
}

void json_text_write(const char *text, size_t length, void (*take)(void *user, const void *bytes, size_t length),
                     void *user) {
  take(user, "\"", 1);
  json_text_write_part(text, length, take, user);
  take(user, "\"", 1);
}
