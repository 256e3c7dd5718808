/* tensor_text.c: the elements of tensors of all of TensorFlow's types, as text and as numbers. */
#include "classic/read/checkpoint_private.h"

#include <math.h>

/* IEEE 754 binary16. */
static float half_to_float(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float value = exponent == 0    ? ldexpf((float)mantissa, -24)
                : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                 : ldexpf((float)(mantissa + 1024), exponent - 25);
  return bits & 0x8000 ? -value : value;
}

/* The 8-bit formats of the Open Compute Project: E5M2 has infinities, E4M3FN has none and one NaN. */
static float small_float(uint8_t bits, int exponent_bits) {
  int mantissa_bits = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1,
      mantissa = bits & ((1 << mantissa_bits) - 1);
  int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1), top = (1 << exponent_bits) - 1;
  float value;
  if (exponent_bits == 5 && exponent == top) value = mantissa ? NAN : INFINITY;
  else if (exponent_bits == 4 && exponent == top && mantissa == 7) value = NAN;
  else if (exponent == 0) value = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
  else value = ldexpf((float)(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
  return bits & 0x80 ? -value : value;
}

/* One element as a number. *is_real, *digits: how it is written. Types are numbered as DataType of types.proto; a type
** above 100 is a reference to that of 100 less. */
static double element(int dtype, const uint8_t *at, bool *is_real, int *digits) {
  *is_real = true;
  *digits = 9;
  if (dtype > 100) dtype -= 100;
  switch (dtype) {
    case 1: return wire_float_of_bits(load_u32(at));
    case 2: *digits = 17; return wire_double_of_bits(load_u64(at));
    case 14: return wire_float_of_bits((uint32_t)(at[0] | at[1] << 8) << 16);
    case 19: return half_to_float((uint16_t)(at[0] | at[1] << 8));
    case 24: return small_float(*at, 5);
    case 25: return small_float(*at, 4);
  }
  *is_real = false;
  switch (dtype) {
    case 3: case 13: return (int32_t)load_u32(at);
    case 4: case 10: case 12: return *at;
    case 6: case 11: return (int8_t)*at;
    case 29: return (*at & 15) - (*at & 8) * 2; /* four bits, in a byte each */
    case 30: return *at & 15;
    case 5: case 15: return (int16_t)(at[0] | at[1] << 8);
    case 16: case 17: return (uint16_t)(at[0] | at[1] << 8);
    case 22: return load_u32(at);
  }
  return 0;
}

static void write_element(int dtype, const uint8_t *at, struct text_buffer *text) {
  bool is_real;
  int digits;
  if (dtype > 100) dtype -= 100;
  if (dtype == 9) text_buffer_integer(text, (int64_t)load_u64(at));
  else if (dtype == 23) text_buffer_print(text, "%llu", (unsigned long long)load_u64(at));
  else if (dtype == 10) text_buffer_print(text, "%s", *at ? "true" : "false");
  else if (dtype == 8 || dtype == 18) {
    double re = dtype == 8 ? wire_float_of_bits(load_u32(at)) : wire_double_of_bits(load_u64(at));
    double im = dtype == 8 ? wire_float_of_bits(load_u32(at + 4)) : wire_double_of_bits(load_u64(at + 8));
    digits = dtype == 8 ? 9 : 17;
    text_buffer_add(text, "[", 1);
    tf_text_real(text, digits, re);
    text_buffer_add(text, ",", 1);
    tf_text_real(text, digits, im);
    text_buffer_add(text, "]", 1);
  } else {
    double value = element(dtype, at, &is_real, &digits);
    if (is_real) tf_text_real(text, digits, value);
    else text_buffer_integer(text, (int64_t)value);
  }
}

/* Nested lists; brackets open and close where indexes begin and end. */
bool tf_tensor_write(const struct tensor *tensor, const struct content *content, uint64_t most_bytes,
                     struct text_buffer *text) {
  unsigned rank = tensor->rank;
  size_t width = tf_dtype_bytes(tensor->dtype), strings = (size_t)tensor->elements;
  const uint8_t *lengths = content->bytes, *end = content->bytes + content->length, *bytes = NULL;
  if (!width) { /* strings: their lengths, a checksum of these, their bytes */
    bytes = content->bytes;
    for (size_t i = 0; i < strings && bytes; i++) {
      uint64_t length;
      bytes = varint_read(bytes, end, &length);
    }
    if (!bytes || end - bytes < 4) {
      text_buffer_add(text, "null", 4);
      return true;
    }
    bytes += 4;
  }
  for (int64_t i = 0; i < tensor->elements; i++) {
    if (text->length > most_bytes) return false;
    int64_t block = 1;
    unsigned opens = 0;
    for (unsigned d = rank; d-- > 0;) {
      block *= tensor->sizes[d];
      if (i % block == 0) opens++;
      else break;
    }
    if (i) text_buffer_add(text, ",", 1);
    for (unsigned k = 0; k < opens; k++) text_buffer_add(text, "[", 1);
    if (width) {
      write_element(tensor->dtype, content->bytes + (size_t)i * width, text);
    } else {
      uint64_t length = 0;
      lengths = varint_read(lengths, end, &length);
      if (length > (size_t)(end - bytes)) length = (size_t)(end - bytes);
      tf_text_quote(text, (const char *)bytes, (size_t)length);
      bytes += length;
    }
    block = 1;
    for (unsigned d = rank; d-- > 0;) {
      block *= tensor->sizes[d];
      if ((i + 1) % block != 0) break;
      text_buffer_add(text, "]", 1);
    }
  }
  if (tensor->elements == 0) text_buffer_add(text, "[]", 2);
  return true;
}

double tf_tensor_text_bytes(const struct tensor *tensor) {
  int dtype = tensor->dtype > 100 ? tensor->dtype - 100 : tensor->dtype;
  size_t width = tf_dtype_bytes(tensor->dtype);
  double lists = 1, all_lists = 1;
  for (unsigned d = 0; d + 1 < tensor->rank; d++) {
    lists *= (double)tensor->sizes[d];
    all_lists += lists;
  }
  /* "-32768," and "-1.52587891e-05," of two, "-1.2345678901234567e-308," of eight, twice that in brackets of 16; of one
  ** as of two where it is a real number; in quotes the bytes of a text, escaped. */
  bool is_small = width == 1 && dtype != 24 && dtype != 25;
  double each = is_small ? 6 : width == 0 ? 3 : width <= 4 ? 20 : width <= 8 ? 48 : 64;
  return 16 + 3 * all_lists + each * (double)tensor->elements + (width ? 0 : 6.0 * (double)tensor->size);
}

struct summary tf_tensor_summarise(const struct tensor *tensor, const struct content *content) {
  struct summary summary = {0};
  size_t width = tf_dtype_bytes(tensor->dtype);
  int dtype = tensor->dtype > 100 ? tensor->dtype - 100 : tensor->dtype;
  double sum = 0, count = 0;
  if (!width || dtype == 8 || dtype == 18) return summary;
  for (int64_t i = 0; i < tensor->elements; i++) {
    const uint8_t *at = content->bytes + (size_t)i * width;
    bool is_real;
    int digits;
    double value = dtype == 9    ? (double)(int64_t)load_u64(at)
                   : dtype == 23 ? (double)load_u64(at)
                                 : element(dtype, at, &is_real, &digits);
    if (!isfinite(value)) continue;
    if (!summary.is_known || value < summary.minimum) summary.minimum = value;
    if (!summary.is_known || value > summary.maximum) summary.maximum = value;
    summary.is_known = true;
    sum += value;
    count++;
  }
  if (summary.is_known) summary.mean = sum / count;
  return summary;
}
