/* torch_input_text.c: the words of torch_inputs.h as the three JSON texts of a dump.
**
** They are what torch.profiler exports as "Input Dims" and "Input type": [] for whatever is no tensor, a list of
** shapes for a list of tensors; the C++ names of the tensors' types, "Scalar", "ScalarList", "TensorList" or ""; and,
** as "Concrete Inputs", of numbers that are kept a text as Python would print them, else "".
*/
#include "torch_inputs.h"

#include <stdio.h>

/* caffe2::TypeMeta::name() by ScalarType (torch/headeronly/core/ScalarType.h), as g++ names the types. */
static const char *const dtype_names[] = {
    "unsigned char",
    "signed char",
    "short int",
    "int",
    "long int",
    "c10::Half",
    "float",
    "double",
    "c10::complex<c10::Half>",
    "c10::complex<float>",
    "c10::complex<double>",
    "bool",
    "c10::qint8",
    "c10::quint8",
    "c10::qint32",
    "c10::BFloat16",
    "c10::quint4x2",
    "c10::quint2x4",
    "c10::bits1x8",
    "c10::bits2x4",
    "c10::bits4x2",
    "c10::bits8",
    "c10::bits16",
    "c10::Float8_e5m2",
    "c10::Float8_e4m3fn",
    "c10::Float8_e5m2fnuz",
    "c10::Float8_e4m3fnuz",
    "short unsigned int",
    "unsigned int",
    "long unsigned int",
    "c10::dummy_uint1_7_t<1>",
    "c10::dummy_uint1_7_t<2>",
    "c10::dummy_uint1_7_t<3>",
    "c10::dummy_uint1_7_t<4>",
    "c10::dummy_uint1_7_t<5>",
    "c10::dummy_uint1_7_t<6>",
    "c10::dummy_uint1_7_t<7>",
    "c10::dummy_int1_7_t<1>",
    "c10::dummy_int1_7_t<2>",
    "c10::dummy_int1_7_t<3>",
    "c10::dummy_int1_7_t<4>",
    "c10::dummy_int1_7_t<5>",
    "c10::dummy_int1_7_t<6>",
    "c10::dummy_int1_7_t<7>",
    "c10::Float8_e8m0fnu",
    "c10::Float4_e2m1fn_x2",
};

struct text {
  char *bytes;
  size_t length, size;
};

static void add(struct text *text, const char *piece) {
  size_t length = strlen(piece);
  if (text->length + length < text->size) memcpy(text->bytes + text->length, piece, length + 1);
  text->length += length;
}

static void add_number(struct text *text, int64_t number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", (long long)number);
  add(text, digits);
}

static size_t finish(struct text *text) { return text->length < text->size ? text->length : 0; }

/* How many words the input that begins with this one has; of a list of tensors only its first. */
static uint32_t input_words(uint64_t word) {
  switch (word & 0xff) {
    case INPUT_TENSOR:
    case INPUT_NUMBER_LIST: return 1 + (uint32_t)(word >> 32);
    case INPUT_NUMBER: return 2;
    default: return 1;
  }
}

/* Writes [2,3] and returns the words that it stood in. */
static uint32_t add_shape(struct text *text, const uint64_t *words) {
  uint32_t dimensions = (uint32_t)(words[0] >> 32);
  add(text, "[");
  for (uint32_t i = 0; i < dimensions; i++) {
    if (i) add(text, ",");
    add_number(text, (int64_t)words[1 + i]);
  }
  add(text, "]");
  return 1 + dimensions;
}

size_t input_shapes_text(const uint64_t *words, uint32_t count, char *bytes, size_t size) {
  struct text text = {bytes, 0, size};
  for (uint32_t at = 0; at < count;) {
    add(&text, at ? "," : "[");
    switch (words[at] & 0xff) {
      case INPUT_TENSOR: at += add_shape(&text, words + at); break;
      case INPUT_TENSOR_LIST: {
        uint32_t tensors = (uint32_t)(words[at++] >> 32);
        add(&text, "[");
        for (uint32_t i = 0; i < tensors; i++) {
          if (i) add(&text, ",");
          at += add_shape(&text, words + at);
        }
        add(&text, "]");
        break;
      }
      default: add(&text, "[]"); at += input_words(words[at]);
    }
  }
  add(&text, "]");
  return finish(&text);
}

size_t input_types_text(const uint64_t *words, uint32_t count, char *bytes, size_t size) {
  struct text text = {bytes, 0, size};
  for (uint32_t at = 0; at < count;) {
    add(&text, at ? ",\"" : "[\"");
    switch (words[at] & 0xff) {
      case INPUT_TENSOR: {
        uint32_t dtype = words[at] >> 8 & 0xffff;
        if (dtype < sizeof dtype_names / sizeof dtype_names[0]) add(&text, dtype_names[dtype]);
        at += 1 + (uint32_t)(words[at] >> 32);
        break;
      }
      case INPUT_TENSOR_LIST: {
        uint32_t tensors = (uint32_t)(words[at++] >> 32);
        add(&text, "TensorList");
        for (uint32_t i = 0; i < tensors; i++) at += 1 + (uint32_t)(words[at] >> 32);
        break;
      }
      case INPUT_LONG_LIST:
        add(&text, "TensorList");
        at++;
        break;
      case INPUT_SCALAR:
      case INPUT_NUMBER:
        add(&text, "Scalar");
        at += input_words(words[at]);
        break;
      case INPUT_SCALAR_LIST:
      case INPUT_NUMBER_LIST:
        add(&text, "ScalarList");
        at += input_words(words[at]);
        break;
      default: at++;
    }
    add(&text, "\"");
  }
  add(&text, "]");
  return finish(&text);
}

static void add_value(struct text *text, uint64_t word, uint64_t value) {
  if (word >> 8 & 1)
    add(text, value ? "True" : "False");
  else
    add_number(text, (int64_t)value);
}

size_t input_values_text(const uint64_t *words, uint32_t count, char *bytes, size_t size) {
  struct text text = {bytes, 0, size};
  bool has_values = false;
  for (uint32_t at = 0; at < count;) {
    uint64_t word = words[at];
    uint32_t values = input_words(word) - 1, tensors = (uint32_t)(word >> 32);
    add(&text, at ? ",\"" : "[\"");
    if ((word & 0xff) == INPUT_NUMBER) add_value(&text, word, words[at + 1]);
    if ((word & 0xff) == INPUT_NUMBER_LIST) {
      add(&text, "[");
      for (uint32_t i = 0; i < values; i++) {
        if (i) add(&text, ", ");
        add_value(&text, word, words[at + 1 + i]);
      }
      add(&text, "]");
    }
    has_values |= (word & 0xff) == INPUT_NUMBER || (word & 0xff) == INPUT_NUMBER_LIST;
    add(&text, "\"");
    at += input_words(word);
    if ((word & 0xff) != INPUT_TENSOR_LIST) continue;
    for (uint32_t i = 0; i < tensors; i++) at += input_words(words[at]);
  }
  add(&text, "]");
  return has_values ? finish(&text) : 0;
}
