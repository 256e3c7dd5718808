/* timeline_rows.c: see timeline_rows.h. */
#include "func/timeline_rows.h"

#include <stdatomic.h>
#include <string.h>

#include "derive/rows.h"
#include "func/timeline_events.h"
#include "func/timeline_viewer.h"

enum { STRETCH_ROWS = 1024, MOST_COLUMNS = 24 };

/* Rows of one lane that are written one after the other. */
struct stretch {
  const struct timeline_lane *lane;
  uint32_t first, end;
  int64_t first_arrow; /* of launches: how many come before */
};

struct writing {
  struct timeline_rows *rows;
  struct profile *profile;
  const struct part *part;
  struct timeline_source source;
  uint32_t row_count;
  uint32_t *sorted, *first_of_thread; /* thread t has sorted[first_of_thread[t]] ... sorted[first_of_thread[t + 1] - 1];
                                         NULL: rows as they are */
  const struct timeline_lane **lane_of_thread;
  uint32_t *threads_of_calls;
  int64_t *starts_of_calls, *correlations;
  bool *is_json;
  struct stretch *stretches;
  size_t stretch_count;
  atomic_llong event_count;
};

/* ---- parts ---- */

static enum tfprof_status prepare_ops(struct writing *w, struct tfprof_error *error);
static enum tfprof_status prepare_correlations(struct writing *w, struct tfprof_error *error);
static enum tfprof_status prepare_launches(struct writing *w, struct tfprof_error *error);

static const struct part {
  uint16_t table, thread; /* thread 0: rows lie on no lane */
  uint16_t op;            /* the op whose correlation is written; 0: none */
  void (*write)(struct timeline_piece *piece, const struct timeline_lane *lane);
  enum tfprof_status (*prepare)(struct writing *w, struct tfprof_error *error); /* may be NULL */
  uint16_t columns[MOST_COLUMNS]; /* to be loaded beside these; ends with 0, which is the id */
} parts[] = {
    [TIMELINE_OPS] = {TABLE_ops, COLUMN_ops_thread_id, 0, timeline_write_op, prepare_ops,
                      {COLUMN_ops_name, COLUMN_ops_op_type, COLUMN_ops_category, COLUMN_ops_step_id,
                       COLUMN_ops_start_ns, COLUMN_ops_dur_ns, COLUMN_ops_hlo_module, COLUMN_ops_correlation,
                       COLUMN_ops_sequence_number, COLUMN_ops_input_shapes, COLUMN_ops_input_types,
                       COLUMN_ops_input_values, COLUMN_ops_module, COLUMN_ops_flops, COLUMN_ops_code_trace_id,
                       COLUMN_ops_error}},
    [TIMELINE_KERNELS] = {TABLE_kernels, COLUMN_kernels_thread_id, COLUMN_kernels_op_id, timeline_write_kernel,
                          prepare_correlations,
                          {COLUMN_kernels_name, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns,
                           COLUMN_kernels_device_id, COLUMN_kernels_correlation, COLUMN_kernels_grid_x,
                           COLUMN_kernels_grid_y, COLUMN_kernels_grid_z, COLUMN_kernels_block_x, COLUMN_kernels_block_y,
                           COLUMN_kernels_block_z, COLUMN_kernels_registers_per_thread,
                           COLUMN_kernels_static_shared_bytes, COLUMN_kernels_dynamic_shared_bytes,
                           COLUMN_kernels_occupancy_ratio}},
    [TIMELINE_CALLS] = {TABLE_api_calls, COLUMN_api_calls_thread_id, COLUMN_api_calls_op_id, timeline_write_call,
                        prepare_correlations,
                        {COLUMN_api_calls_name, COLUMN_api_calls_domain, COLUMN_api_calls_start_ns,
                         COLUMN_api_calls_dur_ns, COLUMN_api_calls_correlation}},
    [TIMELINE_LAUNCHES] = {TABLE_kernels, COLUMN_kernels_thread_id, 0, timeline_write_launch, prepare_launches,
                           {COLUMN_kernels_start_ns, COLUMN_kernels_api_call_id}},
    [TIMELINE_MEMORY] = {TABLE_memory_events, 0, 0, timeline_write_memory, NULL,
                         {COLUMN_memory_events_time_ns, COLUMN_memory_events_device_id,
                          COLUMN_memory_events_in_use_bytes, COLUMN_memory_events_reserved_bytes}},
    [TIMELINE_VIEWER] = {TABLE_kernels, COLUMN_kernels_thread_id, 0, NULL, NULL,
                         {COLUMN_kernels_start_ns, COLUMN_kernels_end_ns, COLUMN_kernels_op_name,
                          COLUMN_kernels_op_type, COLUMN_kernels_step_id, COLUMN_kernels_hlo_module,
                          COLUMN_kernels_hlo_op, COLUMN_kernels_program}},
};

