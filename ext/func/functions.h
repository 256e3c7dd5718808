/* functions.h: the SQL functions, as data that tfprof.c registers.
**
** What a function does and what it takes is said in the first comment of its file, and for users in that of tfprof.c.
*/
#ifndef TFPROF_FUNCTIONS_H
#define TFPROF_FUNCTIONS_H

#include <stdbool.h>
#include <sqlite3ext.h>

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
};

/* The path that a function of this name is given; NULL when it cannot be one, then the function's error is set. */
const char *path_argument(sqlite3_context *context, sqlite3_value *value, const char *function);

/* Each ends at the first without a name. */
extern const struct function_spec profile_functions[];
extern const struct function_spec depth_functions[];
extern const struct function_spec interval_functions[];
extern const struct function_spec statistics_functions[];
extern const struct function_spec sample_error_functions[];
extern const struct function_spec advice_functions[];
extern const struct function_spec flops_functions[];
extern const struct function_spec format_functions[];
extern const struct function_spec chart_functions[];
extern const struct function_spec regexp_functions[];
extern const struct function_spec pprof_functions[];
extern const struct function_spec dot_functions[];
extern const struct function_spec settings_functions[];
extern const struct function_spec timeline_functions[];
extern const struct function_spec text_functions[];
extern const struct function_spec tree_functions[];

#endif
