/* text_parts.c: see text_parts.h. */
#include "read/hlo/text_parts.h"

#include "base/hash.h"
#include "read/hlo/fields.h"
#include "read/hlo/shape_text.h"

enum { MAXIMUM_DEPTH = 64 };

void hlo_skip_space(struct hlo_cursor *cursor) {
  while (cursor->at < cursor->end) {
    size_t left = (size_t)(cursor->end - cursor->at);
    if (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r' || *cursor->at == '\n') {
      cursor->at++;
    } else if (left > 1 && memcmp(cursor->at, "/*", 2) == 0) {
      const char *stop = memmem(cursor->at + 2, left - 2, "*/", 2);
      cursor->at = stop ? stop + 2 : cursor->end;
    } else if (left > 1 && memcmp(cursor->at, "//", 2) == 0) {
      const char *stop = memchr(cursor->at, '\n', left);
      cursor->at = stop ? stop : cursor->end;
    } else {
      return;
    }
  }
}

bool hlo_take(struct hlo_cursor *cursor, char wanted) {
  hlo_skip_space(cursor);
  if (cursor->at == cursor->end || *cursor->at != wanted) return false;
  cursor->at++;
  return true;
}

static bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || (c & 0x80);
}

struct text_part hlo_take_name(struct hlo_cursor *cursor) {
  hlo_take(cursor, '%');
  const char *start = cursor->at;
  while (cursor->at < cursor->end && is_of_name(*cursor->at)) cursor->at++;
  return (struct text_part){start, (size_t)(cursor->at - start)};
}

bool hlo_take_number(struct hlo_cursor *cursor, int64_t *number) {
  hlo_skip_space(cursor);
  const char *start = cursor->at;
  bool is_negative = cursor->at < cursor->end && *cursor->at == '-';
  uint64_t value = 0;
  if (is_negative) cursor->at++;
  const char *digits = cursor->at;
  for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
    if (value > (uint64_t)(INT64_MAX - 9) / 10) value = (uint64_t)INT64_MAX / 10; /* no size or line is as large */
    value = value * 10 + (uint64_t)(*cursor->at - '0');
  }
  if (cursor->at == digits) {
    cursor->at = start;
    return false;
  }
  *number = is_negative ? -(int64_t)value : (int64_t)value;
  return true;
}

/* Behind the text in quotes that begins here. */
static const char *behind_quotes(const char *at, const char *end) {
  for (at++; at < end && *at != '"'; at++) at += *at == '\\' && at + 1 < end;
  return at < end ? at + 1 : end;
}

/* Behind the character that stands here, and the quotes or the comment that it begins; `depth` counts brackets. */
static const char *step(const char *at, const char *end, size_t *depth) {
  if (*at == '"') return behind_quotes(at, end);
  if (*at == '/' && at + 1 < end && at[1] == '*') {
    const char *stop = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
    return stop ? stop + 2 : end;
  }
  if (*at == '(' || *at == '{' || *at == '[') ++*depth;
  if ((*at == ')' || *at == '}' || *at == ']') && *depth) --*depth;
  return at + 1;
}

bool hlo_take_part(struct hlo_cursor *cursor, struct text_part *part) {
  size_t depth = 0;
  hlo_skip_space(cursor);
  if (cursor->at == cursor->end) return false;
  const char *start = cursor->at, *at = start;
  while (at < cursor->end && (depth || *at != ',')) at = step(at, cursor->end, &depth);
  cursor->at = at < cursor->end ? at + 1 : at;
  while (at > start && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r' || at[-1] == '\t')) at--;
  *part = (struct text_part){start, (size_t)(at - start)};
  return true;
}

bool hlo_take_within(struct hlo_cursor *cursor, struct hlo_cursor *within) {
  size_t depth = 0;
  hlo_skip_space(cursor);
  if (cursor->at == cursor->end || !strchr("({[", *cursor->at) || !*cursor->at) return false;
  const char *at = cursor->at;
  do at = step(at, cursor->end, &depth);
  while (depth && at < cursor->end);
  if (depth) return false;
  *within = (struct hlo_cursor){cursor->at + 1, at - 1};
  cursor->at = at;
  return true;
}

bool hlo_split_attribute(struct text_part part, struct text_part *key, struct text_part *value) {
  struct hlo_cursor cursor = {part.bytes, part.bytes + part.length};
  *key = hlo_take_name(&cursor);
  if (!key->length || !hlo_take(&cursor, '=')) return false;
  hlo_skip_space(&cursor);
  *value = (struct text_part){cursor.at, (size_t)(cursor.end - cursor.at)};
  return true;
}

static bool is_octal(char c) { return c >= '0' && c <= '7'; }

void hlo_unquote(struct text_part text, struct text_buffer *out) {
  const char *at = text.bytes, *end = at + text.length;
  if (!text.length || *at != '"') {
    text_buffer_add(out, at, text.length);
    return;
  }
  for (at++; at < end && *at != '"'; at++) {
    char c = *at;
    if (c == '\\' && at + 1 < end) {
      c = *++at;
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c == 'r') c = '\r';
      else if (c >= '0' && c <= '3' && end - at > 2 && is_octal(at[1]) && is_octal(at[2])) {
        c = (char)((c - '0') << 6 | (at[1] - '0') << 3 | (at[2] - '0'));
        at += 2;
      }
    }
    text_buffer_add(out, &c, 1);
  }
}

