/* timeline_table.h: the table-valued function timeline(). */
#ifndef TFPROF_TIMELINE_TABLE_H
#define TFPROF_TIMELINE_TABLE_H

#include "vtab/connection.h"
#include "vtab/function_spec.h"
#include "vtab/stored_select.h"

extern const struct function_text timeline_table_text;
/* Ends at the first without a name. */
extern const struct stored_column timeline_table_columns[];

int timeline_table_register(struct connection *connection);

#endif
