/* neighbours.h: files of the frameworks that hold no profile: what each is, and what beside it can be opened. */
#ifndef TFPROF_NEIGHBOURS_H
#define TFPROF_NEIGHBOURS_H

#include "read/open/recognise.h"

/* The error for a file that no format knows: says what it is and what to open instead, else how its bytes look. */
enum tfprof_status neighbours_refuse(const char *path, const struct file_head *head, struct tfprof_error *error);

/* Adds to the error for a file of another kind than its format has what beside it can be opened: the file that is
** called most like it, but none of its format. */
void neighbours_add(const char *path, const struct read_format *but, struct tfprof_error *error);

#endif
