/* linked.c: see linked.h.
**
** The extension calls SQLite through a table of functions, which SQLite gives to those that it loads.  Its objects are
** compiled once, for tfprof.so and for programs that are linked with SQLite; such a program gets the table as an
** automatic extension would, of which SQLite has one made known here for as long as it opens a first connection.
*/
#include "linked.h"

#include <pthread.h>
#include <sqlite3ext.h>

int sqlite3_tfprof_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);
int tfprof_init_without_access(sqlite3 *db, char **message, const sqlite3_api_routines *api);
int tfprof_init_without_views(sqlite3 *db, char **message, const sqlite3_api_routines *api);

static const sqlite3_api_routines *linked_api;

static int linked_take_api(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  (void)db;
  (void)message;
  linked_api = api;
  return SQLITE_OK;
}

static void linked_find_api(void) {
  sqlite3 *db = NULL;
  void (*entry)(void) = (void (*)(void))linked_take_api;
  if (sqlite3_auto_extension(entry) != SQLITE_OK) return;
  sqlite3_open(":memory:", &db);
  sqlite3_close(db);
  sqlite3_cancel_auto_extension(entry);
}

static bool linked_has_api(char **message) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!linked_api) linked_find_api(); /* which fails where memory is short: then the next call tries again */
  bool is_there = linked_api != NULL;
  pthread_mutex_unlock(&lock);
  if (!is_there) {
    *message = sqlite3_mprintf("tfprof: the SQLite library was built without loadable extensions, or memory is short");
  }
  return is_there;
}

int tfprof_attach(sqlite3 *db, char **message, bool with_views) {
  if (!linked_has_api(message)) return SQLITE_ERROR;
  return with_views ? sqlite3_tfprof_init(db, message, linked_api)
                    : tfprof_init_without_views(db, message, linked_api);
}

int tfprof_attach_noaccess(sqlite3 *db, char **message) {
  return linked_has_api(message) ? tfprof_init_without_access(db, message, linked_api) : SQLITE_ERROR;
}
