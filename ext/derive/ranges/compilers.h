/* compilers.h: which rows of a profile are the work of compilers. */
#ifndef TFPROF_DERIVE_COMPILERS_H
#define TFPROF_DERIVE_COMPILERS_H

#include <stdbool.h>

/* Whether a row of the host's runtime with this name is a compiler at work: XLA's, JAX lowering a function for it, or
** tf.function making a graph of Python code. */
bool is_runtime_compiling(const char *name);

#endif
