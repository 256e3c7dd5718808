/* window_files.h: the file of a window, beside the dump.
**
** Written where the program's descriptors are not (recorder/file_threads.h), for its user alone, under a name that
** nothing looks for, and renamed when it is whole.
*/
#ifndef TFPROF_CAPTURE_WINDOW_FILES_H
#define TFPROF_CAPTURE_WINDOW_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct window_file {
  const char *dump;      /* the path of the dump */
  unsigned number;       /* of the window */
  const char *bytes;     /* what is written, */
  size_t size;
  const char *directory; /* or where TensorFlow has written it: is removed then. NULL */
  /* Filled: */
  char name[256];  /* of the file; empty: there is none, */
  char error[160]; /* and why */
  size_t written;
  bool is_full; /* the disk has no room */
};

/* On the writer thread. */
void window_file_write(struct window_file *file);
/* The directory around those that TensorFlow has written to, which are gone. */
void window_place_remove(const char *place);

#endif
