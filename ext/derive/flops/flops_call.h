/* flops_call.h: the arguments of a formula, read from texts: what flops_text.c fills and the formulas count with. */
#ifndef TFPROF_FLOPS_CALL_H
#define TFPROF_FLOPS_CALL_H

#include "derive/flops/flops.h"

enum {
  FLOPS_INPUTS = 256,
  FLOPS_SHAPES = 1024, /* of all inputs and outputs together */
  FLOPS_SIZES = 8192,
  FLOPS_VALUES = 16, /* numbers of one attribute */
};

struct flops_shape {
  const int64_t *sizes;
  uint32_t count;
  bool is_known;
};

struct flops_input { /* one tensor, or a list of them */
  struct flops_shape *shapes;
  uint32_t count;
  bool is_list;
};

struct flops_call {
  struct flops_input inputs[FLOPS_INPUTS];
  uint32_t input_count;
  struct flops_input output; /* count 0: not known */
  struct flops_text attributes;
  bool has_overflow; /* a size that is beyond 64 bits */
  bool is_foreach;   /* the op type is one of the _foreach_ family */
  uint32_t shape_count, size_count;
  struct flops_shape shapes[FLOPS_SHAPES];
  int64_t sizes[FLOPS_SIZES];
};

/* An attribute: numbers (true is 1, false 0), or the text without its quotes. */
struct flops_value {
  int64_t numbers[FLOPS_VALUES];
  uint32_t count;
  struct flops_text text;
};

/* false: the text is no list of shapes, or a longer one than there is room for. */
bool flops_read_inputs(struct flops_call *call, struct flops_text text);
bool flops_read_output(struct flops_call *call, struct flops_text text);
/* By name in an object, by position in a list. false: it is not there or empty. */
bool flops_named(const struct flops_call *call, const char *name, struct flops_value *value);
bool flops_placed(const struct flops_call *call, unsigned position, struct flops_value *value);

/* How often a window fits; -1: nothing sensible. */
int64_t flops_window_count(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation);
/* How many of `sizes` (of FLOPS_VALUES) the output of a convolution has, forward, whose inputs and attributes were
** read; 0: it is transposed, or not known. */
uint32_t flops_convolved_sizes(const struct flops_call *call, struct flops_text op_type, int64_t *sizes);

#endif
