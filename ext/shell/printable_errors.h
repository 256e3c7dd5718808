/* printable_errors.h: what goes to standard error holds nothing that a terminal would obey. */
#ifndef TFPROF_SHELL_PRINTABLE_ERRORS_H
#define TFPROF_SHELL_PRINTABLE_ERRORS_H

/* From now on stderr writes control characters but tabs and line feeds as U+2400 and on. Names in messages come from
** files of others. Without memory it stays as it is. */
void make_errors_printable(void);

#endif
