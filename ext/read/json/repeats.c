/* repeats.c: see repeats.h.
**
** Only where numbers of calls or ops repeat (sections_repeat) rows are looked at: first a sample of them, chosen by
** their start, so that of two that are equal both are in it or none, and where two of these are equal all.  Columns
** hold a part of what an event says, so that the texts of rows that are equal are read again and compared.
**
** Ranks that run in step may launch the same at the same nanosecond.  Their launches are equal in everything, yet no
** repeats, as their ops or kernels are not.  So the rows of one op are a family: where several of its ops begin
** together and none is there twice, or several of its kernels do, its equal rows are those of several processes, and
** stay.
**
** Where numbers of kernels or copies alone repeat, only these are looked at: launches of graphs have many of one
** number, and a profiler that is started twice writes each twice.  They are repeats where all of a number are.
*/
#include "read/json/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "read/json/sections.h"
#include "read/json/trace.h"

enum { SAMPLES = 1 << 16, SAMPLES_OF_DEVICES = 1 << 14, WHOLE_SHARE = 4, SEVERAL_SHARE = 4 };

/* Where each table has the number of an event. */
static const uint16_t number_slots[ROWS_COUNT] = {[ROWS_ops] = ROW_ops_correlation,
                                                  [ROWS_kernels] = ROW_kernels_correlation,
                                                  [ROWS_transfers] = ROW_transfers_correlation,
                                                  [ROWS_api_calls] = ROW_api_calls_correlation,
                                                  [ROWS_syncs] = ROW_syncs_correlation}; /* 0: none */

/* The number of the op that an event belongs to. */
static const uint16_t op_slots[ROWS_COUNT] = {[ROWS_ops] = ROW_ops_correlation,
                                              [ROWS_kernels] = ROW_kernels_op_correlation,
                                              [ROWS_transfers] = ROW_transfers_op_correlation,
                                              [ROWS_api_calls] = ROW_api_calls_op_correlation,
                                              [ROWS_syncs] = ROW_syncs_op_correlation};

struct place {
  uint64_t hash, text; /* of its columns; of its event in the file, once that is read */
  uint32_t chunk, row;
  uint16_t table;
  bool is_repeat;
};
struct places {
  const struct trace *trace;
  bool is_of_devices; /* kernels and copies alone */
  LIST(struct place) items;
};

LIST_NAMED(row_list, uint64_t);

static const struct chunk_table *table_of(const struct trace *trace, const struct place *place) {
  return &trace->chunks.items[place->chunk]->tables[place->table];
}

static int64_t slot_value(const struct column *column, unsigned slot, uint32_t row) {
  union {
    double real;
    int64_t bits;
  } value;
  if (column_is_null(column, row)) return ROW_NULL;
  if (row_slot_kinds[slot] != KIND_REAL) return column_integer(column, row);
  value.real = column_real(column, row);
  return value.bits;
}

static const struct column *time_column(const struct chunk_table *t, unsigned table) {
  for (unsigned slot = row_first_slots[table]; slot < row_first_slots[table + 1]; slot++)
    if (row_slot_kinds[slot] == KIND_TIME) return t->columns[slot - row_first_slots[table]];
  return NULL;
}

/* A number of the row; 0: none. */
static uint64_t number_of_row(const struct trace *trace, const struct place *place, const uint16_t slots[ROWS_COUNT]) {
  unsigned slot = slots[place->table];
  if (!slot) return 0;
  int64_t number = slot_value(table_of(trace, place)->columns[slot - row_first_slots[place->table]], slot, place->row);
  return number == ROW_NULL || number <= 0 ? 0 : (uint64_t)number;
}

static bool has_number(const struct trace *trace, const struct place *place) {
  return number_of_row(trace, place, number_slots) != 0;
}

static uint64_t hash_row(const struct chunk_table *t, unsigned table, uint32_t row) {
  uint64_t hash = table;
  for (unsigned slot = row_first_slots[table]; slot < row_first_slots[table + 1]; slot++) {
    const struct column *column = t->columns[slot - row_first_slots[table]];
    if (!column_is_null(column, row)) hash = hash_pair(hash ^ slot, (uint64_t)slot_value(column, slot, row));
  }
  return hash;
}

