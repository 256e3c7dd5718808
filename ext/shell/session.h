/* session.h: the database connection that the shell works on: opens runs, runs SQL, prints what comes of it. */
#ifndef TFPROF_SHELL_SESSION_H
#define TFPROF_SHELL_SESSION_H

#include "destination.h"
#include "output.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum session_result {
  SESSION_OK,
  SESSION_ERROR,       /* said on stderr */
  SESSION_INTERRUPTED, /* by Ctrl-C */
};

struct session {
  sqlite3 *db;
  struct output_style style;
  struct destination destination; /* where results go */
  void *part_settings; /* command_part.h */
  sqlite3_stmt *work;  /* between session_begin_work() and session_end_work() */
  uint32_t *told;      /* damage_tell(): the profiles whose damage was told */
  size_t told_count, told_capacity;
  bool has_views;      /* session_make_views() was called */
  bool has_no_pager;   /* --no-pager */
  bool is_width_given; /* by --width: the terminal's does not count */
  bool has_failed;     /* something in a script did, which then went on: the exit status tells */
  bool lacks_run;      /* a command was asked of nothing: that is wrong usage */
  bool is_watching;    /* watch.h: the same is asked again and again */
  double watch_seconds; /* --watch; 0: not given */
  char *last;          /* the statements that were typed last, for watch; NULL: none */
  bool is_interactive; /* count and time after each result; a line on stderr while one is waited for */
};

/* An empty database in memory with the tfprof extension in it. false: said on stderr why not. */
bool session_begin(struct session *session);
void session_end(struct session *session);
/* The stored views, which take longer to make than everything else at the start: to be called before SQL that may read
** any of them is prepared. */
void session_make_views(struct session *session);
/* No more of them than this SQL can read, as session_run() does; all, where that cannot be told by its words. */
void session_make_views_for(struct session *session, const char *sql);

/* How results look where they go: in a file as behind > in a shell. */
struct output_style session_style(const struct session *session);

/* Whether something is open that a command of this name can be about; else says on stderr what to do. */
bool session_has_run(struct session *session, const char *command);

/* Around work that is no statement: lets Ctrl-C stop it. */
void session_begin_work(struct session *session);
void session_end_work(struct session *session);

/* SELECT tfprof_open(path). */
enum session_result session_open_run(struct session *session, const char *path);

/* SELECT tfprof_refresh(): *rows came. */
enum session_result session_refresh(struct session *session, uint64_t *rows);

/* Runs every statement of `sql` and prints their rows. `origin` names, for messages, where in a script the text comes
** from ("views.sql:12"): of a script, what follows a statement that fails is run as well. NULL: the first that fails
** ends it. */
enum session_result session_run(struct session *session, const char *sql, const char *origin);

/* Ctrl-C from a signal handler: true when a query was there to be stopped. */
bool session_interrupt(void);

#endif
