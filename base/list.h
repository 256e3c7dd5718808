/* list.h: arrays that grow.
**
** A list is any struct with `items`, `count` and `capacity`; zeroed it is empty.  Adding is inline, growing is not.
*/
#ifndef TFPROF_LIST_H
#define TFPROF_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIST_NAMED(name, type) \
  struct name {                \
    type *items;               \
    size_t count, capacity;    \
  }
#define LIST(type) LIST_NAMED(, type)

/* Makes an array longer, by half at least; `items` is the address of the pointer to it. False: no memory, and nothing
** has changed. */
bool list_grow(void *items, size_t *capacity, size_t needed, size_t item_size);

static inline void *list_next(void *items, size_t *count, size_t *capacity, size_t item_size) {
  char *first;
  assert(*count <= *capacity);
  if (*count == *capacity && !list_grow(items, capacity, *count + 1, item_size)) return NULL;
  memcpy(&first, items, sizeof first);
  return memset(first + (*count)++ * item_size, 0, item_size);
}

/* Room for `needed` items in an array, or in a list. False: no memory. */
#define array_reserve(items, capacity, needed) \
  ((needed) <= (capacity) || list_grow(&(items), &(capacity), (needed), sizeof *(items)))
#define list_reserve(list, needed) array_reserve((list)->items, (list)->capacity, needed)
/* One more item, zeroed. NULL: no memory. */
#define list_add(list)               \
  ((__typeof__((list)->items))list_next(&(list)->items, &(list)->count, &(list)->capacity, sizeof *(list)->items))
#define list_free(list)                        \
  do {                                         \
    free((list)->items);                       \
    (list)->items = NULL;                      \
    (list)->count = (list)->capacity = 0;      \
  } while (0)

#endif
