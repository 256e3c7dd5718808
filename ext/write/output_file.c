/* output_file.c: see output_file.h.  zlib's gzFile writes both plain and compressed files, and buffers. */
#include "write/output_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "write/json_text.h"

struct output_file {
  gzFile stream;
  bool has_failed;
  int reason; /* errno of the first failure */
  char *path, *partial;
};

enum { BUFFER_BYTES = 1 << 18, LONGEST_PIECE = 1 << 30 };

static void output_free(struct output_file *file) {
  if (file) {
    free(file->path);
    free(file->partial);
  }
  free(file);
}

enum tfprof_status output_open(struct output_file **made, const char *path, bool compress, struct tfprof_error *error) {
  struct output_file *file = calloc(1, sizeof *file);
  size_t length = strlen(path);
  *made = NULL;
  if (file) {
    file->path = strdup(path);
    file->partial = malloc(length + sizeof ".partial");
  }
  if (!file || !file->path || !file->partial) {
    output_free(file);
    return error_no_memory(error);
  }
  memcpy(file->partial, path, length);
  memcpy(file->partial + length, ".partial", sizeof ".partial");
  errno = 0;
  file->stream = gzopen(file->partial, compress ? "wb6" : "wbT");
  if (!file->stream) {
    enum tfprof_status status = errno ? error_io(error, path, "cannot be written") : error_no_memory(error);
    output_free(file);
    return status;
  }
  gzbuffer(file->stream, BUFFER_BYTES);
  *made = file;
  return TFPROF_OK;
}

void output_bytes(struct output_file *file, const void *bytes, size_t length) {
  const char *at = bytes;
  while (length && !file->has_failed) {
    unsigned piece = length < LONGEST_PIECE ? (unsigned)length : LONGEST_PIECE;
    errno = 0;
    if (gzwrite(file->stream, at, piece) != (int)piece) {
      file->has_failed = true;
      file->reason = errno;
    }
    at += piece;
    length -= piece;
  }
}

void output_text(struct output_file *file, const char *text) { output_bytes(file, text, strlen(text)); }

void output_format(struct output_file *file, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length > 0) output_bytes(file, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void take_bytes(void *file, const void *bytes, size_t length) { output_bytes(file, bytes, length); }

void output_json_text(struct output_file *file, const char *text, size_t length) {
  json_text_write(text, length, take_bytes, file);
}

enum tfprof_status output_commit(struct output_file *file, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  errno = 0;
  int closed = gzclose(file->stream);
  if (!file->has_failed && closed != Z_OK) {
    file->has_failed = true;
    file->reason = errno;
  }
  if (file->has_failed) {
    errno = file->reason ? file->reason : EIO;
    status = error_io(error, file->path, "cannot be written");
  } else if (rename(file->partial, file->path)) {
    status = error_io(error, file->path, "cannot be given its name");
  }
  if (status) unlink(file->partial);
  output_free(file);
  return status;
}

void output_abandon(struct output_file *file) {
  if (!file) return;
  gzclose(file->stream);
  unlink(file->partial);
  output_free(file);
}
