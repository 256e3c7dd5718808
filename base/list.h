/* list.h: arrays that grow.
**
** A list is any struct with `items`, `count` and `capacity`; zeroed it is empty.  Adding is inline, growing is not.  An
** array whose parts have other names, or integers of 32 bits for its count and capacity, grows in the same way:
**
**   if (!array_room(graph->edges, graph->edge_count, graph->edge_capacity)) return error_no_memory(error);
**   graph->edges[graph->edge_count++] = edge;
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

/* Makes an array longer, by half at least; `items` is the address of the pointer to it, `capacity` that of an unsigned
** integer of `capacity_bytes` (4 or 8). False: no memory, or more than that can count; and nothing has changed. */
bool list_grow(void *items, void *capacity, size_t capacity_bytes, size_t needed, size_t item_size);

/* Makes an array of `count` items longer as list_grow does. New items are zero, and `count` is how many it has. */
bool list_extend(void *items, void *count, size_t count_bytes, size_t needed, size_t item_size);

static inline void *list_next(void *items, size_t *count, size_t *capacity, size_t item_size) {
  char *first;
  assert(*count <= *capacity);
  if (*count == *capacity && !list_grow(items, capacity, sizeof *capacity, *count + 1, item_size)) return NULL;
  memcpy(&first, items, sizeof first);
  return memset(first + (*count)++ * item_size, 0, item_size);
}

/* Room for `needed` items in an array, or in a list. False: no memory. */
#define array_reserve(items, capacity, needed) \
  ((needed) <= (capacity) || list_grow(&(items), &(capacity), sizeof(capacity), (needed), sizeof *(items)))
#define list_reserve(list, needed) array_reserve((list)->items, (list)->capacity, needed)
/* Room for one more than `count`. False: no memory. */
#define array_room(items, count, capacity) \
  ((count) < (capacity) || list_grow(&(items), &(capacity), sizeof(capacity), (size_t)(count) + 1, sizeof *(items)))
/* At least `needed` items in an array that is asked by their number, such as a text's id. New ones are zero, and
** `count` is how many it has. False: no memory. */
#define array_extend(items, count, needed) \
  ((needed) <= (count) || list_extend(&(items), &(count), sizeof(count), (needed), sizeof *(items)))
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
