/* sweep.c: see sweep.h. */
#include "lanes/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "derive/rows.h"
#include "lanes/sweep_index.h"

const struct lane_table lane_tables[LANE_TABLES] = {
    {TABLE_ranges, COLUMN_ranges_start_ns, COLUMN_ranges_dur_ns, COLUMN_ranges_thread_id, COLUMN_ranges_depth,
     COLUMN_ranges_name, -1, "range"},
    {TABLE_ops, COLUMN_ops_start_ns, COLUMN_ops_dur_ns, COLUMN_ops_thread_id, COLUMN_ops_depth, COLUMN_ops_name,
     COLUMN_ops_category, "op"},
    {TABLE_api_calls, COLUMN_api_calls_start_ns, COLUMN_api_calls_dur_ns, COLUMN_api_calls_thread_id, -1,
     COLUMN_api_calls_name, -1, "runtime"},
    {TABLE_kernels, COLUMN_kernels_start_ns, COLUMN_kernels_dur_ns, COLUMN_kernels_thread_id, -1, COLUMN_kernels_name,
     COLUMN_kernels_kind, "kernel"},
    {TABLE_transfers, COLUMN_transfers_start_ns, COLUMN_transfers_dur_ns, COLUMN_transfers_thread_id, -1,
     COLUMN_transfers_name, COLUMN_transfers_kind, "memcpy"},
    {TABLE_collectives, COLUMN_collectives_start_ns, COLUMN_collectives_dur_ns, -1, -1, COLUMN_collectives_name, -1,
     "communication"},
};

enum { NO_TRACK = -1 };

/* What is done with the index of a table. */
enum index_use { INDEX_NONE, INDEX_FILL, INDEX_READ };

/* A table while it is swept. */
struct pass {
  struct sweep *sweep;
  const struct lane_table *table;
  unsigned kind;
  struct snapshot *snapshot;
  bool is_disordered;
  enum index_use index_use;
  struct indexed_table *indexed_table;
  struct indexed_segment *indexed; /* the segment whose rows come */
  /* The lanes of the profile whose rows come, by row of the thread; the last is that without a thread. */
  uint32_t *lane_of_thread;
  uint64_t thread_rows;
  uint32_t profile_number; /* 0: none yet */
  uint64_t last_thread;    /* as a row of lane_of_thread; its lane is last_lane, unless that is UINT32_MAX */
  uint32_t last_lane;
  int64_t clock_offset;
  struct lane_block block;
};

/* ---- lanes and tracks ---- */

