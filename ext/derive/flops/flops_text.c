/* flops_text.c: shapes and attributes from texts (see flops.h for what they look like).
**
** A total function of any bytes: each character is looked at once, lists nest no deeper than the three levels that mean
** something, and what is too long or makes no sense is refused.
*/
#include <string.h>

#include "derive/flops/flops_call.h"

struct cursor {
  const char *at, *end;
};

static struct cursor cursor_of(struct flops_text text) {
  return (struct cursor){text.bytes, text.bytes ? text.bytes + text.length : NULL};
}

static char peek(struct cursor *cursor) {
  while (cursor->at < cursor->end &&
         (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\n' || *cursor->at == '\r'))
    cursor->at++;
  return cursor->at < cursor->end ? *cursor->at : 0;
}

static bool take_character(struct cursor *cursor, char wanted) {
  if (peek(cursor) != wanted) return false;
  cursor->at++;
  return true;
}

static bool take_word(struct cursor *cursor, const char *word) {
  size_t length = strlen(word);
  peek(cursor);
  if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length)) return false;
  cursor->at += length;
  return true;
}

static bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/* A whole number; one beyond 64 bits becomes the largest and sets *is_too_large. */
static bool take_flops_number(struct cursor *cursor, int64_t *number, bool *is_too_large) {
  peek(cursor);
  struct cursor start = *cursor;
  bool is_negative = cursor->at < cursor->end && *cursor->at == '-';
  if (is_negative) cursor->at++;
  if (cursor->at == cursor->end || !is_digit(*cursor->at)) {
    *cursor = start;
    return false;
  }
  int64_t value = 0;
  for (; cursor->at < cursor->end && is_digit(*cursor->at); cursor->at++) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *cursor->at - '0', &value)) {
      *is_too_large = true;
      value = INT64_MAX;
      while (cursor->at + 1 < cursor->end && is_digit(cursor->at[1])) cursor->at++;
    }
  }
  *number = is_negative ? -value : value;
  return true;
}

/* ---- Shapes. */

static bool add_size(struct flops_call *call, struct cursor *cursor) {
  int64_t size;
  if (call->size_count == FLOPS_SIZES || !take_flops_number(cursor, &size, &call->has_overflow)) return false;
  call->sizes[call->size_count++] = size;
  return true;
}

/* What follows a size is another one after `separator`, or the end of the shape. */
static bool read_sizes(struct flops_call *call, struct cursor *cursor, char separator, struct flops_shape *shape) {
  do {
    if (!add_size(call, cursor)) return false;
    shape->count++;
  } while (take_character(cursor, separator));
  for (uint32_t i = 0; i < shape->count; i++) shape->is_known &= shape->sizes[i] >= 0;
  return true;
}

/* One shape; sizes below 0, as TensorFlow writes the unknown ones, make it unknown. */
static bool read_shape(struct flops_call *call, struct cursor *cursor) {
  if (call->shape_count == FLOPS_SHAPES) return false;
  struct flops_shape *shape = &call->shapes[call->shape_count++];
  *shape = (struct flops_shape){.sizes = call->sizes + call->size_count, .is_known = true};
  if (take_word(cursor, "null")) {
    shape->is_known = false;
    return true;
  }
  if (take_character(cursor, '[')) {
    return take_character(cursor, ']') || (read_sizes(call, cursor, ',', shape) && take_character(cursor, ']'));
  }
  bool is_quoted = take_character(cursor, '"');
  if (is_quoted && take_character(cursor, '"')) {
    shape->is_known = false;
    return true;
  }
  if (!is_quoted && !peek(cursor)) return false;
  return read_sizes(call, cursor, 'x', shape) && (!is_quoted || take_character(cursor, '"'));
}

static bool begins_list_of_shapes(struct cursor cursor) {
  if (!take_character(&cursor, '[')) return false;
  char next = peek(&cursor);
  return next == '[' || next == '"' || next == 'n';
}

static bool read_input(struct flops_call *call, struct cursor *cursor, struct flops_input *input) {
  *input = (struct flops_input){.shapes = call->shapes + call->shape_count};
  if (!begins_list_of_shapes(*cursor)) {
    input->count = 1;
    return read_shape(call, cursor);
  }
  input->is_list = true;
  take_character(cursor, '[');
  do {
    if (!read_shape(call, cursor)) return false;
    input->count++;
  } while (take_character(cursor, ','));
  return take_character(cursor, ']');
}

