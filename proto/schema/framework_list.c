/* framework_list.c: see framework_list.h. */
#include "framework_list.h"

#include <stddef.h>
#include <string.h>

bool framework_is_listed(const char *list, const char *name) {
  size_t length = name ? strlen(name) : 0;
  while (list && length) {
    size_t its_length = strcspn(list, ",");
    if (its_length == length && !strncmp(list, name, length)) return true;
    list += its_length;
    list = *list ? list + 1 + strspn(list + 1, " ") : NULL;
  }
  return false;
}
