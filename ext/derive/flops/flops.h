/* flops.h: floating point operations of one call of an op, counted from shapes.
**
** What is counted how stands in flops.def, one line an op type: TensorFlow's by the formulas of its profiler
** (tensorflow/python/profiler/internal/flops_registry.py), PyTorch's by those of torch.utils.flop_counter where that
** has one, else by the comment beside the line.  A multiplication and an addition are two operations, a function of
** one number (exp, sqrt, ...) is one.
**
** All arguments are texts, as tables and users have them, and may hold anything: what cannot be understood makes the
** answer FLOPS_UNKNOWN. Shapes: a JSON list of shapes, each a list of sizes, a text such as "32x3x3", or null; for an
** input that is a list of tensors a list of shapes.  One shape alone may be written without the outer list as 32x3x3.
** Attributes: a JSON object by name (strides, padding, data_format, transpose_a, ksize, equation ...; of convolutions
** in PyTorch stride, padding, dilation, transposed, output_mask) or a JSON list by position, where the elements may be
** texts of values, as in ops.input_values: ["","","[1, 1]","False"].
*/
#ifndef TFPROF_FLOPS_H
#define TFPROF_FLOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flops_status {
  FLOPS_KNOWN,
  FLOPS_NO_FORMULA, /* of this op type */
  FLOPS_UNKNOWN,    /* a shape or an attribute that the formula needs is missing, unknown or does not fit the others */
  FLOPS_OVERFLOW,   /* the number, or a size, is beyond 2^63 - 1 */
};

enum flops_kind {
  FLOPS_CLASSIC,     /* an op type of TensorFlow */
  FLOPS_CONTRACTION, /* a matrix product, a convolution, an attention: what torch.utils.flop_counter counts */
  FLOPS_COMPOSITE,   /* the same, made of ops that are counted themselves where they were recorded */
  FLOPS_APART,       /* the same, but that tool counts neither it nor what lies inside it */
  FLOPS_ELEMENTWISE, /* of PyTorch, everything else */
};

struct flops_formula {
  const char *op_type; /* without the underscore at the end of ops that work in place */
  enum flops_kind kind;
  const char *text;   /* for people */
  const char *source; /* where it comes from */
};

/* The formula of an op type; also aten::add_ and aten::_foreach_add_ by that of aten::add. NULL: there is none. */
const struct flops_formula *flops_find(const char *op_type, size_t length);

/* Whether TensorFlow's profiler has the formula. */
#define FLOPS_OF_TENSORFLOW "tensorflow.python.profiler.internal.flops_registry"
bool flops_is_of_tensorflow(const struct flops_formula *formula);

struct flops_text {
  const char *bytes; /* NULL: not known */
  size_t length;
};

/* The text of an element of a JSON list. false: there is none at that position. */
bool flops_element(struct flops_text list, unsigned position, struct flops_text *element);

/* Memory for one call at a time, some 80 kB; NULL: none left. */
struct flops_call *flops_call_create(void);
void flops_call_free(struct flops_call *call);
enum flops_status flops_count(struct flops_call *call, struct flops_text op_type, struct flops_text input_shapes,
                              struct flops_text output_shape, struct flops_text attributes, int64_t *flops);

/* Whether the op type is a convolution of PyTorch, forward. */
bool flops_is_convolution(struct flops_text op_type);
/* Whether one with inputs of these shapes can have an output of this one. */
bool flops_is_convolved(struct flops_call *call, struct flops_text input_shapes, struct flops_text output_shape);

#endif
