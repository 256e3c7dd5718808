/* timeline_events.c: see timeline_events.h.
**
** Each value is looked up where it is wanted: neighbours mostly lie in one segment.  Names of processes have been
** written before, so that every event here comes after another.
*/
#include "func/timeline_events.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "derive/rows.h"

/* ---- values ---- */

void timeline_go_to(struct timeline_row *row, uint32_t number) {
  row->segment = derive_segment_of(row->content, number, &row->hint);
  row->row = (uint32_t)(number - row->segment->first_row);
}

int64_t timeline_integer(const struct timeline_row *row, unsigned column) {
  const struct column *values = row->segment->columns[column];
  return column_is_null(values, row->row) ? NO_VALUE : column_integer(values, row->row);
}

string_id timeline_text(const struct timeline_row *row, unsigned column) {
  int64_t id = timeline_integer(row, column);
  return id == NO_VALUE ? 0 : (string_id)id;
}

int64_t timeline_since_origin(const struct timeline_source *source, int64_t time) {
  uint64_t ns = time == NO_VALUE ? 0 : (uint64_t)time + (uint64_t)source->profile->clock_offset_ns;
  return (int64_t)(ns - (uint64_t)source->places->origin_ns);
}

static const struct timeline_device *device_of(const struct timeline_source *source, int64_t device) {
  if (device == NO_VALUE) return NULL;
  int64_t id = id_make(source->profile->number, (uint64_t)device);
  for (size_t i = 0; i < source->places->device_count; i++) {
    if (source->places->devices[i].id == id) return &source->places->devices[i];
  }
  return NULL;
}

/* Goes to the row that another refers to; whether there is one. */
static bool follow(struct timeline_row *row, int64_t reference, uint32_t count) {
  if (reference < 0 || reference >= count) return false; /* NO_VALUE, too */
  timeline_go_to(row, (uint32_t)reference);
  return true;
}

/* ---- their text ---- */

static void put_part(struct timeline_piece *piece, string_id text) {
  output_json_part(piece->file, pool_text(piece->source->pool, text), pool_length(piece->source->pool, text));
}

static void put_string(struct timeline_piece *piece, string_id text) {
  if (!text) {
    output_text(piece->file, "null");
    return;
  }
  output_text(piece->file, "\"");
  put_part(piece, text);
  output_text(piece->file, "\"");
}

static void put_real(struct timeline_piece *piece, double real) {
  uint64_t bits;
  memcpy(&bits, &real, sizeof bits);
  struct timeline_real *known = &piece->reals[hash_spread(bits, 5)];
  _Static_assert(TIMELINE_REALS == 1 << 5, "as many as five bits tell apart");
  if (!known->length || bits != known->bits) {
    known->bits = bits;
    known->length = (size_t)snprintf(known->text, sizeof known->text, isfinite(real) ? "%.17g" : "null", real);
  }
  output_bytes(piece->file, known->text, known->length);
}

/* [x,y,z] */
static void put_sizes(struct timeline_piece *piece, unsigned first) {
  for (unsigned i = 0; i < 3; i++) {
    int64_t size = timeline_integer(&piece->row, first + i);
    output_bytes(piece->file, i ? "," : "[", 1);
    if (size == NO_VALUE) output_text(piece->file, "null");
    else output_integer(piece->file, size);
  }
  output_bytes(piece->file, "]", 1);
}

/* Members of args: a comma before all but the first. */
static void begin_member(struct timeline_piece *piece, bool *has_args, const char *key) {
  output_text(piece->file, *has_args ? "," : ",\"args\":{");
  output_text(piece->file, key);
  *has_args = true;
}

static void put_member(struct timeline_piece *piece, bool *has_args, const char *key, int64_t value) {
  if (value == NO_VALUE) return;
  begin_member(piece, has_args, key);
  output_integer(piece->file, value);
}

static void put_text_member(struct timeline_piece *piece, bool *has_args, const char *key, string_id text) {
  if (!text) return;
  begin_member(piece, has_args, key);
  put_string(piece, text);
}

