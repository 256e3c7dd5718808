/* path_list.h: a growing list of paths. */
#ifndef TFPROF_PATH_LIST_H
#define TFPROF_PATH_LIST_H

#include "base/error.h"

#include <stddef.h>

struct path_list {
  char **paths; /* owned */
  size_t count, capacity;
};
/* `name` within `directory`; an empty name: `directory` itself. */
enum tfprof_status paths_add(struct path_list *list, const char *directory, const char *name,
                             struct tfprof_error *error);
void paths_clear(struct path_list *list);

#endif