static enum tfprof_status require_columns(struct profile *profile, unsigned table, const uint16_t *columns,
                                          unsigned count, struct tfprof_error *error) {
  struct column_set wanted = {{0, 0}};
  for (unsigned i = 0; i < count && columns[i]; i++) column_set_add(&wanted, columns[i]);
  return profile_require(profile, table, &wanted, error);
}

/* The same of another table, and how many rows that has. */
static enum tfprof_status require_other(struct writing *w, unsigned table, const uint16_t *columns, unsigned count,
                                        uint32_t *rows, struct tfprof_error *error) {
  enum tfprof_status status = require_columns(w->profile, table, columns, count, error);
  return status ? status : derive_row_count(w->profile, table, rows, error);
}

/* Which texts of a column are JSON. What comes from a damaged file must not make the whole trace unreadable. */
static enum tfprof_status check_json(struct writing *w, unsigned column, bool *is_known, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  struct row_block block = {0};
  if (!derive_has_value(w->profile, TABLE_ops, column)) return TFPROF_OK;
  while (derive_next_block(w->profile, TABLE_ops, &block, &status, error)) {
    string_id texts[ROWS_BLOCK];
    block_texts(&block, column, texts);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      if (is_known[texts[i]]) continue;
      const struct pool *pool = w->source.pool;
      int answer = w->rows->is_json(w->rows->user, pool_text(pool, texts[i]), pool_length(pool, texts[i]));
      if (answer < 0) status = derive_failure(store_interrupted(w->rows->store) ? TFPROF_INTERRUPTED : TFPROF_NO_MEMORY,
                                              error);
      is_known[texts[i]] = true;
      w->is_json[texts[i]] = answer > 0;
    }
  }
  return status;
}

static enum tfprof_status prepare_ops(struct writing *w, struct tfprof_error *error) {
  static const uint16_t of_steps[] = {COLUMN_steps_name, COLUMN_steps_start_ns};
  static const uint16_t of_traces[] = {COLUMN_code_traces_leaf_frame_id};
  static const uint16_t of_frames[] = {COLUMN_code_frames_file, COLUMN_code_frames_line};
  static const uint16_t json[] = {COLUMN_ops_input_shapes, COLUMN_ops_input_types, COLUMN_ops_input_values};
  struct timeline_source *source = &w->source;
  enum tfprof_status status = require_other(w, TABLE_steps, of_steps, 2, &source->step_count, error);
  if (!status && derive_has_value(w->profile, TABLE_ops, COLUMN_ops_code_trace_id)) {
    status = require_other(w, TABLE_code_traces, of_traces, 1, &source->trace_count, error);
    if (!status) status = require_other(w, TABLE_code_frames, of_frames, 2, &source->frame_count, error);
  }
  size_t texts = (size_t)pool_count(source->pool) + 1;
  bool *is_known = scratch_allocate_zeroed(texts, sizeof *is_known);
  w->is_json = scratch_allocate_zeroed(texts, sizeof *w->is_json);
  source->is_json = w->is_json;
  if (!status && (!is_known || !w->is_json)) status = error_no_memory(error);
  if (!status) is_known[0] = true;
  for (size_t i = 0; i < sizeof json / sizeof *json && !status; i++) status = check_json(w, json[i], is_known, error);
  scratch_free(is_known);
  source->user = derive_known_text(w->profile, "user");
  source->python = derive_known_text(w->profile, "python");
  source->module = derive_known_text(w->profile, "module");
  source->op = derive_known_text(w->profile, "op");
  return status;
}

static enum tfprof_status prepare_correlations(struct writing *w, struct tfprof_error *error) {
  static const uint16_t columns[] = {COLUMN_ops_correlation};
  if (!derive_has_value(w->profile, w->part->table, w->part->op)) return TFPROF_OK;
  enum tfprof_status status = require_other(w, TABLE_ops, columns, 1, &w->source.op_count, error);
  if (!status) status = derive_all_integers(w->profile, TABLE_ops, COLUMN_ops_correlation, &w->correlations, error);
  w->source.correlations = w->correlations;
  return status;
}

