/* stored_views.h: the stored SELECTs as TEMP views. */
#ifndef TFPROF_STORED_VIEWS_H
#define TFPROF_STORED_VIEWS_H

#include "vtab/connection.h"
#include "vtab/stored_select.h"

/* Makes those that are missing, and the tables of parts that the user fills (table_part.h); *created counts the views.
** What the user has of such a name in TEMP stays, and ours is called tfprof_own_NAME then. On failure *message may say
** why (to be freed with sqlite3_free), and what could not be made can be made later. */
int stored_views_create(struct connection *connection, unsigned *created, char **message);
/* The same for no more than a text of SQL can ask for: the views whose names are in it, and those that they read. */
int stored_views_create_for(struct connection *connection, const char *sql, unsigned *created, char **message);

/* What the view of a stored SELECT is called, and a stored SELECT as it reads ours, whatever else has its names; to be
** freed with sqlite3_free, NULL: no memory. */
char *stored_view_name(const struct connection *connection, const struct stored_select *select);
char *stored_view_sql(const struct connection *connection, const struct stored_select *select);

/* NULL: the stored SELECT can be used by its name, else why not (to be freed with sqlite3_free). *is_broken: by no
** name. */
char *stored_view_trouble(const struct connection *connection, const struct stored_select *select, bool *is_broken);

#endif
