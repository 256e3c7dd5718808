/* view_function.h: a stored SELECT with parameters, as a table-valued function. */
#ifndef TFPROF_VIEW_FUNCTION_H
#define TFPROF_VIEW_FUNCTION_H

#include "vtab/connection.h"

/* Registers one module for each stored SELECT that has parameters. */
int view_function_register(struct connection *connection);

#endif