static void put_json_member(struct timeline_piece *piece, bool *has_args, const char *key, string_id text) {
  if (!text || !piece->source->is_json[text]) return;
  begin_member(piece, has_args, key);
  output_text(piece->file, pool_text(piece->source->pool, text));
}

static void end_args(struct timeline_piece *piece, bool has_args) { output_text(piece->file, has_args ? "}}" : "}"); }

static void begin_span(struct timeline_piece *piece) {
  piece->event_count++;
  output_text(piece->file, ",\n{\"ph\":\"X\",\"name\":");
}

static void put_place(struct timeline_piece *piece, const struct timeline_lane *lane, unsigned start, unsigned dur) {
  int64_t length = timeline_integer(&piece->row, dur);
  timeline_put_integer(piece->file, ",\"pid\":", lane->pid);
  timeline_put_integer(piece->file, ",\"tid\":", lane->tid);
  timeline_put_time(piece->file, ",\"ts\":",
                    timeline_since_origin(piece->source, timeline_integer(&piece->row, start)));
  timeline_put_time(piece->file, ",\"dur\":", length == NO_VALUE ? 0 : length);
}

/* ---- ops ---- */

/* The name of the step that the op marks; 0: it marks none, or one without a name. */
static string_id step_name(struct timeline_piece *piece) {
  const struct timeline_source *source = piece->source;
  if (!follow(&piece->step, timeline_integer(&piece->row, COLUMN_ops_step_id), source->step_count)) return 0;
  if (timeline_integer(&piece->step, COLUMN_steps_start_ns) != timeline_integer(&piece->row, COLUMN_ops_start_ns))
    return 0;
  return timeline_text(&piece->step, COLUMN_steps_name);
}

/* As XProf writes names of ops: with their types. */
static void put_viewer_name(struct timeline_piece *piece, string_id category) {
  string_id name = timeline_text(&piece->row, COLUMN_ops_name), type = 0, marked = 0;
  bool is_op = category == piece->source->op && !timeline_text(&piece->row, COLUMN_ops_hlo_module);
  if (is_op) type = timeline_text(&piece->row, COLUMN_ops_op_type);
  else if (category == piece->source->user) marked = step_name(piece);
  if (marked || (!name && (is_op || category == piece->source->user))) {
    put_string(piece, marked);
    return;
  }
  output_text(piece->file, "\"");
  if (name) put_part(piece, name);
  if (name && type) {
    output_text(piece->file, ":");
    put_part(piece, type);
  }
  output_text(piece->file, "\"");
}

/* Which of the file's stackFrames it was called from: their keys are the ids of code_traces. */
static void put_stack(struct timeline_piece *piece) {
  int64_t trace = timeline_integer(&piece->row, COLUMN_ops_code_trace_id);
  if (trace >= 0 && trace < piece->source->trace_count)
    timeline_put_integer(piece->file, ",\"sf\":",
                         id_make((uint32_t)piece->source->process->profile_id, (uint64_t)trace));
}

/* file:line of the innermost frame. */
static void put_called_from(struct timeline_piece *piece, bool *has_args) {
  const struct timeline_source *source = piece->source;
  if (!follow(&piece->trace, timeline_integer(&piece->row, COLUMN_ops_code_trace_id), source->trace_count) ||
      !follow(&piece->frame, timeline_integer(&piece->trace, COLUMN_code_traces_leaf_frame_id), source->frame_count))
    return;
  string_id name = timeline_text(&piece->frame, COLUMN_code_frames_file);
  int64_t line = timeline_integer(&piece->frame, COLUMN_code_frames_line);
  if (!name || line == NO_VALUE) return;
  begin_member(piece, has_args, "\"called from\":\"");
  put_part(piece, name);
  timeline_put_integer(piece->file, ":", line);
  output_text(piece->file, "\"");
}

