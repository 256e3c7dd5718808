/* lane_columns.c: see lane_columns.h. */
#include "report/lane_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "derive/rows.h"
#include "dump/compress.h"

const char *const lane_column_names[LANE_COLUMNS] = {"starts", "lengths", "names", "rows",
                                                     "counts", "busy",    "links", "traces"};

enum { LINKS = 6, TRACES = 7, ALWAYS_THERE = 4, BUNDLE_EVENTS = 65536 };

/* Columns of a table of lane_tables that say who caused an event and where; -1: it has none. */
struct link_columns {
  int16_t call, op, trace;
};
static const struct link_columns link_columns[LANE_TABLES] = {
    {-1, -1, -1},
    {-1, -1, COLUMN_ops_code_trace_id},
    {-1, COLUMN_api_calls_op_id, -1},
    {COLUMN_kernels_api_call_id, COLUMN_kernels_op_id, -1},
    {COLUMN_transfers_api_call_id, COLUMN_transfers_op_id, -1},
    {-1, COLUMN_collectives_op_id, -1},
};

/* A track while its events come. */
struct track_writer {
  struct packed_bytes columns[LANE_COLUMNS];
  uint64_t count;
  int64_t last_start, last_row, last_link, last_trace;
};

struct lane_writer {
  struct lane_columns *columns;
  struct sweep *sweep;
  int64_t origin_ns;
  struct track_writer *tracks;
  uint32_t track_count;
  uint32_t *first_names; /* by string: the first of its names plus 1 */
  uint32_t first_count;
};

/* ---- bytes ---- */

static bool reserve_bytes(struct packed_bytes *packed, size_t more) {
  return array_reserve(packed->bytes, packed->capacity, packed->length + more);
}

static bool put_varint(struct packed_bytes *packed, uint64_t value) {
  if (!reserve_bytes(packed, 10)) return false;
  for (; value >= 0x80; value >>= 7) packed->bytes[packed->length++] = (unsigned char)(value | 0x80);
  packed->bytes[packed->length++] = (unsigned char)value;
  return true;
}

static bool append_packed(struct packed_bytes *packed, const struct packed_bytes *more) {
  if (!reserve_bytes(packed, more->length)) return false;
  if (more->length) memcpy(packed->bytes + packed->length, more->bytes, more->length);
  packed->length += more->length;
  return true;
}

static void free_bytes(struct packed_bytes *packed) {
  free(packed->bytes);
  *packed = (struct packed_bytes){0};
}

/* ---- names ---- */

/* The index of a name with its category; false: no memory. */
static bool find_name(struct lane_writer *writer, unsigned kind, string_id name, string_id category, uint32_t *index) {
  struct lane_columns *columns = writer->columns;
  if (name >= writer->first_count) {
    uint32_t count = pool_count(store_pool(writer->sweep->store)) + 1;
    if (count <= name) count = name + 1;
    if (!array_extend(writer->first_names, writer->first_count, count)) return false;
  }
  for (uint32_t i = writer->first_names[name]; i; i = columns->names[i - 1].next) {
    if (columns->names[i - 1].category == category && columns->names[i - 1].kind == kind) {
      *index = i - 1;
      return true;
    }
  }
  if (!array_room(columns->names, columns->name_count, columns->name_capacity)) return false;
  *index = columns->name_count++;
  columns->names[*index] = (struct packed_name){name, category, (uint8_t)kind, writer->first_names[name]};
  writer->first_names[name] = *index + 1;
  return true;
}

static string_id text_at(const struct segment *segment, int column, uint32_t row) {
  const struct column *texts = column < 0 ? NULL : segment->columns[column];
  return texts && !column_is_null(texts, row) ? (string_id)column_integer(texts, row) : 0;
}

/* The row that a column refers to; NO_VALUE: none. */
static int64_t reference_at(const struct segment *segment, int column, uint32_t row) {
  const struct column *rows = column < 0 ? NULL : segment->columns[column];
  return rows && !column_is_null(rows, row) ? column_integer(rows, row) : NO_VALUE;
}

