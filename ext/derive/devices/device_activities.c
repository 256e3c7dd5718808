/* device_activities.c: the table device_activities: all that streams went through, in their order.
**
** Kernels, transfers and the waits that lie on a stream (not those of a host thread) become one list, sorted by
** stream and start (of those that start together the longer one first).  A row carries the times of the call that
** launched it, the end of the kernel or transfer before it on its stream and how long its device had been idle, so that
** analyses of idle time, queues and overlap are one pass over one table, without joins and sorting.  The list repeats
** what other tables hold: saving a dump leaves it out (read/dump/save.c).
*/
#include "derive/match.h"
#include "derive/passes.h"

struct part {
  uint16_t table, name, device, thread, start, end, call, op, step; /* columns */
  uint16_t self;                                                    /* column of device_activities */
};
static const struct part parts[] = {
#define PART(table, name, self) \
  {TABLE_##table, COLUMN_##table##_##name, COLUMN_##table##_device_id, COLUMN_##table##_thread_id, \
   COLUMN_##table##_start_ns, COLUMN_##table##_end_ns, COLUMN_##table##_api_call_id, COLUMN_##table##_op_id, \
   COLUMN_##table##_step_id, COLUMN_device_activities_##self}
    PART(kernels, name, kernel_id), PART(transfers, name, transfer_id), PART(syncs, kind, sync_id)};
enum { PARTS = sizeof parts / sizeof *parts, KERNELS = 0, TRANSFERS = 1, SYNCS = 2 };

struct activity { uint32_t part, row; };

struct work {
  struct profile *profile;
  struct activity *items; /* in any order */
  struct lane_span *order;
  uint32_t count;
  uint32_t lanes; /* rows of threads; also the lane of what has no stream, which comes last */
};

static enum tfprof_status collect_activities(struct work *w, const uint8_t *is_stream, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t part = 0; part < PARTS && !status; part++) {
    const struct part *p = &parts[part];
    for (struct row_block block = {0}; derive_next_block(w->profile, p->table, &block, &status, error);) {
      int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
      uint32_t threads[ROWS_BLOCK];
      block_integers(&block, p->start, starts);
      block_integers(&block, p->end, ends);
      block_references(&block, p->thread, w->lanes, threads);
      for (uint32_t i = 0; i < block.count; i++) {
        if (part == SYNCS && (threads[i] == NO_ROW || !is_stream[threads[i]])) continue;
        w->items[w->count] = (struct activity){part, (uint32_t)block.row + i};
        w->order[w->count] =
            (struct lane_span){starts[i], ends[i], threads[i] == NO_ROW ? w->lanes : threads[i], w->count};
        w->count++;
      }
    }
  }
  return status;
}

/* Which lanes are streams. */
static enum tfprof_status find_streams(struct profile *profile, uint8_t **is_stream, struct tfprof_error *error) {
  const struct profile_table *threads = &profile->tables[TABLE_threads];
  string_id stream = derive_known_text(profile, "stream");
  uint8_t *found = scratch_allocate_zeroed((size_t)threads->rows + 1, 1);
  if (!found) return error_no_memory(error);
  for (size_t s = 0; s < threads->segment_count; s++) {
    const struct segment *segment = threads->segments[s];
    const struct column *kinds = segment->columns[COLUMN_threads_kind];
    for (uint32_t row = derive_find_text(kinds, 0, stream); row < segment->rows;) {
      found[segment->first_row + row] = 1;
      row = derive_find_text(kinds, row + 1, stream);
    }
  }
  *is_stream = found;
  return TFPROF_OK;
}

static enum tfprof_status set_previous_ends(const struct work *w, int64_t *values, struct tfprof_error *error) {
  uint32_t lane = NO_ROW;
  int64_t end = NO_VALUE;
  for (uint32_t i = 0; i < w->count; i++) {
    const struct lane_span *span = &w->order[i];
    if (span->lane != lane) end = NO_VALUE;
    lane = span->lane;
    bool is_wait = w->items[span->row].part == SYNCS;
    values[i] = is_wait || lane == w->lanes ? NO_VALUE : end;
    if (!is_wait && (end == NO_VALUE || span->end > end)) end = span->end;
  }
  return derive_set_integers(w->profile, TABLE_device_activities, COLUMN_device_activities_previous_end_ns, values,
                             error);
}

