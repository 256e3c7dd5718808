/* script.h: lines of text, typed or read from a file, become statements and commands. */
#ifndef TFPROF_SHELL_SCRIPT_H
#define TFPROF_SHELL_SCRIPT_H

#include "session.h"

#include <stdio.h>

enum script_result { SCRIPT_OK, SCRIPT_ERROR, SCRIPT_INTERRUPTED, SCRIPT_QUIT };

/* True: the line was a command, which has been run. */
typedef bool command_runner(struct session *session, const char *line, enum script_result *result);

struct script {
  struct session *session;
  command_runner *run_command;
  const char *name; /* for messages; NULL: typed, messages name no place */
  char *text;       /* the statement so far */
  size_t length, room;
  int line, first_line;
};

/* Takes the next line (without its line feed): runs the command that it is, or the statements that it completes. */
enum script_result script_line(struct script *script, const char *line);
/* Runs what is left though no semicolon ends it. */
enum script_result script_end(struct script *script);
/* Forgets the unfinished statement. */
void script_forget(struct script *script);
bool script_is_pending(const struct script *script);
void script_free(struct script *script);

/* All of a stream. As in sqlite3 and TensorFlow's tfprof, what follows something that fails is run all the same;
** SCRIPT_ERROR in the end, and session->has_failed, also where `quit` ends it. */
enum script_result script_run(struct session *session, command_runner *run_command, FILE *file, const char *name);

#endif
