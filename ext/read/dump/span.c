/* span.c: start_ns, end_ns and dur_ns of segments where they do not simply fit together.
**
** Nearly all segments are even (see dump_span_is_even) and are left to load.c.  The others are decoded here as
** a whole, row by row with every check: frames that store start and end, rows of which only the end is known, values
** that a damaged file or a hostile hand has put there.
*/
#include "read/dump/source.h"

#include <stdlib.h>
#include <string.h>

struct span_blocks dump_span_blocks(const struct table_spec *spec, const struct dump_frame *frame) {
  struct span_blocks blocks = {dump_frame_block(frame, spec->columns[spec->start_column].dump_id),
                               dump_frame_block(frame, spec->columns[spec->end_column].dump_id),
                               dump_frame_block(frame, spec->columns[spec->dur_column].dump_id)};
  return blocks;
}

static bool is_tame(const struct dump_block *block, int64_t minimum) {
  return block->encoding < DUMP_ENCODING_COUNT && block->encoding != DUMP_REAL && block->minimum >= minimum &&
         block->maximum <= STORE_TIME_LIMIT;
}

static bool is_even_frame(const struct span_blocks *blocks) {
  const struct dump_block *dur = blocks->dur;
  if (dur && !is_tame(dur, 0)) return false;
  if (blocks->start) {
    if (blocks->end || !is_tame(blocks->start, -STORE_TIME_LIMIT)) return false;
    return !dur || blocks->start->maximum + dur->maximum <= STORE_TIME_LIMIT;
  }
  if (!blocks->end) return true;
  /* A row with an end alone has no place in start and duration. */
  if (!dur || dur->has_nulls || !is_tame(blocks->end, -STORE_TIME_LIMIT)) return false;
  return blocks->end->minimum - dur->maximum >= -STORE_TIME_LIMIT;
}

bool dump_span_is_even(const struct dump_source *source, const struct segment *segment) {
  const struct dump_segment *frames = segment->source_data;
  for (size_t i = 0; i < frames->frame_count; i++) {
    struct span_blocks blocks =
        dump_span_blocks(&schema_tables[segment->table], dump_segment_frame(source, segment, i));
    if (!is_even_frame(&blocks)) return false;
  }
  return true;
}

enum { START, END, DURATION, PARTS };

struct odd_span { /* arrays as long as the segment; one set of buffers for a frame */
  struct segment *segment;
  struct dump_cursor *cursor;
  int64_t *values[PARTS];
  uint64_t *nulls[PARTS];
  int64_t *frame_values[PARTS];
  uint64_t *frame_nulls[PARTS];
  int64_t refused[PARTS];
  uint64_t ends_alone;
};

static unsigned column_of(const struct odd_span *span, unsigned part) {
  const struct table_spec *spec = &schema_tables[span->segment->table];
  return (unsigned)(part == START ? spec->start_column : part == END ? spec->end_column : spec->dur_column);
}

/* Decodes one block of a frame into its buffers; all NULL where there is none or it is damaged. */
static enum tfprof_status decode_part(struct odd_span *span, unsigned part, const struct dump_frame *frame,
                                      const struct dump_block *block, struct tfprof_error *error) {
  struct tfprof_error reason;
  enum tfprof_status status = TFPROF_OK;
  size_t null_bytes = (frame->rows + 63) / 64 * sizeof(uint64_t);
  if (block) {
    status = dump_block_decode(span->cursor, frame, block, span->frame_values[part], span->frame_nulls[part], &reason);
    if (!status && block->encoding == DUMP_REAL) {
      status = error_at(&reason, TFPROF_CORRUPT, "", block->offset, "it holds real numbers");
    }
    if (status && !dump_is_damage(status)) {
      if (error) *error = reason;
      return status;
    }
    if (status) {
      dump_tell_damage(span->segment, column_of(span, part), frame, status, block->offset, dump_damage_text(&reason));
    }
  }
  if (!block || status) memset(span->frame_nulls[part], 0xff, null_bytes);
  return TFPROF_OK;
}

