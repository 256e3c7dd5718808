/* table_part.h: what a part that a build may leave out (parts.def) adds to SQL. */
#ifndef TFPROF_TABLE_PART_H
#define TFPROF_TABLE_PART_H

#include "vtab/connection.h"
#include "vtab/function_spec.h"

struct table_part {
  const char *name; /* as in parts.def */
  /* Registers its modules, and makes what the part keeps for the connection, or NULL. A code of SQLite. */
  int (*begin)(struct connection *connection, void **data);
  void (*end)(void *data);
  /* The tables that are functions, for tfprof_functions. The last has no name. */
  const struct part_function {
    const char *name;
    struct function_text text;
  } *functions;
  /* A TEMP table that the user fills, made with the stored views; only name, title and columns mean anything. NULL:
  ** there is none. */
  const struct table_spec *user_table;
  const char *user_table_sql;
};

#endif
