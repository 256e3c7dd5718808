/* number_types.c: see number_types.h. */
#include "derive/flops/number_types.h"

#include <string.h>

/* By c10::ScalarType (torch/headeronly/core/ScalarType.h), without the quantized ones and those that are parts of a
** byte; names as g++ has them. */
static const struct number_type numbered[] = {
    [0] = {"unsigned char", "uint8", 1, NUMBER_INTEGER},
    [1] = {"signed char", "int8", 1, NUMBER_INTEGER},
    [2] = {"short int", "int16", 2, NUMBER_INTEGER},
    [3] = {"int", "int32", 4, NUMBER_INTEGER},
    [4] = {"long int", "int64", 8, NUMBER_INTEGER},
    [5] = {"c10::Half", "float16", 2, NUMBER_FLOAT},
    [6] = {"float", "float32", 4, NUMBER_FLOAT},
    [7] = {"double", "float64", 8, NUMBER_FLOAT},
    [8] = {"c10::complex<c10::Half>", "complex32", 4, NUMBER_COMPLEX},
    [9] = {"c10::complex<float>", "complex64", 8, NUMBER_COMPLEX},
    [10] = {"c10::complex<double>", "complex128", 16, NUMBER_COMPLEX},
    [11] = {"bool", "bool", 1, NUMBER_TRUTH},
    [15] = {"c10::BFloat16", "bfloat16", 2, NUMBER_FLOAT},
    [23] = {"c10::Float8_e5m2", "float8_e5m2", 1, NUMBER_FLOAT},
    [24] = {"c10::Float8_e4m3fn", "float8_e4m3fn", 1, NUMBER_FLOAT},
    [25] = {"c10::Float8_e5m2fnuz", "float8_e5m2fnuz", 1, NUMBER_FLOAT},
    [26] = {"c10::Float8_e4m3fnuz", "float8_e4m3fnuz", 1, NUMBER_FLOAT},
    [27] = {"short unsigned int", "uint16", 2, NUMBER_INTEGER},
    [28] = {"unsigned int", "uint32", 4, NUMBER_INTEGER},
    [29] = {"long unsigned int", "uint64", 8, NUMBER_INTEGER},
    [44] = {"c10::Float8_e8m0fnu", "float8_e8m0fnu", 1, NUMBER_FLOAT},
};
enum { NUMBERED = sizeof numbered / sizeof *numbered };

/* As other compilers name them. */
static const struct {
  const char *input;
  int number;
} others[] = {{"short", 2}, {"long", 4}, {"unsigned short", 27}, {"unsigned long", 29}};

static bool is_quoted(struct flops_text text, const char *name) {
  size_t length = strlen(name);
  return text.length == length + 2 && memcmp(text.bytes + 1, name, length) == 0;
}

const struct number_type *number_type_of_input(struct flops_text type) {
  if (type.length < 3 || type.bytes[0] != '"') return NULL;
  if (is_quoted(type, numbered[6].input)) return &numbered[6]; /* as nearly all are */
  for (size_t i = 0; i < NUMBERED; i++)
    if (numbered[i].input && is_quoted(type, numbered[i].input)) return &numbered[i];
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (is_quoted(type, others[i].input)) return &numbered[others[i].number];
  return NULL;
}

const struct number_type *number_type_numbered(int64_t number) {
  bool is_known = number >= 0 && number < NUMBERED && numbered[number].input;
  return is_known ? &numbered[number] : NULL;
}
