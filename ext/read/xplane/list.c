/* list.c: the rows of the tables, from the events of all host threads or of all devices.
**
** Those of one group (batch.h) are read together when the first of their tables is asked for.  Several workers each
** take the next piece - stretches of whole events, a megabyte or so, of one line or more - and make rows of it; the
** pieces become segments in the order of the file.  So memory holds a piece for each worker, and what is kept.
*/
#include <pthread.h>
#include <string.h>

#include "read/xplane/framework_names.h"
#include "read/rows/sound_times.h"
#include "read/xplane/source.h"
#include "store/parallel.h"
#include "read/xplane/fields.h"

enum {
  PIECE_BYTES = 1 << 20,
  READ_BYTES = 1 << 17, /* at once: what is then looked through is still in the cache */
  OVERSIZED = 64 << 20 /* an event of more bytes is passed over */
};

static const uint16_t tables[ROWS_COUNT] = {
#define ROWS(table) [ROWS_##table] = TABLE_##table,
#define VALUE(table, column, kind)
#include "read/xplane/rows.def"
};

static const struct slot_spec {
  uint16_t column;
  bool is_text;
} slot_specs[ROW_SLOTS] = {
#define IS_TEXT_INTEGER false
#define IS_TEXT_REAL false
#define IS_TEXT_TEXT true
#define ROWS(table)
#define VALUE(table, column, kind) [ROW_##table##_##column] = {COLUMN_##table##_##column, IS_TEXT_##kind},
#include "read/xplane/rows.def"
};

enum row_group xplane_group_of_table(unsigned table) {
  if (table == TABLE_code_traces || table == TABLE_code_frames) return GROUP_THREADS; /* of its ops */
  if (table == TABLE_memory_events) return GROUP_MEMORY;
  if (table == TABLE_counters) return GROUP_COUNTERS;
  for (unsigned i = 0; i < ROWS_COUNT; i++) {
    if (tables[i] == table) return i < ROWS_kernels ? GROUP_THREADS : GROUP_DEVICES;
  }
  return GROUP_COUNT;
}

void segment_places_free(void *source_data) {
  struct segment_places *places = source_data;
  if (!places) return;
  free(places->places);
  free(places->parts);
  free(places);
}

/* What became of a piece. */
struct packed {
  struct packed_table {
    uint32_t rows;
    uint32_t *places;
    struct column **columns;
  } tables[ROWS_COUNT];
  struct piece_part *parts;
  size_t part_count;
  struct problem_tally problems[PROBLEM_COUNT];
};

struct pieces { /* all that is being listed */
  struct profile *profile;
  const struct xplane_source *source;
  const char *path;
  struct listing listing;
  enum row_group group;
  enum plane_kind kind; /* of the planes that its events lie on */
  pthread_t main_thread;
  pthread_mutex_t read_lock, turn_lock; /* of what follows each */
  struct source_ranges *file;
  uint32_t line;   /* the next one to read, at: */
  uint64_t offset; /* 0: its beginning */
  size_t taken;    /* pieces */
  LIST(struct packed *) done; /* by number; NULL: not done yet */
  struct problem_tally oversized, cut;
  enum tfprof_status status;
  struct tfprof_error error;
};

struct piece {
  char *bytes;
  size_t length, capacity;
  LIST(struct piece_part) parts;
  size_t number;
};

static void fail(struct pieces *all, enum tfprof_status status, const struct tfprof_error *error) {
  pthread_mutex_lock(&all->turn_lock);
  if (!all->status) {
    all->status = status;
    if (error) all->error = *error;
    else error_no_memory(&all->error);
  }
  pthread_mutex_unlock(&all->turn_lock);
}

static bool is_stopped(struct pieces *all) {
  pthread_mutex_lock(&all->turn_lock);
  bool is_main = pthread_equal(pthread_self(), all->main_thread);
  if (!all->status && is_main && store_interrupted(all->profile->store))
    all->status = error_set(&all->error, TFPROF_INTERRUPTED, "interrupted");
  bool stop = all->status != TFPROF_OK;
  pthread_mutex_unlock(&all->turn_lock);
  return stop;
}

