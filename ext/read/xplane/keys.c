/* keys.c: see keys.h. */
#include "read/xplane/keys.h"

#include <string.h>

static const char *const names[KEY_COUNT] = {
#define X(key, name) name,
    XPLANE_KEYS(X)
#undef X
};

enum xplane_key xplane_find_key(const char *name, size_t length) {
  unsigned low = 0, high = KEY_COUNT;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    size_t size = strlen(names[middle]);
    int order = memcmp(name, names[middle], length < size ? length : size);
    if (order == 0 && length == size) return (enum xplane_key)middle;
    if (order > 0 || (order == 0 && length > size)) low = middle + 1;
    else high = middle;
  }
  return KEY_UNKNOWN;
}
