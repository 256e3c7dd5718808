/* text_proto.c: protobuf text (.pbtxt) becomes binary, so that one reader does for both.
**
** The format: https://protobuf.dev/reference/protobuf/textformat-spec.  Only the fields that the readers use are known
** here (the table below); others are skipped, whatever they hold, and those that are no part of the message's
** definition cannot be told from those that we do not need.  Enum values are names or numbers.
*/
#include "base/utf8.h"
#include "classic/read/files.h"

#include <ctype.h>
#include <errno.h>

enum message {
  NOTHING,
  GRAPH,
  NODE,
  ATTRIBUTE_ENTRY,
  ATTRIBUTE,
  LIST,
  FUNCTION,
  SHAPE,
  DIMENSION,
  LIBRARY,
  FUNCTION_DEF,
  SIGNATURE,
  ARGUMENT,
  RUN_METADATA,
  STEP_STATS,
  DEVICE_STATS,
  NODE_STATS,
  ALLOCATOR,
  ALLOCATION_RECORD,
  OUTPUT,
  TENSOR,
  CONSTANT,
  ALLOCATION,
  MEMORY_STATS
};
enum type { TEXT, INTEGER, BOOLEAN, FLOAT, DTYPE, MESSAGE };

static const struct spec {
  const char *name;
  uint8_t message, number, type, child;
} specs[] = {
    {"node", GRAPH, 1, MESSAGE, NODE},
    {"library", GRAPH, 2, MESSAGE, LIBRARY},
    {"function", LIBRARY, 1, MESSAGE, FUNCTION_DEF},
    {"node_def", FUNCTION_DEF, 3, MESSAGE, NODE},
    {"signature", FUNCTION_DEF, 1, MESSAGE, SIGNATURE},
    {"name", SIGNATURE, 1, TEXT, 0},
    {"input_arg", SIGNATURE, 2, MESSAGE, ARGUMENT},
    {"name", ARGUMENT, 1, TEXT, 0},
    {"name", NODE, 1, TEXT, 0},
    {"op", NODE, 2, TEXT, 0},
    {"input", NODE, 3, TEXT, 0},
    {"device", NODE, 4, TEXT, 0},
    {"attr", NODE, 5, MESSAGE, ATTRIBUTE_ENTRY},
    {"key", ATTRIBUTE_ENTRY, 1, TEXT, 0},
    {"value", ATTRIBUTE_ENTRY, 2, MESSAGE, ATTRIBUTE},
    {"list", ATTRIBUTE, 1, MESSAGE, LIST},
    {"s", ATTRIBUTE, 2, TEXT, 0},
    {"i", ATTRIBUTE, 3, INTEGER, 0},
    {"f", ATTRIBUTE, 4, FLOAT, 0},
    {"b", ATTRIBUTE, 5, BOOLEAN, 0},
    {"type", ATTRIBUTE, 6, DTYPE, 0},
    {"shape", ATTRIBUTE, 7, MESSAGE, SHAPE},
    {"tensor", ATTRIBUTE, 8, MESSAGE, CONSTANT},
    {"placeholder", ATTRIBUTE, 9, TEXT, 0},
    {"func", ATTRIBUTE, 10, MESSAGE, FUNCTION},
    {"s", LIST, 2, TEXT, 0},
    {"i", LIST, 3, INTEGER, 0},
    {"f", LIST, 4, FLOAT, 0},
    {"b", LIST, 5, BOOLEAN, 0},
    {"type", LIST, 6, DTYPE, 0},
    {"shape", LIST, 7, MESSAGE, SHAPE},
    {"func", LIST, 9, MESSAGE, FUNCTION},
    {"name", FUNCTION, 1, TEXT, 0},
    {"dtype", CONSTANT, 1, DTYPE, 0},
    {"tensor_shape", CONSTANT, 2, MESSAGE, SHAPE},
    {"tensor_content", CONSTANT, 4, TEXT, 0},
    {"int_val", CONSTANT, 7, INTEGER, 0},
    {"int64_val", CONSTANT, 10, INTEGER, 0},
    {"dim", SHAPE, 2, MESSAGE, DIMENSION},
    {"unknown_rank", SHAPE, 3, BOOLEAN, 0},
    {"size", DIMENSION, 1, INTEGER, 0},
    {"step_stats", RUN_METADATA, 1, MESSAGE, STEP_STATS},
    {"partition_graphs", RUN_METADATA, 3, MESSAGE, GRAPH},
    {"dev_stats", STEP_STATS, 1, MESSAGE, DEVICE_STATS},
    {"device", DEVICE_STATS, 1, TEXT, 0},
    {"node_stats", DEVICE_STATS, 2, MESSAGE, NODE_STATS},
    {"node_name", NODE_STATS, 1, TEXT, 0},
    {"all_start_micros", NODE_STATS, 2, INTEGER, 0},
    {"op_start_rel_micros", NODE_STATS, 3, INTEGER, 0},
    {"op_end_rel_micros", NODE_STATS, 4, INTEGER, 0},
    {"all_end_rel_micros", NODE_STATS, 5, INTEGER, 0},
    {"memory", NODE_STATS, 6, MESSAGE, ALLOCATOR},
    {"output", NODE_STATS, 7, MESSAGE, OUTPUT},
    {"timeline_label", NODE_STATS, 8, TEXT, 0},
    {"thread_id", NODE_STATS, 10, INTEGER, 0},
    {"memory_stats", NODE_STATS, 12, MESSAGE, MEMORY_STATS},
    {"allocator_name", ALLOCATOR, 1, TEXT, 0},
    {"total_bytes", ALLOCATOR, 2, INTEGER, 0},
    {"peak_bytes", ALLOCATOR, 3, INTEGER, 0},
    {"live_bytes", ALLOCATOR, 4, INTEGER, 0},
    {"allocator_bytes_in_use", ALLOCATOR, 5, INTEGER, 0},
    {"allocation_records", ALLOCATOR, 6, MESSAGE, ALLOCATION_RECORD},
    {"alloc_micros", ALLOCATION_RECORD, 1, INTEGER, 0},
    {"alloc_bytes", ALLOCATION_RECORD, 2, INTEGER, 0},
    {"slot", OUTPUT, 1, INTEGER, 0},
    {"tensor_description", OUTPUT, 3, MESSAGE, TENSOR},
    {"shape", TENSOR, 2, MESSAGE, SHAPE},
    {"allocation_description", TENSOR, 4, MESSAGE, ALLOCATION},
    {"requested_bytes", ALLOCATION, 1, INTEGER, 0},
    {"allocated_bytes", ALLOCATION, 2, INTEGER, 0},
    {"temp_memory_size", MEMORY_STATS, 1, INTEGER, 0},
    {"persistent_memory_size", MEMORY_STATS, 3, INTEGER, 0},
};

