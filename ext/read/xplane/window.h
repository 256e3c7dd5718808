/* window.h: a part of a file in memory that moves over it.
**
** Read, not mapped: a file that is cut while it is looked at must not end the process.  The file is opened anew for
** each move, and refused when it is not the one that was opened first (file/source.h).  One of gzip stays open, so that
** moving on goes on decompressing.
*/
#ifndef TFPROF_XPLANE_WINDOW_H
#define TFPROF_XPLANE_WINDOW_H

#include "base/wire.h"
#include "read/file/source.h"

enum { WINDOW_BYTES = 64 << 10 };

struct window {
  const struct source_index *file;
  uint64_t file_bytes;
  char *bytes;
  size_t length, capacity;
  uint64_t offset; /* in the file, of the first byte */
  struct source_ranges *unpacked; /* of gzip */
};

void window_free(struct window *window);
/* Makes the window hold [offset, offset + length), or less where the file ends: *got bytes at *at. What is there
** already is not read again. */
enum tfprof_status window_move(struct window *window, uint64_t offset, size_t length, const uint8_t **at, size_t *got,
                               struct tfprof_error *error);

/* A field of a message that lies in the file, its contents not looked at. */
struct far_field {
  uint32_t number, type;
  uint64_t value;          /* of a number: its bits */
  uint64_t offset, length; /* of bytes: where they lie */
  uint64_t missing;        /* how many more there should be */
};
/* The field at *offset of a message that ends at `end`; *offset moves behind it. A text or message that reaches beyond
** the end is cut there, and *wrong says so, as of anything that is no field (number 0 then, *offset the end). */
enum tfprof_status window_field(struct window *window, uint64_t *offset, uint64_t end, struct far_field *field,
                                const char **wrong, struct tfprof_error *error);

#endif
