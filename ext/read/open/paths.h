/* paths.h: what lies at a path, and the errors where it is not what can be opened. */
#ifndef TFPROF_PATHS_H
#define TFPROF_PATHS_H

#include "read/open/path_list.h"

#include <stdbool.h>

bool paths_is_directory(const char *path);
/* Whether it is one in which nothing lies but what is hidden: nothing has been recorded into it yet. */
bool paths_is_empty_directory(const char *path);
/* Numbers in names count as numbers, so that rank 2 comes before rank 10. */
void paths_sort(struct path_list *list);
/* Adds what lies in the directory, but for what is hidden, and sorts the list. */
enum tfprof_status paths_list_directory(const char *path, struct path_list *list, struct tfprof_error *error);
/* The longest part of the path that exists; "." when none does. */
void paths_existing_parent(const char *path, char *parent, size_t size);
/* The error for a path that leads nowhere, by the errno of looking at it. */
enum tfprof_status paths_not_found(const char *path, int reason, struct tfprof_error *error);
/* The error for a directory without a profile: names what there is instead. */
enum tfprof_status paths_nothing_to_open(const char *path, const struct path_list *list, struct tfprof_error *error);

#endif