static enum tfprof_status prepare_launches(struct writing *w, struct tfprof_error *error) {
  static const uint16_t columns[] = {COLUMN_api_calls_start_ns, COLUMN_api_calls_thread_id};
  enum tfprof_status status = require_other(w, TABLE_api_calls, columns, 2, &w->source.call_count, error);
  if (!status)
    status = derive_all_references(w->profile, TABLE_api_calls, COLUMN_api_calls_thread_id, &w->threads_of_calls,
                                   error);
  if (!status)
    status = derive_all_integers(w->profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &w->starts_of_calls, error);
  w->source.threads_of_calls = w->threads_of_calls;
  w->source.starts_of_calls = w->starts_of_calls;
  return status;
}

/* ---- rows ---- */

static enum tfprof_status sort_by_thread(struct writing *w, struct tfprof_error *error) {
  uint32_t *threads = NULL, count = w->row_count, thread_count = w->source.thread_count;
  enum tfprof_status status = derive_all_references(w->profile, w->part->table, w->part->thread, &threads, error);
  if (!status) {
    w->sorted = scratch_allocate(((size_t)count + 1) * sizeof *w->sorted);
    w->first_of_thread = scratch_allocate_zeroed((size_t)thread_count + 2, sizeof(uint32_t));
    if (!w->sorted || !w->first_of_thread) status = error_no_memory(error);
  }
  if (!status) {
    uint32_t *ends = w->first_of_thread + 1; /* of thread t at first its rows, then where they end */
    for (uint32_t row = 0; row < count; row++) {
      if (threads[row] != NO_ROW) ends[threads[row] + 1]++;
    }
    for (uint32_t thread = 0; thread < thread_count; thread++) ends[thread + 1] += ends[thread];
    for (uint32_t row = 0; row < count; row++) {
      if (threads[row] != NO_ROW) w->sorted[ends[threads[row]]++] = row;
    }
  }
  scratch_free(threads);
  return status;
}

static enum tfprof_status index_lanes(struct writing *w, const struct timeline_lane *lanes, size_t count,
                                     struct tfprof_error *error) {
  w->lane_of_thread = scratch_allocate_zeroed((size_t)w->source.thread_count + 1, sizeof *w->lane_of_thread);
  if (!w->lane_of_thread) return error_no_memory(error);
  for (size_t i = 0; i < count; i++) {
    if (id_row(lanes[i].id) < w->source.thread_count) w->lane_of_thread[id_row(lanes[i].id)] = &lanes[i];
  }
  w->source.lane_of_thread = w->lane_of_thread;
  return TFPROF_OK;
}

/* ---- stretches ---- */

static void add_stretches(struct writing *w, const struct timeline_lane *lane, uint32_t first, uint32_t end) {
  for (; first < end; first += STRETCH_ROWS) {
    uint32_t count = end - first < STRETCH_ROWS ? end - first : STRETCH_ROWS;
    w->stretches[w->stretch_count++] = (struct stretch){.lane = lane, .first = first, .end = first + count};
  }
}

static enum tfprof_status cut(struct writing *w, const struct timeline_lane *lanes, size_t count,
                              struct tfprof_error *error) {
  w->stretches = scratch_allocate(((size_t)w->row_count / STRETCH_ROWS + count + 1) * sizeof *w->stretches);
  if (!w->stretches) return error_no_memory(error);
  if (!w->part->thread) add_stretches(w, NULL, 0, w->row_count);
  for (size_t i = 0; i < count && w->part->thread; i++) {
    uint64_t thread = id_row(lanes[i].id);
    if (thread < w->source.thread_count)
      add_stretches(w, &lanes[i], w->first_of_thread[thread], w->first_of_thread[thread + 1]);
  }
  return TFPROF_OK;
}

static void begin_piece(const struct writing *w, struct timeline_piece *piece, struct output_file *file) {
  const struct profile_table *tables = w->profile->tables;
  *piece = (struct timeline_piece){.source = &w->source, .file = file};
  piece->row.content = &tables[w->part->table];
  piece->step.content = &tables[TABLE_steps];
  piece->trace.content = &tables[TABLE_code_traces];
  piece->frame.content = &tables[TABLE_code_frames];
}

static void go_to(const struct writing *w, struct timeline_piece *piece, uint32_t place) {
  timeline_go_to(&piece->row, w->sorted ? w->sorted[place] : place);
}

/* Arrows are numbered through all stretches. */
static void count_arrows(void *context, size_t number, unsigned worker) {
  struct writing *w = context;
  struct stretch *stretch = &w->stretches[number];
  struct timeline_piece piece;
  (void)worker;
  begin_piece(w, &piece, NULL);
  for (uint32_t i = stretch->first; i < stretch->end; i++) {
    go_to(w, &piece, i);
    if (timeline_caller(&piece)) stretch->first_arrow++;
  }
}

