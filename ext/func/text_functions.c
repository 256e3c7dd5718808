/* text_functions.c: texts put together in a certain order, what the path of a source file tells, and errors with a text
** of the view's own.
**
** ordered_concat() makes a text no longer than any of the connection (SQLITE_LIMIT_LENGTH).
*/
#include <stdint.h>
#include <string.h>

#include "derive/code/source_kinds.h"
#include "func/functions.h"

SQLITE_EXTENSION_INIT3

enum { SMALLEST_ROOM = 240 }; /* most are short: one piece of memory does */

struct piece { int64_t key; size_t offset, length; };

struct pieces {
  struct piece *items; /* `few` while they are */
  struct piece few[2];
  char *text; /* all texts one after the other */
  char *separator;
  uint64_t count, capacity, length, room;
};

static void release(struct pieces *pieces) {
  if (pieces->items != pieces->few) sqlite3_free(pieces->items);
  sqlite3_free(pieces->text);
  sqlite3_free(pieces->separator);
  memset(pieces, 0, sizeof *pieces);
}

static bool add_text_piece(struct pieces *pieces, const char *text, size_t length, int64_t key) {
  if (!pieces->items) {
    pieces->items = pieces->few;
    pieces->capacity = sizeof pieces->few / sizeof *pieces->few;
  }
  if (pieces->count == pieces->capacity) {
    uint64_t capacity = pieces->capacity * 4;
    bool was_few = pieces->items == pieces->few;
    struct piece *items = sqlite3_realloc64(was_few ? NULL : pieces->items, capacity * sizeof *items);
    if (!items) return false;
    if (was_few) memcpy(items, pieces->few, sizeof pieces->few);
    pieces->items = items;
    pieces->capacity = capacity;
  }
  if (pieces->length + length > pieces->room || !pieces->text) {
    uint64_t room = (pieces->length + length) + (pieces->length + length) / 2 + SMALLEST_ROOM;
    char *grown = sqlite3_realloc64(pieces->text, room);
    if (!grown) return false;
    pieces->text = grown;
    pieces->room = room;
  }
  if (length) memcpy(pieces->text + pieces->length, text, length);
  pieces->items[pieces->count++] = (struct piece){key, pieces->length, length};
  pieces->length += length;
  return true;
}

static void concat_step(sqlite3_context *context, int count, sqlite3_value **values) {
  struct pieces *pieces = sqlite3_aggregate_context(context, sizeof *pieces);
  (void)count;
  if (!pieces) {
    sqlite3_result_error_nomem(context);
    return;
  }
  const char *text = (const char *)sqlite3_value_text(values[0]);
  if (!text) return;
  if (!pieces->separator && pieces->count) {
    const char *separator = (const char *)sqlite3_value_text(values[1]);
    pieces->separator = sqlite3_mprintf("%s", separator ? separator : "");
  }
  /* All of it is kept until the end, so that what is too long for a text is refused before. */
  uint64_t limit = (uint64_t)sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
  uint64_t between = pieces->separator ? strlen(pieces->separator) * pieces->count : 0;
  uint64_t length = (uint64_t)sqlite3_value_bytes(values[0]);
  if (pieces->length + between + length > limit) {
    release(pieces);
    sqlite3_result_error_toobig(context);
    return;
  }
  if ((!pieces->separator && pieces->count) ||
      !add_text_piece(pieces, text, (size_t)length, sqlite3_value_int64(values[2])))
    sqlite3_result_error_nomem(context);
}

