/* small_file.h: what a file of /proc or /sys holds. */
#ifndef TFPROF_CAPTURE_SMALL_FILE_H
#define TFPROF_CAPTURE_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Its beginning, as a text: less than `size` bytes, in one read. false: nothing is to be read there. */
bool small_file_read(const char *path, char *text, size_t size);

#endif
