/* shape_text.c: see shape_text.h. */
#include "read/hlo/shape_text.h"

#include "read/hlo/fields.h"

enum { TUPLE = 13, MAXIMUM_DYNAMIC = 64 };

/* In the order of XLA's PrimitiveType. */
static const char *const type_names[] = {
    "invalid",    "pred",       "s8",         "s16",      "s32",         "s64",           "u8",
    "u16",        "u32",        "u64",        "f16",      "f32",         "f64",           "tuple",
    "opaque",     "c64",        "bf16",       "token",    "c128",        "f8e5m2",        "f8e4m3fn",
    "s4",         "u4",         "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",        "u2",
    "f8e4m3",     "f8e3m4",     "s1",         "u1",       "f4e2m1fn",    "f8e8m0fnu",     "buffer"};
enum { TYPE_COUNT = sizeof type_names / sizeof *type_names };

unsigned hlo_type_number(struct text_part name) {
  for (unsigned i = 1; i < TYPE_COUNT; i++) {
    if (strlen(type_names[i]) == name.length && memcmp(type_names[i], name.bytes, name.length) == 0) return i;
  }
  return 0;
}

static uint64_t type_of_shape(struct wire_reader shape) {
  struct wire_field field;
  uint64_t type = 0;
  while (wire_next(&shape, &field)) {
    if (field.number == ShapeProto_element_type) type = wire_uint64(&field);
  }
  return type < TYPE_COUNT ? type : 0;
}

struct text_part hlo_shape_type(struct wire_reader shape) {
  uint64_t type = type_of_shape(shape);
  bool is_array = type && type != TUPLE;
  return is_array ? (struct text_part){type_names[type], strlen(type_names[type])} : (struct text_part){"", 0};
}

static void print_layout(struct text_buffer *text, struct wire_reader layout) {
  struct wire_field field;
  uint64_t dimension;
  bool is_first = true;
  while (wire_next(&layout, &field)) {
    if (field.number != LayoutProto_minor_to_major) continue;
    for (struct wire_packed list = wire_unpack(&field, WIRE_VARINT); wire_packed_next(&list, &dimension);) {
      text_buffer_add(text, is_first ? "{" : ",", 1);
      text_buffer_integer(text, (int64_t)dimension);
      is_first = false;
    }
  }
  if (!is_first) text_buffer_add(text, "}", 1);
}

/* Bits of the dimensions, of the first of them, whose size is only the most that it can be. */
static uint64_t dynamic_dimensions(struct wire_reader shape) {
  struct wire_field field;
  uint64_t value, bits = 0;
  unsigned place = 0;
  while (wire_next(&shape, &field)) {
    if (field.number != ShapeProto_is_dynamic_dimension) continue;
    for (struct wire_packed list = wire_unpack(&field, WIRE_VARINT); wire_packed_next(&list, &value); place++) {
      if (value && place < MAXIMUM_DYNAMIC) bits |= UINT64_C(1) << place;
    }
  }
  return bits;
}

static void print_array(struct text_buffer *text, struct wire_reader shape) {
  struct wire_reader reader = shape;
  struct wire_field field;
  uint64_t size, dynamic = dynamic_dimensions(shape);
  const char *name = type_names[type_of_shape(shape)];
  unsigned place = 0;
  text_buffer_add(text, name, strlen(name));
  text_buffer_add(text, "[", 1);
  while (wire_next(&reader, &field)) {
    if (field.number != ShapeProto_dimensions) continue;
    for (struct wire_packed list = wire_unpack(&field, WIRE_VARINT); wire_packed_next(&list, &size); place++) {
      if (place) text_buffer_add(text, ",", 1);
      if (place < MAXIMUM_DYNAMIC && dynamic >> place & 1) text_buffer_add(text, "<=", 2);
      if ((int64_t)size == INT64_MIN) text_buffer_add(text, "?", 1);
      else text_buffer_integer(text, (int64_t)size);
    }
  }
  text_buffer_add(text, "]", 1);
  for (reader = shape; wire_next(&reader, &field);) {
    if (field.number == ShapeProto_layout && field.type == WIRE_BYTES) print_layout(text, wire_enter(&reader, &field));
  }
}

void hlo_shape_print(struct text_buffer *text, struct wire_reader shape) {
  struct wire_field field;
  bool is_first = true;
  if (type_of_shape(shape) != TUPLE) {
    print_array(text, shape);
    return;
  }
  text_buffer_add(text, "(", 1);
  while (wire_next(&shape, &field)) {
    if (field.number != ShapeProto_tuple_shapes || field.type != WIRE_BYTES) continue;
    if (!is_first) text_buffer_add(text, ", ", 2);
    is_first = false;
    hlo_shape_print(text, wire_enter(&shape, &field));
  }
  text_buffer_add(text, ")", 1);
}
