/* source_statement.c: see source_statement.h.
**
** As Python's own tokenizer does it: a line goes on while a bracket is open, while a string of three quotes is, and
** behind a backslash at its end.  Comments are passed over, and brackets in strings.  Any bytes give a statement: what
** no Python would take ends at the next line.
*/
#include "source_statement.h"

#include <stdbool.h>
#include <string.h>

enum { BYTES_MAXIMUM = 256 * 1024 }; /* further ahead nothing is looked at: a place costs no more than this */

struct reading {
  const char *cursor, *end;
  int32_t line; /* of the cursor */
  unsigned depth; /* open brackets */
  bool is_within; /* a statement; else between two */
  bool is_apart;  /* blanks, or a line's end, since the last byte of it */
  struct statement *statement;
};

static void take(struct reading *reading) {
  struct statement *statement = reading->statement;
  if (!reading->is_within) {
    *statement = (struct statement){.first_line = reading->line};
    reading->is_within = true;
    reading->is_apart = false;
  }
  if (reading->is_apart && statement->length < STATEMENT_TEXT) statement->text[statement->length++] = ' ';
  if (statement->length < STATEMENT_TEXT) statement->text[statement->length++] = *reading->cursor;
  reading->is_apart = false;
  statement->last_line = reading->line;
  reading->cursor++;
}

static void pass(struct reading *reading) {
  reading->is_apart = true;
  if (*reading->cursor++ == '\n') reading->line++;
}

static bool is_quote(const struct reading *reading, char quote, size_t length) {
  const char *at = reading->cursor;
  if (*at != quote || (size_t)(reading->end - at) < length) return false;
  return length == 1 || (at[1] == quote && at[2] == quote);
}

/* A string of one quote ends with its line at the latest. */
static void take_quoted(struct reading *reading) {
  char quote = *reading->cursor;
  size_t length = is_quote(reading, quote, 3) ? 3 : 1;
  for (size_t i = 0; i < length; i++) take(reading);
  while (reading->cursor < reading->end && !is_quote(reading, quote, length)) {
    bool is_escape = *reading->cursor == '\\';
    if (*reading->cursor == '\n') {
      if (length == 1) return;
      pass(reading);
    } else {
      take(reading);
    }
    if (!is_escape || reading->cursor == reading->end) continue;
    if (*reading->cursor == '\r' && reading->end - reading->cursor > 1 && reading->cursor[1] == '\n') pass(reading);
    if (*reading->cursor == '\n') pass(reading);
    else take(reading);
  }
  for (size_t i = 0; i < length && reading->cursor < reading->end; i++) take(reading);
}

static void pass_comment(struct reading *reading) {
  const char *stop = memchr(reading->cursor, '\n', (size_t)(reading->end - reading->cursor));
  reading->cursor = stop ? stop : reading->end;
}

/* A backslash and the end of the line behind it: how long both are; 0: it is none. */
static size_t continuation_length(const struct reading *reading) {
  const char *at = reading->cursor;
  size_t left = (size_t)(reading->end - at);
  if (*at != '\\') return 0;
  if (left >= 2 && at[1] == '\n') return 2;
  return left >= 3 && at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

static void read_on(struct reading *reading) {
  char c = *reading->cursor;
  size_t continuation = continuation_length(reading);
  if (continuation) {
    for (size_t i = 0; i < continuation; i++) pass(reading);
  } else if (c == '#') {
    pass_comment(reading);
  } else if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\f') {
    if (c == '\n' && !reading->depth) reading->is_within = false;
    pass(reading);
  } else if (c == '\'' || c == '"') {
    take_quoted(reading);
  } else {
    if (c == '(' || c == '[' || c == '{') reading->depth++;
    if ((c == ')' || c == ']' || c == '}') && reading->depth) reading->depth--;
    take(reading);
  }
}

void statement_find(const char *bytes, size_t size, int32_t function_line, int32_t line, struct statement *statement) {
  const struct statement unknown = {.first_line = line, .last_line = line};
  struct reading reading = {.cursor = bytes, .end = bytes ? bytes + size : NULL, .line = 1, .statement = statement};
  *statement = (struct statement){.last_line = INT32_MIN};
  while (reading.line < function_line && reading.cursor < reading.end) {
    const char *stop = memchr(reading.cursor, '\n', (size_t)(reading.end - reading.cursor));
    reading.cursor = stop ? stop + 1 : reading.end;
    reading.line++;
  }
  if (reading.end - reading.cursor > BYTES_MAXIMUM) reading.end = reading.cursor + BYTES_MAXIMUM;
  while (reading.cursor < reading.end && (reading.line <= line || reading.is_within)) {
    read_on(&reading);
    if (!reading.is_within && statement->last_line >= line) break;
  }
  bool is_found = statement->length > 0 && statement->first_line <= line && statement->last_line >= line;
  if (!is_found) *statement = unknown;
}
