/* number_list.h: numbers that are free, from which any thread takes one and to which any gives one back, the last one
** first: one atomic operation, no lock, however many there are.
*/
#ifndef TFPROF_CAPTURE_NUMBER_LIST_H
#define TFPROF_CAPTURE_NUMBER_LIST_H

#include <stdatomic.h>
#include <stdint.h>

struct number_list {
  _Atomic uint64_t head;  /* the first number, 0: none; above its 32 bits how often one was taken: so that a thread that
                          ** was held up does not take the list for what it was, where others took and gave meanwhile */
  _Atomic uint32_t *next; /* by number - 1: the next number */
};

/* 0: there is none. */
static inline uint32_t number_list_take(struct number_list *list) {
  uint64_t head = atomic_load_explicit(&list->head, memory_order_acquire), after;
  do {
    if (!(uint32_t)head) return 0;
    uint32_t next = atomic_load_explicit(&list->next[(uint32_t)head - 1], memory_order_relaxed);
    after = ((head >> 32) + 1) << 32 | next;
  } while (!atomic_compare_exchange_weak_explicit(&list->head, &head, after, memory_order_acquire,
                                                  memory_order_acquire));
  return (uint32_t)head;
}

static inline void number_list_give(struct number_list *list, uint32_t number) {
  uint64_t head = atomic_load_explicit(&list->head, memory_order_relaxed);
  do atomic_store_explicit(&list->next[number - 1], (uint32_t)head, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&list->head, &head, (head & ~(uint64_t)UINT32_MAX) | number,
                                                memory_order_release, memory_order_relaxed));
}

#endif