/* ---- reading ---- */

/* How many bytes of whole fields there are at the beginning; 0: the first is not whole. *needed is how many bytes that
** one has, as far as it can be told. */
static size_t whole_fields(const uint8_t *bytes, size_t length, uint64_t *needed) {
  size_t at = 0;
  *needed = 0;
  while (at < length) {
    const uint8_t *end = bytes + length;
    uint64_t tag, value;
    const uint8_t *next = varint_read(bytes + at, end, &tag);
    if (!next) break;
    switch (tag & 7) {
      case WIRE_VARINT: next = varint_read(next, end, &value); break;
      case WIRE_FIXED64: next = end - next >= 8 ? next + 8 : NULL; break;
      case WIRE_FIXED32: next = end - next >= 4 ? next + 4 : NULL; break;
      case WIRE_BYTES:
        next = varint_read(next, end, &value);
        if (next && value > (size_t)(end - next)) {
          if (at == 0) *needed = (uint64_t)(next - bytes) + value;
          next = NULL;
        } else if (next) {
          next += value;
        }
        break;
      default: return length; /* no field: the decoder tells it */
    }
    if (!next) break;
    at = (size_t)(next - bytes);
  }
  return at;
}

static bool is_of_counters(const struct xplane_line *line) { return strcmp(line->name, "_counters_") == 0; }

static bool is_wanted(const struct pieces *all, const struct xplane_line *line) {
  if (xplane_kind_of_line(&all->source->index, line) != all->kind || line->is_derived) return false;
  return all->kind != PLANE_DEVICE || is_of_counters(line) == (all->group == GROUP_COUNTERS);
}

static void to_next_line(struct pieces *all) {
  all->line++;
  all->offset = 0;
}

/* Adds a stretch of the current line to the piece. */
static enum tfprof_status add_part(struct pieces *all, struct piece *piece, struct tfprof_error *error) {
  const struct xplane_line *line = &all->source->index.lines.items[all->line];
  if (!all->offset) all->offset = line->events;
  if (!is_wanted(all, line) || all->offset >= line->end) {
    to_next_line(all);
    return TFPROF_OK;
  }
  uint64_t left = line->end - all->offset, needed = 0;
  size_t got;
  size_t room = PIECE_BYTES - piece->length < READ_BYTES ? PIECE_BYTES - piece->length : READ_BYTES, used = 0;
  size_t wanted = left < room ? (size_t)left : room;
  enum tfprof_status status = TFPROF_OK;
  for (;;) {
    if (!array_reserve(piece->bytes, piece->capacity, piece->length + wanted + 16)) return error_no_memory(error);
    status = source_ranges_read(all->file, all->offset, wanted, piece->bytes + piece->length, &got, error);
    if (status) return status;
    if (got < wanted) return error_at(error, TFPROF_IO, all->path, all->offset, "cannot be read again");
    used = whole_fields((const uint8_t *)piece->bytes + piece->length, wanted, &needed);
    if (used || wanted == left) break;
    if (room < READ_BYTES) return TFPROF_OK; /* it begins the next piece */
    if (needed > OVERSIZED && needed <= left) {
      if (!all->oversized.count++) all->oversized.offset = all->offset;
      all->offset += needed;
      return TFPROF_OK;
    }
    wanted = needed > 2 * (uint64_t)wanted ? (size_t)(needed < left ? needed : left) : 2 * wanted;
    if (wanted > left) wanted = (size_t)left;
    if (wanted > OVERSIZED) wanted = OVERSIZED < left ? OVERSIZED : (size_t)left;
  }
  if (!used) { /* the line ends within an event */
    if (!all->cut.count++) all->cut.offset = all->offset;
    to_next_line(all);
    return TFPROF_OK;
  }
  struct piece_part *part = piece->parts.count ? &piece->parts.items[piece->parts.count - 1] : NULL;
  if (part && part->line == all->line && part->offset + part->length == all->offset) {
    part->length += (uint32_t)used;
  } else {
    part = list_add(&piece->parts);
    if (!part) return error_no_memory(error);
    *part = (struct piece_part){all->line, (uint32_t)piece->length, all->offset, (uint32_t)used};
  }
  piece->length += used;
  all->offset += used;
  return TFPROF_OK;
}