bool flops_read_inputs(struct flops_call *call, struct flops_text text) {
  struct cursor cursor = cursor_of(text);
  call->input_count = 0;
  if (!take_character(&cursor, '[')) return false;
  if (take_character(&cursor, ']')) return !peek(&cursor);
  do {
    if (call->input_count == FLOPS_INPUTS || !read_input(call, &cursor, &call->inputs[call->input_count])) return false;
    call->input_count++;
  } while (take_character(&cursor, ','));
  return take_character(&cursor, ']') && !peek(&cursor);
}

bool flops_read_output(struct flops_call *call, struct flops_text text) {
  struct cursor cursor = cursor_of(text);
  call->output.count = 0;
  if (!peek(&cursor)) return true;
  if (read_input(call, &cursor, &call->output) && !peek(&cursor)) return true;
  call->output.count = 0;
  return false;
}

/* ---- Attributes. */

/* The bytes of the next element of a list or the value of an object, up to a comma or bracket outside all others. */
static bool take_element(struct cursor *cursor, struct flops_text *element) {
  peek(cursor);
  const char *start = cursor->at;
  int depth = 0;
  bool is_quoted = false;
  for (; cursor->at < cursor->end; cursor->at++) {
    char letter = *cursor->at;
    if (is_quoted) {
      if (letter == '\\' && cursor->at + 1 < cursor->end) cursor->at++;
      else if (letter == '"') is_quoted = false;
      continue;
    }
    if (letter == '"') is_quoted = true;
    if (letter == '[' || letter == '{') depth++;
    if (depth == 0 && (letter == ',' || letter == ']' || letter == '}')) break;
    if (letter == ']' || letter == '}') depth--;
  }
  *element = (struct flops_text){start, (size_t)(cursor->at - start)};
  return cursor->at < cursor->end && !is_quoted;
}

/* [1, 1], "[1, 1]", True, "False", 3, "SAME". */
static bool read_value(struct flops_text element, struct flops_value *value) {
  while (element.length && element.bytes[element.length - 1] == ' ') element.length--;
  if (element.length >= 2 && element.bytes[0] == '"')
    element = (struct flops_text){element.bytes + 1, element.length - 2};
  value->text = element;
  value->count = 0;
  struct cursor cursor = cursor_of(element);
  bool is_list = take_character(&cursor, '['), is_too_large = false;
  while (peek(&cursor) && !(is_list && peek(&cursor) == ']')) {
    int64_t number = 0;
    if (take_word(&cursor, "True") || take_word(&cursor, "true")) number = 1;
    else if (!take_word(&cursor, "False") && !take_word(&cursor, "false") &&
             !take_flops_number(&cursor, &number, &is_too_large))
      break;
    if (value->count == FLOPS_VALUES || is_too_large) return false;
    value->numbers[value->count++] = number;
    if (!is_list || !take_character(&cursor, ',')) break;
  }
  return element.length > 0;
}

bool flops_element(struct flops_text list, unsigned position, struct flops_text *element) {
  struct cursor cursor = cursor_of(list);
  if (!take_character(&cursor, '[')) return false;
  for (unsigned at = 0;; at++) {
    if (!take_element(&cursor, element)) return false;
    if (at == position) return true;
    if (!take_character(&cursor, ',')) return false;
  }
}

bool flops_placed(const struct flops_call *call, unsigned position, struct flops_value *value) {
  struct flops_text element;
  return flops_element(call->attributes, position, &element) && read_value(element, value);
}

bool flops_named(const struct flops_call *call, const char *name, struct flops_value *value) {
  struct cursor cursor = cursor_of(call->attributes);
  size_t length = strlen(name);
  if (!take_character(&cursor, '{')) return false;
  do {
    struct flops_text element;
    if (!take_character(&cursor, '"')) return false;
    const char *key = cursor.at;
    while (cursor.at < cursor.end && *cursor.at != '"') cursor.at++;
    size_t key_length = (size_t)(cursor.at - key);
    if (!take_character(&cursor, '"') || !take_character(&cursor, ':') || !take_element(&cursor, &element)) {
      return false;
    }
    if (key_length == length && !memcmp(key, name, length)) return read_value(element, value);
  } while (take_character(&cursor, ','));
  return false;
}
