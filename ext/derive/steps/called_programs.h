/* called_programs.h: calls of jax.jit, and what XLA ran for them. */
#ifndef TFPROF_DERIVE_CALLED_PROGRAMS_H
#define TFPROF_DERIVE_CALLED_PROGRAMS_H

#include "derive/rows.h"

struct program_call {
  int64_t start, end;
  string_id name, module; /* of the programs that it may run */
  uint32_t row, thread;
};

struct program_execution { /* something that a program ran */
  int64_t start, program, run;
  string_id module;
  uint32_t row;    /* of the table that it is from */
  uint32_t number; /* of the program among those of its module, from 1 on */
};

struct programs {
  struct program_call *calls;
  struct program_execution *executions;
  struct row_value *values;
  uint32_t call_count, call_capacity, execution_count, execution_capacity, value_count;
};

/* Adds the calls to an empty list, those within another of the same name, too. scratch_free() the lists. */
enum tfprof_status find_calls_of_jax(struct profile *profile, struct programs *programs, struct tfprof_error *error);
/* Adds what ran, of the table's rows. `run` is a column, or 0: nothing tells runs apart. */
enum tfprof_status find_executions(struct profile *profile, unsigned table, unsigned module, unsigned program,
                                   unsigned run, unsigned start, struct programs *programs,
                                   struct tfprof_error *error);

#endif
