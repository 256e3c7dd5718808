/* snapshot_rows.h: the rows that a memory snapshot becomes, collected from the tree of its pickle. */
#ifndef TFPROF_SNAPSHOT_ROWS_H
#define TFPROF_SNAPSHOT_ROWS_H

#include "read/pickle/pickle_rows.h"

struct snapshot_allocation {
  int64_t address, bytes, requested, device, allocated_ns, released_ns, trace;
};
struct snapshot_event {
  int64_t time, bytes, address, device, allocation, in_use, reserved, free_bytes, trace;
  string_id kind, region;
};
struct snapshot_segment {
  int64_t address, bytes, device, allocated_ns, released_ns;
  string_id allocator;
};
/* What the program marked: user_defined entries of a trace, and external_annotations. */
struct snapshot_mark {
  string_id name;
  int64_t start_ns, end_ns; /* ROW_NULL: not told */
};

struct snapshot_rows {
  struct pickle_rows pickle; /* texts and stacks */
  LIST(struct snapshot_allocation) allocations;
  LIST(struct snapshot_event) events;
  LIST(struct snapshot_segment) segments;
  LIST(struct snapshot_mark) marks;
  struct row_map live, open_marks;
  int64_t device_count, first_ns, last_ns;
  uint64_t free_requested_count, odd_count, unknown_actions; /* what is not among the rows */
  int64_t held, reserved;                                    /* bytes of devices without a trace, at the end */
  uint64_t unplaced_marks;                                   /* moments of a clock, where has_no_times */
  bool has_no_history;                                       /* there are segments, and no event at all */
  bool has_no_times;                                         /* places in the trace stand for them, as nanoseconds */
};

/* Collects everything from the root of a snapshot. TFPROF_NO_MEMORY, TFPROF_LIMIT, TFPROF_INTERRUPTED. Free in any
** case. */
enum tfprof_status snapshot_collect(struct snapshot_rows *rows, struct store *store, const struct pickle_value *root,
                                    uint64_t file_bytes, struct tfprof_error *error);
void snapshot_rows_free(struct snapshot_rows *rows);

/* Makes the tables of a profile from them. */
enum tfprof_status snapshot_publish(const struct snapshot_rows *rows, struct profile *profile,
                                    struct tfprof_error *error);

#endif
