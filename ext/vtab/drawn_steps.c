/* drawn_steps.c: see drawn_steps.h. */
#include "vtab/drawn_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "vtab/stored_views.h"

SQLITE_EXTENSION_INIT3

struct drawn_steps {
  struct drawn_step *items; /* ascending by id */
  size_t count, capacity;
  uint64_t generation; /* of the store, that they were read in */
};

/* The columns of the query below. */
enum { STEP_ID, WEIGHT, LEAD, STEP_COUNT, SPREAD, LEAD_FACTOR, UNSEEN };

static const struct stored_select *find_select(const char *name) {
  const struct stored_select *select = stored_selects;
  while (select->name && strcmp(select->name, name) != 0) select++;
  return select->name ? select : NULL;
}

/* The text of the view itself, so that it does not matter whether the view could be made, and what it is called. */
static int query_view(struct connection *connection, sqlite3_stmt **statement) {
  const struct stored_select *select = find_select("_sampled_steps");
  char *view = select ? stored_view_sql(connection, select) : NULL;
  char *sql = view ? sqlite3_mprintf("SELECT step_id, weight, lead_ns, step_count, spread_factor, lead_factor, "
                                     "unseen_ratio FROM (%s\n) ORDER BY step_id", view)
                   : NULL;
  int result = sql ? sqlite3_prepare_v2(connection->db, sql, -1, statement, NULL) : SQLITE_NOMEM;
  sqlite3_free(sql);
  sqlite3_free(view);
  return result;
}

static int take_step(struct drawn_steps *steps, sqlite3_stmt *statement) {
  if (!array_room(steps->items, steps->count, steps->capacity)) return SQLITE_NOMEM;
  steps->items[steps->count++] = (struct drawn_step){
      .id = sqlite3_column_int64(statement, STEP_ID),
      .weight = sqlite3_column_double(statement, WEIGHT),
      .lead_ns = sqlite3_column_double(statement, LEAD),
      .step_count = sqlite3_column_double(statement, STEP_COUNT),
      .spread_factor = sqlite3_column_double(statement, SPREAD),
      .lead_factor = sqlite3_column_double(statement, LEAD_FACTOR),
      .unseen_ratio = sqlite3_column_double(statement, UNSEEN),
      .has_error = sqlite3_column_type(statement, SPREAD) != SQLITE_NULL &&
                   sqlite3_column_type(statement, LEAD_FACTOR) != SQLITE_NULL &&
                   sqlite3_column_type(statement, UNSEEN) != SQLITE_NULL,
  };
  return SQLITE_OK;
}

static int read_steps(struct connection *connection, struct drawn_steps *steps) {
  sqlite3_stmt *statement = NULL;
  int result = query_view(connection, &statement);
  while (!result && (result = sqlite3_step(statement)) == SQLITE_ROW) result = take_step(steps, statement);
  sqlite3_finalize(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

int drawn_steps_read(struct connection *connection) {
  uint64_t generation = store_generation(connection->store);
  if (connection->drawn_steps && connection->drawn_steps->generation == generation) return SQLITE_OK;
  struct drawn_steps *steps = calloc(1, sizeof *steps);
  if (!steps) return SQLITE_NOMEM;
  steps->generation = generation;
  int result = read_steps(connection, steps);
  drawn_steps_free(connection);
  connection->drawn_steps = steps;
  if (result) drawn_steps_free(connection);
  return result;
}

static int compare_id(const void *id, const void *item) {
  int64_t wanted = *(const int64_t *)id, other = ((const struct drawn_step *)item)->id;
  return (wanted > other) - (wanted < other);
}

const struct drawn_step *drawn_steps_find(const struct connection *connection, int64_t id) {
  const struct drawn_steps *steps = connection->drawn_steps;
  if (!steps || !steps->count) return NULL;
  return bsearch(&id, steps->items, steps->count, sizeof *steps->items, compare_id);
}

void drawn_steps_free(struct connection *connection) {
  if (connection->drawn_steps) free(connection->drawn_steps->items);
  free(connection->drawn_steps);
  connection->drawn_steps = NULL;
}