void timeline_write_op(struct timeline_piece *piece, const struct timeline_lane *lane) {
  const struct timeline_source *source = piece->source;
  const struct timeline_row *row = &piece->row;
  if (timeline_integer(row, COLUMN_ops_start_ns) == NO_VALUE) return;
  string_id category = timeline_text(row, COLUMN_ops_category);
  bool has_args = false;
  begin_span(piece);
  if (lane->is_xplane) put_viewer_name(piece, category);
  else put_string(piece, timeline_text(row, COLUMN_ops_name));
  if (category == source->user) output_text(piece->file, ",\"cat\":\"user_annotation\"");
  else if (category == source->python || category == source->module)
    output_text(piece->file, ",\"cat\":\"python_function\"");
  else output_text(piece->file, ",\"cat\":\"cpu_op\"");
  put_place(piece, lane, COLUMN_ops_start_ns, COLUMN_ops_dur_ns);
  put_stack(piece);
  put_member(piece, &has_args, "\"External id\":", timeline_integer(row, COLUMN_ops_correlation));
  put_member(piece, &has_args, "\"Sequence number\":", timeline_integer(row, COLUMN_ops_sequence_number));
  put_json_member(piece, &has_args, "\"Input Dims\":", timeline_text(row, COLUMN_ops_input_shapes));
  put_json_member(piece, &has_args, "\"Input type\":", timeline_text(row, COLUMN_ops_input_types));
  put_json_member(piece, &has_args, "\"Concrete Inputs\":", timeline_text(row, COLUMN_ops_input_values));
  put_text_member(piece, &has_args, "\"Module Hierarchy\":", timeline_text(row, COLUMN_ops_module));
  put_member(piece, &has_args, "\"flops\":", timeline_integer(row, COLUMN_ops_flops));
  put_called_from(piece, &has_args);
  put_text_member(piece, &has_args, "\"error\":", timeline_text(row, COLUMN_ops_error));
  end_args(piece, has_args);
}

/* ---- devices ---- */

static int64_t correlation_of_op(const struct timeline_piece *piece, unsigned op_column) {
  const struct timeline_source *source = piece->source;
  int64_t op = source->correlations ? timeline_integer(&piece->row, op_column) : NO_VALUE;
  return op >= 0 && op < source->op_count ? source->correlations[op] : NO_VALUE;
}

void timeline_write_kernel(struct timeline_piece *piece, const struct timeline_lane *lane) {
  const struct timeline_row *row = &piece->row;
  bool has_args = false;
  begin_span(piece);
  put_string(piece, timeline_text(row, COLUMN_kernels_name));
  output_text(piece->file, ",\"cat\":\"kernel\"");
  put_place(piece, lane, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns);
  const struct timeline_device *device = device_of(piece->source, timeline_integer(row, COLUMN_kernels_device_id));
  put_member(piece, &has_args, "\"device\":", device ? device->ordinal : NO_VALUE);
  put_member(piece, &has_args, "\"stream\":", lane->stream);
  put_member(piece, &has_args, "\"correlation\":", timeline_integer(row, COLUMN_kernels_correlation));
  put_member(piece, &has_args, "\"External id\":", correlation_of_op(piece, COLUMN_kernels_op_id));
  begin_member(piece, &has_args, "\"grid\":");
  put_sizes(piece, COLUMN_kernels_grid_x);
  begin_member(piece, &has_args, "\"block\":");
  put_sizes(piece, COLUMN_kernels_block_x);
  put_member(piece, &has_args, "\"registers per thread\":", timeline_integer(row, COLUMN_kernels_registers_per_thread));
  int64_t fixed = timeline_integer(row, COLUMN_kernels_static_shared_bytes);
  int64_t dynamic = timeline_integer(row, COLUMN_kernels_dynamic_shared_bytes);
  if (dynamic != NO_VALUE && fixed != NO_VALUE) dynamic += fixed;
  put_member(piece, &has_args, "\"shared memory\":", dynamic);
  const struct column *occupancy = row->segment->columns[COLUMN_kernels_occupancy_ratio];
  double real = column_is_null(occupancy, row->row) ? NAN : 100 * column_real(occupancy, row->row);
  if (!isnan(real)) {
    begin_member(piece, &has_args, "\"est. achieved occupancy %\":");
    put_real(piece, real);
  }
  end_args(piece, has_args);
}