static const struct { const char *name; uint8_t number; } dtypes[] = {
    {"DT_FLOAT", 1}, {"DT_DOUBLE", 2}, {"DT_INT32", 3}, {"DT_UINT8", 4}, {"DT_INT16", 5}, {"DT_INT8", 6},
    {"DT_STRING", 7}, {"DT_COMPLEX64", 8}, {"DT_INT64", 9}, {"DT_BOOL", 10}, {"DT_QINT8", 11}, {"DT_QUINT8", 12},
    {"DT_QINT32", 13}, {"DT_BFLOAT16", 14}, {"DT_QINT16", 15}, {"DT_QUINT16", 16}, {"DT_UINT16", 17},
    {"DT_COMPLEX128", 18}, {"DT_HALF", 19}, {"DT_RESOURCE", 20}, {"DT_VARIANT", 21}, {"DT_UINT32", 22},
    {"DT_UINT64", 23}, {"DT_FLOAT8_E5M2", 24}, {"DT_FLOAT8_E4M3FN", 25}, {"DT_INT4", 29}, {"DT_UINT4", 30},
};

struct parser {
  struct tf_model *model;
  const char *start, *at, *end;
  struct text_buffer *binary;
  struct text_buffer value; /* a decoded string */
  const char *wrong;
  unsigned depth;
};

enum { MAXIMUM_DEPTH = 64 };

static bool stop(struct parser *parser, const char *wrong) {
  if (!parser->wrong) parser->wrong = wrong;
  return false;
}

static void skip_space(struct parser *parser) {
  while (parser->at < parser->end) {
    if (*parser->at == '#') {
      while (parser->at < parser->end && *parser->at != '\n') parser->at++;
    } else if (isspace((unsigned char)*parser->at)) {
      parser->at++;
    } else {
      return;
    }
  }
}

static bool is_next(struct parser *parser, char c) {
  skip_space(parser);
  return parser->at < parser->end && *parser->at == c;
}