uint64_t hlo_id_of_name(struct text_part name) {
  return hash_fnv1a(HASH_FNV1A_START, name.bytes, name.length) & INT64_MAX;
}

bool hlo_is_text(struct text_part text, const char *other) {
  return text.length == strlen(other) && memcmp(text.bytes, other, text.length) == 0;
}

/* ---- shapes ---- */

static void put_unquoted(struct text_buffer *out, unsigned field, struct text_part text) {
  size_t place = message_begin(out, field);
  hlo_unquote(text, out);
  message_end(out, place);
}

/* "{1,0:T(8,128)E(4)}". */
static void read_layout(struct hlo_cursor cursor, struct text_buffer *out) {
  int64_t number;
  size_t layout = message_begin(out, ShapeProto_layout), list = message_begin(out, LayoutProto_minor_to_major);
  while (hlo_take_number(&cursor, &number)) {
    message_varint(out, (uint64_t)number);
    hlo_take(&cursor, ',');
  }
  message_end(out, list);
  const char *bits = memmem(cursor.at, (size_t)(cursor.end - cursor.at), "E(", 2);
  if (bits) cursor.at = bits + 2;
  if (bits && hlo_take_number(&cursor, &number) && number > 0)
    message_number(out, LayoutProto_element_size_in_bits, (uint64_t)number);
  message_end(out, layout);
}

static void read_dimensions(struct hlo_cursor cursor, struct text_buffer *out) {
  struct hlo_cursor again = cursor;
  bool is_dynamic = memchr(cursor.at, '<', (size_t)(cursor.end - cursor.at));
  size_t list = message_begin(out, ShapeProto_dimensions);
  struct text_part part;
  while (hlo_take_part(&cursor, &part)) {
    struct hlo_cursor size = {part.bytes, part.bytes + part.length};
    int64_t number = INT64_MIN; /* "?": any size */
    if (hlo_take(&size, '<')) hlo_take(&size, '=');
    hlo_take_number(&size, &number);
    message_varint(out, (uint64_t)number);
  }
  message_end(out, list);
  if (!is_dynamic) return;
  list = message_begin(out, ShapeProto_is_dynamic_dimension);
  while (hlo_take_part(&again, &part)) message_varint(out, part.length && *part.bytes == '<');
  message_end(out, list);
}

static bool take_nested_shape(struct hlo_cursor *cursor, struct text_buffer *out, unsigned field, unsigned depth) {
  enum { TUPLE = 13 };
  struct hlo_cursor within;
  struct text_part part;
  hlo_skip_space(cursor);
  if (depth > MAXIMUM_DEPTH || cursor->at == cursor->end) return false;
  size_t place = message_begin(out, field);
  bool is_tuple = *cursor->at == '(', is_shape = true;
  if (is_tuple) {
    is_shape = hlo_take_within(cursor, &within);
    message_number(out, ShapeProto_element_type, TUPLE);
    while (is_shape && hlo_take_part(&within, &part)) {
      struct hlo_cursor one = {part.bytes, part.bytes + part.length};
      is_shape = take_nested_shape(&one, out, ShapeProto_tuple_shapes, depth + 1);
    }
  } else {
    unsigned type = hlo_type_number(hlo_take_name(cursor));
    is_shape = type && cursor->at < cursor->end && *cursor->at == '[' && hlo_take_within(cursor, &within);
    if (is_shape) {
      message_number(out, ShapeProto_element_type, type);
      read_dimensions(within, out);
    }
    bool has_layout = is_shape && cursor->at < cursor->end && *cursor->at == '{' && hlo_take_within(cursor, &within);
    if (has_layout) read_layout(within, out);
  }
  message_end(out, place);
  return is_shape;
}