/* Places in the text cannot be compared without it, so that insertion keeps to merging; the lists are short or nearly
** sorted. */
static int compare_piece_texts(const struct pieces *pieces, const struct piece *a, const struct piece *b) {
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  size_t shorter = a->length < b->length ? a->length : b->length;
  int order = shorter ? memcmp(pieces->text + a->offset, pieces->text + b->offset, shorter) : 0;
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool sort(struct pieces *pieces) {
  bool is_sorted = true;
  for (uint64_t i = 1; i < pieces->count && is_sorted; i++)
    is_sorted = compare_piece_texts(pieces, &pieces->items[i - 1], &pieces->items[i]) <= 0;
  if (is_sorted) return true;
  struct piece *other = sqlite3_malloc64(pieces->count * sizeof *other), *from = pieces->items, *to = other;
  if (!other) return false;
  for (uint64_t width = 1; width < pieces->count; width *= 2) {
    for (uint64_t begin = 0; begin < pieces->count; begin += 2 * width) {
      uint64_t middle = begin + width < pieces->count ? begin + width : pieces->count;
      uint64_t end = middle + width < pieces->count ? middle + width : pieces->count;
      uint64_t a = begin, b = middle;
      for (uint64_t i = begin; i < end; i++)
        to[i] =
            b == end || (a < middle && compare_piece_texts(pieces, &from[a], &from[b]) <= 0) ? from[a++] : from[b++];
    }
    struct piece *swap = from;
    from = to;
    to = swap;
  }
  if (from != pieces->items) memcpy(pieces->items, from, pieces->count * sizeof *from);
  sqlite3_free(other);
  return true;
}

static void concat_final(sqlite3_context *context) {
  struct pieces *pieces = sqlite3_aggregate_context(context, 0);
  if (!pieces) return;
  if (pieces->count == 1) {
    sqlite3_result_text64(context, pieces->text, pieces->length, sqlite3_free, SQLITE_UTF8);
    pieces->text = NULL;
  } else if (pieces->count && pieces->separator) {
    size_t separator = strlen(pieces->separator);
    char *text = sort(pieces) ? sqlite3_malloc64(pieces->length + separator * pieces->count + 1) : NULL;
    if (text) {
      size_t at = 0;
      for (uint64_t i = 0; i < pieces->count; i++) {
        if (i) {
          memcpy(text + at, pieces->separator, separator);
          at += separator;
        }
        if (pieces->items[i].length) memcpy(text + at, pieces->text + pieces->items[i].offset, pieces->items[i].length);
        at += pieces->items[i].length;
      }
      sqlite3_result_text64(context, text, at, sqlite3_free, SQLITE_UTF8);
    } else {
      sqlite3_result_error_nomem(context);
    }
  }
  release(pieces);
}

/* ---- source files ---- */

static void source_kind(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  const char *path = (const char *)sqlite3_value_text(values[0]);
  if (path) sqlite3_result_text(context, source_kind_names[source_kind_of(path)], -1, SQLITE_STATIC);
}

static void is_library_file(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  const char *path = (const char *)sqlite3_value_text(values[0]);
  enum source_kind kind = path ? source_kind_of(path) : SOURCE_PROGRAM;
  if (path) sqlite3_result_int(context, kind != SOURCE_PROGRAM && kind != SOURCE_GENERATED);
}

static void raise_error(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  const char *message = (const char *)sqlite3_value_text(values[0]);
  if (message) sqlite3_result_error(context, message, sqlite3_value_bytes(values[0]));
}

const struct function_spec text_functions[] = {
    {.name = "raise_error",
     .argument_count = 1,
     .is_volatile = true,
     .function = raise_error,
     .text = {"message",
              "Ends the query with the message as its error.",
              "NULL of NULL, which is no error. It is for SELECTs with parameters that name what is not there. It is "
              "never computed beforehand, so that a CASE or a WHERE around it decides. RAISE() of SQLite is for "
              "triggers.",
              "SELECT raise_error(iif(count(*) < 0, 'there are no steps', NULL)) FROM steps"}},
    {.name = "is_library_file",
     .argument_count = 1,
     .function = is_library_file,
     .text = {"path",
              "1 where a source file is of an installed package or of Python's own library, 0 where it is of a "
              "program.",
              "Code that was generated while the program ran is of the program. NULL where there is no file, as of "
              "functions written in C.",
              "SELECT is_library_file('/usr/lib/python3/dist-packages/numpy/core.py')"}},
    {.name = "source_kind",
     .argument_count = 1,
     .function = source_kind,
     .text = {"path",
              "The kind of code that a source file is, as a text.",
              "program is code of the user. generated is what exec() runs as a text, files of inductor and graphs of "
              "torch.fx. library is an installed package. framework is PyTorch and what only hands on to it. python "
              "is the library of Python. NULL where there is no file, as of functions written in C.",
              "SELECT source_kind('train.py')"}},
    {.name = "ordered_concat",
     .argument_count = 3,
     .step = concat_step,
     .final = concat_final,
     .text = {"text, separator, key",
              "The texts with the separator between them, in the order of the key.",
              "key is an integer. Texts of the same key are in the order of the texts. NULL texts are left out, and "
              "the result is NULL without any. group_concat() promises no order before SQLite 3.44.",
              "SELECT ordered_concat(number, ', ', start_ns) FROM steps"}},
    {0},
};