/* By device and start, whichever stream they are on, and how far all before reach. */
static enum tfprof_status set_idle_times(const struct work *w, const uint32_t *devices, int64_t *values,
                                         struct tfprof_error *error) {
  struct lane_span *spans = scratch_allocate(((size_t)w->count + 1) * sizeof *spans);
  uint32_t count = 0;
  if (!spans) return error_no_memory(error);
  for (uint32_t i = 0; i < w->count; i++) {
    values[i] = NO_VALUE;
    bool is_wait = w->items[w->order[i].row].part == SYNCS;
    if (is_wait || devices[i] == NO_ROW || w->order[i].start == NO_VALUE) continue;
    spans[count++] = (struct lane_span){w->order[i].start, INT64_MAX, devices[i], i}; /* equal starts stay in order */
  }
  enum tfprof_status status = lane_span_sort(spans, count, error);
  int64_t until = INT64_MIN;
  for (uint32_t i = 0; i < count && !status; i++) {
    if (i && spans[i].lane != spans[i - 1].lane) until = INT64_MIN;
    if (until != INT64_MIN)
      values[spans[i].row] = spans[i].start > until ? derive_difference(spans[i].start, until) : 0;
    int64_t end = w->order[spans[i].row].end;
    if (end != NO_VALUE && end > until) until = end;
  }
  scratch_free(spans);
  if (status) return status;
  return derive_set_integers(w->profile, TABLE_device_activities, COLUMN_device_activities_device_idle_ns, values,
                             error);
}

/* A column of references that all three tables have. */
static enum tfprof_status copy_references(const struct work *w, unsigned to, const uint16_t columns[PARTS],
                                          uint32_t *values, struct tfprof_error *error) {
  uint32_t *from[PARTS] = {NULL};
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t part = 0; part < PARTS && !status; part++) {
    status = derive_all_references(w->profile, parts[part].table, columns[part], &from[part], error);
  }
  for (uint32_t i = 0; i < w->count && !status; i++) {
    const struct activity *a = &w->items[w->order[i].row];
    values[i] = from[a->part][a->row];
  }
  if (!status) status = derive_set_references(w->profile, TABLE_device_activities, to, values, error);
  for (uint32_t part = 0; part < PARTS; part++) scratch_free(from[part]);
  return status;
}

/* What it is: as its table has it, but that a copy which carries out a collective is communication. */
static enum tfprof_status set_kinds(const struct work *w, string_id *kinds, struct tfprof_error *error) {
  uint32_t *collectives = NULL;
  string_id communication;
  enum tfprof_status status = derive_all_references(w->profile, TABLE_transfers, COLUMN_transfers_collective_id,
                                                    &collectives, error);
  if (!status) status = derive_text(w->profile, "communication", &communication, error);
  for (uint32_t i = 0; i < w->count && !status; i++) {
    const struct activity *a = &w->items[w->order[i].row];
    if (a->part == TRANSFERS && collectives[a->row] != NO_ROW) kinds[i] = communication;
  }
  scratch_free(collectives);
  return status ? status
                : derive_set_texts(w->profile, TABLE_device_activities, COLUMN_device_activities_kind, kinds, error);
}

static enum tfprof_status take_texts(const struct work *w, const uint16_t columns[PARTS], string_id all_syncs,
                                     string_id *values, struct tfprof_error *error) {
  int64_t *from[PARTS] = {NULL};
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t part = 0; part < PARTS && !status; part++) {
    status = derive_all_integers(w->profile, parts[part].table, columns[part], &from[part], error);
  }
  for (uint32_t i = 0; i < w->count && !status; i++) {
    const struct activity *a = &w->items[w->order[i].row];
    int64_t value = from[a->part][a->row];
    values[i] = a->part == SYNCS && all_syncs ? all_syncs : value == NO_VALUE ? 0 : (string_id)value;
  }
  for (uint32_t part = 0; part < PARTS; part++) scratch_free(from[part]);
  return status;
}

/* The times of the launching calls, which are in `calls` by now. */
static enum tfprof_status set_launches(const struct work *w, const uint32_t *calls, int64_t *values,
                                       struct tfprof_error *error) {
  static const uint16_t columns[2][2] = {
      {COLUMN_api_calls_start_ns, COLUMN_device_activities_launch_ns},
      {COLUMN_api_calls_end_ns, COLUMN_device_activities_launch_end_ns}};
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < 2 && !status; i++) {
    int64_t *times = NULL;
    status = derive_all_integers(w->profile, TABLE_api_calls, columns[i][0], &times, error);
    for (uint32_t k = 0; k < w->count && !status; k++) values[k] = calls[k] == NO_ROW ? NO_VALUE : times[calls[k]];
    if (!status) status = derive_set_integers(w->profile, TABLE_device_activities, columns[i][1], values, error);
    scratch_free(times);
  }
  return status;
}

