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
    int64_t device;     /* row in devices + 1; 0: none yet */
    uint32_t allocator; /* string */
    uint64_t peak, peak_written;
  } pools[POOL_MAXIMUM];
  struct live_memory live; /* of POOL_CPU */
  uint64_t unknown;        /* releases of pieces that are not known: no row */
  uint32_t allocate, release, out_of_memory; /* strings */
};

/* false: no memory. */
bool memory_rows_begin(struct memory_rows *rows, struct dump_writer *writer);
void memory_rows_end(struct memory_rows *rows);
/* `thread`: its row; `trace`: the row of code_traces + 1 or 0. Items come in order of time. false: there is no room. */
bool memory_rows_add(struct memory_rows *rows, struct dump_writer *writer, const struct clock_map *clock,
                     const struct memory_item *item, int64_t thread, uint64_t trace);

/* Whether the peak of a pool is much higher than at the last call of the other. */
bool memory_rows_have_grown(const struct memory_rows *rows);
void memory_rows_written(struct memory_rows *rows);

#endif
