/* connection.h: what one SQLite connection shares among everything that the extension registers on it.
**
** There is one `struct connection` for each database connection, with one store.  Every module, function, virtual table
** and cursor holds a reference, so that it lives until the last of them is gone: a module may be replaced, or the
** connection closed, in any order.  It is used by one thread at a time, as the database connection is; nothing here is
** shared between connections.
*/
#ifndef TFPROF_CONNECTION_H
#define TFPROF_CONNECTION_H

#include <pthread.h>
#include <sqlite3ext.h>

#include "store/store.h"

enum { MOST_BUILD_PARTS = 4 };

struct connection {
  unsigned references;
  sqlite3 *db;
  struct store *store;
  const struct table_part *const *parts; /* all of this build, ends at NULL: vtab/table_part.h; NULL: none yet */
  void *part_data[MOST_BUILD_PARTS];        /* what each of them keeps */
  struct setting *settings;              /* vtab/settings.h */
  struct drawn_steps *drawn_steps;       /* vtab/drawn_steps.h */
  const struct function_spec *const *functions; /* all that tfprof.c registers, ends at NULL: vtab/function_spec.h */
  bool has_effects; /* the functions that reach the file system are registered: TRUST in tfprof.c */
  bool verify_constraints; /* TFPROF_VERIFY_CONSTRAINTS=1: SQLite checks every constraint again */
  bool *taken_views; /* of stored_selects, those whose name the user has in TEMP: vtab/stored_views.h; NULL: none */
  struct outer_join_answer {
    bool is_known, is_running;
    uint64_t statements; /* those that it was given for */
  } outer_join; /* vtab/outer_join.h */
  /* For noticing Ctrl-C, see connection_begin(). */
  unsigned depth;
  pthread_t thread;
  sqlite3_stmt *probe;
};

/* One reference; NULL: no memory. */
struct connection *connection_create(sqlite3 *db);
struct connection *connection_retain(struct connection *connection);
void connection_release(void *pointer); /* void *, so that it is a destructor for SQLite as it is */

/* The one that an earlier load registered on this database connection, or NULL. Not retained. *is_of_other_build: there
** is one, but of another library file, whose structs may differ. */
struct connection *connection_find(sqlite3 *db, bool *is_of_other_build);
/* Lets connection_find() find it. */
int connection_publish(struct connection *connection);

/* Lets the parts register what they have. Once; a code of SQLite. */
int connection_begin_parts(struct connection *connection, const struct table_part *const *parts);
/* What the part of that name keeps for the connection. */
void *connection_part_data(const struct connection *connection, const char *part);

/* Around every call into the store that may take long: lets it notice an interrupt, which needs a statement of this
** connection that must be gone again before SQLite can close it. */
void connection_begin(struct connection *connection);
void connection_end(struct connection *connection);

/* Makes the error the result of a function. */
void connection_result_error(sqlite3_context *context, const struct tfprof_error *error);
/* Makes it the message of a virtual table, after its name, and returns the code. */
int connection_table_error(sqlite3_vtab *table, const char *name, const struct tfprof_error *error);
/* The same with a message of our own. */
int connection_table_message(sqlite3_vtab *table, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