/* One row: makes of what is known all that can be known. */
static void complete_row(struct odd_span *span, uint32_t frame_row, uint32_t row) {
  bool known[PARTS];
  int64_t value[PARTS];
  for (unsigned part = 0; part < PARTS; part++) {
    value[part] = span->frame_values[part][frame_row];
    known[part] = !nulls_have(span->frame_nulls[part], frame_row);
    if (!known[part]) continue;
    known[part] = is_dump_time(value[part]) && (part != DURATION || value[part] >= 0);
    span->refused[part] += !known[part];
  }
  /* No sum or difference of two such values overflows. */
  if (known[START] && known[END] && !known[DURATION]) {
    value[DURATION] = value[END] - value[START];
    known[DURATION] = value[DURATION] >= 0 && is_dump_time(value[DURATION]);
    span->refused[DURATION] += !known[DURATION];
    known[END] = known[DURATION];
  } else if (known[END] && known[DURATION] && !known[START]) {
    value[START] = value[END] - value[DURATION];
    known[START] = is_dump_time(value[START]);
    span->refused[START] += !known[START];
  }
  if (known[START] && known[DURATION]) {
    value[END] = value[START] + value[DURATION];
    known[END] = is_dump_time(value[END]);
    if (!known[END]) {
      known[DURATION] = false;
      span->refused[DURATION]++;
    }
  } else if (known[START]) {
    known[END] = false;
  }
  span->ends_alone += known[END] && !(known[START] && known[DURATION]);
  for (unsigned part = 0; part < PARTS; part++) {
    span->values[part][row] = value[part];
    if (!known[part]) nulls_add(span->nulls[part], row);
  }
}

static void clear(struct odd_span *span) {
  for (unsigned part = 0; part < PARTS; part++) {
    free(span->values[part]);
    free(span->nulls[part]);
    free(span->frame_values[part]);
    free(span->frame_nulls[part]);
  }
  dump_cursor_close(span->cursor);
}

static enum tfprof_status allocate(struct odd_span *span, struct tfprof_error *error) {
  size_t rows = span->segment->rows;
  for (unsigned part = 0; part < PARTS; part++) {
    span->values[part] = malloc(rows * sizeof(int64_t));
    span->nulls[part] = calloc((rows + 63) / 64, sizeof(uint64_t));
    span->frame_values[part] = calloc(DUMP_MAXIMUM_FRAME_ROWS, sizeof(int64_t));
    span->frame_nulls[part] = malloc(DUMP_MAXIMUM_FRAME_ROWS / 8);
    if (!span->values[part] || !span->nulls[part] || !span->frame_values[part] || !span->frame_nulls[part]) {
      return error_no_memory(error);
    }
  }
  return TFPROF_OK;
}

static enum tfprof_status build(const struct odd_span *span, struct column **columns, struct tfprof_error *error) {
  uint32_t rows = span->segment->rows;
  columns[START] = column_from_integers(span->values[START], span->nulls[START], rows);
  columns[DURATION] = column_from_integers(span->values[DURATION], span->nulls[DURATION], rows);
  columns[END] = NULL;
  if (columns[START] && columns[DURATION]) {
    columns[END] = span->ends_alone ? column_from_integers(span->values[END], span->nulls[END], rows)
                                    : column_sum(columns[START], columns[DURATION]);
  }
  if (columns[END]) return TFPROF_OK;
  column_release(columns[START]);
  column_release(columns[DURATION]);
  return error_no_memory(error);
}

enum tfprof_status dump_load_odd_span(struct profile *profile, struct segment *segment, struct column **columns,
                                      struct tfprof_error *error) {
  const struct dump_source *source = profile->source_data;
  const struct dump_segment *frames = segment->source_data;
  struct odd_span span = {.segment = segment};
  enum tfprof_status status = allocate(&span, error);
  if (!status) status = dump_cursor_open(source->file, &span.cursor, error);
  for (size_t i = 0; i < frames->frame_count && !status; i++) {
    const struct dump_frame *frame = dump_segment_frame(source, segment, i);
    struct span_blocks blocks = dump_span_blocks(&schema_tables[segment->table], frame);
    uint32_t first = dump_row_in_segment(source, segment, frame);
    status = decode_part(&span, START, frame, blocks.start, error);
    if (!status) status = decode_part(&span, END, frame, blocks.end, error);
    if (!status) status = decode_part(&span, DURATION, frame, blocks.dur, error);
    for (uint32_t row = 0; row < frame->rows && !status; row++) complete_row(&span, row, first + row);
  }
  if (!status) status = build(&span, columns, error);
  for (unsigned part = 0; part < PARTS && !status; part++) {
    if (span.refused[part]) dump_tell_refused(segment, column_of(&span, part), span.refused[part]);
  }
  clear(&span);
  return status;
}
