/* memory_rows.h: allocations, releases and failures of all threads become rows of memory_events and devices. On the
** writer thread only. */
#ifndef TFPROF_CAPTURE_MEMORY_ROWS_H
#define TFPROF_CAPTURE_MEMORY_ROWS_H

#include "clock.h"
#include "memory_callbacks.h"
#include "row_buffer.h"
#include "thread_record.h"

struct memory_rows {
  struct row_buffer events, devices;
  struct {
    int64_t device; /* row in devices + 1; 0: none yet */
    uint32_t allocator; /* string */
    int64_t peak;   /* as of the events until now */
  } pools[POOL_MAXIMUM];
  uint32_t allocate, release, out_of_memory; /* strings */
};

/* false: no memory. */
bool memory_rows_begin(struct memory_rows *rows, struct dump_writer *writer);
void memory_rows_end(struct memory_rows *rows);
/* `thread`: its row; `trace`: the row of code_traces + 1 or 0. false: there was no room. */
bool memory_rows_add(struct memory_rows *rows, struct dump_writer *writer, const struct clock_map *clock,
                     const struct memory_item *item, int64_t thread, uint64_t trace);

#endif