/* False: there is none any more, or something failed. */
static bool next_piece(struct pieces *all, struct piece *piece) {
  struct tfprof_error error = {0};
  enum tfprof_status status = TFPROF_OK;
  piece->length = 0;
  piece->parts.count = 0;
  pthread_mutex_lock(&all->read_lock);
  while (!status && all->line < all->source->index.lines.count && piece->length < PIECE_BYTES * 3 / 4) {
    size_t before = piece->length;
    uint32_t line = all->line;
    uint64_t offset = all->offset;
    status = add_part(all, piece, &error);
    if (piece->length == before && line == all->line && offset == all->offset) break; /* full */
  }
  if (!status && piece->parts.count) {
    piece->number = all->taken++;
    if (!list_add(&all->done)) status = error_no_memory(&error);
  }
  pthread_mutex_unlock(&all->read_lock);
  if (status) fail(all, status, &error);
  return !status && piece->parts.count;
}

/* ---- rows ---- */

void batch_take_line(struct batch *batch, const struct xplane_source *source, uint32_t line) {
  batch->line = &source->index.lines.items[line];
  batch->names = &source->names[batch->line->plane];
  batch->is_counters = is_of_counters(batch->line);
  batch->is_overhead = strstr(batch->line->name, "overhead");
  batch->is_framework_thread = xplane_is_framework_thread(batch->line->name);
}

static void read_piece(struct pieces *all, const struct piece *piece, struct batch *batch) {
  for (size_t i = 0; i < piece->parts.count && !batch->no_memory; i++) {
    const struct piece_part *part = &piece->parts.items[i];
    struct wire_reader reader = wire_open(piece->bytes + part->place, part->length);
    struct wire_field field;
    batch_take_line(batch, all->source, part->line);
    while (!batch->no_memory) {
      uint32_t at = (uint32_t)(reader.at - reader.origin);
      if (!wire_next(&reader, &field)) break;
      if (field.number != XLine_events || field.type != WIRE_BYTES) continue;
      batch->place = part->place + at;
      if (!event_read(batch, field.bytes, field.length, reader.limit, part->offset + at)) continue;
      if (all->kind == PLANE_HOST) emit_host(batch);
      else emit_device(batch);
    }
    if (reader.wrong && !all->source->are_lines_told[xplane_lines_of_group(all->group)])
      batch_problem(batch, PROBLEM_DAMAGED, part->offset + wire_offset(&reader));
  }
  emit_device_end(batch);
}

/* Texts that stand in the events become texts of the pool. */
static bool translate_texts(struct pieces *all, struct batch *batch) {
  size_t count = batch->own_texts.count;
  string_id *ids = count ? malloc(count * sizeof *ids) : NULL;
  if (!count) return true;
  if (!ids) return false;
  enum tfprof_status status = TFPROF_OK;
  struct problem_tally *mended = &batch->problems[PROBLEM_NOT_UTF8];
  pthread_mutex_lock(&all->turn_lock);
  for (size_t i = 0; i < count && !status; i++) {
    const struct own_text *text = &batch->own_texts.items[i];
    status = pool_intern_mended(store_pool(all->profile->store), text->bytes, text->length, &ids[i], &mended->count);
  }
  pthread_mutex_unlock(&all->turn_lock);
  for (unsigned table = 0; table < ROWS_COUNT && !status; table++) {
    for (unsigned slot = batch_first_slots[table]; slot < batch_first_slots[table + 1]; slot++) {
      int64_t *values = batch->values[slot];
      if (!slot_specs[slot].is_text) continue;
      if (batch->rest[slot] <= TEXT_OWN && batch->rest[slot] != ROW_NULL)
        batch->rest[slot] = ids[TEXT_OWN - batch->rest[slot]];
      for (uint32_t row = 0; row < batch->filled[slot]; row++) {
        if (values[row] <= TEXT_OWN && values[row] != ROW_NULL) values[row] = ids[TEXT_OWN - values[row]];
      }
    }
  }
  free(ids);
  return !status;
}

