/* json_text.c: see json_text.h.  The grammar of strings is that of RFC 8259. */
#include "write/json_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "dump/utf8.h"

/* ASCII that stands as it is: nearly all of nearly every text. */
static bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

void json_text_write(const char *text, size_t length, void (*take)(void *user, const void *bytes, size_t length),
                     void *user) {
  const char *at = text, *end = text + length, *plain = text;
  take(user, "\"", 1);
  while (at < end) {
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
  take(user, "\"", 1);
}
