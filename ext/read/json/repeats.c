/* repeats.c: see repeats.h.
**
** Only where numbers of calls or ops repeat (sections_repeat) rows are looked at: first a sample of them, chosen by
** their start, so that of two that are equal both are in it or none, and where two of these are equal all.
*/
#include "read/json/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "read/json/sections.h"
#include "read/json/trace.h"
#include "read/rows/hash.h"

enum { SAMPLES = 1 << 16, WHOLE_SHARE = 4 };

/* Where each table has the number of an event. */
static const uint16_t number_slots[ROWS_COUNT] = {[ROWS_ops] = ROW_ops_correlation,
                                                  [ROWS_kernels] = ROW_kernels_correlation,
                                                  [ROWS_transfers] = ROW_transfers_correlation,
                                                  [ROWS_api_calls] = ROW_api_calls_correlation,
                                                  [ROWS_syncs] = ROW_syncs_correlation}; /* 0: none */

struct place { uint64_t hash; uint32_t chunk, row; uint16_t table; bool is_repeat; };
struct places {
  const struct trace *trace;
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

static bool has_number(const struct trace *trace, const struct place *place) {
  unsigned slot = number_slots[place->table];
  if (!slot) return false;
  return slot_value(table_of(trace, place)->columns[slot - row_first_slots[place->table]], slot, place->row) > 0;
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
      const struct chunk_table *t = &chunks[c]->tables[table];
      const struct column *times = t->rows ? time_column(t, table) : NULL;
      for (uint32_t row = 0; times && row < t->rows; row++) {
        if (column_is_null(times, row)) continue;
        uint64_t time = (uint64_t)column_integer(times, row);
        if (shift && hash_pair(time, table) >> (64 - shift)) continue;
        struct place *place = list_add(&places->items);
        if (!place) return false;
        *place = (struct place){hash_row(t, table, row), (uint32_t)c, row, (uint16_t)table, false};
      }
    }
  }
  return true;
}

/* By hash, and by the order of the file. */
static int by_hash(const void *left, const void *right) {
  const struct place *a = left, *b = right;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  if (a->chunk != b->chunk) return a->chunk < b->chunk ? -1 : 1;
  if (a->table != b->table) return a->table < b->table ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* Marks rows that are equal to the first of their hash; returns how many. */
static uint64_t mark_repeats(struct places *places) {
  struct place *items = places->items.items;
  uint64_t found = 0;
  size_t first = 0;
  if (places->items.count) qsort(items, places->items.count, sizeof *items, by_hash);
  for (size_t i = 1; i < places->items.count; i++) {
    if (items[i].hash != items[first].hash) first = i;
    else found += items[i].is_repeat = are_equal(places->trace, &items[first], &items[i]);
  }
  return found;
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

/* `rows` has an empty list behind those of the tables. */
static void renumber_lists(struct trace *trace, const struct row_list *rows) {
  RENUMBER(trace->collectives, trace->collectives.items[i_].is_kernel ? ROWS_kernels : ROWS_ops);
  RENUMBER(trace->python_frames, ROWS_ops);
  RENUMBER(trace->queue_calls, trace->queue_calls.items[i_].kind == QUEUE_DEQUEUE ? ROWS_COUNT : ROWS_api_calls);
}

enum tfprof_status repeats_remove(struct trace *trace) {
  struct places places = {.trace = trace};
  struct row_list rows[ROWS_COUNT + 1] = {{0}};
  uint64_t all = 0;
  unsigned shift = 0;
  trace->numbers_repeat = sections_repeat(trace);
  if (!trace->numbers_repeat) return TFPROF_OK;
  for (unsigned table = 0; table < ROWS_COUNT; table++) all += trace->rows[table];
  while (all >> shift > SAMPLES) shift++;
  bool ok = gather_rows(&places, shift);
  uint64_t found = ok ? mark_repeats(&places) : 0;
  if (found && shift) {
    ok = gather_rows(&places, 0);
    if (ok) mark_repeats(&places);
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
