/* values.c: see values.h.
**
** Messages (tensorflow/core/framework): TensorShapeProto dim=2 {size=1}, unknown_rank=3; AttrValue list=1, s=2, i=3,
** f=4, b=5, type=6, shape=7, tensor=8, placeholder=9, func=10 {name=1}; its ListValue has the same numbers from s=2
** on, but for func=9.
*/
#include "classic/read/values.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "classic/read/fields.h"

#include <math.h>
#include <stdio.h>

/* ---- texts ---- */

void tf_text_real(struct text_buffer *text, int digits, double value) {
  if (isfinite(value)) text_buffer_print(text, "%.*g", digits, value);
  else text_buffer_print(text, "%s", isnan(value) ? "null" : value < 0 ? "-9e999" : "9e999");
}

void tf_text_quote(struct text_buffer *text, const char *bytes, size_t length) {
  text_buffer_add(text, "\"", 1);
  for (size_t i = 0; i < length;) {
    const char *at = bytes + i;
    size_t size = utf8_character(at, length - i);
    if (size == 0) text_buffer_add(text, UTF8_REPLACEMENT, sizeof UTF8_REPLACEMENT - 1);
    else if (*at == '"' || *at == '\\') text_buffer_print(text, "\\%c", *at);
    else if ((unsigned char)*at < 0x20) text_buffer_print(text, "\\u%04x", *at);
    else text_buffer_add(text, at, size);
    i += size ? size : 1;
  }
  text_buffer_add(text, "\"", 1);
}

/* ---- shapes ---- */

void tf_read_shape(struct wire_reader *message, struct tf_shape *shape) {
  struct wire_field field;
  shape->is_known = true;
  shape->rank = 0;
  while (wire_next(message, &field)) {
    if (field.number == TensorShapeProto_unknown_rank) shape->is_known = !wire_bool(&field);
    if (field.number != TensorShapeProto_dim) continue;
    struct wire_reader dimension = wire_enter(message, &field);
    struct wire_field part;
    int64_t size = 0;
    while (wire_next(&dimension, &part)) {
      if (part.number == Dim_size) size = wire_int64(&part);
    }
    if (shape->rank < TF_MAXIMUM_RANK) shape->sizes[shape->rank++] = size < 0 ? -1 : size;
  }
}

int64_t tf_shape_elements(const struct tf_shape *shape) {
  int64_t product = 1;
  if (!shape->is_known) return TF_NONE;
  for (unsigned i = 0; i < shape->rank; i++) {
    if (shape->sizes[i] < 0 || __builtin_mul_overflow(product, shape->sizes[i], &product)) return TF_NONE;
  }
  return product;
}

/* Every node has sizes: printf would take longer than reading them. */
static void add_sizes(const struct tf_shape *shape, char joint, struct text_buffer *text) {
  for (unsigned i = 0; i < shape->rank; i++) {
    char digits[24], *end = digits + sizeof digits, *at = end;
    int64_t size = shape->sizes[i];
    uint64_t rest = size < 0 ? 0 - (uint64_t)size : (uint64_t)size;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (size < 0) *--at = '-';
    if (i) *--at = joint;
    text_buffer_add(text, at, (size_t)(end - at));
  }
}

void tf_shape_text(const struct tf_shape *shape, struct text_buffer *text) {
  if (shape->rank == 0) text_buffer_add(text, "1", 1);
  add_sizes(shape, 'x', text);
}

void tf_shape_json(const struct tf_shape *shape, struct text_buffer *text) {
  if (!shape->is_known) {
    text_buffer_add(text, "null", 4);
    return;
  }
  text_buffer_add(text, "[", 1);
  add_sizes(shape, ',', text);
  text_buffer_add(text, "]", 1);
}

/* ---- types ---- */

static const struct {
  const char *name;
  unsigned bytes;
} dtypes[] = {
    [1] = {"float32", 4},        [2] = {"float64", 8},      [3] = {"int32", 4},    [4] = {"uint8", 1},
    [5] = {"int16", 2},          [6] = {"int8", 1},         [7] = {"string", 0},   [8] = {"complex64", 8},
    [9] = {"int64", 8},          [10] = {"bool", 1},        [11] = {"qint8", 1},   [12] = {"quint8", 1},
    [13] = {"qint32", 4},        [14] = {"bfloat16", 2},    [15] = {"qint16", 2},  [16] = {"quint16", 2},
    [17] = {"uint16", 2},        [18] = {"complex128", 16}, [19] = {"float16", 2}, [20] = {"resource", 0},
    [21] = {"variant", 0},       [22] = {"uint32", 4},      [23] = {"uint64", 8},  [24] = {"float8_e5m2", 1},
    [25] = {"float8_e4m3fn", 1}, [29] = {"int4", 1},        [30] = {"uint4", 1},
};

