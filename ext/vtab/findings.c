/* findings.c: see findings.h.
**
** tfprof_findings has the columns of a check and the rows of all of them, in the order of their names; with
** check_name = 'job' only that check is run.  Each is a statement of its own, so that none takes another down: what one
** found before it failed stays, its error is a row that says so, and the next one begins.  Only an interrupt and a lack
** of memory, which concern all, end the query.
**
** No finding promises more than the recording lasted, or less than nothing: steps whose marks lie over each other are
** added up by checks like any others.
**
** A line "-- Needs: kernels, steps." of a check's comment names tables without whose rows it has nothing to say.  It is
** not run where one of them is empty: making the plan of a check costs more than that of most finds out.
*/
#include "vtab/findings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "vtab/stored_views.h"

SQLITE_EXTENSION_INIT3

enum check_column { CHECK_NAME, SEVERITY, SUBJECT, MESSAGE, VALUE, THRESHOLD, SAVES_NS, SUGGESTION, EVIDENCE };

struct findings {
  sqlite3_vtab base;
  struct connection *connection; /* retained */
  sqlite3 *db;
};

struct findings_cursor {
  sqlite3_vtab_cursor base;
  const struct stored_select *check; /* whose row this is; without a name: at the end */
  sqlite3_stmt *statement;           /* NULL: the row tells that the check failed */
  char *trouble;                     /* why it did */
  bool is_of_one_check;
  bool is_run_known;   /* whether run_ns was asked for */
  sqlite3_int64 run_ns; /* of all profiles added up; -1: not known */
  sqlite3_int64 row;
};

static int findings_connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **made,
                            char **message) {
  (void)count;
  (void)arguments;
  (void)message;
  int result = sqlite3_declare_vtab(db,
                                    "CREATE TABLE x(check_name TEXT, severity TEXT, subject TEXT, message TEXT, "
                                    "value REAL, threshold REAL, saves_ns INTEGER, suggestion TEXT, "
                                    "evidence TEXT)");
  if (!result) result = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  if (result) return result;
  struct findings *findings = calloc(1, sizeof *findings);
  if (!findings) return SQLITE_NOMEM;
  findings->db = db;
  findings->connection = connection_retain(data);
  *made = &findings->base;
  return SQLITE_OK;
}

static int findings_disconnect(sqlite3_vtab *base) {
  connection_release(((struct findings *)base)->connection);
  free(base);
  return SQLITE_OK;
}

/* Number 1: the value of xFilter names the check. */
static int findings_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  (void)base;
  info->estimatedCost = 1e7;
  info->estimatedRows = 50;
  for (int i = 0; i < info->nConstraint; i++) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    bool is_of_name = constraint->iColumn == CHECK_NAME && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ;
    if (!is_of_name || !constraint->usable || strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
    info->aConstraintUsage[i].argvIndex = 1; /* not omitted: SQLite compares by its own rules */
    info->idxNum = 1;
    info->estimatedCost = 1e6;
    info->estimatedRows = 5;
    break;
  }
  return SQLITE_OK;
}

static int findings_open(sqlite3_vtab *base, sqlite3_vtab_cursor **opened) {
  struct findings_cursor *cursor = calloc(1, sizeof *cursor);
  (void)base;
  if (!cursor) return SQLITE_NOMEM;
  *opened = &cursor->base;
  return SQLITE_OK;
}

static void end_check(struct findings_cursor *cursor) {
  sqlite3_finalize(cursor->statement);
  sqlite3_free(cursor->trouble);
  cursor->statement = NULL;
  cursor->trouble = NULL;
}

static int findings_close(sqlite3_vtab_cursor *base) {
  end_check((struct findings_cursor *)base);
  free(base);
  return SQLITE_OK;
}

/* The check cannot go on: its row says why, unless that concerns all checks. */
static int fail_findings(struct findings_cursor *cursor, int result) {
  const struct findings *findings = (const struct findings *)cursor->base.pVtab;
  bool concerns_all = result == SQLITE_INTERRUPT || result == SQLITE_NOMEM;
  char *trouble = concerns_all ? NULL : sqlite3_mprintf("%s", sqlite3_errmsg(findings->db));
  end_check(cursor);
  cursor->trouble = trouble;
  return trouble ? SQLITE_OK : concerns_all ? result : SQLITE_NOMEM;
}

