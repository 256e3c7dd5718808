/* directory.c: see directory.h. Asks the open directory, not its name, which may be that of another one by then. */
#include "dump/directory.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum tfprof_status dump_directory_open(const char *path, int *descriptor, struct tfprof_error *error) {
  char name[PATH_MAX]; /* "link/" would be what the link leads to */
  size_t length = strlen(path);
  if (length >= sizeof name) return error_set(error, TFPROF_USAGE, "the path is longer than %d bytes", PATH_MAX - 1);
  memcpy(name, path, length + 1);
  while (length > 1 && name[length - 1] == '/') name[--length] = '\0';
  struct stat facts;
  if (lstat(name, &facts) == 0 && S_ISLNK(facts.st_mode))
    return error_set(error, TFPROF_USAGE, "%s: is a symbolic link, which somebody else may have laid; name the "
                     "directory itself", name);
  int opened = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return error_io(error, name, "cannot open the directory");
  enum tfprof_status status = TFPROF_OK;
  if (fstat(opened, &facts) != 0)
    status = error_io(error, name, "cannot be examined");
  else if (facts.st_uid != geteuid())
    status = error_set(error, TFPROF_USAGE, "%s: belongs to another user (%u), who could read and replace what is "
                       "written there", name, (unsigned)facts.st_uid);
  if (status || !descriptor) close(opened);
  else *descriptor = opened;
  return status;
}