bool hlo_take_shape(struct hlo_cursor *cursor, struct text_buffer *out, unsigned field) {
  return take_nested_shape(cursor, out, field, 0);
}

/* ---- attributes ---- */

static struct hlo_cursor cursor_of(struct text_part text) {
  return (struct hlo_cursor){text.bytes, text.bytes + text.length};
}

/* "{1,2}" or "1x2", as a list of numbers. */
static void put_numbers(struct text_buffer *out, unsigned field, struct text_part value) {
  struct hlo_cursor cursor = cursor_of(value);
  int64_t number;
  size_t list = message_begin(out, field);
  hlo_take(&cursor, '{');
  while (hlo_take_number(&cursor, &number)) {
    message_varint(out, (uint64_t)number);
    hlo_take(&cursor, ',');
  }
  message_end(out, list);
}

static void put_number(struct text_buffer *out, unsigned field, struct text_part value) {
  struct hlo_cursor cursor = cursor_of(value);
  int64_t number;
  if (hlo_take_number(&cursor, &number)) message_number(out, field, (uint64_t)number);
}

/* "%body", "{%a, %b}". */
static void put_computations(struct text_buffer *out, struct text_part value) {
  struct hlo_cursor cursor = cursor_of(value), within;
  struct text_part part;
  size_t list = message_begin(out, HloInstructionProto_called_computation_ids);
  if (cursor.at < cursor.end && *cursor.at == '{' && hlo_take_within(&cursor, &within)) cursor = within;
  while (hlo_take_part(&cursor, &part)) {
    struct hlo_cursor one = cursor_of(part);
    message_varint(out, hlo_id_of_name(hlo_take_name(&one)));
  }
  message_end(out, list);
}

/* "op_name=\"...\" source_line=3": parted by spaces. */
static void put_metadata(struct text_buffer *out, struct text_part value) {
  static const struct {
    const char *key;
    unsigned field;
    bool is_number;
  } fields[] = {{"op_type", OpMetadata_op_type, false},
                {"op_name", OpMetadata_op_name, false},
                {"source_file", OpMetadata_source_file, false},
                {"source_line", OpMetadata_source_line, true},
                {"stack_frame_id", OpMetadata_stack_frame_id, true}};
  struct hlo_cursor cursor = cursor_of(value), within;
  if (!hlo_take_within(&cursor, &within)) return;
  size_t place = message_begin(out, HloInstructionProto_metadata);
  for (hlo_skip_space(&within); within.at < within.end; hlo_skip_space(&within)) {
    size_t depth = 0;
    const char *start = within.at;
    do within.at = step(within.at, within.end, &depth);
    while (within.at < within.end && (depth || (*within.at != ' ' && *within.at != '\n')));
    struct text_part key, text;
    if (!hlo_split_attribute((struct text_part){start, (size_t)(within.at - start)}, &key, &text)) continue;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
      if (!hlo_is_text(key, fields[i].key)) continue;
      if (fields[i].is_number) put_number(out, fields[i].field, text);
      else put_unquoted(out, fields[i].field, text);
    }
  }
  message_end(out, place);
}

/* Dimensions of a window, side by side. */
struct window_part {
  int64_t size, stride, low, high, window_dilation, base_dilation;
};
enum { MAXIMUM_DIMENSIONS = 32 };

static unsigned read_window_key(struct window_part *parts, struct text_part key, struct text_part value) {
  struct hlo_cursor cursor = cursor_of(value);
  unsigned count = 0;
  int64_t number;
  while (count < MAXIMUM_DIMENSIONS && hlo_take_number(&cursor, &number)) {
    struct window_part *part = &parts[count++];
    if (hlo_is_text(key, "size")) part->size = number;
    else if (hlo_is_text(key, "stride")) part->stride = number;
    else if (hlo_is_text(key, "rhs_dilate")) part->window_dilation = number;
    else if (hlo_is_text(key, "lhs_dilate")) part->base_dilation = number;
    else if (hlo_is_text(key, "pad")) {
      part->low = number;
      if (hlo_take(&cursor, '_') && hlo_take_number(&cursor, &number)) part->high = number;
    }
    hlo_take(&cursor, 'x');
  }
  return count;
}

