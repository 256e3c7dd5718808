/* descriptor.c: see descriptor.h. */
#include "dump/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool descriptor_take(struct descriptor *descriptor, int number) {
  struct stat facts;
  descriptor->number = -1;
  if (number < 0) return false;
  if (fstat(number, &facts) != 0) {
    int reason = errno;
    close(number);
    errno = reason;
    return false;
  }
  *descriptor = (struct descriptor){number, facts.st_dev, facts.st_ino, fcntl(number, F_GETFL) & O_ACCMODE};
  return true;
}

bool descriptor_is_ours(const struct descriptor *descriptor) {
  struct stat facts;
  return descriptor->number >= 0 && fstat(descriptor->number, &facts) == 0 && facts.st_dev == descriptor->device &&
         facts.st_ino == descriptor->inode && (fcntl(descriptor->number, F_GETFL) & O_ACCMODE) == descriptor->access;
}

bool descriptor_close(struct descriptor *descriptor) {
  bool is_ours = descriptor_is_ours(descriptor);
  int number = descriptor->number;
  descriptor->number = -1;
  return !is_ours || close(number) == 0 || errno == EINTR;
}
