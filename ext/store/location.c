/* location.c: paths made comparable.
**
** A path as a user writes it (run, ./run, run/, ../work/run, /home/me/work/run) has a location: the same from the root
** on, without "." and "..", by its text alone, so that comparing paths never looks at the file system.  Where it leads
** through symbolic links is found out once, when it is opened.
*/
#include "store/private.h"

#include <stdlib.h>
#include <unistd.h>

/* Appends the components of `path`, taking back one for each "..". */
static size_t append_path(char *location, size_t length, const char *path) {
  while (*path) {
    size_t size = strcspn(path, "/");
    if (size == 2 && memcmp(path, "..", 2) == 0) {
      while (length > 0 && location[--length] != '/') continue;
    } else if (size > 0 && !(size == 1 && *path == '.')) {
      location[length++] = '/';
      memcpy(location + length, path, size);
      length += size;
    }
    path += size + (path[size] == '/');
  }
  return length;
}

char *location_of(const char *path) {
  char *directory = *path == '/' ? NULL : getcwd(NULL, 0); /* where that is not known the path itself has to do */
  char *location = malloc((directory ? strlen(directory) : 0) + strlen(path) + 4);
  if (location) {
    size_t length = append_path(location, 0, directory ? directory : "");
    length = append_path(location, length, path);
    if (length == 0) location[length++] = '/';
    location[length] = 0;
  }
  free(directory);
  return location;
}

enum tfprof_status location_intern(struct pool *pool, const char *path, string_id *location, string_id *real_location) {
  char *text = location_of(path), *real = realpath(path, NULL); /* NULL for a pattern */
  enum tfprof_status status = text ? pool_intern(pool, text, strlen(text), location) : TFPROF_NO_MEMORY;
  *real_location = *location;
  if (!status && real) status = pool_intern(pool, real, strlen(real), real_location);
  free(text);
  free(real);
  return status;
}