static int begin_check(struct findings_cursor *cursor) {
  const struct findings *findings = (const struct findings *)cursor->base.pVtab;
  char *name = stored_view_name(findings->connection, cursor->check);
  char *sql = name ? sqlite3_mprintf("SELECT " CHECK_COLUMNS " FROM temp.\"%w\"", name) : NULL;
  int result = sql ? sqlite3_prepare_v2(findings->db, sql, -1, &cursor->statement, NULL) : SQLITE_NOMEM;
  sqlite3_free(sql);
  sqlite3_free(name);
  return result;
}

/* Whether the table has any row: SQLITE_ROW or SQLITE_DONE, else an error. */
static int look_for_row(sqlite3 *db, const char *table, size_t length) {
  sqlite3_stmt *statement = NULL;
  char *sql = sqlite3_mprintf("SELECT profile_id FROM tfprof_own.\"%.*w\" LIMIT 1", (int)length, table);
  int result = sql ? sqlite3_prepare_v2(db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
  sqlite3_free(sql);
  if (!result) result = sqlite3_step(statement);
  sqlite3_finalize(statement);
  return result;
}

/* SQLITE_ROW when all tables that the check needs have rows, SQLITE_DONE when one has none. What is wrong with a table
** the check itself will tell. */
static int look_for_needs(sqlite3 *db, const struct stored_select *check) {
  static const char mark[] = "\n-- Needs: ", letters[] = "abcdefghijklmnopqrstuvwxyz_";
  const char *at = strstr(check->sql, mark);
  int result = SQLITE_ROW;
  for (at = at ? at + sizeof mark - 1 : ""; *at && *at != '.' && *at != '\n' && result == SQLITE_ROW;) {
    size_t length = strspn(at, letters);
    if (length) result = look_for_row(db, at, length);
    at += length ? length : 1;
  }
  return result;
}

/* To the next row from `check` on, whose statement may have begun. */
static int go_on(struct findings_cursor *cursor) {
  for (; cursor->check->name; cursor->check++) {
    if (strcmp(cursor->check->kind, "check") != 0) continue;
    int result = SQLITE_OK;
    if (!cursor->statement) {
      const struct findings *findings = (const struct findings *)cursor->base.pVtab;
      result = look_for_needs(findings->db, cursor->check) == SQLITE_DONE ? SQLITE_DONE : begin_check(cursor);
    }
    if (result == SQLITE_OK) result = sqlite3_step(cursor->statement);
    if (result == SQLITE_ROW) return SQLITE_OK;
    if (result != SQLITE_DONE) return fail_findings(cursor, result);
    end_check(cursor);
    if (cursor->is_of_one_check) break;
  }
  while (cursor->check->name) cursor->check++;
  return SQLITE_OK;
}

static int findings_next(sqlite3_vtab_cursor *base) {
  struct findings_cursor *cursor = (struct findings_cursor *)base;
  cursor->row++;
  if (cursor->trouble) { /* that was its last */
    end_check(cursor);
    do cursor->check++;
    while (cursor->is_of_one_check && cursor->check->name);
  }
  return go_on(cursor);
}

static bool is_check(const struct stored_select *select, const char *name) {
  size_t length = strlen(name);
  return strcmp(select->kind, "check") == 0 && stored_check_name_length(select) == length &&
         strncmp(select->name, name, length) == 0;
}

/* A name that a check has elsewhere finds nothing here, which would look as if there were nothing to find. */
static int refuse_other_name(sqlite3_vtab *table, const char *name) {
  for (const struct stored_select *select = stored_selects; select->name; select++) {
    if (strcmp(select->kind, "check") != 0 || !stored_check_is_meant(select, name, strlen(name))) continue;
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("there is no check '%s' in advise: it is called %.*s", name,
                                     (int)stored_check_name_length(select), select->name);
    return SQLITE_ERROR;
  }
  return SQLITE_OK;
}

static int findings_filter(sqlite3_vtab_cursor *base, int number, const char *text, int count, sqlite3_value **values) {
  struct findings_cursor *cursor = (struct findings_cursor *)base;
  (void)text;
  (void)count;
  end_check(cursor);
  cursor->row = 0;
  cursor->is_run_known = false;
  cursor->check = stored_selects;
  cursor->is_of_one_check = number == 1;
  if (number == 1) {
    const char *name = (const char *)sqlite3_value_text(values[0]);
    while (cursor->check->name && !(name && is_check(cursor->check, name))) cursor->check++;
    if (name && !cursor->check->name) {
      int result = refuse_other_name(base->pVtab, name);
      if (result) return result;
    }
  }
  return go_on(cursor);
}

static int findings_eof(sqlite3_vtab_cursor *base) { return !((const struct findings_cursor *)base)->check->name; }

/* The row of a check that failed, but for its name. */
static void trouble_column(const struct findings_cursor *cursor, sqlite3_context *context, enum check_column column) {
  const char *name = cursor->check->name;
  int length = (int)stored_check_name_length(cursor->check);
  char *text = NULL;
  switch (column) {
    case CHECK_NAME: return;
    case SEVERITY: text = sqlite3_mprintf("warning"); break;
    case SUBJECT: text = sqlite3_mprintf("the check %.*s", length, name); break;
    case MESSAGE:
      text = sqlite3_mprintf("The check %.*s could not be answered: %s", length, name, cursor->trouble);
      break;
    case VALUE: sqlite3_result_double(context, 1); return;
    case THRESHOLD: sqlite3_result_double(context, 0); return;
    case SAVES_NS: return;
    case SUGGESTION:
      text = sqlite3_mprintf("Of the others nothing is missing. Where the input is damaged the diagnostics say so.");
      break;
    case EVIDENCE: text = sqlite3_mprintf("SELECT sql, message FROM tfprof_views WHERE name = %Q", name); break;
  }
  if (text) sqlite3_result_text(context, text, -1, sqlite3_free);
  else sqlite3_result_error_nomem(context);
}

static sqlite3_int64 find_run(sqlite3 *db) {
  sqlite3_stmt *statement = NULL;
  sqlite3_int64 run = -1;
  int result =
      sqlite3_prepare_v2(db, "SELECT sum(1.0 * (end_ns - start_ns)) FROM tfprof_own.profiles", -1, &statement, NULL);
  if (!result && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
    run = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return run;
}

/* What the check promises, within the run. */
static void saves_column(struct findings_cursor *cursor, sqlite3_context *context) {
  sqlite3_value *promised = sqlite3_column_value(cursor->statement, SAVES_NS);
  if (sqlite3_value_type(promised) == SQLITE_NULL) return;
  if (!cursor->is_run_known) cursor->run_ns = find_run(((const struct findings *)cursor->base.pVtab)->db);
  cursor->is_run_known = true;
  sqlite3_int64 saves = sqlite3_value_int64(promised);
  if (saves < 0) saves = 0;
  sqlite3_result_int64(context, cursor->run_ns >= 0 && saves > cursor->run_ns ? cursor->run_ns : saves);
}

static int findings_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct findings_cursor *cursor = (struct findings_cursor *)base;
  /* Whatever the check calls itself: check_name = '...' has chosen by this. */
  int length = (int)stored_check_name_length(cursor->check);
  if (column == CHECK_NAME) sqlite3_result_text(context, cursor->check->name, length, SQLITE_STATIC);
  else if (cursor->statement && column == SAVES_NS) saves_column(cursor, context);
  else if (cursor->statement) sqlite3_result_value(context, sqlite3_column_value(cursor->statement, column));
  else trouble_column(cursor, context, (enum check_column)column);
  return SQLITE_OK;
}

static int findings_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = ((const struct findings_cursor *)base)->row + 1;
  return SQLITE_OK;
}

static const sqlite3_module findings_module = {
    .iVersion = 0,
    .xConnect = findings_connect,
    .xBestIndex = findings_best_index,
    .xDisconnect = findings_disconnect,
    .xOpen = findings_open,
    .xClose = findings_close,
    .xFilter = findings_filter,
    .xNext = findings_next,
    .xEof = findings_eof,
    .xColumn = findings_column,
    .xRowid = findings_rowid,
};

int findings_register(struct connection *connection) {
  return sqlite3_create_module_v2(connection->db, FINDINGS_TABLE, &findings_module, connection_retain(connection),
                                  connection_release);
}
