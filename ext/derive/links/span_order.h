/* span_order.h: the rows of one thread brought into the order in which they ended. */
#ifndef TFPROF_DERIVE_SPAN_ORDER_H
#define TFPROF_DERIVE_SPAN_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct span {
  int64_t start, end;
  uint32_t row;
  bool is_user, is_async, is_frame;
};

/* Brings the spans of one thread from the order of their rows into end order, and tells whether any may cross. Equal
** ends come by start downwards, equal spans as the source's order suggests. False: there is no memory. */
bool span_order_by_end(struct span *spans, uint32_t count, bool *is_crossed);

#endif
