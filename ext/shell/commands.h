/* commands.h: the words that are no SQL: help, tables, views, columns, advise, read, output, format, raw, formats,
** quit, those of the part (command_part.h), and what sqlite3 and psql call them. */
#ifndef TFPROF_SHELL_COMMANDS_H
#define TFPROF_SHELL_COMMANDS_H

#include "script.h"

/* True when the text begins with a word that statements begin with, or with a comment. */
bool sql_begins(const char *text);

/* False: the line is no command. A misspelled one, which cannot be SQL, is told and its result is an error. */
bool command_run(struct session *session, const char *line, enum script_result *result);

/* `read FILE`. */
enum script_result command_read(struct session *session, const char *path);

/* True when the line's first word is a command. */
bool command_is(const char *line);

/* Of a word that is no file either: a line on stderr with the command, table or view that it may have meant. */
void command_suggest(struct session *session, const char *word);

/* What follows the command of the line, for completion: a file, or a table. */
bool command_takes_file(const char *line);
bool command_takes_table(const char *line);

/* True where `help WORD` explains a command or a topic. */
bool command_has_help(const char *word);

/* The names from 0 on, for completion; NULL behind the last. */
const char *command_name(size_t i);

#endif
