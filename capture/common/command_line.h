/* command_line.h: command lines as one would type them into a shell. */
#ifndef TFPROF_CAPTURE_COMMAND_LINE_H
#define TFPROF_CAPTURE_COMMAND_LINE_H

/* The words, up to NULL, with blanks between them and quoted where needed. Caller frees; NULL: no memory. */
char *command_line_quote(char **words);
/* That of this process, its first 16 KiB. Caller frees; NULL: it is not known. */
char *command_line_of_process(void);

#endif
