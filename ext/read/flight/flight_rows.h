/* flight_rows.h: the rows that a dump of the Flight Recorder becomes, collected from the tree of its pickle or JSON. */
#ifndef TFPROF_FLIGHT_ROWS_H
#define TFPROF_FLIGHT_ROWS_H

#include "read/pickle/pickle_rows.h"

/* Texts are ids, 0: NULL; of numbers ROW_NULL is NULL. */
struct flight_record {
  string_id group, description, ranks, name, state;
  string_id input_shapes, output_shapes, input_dtypes, output_dtypes;
  int64_t record_number, number, op_number, is_point_to_point, in_elements, out_elements;
  int64_t created_ns, started_ns, completed_ns, device_ns, timeout_ns, is_pending, thread, trace;
};
/* How far a process group has come, of collectives or of sends and receives. */
struct flight_group {
  size_t record;       /* the first that is pending, else the last */
  int64_t last_number; /* that was asked for */
};
struct flight_thread {
  string_id name;
  size_t pending; /* the number, from 1, of its first record that is pending; 0: none is */
};

struct flight_rows {
  struct pickle_rows pickle; /* texts and stacks */
  LIST(struct flight_record) records;
  LIST(struct flight_group) groups;
  LIST(struct flight_thread) threads;
  struct row_map group_index, thread_index, rank_lists;
  size_t pending;            /* the number, from 1, of the record that has been pending longest; 0: none is */
  int64_t world_size;        /* 0: not told */
  int64_t first_ns, last_ns; /* that stand in the dump */
  int64_t written_ns;        /* when the file was written */
  uint64_t odd_count, long_count; /* what is not among the rows */
};

/* Collects everything from the root of a dump. `written_ns`: since 1970. TFPROF_NO_MEMORY, TFPROF_LIMIT,
** TFPROF_INTERRUPTED. Free in any case. */
enum tfprof_status flight_collect(struct flight_rows *rows, struct store *store, const struct pickle_value *root,
                                  uint64_t file_bytes, int64_t written_ns, struct tfprof_error *error);
void flight_rows_free(struct flight_rows *rows);

/* Makes the tables of a profile from them. */
enum tfprof_status flight_publish(const struct flight_rows *rows, struct profile *profile, struct tfprof_error *error);

#endif
