/* linked.h: the extension within a program that is linked with SQLite, as the shell, the tests and the benchmarks are.
*/
#ifndef LINKED_H
#define LINKED_H

#include <sqlite3.h>
#include <stdbool.h>

/* Loads the extension into the connection, with its functions that have effects, and with the stored views or without
** (stored_views_create makes them later). An SQLite result code; on failure *message is to be freed with
** sqlite3_free. */
int tfprof_attach(sqlite3 *db, char **message, bool with_views);
/* The same without the functions that have effects, and without the views. */
int tfprof_attach_noaccess(sqlite3 *db, char **message);

#endif
