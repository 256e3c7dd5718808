/* path_list.c: a growing list of paths. */
#include "read/open/path_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

void paths_clear(struct path_list *list) {
  for (size_t i = 0; i < list->count; i++) free(list->paths[i]);
  free(list->paths);
}

enum tfprof_status paths_add(struct path_list *list, const char *directory, const char *name,
                             struct tfprof_error *error) {
  if (!array_reserve(list->paths, list->capacity, list->count + 1)) return error_no_memory(error);
  size_t length = strlen(directory), size = length + strlen(name) + 2;
  char *path = malloc(size);
  if (!path) return error_no_memory(error);
  bool needs_slash = *name && length && directory[length - 1] != '/';
  snprintf(path, size, "%s%s%s", directory, needs_slash ? "/" : "", name);
  list->paths[list->count++] = path;
  return TFPROF_OK;
}
