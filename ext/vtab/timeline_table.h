/* timeline_table.h: the table-valued function timeline(). */
#ifndef TFPROF_TIMELINE_TABLE_H
#define TFPROF_TIMELINE_TABLE_H

#include "vtab/connection.h"

int timeline_table_register(struct connection *connection);

#endif
