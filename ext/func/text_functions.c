/* text_functions.c: texts put together in a certain order, and what the path of a source file tells.
**
**   is_library_file(path)    1: the file belongs to an installed package or to Python's own library, 0: to a program,
**                            NULL: there is no file (functions written in C)
**   ordered_concat(text, separator, key)   aggregate: the texts with the separator between them, in the order of the
**                                          integer key, those of the same key by the text itself; NULL texts are left
**                                          out, NULL without any.  group_concat() promises no order before SQLite 3.44.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static bool add(struct pieces *pieces, const char *text, size_t length, int64_t key) {
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
    uint64_t room = (pieces->length + length) * 2 + SMALLEST_ROOM;
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
  if ((!pieces->separator && pieces->count) ||
      !add(pieces, text, (size_t)sqlite3_value_bytes(values[0]), sqlite3_value_int64(values[2])))
    sqlite3_result_error_nomem(context);
}

/* Places in the text cannot be compared without it, so that insertion keeps to merging; the lists are short or nearly
** sorted. */
static int compare(const struct pieces *pieces, const struct piece *a, const struct piece *b) {
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  size_t shorter = a->length < b->length ? a->length : b->length;
  int order = shorter ? memcmp(pieces->text + a->offset, pieces->text + b->offset, shorter) : 0;
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool sort(struct pieces *pieces) {
  bool is_sorted = true;
  for (uint64_t i = 1; i < pieces->count && is_sorted; i++)
    is_sorted = compare(pieces, &pieces->items[i - 1], &pieces->items[i]) <= 0;
  if (is_sorted) return true;
  struct piece *other = sqlite3_malloc64(pieces->count * sizeof *other), *from = pieces->items, *to = other;
  if (!other) return false;
  for (uint64_t width = 1; width < pieces->count; width *= 2) {
    for (uint64_t begin = 0; begin < pieces->count; begin += 2 * width) {
      uint64_t middle = begin + width < pieces->count ? begin + width : pieces->count;
      uint64_t end = middle + width < pieces->count ? middle + width : pieces->count;
      uint64_t a = begin, b = middle;
      for (uint64_t i = begin; i < end; i++)
        to[i] = b == end || (a < middle && compare(pieces, &from[a], &from[b]) <= 0) ? from[a++] : from[b++];
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

/* ---- files of libraries ---- */

/* Traces of PyTorch have paths without the folder of sys.path that the file lies in (torch/csrc/autograd/
** profiler_python.cpp): of these the first part is all there is to tell packages from programs. */
static const char *const packages[] = {
    "torch",       "torchvision", "torchaudio",   "functorch", "triton",    "numpy",       "PIL",
    "accelerate",  "apex",        "deepspeed",    "lightning", "megatron",  "transformers", "pytorch_lightning",
    "asyncio",     "collections", "concurrent",   "ctypes",    "importlib", "json",        "logging",
    "multiprocessing", "re",      "unittest",     "xml",       NULL};
static const char *const modules[] = {"_weakrefset.py", "abc.py",    "ast.py",       "bdb.py",        "codecs.py",
                                      "contextlib.py",  "copy.py",   "copyreg.py",   "dataclasses.py", "enum.py",
                                      "functools.py",   "inspect.py", "pickle.py",   "queue.py",      "runpy.py",
                                      "selectors.py",   "socket.py", "subprocess.py", "tempfile.py",  "threading.py",
                                      "traceback.py",   "typing.py", "warnings.py",  "weakref.py",    NULL};

static bool is_in(const char *const *names, const char *text, size_t length) {
  for (; *names; names++) {
    if (strlen(*names) == length && memcmp(*names, text, length) == 0) return true;
  }
  return false;
}

static bool is_library(const char *path) {
  if (strncmp(path, "<frozen ", 8) == 0) return true;
  if (strstr(path, "/site-packages/") || strstr(path, "/dist-packages/")) return true;
  for (const char *at = path; (at = strstr(at, "/lib/python")) != NULL; at += 11) {
    if (at[11] >= '0' && at[11] <= '9' && strchr(at + 11, '/')) return true;
  }
  const char *slash = strchr(path, '/');
  return slash ? is_in(packages, path, (size_t)(slash - path)) : is_in(modules, path, strlen(path));
}

static void is_library_file(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count;
  const char *path = (const char *)sqlite3_value_text(values[0]);
  if (path) sqlite3_result_int(context, is_library(path));
}

const struct function_spec text_functions[] = {
    {.name = "is_library_file", .argument_count = 1, .function = is_library_file},
    {.name = "ordered_concat", .argument_count = 3, .step = concat_step, .final = concat_final},
    {0},
};
