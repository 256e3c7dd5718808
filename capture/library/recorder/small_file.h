/* small_file.h: what a file of /proc or /sys holds. */
#ifndef TFPROF_CAPTURE_SMALL_FILE_H
#define TFPROF_CAPTURE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Its beginning, as a text: less than `size` bytes. false: nothing is to be read there. It is read on a thread for
** files (file_threads.h). */
bool small_file_read(const char *path, char *text, size_t size);
/* The same of a file that may hold NUL characters. How many bytes; 0: nothing is to be read. */
size_t small_file_read_bytes(const char *path, char *bytes, size_t size);

#endif
