/* stored_select.h: the files of sql/views and sql/advise, as data: embed_sql makes it from them when the extension is
** built. */
#ifndef TFPROF_STORED_SELECT_H
#define TFPROF_STORED_SELECT_H

struct stored_select {
  const char *name;       /* the file's name without .sql */
  const char *kind;       /* "view" (sql/views) or "check" (sql/advise) */
  const char *title;      /* the first line of its first comment */
  const char *parameters; /* "a, b" in order of first appearance; NULL: none, it is a plain view */
  const char *sql;        /* all of it, without the final semicolon */
};

/* By kind and name; ends at the first without a name. */
extern const struct stored_select stored_selects[];

#endif
