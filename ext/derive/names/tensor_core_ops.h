/* tensor_core_ops.h: which ops tensor cores can compute, by their names. */
#ifndef TFPROF_DERIVE_TENSOR_CORE_OPS_H
#define TFPROF_DERIVE_TENSOR_CORE_OPS_H

#include <stdbool.h>

/* An op of PyTorch (the list of the TensorBoard plugin's tensor_core.py), of TensorFlow or XLA (those of XProf's
** kernel_stats_utils.cc), or of JAX. */
bool tensor_core_can_run(const char *op);
/* An equation of einsum that has two inputs: "ab,bc->ac". */
bool tensor_core_can_contract(const char *equation);

#endif
