/* commands.h: the words that are no SQL: help, tables, views, columns, advise, read, format, quit, and those of the
** classic tfprof. */
#ifndef TFPROF_SHELL_COMMANDS_H
#define TFPROF_SHELL_COMMANDS_H

#include "script.h"

/* True when the text begins with a word that statements begin with, or with a comment. */
bool sql_begins(const char *text);

/* False: the line is no command. A misspelled one, which cannot be SQL, is told and its result is an error. */
bool command_run(struct session *session, const char *line, enum script_result *result);

/* True when the line's first word is a command. */
bool command_is(const char *line);

/* True for the words of the classic prompt: scope, graph, code, op, set. */
bool command_is_classic(const char *word);

/* The names, for completion; ends with NULL. */
extern const char *const command_names[];

#endif
