/* clock_watch.h: whether the clocks still go together, and what is said where they do not. On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_CLOCK_WATCH_H
#define TFPROF_CAPTURE_CLOCK_WATCH_H

#include "recorder.h"

void clock_watch_begin(void);
/* Before what threads have written is read: it is a time of the counter up to which all is known to be right. */
uint64_t clock_watch_look(struct recorder *recorder);
/* Each second. */
void clock_watch_tick(struct recorder *recorder);

#endif