static int plain_dtype(int dtype) {
  if (dtype > 100) dtype -= 100; /* DT_FLOAT_REF and the like */
  return dtype > 0 && dtype < (int)(sizeof dtypes / sizeof dtypes[0]) ? dtype : 0;
}

const char *tf_dtype_name(int dtype) { return dtypes[plain_dtype(dtype)].name; }
unsigned tf_dtype_bytes(int dtype) { return dtypes[plain_dtype(dtype)].bytes; }

/* ---- attributes ---- */

static void add_separator(struct text_buffer *text) {
  if (text->length && text->bytes[text->length - 1] != '[') text_buffer_add(text, ",", 1);
}

static void add_dtype(struct text_buffer *text, int64_t number) {
  const char *name = number > 0 && number < 200 ? tf_dtype_name((int)number) : NULL;
  if (!name) {
    text_buffer_print(text, "%lld", (long long)number);
    return;
  }
  text_buffer_add(text, "\"", 1);
  text_buffer_add(text, name, strlen(name));
  text_buffer_add(text, "\"", 1);
}

static void add_packed(struct text_buffer *text, const struct wire_field *field, enum wire_type type) {
  uint64_t value;
  for (struct wire_packed list = wire_unpack(field, type); wire_packed_next(&list, &value);) {
    add_separator(text);
    if (field->number == AttrValue_f) tf_text_real(text, 9, wire_float_of_bits((uint32_t)value));
    else if (field->number == AttrValue_b) text_buffer_print(text, "%s", value ? "true" : "false");
    else if (field->number == AttrValue_type) add_dtype(text, (int64_t)value);
    else text_buffer_print(text, "%lld", (long long)value);
  }
}

static const char *function_name(struct wire_reader function, size_t *length) {
  struct wire_field part;
  const char *name = "";
  *length = 0;
  while (wire_next(&function, &part)) {
    if (part.number == NameAttrList_name) name = wire_text(&part, length);
  }
  return name;
}

/* One value, or the values of a list, as JSON; tensors as null. */
static void add_value(struct text_buffer *text, struct wire_reader *message, bool is_list) {
  struct wire_field field;
  while (wire_next(message, &field)) {
    struct wire_reader child = wire_enter(message, &field);
    bool is_packed = field.number >= AttrValue_i && field.number <= AttrValue_type; /* which parts them itself */
    if (is_list && field.number >= AttrValue_s && field.number <= AttrValue_func && !is_packed) add_separator(text);
    unsigned number = is_list && field.number == ListValue_func ? AttrValue_func : field.number;
    switch (number) {
      case AttrValue_list:
        if (is_list) break;
        text_buffer_add(text, "[", 1);
        add_value(text, &child, true);
        text_buffer_add(text, "]", 1);
        break;
      case AttrValue_s: case AttrValue_placeholder: {
        size_t length;
        const char *bytes = wire_text(&field, &length);
        tf_text_quote(text, bytes, length);
        break;
      }
      case AttrValue_i: case AttrValue_b: case AttrValue_type: add_packed(text, &field, WIRE_VARINT); break;
      case AttrValue_f: add_packed(text, &field, WIRE_FIXED32); break;
      case AttrValue_shape: {
        struct tf_shape shape;
        tf_read_shape(&child, &shape);
        tf_shape_json(&shape, text);
        break;
      }
      case AttrValue_tensor: text_buffer_add(text, "null", 4); break;
      case AttrValue_func: {
        size_t length;
        const char *name = function_name(child, &length);
        tf_text_quote(text, name, length);
        break;
      }
    }
  }
}

void tf_attributes_begin(struct tf_attributes *attributes) {
  attributes->text.length = attributes->shapes.length = 0;
  attributes->shape = attributes->dtype = attributes->type = attributes->data_format = 0;
  attributes->parameters = TF_NONE;
  attributes->call_count = 0;
  attributes->has_shape = attributes->has_output_shapes = attributes->has_constant = false;
  attributes->own_shape = 0;
}

/* As the shape of the only output. */
static bool keep_own_shape(struct tf_model *model, struct tf_attributes *attributes, const struct tf_shape *shape) {
  struct text_buffer *text = &attributes->value;
  text->length = 0;
  text_buffer_add(text, "[", 1);
  tf_shape_json(shape, text);
  text_buffer_add(text, "]", 1);
  return text->failed ? tf_no_memory(model) : tf_intern(model, text->bytes, text->length, &attributes->own_shape);
}