/* ---- events ---- */

static inline uint64_t zigzag(int64_t value) { return (uint64_t)value << 1 ^ (uint64_t)(value >> 63); }

/* Who caused the event of that row, and the stack it was called by. */
static bool put_causes(struct track_writer *track, const struct segment *segment, unsigned kind, uint32_t row) {
  const struct link_columns *links = &link_columns[kind];
  uint64_t link = 0, trace_step = 0;
  int64_t call = reference_at(segment, links->call, row);
  int64_t cause = call == NO_VALUE ? reference_at(segment, links->op, row) : call;
  if (cause != NO_VALUE) {
    link = 1 + (zigzag(cause - track->last_link) << 1 | (call == NO_VALUE));
    track->last_link = cause;
  }
  int64_t trace = reference_at(segment, links->trace, row);
  if (trace != NO_VALUE) {
    trace_step = 1 + zigzag(trace - track->last_trace);
    track->last_trace = trace;
  }
  return ((links->call < 0 && links->op < 0) || put_varint(&track->columns[LINKS], link)) &&
         (links->trace < 0 || put_varint(&track->columns[TRACES], trace_step));
}

static bool put_event(struct lane_writer *writer, uint32_t track_index, int64_t start, int64_t length, uint32_t name,
                      int64_t row) {
  struct track_writer *track = &writer->tracks[track_index];
  int64_t delta = start - (track->count ? track->last_start : writer->origin_ns), step = row - track->last_row;
  track->count++;
  track->last_start = start;
  track->last_row = row;
  return put_varint(&track->columns[0], delta > 0 ? (uint64_t)delta : 0) &&
         put_varint(&track->columns[1], (uint64_t)length) && put_varint(&track->columns[2], name) &&
         put_varint(&track->columns[3], zigzag(step));
}

static bool make_room_for_writers(struct lane_writer *writer) {
  return array_extend(writer->tracks, writer->track_count, writer->sweep->track_count);
}

static enum tfprof_status write_block(void *user, const struct lane_block *block, struct tfprof_error *error) {
  struct lane_writer *writer = user;
  const struct lane_table *table = &lane_tables[block->kind];
  const struct segment *segment = block->segment;
  bool is_well = make_room_for_writers(writer);
  for (uint32_t i = 0; i < block->count && is_well; i++) {
    uint32_t row = block->rows[i], name;
    is_well = find_name(writer, block->kind, text_at(segment, table->name, row), text_at(segment, table->category, row),
                        &name) &&
              put_event(writer, block->tracks[i], block->starts[i], block->ends[i] - block->starts[i], name,
                        (int64_t)(segment->first_row + row)) &&
              put_causes(&writer->tracks[block->tracks[i]], segment, block->kind, row);
  }
  writer->columns->event_count += block->count;
  return is_well ? TFPROF_OK : error_no_memory(error);
}

static void forget_written(void *user, uint32_t track) {
  struct lane_writer *writer = user;
  for (uint32_t i = track; i < writer->track_count; i++) {
    writer->columns->event_count -= writer->tracks[i].count;
    for (unsigned c = 0; c < LANE_COLUMNS; c++) free_bytes(&writer->tracks[i].columns[c]);
    writer->tracks[i] = (struct track_writer){0};
  }
}

static enum tfprof_status write_events(struct lane_writer *writer, struct sweep *sweep, struct tfprof_error *error) {
  sweep->take = write_block;
  sweep->forget = forget_written;
  sweep->user = writer;
  for (unsigned kind = 0; kind < LANE_TABLES; kind++) {
    const int16_t columns[] = {lane_tables[kind].name, link_columns[kind].call, link_columns[kind].op,
                               link_columns[kind].trace};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
      if (columns[i] >= 0) column_set_add(&sweep->reads[lane_tables[kind].table], (unsigned)columns[i]);
    }
  }
  return sweep_run(sweep, error);
}