_Static_assert(COLUMN_kernels_grid_x + 2 == COLUMN_kernels_grid_z &&
                   COLUMN_kernels_block_x + 2 == COLUMN_kernels_block_z,
               "put_sizes() takes three columns that follow each other");

void timeline_write_call(struct timeline_piece *piece, const struct timeline_lane *lane) {
  const struct timeline_row *row = &piece->row;
  bool has_args = false;
  begin_span(piece);
  put_string(piece, timeline_text(row, COLUMN_api_calls_name));
  string_id domain = timeline_text(row, COLUMN_api_calls_domain);
  if (domain) {
    output_text(piece->file, ",\"cat\":\"cuda_");
    put_part(piece, domain);
    output_text(piece->file, "\"");
  }
  put_place(piece, lane, COLUMN_api_calls_start_ns, COLUMN_api_calls_dur_ns);
  put_member(piece, &has_args, "\"correlation\":", timeline_integer(row, COLUMN_api_calls_correlation));
  put_member(piece, &has_args, "\"External id\":", correlation_of_op(piece, COLUMN_api_calls_op_id));
  end_args(piece, has_args);
}

const struct timeline_lane *timeline_caller(const struct timeline_piece *piece) {
  const struct timeline_source *source = piece->source;
  int64_t call = timeline_integer(&piece->row, COLUMN_kernels_api_call_id);
  if (call < 0 || call >= source->call_count || source->threads_of_calls[call] == NO_ROW) return NULL;
  return source->lane_of_thread[source->threads_of_calls[call]];
}

void timeline_write_launch(struct timeline_piece *piece, const struct timeline_lane *lane) {
  const struct timeline_source *source = piece->source;
  const struct timeline_lane *caller = timeline_caller(piece);
  struct output_file *file = piece->file;
  if (!caller) return;
  int64_t called = source->starts_of_calls[timeline_integer(&piece->row, COLUMN_kernels_api_call_id)];
  piece->event_count += 2;
  timeline_put_integer(file, ",\n{\"ph\":\"s\",\"name\":\"launch\",\"cat\":\"ac2g\",\"pid\":", caller->pid);
  timeline_put_integer(file, ",\"tid\":", caller->tid);
  timeline_put_time(file, ",\"ts\":", timeline_since_origin(source, called));
  timeline_put_integer(file, ",\"id\":", ++piece->next_arrow);
  timeline_put_integer(file, "},\n{\"ph\":\"f\",\"name\":\"launch\",\"cat\":\"ac2g\",\"pid\":", lane->pid);
  timeline_put_integer(file, ",\"tid\":", lane->tid);
  timeline_put_time(file, ",\"ts\":",
                    timeline_since_origin(source, timeline_integer(&piece->row, COLUMN_kernels_start_ns)));
  timeline_put_integer(file, ",\"id\":", piece->next_arrow);
  output_text(file, ",\"bp\":\"e\"}");
}

/* ---- memory ---- */

void timeline_write_memory(struct timeline_piece *piece, const struct timeline_lane *lane) {
  const struct timeline_row *row = &piece->row;
  int64_t bytes = timeline_integer(row, COLUMN_memory_events_in_use_bytes);
  bool has_args = false;
  (void)lane;
  if (bytes == NO_VALUE) return;
  const struct timeline_device *device =
      device_of(piece->source, timeline_integer(row, COLUMN_memory_events_device_id));
  piece->event_count++;
  timeline_put_integer(piece->file, ",\n{\"ph\":\"C\",\"name\":\"memory in use\",\"cat\":\"memory\",\"pid\":",
                       device ? device->pid : piece->source->process->pid);
  int64_t time = timeline_integer(row, COLUMN_memory_events_time_ns);
  timeline_put_time(piece->file, ",\"tid\":0,\"ts\":", timeline_since_origin(piece->source, time));
  put_member(piece, &has_args, "\"bytes\":", bytes);
  put_member(piece, &has_args, "\"reserved\":", timeline_integer(row, COLUMN_memory_events_reserved_bytes));
  end_args(piece, has_args);
}
