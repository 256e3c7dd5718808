/* compilers.h: which rows of a profile are the work of compilers. */
#ifndef TFPROF_DERIVE_COMPILERS_H
#define TFPROF_DERIVE_COMPILERS_H

#include <stdbool.h>

/* Whether a row of the host's runtime with this name is XLA's compiler at work, or JAX lowering a function for it. */
bool is_xla_compiling(const char *name);

#endif
