/* command_line.h: command lines as one would type them into a shell. */
#ifndef TFPROF_CAPTURE_COMMAND_LINE_H
#define TFPROF_CAPTURE_COMMAND_LINE_H

#include <stdbool.h>

/* The words, up to NULL, with blanks between them and quoted where needed. Caller frees; NULL: no memory. */
char *command_line_quote(char **words);
/* As it is recorded: the same without keys and passwords (secret_words.h), with the code of python -c or without. */
char *command_line_recorded(char **words, bool with_code);
/* That of this process as it is recorded, its first 16 KiB. Caller frees; NULL: it is not known. */
char *command_line_of_process(bool with_code);

#endif