static enum tfprof_status set_activity_columns(const struct work *w, struct tfprof_error *error) {
  static const unsigned table = TABLE_device_activities;
  uint32_t *references = scratch_allocate((size_t)w->count * sizeof *references);
  int64_t *integers = scratch_allocate((size_t)w->count * sizeof *integers);
  string_id sync;
  enum tfprof_status status = references && integers ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_text(w->profile, "sync", &sync, error);
#define ALL(column) (const uint16_t[PARTS]){parts[0].column, parts[1].column, parts[2].column}
  static const uint16_t kinds[PARTS] = {COLUMN_kernels_kind, COLUMN_transfers_kind, COLUMN_syncs_kind};
  if (!status) status = take_texts(w, kinds, sync, references, error);
  if (!status) status = set_kinds(w, references, error);
  if (!status) status = take_texts(w, ALL(name), 0, references, error);
  if (!status) status = derive_set_texts(w->profile, table, COLUMN_device_activities_name, references, error);
  if (!status) status = copy_references(w, COLUMN_device_activities_device_id, ALL(device), references, error);
  if (!status) status = set_idle_times(w, references, integers, error);
  if (!status) status = copy_references(w, COLUMN_device_activities_thread_id, ALL(thread), references, error);
  if (!status) status = copy_references(w, COLUMN_device_activities_op_id, ALL(op), references, error);
  if (!status) status = copy_references(w, COLUMN_device_activities_step_id, ALL(step), references, error);
  if (!status) status = copy_references(w, COLUMN_device_activities_api_call_id, ALL(call), references, error);
  if (!status) status = set_launches(w, references, integers, error);
#undef ALL
  for (uint32_t part = 0; part < PARTS && !status; part++) {
    for (uint32_t i = 0; i < w->count; i++) {
      const struct activity *a = &w->items[w->order[i].row];
      references[i] = a->part == part ? a->row : NO_ROW;
    }
    status = derive_set_references(w->profile, table, parts[part].self, references, error);
  }
  if (!status) status = set_previous_ends(w, integers, error);
  for (uint32_t i = 0; i < w->count && !status; i++) integers[i] = w->order[i].start;
  if (!status) status = derive_set_integers(w->profile, table, COLUMN_device_activities_start_ns, integers, error);
  for (uint32_t i = 0; i < w->count && !status; i++) integers[i] = w->order[i].end;
  if (!status) status = derive_set_integers(w->profile, table, COLUMN_device_activities_end_ns, integers, error);
  for (uint32_t i = 0; i < w->count && !status; i++) {
    const struct lane_span *span = &w->order[i];
    bool is_known = span->start != NO_VALUE && span->end != NO_VALUE;
    if (!is_known || __builtin_sub_overflow(span->end, span->start, &integers[i])) integers[i] = NO_VALUE;
  }
  if (!status) status = derive_set_integers(w->profile, table, COLUMN_device_activities_dur_ns, integers, error);
  scratch_free(references);
  scratch_free(integers);
  return status;
}

static enum tfprof_status run_device_activities(struct profile *profile, struct tfprof_error *error) {
  struct work w = {.profile = profile};
  uint8_t *is_stream = NULL;
  uint32_t rows[PARTS];
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &w.lanes, error);
  for (uint32_t part = 0; part < PARTS && !status; part++) {
    status = derive_row_count(profile, parts[part].table, &rows[part], error);
  }
  if (status) return status;
  uint64_t all = (uint64_t)rows[0] + rows[1] + rows[2];
  if (!all) return TFPROF_OK;
  if (all >= NO_ROW) return error_set(error, TFPROF_LIMIT, "too many kernels, transfers and waits for one list");
  w.items = scratch_allocate((size_t)all * sizeof *w.items);
  w.order = scratch_allocate((size_t)all * sizeof *w.order);
  if (!w.items || !w.order) status = error_no_memory(error);
  if (!status) status = find_streams(profile, &is_stream, error);
  if (!status) status = collect_activities(&w, is_stream, error);
  if (!status) status = lane_span_sort(w.order, w.count, error);
  if (!status) status = derive_make_table(profile, TABLE_device_activities, w.count, error);
  if (!status && w.count) status = set_activity_columns(&w, error);
  scratch_free(is_stream);
  scratch_free(w.items);
  scratch_free(w.order);
  return status;
}

#define READS(table, name) \
  {TABLE_##table, COLUMN_##table##_##name}, {TABLE_##table, COLUMN_##table##_kind}, \
      {TABLE_##table, COLUMN_##table##_device_id}, {TABLE_##table, COLUMN_##table##_thread_id}, \
      {TABLE_##table, COLUMN_##table##_start_ns}, {TABLE_##table, COLUMN_##table##_end_ns}, \
      {TABLE_##table, COLUMN_##table##_api_call_id}, {TABLE_##table, COLUMN_##table##_op_id}, \
      {TABLE_##table, COLUMN_##table##_step_id}

static const char *const texts[] = {"sync", "communication", NULL};

const struct derive_pass derive_device_activities = {
    .name = "device activities",
    .summary = "Kernels, transfers and waits of streams, sorted by stream and start.",
    .makes_table = TABLE_device_activities,
    .reads = {READS(kernels, name),
              READS(transfers, name),
              {TABLE_transfers, COLUMN_transfers_collective_id},
              READS(syncs, kind),
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns},
              {TABLE_threads, COLUMN_threads_kind}},
    .run = run_device_activities,
    .texts = texts,
};