static void packed_free(struct packed *packed) {
  if (!packed) return;
  for (unsigned table = 0; table < ROWS_COUNT; table++) {
    struct packed_table *t = &packed->tables[table];
    unsigned count = batch_first_slots[table + 1] - batch_first_slots[table];
    for (unsigned i = 0; i < count && t->columns; i++) column_release(t->columns[i]);
    free(t->columns);
    free(t->places);
  }
  free(packed->parts);
  free(packed);
}

static struct column *same_in_all(int64_t value, uint32_t rows, bool is_real) {
  if (value == ROW_NULL) return column_absent(rows);
  return is_real ? column_constant_real(rows, wire_double_of_bits((uint64_t)value)) : column_constant(rows, value);
}

static bool pack_table(struct batch *batch, unsigned table, struct packed_table *t) {
  unsigned first = batch_first_slots[table], count = batch_first_slots[table + 1] - first;
  t->rows = batch->rows[table].count;
  if (!t->rows) return true;
  t->columns = calloc(count, sizeof(struct column *));
  t->places = malloc(t->rows * sizeof *t->places);
  if (!t->columns || !t->places) return false;
  memcpy(t->places, batch->rows[table].places, t->rows * sizeof *t->places);
  for (unsigned i = 0; i < count; i++) {
    bool is_real = schema_tables[tables[table]].columns[slot_specs[first + i].column].type == TYPE_REAL;
    t->columns[i] = batch->filled[first + i] ? pack_values(batch->values[first + i], t->rows, is_real)
                                             : same_in_all(batch->rest[first + i], t->rows, is_real);
    if (!t->columns[i]) return false;
  }
  return true;
}

static struct packed *pack(struct pieces *all, struct batch *batch, const struct piece *piece) {
  struct packed *packed = batch->no_memory ? NULL : calloc(1, sizeof *packed);
  if (!packed) return NULL;
  batch_complete(batch);
  bool ok = translate_texts(all, batch);
  memcpy(packed->problems, batch->problems, sizeof packed->problems);
  packed->part_count = piece->parts.count;
  packed->parts = malloc(piece->parts.count * sizeof *packed->parts);
  if (packed->parts) memcpy(packed->parts, piece->parts.items, piece->parts.count * sizeof *packed->parts);
  ok = ok && packed->parts;
  for (unsigned table = 0; table < ROWS_COUNT && ok; table++) ok = pack_table(batch, table, &packed->tables[table]);
  if (ok) return packed;
  packed_free(packed);
  return NULL;
}

static void work(void *context, size_t i, unsigned number) {
  struct pieces *all = context;
  struct piece piece = {0};
  struct batch *batch = calloc(1, sizeof *batch);
  (void)i;
  (void)number;
  if (!batch) fail(all, TFPROF_NO_MEMORY, NULL);
  if (batch) {
    batch->listing = &all->listing;
    batch->group = all->group;
  }
  while (batch && !is_stopped(all) && next_piece(all, &piece)) {
    batch_clear(batch);
    read_piece(all, &piece, batch);
    struct packed *packed = pack(all, batch, &piece);
    if (!packed) {
      fail(all, TFPROF_NO_MEMORY, NULL);
      break;
    }
    pthread_mutex_lock(&all->read_lock);
    all->done.items[piece.number] = packed;
    pthread_mutex_unlock(&all->read_lock);
  }
  if (batch) batch_free(batch);
  free(batch);
  free(piece.bytes);
  list_free(&piece.parts);
}

/* ---- segments ---- */

