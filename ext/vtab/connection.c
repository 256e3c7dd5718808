/* connection.c: see connection.h. */
#include "vtab/connection.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "derive/derive.h"
#include "vtab/drawn_steps.h"
#include "vtab/settings.h"
#include "vtab/table_part.h"

SQLITE_EXTENSION_INIT3

/* How a second load finds the store of the first: a function of this name, called with a pointer that only C code can
** bind, writes the connection through it. Only for the same library in memory: another build's structs may differ, also
** within a version. */
#define FINDER_NAME "tfprof_connection_"
#define FINDER_TYPE "tfprof finding 1" /* the form of struct finding, which must never change */
struct finding {
  const void *library;
  struct connection *connection;
};
static const char this_library;

/* Polled by long loops. SQLite before 3.41 cannot be asked, but every statement that it prepares or steps looks at the
** flag. */
static bool is_interrupted(void *context) {
  struct connection *connection = context;
  /* SQLite's own locks are held by the thread that called us; a worker thread of the store would wait for them for
  ** ever. */
  if (!connection->depth || !pthread_equal(connection->thread, pthread_self())) return false;
#if SQLITE_VERSION_NUMBER >= 3041000
  if (sqlite3_libversion_number() >= 3041000) return sqlite3_is_interrupted(connection->db);
#endif
  int result = SQLITE_OK;
  if (!connection->probe) result = sqlite3_prepare_v2(connection->db, "SELECT 1", -1, &connection->probe, NULL);
  if (result == SQLITE_OK) {
    result = sqlite3_step(connection->probe);
    sqlite3_reset(connection->probe);
  }
  return result == SQLITE_INTERRUPT;
}

struct connection *connection_create(sqlite3 *db) {
  struct connection *connection = calloc(1, sizeof *connection);
  if (!connection) return NULL;
  connection->references = 1;
  connection->db = db;
  connection->store = store_create(derive_passes, derive_pass_count);
  if (!connection->store) {
    free(connection);
    return NULL;
  }
  const char *verify = getenv("TFPROF_VERIFY_CONSTRAINTS");
  connection->verify_constraints = verify && *verify && strcmp(verify, "0") != 0;
  store_set_hooks(connection->store, &(struct store_hooks){.is_interrupted = is_interrupted, .context = connection});
  return connection;
}

struct connection *connection_retain(struct connection *connection) {
  connection->references++;
  return connection;
}

int connection_begin_parts(struct connection *connection, const struct table_part *const *parts) {
  connection->parts = parts;
  int result = SQLITE_OK;
  for (size_t i = 0; parts[i] && !result; i++) {
    assert(i < MOST_BUILD_PARTS);
    result = parts[i]->begin(connection, &connection->part_data[i]);
  }
  return result;
}

static void end_parts(struct connection *connection) {
  for (size_t i = 0; connection->parts && connection->parts[i]; i++)
    if (connection->part_data[i]) connection->parts[i]->end(connection->part_data[i]);
}

void *connection_part_data(const struct connection *connection, const char *part) {
  for (size_t i = 0; connection->parts && connection->parts[i]; i++)
    if (strcmp(connection->parts[i]->name, part) == 0) return connection->part_data[i];
  return NULL;
}

void connection_release(void *pointer) {
  struct connection *connection = pointer;
  if (!connection || --connection->references) return;
  settings_free(connection);
  drawn_steps_free(connection);
  end_parts(connection);
  store_set_hooks(connection->store, &(struct store_hooks){0}); /* a snapshot may keep the store longer */
  store_release(connection->store);
  free(connection->taken_views);
  free(connection);
}

static void finder_function(sqlite3_context *context, int count, sqlite3_value **values) {
  struct finding *finding = sqlite3_value_pointer(values[0], FINDER_TYPE);
  (void)count;
  if (finding && finding->library == &this_library) finding->connection = sqlite3_user_data(context);
}

struct connection *connection_find(sqlite3 *db, bool *is_of_other_build) {
  struct finding finding = {.library = &this_library};
  sqlite3_stmt *statement;
  *is_of_other_build = false;
  if (sqlite3_prepare_v2(db, "SELECT " FINDER_NAME "(?1)", -1, &statement, NULL)) return NULL;
  if (sqlite3_bind_pointer(statement, 1, &finding, FINDER_TYPE, NULL) == SQLITE_OK) sqlite3_step(statement);
  sqlite3_finalize(statement);
  *is_of_other_build = !finding.connection;
  return finding.connection;
}

int connection_publish(struct connection *connection) {
  return sqlite3_create_function_v2(connection->db, FINDER_NAME, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                    connection_retain(connection), finder_function, NULL, NULL, connection_release);
}

void connection_begin(struct connection *connection) {
  connection->thread = pthread_self();
  connection->depth++;
}

void connection_end(struct connection *connection) {
  if (--connection->depth) return;
  sqlite3_finalize(connection->probe);
  connection->probe = NULL;
}

/* The result code for a status: SQLITE_NOMEM and SQLITE_INTERRUPT are themselves, most others SQLITE_ERROR. */
static int result_code(enum tfprof_status status) {
  switch (status) {
    case TFPROF_OK: return SQLITE_OK;
    case TFPROF_NO_MEMORY: return SQLITE_NOMEM;
    case TFPROF_INTERRUPTED: return SQLITE_INTERRUPT;
    case TFPROF_NOT_FOUND: return SQLITE_CANTOPEN;
    case TFPROF_LIMIT: return SQLITE_TOOBIG;
    /* SQLITE_IOERR and SQLITE_CORRUPT would be truer names, but they make SQLite roll back or distrust the user's own
    ** database. */
    case TFPROF_IO:
    case TFPROF_REPLACED:
    case TFPROF_WRONG_KIND:
    case TFPROF_CORRUPT:
    case TFPROF_VERSION:
    case TFPROF_USAGE: break;
  }
  return SQLITE_ERROR;
}

void connection_result_error(sqlite3_context *context, const struct tfprof_error *error) {
  char text[2200];
  if (error->status == TFPROF_NO_MEMORY) {
    sqlite3_result_error_nomem(context);
    return;
  }
  error_text(error, text, sizeof text);
  sqlite3_result_error(context, text, -1);
  sqlite3_result_error_code(context, result_code(error->status));
}

int connection_table_error(sqlite3_vtab *table, const char *name, const struct tfprof_error *error) {
  char text[2200];
  error_text(error, text, sizeof text);
  connection_table_message(table, name, "%s", text);
  return result_code(error->status);
}

int connection_table_message(sqlite3_vtab *table, const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *message = sqlite3_vmprintf(format, arguments);
  va_end(arguments);
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = message ? sqlite3_mprintf("%s: %s", name, message) : NULL;
  sqlite3_free(message);
  return SQLITE_ERROR;
}
