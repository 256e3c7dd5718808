/* small_file.c: see small_file.h. */
#include "small_file.h"

#include <fcntl.h>
#include <unistd.h>

bool small_file_read(const char *path, char *text, size_t size) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t length = read(descriptor, text, size - 1);
  close(descriptor);
  if (length <= 0) return false;
  text[length] = 0;
  return true;
}