/* "{size=3x3 stride=2x2 pad=0_1x0_1}". */
static void put_window(struct text_buffer *out, struct text_part value) {
  struct window_part parts[MAXIMUM_DIMENSIONS];
  struct hlo_cursor cursor = cursor_of(value), within;
  unsigned count = 0;
  if (!hlo_take_within(&cursor, &within)) return;
  for (unsigned i = 0; i < MAXIMUM_DIMENSIONS; i++) parts[i] = (struct window_part){1, 1, 0, 0, 1, 1};
  for (hlo_skip_space(&within); within.at < within.end; hlo_skip_space(&within)) {
    const char *start = within.at, *stop = memchr(start, ' ', (size_t)(within.end - start));
    struct text_part key, text;
    within.at = stop ? stop : within.end;
    if (!hlo_split_attribute((struct text_part){start, (size_t)(within.at - start)}, &key, &text)) continue;
    unsigned its = read_window_key(parts, key, text);
    count = its > count ? its : count;
  }
  size_t window = message_begin(out, HloInstructionProto_window);
  for (unsigned i = 0; i < count; i++) {
    const int64_t values[] = {parts[i].size, parts[i].stride,          parts[i].low,
                              parts[i].high, parts[i].window_dilation, parts[i].base_dilation};
    size_t dimension = message_begin(out, Window_dimensions);
    for (unsigned k = 0; k < sizeof values / sizeof *values; k++)
      message_number(out, WindowDimension_size + k, (uint64_t)values[k]);
    message_end(out, dimension);
  }
  message_end(out, window);
}

/* Dimensions of one array, "b01f": those of digits into a list, by their digits; f and b, or i and o, as numbers. */
static void put_labels(struct text_buffer *out, struct text_part labels, const unsigned *fields, const char *letters) {
  int64_t spatial[MAXIMUM_DIMENSIONS];
  unsigned count = 0;
  for (unsigned i = 0; i < labels.length && i < MAXIMUM_DIMENSIONS; i++) {
    char c = labels.bytes[i];
    if (c == letters[0]) message_number(out, fields[0], i);
    else if (c == letters[1]) message_number(out, fields[1], i);
    else if (c >= '0' && c <= '9') {
      unsigned place = (unsigned)(c - '0');
      for (; count <= place; count++) spatial[count] = 0;
      spatial[place] = i;
    }
  }
  size_t list = message_begin(out, fields[2]);
  for (unsigned i = 0; i < count; i++) message_varint(out, (uint64_t)spatial[i]);
  message_end(out, list);
}

/* "b01f_01io->b01f". */
static void put_convolution(struct text_buffer *out, struct text_part value) {
  static const unsigned input[] = {ConvolutionDimensionNumbers_input_batch_dimension,
                                   ConvolutionDimensionNumbers_input_feature_dimension,
                                   ConvolutionDimensionNumbers_input_spatial_dimensions},
                        kernel[] = {ConvolutionDimensionNumbers_kernel_input_feature_dimension,
                                    ConvolutionDimensionNumbers_kernel_output_feature_dimension,
                                    ConvolutionDimensionNumbers_kernel_spatial_dimensions},
                        output[] = {ConvolutionDimensionNumbers_output_batch_dimension,
                                    ConvolutionDimensionNumbers_output_feature_dimension,
                                    ConvolutionDimensionNumbers_output_spatial_dimensions};
  const char *first = memchr(value.bytes, '_', value.length), *end = value.bytes + value.length;
  const char *second = first ? memmem(first, (size_t)(end - first), "->", 2) : NULL;
  if (!second) return;
  size_t place = message_begin(out, HloInstructionProto_convolution_dimension_numbers);
  put_labels(out, (struct text_part){value.bytes, (size_t)(first - value.bytes)}, input, "bf");
  put_labels(out, (struct text_part){first + 1, (size_t)(second - first - 1)}, kernel, "io");
  put_labels(out, (struct text_part){second + 2, (size_t)(end - second - 2)}, output, "bf");
  message_end(out, place);
}

