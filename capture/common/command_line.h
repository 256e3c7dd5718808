/* command_line.h: command lines as one would type them into a shell. */
#ifndef TFPROF_CAPTURE_COMMAND_LINE_H
#define TFPROF_CAPTURE_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* The words, up to NULL, with blanks between them and quoted where needed. Caller frees; NULL: no memory. */
char *command_line_quote(char **words);
/* As it is recorded: the same without keys and passwords (secret_words.h), with the code of python -c or without; its
** first 16 KiB. */
char *command_line_recorded(char **words, bool with_code);
/* As it is recorded, of words that lie behind each other, as in /proc/PID/cmdline, with a NUL after the last. Caller
** frees; NULL: also where there is none. */
char *command_line_of_words(char *bytes, size_t length, bool with_code);

#endif
