/* cells.c: see cells.h.
**
** The events of a track come by ascending start, so that only the last cell of each track is open, and the times of its
** categories, of which there are few, are kept for that one alone.  Cells are appended as they are opened and are put
** into the order of tracks at the end, by counting.
*/
#include "lanes/cells.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "derive/rows.h"

enum { NO_CELL = -1 };

struct part {
  string_id category;
  int64_t ns;
};

/* The cell of a track that may get more events, in one place while it grows. */
struct open_cell {
  int64_t index;      /* of the cell that it becomes; NO_CELL: none yet */
  int64_t bucket_end; /* what begins here or later opens another */
  int64_t end_ns, busy_ns, longest_ns;
  uint64_t count;
  const struct segment *longest_segment;
  uint32_t longest_row, part_count, part_capacity;
  struct part first_part; /* with part_count 1 it is the only one; the others are in `parts`, with it */
  struct part *parts;
};

struct cell_maker {
  int64_t bucket_ns;
  struct cell *cells;
  size_t count, capacity, most;
  struct open_cell *open; /* by track */
  uint32_t open_count;
  struct sweep *sweep;
};

/* ---- one cell ---- */

static inline int64_t add_times(int64_t left, int64_t right) {
  int64_t sum;
  return __builtin_add_overflow(left, right, &sum) ? INT64_MAX : sum;
}

static enum tfprof_status add_further_part(struct open_cell *open, string_id category, int64_t ns,
                                           struct tfprof_error *error) {
  for (uint32_t i = 0; i + 1 < open->part_count; i++) {
    if (open->parts[i].category != category) continue;
    open->parts[i].ns = add_times(open->parts[i].ns, ns);
    return TFPROF_OK;
  }
  if (!array_reserve(open->parts, open->part_capacity, open->part_count)) return error_no_memory(error);
  open->parts[open->part_count++ - 1] = (struct part){category, ns};
  return TFPROF_OK;
}

static void close_cell(struct cell_maker *maker, struct open_cell *open) {
  if (open->index == NO_CELL) return;
  const struct part *most = &open->first_part;
  for (uint32_t i = 0; i + 1 < open->part_count; i++) {
    if (open->parts[i].ns > most->ns) most = &open->parts[i];
  }
  struct cell *cell = &maker->cells[open->index];
  cell->end_ns = open->end_ns;
  cell->busy_ns = open->busy_ns;
  cell->count = open->count;
  cell->longest_segment = open->longest_segment;
  cell->longest_row = open->longest_row;
  cell->category = most->category;
}

/* start / bucket_ns, rounded down. */
static int64_t bucket_of(int64_t start, int64_t bucket_ns) {
  int64_t bucket = start / bucket_ns;
  return bucket - (start % bucket_ns < 0);
}

/* Closes the one that is open, and opens that of an event, which is not counted in it yet. */
static enum tfprof_status open_cell(struct cell_maker *maker, uint32_t track, int64_t start, int64_t id,
                                    string_id category, struct tfprof_error *error) {
  struct open_cell *open = &maker->open[track];
  close_cell(maker, open);
  if (maker->count == maker->most) return error_set(error, TFPROF_LIMIT, "more than %zu cells", maker->most);
  if (!array_room(maker->cells, maker->count, maker->capacity)) return error_no_memory(error);
  int64_t bucket = start, bucket_end = INT64_MIN;
  if (maker->bucket_ns) {
    bucket = bucket_of(start, maker->bucket_ns);
    if (__builtin_mul_overflow(bucket + 1, maker->bucket_ns, &bucket_end)) bucket_end = INT64_MAX;
  }
  open->index = (int64_t)maker->count;
  open->bucket_end = bucket_end;
  open->end_ns = start;
  open->busy_ns = 0;
  open->longest_ns = -1;
  open->count = 0;
  open->part_count = 1;
  open->first_part = (struct part){category, 0};
  maker->cells[maker->count++] = (struct cell){.start_ns = start, .bucket = bucket, .first_id = id, .track = track};
  return TFPROF_OK;
}

/* ---- what the sweep calls ---- */

static enum tfprof_status make_room_for_tracks(struct cell_maker *maker, struct tfprof_error *error) {
  uint32_t wanted = maker->sweep->track_capacity;
  uint32_t before = maker->open_count;
  if (!array_extend(maker->open, maker->open_count, wanted)) return error_no_memory(error);
  for (uint32_t i = before; i < maker->open_count; i++)
    maker->open[i] = (struct open_cell){.index = NO_CELL, .bucket_end = INT64_MIN};
  return TFPROF_OK;
}

