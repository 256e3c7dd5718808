/* sweep.h: one pass over all events that have a place in a timeline, as lanes with rows in which nothing overlaps.
**
** A lane is a thread or a stream, for each table of lane_tables by itself; events without a thread, and those that may
** end on another one (ranges without a depth), have a lane for each profile.  A track is one row of a lane: the depth
** that the table says (how many ops are around an op), or, where it says none, the first row that is free when the
** event begins.  What lies deeper than LANES_DEEPEST shares that row.
**
** Events come in blocks, of each track by ascending start.  Most tables are in that order as they stand; where one
** turns out not to be, what came of it is to be forgotten (`forget`), and it comes again by way of an index.
**
** An event without a start has no place and does not come; one that never ended, or ends before it begins, takes no
** time.  Times are in nanoseconds since 1970.
*/
#ifndef TFPROF_LANES_SWEEP_H
#define TFPROF_LANES_SWEEP_H

#include "store/snapshot.h"
#include "store/store.h"

enum { LANES_BLOCK = 1024, LANES_DEEPEST = 1023, LANE_TABLES = 6 };

/* A table of events. */
struct lane_table {
  uint16_t table;
  int16_t start, duration, thread, depth, name, category; /* columns; -1: it has none */
  const char *word; /* what the category is called where the column has none; of kernels that compute, too */
};
/* In the order in which they lie below each other. */
extern const struct lane_table lane_tables[LANE_TABLES];

struct lane {
  uint32_t profile_number;
  uint8_t kind; /* index into lane_tables */
  bool is_wanted;
  int64_t thread_id;  /* 0: events of the profile without one */
  int64_t last_start; /* of its last event where it is a row that is free that tells their depth */
  uint32_t *tracks;   /* by depth; UINT32_MAX: nothing was there so far */
  uint32_t depth_count;
};

struct track {
  uint32_t lane, depth;
  int64_t last_start, last_end; /* of the event that came last; INT64_MIN before the first */
};

/* Events of one segment: rows ascend and lie within LANES_BLOCK. */
struct lane_block {
  const struct segment *segment;
  unsigned kind;
  uint32_t count;
  uint32_t rows[LANES_BLOCK], tracks[LANES_BLOCK];
  int64_t starts[LANES_BLOCK], ends[LANES_BLOCK];
};

struct sweep_index; /* sweep_index.h */

struct sweep {
  struct store *store;
  int64_t from_ns, to_ns; /* events that touch [from, to) */
  const int64_t *threads; /* NULL: all; else only of these, sorted; 0 stands for no thread */
  size_t thread_count;
  const char *selection; /* of profiles, as store_snapshot() has it */
  struct sweep_index
      *index; /* of all profiles: is used, or filled where it does not have a table; NULL: there is none */
  /* What is done with the events. */
  enum tfprof_status (*take)(void *user, const struct lane_block *block, struct tfprof_error *error);
  void (*forget)(void *user, uint32_t track); /* all that came of the tracks from this one on */
  void *user;
  struct column_set reads[TABLE_count]; /* columns that `take` reads beside those, to be loaded before */
  /* What came of it, until sweep_clear(). */
  struct lane *lanes;
  uint32_t lane_count, lane_capacity;
  struct track *tracks;
  uint32_t track_count, track_capacity;
  struct snapshot *snapshots[LANE_TABLES]; /* keep the segments of blocks alive */
};

/* TFPROF_NO_MEMORY, TFPROF_INTERRUPTED, or what reading says. */
enum tfprof_status sweep_run(struct sweep *sweep, struct tfprof_error *error);
void sweep_clear(struct sweep *sweep);

/* The tracks in the order in which they are to be drawn: by profile, thread (those without one last), table and depth.
** The caller frees them; NULL: no memory. */
uint32_t *sweep_order(const struct sweep *sweep);

#endif
