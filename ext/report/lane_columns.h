/* lane_columns.h: the events of a timeline as columns that a page decodes: small, and without a number in text.
**
** A lane has its tracks (lanes/sweep.h) one after the other, and of their events at most six columns, of cells six.
** Lanes of one table share their columns, in the order of the lanes, as long as those are short: a bundle, so that
** thousands of threads with a few events each are a few streams.
**
**   starts   from the start of the event before in the track, of the first from the origin
**   lengths  end less start
**   names    an index into the names, each of which has a category
**   rows     from the row of the event before, which for the first is 0; zigzag: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...;
**            of cells the row of the longest event
**   counts, busy   of cells: how many events, and their time
**   links    of events: who caused it, as 0: not known, or 1 + 2 * zigzag(row less that of the link before in the
**            track) + k, where k is 0 for a row of api_calls and 1 for one of ops
**   traces   of ops: 0: no stack, or 1 + zigzag(row of code_traces less that of the trace before)
** A column of a bundle without any value other than 0 is not there, but for the first four.
**
** Numbers are varints (7 bits a byte, the lowest first, the 8th bit: more follow); a column of a bundle is one zlib
** stream.  Equal events give equal bytes.
*/
#ifndef TFPROF_LANE_COLUMNS_H
#define TFPROF_LANE_COLUMNS_H

#include "lanes/cells.h"

enum { LANE_COLUMNS = 8 };
extern const char *const lane_column_names[LANE_COLUMNS];

struct packed_bytes {
  unsigned char *bytes;
  size_t length, capacity;
};

struct packed_lane {
  uint32_t profile_number;
  int64_t thread_id;                 /* 0: none */
  uint8_t kind;                      /* of lane_tables */
  uint32_t first_track, track_count; /* into tracks */
  uint32_t bundle;                   /* that its columns lie in */
};

struct packed_bundle {
  uint64_t event_count;
  struct packed_bytes columns[LANE_COLUMNS]; /* compressed */
};

struct packed_track {
  uint32_t depth;
  uint64_t count;
};

struct packed_name {
  string_id name, category; /* category 0: the word of its table */
  uint8_t kind;
  uint32_t next;
};

struct lane_columns {
  struct packed_lane *lanes;
  uint32_t lane_count;
  struct packed_bundle *bundles;
  uint32_t bundle_count;
  struct packed_track *tracks;
  struct packed_name *names;
  uint32_t name_count, name_capacity;
  uint64_t event_count, cell_count; /* cells: of what is drawn; the same where each event is by itself */
  uint64_t bytes;                   /* of all columns */
};

/* Of the events that touch [from, to), since `origin`; bucket_ns 0: each event by itself. index may be NULL.
** TFPROF_LIMIT: of a bucket there are more than most_cells. After a failure there is nothing to clear. */
enum tfprof_status lane_columns_make(struct lane_columns *columns, struct store *store, int64_t from_ns, int64_t to_ns,
                                     int64_t origin_ns, int64_t bucket_ns, struct sweep_index *index, size_t most_cells,
                                     struct tfprof_error *error);
void lane_columns_clear(struct lane_columns *columns);
/* Leaves out links and traces, for where they do not fit. */
void lane_columns_drop_causes(struct lane_columns *columns);

#endif
