/* destination.h: where results go: the terminal, a pager in front of it, or the file that `output` names.
**
** What prints a result writes to stdout and knows nothing of it: between destination_begin() and destination_end() the
** C library's variable stdout, which glibc lets a program set, is the stream of the destination.
*/
#ifndef TFPROF_SHELL_DESTINATION_H
#define TFPROF_SHELL_DESTINATION_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct destination {
  bool may_page;  /* stdout is a terminal, and nobody said --no-pager */
  char *path;     /* of the file that results go to; NULL: none */
  FILE *file;     /* that file */
  FILE *terminal; /* the stdout that is away; NULL outside of a result */
  char *held;     /* what is printed, until it is longer than the screen; NULL: nothing is held back (any more) */
  size_t held_bytes;
  int screen_lines, screen_columns;
  FILE *volatile pager; /* NULL: none began; looked at by signal handlers */
  pid_t pager_process;
  bool is_gone;
  void (*former_pipe)(int);
};

/* A result begins. Within a result nothing changes. */
void destination_begin(struct destination *destination);
/* It ends: what was held back is printed; waits until the reader of the pager leaves it. */
void destination_end(struct destination *destination);
/* Whether nobody wants the rest, since the reader left the pager. */
bool destination_is_gone(const struct destination *destination);

/* Results go to the file from now on, which is emptied; an empty path: to stdout again. false: errno tells. */
bool destination_set(struct destination *destination, const char *path);
/* Ends what is under way. */
void destination_free(struct destination *destination);

#endif
