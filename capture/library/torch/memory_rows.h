/* memory_rows.h: allocations, releases and failures of all threads become rows of memory_events and devices. On the
** writer thread only.
**
** Once they are thinned (byte_budget.h, or a file as large as it may be) what is given while no ops are recorded gets
** no row at first (left_out_memory.h).  It gets one after all, and its release, too,
**
**   when ops are recorded again, or an allocation fails, while it is live: so recorded steps have all of their events;
**   when it is held for longer, or memory has grown by much, or the recording ends;
**   when it was live while most was in use, once that is known: at the next second, where the peak is higher by
**   PEAK_SHARE than the last one that was written, else at the end.
**
** So what is live and what was at the peak is complete, by line, with what it was made of.  The others are summed up in
** rows of memory_totals: those without a stack each second, those of a line every TOTALS_SECONDS.
*/
#ifndef TFPROF_CAPTURE_MEMORY_ROWS_H
#define TFPROF_CAPTURE_MEMORY_ROWS_H

#include "channel/channel_reader.h"
#include "recorder/live_memory.h"
#include "recorder/recorder.h"

enum { MEMORY_ITEMS = 1 << ITEM_MEMORY | 1 << ITEM_OUT_OF_MEMORY | 1 << ITEM_MEMORY_BRIEF };

/* See recorder/source.h. */
bool memory_rows_open(struct recorder *recorder);
void memory_rows_item(struct recorder *recorder, const struct channel_item *item);
/* What has grown by much gets its rows, which are urgent. */
uint64_t memory_rows_drain(struct recorder *recorder, uint64_t limit);
/* What has been held for long gets rows; sums become rows. */
void memory_rows_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end);
void memory_rows_losses(struct recorder *recorder);
/* `live`: what is live of the CPU's memory goes there; NULL: nobody wants to know. */
void memory_rows_close(struct live_memory *live);

#endif
