/* timeline_viewer.c: see timeline_viewer.h. */
#include "func/timeline_viewer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "derive/match.h"
#include "func/viewer_lines.h"

enum { SPANS = 1 << 15, PIECE_SPANS = 1 << 10, POLL_ROWS = 1 << 14 };

struct timeline_viewer {
  const struct timeline_source *source;
  struct output_file *file;
  struct viewer_lines *lines;
  const struct timeline_lane *lane;
  enum tfprof_status status;
  int64_t event_count;
  size_t span_count;
  struct viewer_span spans[SPANS]; /* that wait for being written */
};

/* ---- events ---- */

static int64_t sort_index_of(const struct timeline_viewer *viewer, enum viewer_line line) {
  return viewer->lane->place * VIEWER_LINES + 1 + line;
}

static void name_line(const struct timeline_viewer *viewer, enum viewer_line line, struct output_file *file) {
  int64_t sort_index = sort_index_of(viewer, line), stream = viewer->lane->stream;
  output_format(file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
                ",\"args\":{\"name\":\"%s - from #%" PRId64 "\"}}",
                viewer->lane->pid, VIEWER_STEPS + sort_index, viewer_line_names[line],
                stream == TIMELINE_NONE ? 0 : stream);
  output_format(file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
                ",\"args\":{\"sort_index\":%" PRId64 "}}",
                viewer->lane->pid, VIEWER_STEPS + sort_index, sort_index);
}

/* Programs are numbered by their fingerprints, of 64 bits. */
static void put_program(struct output_file *file, const char *before, int64_t program, const char *behind) {
  if (program != INT64_MIN) output_format(file, "%s%" PRIu64 "%s", before, (uint64_t)program, behind);
}

static void write_span(const struct timeline_viewer *viewer, const struct viewer_span *span, struct output_file *file) {
  const struct viewer_title *title = &span->title;
  if (span->is_first) name_line(viewer, span->line, file);
  output_text(file, ",\n{\"ph\":\"X\",\"name\":\"");
  output_json_part(file, title->name, title->length);
  if (span->line == VIEWER_MODULES) put_program(file, "(", title->program, ")");
  timeline_put_integer(file, "\",\"cat\":\"viewer\",\"pid\":", viewer->lane->pid);
  timeline_put_integer(file, ",\"tid\":", VIEWER_STEPS + sort_index_of(viewer, span->line));
  timeline_put_time(file, ",\"ts\":", timeline_since_origin(viewer->source, span->start_ns));
  timeline_put_time(file, ",\"dur\":", span->end_ns - span->start_ns);
  if (span->line == VIEWER_OPS) {
    output_text(file, ",\"args\":{\"long_name\":\"");
    output_json_part(file, title->op_name, strlen(title->op_name));
    output_text(file, ":");
    output_json_part(file, title->name, title->length);
    output_text(file, "\"}}");
  } else if (span->line == VIEWER_XLA_OPS) {
    output_text(file, ",\"args\":{\"long_name\":\"");
    put_program(file, "", title->program, "");
    output_text(file, "/");
    output_json_part(file, title->name, title->length);
    output_text(file, "\"}}");
  } else {
    output_text(file, "}");
  }
}

/* ---- many of them ---- */

static enum tfprof_status write_piece(void *context, size_t number, struct output_file *file) {
  const struct timeline_viewer *viewer = context;
  size_t end = (number + 1) * PIECE_SPANS;
  if (end > viewer->span_count) end = viewer->span_count;
  for (size_t i = number * PIECE_SPANS; i < end; i++) write_span(viewer, &viewer->spans[i], file);
  return TFPROF_OK;
}

static void write_spans(struct timeline_viewer *viewer) {
  size_t pieces = (viewer->span_count + PIECE_SPANS - 1) / PIECE_SPANS;
  if (!viewer->status) viewer->status = output_pieces(viewer->file, pieces, write_piece, viewer);
  viewer->span_count = 0;
}

static void take_span(void *user, const struct viewer_span *span) {
  struct timeline_viewer *viewer = user;
  if (viewer->span_count == SPANS) write_spans(viewer);
  viewer->spans[viewer->span_count++] = *span;
  viewer->event_count += span->is_first ? 3 : 1;
}

