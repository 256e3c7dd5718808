/* launch_order.h: which events lie out of an order that their numbers tell.
**
** A stream runs what it is given one after the other, and a thread makes its calls one after the other: by the order of
** launches, or of the numbers of calls, starts only grow.  Of the events of a lane the largest part that keeps the
** order is sound; what lies more than ORDER_SKEW_NS out of it is not.  Where that is more than a share of a lane, the
** lane keeps no such order, and all of it stays: queues of hardware that several streams share, numbers of several
** sources.
*/
#ifndef TFPROF_LAUNCH_ORDER_H
#define TFPROF_LAUNCH_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDER_SKEW_NS = 1000000 };

struct in_order {
  int64_t key, start; /* starts grow with keys; of events with one key in any order */
  uint32_t lane;
  uint32_t number;    /* the caller's */
  int64_t away;       /* found: how far out of the order it lies; 0: it does not */
};

/* Sorts the events and finds `away` of each, which no more than one of `share` of a lane has, or a single one of eight
** or more. False: no memory. */
bool launch_order_find(struct in_order *events, size_t count, unsigned share);

#endif
