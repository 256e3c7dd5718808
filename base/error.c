/* error.c: fills and prints struct tfprof_error.
**
** Used inside other people's programs as well: no allocation, no FILE, errno is left as it was found.
*/
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void reset_error(struct tfprof_error *error, enum tfprof_status status) {
  error->status = status;
  error->has_offset = false;
  error->offset = 0;
  error->file[0] = 0;
}

static void copy_text(char *target, size_t size, const char *text) {
  size_t length = text ? strlen(text) : 0;
  if (length >= size) length = size - 1;
  if (length) memcpy(target, text, length);
  target[length] = 0;
}

enum tfprof_status error_set(struct tfprof_error *error, enum tfprof_status status, const char *format, ...) {
  if (error) {
    int saved = errno;
    va_list arguments;
    reset_error(error, status);
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    errno = saved;
  }
  return status;
}

enum tfprof_status error_at(struct tfprof_error *error, enum tfprof_status status, const char *file, uint64_t offset,
                            const char *format, ...) {
  if (error) {
    int saved = errno;
    va_list arguments;
    reset_error(error, status);
    error->has_offset = true;
    error->offset = offset;
    copy_text(error->file, sizeof error->file, file);
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    errno = saved;
  }
  return status;
}

enum tfprof_status error_io(struct tfprof_error *error, const char *file, const char *what) {
  if (error) {
    int saved = errno;
    char buffer[128];
    /* The GNU form: it returns the text, which need not be in buffer, and is safe with threads. */
    const char *reason = strerror_r(saved, buffer, sizeof buffer);
    reset_error(error, TFPROF_IO);
    copy_text(error->file, sizeof error->file, file);
    snprintf(error->message, sizeof error->message, "%s: %s", what, reason);
    errno = saved;
  }
  return TFPROF_IO;
}

enum tfprof_status error_no_memory(struct tfprof_error *error) {
  return error_set(error, TFPROF_NO_MEMORY, "out of memory");
}

size_t error_text(const struct tfprof_error *error, char *buffer, size_t size) {
  int length;
  const char *separator = error->file[0] ? ": " : "";
  if (error->has_offset) {
    length = snprintf(buffer, size, "%s%s%s (at byte %llu)", error->file, separator, error->message,
                      (unsigned long long)error->offset);
  } else {
    length = snprintf(buffer, size, "%s%s%s", error->file, separator, error->message);
  }
  return length < 0 ? 0 : (size_t)length;
}