static int compare_thread_ids(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static bool is_thread_wanted(const struct sweep *sweep, int64_t thread_id) {
  return !sweep->threads ||
         bsearch(&thread_id, sweep->threads, sweep->thread_count, sizeof thread_id, compare_thread_ids);
}

static enum tfprof_status add_lane(struct pass *pass, uint64_t thread, struct tfprof_error *error) {
  struct sweep *sweep = pass->sweep;
  if (!array_room(sweep->lanes, sweep->lane_count, sweep->lane_capacity)) return error_no_memory(error);
  int64_t thread_id = thread < pass->thread_rows ? id_make(pass->profile_number, thread) : 0;
  pass->lane_of_thread[thread] = sweep->lane_count;
  sweep->lanes[sweep->lane_count++] = (struct lane){.profile_number = pass->profile_number,
                                                    .kind = (uint8_t)pass->kind,
                                                    .is_wanted = is_thread_wanted(sweep, thread_id),
                                                    .thread_id = thread_id,
                                                    .last_start = INT64_MIN};
  return TFPROF_OK;
}

/* Makes room for the lanes of another profile. */
static enum tfprof_status enter_profile(struct pass *pass, struct profile *profile, struct tfprof_error *error) {
  if (pass->profile_number == profile->number) return TFPROF_OK;
  enum tfprof_status status = profile_list_table(profile, TABLE_threads, error);
  if (status) return status;
  uint64_t rows = profile->tables[TABLE_threads].rows;
  free(pass->lane_of_thread);
  pass->lane_of_thread = malloc((rows + 1) * sizeof *pass->lane_of_thread);
  if (!pass->lane_of_thread) return error_no_memory(error);
  memset(pass->lane_of_thread, 0xff, (rows + 1) * sizeof *pass->lane_of_thread);
  pass->thread_rows = rows;
  pass->profile_number = profile->number;
  pass->last_lane = UINT32_MAX;
  return TFPROF_OK;
}

/* The track of a depth of a lane, made when it is not there; NO_TRACK: no memory. */
static int64_t make_track(struct sweep *sweep, struct lane *lane, uint32_t depth, struct tfprof_error *error) {
  if (!array_extend(lane->tracks, lane->depth_count, depth + 1) ||
      (!lane->tracks[depth] && !array_room(sweep->tracks, sweep->track_count, sweep->track_capacity))) {
    error_no_memory(error);
    return NO_TRACK;
  }
  if (!lane->tracks[depth]) {
    sweep->tracks[sweep->track_count] = (struct track){(uint32_t)(lane - sweep->lanes), depth, INT64_MIN, INT64_MIN};
    lane->tracks[depth] = ++sweep->track_count;
  }
  return lane->tracks[depth] - 1;
}

static inline int64_t track_of(struct sweep *sweep, struct lane *lane, uint32_t depth, struct tfprof_error *error) {
  bool is_there = depth < lane->depth_count && lane->tracks[depth];
  return is_there ? lane->tracks[depth] - 1 : make_track(sweep, lane, depth, error);
}

/* The first depth that is free when the event begins, or the deepest. */
static uint32_t free_depth(const struct sweep *sweep, const struct lane *lane, int64_t start) {
  uint32_t depth = 0;
  while (depth < LANES_DEEPEST && depth < lane->depth_count && lane->tracks[depth] &&
         sweep->tracks[lane->tracks[depth] - 1].last_end > start) {
    depth++;
  }
  return depth;
}

/* ---- rows ---- */

/* What tells where a row belongs; NO_VALUE: NULL. */
struct place {
  int64_t start, duration, thread, depth;
  uint16_t free_depth; /* what an earlier sweep found to be free; NOT_INDEXED: it is to be found */
};

static enum tfprof_status flush_block(struct pass *pass, struct tfprof_error *error) {
  if (pass->block.count == 0) return TFPROF_OK;
  enum tfprof_status status = pass->sweep->take(pass->sweep->user, &pass->block, error);
  pass->block.count = 0;
  return status;
}

/* A row of the block's segment. */
static inline enum tfprof_status sweep_row(struct pass *pass, struct place place, uint32_t row,
                                           struct tfprof_error *error) {
  struct sweep *sweep = pass->sweep;
  if (place.start == NO_VALUE) return TFPROF_OK;
  int64_t start = place.start + pass->clock_offset, end = start + (place.duration > 0 ? place.duration : 0);
  bool is_in_window = start < sweep->to_ns && (end > sweep->from_ns || start >= sweep->from_ns);
  bool is_deep = place.depth >= 0, is_indexed = place.free_depth != NOT_INDEXED;
  /* Where the others lie must not depend on the window. */
  if (!is_in_window && (is_deep || is_indexed)) return TFPROF_OK;
  bool has_lane = (uint64_t)place.thread < pass->thread_rows && (is_deep || pass->table->depth < 0);
  uint64_t thread = has_lane ? (uint64_t)place.thread : pass->thread_rows;
  if (thread != pass->last_thread ||
      pass->last_lane == UINT32_MAX) { /* most rows are of the thread of the one before */
    if (pass->lane_of_thread[thread] == UINT32_MAX) {
      enum tfprof_status status = add_lane(pass, thread, error);
      if (status) return status;
    }
    pass->last_thread = thread;
    pass->last_lane = pass->lane_of_thread[thread];
  }
  struct lane *lane = &sweep->lanes[pass->last_lane];
  if (!lane->is_wanted) return TFPROF_OK;
  uint32_t depth = place.depth < LANES_DEEPEST ? (uint32_t)place.depth : LANES_DEEPEST;
  if (!is_deep && is_indexed) {
    depth = place.free_depth;
  } else if (!is_deep) {
    pass->is_disordered |= start < lane->last_start;
    lane->last_start = start;
    depth = free_depth(sweep, lane, start);
    if (pass->index_use == INDEX_FILL && !sweep_index_keep_depth(pass->indexed, row, depth))
      return error_no_memory(error);
  }
  int64_t index = track_of(sweep, lane, depth, error);
  if (index == NO_TRACK) return TFPROF_NO_MEMORY;
  struct track *track = &sweep->tracks[index];
  pass->is_disordered |= start < track->last_start;
  track->last_start = start;
  if (end > track->last_end) track->last_end = end;
  if (!is_in_window) return TFPROF_OK;
  struct lane_block *block = &pass->block;
  block->rows[block->count] = row;
  block->tracks[block->count] = (uint32_t)index;
  block->starts[block->count] = start;
  block->ends[block->count++] = end;
  return TFPROF_OK;
}

static enum tfprof_status enter_segment(struct pass *pass, size_t number, struct tfprof_error *error) {
  const struct segment *segment = pass->snapshot->segments[number];
  if (pass->index_use != INDEX_NONE) pass->indexed = &pass->indexed_table->segments[number];
  pass->block.segment = segment;
  pass->clock_offset = segment->profile->clock_offset_ns;
  return enter_profile(pass, segment->profile, error);
}

static void read_places(const struct column *column, uint32_t first, uint32_t count, int64_t *values) {
  if (column) derive_integers(column, first, count, values);
  for (uint32_t i = 0; i < count && !column; i++) values[i] = NO_VALUE;
}

static const struct column *column_of(const struct segment *segment, int column) {
  return column < 0 ? NULL : segment->columns[column];
}

/* When the first of the events begins and the last ends. */
static struct sweep_stretch measure_rows(const struct pass *pass, const int64_t *starts, const int64_t *durations,
                                         uint32_t count) {
  struct sweep_stretch stretch = {INT64_MAX, INT64_MIN};
  for (uint32_t k = 0; k < count; k++) {
    if (starts[k] == NO_VALUE) continue;
    /* Sums do not wrap (STORE_TIME_LIMIT). */
    int64_t start = starts[k] + pass->clock_offset, end = start + (durations[k] > 0 ? durations[k] : 0);
    stretch.first_start = start < stretch.first_start ? start : stretch.first_start;
    stretch.last_end = end > stretch.last_end ? end : stretch.last_end;
  }
  return stretch;
}

/* Whether none of the events touches the window. */
static bool is_beside_window(const struct sweep *sweep, struct sweep_stretch stretch) {
  return stretch.first_start >= sweep->to_ns || stretch.last_end < sweep->from_ns;
}

/* The rows lie in one stretch or in two. */
static void note_stretch(struct indexed_segment *indexed, uint32_t first, uint32_t count, struct sweep_stretch found) {
  for (uint32_t i = first / LANES_BLOCK; i <= (first + count - 1) / LANES_BLOCK; i++) {
    struct sweep_stretch *stretch = &indexed->stretches[i];
    if (found.first_start < stretch->first_start) stretch->first_start = found.first_start;
    if (found.last_end > stretch->last_end) stretch->last_end = found.last_end;
  }
}

static bool has_nothing_there(const struct pass *pass, uint32_t first, uint32_t count) {
  if (pass->index_use != INDEX_READ) return false;
  for (uint32_t i = first / LANES_BLOCK; i <= (first + count - 1) / LANES_BLOCK; i++)
    if (!is_beside_window(pass->sweep, pass->indexed->stretches[i])) return false;
  return true;
}

/* Rows from `first` on, at most LANES_BLOCK. */
static enum tfprof_status sweep_rows(struct pass *pass, const struct segment *segment, uint32_t first, uint32_t count,
                                     struct tfprof_error *error) {
  const struct lane_table *table = pass->table;
  if (has_nothing_there(pass, first, count)) return TFPROF_OK;
  int64_t starts[LANES_BLOCK], durations[LANES_BLOCK], threads[LANES_BLOCK], depths[LANES_BLOCK];
  enum tfprof_status status = TFPROF_OK;
  read_places(column_of(segment, table->start), first, count, starts);
  read_places(column_of(segment, table->duration), first, count, durations);
  const struct sweep_stretch stretch = measure_rows(pass, starts, durations, count);
  if (pass->index_use == INDEX_FILL) note_stretch(pass->indexed, first, count, stretch);
  read_places(column_of(segment, table->depth), first, count, depths);
  if (is_beside_window(pass->sweep, stretch)) {
    /* What has a depth is left out without a trace; of other events later ones depend, which free_depth() knows. */
    int64_t shallowest = INT64_MAX;
    for (uint32_t k = 0; k < count; k++) shallowest = depths[k] < shallowest ? depths[k] : shallowest;
    if (shallowest >= 0) return TFPROF_OK;
  }
  read_places(column_of(segment, table->thread), first, count, threads);
  const uint16_t *indexed = pass->index_use == INDEX_READ ? pass->indexed->depths : NULL;
  for (uint32_t k = 0; k < count && !status; k++) {
    const struct place place = {starts[k], durations[k], threads[k], depths[k],
                                indexed ? indexed[first + k] : NOT_INDEXED};
    status = sweep_row(pass, place, first + k, error);
  }
  return status ? status : flush_block(pass, error);
}

static enum tfprof_status sweep_as_it_stands(struct pass *pass, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (size_t i = 0; i < pass->snapshot->segment_count && !status; i++) {
    const struct segment *segment = pass->snapshot->segments[i];
    status = enter_segment(pass, i, error);
    for (uint32_t first = 0; first < segment->rows && !status && !pass->is_disordered; first += LANES_BLOCK) {
      uint32_t count = segment->rows - first < LANES_BLOCK ? segment->rows - first : LANES_BLOCK;
      if (store_interrupted(pass->sweep->store)) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
      status = sweep_rows(pass, segment, first, count, error);
    }
  }
  return status;
}

/* The same by the start of the events.  Few are out of order as a rule: what follows each other is read together. */
static enum tfprof_status sweep_in_order(struct pass *pass, struct tfprof_error *error) {
  const struct snapshot *snapshot = pass->snapshot;
  const uint16_t order[] = {1, (uint16_t)pass->table->start}; /* profile_id, start_ns */
  const uint32_t *positions;
  size_t hint = 0;
  enum tfprof_status status = snapshot_order(pass->snapshot, order, 2, &positions, error);
  for (uint64_t i = 0, rounds = 0; i < snapshot->rows && !status; rounds++) {
    uint32_t first, count = 1;
    const struct segment *segment = snapshot_segment(snapshot, positions[i], &hint, &first);
    if (rounds % 1024 == 0 && store_interrupted(pass->sweep->store))
      return error_set(error, TFPROF_INTERRUPTED, "interrupted");
    while (count < LANES_BLOCK && i + count < snapshot->rows && first + count < segment->rows &&
           positions[i + count] == positions[i] + count) {
      count++;
    }
    status = enter_segment(pass, hint, error);
    if (!status) status = sweep_rows(pass, segment, first, count, error);
    i += count;
  }
  return status;
}

/* ---- tables ---- */

/* As if nothing had come of the table, whose lanes and tracks are the last ones. */
static void forget_table(struct pass *pass, uint32_t lane_count, uint32_t track_count) {
  struct sweep *sweep = pass->sweep;
  sweep->forget(sweep->user, track_count);
  while (sweep->lane_count > lane_count) free(sweep->lanes[--sweep->lane_count].tracks);
  sweep->track_count = track_count;
  pass->profile_number = 0;
  pass->last_lane = UINT32_MAX;
  pass->is_disordered = false;
}

/* What the index knows of the table, or shall know. */
static void take_index(struct pass *pass) {
  struct sweep *sweep = pass->sweep;
  if (!sweep->index || sweep->selection) return;
  pass->indexed_table = &sweep->index->tables[pass->kind];
  if (sweep_index_has(pass->indexed_table, pass->snapshot)) pass->index_use = INDEX_READ;
  else if (!sweep->threads && sweep_index_begin(pass->indexed_table, pass->snapshot)) pass->index_use = INDEX_FILL;
}

static void keep_index(struct pass *pass, bool is_well) {
  if (!pass->indexed_table || pass->indexed_table->is_complete) return;
  if (is_well && pass->index_use == INDEX_FILL) pass->indexed_table->is_complete = true;
  else sweep_index_forget(pass->indexed_table);
}

static enum tfprof_status require_columns(struct pass *pass, struct tfprof_error *error) {
  const struct lane_table *table = pass->table;
  struct column_set needed = pass->sweep->reads[table->table];
  const int columns[] = {table->start, table->duration, table->thread, table->depth, table->category};
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    if (columns[i] >= 0) column_set_add(&needed, (unsigned)columns[i]);
  }
  return snapshot_require(pass->snapshot, &needed, error);
}

