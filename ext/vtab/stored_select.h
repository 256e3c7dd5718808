/* stored_select.h: the files of sql/views, sql/advise and sql/panels, with the lists sql/sections and sql/old_names, as
** data: embed_sql makes it from them when the extension is built.
**
** SQL finds our tables and functions as tfprof_own.ops.  No database is called that, so that SQLite looks for the
** virtual table at once, and comes upon no table of the user's, wherever that lies and whenever it was made.
**
** What a view has for columns is told by lines of its comment, which embed_sql.c has the grammar of.
**
** A check that is called as a view is stands in NAME_check.sql: stragglers_check is the check `stragglers`. */
#ifndef TFPROF_STORED_SELECT_H
#define TFPROF_STORED_SELECT_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct stored_column {
  const char *name;
  const char *type; /* INTEGER, REAL or TEXT */
  const char *unit; /* ns, bytes, count, ratio ...; NULL: none */
  const char *text; /* what it holds: sentences */
};

struct stored_select {
  const char *name;       /* the file's name without .sql */
  const char *kind;       /* "view" (sql/views), "check" (sql/advise), "panel" (sql/panels) or "old" (sql/old_names) */
  const char *section;    /* of a view its directory: steps, ops ...; of others "checks" and "old"; NULL of panels */
  const char *successor;  /* of an old name what is called now; NULL: it is none */
  const char *title;      /* the first line of its first comment */
  const char *parameters; /* "a, b [, c]" in order of first appearance; NULL: none, it is a plain view */
  int optional_count;     /* of the parameters those in brackets, the last ones, which may be left out: NULL */
  const char *sql;        /* all of it, without the final semicolon */
  const struct stored_column *columns; /* ends at the first without a name; NULL of panels */
};

/* Views in the order of sql/sections, then by name; checks; old names.  Ends at the first without a name. */
extern const struct stored_select stored_selects[];
/* The panels of a report, which are no views: they are run with their parameters bound. By name. */
extern const struct stored_select stored_panels[];

/* How much of `name` is the name of the check: without _check at its end. */
static inline size_t stored_check_name_length(const struct stored_select *check) {
  static const char end[] = "_check";
  size_t length = strlen(check->name), end_length = sizeof end - 1;
  return length > end_length && strcmp(check->name + length - end_length, end) == 0 ? length - end_length : length;
}

/* Whether the text means the check: by its name, that of its view, or that of the profiler's layout, host_bound,
** HostBoundChecker or host_bound_check, in any case. */
static inline bool stored_check_is_meant(const struct stored_select *check, const char *text, size_t length) {
  const char *const ends[] = {"checker", "check", ""};
  size_t name_length = stored_check_name_length(check);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    size_t end = strlen(ends[i]), at = 0, of_name = 0;
    if (length < end || strncasecmp(text + length - end, ends[i], end) != 0) continue;
    while (at < length - end || of_name < name_length) {
      if (at < length - end && text[at] == '_') at++;
      else if (of_name < name_length && check->name[of_name] == '_') of_name++;
      else if (at < length - end && of_name < name_length && (text[at] | 32) == check->name[of_name]) at++, of_name++;
      else break;
    }
    if (at == length - end && of_name == name_length) return true;
  }
  return false;
}

#endif
