/* activity_lanes.h: what all records have in common: their times, streams, threads and correlation numbers. On the
** writer thread only.
*/
#ifndef TFPROF_CAPTURE_ACTIVITY_LANES_H
#define TFPROF_CAPTURE_ACTIVITY_LANES_H

#include "device_clock.h"
#include "recorder/recorder.h"

/* CUPTI's numbers count up to 2^32 and begin anew, and begin anew as well when CUPTI does. Ours go on. */
struct correlations {
  uint64_t last; /* the last one that was met, as ours; 0: none */
  uint64_t base; /* what those since CUPTI began last lie above */
};

/* What CUPTI tells of the launches of graphs (graph_links.h). */
enum graph_numbers { NUMBERS_ARE_RIGHT, NUMBERS_ARE_NOTED /* and will be doubted */, NUMBERS_ARE_DOUBTED };

struct activity_lanes {
  struct recorder *recorder;
  struct device_clock clock;
  struct correlations correlations;
  struct key_map streams;    /* context and stream to row of threads */
  struct key_map contexts;   /* to the device's number */
  struct key_map priorities; /* of streams that were made, before they have a row */
  struct {
    uint64_t key;
    int64_t row;
  } last_stream;
  struct {
    uint32_t tid;
    int64_t row;
  } last_thread;
  int64_t devices[64];              /* row of devices + 1, by number */
  uint64_t without_times, reversed; /* records that have none; whose end lies before their start */
  enum graph_numbers graph_numbers;
  uint64_t of_lost_graphs; /* work of graphs whose call was not told right */
  uint64_t of_other_clocks;         /* whose times are of a clock that we do not know */
  bool is_end_doubted;              /* of the record that is read (launch_times_is_over_pause) */
  uint64_t doubted_ends;
};

bool activity_lanes_begin(struct activity_lanes *lanes, struct recorder *recorder);
void activity_lanes_end(struct activity_lanes *lanes);
/* CUPTI begins (anew): numbers that it gives from now on are others than those before. */
void activity_lanes_renumber(struct activity_lanes *lanes);

/* NULL where there is no such row: -1. */
int64_t activity_device(struct activity_lanes *lanes, uint32_t device);
int64_t activity_thread(struct activity_lanes *lanes, uint32_t tid);
int64_t activity_stream_row(struct activity_lanes *lanes, uint32_t device, uint32_t context, uint32_t stream);
static inline int64_t activity_stream(struct activity_lanes *lanes, uint32_t device, uint32_t context,
                                      uint32_t stream) {
  uint64_t key = (uint64_t)context << 32 | stream;
  if (__builtin_expect(lanes->last_stream.key == key && lanes->last_stream.row, 1)) return lanes->last_stream.row - 1;
  int64_t row = activity_stream_row(lanes, device, context, stream);
  lanes->last_stream.key = key;
  lanes->last_stream.row = row + 1;
  return row;
}
/* The device of a context, as far as it was told; -1: it was not. */
int64_t activity_device_of_context(struct activity_lanes *lanes, uint32_t context);
void activity_lanes_note_context(struct activity_lanes *lanes, uint32_t context, uint32_t device);
void activity_lanes_note_stream(struct activity_lanes *lanes, const struct cupti_stream *record);

/* 0: it has none. */
static inline uint64_t activity_correlation(struct activity_lanes *lanes, uint32_t number) {
  struct correlations *known = &lanes->correlations;
  if (!number) return 0;
  if (!known->last) return known->last = known->base + number;
  /* The closest to the last one. */
  int64_t full = (int64_t)known->last + (int32_t)(number - (uint32_t)known->last);
  if (full <= (int64_t)known->base) full += (int64_t)1 << 32;
  return known->last = (uint64_t)full;
}

/* Sets the two columns of a span. A record without times (0 and 0), or with those of a clock that we do not know, did
** happen: they stay NULL, which is counted. */
static inline void activity_set_span(struct activity_lanes *lanes, struct row_buffer *rows, uint32_t row,
                                     unsigned start_column, uint64_t start, uint64_t end) {
  int64_t start_ns = device_clock_ns(&lanes->clock, start), end_ns = device_clock_ns(&lanes->clock, end);
  if (__builtin_expect(start_ns == DEVICE_CLOCK_UNKNOWN || end_ns == DEVICE_CLOCK_UNKNOWN, 0)) {
    lanes->without_times += !start;
    lanes->of_other_clocks += start != 0;
    return;
  }
  row_set(rows, row, start_column, start_ns);
  if (__builtin_expect(end < start, 0)) lanes->reversed++;
  else if (__builtin_expect(lanes->is_end_doubted, 0)) lanes->doubted_ends++;
  else row_set(rows, row, start_column + 1, end_ns - start_ns);
}

/* Sets the column of a single moment, if it is known; 0 is none. */
static inline void activity_set_time(struct activity_lanes *lanes, struct row_buffer *rows, uint32_t row,
                                     unsigned column, uint64_t time) {
  int64_t time_ns = device_clock_ns(&lanes->clock, time);
  if (time_ns != DEVICE_CLOCK_UNKNOWN) row_set(rows, row, column, time_ns);
}

/* Sets a column unless the value is -1. */
static inline void activity_set_row(struct row_buffer *rows, uint32_t row, unsigned column, int64_t value) {
  if (value >= 0) row_set(rows, row, column, value);
}

#endif