static void number_arrows(struct writing *w) {
  derive_parallel(w->row_count, w->stretch_count, count_arrows, w);
  for (size_t i = 0; i < w->stretch_count; i++) {
    int64_t count = w->stretches[i].first_arrow;
    w->stretches[i].first_arrow = w->rows->next_arrow;
    w->rows->next_arrow += count;
  }
}

static enum tfprof_status write_stretch(void *context, size_t number, struct output_file *file) {
  struct writing *w = context;
  const struct stretch *stretch = &w->stretches[number];
  struct timeline_piece piece;
  if (store_interrupted(w->rows->store)) return TFPROF_INTERRUPTED;
  begin_piece(w, &piece, file);
  piece.next_arrow = stretch->first_arrow;
  for (uint32_t i = stretch->first; i < stretch->end; i++) {
    go_to(w, &piece, i);
    w->part->write(&piece, stretch->lane);
  }
  atomic_fetch_add(&w->event_count, piece.event_count);
  return TFPROF_OK;
}

static enum tfprof_status write_stretches(struct writing *w, struct tfprof_error *error) {
  if (w->part->write == timeline_write_launch) number_arrows(w);
  return derive_failure((int)output_pieces(w->rows->file, w->stretch_count, write_stretch, w), error);
}

/* Below each stream, by time. */
static enum tfprof_status write_viewer(struct writing *w, struct tfprof_error *error) {
  struct timeline_viewer *viewer = timeline_viewer_new(&w->source, w->rows->file);
  enum tfprof_status status = viewer ? TFPROF_OK : error_no_memory(error);
  for (uint32_t thread = 0; thread < w->source.thread_count && !status; thread++) {
    const struct timeline_lane *lane = w->lane_of_thread[thread];
    uint32_t first = w->first_of_thread[thread], end = w->first_of_thread[thread + 1];
    if (lane && lane->is_viewer_stream)
      status = timeline_viewer_write(viewer, lane, w->sorted + first, end - first, error);
  }
  atomic_fetch_add(&w->event_count, timeline_viewer_free(viewer));
  return status;
}

/* ---- profiles ---- */

/* The lanes of one profile. */
static enum tfprof_status write_profile(struct timeline_rows *rows, const struct part *part, struct profile *profile,
                                        const struct timeline_process *process, const struct timeline_lane *lanes,
                                        size_t count, struct tfprof_error *error) {
  struct writing w = {.rows = rows, .profile = profile, .part = part};
  uint16_t columns[] = {part->thread, part->op};
  w.source = (struct timeline_source){.places = &rows->places, .process = process, .profile = profile,
                                      .pool = store_pool(rows->store)};
  enum tfprof_status status = require_columns(profile, part->table, columns, 2, error);
  if (!status) status = require_columns(profile, part->table, part->columns, MOST_COLUMNS, error);
  if (!status) status = derive_row_count(profile, part->table, &w.row_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &w.source.thread_count, error);
  if (!status && part->thread) status = sort_by_thread(&w, error);
  if (!status) status = index_lanes(&w, lanes, count, error);
  if (!status && part->prepare) status = part->prepare(&w, error);
  if (!status && part->write) {
    status = cut(&w, lanes, count, error);
    if (!status) status = write_stretches(&w, error);
  } else if (!status) {
    status = write_viewer(&w, error);
  }
  rows->event_count += atomic_load(&w.event_count);
  scratch_free(w.sorted);
  scratch_free(w.first_of_thread);
  scratch_free(w.lane_of_thread);
  scratch_free(w.threads_of_calls);
  scratch_free(w.starts_of_calls);
  scratch_free(w.correlations);
  scratch_free(w.is_json);
  scratch_free(w.stretches);
  return status;
}

enum tfprof_status timeline_rows_write(struct timeline_rows *rows, enum timeline_part part,
                                       struct tfprof_error *error) {
  const struct timeline_places *places = &rows->places;
  enum tfprof_status status = TFPROF_OK;
  size_t first = 0, end;
  for (size_t i = 0; i < places->process_count && !status; i++, first = end) {
    const struct timeline_process *process = &places->processes[i];
    struct profile *profile = store_profile_by_number(rows->store, (uint32_t)process->profile_id);
    for (end = first; end < places->lane_count && id_profile(places->lanes[end].id) == process->profile_id;) end++;
    const struct timeline_lane *lanes = end > first ? &places->lanes[first] : NULL; /* there may be none at all */
    if (profile && (lanes || !parts[part].thread))
      status = write_profile(rows, &parts[part], profile, process, lanes, end - first, error);
  }
  return status;
}