static bool take_shape(struct tf_model *model, struct tf_attributes *attributes, struct wire_reader *value) {
  struct wire_field field;
  while (wire_next(value, &field)) {
    if (field.number != AttrValue_shape || attributes->has_shape) continue;
    struct wire_reader child = wire_enter(value, &field);
    struct tf_shape shape;
    tf_read_shape(&child, &shape);
    attributes->has_shape = shape.is_known;
    if (!shape.is_known) continue;
    struct text_buffer text = {0};
    tf_shape_text(&shape, &text);
    bool ok = !text.failed ? tf_intern(model, text.bytes, text.length, &attributes->shape) : tf_no_memory(model);
    text_buffer_free(&text);
    if (!ok) return false;
    if (!keep_own_shape(model, attributes, &shape)) return false;
    attributes->parameters = tf_shape_elements(&shape);
    /* A product that does not fit; of unknown sizes there is none. */
    bool is_whole = true;
    for (unsigned i = 0; i < shape.rank; i++) is_whole &= shape.sizes[i] >= 0;
    if (attributes->parameters == TF_NONE && is_whole) tf_trouble(model, TF_TROUBLE_TIME, 0);
  }
  return true;
}

/* TensorProto dtype=1, tensor_shape=2, tensor_content=4, int_val=7, int64_val=10: of fewer values than elements the
** last one counts for the rest, without any all are 0. */
static bool take_constant(struct tf_model *model, struct tf_attributes *attributes, struct wire_reader tensor) {
  struct tf_constant *constant = &attributes->constant;
  struct tf_shape shape = {.is_known = true, .rank = 0};
  const char *content = "";
  size_t content_length = 0;
  unsigned given = 0;
  int dtype = 0;
  struct wire_field field;
  while (wire_next(&tensor, &field)) {
    struct wire_reader child = wire_enter(&tensor, &field);
    uint64_t value;
    if (field.number == TensorProto_dtype) dtype = wire_int32(&field);
    else if (field.number == TensorProto_tensor_shape) tf_read_shape(&child, &shape);
    else if (field.number == TensorProto_tensor_content) content = wire_text(&field, &content_length);
    else if ((field.number == TensorProto_int_val || field.number == TensorProto_int64_val) &&
             given < TF_CONSTANT_VALUES) {
      for (struct wire_packed list = wire_unpack(&field, WIRE_VARINT);
           given < TF_CONSTANT_VALUES && wire_packed_next(&list, &value);)
        constant->values[given++] = field.number == TensorProto_int_val ? (int32_t)value : (int64_t)value;
    }
  }
  int64_t count = tf_shape_elements(&shape);
  if (!shape.is_known) return true;
  if (!keep_own_shape(model, attributes, &shape)) return false;
  size_t width = dtype == 3 ? 4 : dtype == 9 ? 8 : 0; /* int32, int64 */
  if (!width || shape.rank > 1 || count < 0 || count > TF_CONSTANT_VALUES) return true;
  if (content_length && content_length != (size_t)count * width) return true;
  for (unsigned i = 0; i < (unsigned)count; i++) {
    const uint8_t *at = (const uint8_t *)content + i * width;
    if (content_length) constant->values[i] = width == 4 ? (int32_t)load_u32(at) : (int64_t)load_u64(at);
    else if (i >= given) constant->values[i] = i ? constant->values[i - 1] : 0;
  }
  constant->count = (uint8_t)count;
  constant->is_scalar = shape.rank == 0;
  attributes->has_constant = true;
  return true;
}

static void take_output_shapes(struct tf_attributes *attributes, struct wire_reader *value) {
  struct wire_field field;
  while (wire_next(value, &field)) {
    if (field.number != AttrValue_list || attributes->has_output_shapes) continue;
    struct wire_reader list = wire_enter(value, &field);
    attributes->has_output_shapes = true;
    text_buffer_add(&attributes->shapes, "[", 1);
    add_value(&attributes->shapes, &list, true);
    text_buffer_add(&attributes->shapes, "]", 1);
  }
}

static bool take_dtype(struct tf_model *model, struct wire_reader *value, string_id *id) {
  struct wire_field field;
  while (wire_next(value, &field)) {
    const char *name = field.number == AttrValue_type ? tf_dtype_name(wire_int32(&field)) : NULL;
    if (name && !tf_intern(model, name, strlen(name), id)) return false;
  }
  return true;
}

static bool add_call(struct tf_model *model, struct tf_attributes *attributes, const char *key, size_t key_length,
                     struct wire_reader function, int32_t number) {
  size_t length;
  const char *name = function_name(function, &length);
  if (!length) return true;
  if (!array_reserve(attributes->calls, attributes->call_capacity, attributes->call_count + 1))
    return tf_no_memory(model);
  struct tf_function_call *call = &attributes->calls[attributes->call_count++];
  *call = (struct tf_function_call){.number = number};
  return tf_intern(model, key, key_length, &call->key) && tf_intern(model, name, length, &call->function);
}

