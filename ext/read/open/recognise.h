/* recognise.h: what kind of file the first bytes show. */
#ifndef TFPROF_RECOGNISE_H
#define TFPROF_RECOGNISE_H

#include "read/read.h"

enum { RECOGNISE_HEAD_BYTES = 4096 };

struct file_head {
  uint8_t bytes[RECOGNISE_HEAD_BYTES]; /* decompressed where the file is gzip */
  size_t length;
  bool is_gzip;
  uint64_t file_bytes;
};

/* Reads the first bytes of a regular file. */
enum tfprof_status recognise_read(const char *path, struct file_head *head, struct tfprof_error *error);
/* The format that is surest that the file is its own, or NULL. */
const struct read_format *recognise_format(const char *path, const struct file_head *head);
/* The error for a file that no format knows: says what the bytes look like, and what to do. */
enum tfprof_status recognise_refuse(const char *path, const struct file_head *head, struct tfprof_error *error);

#endif
