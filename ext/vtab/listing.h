/* listing.h: the small tables in which the extension describes itself: tfprof_tables, tfprof_columns, tfprof_functions,
** tfprof_formats, tfprof_reasons, tfprof_views, tfprof_panels. */
#ifndef TFPROF_LISTING_H
#define TFPROF_LISTING_H

#include "vtab/connection.h"

int listing_register(struct connection *connection);

#endif