/* The functions that a value is, or a list of them. */
static bool take_calls(struct tf_model *model, struct tf_attributes *attributes, const char *key, size_t key_length,
                       struct wire_reader value) {
  struct wire_field field;
  bool ok = true;
  int32_t number = 0;
  while (ok && wire_next(&value, &field)) {
    if (field.type != WIRE_BYTES || (field.number != AttrValue_list && field.number != AttrValue_func)) continue;
    struct wire_reader child = wire_enter(&value, &field);
    struct wire_field item;
    if (field.number == AttrValue_func) ok = add_call(model, attributes, key, key_length, child, -1);
    while (ok && field.number == AttrValue_list && wire_next(&child, &item)) {
      if (item.number == ListValue_func && item.type == WIRE_BYTES)
        ok = add_call(model, attributes, key, key_length, wire_enter(&child, &item), number++);
    }
  }
  return ok;
}

static bool is_key(const char *key, size_t length, const char *name) {
  return strlen(name) == length && memcmp(key, name, length) == 0;
}

bool tf_attributes_take(struct tf_model *model, struct tf_attributes *attributes, struct wire_reader *entry) {
  struct wire_field field;
  size_t key_length = 0;
  const char *key = "";
  struct wire_reader value = {.at = entry->at, .end = entry->at, .origin = entry->origin};
  while (wire_next(entry, &field)) {
    if (field.number == MapEntry_key) key = wire_text(&field, &key_length);
    else if (field.number == MapEntry_value) value = wire_enter(entry, &field);
  }
  if (is_key(key, key_length, "shape")) return take_shape(model, attributes, &value);
  if (is_key(key, key_length, "_output_shapes")) {
    take_output_shapes(attributes, &value);
    return true;
  }
  struct wire_reader again = value;
  if (is_key(key, key_length, "dtype")) {
    if (!take_dtype(model, &again, &attributes->dtype)) return false;
  } else if (is_key(key, key_length, "T")) {
    if (!take_dtype(model, &again, &attributes->type)) return false;
  } else if (is_key(key, key_length, "data_format")) {
    while (wire_next(&again, &field)) {
      size_t length;
      const char *text = wire_text(&field, &length);
      if (field.number == AttrValue_s && !tf_intern(model, text, length, &attributes->data_format)) return false;
    }
  }
  if (is_key(key, key_length, "value")) { /* of constants: a tensor */
    while (wire_next(&again, &field)) {
      if (field.number == AttrValue_tensor && !take_constant(model, attributes, wire_enter(&again, &field)))
        return false;
    }
    return true;
  }
  if (!take_calls(model, attributes, key, key_length, value)) return false;
  struct text_buffer *text = &attributes->text;
  text_buffer_add(text, text->length ? "," : "{", 1);
  tf_text_quote(text, key, key_length);
  text_buffer_add(text, ":", 1);
  size_t before = text->length;
  /* A list begins with '[', so that no comma is put before its first value; a plain value needs none either. */
  struct text_buffer *plain = &attributes->value;
  plain->length = 0;
  again = value;
  add_value(plain, &again, false);
  if (plain->failed) return tf_no_memory(model);
  if (plain->length) text_buffer_add(text, plain->bytes, plain->length);
  if (text->length == before) text_buffer_add(text, "null", 4);
  return text->failed ? tf_no_memory(model) : true;
}

bool tf_attributes_text(struct tf_model *model, struct tf_attributes *attributes, string_id *text) {
  if (attributes->text.length) text_buffer_add(&attributes->text, "}", 1);
  if (attributes->text.failed) return tf_no_memory(model);
  return tf_intern(model, attributes->text.bytes, attributes->text.length, text);
}

bool tf_attributes_finish(struct tf_model *model, struct tf_attributes *attributes, struct tf_node *item) {
  if (attributes->shapes.failed) return tf_no_memory(model);
  item->shape = attributes->shape;
  item->parameters = attributes->parameters;
  item->dtype = attributes->dtype ? attributes->dtype : attributes->type;
  item->data_format = attributes->data_format;
  item->own_shape = attributes->own_shape;
  if (attributes->has_constant) {
    struct tf_constant *constant = list_add(&model->constants);
    if (!constant) return tf_no_memory(model);
    *constant = attributes->constant;
    item->constant = (uint32_t)model->constants.count;
  }
  return tf_intern(model, attributes->shapes.bytes, attributes->shapes.length, &item->output_shapes) &&
         tf_attributes_text(model, attributes, &item->attributes);
}

void tf_attributes_free(struct tf_attributes *attributes) {
  text_buffer_free(&attributes->text);
  text_buffer_free(&attributes->shapes);
  text_buffer_free(&attributes->value);
  free(attributes->calls);
}