static enum tfprof_status take_block(void *user, const struct lane_block *block, struct tfprof_error *error) {
  struct cell_maker *maker = user;
  const struct segment *segment = block->segment;
  const int16_t category_column = lane_tables[block->kind].category;
  const struct column *categories = category_column < 0 ? NULL : segment->columns[category_column];
  int64_t first_id = id_make(segment->profile->number, segment->first_row);
  enum tfprof_status status = make_room_for_tracks(maker, error);
  if (categories && categories->form == COLUMN_ABSENT) categories = NULL;
  string_id texts[LANES_BLOCK];
  uint32_t first_row = block->count ? block->rows[0] : 0; /* rows of a block follow each other */
  if (categories && block->count)
    derive_texts(categories, first_row, block->rows[block->count - 1] - first_row + 1, texts);
  for (uint32_t i = 0; i < block->count && !status; i++) {
    uint32_t row = block->rows[i];
    struct open_cell *open = &maker->open[block->tracks[i]];
    int64_t start = block->starts[i], end = block->ends[i], length = end - start;
    string_id category = categories ? texts[row - first_row] : 0;
    if (start >= open->bucket_end) {
      status = open_cell(maker, block->tracks[i], start, first_id + row, category, error);
      if (status) break;
    }
    open->count++;
    open->busy_ns = add_times(open->busy_ns, length);
    if (end > open->end_ns) open->end_ns = end;
    if (length > open->longest_ns) {
      open->longest_ns = length;
      open->longest_segment = segment;
      open->longest_row = row;
    }
    if (category == open->first_part.category) open->first_part.ns = add_times(open->first_part.ns, length);
    else status = add_further_part(open, category, length, error);
  }
  return status;
}

static void forget_tracks(void *user, uint32_t track) {
  struct cell_maker *maker = user;
  for (uint32_t i = track; i < maker->open_count; i++) {
    maker->open[i].index = NO_CELL;
    maker->open[i].bucket_end = INT64_MIN;
  }
  /* Tables come one after the other, and so do their cells. */
  while (maker->count && maker->cells[maker->count - 1].track >= track) maker->count--;
}

/* ---- the whole ---- */

/* Puts the cells of each track together, the tracks in their order. */
static enum tfprof_status sort_cells(struct cell_maker *maker, struct tfprof_error *error) {
  uint32_t track_count = maker->sweep->track_count;
  uint32_t *order = sweep_order(maker->sweep);
  size_t *begin = calloc((size_t)track_count + 1, sizeof *begin);
  struct cell *sorted = malloc((maker->count + 1) * sizeof *sorted);
  bool is_well = order && begin && sorted;
  if (is_well) {
    size_t at = 0;
    for (size_t i = 0; i < maker->count; i++) begin[maker->cells[i].track]++;
    for (uint32_t i = 0; i < track_count; i++) {
      size_t count = begin[order[i]];
      begin[order[i]] = at;
      at += count;
    }
    for (size_t i = 0; i < maker->count; i++) sorted[begin[maker->cells[i].track]++] = maker->cells[i];
    free(maker->cells);
    maker->cells = sorted;
  } else {
    free(sorted);
  }
  free(order);
  free(begin);
  return is_well ? TFPROF_OK : error_no_memory(error);
}

enum tfprof_status cells_make(struct cells *cells, struct store *store, int64_t from_ns, int64_t to_ns,
                              int64_t bucket_ns, const int64_t *threads, size_t thread_count, struct sweep_index *index,
                              size_t most, struct tfprof_error *error) {
  *cells = (struct cells){.sweep = {.store = store,
                                    .from_ns = from_ns,
                                    .to_ns = to_ns,
                                    .threads = threads,
                                    .thread_count = thread_count,
                                    .index = index,
                                    .take = take_block,
                                    .forget = forget_tracks}};
  struct cell_maker maker = {.bucket_ns = bucket_ns, .most = most, .sweep = &cells->sweep};
  assert(bucket_ns >= 0);
  cells->sweep.user = &maker;
  for (unsigned kind = 0; kind < LANE_TABLES; kind++)
    column_set_add(&cells->sweep.reads[lane_tables[kind].table], (unsigned)lane_tables[kind].name);
  enum tfprof_status status = sweep_run(&cells->sweep, error);
  for (uint32_t i = 0; i < maker.open_count; i++) {
    if (!status) close_cell(&maker, &maker.open[i]);
    free(maker.open[i].parts);
  }
  free(maker.open);
  if (!status) status = sort_cells(&maker, error);
  cells->cells = maker.cells;
  cells->count = maker.count;
  if (status) cells_clear(cells);
  return status;
}

void cells_clear(struct cells *cells) {
  sweep_clear(&cells->sweep);
  free(cells->cells);
  cells->cells = NULL;
  cells->count = 0;
}

int64_t cell_longest_id(const struct cell *cell) {
  return id_make(cell->longest_segment->profile->number, cell->longest_segment->first_row + cell->longest_row);
}

string_id cell_name(const struct cells *cells, const struct cell *cell) {
  const struct lane *lane = &cells->sweep.lanes[cells->sweep.tracks[cell->track].lane];
  const struct column *names = cell->longest_segment->columns[lane_tables[lane->kind].name];
  bool has_name = names && !column_is_null(names, cell->longest_row);
  return has_name ? (string_id)column_integer(names, cell->longest_row) : 0;
}