static struct segment_places *copy_places(const struct packed *packed, unsigned table, uint32_t *places) {
  struct segment_places *copy = calloc(1, sizeof *copy);
  struct piece_part *parts = malloc(packed->part_count * sizeof *parts);
  if (!copy || !parts) {
    free(copy);
    free(parts);
    return NULL;
  }
  memcpy(parts, packed->parts, packed->part_count * sizeof *parts);
  *copy = (struct segment_places){places, parts, packed->part_count, (enum row_table)table};
  return copy;
}

static enum tfprof_status add_segment(struct pieces *all, struct packed *packed, unsigned table,
                                      struct tfprof_error *error) {
  struct packed_table *t = &packed->tables[table];
  const struct table_spec *spec = &schema_tables[tables[table]];
  struct column_set raw = {{0, 0}};
  struct segment_places *places = copy_places(packed, table, t->places);
  if (!places) return error_no_memory(error);
  t->places = NULL;
  column_set_add(&raw, spec->column_count - 1u); /* attributes */
  struct segment *segment;
  uint64_t first_row = all->profile->tables[tables[table]].rows;
  if (first_row + t->rows > UINT64_C(1) << 31) {
    segment_places_free(places);
    return error_set(error, TFPROF_LIMIT, "the file has more rows of %s than one file may have", spec->name);
  }
  enum tfprof_status status =
      profile_add_segment(all->profile, tables[table], first_row, t->rows, &raw, places, &segment, error);
  if (status) return status;
  unsigned first = batch_first_slots[table], count = batch_first_slots[table + 1] - first;
  for (unsigned i = 0; i < count; i++) {
    unsigned column = slot_specs[first + i].column;
    struct column *value = t->columns[i];
    t->columns[i] = NULL;
    bool is_needed = spec->start_column == (int)column || spec->dur_column == (int)column;
    if (value->form == COLUMN_ABSENT && !is_needed) { /* what the source does not have may be derived */
      column_release(value);
      continue;
    }
    segment->columns[column] = value;
    column_set_add(&segment->is_raw, column);
  }
  if (spec->start_column < 0) return TFPROF_OK;
  struct column *end = column_sum(segment->columns[spec->start_column], segment->columns[spec->dur_column]);
  if (!end) return error_no_memory(error);
  segment->columns[spec->end_column] = end;
  column_set_add(&segment->is_raw, (unsigned)spec->end_column);
  return TFPROF_OK;
}

static const struct {
  const char *severity, *reason, *message;
} problem_texts[PROBLEM_COUNT] = {
    [PROBLEM_DAMAGED] = {"error", "damaged_event", "events that are damaged were left out, or stats of them"},
    [PROBLEM_UNNAMED] = {"warning", "unnamed_event", "events have a name that the file does not hold"},
    [PROBLEM_TIME] = {"warning", "time_out_of_range", "times beyond the year 2116 are NULL"},
    [PROBLEM_NEGATIVE] = {"warning", "negative_duration", "events that end before they begin have no duration here"},
    [PROBLEM_VALUE] = {"warning", "value_out_of_range",
                       "numbers that their columns cannot hold are in attributes only"},
    [PROBLEM_OVERSIZED] = {"error", "oversized_event", "events of more than 64 MB were left out"},
    [PROBLEM_NOT_UTF8] = {"warning", "not_utf8", NOT_UTF8_MESSAGE},
};

static void tell(struct profile *profile, enum xplane_problem problem, const struct problem_tally *tally) {
  if (!tally->count) return;
  profile_diagnose(profile, problem_texts[problem].severity, problem_texts[problem].reason, (int64_t)tally->count,
                   (int64_t)tally->offset, -1, "%s", problem_texts[problem].message);
}

