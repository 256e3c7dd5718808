/* table_module.h: the SQLite module that serves every table of the schema. */
#ifndef TFPROF_TABLE_MODULE_H
#define TFPROF_TABLE_MODULE_H

#include "vtab/connection.h"

/* Registers one module for each table of schema_tables. */
int table_module_register(struct connection *connection);

#endif