static bool are_equal(const struct trace *trace, const struct place *a, const struct place *b) {
  const struct chunk_table *left = table_of(trace, a), *right = table_of(trace, b);
  if (a->table != b->table) return false;
  for (unsigned slot = row_first_slots[a->table]; slot < row_first_slots[a->table + 1]; slot++) {
    unsigned i = slot - row_first_slots[a->table];
    if (slot_value(left->columns[i], slot, a->row) != slot_value(right->columns[i], slot, b->row)) return false;
  }
  return true;
}

/* Of 2^shift rows one, by their times. False: no memory. */
static bool gather_rows(struct places *places, unsigned shift) {
  struct chunk *const *chunks = places->trace->chunks.items;
  places->items.count = 0;
  for (size_t c = 0; c < places->trace->chunks.count; c++) {
    for (unsigned table = 0; table < ROWS_COUNT; table++) {
      if (places->is_of_devices && table != ROWS_kernels && table != ROWS_transfers) continue;
      const struct chunk_table *t = &chunks[c]->tables[table];
      const struct column *times = t->rows ? time_column(t, table) : NULL;
      for (uint32_t row = 0; times && row < t->rows; row++) {
        if (column_is_null(times, row)) continue;
        uint64_t time = (uint64_t)column_integer(times, row);
        if (shift && hash_pair(time, table) >> (64 - shift)) continue;
        struct place *place = list_add(&places->items);
        if (!place) return false;
        *place = (struct place){hash_row(t, table, row), 0, (uint32_t)c, row, (uint16_t)table, false};
      }
    }
  }
  return true;
}

