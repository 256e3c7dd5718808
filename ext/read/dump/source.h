/* source.h: what the parts of the dump reader share: dump.c (files), numbers.c (rows), strings.c (texts), load.c
** (columns), span.c (times that need more care), guests.c (files that a dump names, of windows.c and guest_parts.c),
** damage.c (what is wrong). */
#ifndef TFPROF_DUMP_SOURCE_H
#define TFPROF_DUMP_SOURCE_H

#include "dump/reader.h"
#include "store/store.h"

/* A segment is some frames that follow each other, whether rows between them were lost or not. */
enum { SEGMENT_FRAMES = 64, SEGMENT_ROWS = 1 << 18 };

struct string_range {
  string_id minimum, maximum;
};

struct row_numbers { /* of one table */
  struct row_run *runs;
  size_t count, capacity;
  uint64_t rows; /* in all of them, and of guests */
};

struct dump_windows;
struct dump_guests;

struct dump_source { /* source_data of a profile, shared by its versions */
  struct dump_file *file;
  struct row_numbers numbers[TABLE_count];
  size_t frames_numbered;
  /* The pool's id of each of the file's string ids, [0] for NULL; and the least and greatest of blocks of them, so that
  ** the width of a column of texts is found without looking at all. */
  string_id *strings;
  uint32_t string_count; /* with [0] */
  struct string_range *ranges;
  size_t string_capacity, range_capacity;
  struct pending_strings *pending_strings; /* NULL, or texts that found no memory */
  size_t problems_told;
  struct dump_windows *windows; /* NULL: there are none */
  struct dump_guests *guests;   /* NULL: there are none */
};

struct dump_segment { /* source_data of a segment */
  bool is_of_guest;     /* its rows stand in another file: guests.c */
  uint32_t frame_count; /* of those, two numbers: the guest and the segment of its profile */
  uint32_t frames[]; /* indexes of file->frames */
};

static inline bool is_dump_time(int64_t value) { return value >= -STORE_TIME_LIMIT && value <= STORE_TIME_LIMIT; }

/* ---- numbers.c ---- */
/* Takes in the frames that the file has got. */
enum tfprof_status dump_number_rows(struct dump_source *source, struct tfprof_error *error);
/* Whether rows of the table have other numbers in the file than here: some were lost. */
bool dump_numbers_differ(const struct dump_source *source, unsigned table);
/* The row of a number in the file; false: it was lost or never there, and *row is the next one that is there. */
bool dump_row(const struct dump_source *source, unsigned table, uint64_t number, uint64_t *row);
/* The number in the file of a row, or of the last row of the file before it; false: there is none. */
bool dump_number(const struct dump_source *source, unsigned table, uint64_t row, uint64_t *number);
/* Numbers rows that stand in another file. */
void dump_number_others(struct dump_source *source, unsigned table, uint64_t rows);
void dump_numbers_free(struct dump_source *source);

/* ---- strings.c ---- */
/* Publishes the file's strings that are not in the pool yet, and tells what was wrong with them. */
enum tfprof_status dump_load_strings(struct profile *profile, struct tfprof_error *error);
/* Gives the texts the ids of another pool, as source->adopt. */
void dump_adopt_strings(struct profile *profile, const string_id *map);
/* The least and greatest pool id of the file's ids minimum ... maximum, which must be below string_count. A least of 0:
** some of these texts were lost. */
struct string_range dump_string_range(const struct dump_source *source, uint32_t minimum, uint32_t maximum);

/* ---- load.c ---- */
enum tfprof_status dump_load(struct profile *profile, struct segment *segment, const uint16_t *columns, unsigned count,
                             struct column **out, struct tfprof_error *error);
static inline const struct dump_frame *dump_segment_frame(const struct dump_source *source,
                                                          const struct segment *segment, size_t i) {
  const struct dump_segment *own = segment->source_data;
  assert(i < own->frame_count && own->frames[i] < source->file->frame_count);
  return &source->file->frames[own->frames[i]];
}
/* The place of a frame's first row within the segment. */
static inline uint32_t dump_row_in_segment(const struct dump_source *source, const struct segment *segment,
                                           const struct dump_frame *frame) {
  uint64_t row;
  bool is_there = dump_row(source, segment->table, frame->first_row, &row);
  assert(is_there && row >= segment->first_row && row - segment->first_row + frame->rows <= segment->rows);
  (void)is_there;
  return (uint32_t)(row - segment->first_row);
}
/* Whether decoding failed for what the file holds and not for want of memory or of the file. */
static inline bool dump_is_damage(enum tfprof_status status) {
  return status == TFPROF_CORRUPT || status == TFPROF_VERSION || status == TFPROF_IO;
}
/* Whether a file cannot be read at all: it is gone, or another one. */
static inline bool dump_is_lost(enum tfprof_status status) {
  return status == TFPROF_NOT_FOUND || status == TFPROF_REPLACED || status == TFPROF_IO;
}
/* ---- damage.c ---- */
/* What dump_block_decode says is wrong, without the numbers of column and table, of which we tell the names. */
const char *dump_damage_text(const struct tfprof_error *reason);
void dump_tell_damage(struct segment *segment, unsigned column, const struct dump_frame *frame,
                      enum tfprof_status status, uint64_t offset, const char *text);
void dump_tell_refused(struct segment *segment, unsigned column, int64_t count);
/* Tells the problems of the file that were not told yet. */
void dump_tell_problems(struct profile *profile);

/* ---- span.c ---- */
struct span_blocks { /* of one frame, NULL: it has none */
  const struct dump_block *start, *end, *dur;
};
struct span_blocks dump_span_blocks(const struct table_spec *spec, const struct dump_frame *frame);
/* Whether all frames of the segment have start or end with the duration, and values that can neither be negative where
** they must not nor overflow when added up: judged by the directory alone. */
bool dump_span_is_even(const struct dump_source *source, const struct segment *segment);
/* Loads the three columns of any other segment: columns[0 ... 2] are start, end, duration. */
enum tfprof_status dump_load_odd_span(struct profile *profile, struct segment *segment, struct column **columns,
                                      struct tfprof_error *error);

/* Whether a table repeats others, added up or cut into pieces, and is made of these in less time than it takes to read.
** It is always made of them: a copy that an earlier release saved may have less of it than is asked for now, or have it
** otherwise, so what a file says of it is not looked at. */
static inline bool dump_is_made_again(unsigned table) {
  return table == TABLE_device_activities || table == TABLE_queue_events || table == TABLE_step_segments ||
         table == TABLE_step_phases || table == TABLE_critical_path || table == TABLE_op_totals ||
         table == TABLE_step_op_totals || table == TABLE_op_durations || table == TABLE_op_device_durations ||
         table == TABLE_op_shape_totals || table == TABLE_kernel_totals || table == TABLE_activity_totals ||
         table == TABLE_step_activity_totals || table == TABLE_idle_totals || table == TABLE_launch_totals ||
         table == TABLE_critical_path_totals || table == TABLE_stream_totals || table == TABLE_api_call_totals ||
         table == TABLE_allocation_totals || table == TABLE_memory_event_totals ||
         table == TABLE_kernel_launch_totals || table == TABLE_module_totals || table == TABLE_queue_totals ||
         table == TABLE_step_input_totals || table == TABLE_op_kernel_totals || table == TABLE_outermost_totals ||
         table == TABLE_step_trace_totals;
}

#endif
