/* json_text.c: see json_text.h.  The grammar of strings is that of RFC 8259. */
#include "write/json_text.h"

#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 sequence at `at`, 0 when it is none (RFC 3629: no overlong forms, no surrogates). */
static size_t sequence_length(const unsigned char *at, size_t left) {
  static const struct {
    unsigned char first, last, second_first, second_last, length;
  } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
               {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
               {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  if (at[0] < 0x80) return 1;
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    if (at[0] < forms[i].first || at[0] > forms[i].last) continue;
    if (left < forms[i].length || at[1] < forms[i].second_first || at[1] > forms[i].second_last) return 0;
    for (size_t j = 2; j < forms[i].length; j++)
      if ((at[j] & 0xc0) != 0x80) return 0;
    return forms[i].length;
  }
  return 0;
}

void json_text_write(const char *text, size_t length, void (*take)(void *user, const void *bytes, size_t length),
                     void *user) {
  const unsigned char *at = (const unsigned char *)text, *end = at + length, *plain = at;
  take(user, "\"", 1);
  while (at < end) {
    if (*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\') {
      at++;
      continue;
    }
    size_t sequence = *at < 0x80 ? 0 : sequence_length(at, (size_t)(end - at));
    if (sequence) {
      at += sequence;
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
        if (*at < 0x80) {
          snprintf(escape, sizeof escape, "\\u%04x", *at);
        } else {
          replacement = "\xef\xbf\xbd";
        }
    }
    take(user, plain, (size_t)(at - plain));
    take(user, replacement, strlen(replacement));
    plain = ++at;
  }
  take(user, plain, (size_t)(at - plain));
  take(user, "\"", 1);
}
