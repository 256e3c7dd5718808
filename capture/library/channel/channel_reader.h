/* channel_reader.h: what the threads have written, in the order in which it happened, for the sources.
**
** Items of a thread come in the order in which it wrote them; those that have a time (thread_record.h) are merged with
** those of the other threads by it, up to the moment when the reading began.  Each goes to the sources that name its
** kind (`items` of source.h).
*/
#ifndef TFPROF_CAPTURE_CHANNEL_READER_H
#define TFPROF_CAPTURE_CHANNEL_READER_H

#include "recorder/parts.h"
#include "recorder/source.h"
#include "thread_record.h"

struct channel_item {
  const struct item *item;
  const struct capture_thread *thread; /* whose numbers it uses */
  uint64_t ticks;    /* when it was: of an item without a time when the last one before it was, */
  uint32_t later_ns; /* and so much later */
};

/* Items of ops that ended on another thread than the one that began them, for which there was no memory. */
uint64_t late_items_lost(void);

/* Threads of the program, their names and their rows. */
extern const struct capture_source channels_source;

#endif
