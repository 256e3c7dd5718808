/* sweep_index.h: what one sweep over everything finds out, so that a sweep over a window reads little else.
**
** Of each stretch of LANES_BLOCK rows when its first event begins and its last one ends; and of rows whose table does
** not tell a depth, the one that was free, which depends on all that ran before.  It is filled by a sweep of all
** threads, and is good for as long as the table has the same segments; 2 bytes a row and 16 a stretch.
*/
#ifndef TFPROF_LANES_SWEEP_INDEX_H
#define TFPROF_LANES_SWEEP_INDEX_H

#include "lanes/sweep.h"

enum { NOT_INDEXED = UINT16_MAX };

/* Of rows that follow each other. Times as in lanes: with the offset of their profile's clock. */
struct sweep_stretch {
  int64_t first_start, last_end; /* without any event that has a place: INT64_MAX, INT64_MIN */
};

struct indexed_segment {
  const struct segment *segment;
  int64_t clock_offset_ns;
  struct sweep_stretch *stretches;
  uint16_t *depths; /* that were free, by row; NOT_INDEXED: the table tells it; NULL: of all rows */
};

struct indexed_table {
  struct snapshot *snapshot; /* keeps the segments alive; NULL: nothing is known */
  struct indexed_segment *segments;
  size_t segment_count;
  bool is_complete, is_disordered; /* disordered: rows come by their starts, not as they stand */
};

struct sweep_index {
  struct indexed_table tables[LANE_TABLES];
};

struct sweep_index *sweep_index_create(void); /* NULL: no memory */
void sweep_index_free(struct sweep_index *index);

/* Whether the index has the table as the snapshot has it. */
bool sweep_index_has(const struct indexed_table *table, const struct snapshot *snapshot);
/* Makes room for a table that is swept now. false: no memory, and nothing is kept. */
bool sweep_index_begin(struct indexed_table *table, struct snapshot *snapshot);
bool sweep_index_keep_depth(struct indexed_segment *indexed, uint32_t row, uint32_t depth); /* false: no memory */
void sweep_index_forget(struct indexed_table *table);

#endif
