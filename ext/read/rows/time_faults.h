/* time_faults.h: what sound_times.c, launch_times.c, stream_times.c, long_times.c, mark_times.c and thread_times.c
** have in common: the rows whose times they mend, and the telling.
*/
#ifndef TFPROF_TIME_FAULTS_H
#define TFPROF_TIME_FAULTS_H

#include "store/store.h"

enum time_fault {
  FAULT_FAR_START,
  FAULT_LONG,
  FAULT_OUTLASTS,
  FAULT_CLOCK,
  FAULT_BEFORE_LAUNCH,
  FAULT_OUT_OF_ORDER,
  FAULT_AFTER_ALL,
  FAULT_OVER_OTHERS,
  FAULT_OVER_MARKS,
  FAULT_CROSSES,
  FAULT_OVERLAPS,
  FAULT_COUNT
};
enum { FAULT_NAMES = 5 }; /* of one kind that are told apart; more are told together */

struct time_faults { /* zeroed: none */
  struct fault_tally {
    uint32_t thread; /* row of threads; UINT32_MAX: none */
    string_id name;
    unsigned table;
    uint64_t count;
    double stake_ns; /* how much less the durations are now */
    double away_ns;  /* of the first: how far from the others it was */
  } named[FAULT_COUNT][FAULT_NAMES + 1]; /* the last: all others */
};

/* Adds the fault of a row, with the row's lane and name. `count`: so many rows are told by this one. */
void time_faults_add(struct time_faults *faults, enum time_fault fault, const struct segment *segment, uint32_t row,
                     uint64_t count, double stake_ns, double away_ns);
/* A diagnostic for each name. */
void time_faults_tell(const struct time_faults *faults, struct profile *profile);

struct bounds { int64_t low, high; };

void bounds_widen(struct bounds *bounds, int64_t low, int64_t high);
/* Numbers that no value of the column lies beyond; low > high: there are none. */
struct bounds column_bounds(const struct column *column);
/* Whether rows of the segment have starts and durations. */
bool segment_has_span(const struct segment *segment);
/* All values of a column of a segment, ROW_NULL for NULL; the caller frees them. NULL: no memory. */
int64_t *segment_numbers(const struct segment *segment, unsigned column);
/* Puts other starts and durations into a segment with a span, and the ends that follow. False: no memory. */
bool segment_change_span(struct segment *segment, const int64_t *starts, const int64_t *durations);
bool segment_change(struct segment *segment, unsigned column, const int64_t *values);

/* What rows with a span say of themselves; NULL: the table has no such column. */
struct row_columns { int64_t *starts, *durations, *threads, *categories; };

/* False: no memory. The caller frees them either way. */
bool row_columns_read(struct row_columns *columns, const struct segment *segment);
void row_columns_free(struct row_columns *columns);

/* By row of threads whether it is a stream of a device; the caller frees it. NULL: no memory. */
uint8_t *threads_on_devices(const struct profile *profile, uint64_t *thread_count);

/* ---- launch_times.c ---- */

/* Moves the clocks of devices that are off and, unless `is_clock_only`, takes out what begins before its launch, out of
** the order of launches, or after all else.  All segments of the tables kernels and transfers are there and, where it
** `has_host`, of api_calls and ops; else only the order is looked at. */
enum tfprof_status launch_times_mend(struct profile *profile, bool has_host, bool is_clock_only,
                                     struct time_faults *faults, bool *is_changed, struct tfprof_error *error);

/* ---- long_times.c ---- */

/* Takes durations out that end far behind all else. All segments of the tables are there. */
enum tfprof_status long_times_mend(struct profile *profile, const uint16_t *tables, unsigned count,
                                   struct time_faults *faults, bool *is_changed, struct tfprof_error *error);

/* ---- mark_times.c ---- */

/* Ends numbered marks of host threads that last over the next ones where these begin. All segments of the tables are
** there. */
enum tfprof_status mark_times_mend(struct profile *profile, const uint16_t *tables, unsigned count,
                                   struct time_faults *faults, bool *is_changed, struct tfprof_error *error);

/* ---- thread_times.c ---- */

/* Takes durations of ops and calls out that last over what follows on their thread. All segments of the tables are
** there. */
enum tfprof_status thread_times_mend(struct profile *profile, const uint16_t *tables, unsigned count,
                                     struct time_faults *faults, bool *is_changed, struct tfprof_error *error);

/* ---- stream_times.c ---- */

/* Ends what lasts over many later ones of its stream where the next one begins. */
enum tfprof_status stream_times_mend(struct profile *profile, struct time_faults *faults, bool *is_changed,
                                     struct tfprof_error *error);

#endif
