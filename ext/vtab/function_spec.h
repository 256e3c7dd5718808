/* function_spec.h: an SQL function as data: what tfprof.c registers, and what tfprof_functions tells of it.
**
** A table-valued function is registered as a module of its own and has the text alone.
*/
#ifndef TFPROF_FUNCTION_SPEC_H
#define TFPROF_FUNCTION_SPEC_H

#include <stdbool.h>
#include <sqlite3ext.h>

/* What a user is told, in sentences. The table tfprof_functions, `help NAME` at the prompt and docs/functions.md show
** it; tests/sql/test_described.py runs the examples. */
struct function_text {
  const char *parameters; /* "path [, metric [, profile]]"; "" where it takes none */
  const char *title;      /* what it does or is, in one sentence */
  const char *text;       /* arguments with their units, what comes back, NULLs, errors */
  const char *example;    /* a SELECT without the semicolon */
};

struct function_spec {
  const char *name;
  int argument_count;  /* -1: any number */
  bool has_effects;    /* DIRECTONLY: not from views and triggers of a database; else deterministic and innocuous */
  bool is_volatile;    /* innocuous, but its result may change from statement to statement */
  bool only_if_absent; /* newer SQLite or the shell may bring it, and means the same */
  void (*function)(sqlite3_context *context, int count, sqlite3_value **values);
  /* For an aggregate, instead of `function`. */
  void (*step)(sqlite3_context *context, int count, sqlite3_value **values);
  void (*final)(sqlite3_context *context);
  void (*value)(sqlite3_context *context); /* both NULL: cannot be used with OVER */
  void (*inverse)(sqlite3_context *context, int count, sqlite3_value **values);
  /* sqlite3_user_data() is the connection (struct connection), or what this makes (NULL: no memory) and free_data
  ** frees. */
  void *(*make_data)(void);
  void (*free_data)(void *data);
  struct function_text text; /* of several with one name and other arguments the first has it */
};

#endif
