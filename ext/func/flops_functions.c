/* flops_functions.c: floating point operations, by the table of derive/flops/flops.def. */
#include "derive/flops/flops.h"
#include "func/functions.h"

SQLITE_EXTENSION_INIT3

static struct flops_text flops_text_of_value(sqlite3_value *value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return (struct flops_text){0};
  const char *bytes = (const char *)sqlite3_value_text(value);
  return (struct flops_text){bytes, bytes ? (size_t)sqlite3_value_bytes(value) : 0};
}

static void *make_call(void) { return flops_call_create(); }

static void flops_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct flops_text texts[4] = {{0}};
  if (count < 2 || count > 4) {
    sqlite3_result_error(context, "flops: takes op_type, input_shapes and, if known, output_shape and attributes", -1);
    return;
  }
  for (int i = 0; i < count; i++) texts[i] = flops_text_of_value(values[i]);
  int64_t flops;
  if (flops_count(sqlite3_user_data(context), texts[0], texts[1], texts[2], texts[3], &flops) == FLOPS_KNOWN)
    sqlite3_result_int64(context, flops);
}

static void formula_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct flops_text type = flops_text_of_value(values[0]);
  const struct flops_formula *formula = type.bytes ? flops_find(type.bytes, type.length) : NULL;
  (void)count;
  if (formula) sqlite3_result_text(context, formula->text, -1, SQLITE_STATIC);
}

static void free_call(void *call) { flops_call_free(call); }

const struct function_spec flops_functions[] = {
    {.name = "flops",
     .argument_count = -1,
     .function = flops_function,
     .make_data = make_call,
     .free_data = free_call,
     .text = {"op_type, input_shapes [, output_shape [, attributes]]",
              "The floating point operations of one call of an op.",
              "input_shapes is a JSON list, as ops.input_shapes has it: [[64,128],[128,10]]. output_shape is a shape "
              "or a list of shapes: 64x10, [64,10]. Many formulas do without it. attributes are a JSON object, such "
              "as {\"strides\":[1,2,2,1],\"padding\":\"SAME\"}, or a list by position, as ops.input_values. The last "
              "two may be left out or NULL. NULL where the op type has no formula, where a shape or attribute that "
              "it needs is missing or unknown, and where the number is beyond 2^63 - 1.",
              "SELECT flops('aten::mm', '[[64,128],[128,10]]')"}},
    {.name = "flops_formula",
     .argument_count = 1,
     .function = formula_function,
     .text = {"op_type",
              "How flops() counts this type of op, as a text.",
              "NULL where it does not.",
              "SELECT flops_formula('aten::mm')"}},
    {0},
};
