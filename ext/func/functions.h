/* functions.h: the SQL functions, as data that tfprof.c registers.
**
** What a function does and takes is said where it is listed, at the end of its file (vtab/function_spec.h).
*/
#ifndef TFPROF_FUNCTIONS_H
#define TFPROF_FUNCTIONS_H

#include <sqlite3ext.h>

#include "vtab/function_spec.h"

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