static enum tfprof_status write_cells(struct lane_writer *writer, const struct cells *cells,
                                      struct tfprof_error *error) {
  bool is_well = make_room_for_writers(writer);
  for (size_t i = 0; i < cells->count && is_well; i++) {
    const struct cell *cell = &cells->cells[i];
    unsigned kind = cells->sweep.lanes[cells->sweep.tracks[cell->track].lane].kind;
    struct track_writer *track = &writer->tracks[cell->track];
    uint32_t name;
    is_well = find_name(writer, kind, cell_name(cells, cell), cell->category, &name) &&
              put_event(writer, cell->track, cell->start_ns, cell->end_ns - cell->start_ns, name,
                        (int64_t)id_row(cell_longest_id(cell))) &&
              put_varint(&track->columns[4], cell->count) && put_varint(&track->columns[5], (uint64_t)cell->busy_ns);
    writer->columns->event_count += cell->count;
  }
  return is_well ? TFPROF_OK : error_no_memory(error);
}

/* ---- lanes ---- */

static bool compress_bytes(struct dump_compressor *compressor, const struct packed_bytes *raw,
                           struct packed_bytes *packed) {
  size_t capacity = raw->length + raw->length / 100 + 1024;
  if (!reserve_bytes(packed, capacity)) return false;
  packed->length =
      dump_compress(compressor, raw->bytes ? (const void *)raw->bytes : "", raw->length, packed->bytes, capacity);
  return packed->length > 0;
}

static bool has_value(const struct packed_bytes *raw) {
  return raw->bytes[0] || memcmp(raw->bytes, raw->bytes + 1, raw->length - 1) != 0;
}

/* Takes the events of the tracks of a lane. */
static bool add_to_bundle(struct lane_writer *writer, const struct packed_lane *lane, const uint32_t *order) {
  struct packed_bundle *bundle = &writer->columns->bundles[lane->bundle];
  bool is_well = true;
  for (uint32_t i = 0; i < lane->track_count && is_well; i++) {
    struct track_writer *track = &writer->tracks[order[lane->first_track + i]];
    bundle->event_count += track->count;
    for (unsigned c = 0; c < LANE_COLUMNS && is_well; c++) {
      is_well = append_packed(&bundle->columns[c], &track->columns[c]);
      free_bytes(&track->columns[c]);
    }
  }
  return is_well;
}

/* Compresses its columns; what has no value goes. */
static bool close_bundle(struct lane_writer *writer, struct packed_bundle *bundle, struct dump_compressor *compressor) {
  bool is_well = true;
  for (unsigned c = 0; c < LANE_COLUMNS && is_well; c++) {
    struct packed_bytes raw = bundle->columns[c];
    bundle->columns[c] = (struct packed_bytes){0};
    bool is_empty = raw.length == 0 || (c >= ALWAYS_THERE && !has_value(&raw));
    if (!is_empty) is_well = compress_bytes(compressor, &raw, &bundle->columns[c]);
    writer->columns->bytes += bundle->columns[c].length;
    free_bytes(&raw);
  }
  return is_well;
}

/* Puts each lane into the bundle of its table that is open, until that has enough. */
static bool make_bundles(struct lane_writer *writer, const uint32_t *order, struct dump_compressor *compressor) {
  struct lane_columns *columns = writer->columns;
  uint32_t open[LANE_TABLES];
  bool is_well = true;
  for (unsigned kind = 0; kind < LANE_TABLES; kind++) open[kind] = UINT32_MAX;
  for (uint32_t i = 0; i < columns->lane_count && is_well; i++) {
    struct packed_lane *lane = &columns->lanes[i];
    if (open[lane->kind] == UINT32_MAX) open[lane->kind] = columns->bundle_count++;
    lane->bundle = open[lane->kind];
    struct packed_bundle *bundle = &columns->bundles[lane->bundle];
    is_well = add_to_bundle(writer, lane, order);
    if (!is_well || bundle->event_count < BUNDLE_EVENTS) continue;
    is_well = close_bundle(writer, bundle, compressor);
    open[lane->kind] = UINT32_MAX;
  }
  for (unsigned kind = 0; kind < LANE_TABLES && is_well; kind++)
    if (open[kind] != UINT32_MAX) is_well = close_bundle(writer, &columns->bundles[open[kind]], compressor);
  return is_well;
}

