/* list.h: an array that grows. */
#ifndef TFPROF_TENSORFLOW_LIST_H
#define TFPROF_TENSORFLOW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Declares struct NAME with NAME_add(), which returns room for one more item, zeroed, or NULL when there is
** no memory. */
#define TF_LIST(NAME, TYPE)                                               \
  struct NAME {                                                           \
    TYPE *items;                                                          \
    size_t count, capacity;                                               \
  };                                                                      \
  static inline TYPE *NAME##_add(struct NAME *list) {                     \
    if (list->count == list->capacity) {                                  \
      size_t capacity = list->capacity ? list->capacity * 2 : 64;         \
      TYPE *items = realloc(list->items, capacity * sizeof *items);       \
      if (!items) return NULL;                                            \
      list->items = items;                                                \
      list->capacity = capacity;                                          \
    }                                                                     \
    TYPE *item = &list->items[list->count++];                             \
    memset(item, 0, sizeof *item);                                        \
    return item;                                                          \
  }                                                                       \
  static inline void NAME##_free(struct NAME *list) {                     \
    free(list->items);                                                    \
    *list = (struct NAME){0};                                             \
  }

#endif