static void tell_problems(struct pieces *all) {
  struct problem_tally sums[PROBLEM_COUNT] = {{0, 0}};
  for (size_t i = 0; i < all->done.count; i++) {
    for (unsigned problem = 0; problem < PROBLEM_COUNT; problem++) {
      const struct problem_tally *tally = &all->done.items[i]->problems[problem];
      if (tally->count && !sums[problem].count) sums[problem].offset = tally->offset;
      sums[problem].count += tally->count;
    }
  }
  bool are_lines_told = all->source->are_lines_told[xplane_lines_of_group(all->group)];
  if (!are_lines_told) sums[PROBLEM_OVERSIZED] = all->oversized;
  for (unsigned problem = 0; problem < PROBLEM_COUNT; problem++) tell(all->profile, problem, &sums[problem]);
  if (!are_lines_told && all->cut.count)
    profile_diagnose(all->profile, "error", "truncated", (int64_t)all->cut.count, (int64_t)all->cut.offset, -1,
                     "lines end within an event; what stands before is served");
  for (size_t i = 0; i < all->source->index.planes.count; i++) {
    const struct plane_names *names = &all->source->names[i];
    if (all->source->index.planes.items[i].kind != all->kind || all->source->are_names_told[all->kind]) continue;
    if (names->wrong)
      profile_diagnose(all->profile, "error", "damaged_names", (int64_t)names->wrong, (int64_t)names->wrong_offset, -1,
                       "names of events or stats of the plane %s are damaged",
                       all->source->index.planes.items[i].name);
    if (names->mended)
      profile_diagnose(all->profile, "warning", "not_utf8", (int64_t)names->mended, -1, -1, "%s", NOT_UTF8_MESSAGE);
  }
}

static enum tfprof_status mend_times(struct profile *profile, enum row_group group, struct tfprof_error *error) {
  uint16_t of_group[ROWS_COUNT];
  unsigned count = 0;
  bool is_changed;
  for (unsigned i = 0; i < ROWS_COUNT; i++)
    if (xplane_group_of_table(tables[i]) == group) of_group[count++] = tables[i];
  return sound_times_mend(profile, of_group, count, &is_changed, error);
}

/* ---- the listing ---- */

enum tfprof_status xplane_names(struct profile *profile, uint32_t plane, struct tfprof_error *error) {
  struct xplane_source *source = profile->source_data;
  if (source->has_names[plane]) return TFPROF_OK;
  enum tfprof_status status = plane_names_read(&source->names[plane], &source->index,
                                               &source->index.planes.items[plane], store_pool(profile->store), error);
  source->has_names[plane] = !status;
  return status;
}

/* What XLA compiled, read once. */
static enum tfprof_status read_programs(struct profile *profile, struct tfprof_error *error) {
  struct xplane_source *source = profile->source_data;
  if (source->has_programs) return TFPROF_OK;
  enum tfprof_status status = hlo_programs_read(&source->programs, NULL, &source->index, profile, error);
  source->has_programs = !status;
  return status;
}

static void tell_programs(struct profile *profile, const struct hlo_programs *programs) {
  struct xplane_source *source = profile->source_data;
  if (source->are_programs_told) return;
  source->are_programs_told = true;
  if (programs->wrong)
    profile_diagnose(profile, "error", "damaged_program", (int64_t)programs->wrong, (int64_t)programs->wrong_offset, -1,
                     "programs of XLA are damaged: some ops may have no framework_name and no place in the program");
  if (programs->mended)
    profile_diagnose(profile, "warning", "not_utf8", (int64_t)programs->mended, -1, -1, "%s", NOT_UTF8_MESSAGE);
}

/* Instructions are read apart from what runs need of them, which is less. */
static enum tfprof_status list_instructions(struct profile *profile, struct tfprof_error *error) {
  struct xplane_source *source = profile->source_data;
  struct hlo_programs programs = {.wrong = 0};
  struct hlo_rows rows = {.rows = {.count = 0}};
  if (source->are_instructions_listed) return TFPROF_OK;
  enum tfprof_status status = hlo_programs_read(&programs, &rows, &source->index, profile, error);
  if (!status) status = hlo_publish_rows(&rows, &programs, profile, error);
  if (!status) tell_programs(profile, &programs);
  source->are_instructions_listed = !status;
  hlo_rows_free(&rows);
  hlo_programs_free(&programs);
  return status;
}