static bool accept(struct parser *parser, char c) {
  if (!is_next(parser, c)) return false;
  parser->at++;
  return true;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+'; }

static size_t take_word(struct parser *parser, const char **word) {
  skip_space(parser);
  *word = parser->at;
  while (parser->at < parser->end && is_word(*parser->at)) parser->at++;
  return (size_t)(parser->at - *word);
}

/* ---- strings ---- */

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)tolower((unsigned char)c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void add_unicode(struct text_buffer *text, uint32_t code) {
  char bytes[4];
  text_buffer_add(text, bytes, utf8_put(bytes, code));
}

static bool take_escape(struct parser *parser) {
  static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
  if (parser->at == parser->end) return stop(parser, "a text is not ended");
  char c = *parser->at++;
  const char *simple = strchr(from, c);
  if (c && simple) {
    text_buffer_add(&parser->value, &to[simple - from], 1);
  } else if (c >= '0' && c <= '7') {
    unsigned code = (unsigned)(c - '0');
    for (int i = 0; i < 2 && parser->at < parser->end && *parser->at >= '0' && *parser->at <= '7'; i++)
      code = code * 8 + (unsigned)(*parser->at++ - '0');
    char byte = (char)code;
    text_buffer_add(&parser->value, &byte, 1);
  } else if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
    uint32_t code = 0;
    int most = c == 'u' ? 4 : c == 'U' ? 8 : 2, digits = 0;
    while (digits < most && parser->at < parser->end && hex(*parser->at) >= 0) {
      code = code << 4 | (uint32_t)hex(*parser->at++);
      digits++;
    }
    if (!digits) return stop(parser, "a backslash is followed by no number");
    char byte = (char)code;
    if (most == 2) text_buffer_add(&parser->value, &byte, 1);
    else add_unicode(&parser->value, code);
  } else {
    text_buffer_add(&parser->value, &c, 1); /* \\ \' \" \? */
  }
  return true;
}

/* One string or several in a row, which belong together, into parser->value. */
static bool take_string(struct parser *parser) {
  parser->value.length = 0;
  while (is_next(parser, '"') || is_next(parser, '\'')) {
    char quote = *parser->at++;
    for (;;) {
      const char *plain = parser->at;
      while (parser->at < parser->end && *parser->at != quote && *parser->at != '\\') parser->at++;
      text_buffer_add(&parser->value, plain, (size_t)(parser->at - plain));
      if (parser->at == parser->end) return stop(parser, "a text is not ended");
      if (*parser->at++ == quote) break;
      if (!take_escape(parser)) return false;
    }
  }
  return true;
}

/* ---- writing ---- */

static void put_varint(struct text_buffer *binary, uint64_t value) {
  char bytes[10];
  size_t length = 0;
  do {
    bytes[length++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value);
  text_buffer_add(binary, bytes, length);
}

static void put_bytes(struct text_buffer *binary, unsigned number, const char *bytes, size_t length) {
  put_varint(binary, number << 3 | WIRE_BYTES);
  put_varint(binary, length);
  if (length) text_buffer_add(binary, bytes, length);
}

/* The length of a message is known at its end only: it takes five bytes, whatever it is. */
static size_t begin_message(struct text_buffer *binary, unsigned number) {
  put_varint(binary, number << 3 | WIRE_BYTES);
  text_buffer_add(binary, "\x80\x80\x80\x80\x00", 5);
  return binary->length;
}

static void end_message(struct text_buffer *binary, size_t start) {
  size_t length = binary->length - start;
  if (binary->failed || length > UINT32_MAX) {
    binary->failed = true;
    return;
  }
  for (unsigned i = 0; i < 5; i++)
    binary->bytes[start - 5 + i] = (char)((length >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0));
}

/* ---- values ---- */

static bool take_fields(struct parser *parser, enum message message, char closing);

/* Whatever value stands here. */
static bool skip_value(struct parser *parser) {
  unsigned depth = 0;
  do {
    const char *word;
    skip_space(parser);
    if (parser->at == parser->end) return stop(parser, "the text ends in the middle of a value");
    char c = *parser->at;
    if (c == '"' || c == '\'') {
      if (!take_string(parser)) return false;
      continue;
    }
    if (take_word(parser, &word)) continue;
    parser->at++;
    if (c == '{' || c == '<' || c == '[') depth++;
    else if (c == '}' || c == '>' || c == ']') {
      if (depth == 0) return stop(parser, "a bracket is closed that was not opened");
      depth--;
    }
  } while (depth);
  return true;
}

static bool put_word(struct parser *parser, const struct spec *spec, const char *word, size_t length) {
  char copy[64], *end;
  if (length == 0 || length >= sizeof copy) return stop(parser, "a value is missing");
  memcpy(copy, word, length);
  copy[length] = '\0';
  if (spec->type == FLOAT) {
    float value = strtof(copy, &end);
    uint32_t bits;
    if (*end == 'f' || *end == 'F') end++;
    if (*end) return stop(parser, "this is no number");
    memcpy(&bits, &value, sizeof bits);
    put_varint(parser->binary, (unsigned)spec->number << 3 | WIRE_FIXED32);
    text_buffer_add(parser->binary, (const char *)&bits, 4);
    return true;
  }
  int64_t value = -1;
  if (spec->type == BOOLEAN && (strcasecmp(copy, "true") == 0 || strcmp(copy, "t") == 0)) value = 1;
  else if (spec->type == BOOLEAN && (strcasecmp(copy, "false") == 0 || strcmp(copy, "f") == 0)) value = 0;
  if (spec->type == DTYPE) {
    size_t name_length = length > 4 && strcmp(copy + length - 4, "_REF") == 0 ? length - 4 : length;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
      if (strlen(dtypes[i].name) == name_length && memcmp(dtypes[i].name, copy, name_length) == 0)
        value = dtypes[i].number + (name_length < length ? 100 : 0);
    }
    if (value < 0 && isalpha((unsigned char)*copy)) value = 0;
  }
  if (value < 0) {
    errno = 0;
    value = *copy == '-' ? strtoll(copy, &end, 0) : (int64_t)strtoull(copy, &end, 0);
    if (*end || errno) return stop(parser, "this is no number");
  }
  put_varint(parser->binary, (unsigned)spec->number << 3 | WIRE_VARINT);
  put_varint(parser->binary, (uint64_t)value);
  return true;
}