static enum tfprof_status sweep_table(struct pass *pass, struct tfprof_error *error) {
  struct sweep *sweep = pass->sweep;
  enum tfprof_status status =
      store_snapshot(sweep->store, pass->table->table, sweep->selection, &pass->snapshot, error);
  if (status) return status;
  uint32_t lane_count = sweep->lane_count, track_count = sweep->track_count;
  status = require_columns(pass, error);
  if (status) return status;
  take_index(pass);
  bool is_known_disordered = pass->index_use == INDEX_READ && pass->indexed_table->is_disordered;
  if (!is_known_disordered) status = sweep_as_it_stands(pass, error);
  if (!status && (pass->is_disordered || is_known_disordered)) {
    forget_table(pass, lane_count, track_count);
    status = sweep_in_order(pass, error);
    if (pass->index_use == INDEX_FILL) pass->indexed_table->is_disordered = true;
  }
  keep_index(pass, !status);
  return status;
}

enum tfprof_status sweep_run(struct sweep *sweep, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  struct pass *pass = malloc(sizeof *pass);
  if (!pass) return error_no_memory(error);
  for (unsigned kind = 0; kind < LANE_TABLES && !status; kind++) {
    *pass = (struct pass){
        .sweep = sweep, .table = &lane_tables[kind], .kind = kind, .last_lane = UINT32_MAX, .block = {.kind = kind}};
    status = sweep_table(pass, error);
    if (pass->snapshot) sweep->snapshots[kind] = pass->snapshot;
    free(pass->lane_of_thread);
  }
  free(pass);
  return status;
}

