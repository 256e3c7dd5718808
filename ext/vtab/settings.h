/* settings.h: numbers that a user may set for one connection: where the checks of the advisor begin to speak, and
** `compat`.
**
** A stored SELECT asks for one with tfprof_setting('check.name', default); a setting exists when a stored SELECT asks
** for it, or it is one of those of the program itself: compat (0): 1 makes the classic views and checks do what
** TensorFlow's profiler does where that is a mistake of it (the list: ext/classic/README.md).
*/
#ifndef TFPROF_SETTINGS_H
#define TFPROF_SETTINGS_H

#include <stdbool.h>

#include "vtab/connection.h"

struct setting;

/* The value that was set, else `otherwise`. */
double settings_get(const struct connection *connection, const char *name, double otherwise);
/* False: there is no such setting; *message (sqlite3_free) names those that there are, or is NULL: no memory. */
bool settings_set(struct connection *connection, const char *name, double value, char **message);
/* Back to the default. Errors as above. */
bool settings_reset(struct connection *connection, const char *name, char **message);
/* Calls `take` with each name, once, and the default as it is written. A prefix may be given, "job.", or NULL. */
void settings_each(const char *prefix, void (*take)(void *user, const char *name, const char *standard), void *user);
void settings_free(struct connection *connection);

#endif
