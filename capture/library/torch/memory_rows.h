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

#include "channel/thread_record.h"
#include "left_out_memory.h"
#include "memory_pools.h"
#include "recorder/clock.h"
#include "recorder/row_buffer.h"
#include "recorder/row_map.h"

struct memory_pool_rows {
  int64_t device;     /* row in devices + 1; 0: none yet */
  uint32_t allocator; /* string */
  uint64_t peak, peak_written, reserved_peak;
  struct live_memory live; /* of POOL_CPU all pieces, of others those that have no row */
  /* The pieces without rows that were live when most was in use: those given until then, and not taken by then. */
  bool is_peak_open;         /* they may still get their rows */
  uint64_t peak_order;       /* the last one given */
  uint64_t peak_given;       /* the peak whose pieces have their rows */
  uint32_t first_taken;      /* of those that were taken since, by next */
};

struct memory_total { /* since the last row: pieces that were given and taken back without rows */
  uint32_t trace;     /* row in code_traces + 1; 0: none */
  uint32_t pool;
  uint64_t count, bytes;
  int64_t since_ns;
};

struct memory_rows {
  struct row_buffer events, devices, totals;
  struct dump_writer *writer;
  const struct clock_map *clock;
  void (*full)(void *context); /* empties `events`, which holds DUMP_FRAME_ROWS rows or more */
  struct memory_pool_rows pools[POOL_MAXIMUM];
  bool is_thinned;
  bool has_left_out;    /* since all that is live has rows */
  bool is_spoken_for;   /* steps with ops stand for those without */
  struct left_out_memory left_out;
  struct row_map total_map; /* trace and pool to place in `sums` + 1 */
  struct memory_total *sums;
  uint32_t sum_count, sum_capacity;
  uint64_t seconds;
  uint64_t summed;         /* pieces that are in memory_totals */
  uint64_t unknown;        /* releases of pieces that are not known: no row */
  uint64_t no_room;        /* events for which there was no room */
  uint32_t allocate, release, out_of_memory; /* strings */
};

/* `clock` and `full` are kept. false: no memory. */
bool memory_rows_begin(struct memory_rows *rows, struct dump_writer *writer, const struct clock_map *clock);
void memory_rows_end(struct memory_rows *rows);
/* `later_ns`: than the item says; `thread`: its row; `trace`: the row of code_traces + 1 or 0. Items come in order of
** time. false: there is no room. */
bool memory_rows_add(struct memory_rows *rows, const struct memory_item *item, uint32_t later_ns, int64_t thread,
                     uint64_t trace);

/* From now on; whether steps with ops stand for those without. */
void memory_rows_thin(struct memory_rows *rows);
void memory_rows_speak(struct memory_rows *rows, bool is_spoken_for, int64_t now_ns);
/* Each second, and at the end: what has been held for `patience` seconds gets rows; sums become rows. */
void memory_rows_tick(struct memory_rows *rows, int64_t now_ns, unsigned patience, bool is_end);
/* All that is live gets its rows now. */
void memory_rows_settle(struct memory_rows *rows);

/* Whether the peak of a pool is much higher than at the last call of the other. */
bool memory_rows_have_grown(const struct memory_rows *rows);
void memory_rows_written(struct memory_rows *rows);

#endif
