/* stored_select.h: the files of sql/views, sql/advise and sql/panels, as data: embed_sql makes it from them when the
** extension is built.
**
** SQL finds our tables and functions as tfprof_own.ops.  No database is called that, so that SQLite looks for the
** virtual table at once, and comes upon no table of the user's, wherever that lies and whenever it was made.
**
** A check that is called as a view is stands in NAME_check.sql: stragglers_check is the check `stragglers`. */
#ifndef TFPROF_STORED_SELECT_H
#define TFPROF_STORED_SELECT_H

#include <string.h>

struct stored_select {
  const char *name;       /* the file's name without .sql */
  const char *kind;       /* "view" (sql/views), "check" (sql/advise) or "panel" (sql/panels) */
  const char *title;      /* the first line of its first comment */
  const char *parameters; /* "a, b" in order of first appearance; NULL: none, it is a plain view */
  const char *sql;        /* all of it, without the final semicolon */
};

/* By kind and name; ends at the first without a name. */
extern const struct stored_select stored_selects[];
/* The panels of a report, which are no views: they are run with their parameters bound. By name. */
extern const struct stored_select stored_panels[];

/* How much of `name` is the name of the check: without _check at its end. */
static inline size_t stored_check_name_length(const struct stored_select *check) {
  static const char end[] = "_check";
  size_t length = strlen(check->name), end_length = sizeof end - 1;
  return length > end_length && strcmp(check->name + length - end_length, end) == 0 ? length - end_length : length;
}

#endif