enum tfprof_status listing_init(struct listing *listing, struct profile *profile, struct tfprof_error *error) {
  static const char *const texts[LITERAL_COUNT] = {
#define X(name) #name,
      XPLANE_LITERALS(X)
#undef X
  };
  struct pool *pool = store_pool(profile->store);
  const struct xplane_source *source = profile->source_data;
  bool is_lent = source->lent && !source->programs.ops.count;
  enum tfprof_status status = TFPROF_OK;
  *listing = (struct listing){.index = &source->index,
                              .names = source->names,
                              .programs = is_lent ? source->lent : &source->programs,
                              .pool = pool,
                              .host_device = source->host_device,
                              .devices = source->devices,
                              .device_count = source->device_count};
  for (unsigned i = 0; i < LITERAL_COUNT && !status; i++)
    status = pool_intern(pool, texts[i], strlen(texts[i]), &listing->literals[i]);
  for (unsigned i = 0; i < sizeof listing->data_types / sizeof *listing->data_types && !status; i++) {
    const char *type = xplane_data_type(i);
    if (type) status = pool_intern(pool, type, strlen(type), &listing->data_types[i]);
  }
  return status ? error_set(error, status, "the texts of the profile cannot be kept") : TFPROF_OK;
}

enum tfprof_status xplane_list(struct profile *profile, unsigned table, struct tfprof_error *error) {
  struct xplane_source *source = profile->source_data;
  struct pieces all = {.profile = profile, .source = source, .group = xplane_group_of_table(table),
                       .main_thread = pthread_self()};
  if (table == TABLE_hlo_instructions || table == TABLE_hlo_operands) return list_instructions(profile, error);
  if (all.group == GROUP_COUNT || source->is_listed[all.group]) return TFPROF_OK;
  all.kind = xplane_kind_of_group(all.group);
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t i = 0; i < source->index.planes.count && !status; i++) {
    bool has_names = source->index.planes.items[i].kind == all.kind && all.group != GROUP_COUNTERS;
    if (has_names) status = xplane_names(profile, i, error);
  }
  for (size_t i = 0; i < source->index.lines.count && !status; i++) {
    const struct xplane_line *line = &source->index.lines.items[i];
    if (is_wanted(&all, line)) status = xplane_names(profile, line->plane, error);
  }
  if (!status && (all.group == GROUP_THREADS || all.group == GROUP_DEVICES)) status = read_programs(profile, error);
  if (!status) status = listing_init(&all.listing, profile, error);
  if (!status && all.group == GROUP_THREADS) status = hlo_publish_traces(&source->programs, profile, error);
  if (status) return status;
  all.path = pool_text(store_pool(profile->store), profile->path);
  status = source_ranges_open(source->index.file, &all.file, error);
  if (status) return status;
  pthread_mutex_init(&all.read_lock, NULL);
  pthread_mutex_init(&all.turn_lock, NULL);
  parallel_for(parallel_workers(), work, &all);
  pthread_mutex_destroy(&all.turn_lock);
  pthread_mutex_destroy(&all.read_lock);
  source_ranges_close(all.file);
  status = all.status;
  if (status && error) *error = all.error;
  for (size_t i = 0; i < all.done.count && !status; i++) {
    for (unsigned rows = 0; rows < ROWS_COUNT && !status; rows++) {
      if (all.done.items[i]->tables[rows].rows) status = add_segment(&all, all.done.items[i], rows, error);
    }
  }
  if (!status) status = mend_times(profile, all.group, error);
  if (!status) tell_problems(&all);
  if (!status && all.group == GROUP_THREADS) tell_programs(profile, &source->programs);
  for (size_t i = 0; i < all.done.count; i++) packed_free(all.done.items[i]);
  list_free(&all.done);
  source->is_listed[all.group] = !status;
  source->are_lines_told[xplane_lines_of_group(all.group)] |= !status;
  source->are_names_told[all.kind] |= !status && all.group != GROUP_COUNTERS;
  return status;
}
