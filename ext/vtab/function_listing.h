/* function_listing.h: the rows of tfprof_functions: every function that this connection has of tfprof. */
#ifndef TFPROF_FUNCTION_LISTING_H
#define TFPROF_FUNCTION_LISTING_H

#include "vtab/connection.h"
#include "vtab/listing_rows.h"
#include "vtab/stored_select.h"

/* Ends at the first without a name. */
extern const struct stored_column function_listing_columns[];

void function_listing(struct connection *connection, struct listing_rows *rows, sqlite3_uint64 used);

#endif
