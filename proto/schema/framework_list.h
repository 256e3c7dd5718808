/* framework_list.h: profiles.framework, which names the frameworks of a process: "jax", "pytorch, jax". */
#ifndef TFPROF_FRAMEWORK_LIST_H
#define TFPROF_FRAMEWORK_LIST_H

#include <stdbool.h>

/* Whether `name` is one of those in the list, or all of it. NULL is in none. */
bool framework_is_listed(const char *list, const char *name);

#endif