static bool take_one(struct parser *parser, const struct spec *spec) {
  const char *word;
  if (spec->type == MESSAGE) {
    char closing = accept(parser, '{') ? '}' : accept(parser, '<') ? '>' : 0;
    if (!closing) return stop(parser, "a message must begin with {");
    if (++parser->depth > MAXIMUM_DEPTH) return stop(parser, "messages nest too deeply");
    size_t start = begin_message(parser->binary, spec->number);
    bool ok = take_fields(parser, spec->child, closing);
    end_message(parser->binary, start);
    parser->depth--;
    return ok;
  }
  if (spec->type == TEXT) {
    if (!is_next(parser, '"') && !is_next(parser, '\'')) return stop(parser, "a text must stand in quotes");
    if (!take_string(parser)) return false;
    put_bytes(parser->binary, spec->number, parser->value.bytes, parser->value.length);
    return true;
  }
  size_t length = take_word(parser, &word);
  return put_word(parser, spec, word, length);
}

static bool take_value(struct parser *parser, const struct spec *spec) {
  bool has_colon = accept(parser, ':');
  if (!spec) return has_colon || is_next(parser, '{') || is_next(parser, '<') ? skip_value(parser)
                                                                              : stop(parser, "a colon is missing");
  if (!has_colon && spec->type != MESSAGE) return stop(parser, "a colon is missing");
  if (!accept(parser, '[')) return take_one(parser, spec);
  if (accept(parser, ']')) return true;
  do {
    if (!take_one(parser, spec)) return false;
  } while (accept(parser, ','));
  return accept(parser, ']') ? true : stop(parser, "a list is not closed");
}

static const struct spec *find_spec(enum message message, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    if (specs[i].message == message && strlen(specs[i].name) == length && memcmp(specs[i].name, name, length) == 0)
      return &specs[i];
  }
  return NULL;
}

/* Fields up to the closing bracket, or of the outermost message (closing 0) to the end of the text. */
static bool take_fields(struct parser *parser, enum message message, char closing) {
  for (;;) {
    const char *name;
    size_t length, before = parser->binary->length;
    if (closing && accept(parser, closing)) return true;
    skip_space(parser);
    if (parser->at == parser->end) return closing ? stop(parser, "the text ends in the middle of a message") : true;
    if (*parser->at == '[') { /* an extension */
      while (parser->at < parser->end && *parser->at != ']') parser->at++;
      if (parser->at < parser->end) parser->at++;
      if (!take_value(parser, NULL)) return false;
    } else {
      length = take_word(parser, &name);
      if (length == 0) return stop(parser, "the name of a field is missing");
      if (!take_value(parser, find_spec(message, name, length))) {
        if (!closing) parser->binary->length = before; /* what is whole stays */
        return false;
      }
    }
    if (!accept(parser, ',')) accept(parser, ';');
    if (parser->binary->failed || parser->value.failed) return false;
  }
}

bool tf_text_to_binary(struct tf_model *model, enum tf_kind kind, const char *text, size_t length,
                       struct text_buffer *binary, const char **wrong, size_t *offset) {
  struct parser parser = {.model = model, .start = text, .at = text, .end = text + length, .binary = binary};
  if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) parser.at += 3;
  take_fields(&parser, kind == TF_KIND_RUN_METADATA ? RUN_METADATA : GRAPH, 0);
  *wrong = parser.wrong;
  *offset = (size_t)(parser.at - parser.start);
  bool ok = !parser.value.failed && !binary->failed;
  text_buffer_free(&parser.value);
  return ok;
}
