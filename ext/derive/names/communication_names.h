/* communication_names.h: which kernels exchange data between devices, and what they exchange, by their names. */
#ifndef TFPROF_DERIVE_COMMUNICATION_NAMES_H
#define TFPROF_DERIVE_COMMUNICATION_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a kernel of this full name is of a library that exchanges data. */
bool communication_kernel(const char *name);

/* Whether an op or a mark of the host is a collective, or asks for one, by its name: gloo:all_reduce, c10d::allreduce_,
** record_param_comms. */
bool communication_on_host(const char *name);

/* The operation of such a kernel, or of an instruction of XLA, as PyTorch's marks name it: all_reduce, all_gather ...;
** else its own name without namespaces, template arguments and parameters. `size` is that of `operation`, 1 or more. */
void communication_operation(const char *name, char *operation, size_t size);

/* Whether an instruction of XLA, told by its opcode or by a name such as all-reduce.1, is a collective: all-reduce,
** all-gather, reduce-scatter, all-to-all, collective-permute, collective-broadcast, with -start too. What ends one that
** was started (-done) is none. */
bool communication_instruction(const char *opcode);

#endif