void sweep_clear(struct sweep *sweep) {
  for (uint32_t i = 0; i < sweep->lane_count; i++) free(sweep->lanes[i].tracks);
  for (unsigned kind = 0; kind < LANE_TABLES; kind++) {
    if (sweep->snapshots[kind]) snapshot_release(sweep->snapshots[kind]);
    sweep->snapshots[kind] = NULL;
  }
  free(sweep->lanes);
  free(sweep->tracks);
  sweep->lanes = NULL;
  sweep->tracks = NULL;
  sweep->lane_count = sweep->lane_capacity = sweep->track_count = sweep->track_capacity = 0;
}

/* ---- what came of it ---- */

struct ordered_track {
  const struct sweep *sweep;
  uint32_t track;
};

static int compare_tracks(const void *left, const void *right) {
  const struct ordered_track *a = left, *b = right;
  const struct track *x = &a->sweep->tracks[a->track], *y = &b->sweep->tracks[b->track];
  const struct lane *p = &a->sweep->lanes[x->lane], *q = &b->sweep->lanes[y->lane];
  if (p->profile_number != q->profile_number) return p->profile_number < q->profile_number ? -1 : 1;
  if (p->thread_id != q->thread_id) return (uint64_t)p->thread_id - 1 < (uint64_t)q->thread_id - 1 ? -1 : 1;
  if (p->kind != q->kind) return p->kind < q->kind ? -1 : 1;
  return (x->depth > y->depth) - (x->depth < y->depth);
}

uint32_t *sweep_order(const struct sweep *sweep) {
  struct ordered_track *ordered = malloc((sweep->track_count + (size_t)1) * sizeof *ordered);
  uint32_t *order = malloc((sweep->track_count + (size_t)1) * sizeof *order);
  if (!ordered || !order) {
    free(ordered);
    free(order);
    return NULL;
  }
  for (uint32_t i = 0; i < sweep->track_count; i++) ordered[i] = (struct ordered_track){sweep, i};
  qsort(ordered, sweep->track_count, sizeof *ordered, compare_tracks);
  for (uint32_t i = 0; i < sweep->track_count; i++) order[i] = ordered[i].track;
  free(ordered);
  return order;
}