/* By hash and text, and by the order of the file. */
static int by_hash(const void *left, const void *right) {
  const struct place *a = left, *b = right;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  if (a->text != b->text) return a->text < b->text ? -1 : 1;
  if (a->chunk != b->chunk) return a->chunk < b->chunk ? -1 : 1;
  if (a->table != b->table) return a->table < b->table ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* Marks rows that are equal to the first of their hash and text; returns how many. */
static uint64_t mark_repeats(struct places *places) {
  struct place *items = places->items.items;
  uint64_t found = 0;
  size_t first = 0;
  if (places->items.count) qsort(items, places->items.count, sizeof *items, by_hash);
  for (size_t i = 1; i < places->items.count; i++) {
    items[i].is_repeat = false;
    if (items[i].hash != items[first].hash || items[i].text != items[first].text) first = i;
    else found += items[i].is_repeat = are_equal(places->trace, &items[first], &items[i]);
  }
  return found;
}

/* ---- what the events say besides ---- */

static int by_chunk(const void *left, const void *right) {
  const struct place *a = *(struct place *const *)left, *b = *(struct place *const *)right;
  return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

/* The hash of the event at an offset of a chunk's text, which padding follows; 0: no memory. */
static uint64_t hash_event(const char *text, size_t length, size_t offset) {
  struct field event;
  if (offset >= length) return 0;
  const char *until = scan_value(text + offset, text + length, &event);
  size_t bytes = (size_t)(until - text) > length ? length - offset : (size_t)(until - text) - offset;
  char *plain = malloc(text_compact_room(text + offset, bytes));
  if (!plain) return 0;
  uint64_t hash = hash_fnv1a(HASH_FNV1A_START, plain, text_compact(text + offset, bytes, plain));
  free(plain);
  return hash;
}

/* Gives the rows that have equals the hashes of their events. What cannot be read again stays equal. False: no memory.
*/
static bool read_equal_texts(struct places *places, const struct source_index *index) {
  struct place *items = places->items.items, **order = malloc((places->items.count + 1) * sizeof *order);
  struct source_ranges *ranges = NULL;
  char *text = NULL;
  size_t count = 0, room = 0;
  bool ok = order != NULL;
  for (size_t i = 0; i < places->items.count && ok; i++) {
    bool is_first = i + 1 < places->items.count && items[i + 1].is_repeat && items[i + 1].hash == items[i].hash;
    if (items[i].is_repeat || is_first) order[count++] = &items[i];
  }
  if (count) qsort(order, count, sizeof *order, by_chunk);
  bool is_readable = ok && count && source_ranges_open(index, &ranges, NULL) == TFPROF_OK;
  for (size_t i = 0, next; i < count && ok && is_readable; i = next) {
    const struct chunk *chunk = places->trace->chunks.items[order[i]->chunk];
    size_t got = 0;
    ok = array_reserve(text, room, (size_t)chunk->length + SCAN_PADDING);
    if (!ok || source_ranges_read(ranges, chunk->offset, (size_t)chunk->length, text, &got, NULL)) break;
    memset(text + got, '"', SCAN_PADDING);
    for (next = i; next < count && order[next]->chunk == order[i]->chunk; next++)
      order[next]->text = hash_event(text, got, table_of(places->trace, order[next])->offsets[order[next]->row]);
  }
  source_ranges_close(ranges);
  free(text);
  free(order);
  return ok;
}

/* ---- equal rows of several processes ---- */

/* Of the rows of one table and one op: whether several begin together, and whether one is there twice. */
struct family { int64_t start; bool has_several, has_repeats; };
struct families {
  struct row_map calls; /* numbers of calls, whose values are those of their ops */
  struct row_map map;   /* tables and numbers of ops */
  LIST(struct family) items;
};

/* The number of the op of a row, else that of its call, in a range of its own; 0: none. */
static uint64_t family_number(const struct families *families, const struct trace *trace, const struct place *place) {
  static const uint64_t of_calls = UINT64_C(1) << 63;
  uint64_t op = number_of_row(trace, place, op_slots);
  if (op) return op;
  uint64_t call = number_of_row(trace, place, number_slots);
  uint32_t at = call ? row_map_find(&families->calls, (struct row_key){{call, 0, 0}}) : ROW_MAP_NONE;
  if (at != ROW_MAP_NONE && families->calls.values[at]) return families->calls.values[at];
  return call ? of_calls | call : 0;
}

static bool enter_call(struct families *families, const struct trace *trace, const struct place *place) {
  uint64_t call = number_of_row(trace, place, number_slots), op = number_of_row(trace, place, op_slots);
  if (place->table != ROWS_api_calls || !call || !op || op > UINT32_MAX) return true;
  uint32_t at = row_map_number(&families->calls, (struct row_key){{call, 0, 0}});
  if (at != ROW_MAP_NONE) families->calls.values[at] = (uint32_t)op;
  return at != ROW_MAP_NONE;
}

static bool enter_family(struct families *families, const struct trace *trace, const struct place *place) {
  uint64_t number = family_number(families, trace, place);
  if (!number) return true;
  const struct column *times = time_column(table_of(trace, place), place->table);
  int64_t start = column_integer(times, place->row);
  uint32_t before = families->map.count;
  uint32_t at = row_map_number(&families->map, (struct row_key){{number, place->table, 0}});
  if (at == ROW_MAP_NONE || (at == before && !list_add(&families->items))) return false;
  struct family *family = &families->items.items[at];
  if (at == before) *family = (struct family){.start = start};
  else if (!place->is_repeat) family->has_several |= start == family->start;
  family->has_repeats |= place->is_repeat;
  return true;
}

/* Whether a row that has an equal is another process's, by what else its op has. */
static bool is_of_several(const struct families *families, const struct trace *trace, const struct place *place) {
  uint64_t number = family_number(families, trace, place);
  for (unsigned table = 0; table < ROWS_COUNT && number; table++) {
    uint32_t at = row_map_find(&families->map, (struct row_key){{number, table, 0}});
    if (at == ROW_MAP_NONE || table == place->table) continue;
    const struct family *family = &families->items.items[at];
    if (family->has_several && !family->has_repeats) return true;
  }
  return false;
}

/* Rows of several processes are no repeats; where they are many, nothing is. False: no memory. */
static bool keep_several(struct places *places) {
  struct families families = {.map = {0}};
  struct place *items = places->items.items;
  size_t repeats = 0, kept = 0;
  bool ok = true;
  for (size_t i = 0; i < places->items.count && ok; i++) ok = enter_call(&families, places->trace, &items[i]);
  for (size_t i = 0; i < places->items.count && ok; i++) ok = enter_family(&families, places->trace, &items[i]);
  for (size_t i = 0; i < places->items.count && ok; i++) {
    if (!items[i].is_repeat || !has_number(places->trace, &items[i])) continue;
    repeats++;
    if (!is_of_several(&families, places->trace, &items[i])) continue;
    items[i].is_repeat = false;
    kept++;
  }
  for (size_t i = 0; i < places->items.count && ok && kept * SEVERAL_SHARE >= repeats && kept; i++)
    items[i].is_repeat = false;
  row_map_free(&families.calls);
  row_map_free(&families.map);
  list_free(&families.items);
  return ok;
}

/* ---- equal rows of one launch ---- */

/* Kernels that one launch of a graph runs are repeats where each is there twice. False: no memory. */
static bool keep_graphs(struct places *places) {
  struct row_map launches = {0}; /* their values: how many more rows are the first of their kind than repeats */
  bool ok = true;
  for (size_t i = 0; i < places->items.count && ok; i++) {
    const struct place *place = &places->items.items[i];
    uint64_t number = number_of_row(places->trace, place, number_slots);
    uint32_t at = number ? row_map_number(&launches, (struct row_key){{number, place->table, 0}}) : ROW_MAP_NONE;
    ok = !number || at != ROW_MAP_NONE;
    if (ok && number) launches.values[at] += place->is_repeat ? UINT32_MAX : 1;
  }
  for (size_t i = 0; i < places->items.count && ok; i++) {
    struct place *place = &places->items.items[i];
    uint64_t number = number_of_row(places->trace, place, number_slots);
    uint32_t at = number ? row_map_find(&launches, (struct row_key){{number, place->table, 0}}) : ROW_MAP_NONE;
    if (at != ROW_MAP_NONE && (int32_t)launches.values[at] > 0) place->is_repeat = false;
  }
  row_map_free(&launches);
  return ok;
}

/* ---- taking out ---- */

static int by_row(const void *left, const void *right) {
  const uint64_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

/* The rows that go, by table, ascending; they are counted, with the place of the first. False: no memory. */
static bool list_rows(const struct places *places, struct row_list *rows, struct problem_tally *tally) {
  uint64_t numbered = 0, repeated = 0;
  for (size_t i = 0; i < places->items.count; i++) {
    bool is_numbered = has_number(places->trace, &places->items.items[i]);
    numbered += is_numbered;
    repeated += is_numbered && places->items.items[i].is_repeat;
  }
  bool is_whole = repeated && repeated * WHOLE_SHARE >= numbered;
  for (size_t i = 0; i < places->items.count; i++) {
    const struct place *place = &places->items.items[i];
    if (!place->is_repeat || !(is_whole || has_number(places->trace, place))) continue;
    uint64_t *row = list_add(&rows[place->table]);
    if (!row) return false;
    const struct chunk_table *t = table_of(places->trace, place);
    uint64_t offset = places->trace->chunks.items[place->chunk]->offset + t->offsets[place->row];
    *row = t->first_row + place->row;
    if (!tally->count++ || offset < tally->offset) tally->offset = offset;
  }
  for (unsigned table = 0; table < ROWS_COUNT; table++)
    if (rows[table].count) qsort(rows[table].items, rows[table].count, sizeof *rows[table].items, by_row);
  return true;
}

/* How many of the rows come before `row`; *is_among: it is one of them. */
static size_t rows_before(const struct row_list *rows, uint64_t row, bool *is_among) {
  size_t low = 0, high = rows->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (rows->items[middle] < row) low = middle + 1;
    else high = middle;
  }
  *is_among = low < rows->count && rows->items[low] == row;
  return low;
}

/* The rows of a chunk that stay. False: no memory. */
static bool compact_table(struct chunk_table *t, unsigned table, const struct row_list *rows, size_t before) {
  uint32_t *stays = malloc(((size_t)t->rows + 1) * sizeof *stays), count = 0;
  int64_t *values = malloc(((size_t)t->rows + 1) * sizeof *values);
  size_t at = before;
  bool ok = stays && values;
  for (uint32_t row = 0; ok && row < t->rows; row++) {
    if (at < rows->count && rows->items[at] == t->first_row + row) at++;
    else stays[count++] = row;
  }
  for (unsigned slot = row_first_slots[table]; ok && slot < row_first_slots[table + 1]; slot++) {
    struct column **column = &t->columns[slot - row_first_slots[table]];
    for (uint32_t i = 0; i < count; i++) values[i] = slot_value(*column, slot, stays[i]);
    struct column *packed = count ? pack_values(values, count, row_slot_kinds[slot] == KIND_REAL) : NULL;
    ok = packed || !count;
    if (!ok) break;
    column_release(*column);
    *column = packed;
  }
  for (uint32_t i = 0; ok && i < count; i++) t->offsets[i] = t->offsets[stays[i]];
  if (ok) t->rows = count;
  free(stays);
  free(values);
  return ok;
}

static bool compact_chunks(struct trace *trace, const struct row_list *rows) {
  for (unsigned table = 0; table < ROWS_COUNT; table++) {
    if (!rows[table].count) continue;
    for (size_t c = 0; c < trace->chunks.count; c++) {
      struct chunk_table *t = &trace->chunks.items[c]->tables[table];
      bool is_among;
      size_t before = rows_before(&rows[table], t->first_row, &is_among);
      size_t behind = rows_before(&rows[table], t->first_row + t->rows, &is_among);
      if (behind > before && !compact_table(t, table, &rows[table], before)) return false;
      t->first_row -= before;
    }
    trace->rows[table] -= rows[table].count;
  }
  return true;
}

/* Renumbers the rows that a list refers to, and takes out those that are gone. */
#define RENUMBER(list, table_of_item)                                               \
  do {                                                                              \
    size_t kept_ = 0;                                                               \
    for (size_t i_ = 0; i_ < (list).count; i_++) {                                  \
      bool is_gone_;                                                                \
      (list).items[kept_] = (list).items[i_];                                       \
      (list).items[kept_].row -=                                                    \
          rows_before(&rows[table_of_item], (list).items[kept_].row, &is_gone_);    \
      kept_ += !is_gone_;                                                           \
    }                                                                               \
    (list).count = kept_;                                                           \
  } while (0)

/* Halves of rows that are gone stay, for their ends to find them. */
static void renumber_half(uint64_t *row, const struct row_list *rows) {
  bool is_gone;
  if (*row == HALF_NO_ROW) return;
  size_t before = rows_before(rows, *row, &is_gone);
  *row = is_gone ? HALF_NO_ROW : *row - before;
}

/* `rows` has an empty list behind those of the tables. */
static void renumber_lists(struct trace *trace, const struct row_list *rows) {
  RENUMBER(trace->collectives, trace->collectives.items[i_].rows);
  RENUMBER(trace->python_frames, ROWS_ops);
  for (size_t i = 0; i < trace->halves.count; i++) {
    struct half_event *half = &trace->halves.items[i];
    renumber_half(&half->row, &rows[half->rows]);
    renumber_half(&half->range_row, &rows[ROWS_ranges]);
  }
  RENUMBER(trace->queue_calls, trace->queue_calls.items[i_].kind == QUEUE_DEQUEUE ? ROWS_COUNT : ROWS_api_calls);
}

enum tfprof_status repeats_remove(struct trace *trace, const struct source_index *index) {
  struct places places = {.trace = trace};
  struct row_list rows[ROWS_COUNT + 1] = {{0}};
  uint64_t all = 0;
  unsigned shift = 0;
  trace->numbers_repeat = sections_repeat(trace);
  places.is_of_devices = !trace->numbers_repeat;
  if (places.is_of_devices && !sections_repeat_work(trace)) return TFPROF_OK;
  for (unsigned table = 0; table < ROWS_COUNT; table++) all += trace->rows[table];
  while (all >> shift > (places.is_of_devices ? SAMPLES_OF_DEVICES : SAMPLES)) shift++; /* all graphs come here */
  bool ok = gather_rows(&places, shift);
  uint64_t found = ok ? mark_repeats(&places) : 0;
  if (found && shift) {
    ok = gather_rows(&places, 0);
    if (ok) mark_repeats(&places);
  }
  if (ok && found) ok = read_equal_texts(&places, index);
  if (ok && found) {
    mark_repeats(&places);
    ok = places.is_of_devices ? keep_graphs(&places) : keep_several(&places);
  }
  if (ok && found) ok = list_rows(&places, rows, &trace->problems[PROBLEM_REPEATED]) && compact_chunks(trace, rows);
  if (ok && found) {
    renumber_lists(trace, rows);
    trace->numbers_repeat = sections_repeat(trace);
  }
  list_free(&places.items);
  for (unsigned table = 0; table < ROWS_COUNT; table++) list_free(&rows[table]);
  return ok ? TFPROF_OK : TFPROF_NO_MEMORY;
}