static enum tfprof_status finish_lanes(struct lane_writer *writer, struct tfprof_error *error) {
  struct lane_columns *columns = writer->columns;
  const struct sweep *sweep = writer->sweep;
  struct dump_compressor *compressor = dump_compressor_create();
  uint32_t *order = sweep_order(sweep);
  columns->lanes = calloc(sweep->lane_count + 1, sizeof *columns->lanes);
  columns->bundles = calloc(sweep->lane_count + 1, sizeof *columns->bundles);
  columns->tracks = calloc(sweep->track_count + 1, sizeof *columns->tracks);
  bool is_well =
      compressor && order && columns->lanes && columns->bundles && columns->tracks && make_room_for_writers(writer);
  for (uint32_t i = 0; i < sweep->track_count && is_well; i++) {
    const struct track *track = &sweep->tracks[order[i]];
    const struct lane *lane = &sweep->lanes[track->lane];
    bool is_first = i == 0 || sweep->tracks[order[i - 1]].lane != track->lane;
    if (is_first) {
      columns->lanes[columns->lane_count++] = (struct packed_lane){
          .profile_number = lane->profile_number, .thread_id = lane->thread_id, .kind = lane->kind, .first_track = i};
    }
    columns->lanes[columns->lane_count - 1].track_count++;
    columns->tracks[i] = (struct packed_track){track->depth, writer->tracks[order[i]].count};
    columns->cell_count += columns->tracks[i].count;
  }
  is_well = is_well && make_bundles(writer, order, compressor);
  free(order);
  dump_compressor_free(compressor);
  return is_well ? TFPROF_OK : error_no_memory(error);
}

enum tfprof_status lane_columns_make(struct lane_columns *columns, struct store *store, int64_t from_ns, int64_t to_ns,
                                     int64_t origin_ns, int64_t bucket_ns, struct sweep_index *index, size_t most_cells,
                                     struct tfprof_error *error) {
  struct sweep sweep = {.store = store, .from_ns = from_ns, .to_ns = to_ns, .index = index};
  struct cells cells = {0};
  struct lane_writer writer = {.columns = columns, .sweep = bucket_ns ? &cells.sweep : &sweep, .origin_ns = origin_ns};
  enum tfprof_status status;
  *columns = (struct lane_columns){0};
  if (bucket_ns) {
    status = cells_make(&cells, store, from_ns, to_ns, bucket_ns, NULL, 0, index, most_cells, error);
    if (!status) status = write_cells(&writer, &cells, error);
  } else {
    status = write_events(&writer, &sweep, error);
  }
  if (!status) status = finish_lanes(&writer, error);
  for (uint32_t i = 0; i < writer.track_count; i++) {
    for (unsigned c = 0; c < LANE_COLUMNS; c++) free_bytes(&writer.tracks[i].columns[c]);
  }
  free(writer.tracks);
  free(writer.first_names);
  sweep_clear(&sweep);
  cells_clear(&cells);
  if (status) lane_columns_clear(columns);
  return status;
}

void lane_columns_drop_causes(struct lane_columns *columns) {
  for (uint32_t i = 0; i < columns->bundle_count; i++) {
    for (unsigned c = LINKS; c <= TRACES; c++) {
      columns->bytes -= columns->bundles[i].columns[c].length;
      free_bytes(&columns->bundles[i].columns[c]);
    }
  }
}

void lane_columns_clear(struct lane_columns *columns) {
  for (uint32_t i = 0; i < columns->bundle_count; i++) {
    for (unsigned c = 0; c < LANE_COLUMNS; c++) free_bytes(&columns->bundles[i].columns[c]);
  }
  free(columns->lanes);
  free(columns->bundles);
  free(columns->tracks);
  free(columns->names);
  *columns = (struct lane_columns){0};
}
