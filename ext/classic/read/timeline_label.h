/* timeline_label.h: what ran, as the label of an execution tells it: "[memory] name = MatMul(x, w:1, ^a)". */
#ifndef TFPROF_TENSORFLOW_TIMELINE_LABEL_H
#define TFPROF_TENSORFLOW_TIMELINE_LABEL_H

#include <stdbool.h>
#include <stddef.h>

/* Texts within the label. */
struct tf_call {
  const char *op, *inputs; /* inputs: with their parentheses */
  size_t op_length, inputs_length;
};
/* False: the label tells no op. */
bool tf_find_call(const char *label, size_t length, struct tf_call *call);

enum { TF_PLAIN_OP = 128 };
/* The op whose kernel oneDNN's took the place of, with which the same op elsewhere is known: MatMul of _MklMatMul,
** _FusedConv2D of _MklFusedConv2D or _MklNativeFusedConv2D. Other names stay what they are, and longer ones are cut.
** Returns the length of `plain`. */
size_t tf_plain_op(const char *op, size_t length, char plain[TF_PLAIN_OP]);

#endif
