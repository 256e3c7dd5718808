/* command_line.c: see command_line.h. */
#include "command_line.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "secret_words.h"

static bool is_plain(const char *word) {
  if (!*word) return false;
  for (; *word; word++) {
    if (strncmp(word, SECRET_MASK, strlen(SECRET_MASK)) == 0) word += strlen(SECRET_MASK) - 1;
    else if (!isalnum((unsigned char)*word) && !strchr("-_./=:,+@%", *word) && !((unsigned char)*word & 0x80))
      return false;
  }
  return true;
}

char *command_line_quote(char **words) {
  size_t size = 1;
  for (char **word = words; *word; word++) size += 4 * strlen(*word) + 3;
  char *text = malloc(size), *end = text;
  if (!text) return NULL;
  for (char **word = words; *word; word++) {
    if (word > words) *end++ = ' ';
    if (is_plain(*word)) {
      end = stpcpy(end, *word);
      continue;
    }
    *end++ = '\'';
    for (const char *c = *word; *c; c++) {
      if (*c == '\'')
        end = stpcpy(end, "'\\''");
      else
        *end++ = *c;
    }
    *end++ = '\'';
  }
  *end = '\0';
  return text;
}

/* The kernel takes no longer word of an environment than 128 KiB, and few want to read one. */
static void cut(char *text) {
  enum { RECORDED_MAXIMUM = 16384 };
  static const char mark[] = " \u2026";
  size_t length = strlen(text);
  if (length <= RECORDED_MAXIMUM) return;
  length = RECORDED_MAXIMUM;
  while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* not within a character */
  memcpy(text + length, mark, sizeof mark);
}

char *command_line_recorded(char **words, bool with_code) {
  char **masked = secret_words_mask(words, with_code), *text = masked ? command_line_quote(masked) : NULL;
  secret_words_free(masked);
  if (text) cut(text);
  return text;
}

char *command_line_of_words(char *bytes, size_t length, bool with_code) {
  enum { WORD_MAXIMUM = 1024 };
  char *words[WORD_MAXIMUM + 1];
  size_t count = 0;
  for (char *word = bytes; word < bytes + length && count < WORD_MAXIMUM; word += strlen(word) + 1)
    words[count++] = word;
  words[count] = NULL;
  return count ? command_line_recorded(words, with_code) : NULL;
}
