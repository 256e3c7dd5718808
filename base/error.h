/* error.h: the one way in which something that went wrong is said.
**
** Every function that can fail takes a `struct tfprof_error *` last and returns an enum tfprof_status; 0 is success.
** The error names what was wrong, in which file, at which offset, and what to do, so that any caller can print
** error_text() as it is. The pointer may be NULL when the caller only wants the code.
*/
#ifndef TFPROF_ERROR_H
#define TFPROF_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tfprof_status {
  TFPROF_OK = 0,
  TFPROF_NO_MEMORY,   /* an allocation failed; nothing was changed */
  TFPROF_IO,          /* the system refused: message carries strerror */
  TFPROF_NOT_FOUND,   /* no such file, profile, table ... */
  TFPROF_REPLACED,    /* another file has taken the place of the one that was opened */
  TFPROF_WRONG_KIND,  /* the bytes are not of the format asked for; another reader may know them */
  TFPROF_CORRUPT,     /* of the right format, but damaged at `offset` */
  TFPROF_VERSION,     /* written by a newer version that this one cannot read */
  TFPROF_USAGE,       /* the caller asked for something that makes no sense */
  TFPROF_LIMIT,       /* a cap that protects against hostile input was reached */
  TFPROF_INTERRUPTED, /* the user pressed Ctrl-C; everything is left usable */
};

struct tfprof_error {
  enum tfprof_status status;
  bool has_offset;
  uint64_t offset;    /* byte offset in `file` */
  char file[1024];    /* empty when no file is concerned */
  char message[1024]; /* one sentence without a final full stop, then optionally "; " and what to do */
};

/* Fills `error` (if not NULL) and returns `status`, so that `return error_set(error, TFPROF_IO, "...")` works. file and
** offset are cleared. */
enum tfprof_status error_set(struct tfprof_error *error, enum tfprof_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As error_set, with the place. */
enum tfprof_status error_at(struct tfprof_error *error, enum tfprof_status status, const char *file, uint64_t offset,
                            const char *format, ...) __attribute__((format(printf, 5, 6)));
/* As error_set with TFPROF_IO and ": " strerror(errno) appended. */
enum tfprof_status error_io(struct tfprof_error *error, const char *file, const char *what);
enum tfprof_status error_no_memory(struct tfprof_error *error);
/* "file: message (at byte N)" written to buffer, as snprintf. */
size_t error_text(const struct tfprof_error *error, char *buffer, size_t size);

#endif