/* Devices of a group: of "{{0,1},{2,3}}" 2, of "[2,4]<=[8]" 4, of "mesh['a'=2,'b'=4] {'b'}" 4. */
static int64_t size_of_group(struct text_part value) {
  struct hlo_cursor cursor = cursor_of(value), within;
  struct text_part part;
  int64_t number = 0, size = 0;
  if (hlo_take(&cursor, '[')) {
    while (hlo_take_number(&cursor, &number)) {
      size = number;
      hlo_take(&cursor, ',');
    }
    return size;
  }
  if (hlo_take(&cursor, '{')) {
    while (hlo_take_within(&cursor, &within)) {
      for (; hlo_take_part(&within, &part); size++) {}
      return size;
    }
    return 0;
  }
  struct hlo_cursor axes, used;
  hlo_take_name(&cursor);
  if (!hlo_take_within(&cursor, &axes) || !hlo_take_within(&cursor, &used)) return 0;
  size = 1;
  for (unsigned i = 0; i < MAXIMUM_DIMENSIONS && hlo_take_part(&used, &part); i++) {
    struct hlo_cursor all = axes;
    for (struct text_part axis; hlo_take_part(&all, &axis);) {
      bool is_it = axis.length > part.length && memcmp(axis.bytes, part.bytes, part.length) == 0 &&
                   axis.bytes[part.length] == '=';
      struct hlo_cursor its = {axis.bytes + part.length + 1, axis.bytes + axis.length};
      if (is_it && hlo_take_number(&its, &number) && number > 0 && number <= INT32_MAX / size) size *= number;
    }
  }
  return size;
}

static void put_group(struct text_buffer *out, struct text_part value) {
  int64_t size = size_of_group(value);
  if (size <= 0 || size > INT32_MAX) return;
  size_t list = message_begin(out, HloInstructionProto_collective_device_list);
  size_t iota = message_begin(out, CollectiveDeviceListProto_iota_replica_group_list);
  message_number(out, IotaReplicaGroupListProto_num_devices_per_group, (uint64_t)size);
  message_end(out, iota);
  message_end(out, list);
}

static void put_dot(struct text_buffer *out, struct text_part value) {
  size_t place = message_begin(out, HloInstructionProto_dot_dimension_numbers);
  put_numbers(out, DotDimensionNumbers_lhs_contracting_dimensions, value);
  message_end(out, place);
}

enum attribute { COMPUTATIONS, KIND, INDEX, DOT, WINDOW, LABELS, FEATURES, BATCHES, LENGTHS, TARGET, CONFIG, GROUPS,
                 METADATA };
static const struct {
  const char *key;
  enum attribute attribute;
} attributes[] = {{"calls", COMPUTATIONS},
                  {"to_apply", COMPUTATIONS},
                  {"body", COMPUTATIONS},
                  {"condition", COMPUTATIONS},
                  {"select", COMPUTATIONS},
                  {"scatter", COMPUTATIONS},
                  {"called_computations", COMPUTATIONS},
                  {"branch_computations", COMPUTATIONS},
                  {"true_computation", COMPUTATIONS},
                  {"false_computation", COMPUTATIONS},
                  {"kind", KIND},
                  {"index", INDEX},
                  {"lhs_contracting_dims", DOT},
                  {"window", WINDOW},
                  {"dim_labels", LABELS},
                  {"feature_group_count", FEATURES},
                  {"batch_group_count", BATCHES},
                  {"fft_length", LENGTHS},
                  {"custom_call_target", TARGET},
                  {"backend_config", CONFIG},
                  {"replica_groups", GROUPS},
                  {"metadata", METADATA}};

static void put_attribute(struct text_buffer *out, enum attribute attribute, struct text_part value) {
  switch (attribute) {
    case COMPUTATIONS: put_computations(out, value); break;
    case KIND: message_bytes(out, HloInstructionProto_fusion_kind, value.bytes, value.length); break;
    case INDEX: put_number(out, HloInstructionProto_tuple_index, value); break;
    case DOT: put_dot(out, value); break;
    case WINDOW: put_window(out, value); break;
    case LABELS: put_convolution(out, value); break;
    case FEATURES: put_number(out, HloInstructionProto_feature_group_count, value); break;
    case BATCHES: put_number(out, HloInstructionProto_batch_group_count, value); break;
    case LENGTHS: put_numbers(out, HloInstructionProto_fft_length, value); break;
    case TARGET: put_unquoted(out, HloInstructionProto_custom_call_target, value); break;
    case CONFIG: put_unquoted(out, HloInstructionProto_backend_config, value); break;
    case GROUPS: put_group(out, value); break;
    case METADATA: put_metadata(out, value); break;
  }
}

void hlo_read_attributes(struct hlo_cursor cursor, struct text_part opcode, struct text_buffer *out) {
  struct text_part part, key, value;
  while (hlo_take_part(&cursor, &part)) {
    if (!hlo_split_attribute(part, &key, &value)) continue;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
      bool is_of_other = (attributes[i].attribute == KIND && !hlo_is_text(opcode, "fusion")) ||
                         (attributes[i].attribute == INDEX && !hlo_is_text(opcode, "get-tuple-element"));
      if (!is_of_other && hlo_is_text(key, attributes[i].key)) put_attribute(out, attributes[i].attribute, value);
    }
  }
}
