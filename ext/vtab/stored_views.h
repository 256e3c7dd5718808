/* stored_views.h: the stored SELECTs as TEMP views. */
#ifndef TFPROF_STORED_VIEWS_H
#define TFPROF_STORED_VIEWS_H

#include "vtab/connection.h"
#include "vtab/stored_select.h"

/* Makes those that are missing, and the table node_type_patterns; *created counts the views. A view of that name that
** is there already stays. On failure *message may say why (to be freed with sqlite3_free), and what could not be made
** can be made later. */
int stored_views_create(struct connection *connection, unsigned *created, char **message);
/* The same for no more than a text of SQL can ask for: the views whose names are in it, and those that they read. */
int stored_views_create_for(struct connection *connection, const char *sql, unsigned *created, char **message);

/* NULL: the stored SELECT can be used, else why not (to be freed with sqlite3_free). *is_missing: only because its view
** is not there. */
char *stored_view_trouble(sqlite3 *db, const struct stored_select *select, bool *is_missing);

#endif
