/* json_tree.c: see json_tree.h. */
#include "read/flight/json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "read/json/number.h"
#include "read/json/trace.h"
#include "read/pickle/pickle_file.h"

enum {
  MAXIMUM_DEPTH = 32, /* of lists and objects in each other: a dump has six */
  VALUES_UNTIL_POLL = 1 << 14
};
static_assert((int)PICKLE_FILE_PADDING >= (int)SCAN_PADDING,
              "the bytes behind the document end what is looked for in it");

struct maker {
  struct pickle *tree;
  struct store *store;
  char *start, *at, *end;
  uint64_t values;
  bool no_memory, is_interrupted;
};

static bool stop_at(struct maker *m, const char *wrong) {
  m->tree->wrong = wrong;
  m->tree->offset = (uint64_t)((m->at < m->end ? m->at : m->end) - m->start);
  return false;
}

/* Most containers are small, and a file can have millions: each has room for what it holds, unlike base/list.h. */
static bool append(struct maker *m, struct pickle_container *to, struct pickle_value value) {
  if (to->count == to->capacity) {
    uint64_t capacity = to->capacity ? 2 * to->capacity : 1;
    void *moved = realloc(to->items, (size_t)capacity * sizeof value);
    if (!moved) return !(m->no_memory = true);
    to->items = moved;
    to->capacity = capacity;
  }
  to->items[to->count++] = value;
  return true;
}

static bool is_at_end(struct maker *m) {
  while (m->at < m->end && scan_is_space(*m->at)) m->at++;
  return m->at >= m->end;
}

static bool take_json_text(struct maker *m, struct pickle_value *value) {
  struct field field;
  char *text = m->at + 1;
  const char *behind = scan_value(m->at, m->end, &field);
  if (behind > m->end) return stop_at(m, "the file ends in the middle of a text");
  size_t length = field.is_escaped ? text_unescape(text, field.length, text) : field.length;
  *value = (struct pickle_value){.kind = PICKLE_TEXT, .length = (uint32_t)length, .text = text};
  m->at += behind - m->at;
  return true;
}

static bool take_number_or_word(struct maker *m, struct pickle_value *value) {
  static const struct {
    const char *word;
    struct pickle_value value;
  } words[] = {{"null", {.kind = PICKLE_NONE}},
               {"true", {.kind = PICKLE_BOOL, .integer = 1}},
               {"false", {.kind = PICKLE_BOOL, .integer = 0}}};
  struct field field;
  const char *behind = scan_value(m->at, m->end, &field);
  if (behind > m->end) return stop_at(m, "the file ends in the middle of a number");
  *value = (struct pickle_value){.kind = PICKLE_HUGE};
  if (field.kind == FIELD_INTEGER) {
    *value = (struct pickle_value){.kind = PICKLE_INTEGER, .integer = field.number};
  } else if (field.kind == FIELD_DECIMAL) {
    if (number_real(&field, &value->real)) value->kind = PICKLE_REAL;
  } else {
    size_t i = 0;
    while (i < sizeof words / sizeof *words && !scan_key_is(&field, words[i].word)) i++;
    if (i == sizeof words / sizeof *words) return stop_at(m, "what stands there is no JSON");
    *value = words[i].value;
  }
  m->at += behind - m->at;
  return true;
}

static bool take_any(struct maker *m, struct pickle_value *value, unsigned depth);

/* What it holds is in it even where it ends too early. */
static bool take_items(struct maker *m, struct pickle_container *to, bool is_object, unsigned depth) {
  char closing = is_object ? '}' : ']';
  for (m->at++;; m->at++) {
    struct pickle_value key, value = {.kind = PICKLE_NONE};
    if (is_at_end(m)) return stop_at(m, "the file ends before the document does");
    if (*m->at == closing && !to->count) break;
    if (is_object && *m->at != '"') return stop_at(m, "a key is missing");
    if (is_object && !take_json_text(m, &key)) return false;
    if (is_object && (is_at_end(m) || *m->at++ != ':')) return stop_at(m, "a colon is missing");
    bool is_whole = take_any(m, &value, depth);
    bool has_value = is_whole || value.kind != PICKLE_NONE;
    if (has_value && is_object && !append(m, to, key)) return false;
    if (has_value && !append(m, to, value)) return false;
    if (!is_whole) return false;
    if (is_at_end(m)) return stop_at(m, "the file ends before the document does");
    if (*m->at == closing) break;
    if (*m->at != ',') return stop_at(m, "a comma is missing");
  }
  m->at++;
  return true;
}

static bool take_any(struct maker *m, struct pickle_value *value, unsigned depth) {
  if (is_at_end(m)) return stop_at(m, "the file ends before the document does");
  if (m->values++ % VALUES_UNTIL_POLL == 0 && store_interrupted(m->store)) return !(m->is_interrupted = true);
  if (*m->at == '"') return take_json_text(m, value);
  if (*m->at != '{' && *m->at != '[') return take_number_or_word(m, value);
  if (depth == MAXIMUM_DEPTH) return stop_at(m, "lists and objects stand in each other more than 32 deep");
  struct pickle_container *made = calloc(1, sizeof *made);
  if (!made) return !(m->no_memory = true);
  bool is_object = *m->at == '{';
  made->next = m->tree->containers;
  m->tree->containers = made;
  *value = (struct pickle_value){.kind = is_object ? PICKLE_DICT : PICKLE_LIST, .container = made};
  return take_items(m, made, is_object, depth + 1);
}

enum tfprof_status json_tree_read(struct pickle *tree, struct store *store, char *bytes, uint64_t length,
                                  struct tfprof_error *error) {
  struct maker m = {.tree = tree, .store = store, .start = bytes, .at = bytes, .end = bytes + length};
  *tree = (struct pickle){.root.kind = PICKLE_NONE};
  memset(m.end, '"', PICKLE_FILE_PADDING);
  if (take_any(&m, &tree->root, 0) && !is_at_end(&m)) stop_at(&m, "more stands behind the document");
  if (!m.no_memory && !m.is_interrupted) return TFPROF_OK;
  pickle_free(tree);
  return m.is_interrupted ? error_set(error, TFPROF_INTERRUPTED, "interrupted") : error_no_memory(error);
}