/* ---- kernels ---- */

static enum tfprof_status sort_by_time(struct timeline_row *row, uint32_t *rows, uint32_t count,
                                       struct tfprof_error *error) {
  int64_t before = INT64_MIN;
  bool is_sorted = true;
  for (uint32_t i = 0; i < count && is_sorted; i++) {
    timeline_go_to(row, rows[i]);
    int64_t start = timeline_integer(row, COLUMN_kernels_start_ns);
    is_sorted = start >= before;
    before = start;
  }
  if (is_sorted) return TFPROF_OK;
  struct lane_span *spans = scratch_allocate(count * sizeof *spans);
  if (!spans) return error_no_memory(error);
  for (uint32_t i = 0; i < count; i++) {
    timeline_go_to(row, rows[i]);
    int64_t start = timeline_integer(row, COLUMN_kernels_start_ns);
    spans[i] = (struct lane_span){.start = start, .end = start, .row = rows[i]};
  }
  enum tfprof_status status = lane_span_sort(spans, count, error);
  for (uint32_t i = 0; i < count && !status; i++) rows[i] = spans[i].row;
  scratch_free(spans);
  return status;
}

static const char *text_or_nothing(const struct timeline_viewer *viewer, const struct timeline_row *row,
                                   unsigned column) {
  string_id text = timeline_text(row, column);
  return text ? pool_text(viewer->source->pool, text) : "";
}

static void add_kernel(struct timeline_viewer *viewer, const struct timeline_row *row) {
  int64_t end = timeline_integer(row, COLUMN_kernels_end_ns);
  int64_t start = timeline_integer(row, COLUMN_kernels_start_ns);
  struct viewer_kernel kernel = {
      .op_name = text_or_nothing(viewer, row, COLUMN_kernels_op_name),
      .op_type = text_or_nothing(viewer, row, COLUMN_kernels_op_type),
      .hlo_module = text_or_nothing(viewer, row, COLUMN_kernels_hlo_module),
      .hlo_op = text_or_nothing(viewer, row, COLUMN_kernels_hlo_op),
      .program = timeline_integer(row, COLUMN_kernels_program),
      .step = timeline_integer(row, COLUMN_kernels_step_id),
      .start_ns = start,
      .end_ns = end == NO_VALUE ? start : end,
  };
  if (start != NO_VALUE) viewer_lines_add(viewer->lines, &kernel);
}

enum tfprof_status timeline_viewer_write(struct timeline_viewer *viewer, const struct timeline_lane *lane,
                                         uint32_t *rows, uint32_t count, struct tfprof_error *error) {
  struct timeline_row row = {.content = &viewer->source->profile->tables[TABLE_kernels]};
  enum tfprof_status status = sort_by_time(&row, rows, count, error);
  viewer->lane = lane;
  for (uint32_t i = 0; i < count && !status; i++) {
    if (i % POLL_ROWS == 0) status = derive_poll(viewer->source->profile, error);
    timeline_go_to(&row, rows[i]);
    add_kernel(viewer, &row);
  }
  if (status) return status;
  viewer_lines_end(viewer->lines);
  write_spans(viewer);
  return derive_failure((int)viewer->status, error);
}

/* ---- life ---- */

struct timeline_viewer *timeline_viewer_new(const struct timeline_source *source, struct output_file *file) {
  struct timeline_viewer *viewer = malloc(sizeof *viewer);
  if (!viewer) return NULL;
  viewer->source = source;
  viewer->file = file;
  viewer->status = TFPROF_OK;
  viewer->event_count = 0;
  viewer->span_count = 0;
  viewer->lines = viewer_lines_new(take_span, viewer);
  if (viewer->lines) return viewer;
  free(viewer);
  return NULL;
}

int64_t timeline_viewer_free(struct timeline_viewer *viewer) {
  int64_t event_count = viewer ? viewer->event_count : 0;
  if (viewer) viewer_lines_free(viewer->lines);
  free(viewer);
  return event_count;
}
