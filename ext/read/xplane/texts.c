/* texts.c: see texts.h. */
#include "read/xplane/texts.h"

#include <stdlib.h>
#include <string.h>

static bool is_begun_by(const char *text, size_t length, const char *with, bool is_any_case) {
  size_t size = strlen(with);
  if (length < size) return false;
  return is_any_case ? strncasecmp(text, with, size) == 0 : memcmp(text, with, size) == 0;
}

static bool is_made_of(const char *text, size_t length, bool (*is_first)(unsigned char),
                       bool (*is_other)(unsigned char)) {
  if (!length || !is_first((unsigned char)*text)) return false;
  for (size_t i = 1; i < length; i++) {
    if (!is_other((unsigned char)text[i])) return false;
  }
  return true;
}

static bool is_letter(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
static bool is_first_of_name(unsigned char c) { return is_letter(c) || is_digit(c) || c == '.'; }
static bool is_other_of_name(unsigned char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '\\' || c == '/' || c == '>' || c == '-';
}
static bool is_first_of_type(unsigned char c) { return (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_other_of_type(unsigned char c) { return is_letter(c) || is_digit(c) || c == '_'; }
static bool is_first_of_jax(unsigned char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
static bool is_other_of_jax(unsigned char c) { return is_first_of_jax(c) || is_digit(c); }

/* mul, or while[cond_nconsts=0]: without what stands in brackets. Empty: it is no type of JAX. */
static struct text_part type_of_jax(const char *text, size_t length) {
  const char *bracket = memchr(text, '[', length);
  size_t size = bracket ? (size_t)(bracket - text) : length;
  bool is_closed = !bracket || text[length - 1] == ']';
  bool is_type = is_closed && is_made_of(text, size, is_first_of_jax, is_other_of_jax);
  return (struct text_part){text, is_type ? size : 0};
}

/* The type that a name without one shows: its last part without a number of its own: a/Conv2D_1 is a Conv2D. */
static struct text_part type_in_name(const char *text, size_t length) {
  const char *slash = memrchr(text, '/', length);
  const char *start = slash ? slash + 1 : text;
  size_t size = (size_t)(text + length - start), at = size;
  while (at > 0 && is_digit((unsigned char)start[at - 1])) at--;
  if (at > 1 && at < size && start[at - 1] == '_') size = at - 1;
  return (struct text_part){start, size};
}

enum op_kind xplane_op_name(const char *text, size_t length, struct text_part *name, struct text_part *type) {
  static const char *const copies[] = {"MEMCPYHToD", "MEMCPYDToH", "MEMCPYDToD", "MEMCPYHToH"};
  const char *colon = length ? memchr(text, ':', length) : NULL;
  *name = (struct text_part){text, length};
  *type = (struct text_part){text, 0};
  if (!colon) {
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
      if (is_begun_by(text, length, copies[i], true)) return OP_COPY;
    }
    return OP_NONE;
  }
  size_t left = (size_t)(colon - text), right = length - left - 1;
  if (left == 8 && memcmp(text, "Iterator", 8) == 0) return OP_DATASET;
  name->length = left;
  if (is_made_of(text, left, is_first_of_name, is_other_of_name) &&
      is_made_of(colon + 1, right, is_first_of_type, is_other_of_type)) {
    *type = (struct text_part){colon + 1, right};
    return OP_TENSORFLOW;
  }
  struct text_part shown = right ? (struct text_part){colon + 1, right} : type_in_name(text, left);
  struct text_part jax = type_of_jax(shown.bytes, shown.length);
  if (jax.length) {
    *type = jax;
    return OP_JAX;
  }
  if (right == 0) {
    *type = shown;
    return OP_TENSORFLOW;
  }
  name->length = length;
  return OP_NONE;
}

struct text_part xplane_outermost(const char *text, size_t length) {
  const char *end = length ? memmem(text, length, "::", 2) : NULL;
  size_t size = end ? (size_t)(end - text) : length;
  const char *hash = size ? memchr(text, '#', size) : NULL;
  return (struct text_part){text, hash ? (size_t)(hash - text) : size};
}

struct text_part xplane_innermost(const char *text, size_t length) {
  size_t at = length;
  while (at > 1 && !(text[at - 1] == ':' && text[at - 2] == ':')) at--;
  if (at <= 1) at = 0;
  return (struct text_part){text + at, length - at};
}

/* ---- details ---- */

/* A number of at most 18 digits that stands alone before `end`. */
static bool read_number(const char **at, const char *end, int64_t *number) {
  const char *p = *at;
  bool is_negative = p < end && *p == '-';
  int64_t value = 0;
  p += is_negative;
  const char *first = p;
  while (p < end && is_digit((unsigned char)*p) && p - first < 18) value = value * 10 + (*p++ - '0');
  if (p == first) return false;
  *number = is_negative ? -value : value;
  *at = p;
  return true;
}

static bool read_whole_number(struct text_part value, int64_t *number) {
  const char *at = value.bytes, *end = at + value.length;
  return read_number(&at, end, number) && at == end;
}

/* "3", "3,2" or "3,2,1": what is missing is 1. */
static bool read_dimensions(struct text_part value, int64_t dimensions[3]) {
  const char *at = value.bytes, *end = at + value.length;
  int64_t read[3] = {1, 1, 1};
  for (unsigned i = 0; i < 3; i++) {
    if (!read_number(&at, end, &read[i])) return false;
    if (at == end || i == 2) break;
    if (*at++ != ',') return false;
  }
  if (at != end) return false;
  memcpy(dimensions, read, sizeof read);
  return true;
}

static bool read_percent(struct text_part value, double *percent) {
  char digits[32], *end;
  if (!value.length || value.length >= sizeof digits) return false;
  memcpy(digits, value.bytes, value.length);
  digits[value.length] = '\0';
  double number = strtod(digits, &end);
  if (*end || !(number >= 0 && number <= 100)) return false;
  *percent = number;
  return true;
}

static bool is_named(struct text_part name, const char *with) {
  return name.length == strlen(with) && memcmp(name.bytes, with, name.length) == 0;
}

static void take_detail(struct xplane_details *details, struct text_part name, struct text_part value) {
  static const struct {
    const char *name;
    size_t place;
  } numbers[] = {{"regs", offsetof(struct xplane_details, registers)},
                 {"static_shared", offsetof(struct xplane_details, static_shared)},
                 {"dynamic_shared", offsetof(struct xplane_details, dynamic_shared)},
                 {"size", offsetof(struct xplane_details, bytes)},
                 {"num_bytes", offsetof(struct xplane_details, bytes)},
                 {"dest", offsetof(struct xplane_details, destination)},
                 {"async", offsetof(struct xplane_details, is_async)}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    int64_t number;
    if (!is_named(name, numbers[i].name)) continue;
    if (read_whole_number(value, &number)) memcpy((char *)details + numbers[i].place, &number, sizeof number);
    return;
  }
  if (is_named(name, "grid")) read_dimensions(value, details->grid);
  else if (is_named(name, "block")) read_dimensions(value, details->block);
  else if (is_named(name, "occ_pct")) read_percent(value, &details->occupancy);
  else if (is_named(name, "kind_src")) details->source_memory = value;
  else if (is_named(name, "kind_dst")) details->target_memory = value;
  else if (is_named(name, "kind")) details->memory = value;
}

bool xplane_details_read(const char *text, size_t length, struct xplane_details *details) {
  *details = (struct xplane_details){.registers = DETAIL_NONE,
                                     .static_shared = DETAIL_NONE,
                                     .dynamic_shared = DETAIL_NONE,
                                     .grid = {DETAIL_NONE, DETAIL_NONE, DETAIL_NONE},
                                     .block = {DETAIL_NONE, DETAIL_NONE, DETAIL_NONE},
                                     .bytes = DETAIL_NONE,
                                     .is_async = DETAIL_NONE,
                                     .destination = DETAIL_NONE,
                                     .occupancy = -1};
  bool has_any = false;
  for (size_t at = 0; at < length;) {
    size_t start = at;
    while (at < length && text[at] != ' ' && text[at] != '\n') at++;
    if (at > start) {
      const char *colon = memchr(text + start, ':', at - start);
      if (!colon || memchr(colon + 1, ':', (size_t)(text + at - colon - 1))) return false;
      take_detail(details, (struct text_part){text + start, (size_t)(colon - text) - start},
                  (struct text_part){colon + 1, (size_t)(text + at - colon - 1)});
      has_any = true;
    }
    at++;
  }
  return has_any;
}

bool xplane_number_behind(const char *text, const char *before, int64_t *number) {
  size_t size = strlen(before);
  if (strncmp(text, before, size) != 0) return false;
  const char *at = text + size;
  return read_number(&at, at + strlen(at), number);
}

int32_t xplane_gpu_of_allocator(const char *text, size_t length) {
  int64_t number;
  if (length <= 4 || memcmp(text, "GPU_", 4) != 0) return -1;
  const char *at = text + 4;
  bool is_gpu = read_number(&at, text + length, &number);
  return is_gpu && number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

const char *xplane_data_type(int64_t number) {
  static const char *const types[] = {
      [1] = "float32",   [2] = "float64", [3] = "int32",     [4] = "uint8",   [5] = "int16",   [6] = "int8",
      [7] = "string",    [8] = "complex64", [9] = "int64",   [10] = "bool",   [11] = "qint8",  [12] = "quint8",
      [13] = "qint32",   [14] = "bfloat16", [15] = "qint16", [16] = "quint16", [17] = "uint16", [18] = "complex128",
      [19] = "float16",  [20] = "resource", [21] = "variant", [22] = "uint32", [23] = "uint64",
      [24] = "float8_e5m2", [25] = "float8_e4m3fn", [29] = "int4", [30] = "uint4"};
  return number > 0 && (uint64_t)number < sizeof types / sizeof *types ? types[number] : NULL;
}

/* ---- names of JAX ---- */

static bool is_word(struct text_part part, const char *text) {
  return part.length == strlen(text) && memcmp(part.bytes, text, part.length) == 0;
}

/* What JAX writes for functions and control flow, which no module is called by. */
static bool is_of_control_flow(struct text_part part) {
  static const char *const words[] = {"while",   "body",        "cond",       "scan",   "closed_call",
                                      "pjit",    "core_call",   "checkpoint", "remat",  "rematted_computation",
                                      "vmap",    "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr",
                                      "shard_map"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (is_word(part, words[i])) return true;
  }
  return part.length > 7 && memcmp(part.bytes, "branch_", 7) == 0;
}

/* Takes transformations off: "transpose(jvp(Dense_0))" is Dense_0; of a function, "jit(relu)", nothing stays. */
static struct text_part without_transformations(struct text_part part, bool *is_backward) {
  for (;;) {
    const char *open = part.length && part.bytes[part.length - 1] == ')' ? memchr(part.bytes, '(', part.length) : NULL;
    if (!open) return part;
    struct text_part name = {part.bytes, (size_t)(open - part.bytes)};
    if (is_word(name, "transpose")) *is_backward = true;
    bool is_function = is_word(name, "jit") || is_word(name, "pjit") || is_word(name, "pmap");
    if (is_function) return (struct text_part){part.bytes, 0};
    part = (struct text_part){open + 1, part.length - name.length - 2};
  }
}

/* The backward pass of a checkpoint names all of the way anew: transpose(jvp(Net))/A/jvp(Net)/A/checkpoint/B. */
static bool is_named_anew(struct text_part transformed, struct text_part part, const char *modules, size_t written) {
  bool is_differentiated = transformed.length > 4 && memcmp(transformed.bytes, "jvp(", 4) == 0;
  return is_differentiated && part.length <= written && memcmp(modules, part.bytes, part.length) == 0 &&
         (part.length == written || modules[part.length] == '.');
}

bool xplane_modules(const char *name, size_t length, char *modules, size_t *modules_length, bool *is_backward) {
  static const char *const heads[] = {"jit(", "pjit(", "pmap("};
  bool is_of_jax = false;
  size_t written = 0, start = 0, depth = 0;
  *is_backward = false;
  *modules_length = 0;
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    is_of_jax |= length > strlen(heads[i]) && memcmp(name, heads[i], strlen(heads[i])) == 0;
  if (!is_of_jax) return false;
  for (size_t i = 0; i < length && name[i] != '[' && name[i] != ';'; i++) { /* of several names the first */
    if (name[i] == '(') depth++;
    if (name[i] == ')' && depth) depth--;
    if (name[i] != '/' || depth) continue; /* what stands behind the last one is the op's own */
    struct text_part transformed = {name + start, i - start};
    struct text_part part = without_transformations(transformed, is_backward);
    start = i + 1;
    if (!part.length || is_of_control_flow(part)) continue;
    if (is_named_anew(transformed, part, modules, written)) written = 0;
    if (written) modules[written++] = '.';
    for (size_t k = 0; k < part.length; k++) modules[written++] = part.bytes[k] == '/' ? '.' : part.bytes[k];
  }
  *modules_length = written;
  return true;
}

/* ---- names of TensorFlow ---- */

/* Functions that are called, control flow, and what optimizers of graphs put around an op. */
static bool is_of_graph(struct text_part part) {
  static const char *const words[] = {"while", "cond", "body", "then", "else", "ArithmeticOptimizer", "ConstantFolding",
                                      "LayoutOptimizer", "Func"};
  static const char call[] = "PartitionedCall";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (is_word(part, words[i])) return true;
  }
  size_t start = part.length > 8 && memcmp(part.bytes, "Stateful", 8) == 0 ? 8 : 0, size = sizeof call - 1;
  return part.length >= start + size && memcmp(part.bytes + start, call, size) == 0;
}

/* conv1/Conv2D_grad holds the gradients of conv1/Conv2D, where graphs name them. */
static bool is_gradients_of_op(struct text_part part) {
  return part.length > 5 && memcmp(part.bytes + part.length - 5, "_grad", 5) == 0;
}

void xplane_scopes(const char *name, size_t length, char *modules, size_t *modules_length, bool *is_backward) {
  size_t written = 0, before_last = 0, start = 0; /* before_last: so much was written before the last part */
  bool is_of_tape = false;
  *is_backward = false;
  for (size_t i = 0; i < length; i++) { /* what stands behind the last slash is the op's own */
    if (name[i] != '/') continue;
    struct text_part part = {name + start, i - start};
    start = i + 1;
    if (is_word(part, "gradient_tape") || is_word(part, "gradients")) {
      *is_backward = true;
      is_of_tape = is_word(part, "gradient_tape");
      written = before_last = 0;
      continue;
    }
    if (!part.length || is_of_graph(part) || is_gradients_of_op(part)) continue;
    before_last = written;
    if (written) modules[written++] = '.';
    memcpy(modules + written, part.bytes, part.length);
    written += part.length;
  }
  /* The tape names an op by the whole name of the one whose gradient it is; what reads a variable for one, and what an
  ** optimizer made of one, has its name before its own. */
  static const char reading[] = "ReadVariableOp";
  bool is_of_op = length > start && name[start] == '_';
  is_of_op |= length - start >= sizeof reading - 1 && memcmp(name + start, reading, sizeof reading - 1) == 0;
  *modules_length = is_of_tape || is_of_op ? before_last : written;
}
