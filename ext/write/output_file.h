/* output_file.h: a file that is there whole or not at all.
**
** What is exported goes to a new file beside PATH and takes its name only when everything has been written, so that a
** full disk or Ctrl-C never leaves half a file under the name, nor takes away the file that was there before.  Only a
** regular file is ever replaced, and keeps its mode; a new one is its owner's alone (0600).  What a symbolic link leads
** to is written, and the link stays.  A device or a FIFO, and what /dev/stdout and /dev/fd/N name, is written into as a
** stream, which takes what has come until a failure.
*/
#ifndef TFPROF_OUTPUT_FILE_H
#define TFPROF_OUTPUT_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

struct output_file;

/* Begins a file; `compress` makes it gzip. TFPROF_IO when it cannot be made: the path is a directory, a socket, a FIFO
** that nobody reads, not writable, ...; with the path and the reason. */
enum tfprof_status output_open(struct output_file **made, const char *path, bool compress, struct tfprof_error *error);
/* Begins one that lies in memory, of at most so many bytes, which are then to be had by output_take(). */
enum tfprof_status output_open_memory(struct output_file **made, size_t maximum_bytes, struct tfprof_error *error);
/* Appends. A failure is remembered and told by output_commit, so that callers need not look after each piece. */
void output_bytes(struct output_file *file, const void *bytes, size_t length);
static inline void output_text(struct output_file *file, const char *text) { output_bytes(file, text, strlen(text)); }
void output_integer(struct output_file *file, int64_t number);
/* A number of thousandths, as a decimal with three digits behind the point. */
void output_thousandths(struct output_file *file, int64_t number);
/* snprintf of at most 500 bytes. */
void output_format(struct output_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A JSON string, with its quotes and without: see json_text.h. */
void output_json_text(struct output_file *file, const char *text, size_t length);
void output_json_part(struct output_file *file, const char *text, size_t length);
/* Appends what `make` writes into `piece` for each number below `count`, in that order: pieces are made side by side,
** on several threads (store/parallel.h), and are best a few hundred kilobytes. After a failure of `make`, or of
** writing, no more of them are made. Returns what `make` failed with, and TFPROF_NO_MEMORY, without a message. */
enum tfprof_status output_pieces(struct output_file *file, size_t count,
                                 enum tfprof_status (*make)(void *context, size_t number, struct output_file *piece),
                                 void *context);
/* A stream of the C library that appends; to be closed with fclose() before the file is committed or abandoned. NULL:
** no memory. */
FILE *output_stream(struct output_file *file);
/* Gives the file its name, and frees. On failure (TFPROF_IO) nothing is left behind. */
enum tfprof_status output_commit(struct output_file *file, struct tfprof_error *error);
/* Whether something could not be written, or would not fit into memory: the rest is not worth its making. */
bool output_has_failed(const struct output_file *file);
/* The bytes of one in memory, to be freed by the caller, and frees the rest. On failure (TFPROF_LIMIT: it is larger
** than its maximum; TFPROF_NO_MEMORY) there are none. */
enum tfprof_status output_take(struct output_file *file, unsigned char **bytes, size_t *length,
                               struct tfprof_error *error);
/* Removes what was written, and frees. NULL is allowed. */
void output_abandon(struct output_file *file);

#endif
