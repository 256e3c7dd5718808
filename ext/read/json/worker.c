/* worker.c: the memory of a worker; see worker.h. */
#include "read/json/worker.h"

#include <stdlib.h>

static const struct { uint16_t first, count; } slots_of[ROWS_COUNT + 1] = {
#define ROWS(table) [ROWS_##table] = {ROW_FIRST_##table, 0},
#define VALUE(table, column, kind)
#define CONSTANT(table, column, number)
#include "read/json/rows.def"
    [ROWS_COUNT] = {ROW_SLOTS, 0}};

bool worker_init(struct worker *w) {
  memset(w, 0, sizeof *w);
  w->row_table = -1;
  w->nodes = calloc(NODE_MAXIMUM, sizeof *w->nodes);
  w->edges = malloc((size_t)NODE_MAXIMUM * NODE_EDGES * sizeof *w->edges);
  if (!text_table_init(&w->texts) || !w->nodes ||
      !w->edges) {
    worker_free(w);
    return false;
  }
  w->node_count = 3; /* unknown past at level 0, 1, 2 */
  /* With room behind them: hashing reads up to 8 bytes past a text. */
#define LITERAL_TEXT(name) #name "\0\0\0\0\0\0\0\0",
  static const char *const literals[LITERAL_COUNT] = {JSON_LITERALS(LITERAL_TEXT)};
#undef LITERAL_TEXT
  for (uint32_t i = 0; i < LITERAL_COUNT; i++) {
    if (text_intern(&w->texts, literals[i], (uint32_t)strlen(literals[i]), TEXT_PLAIN) != i) {
      worker_free(w);
      return false;
    }
  }
  w->texts.permanent = LITERAL_COUNT;
  return true;
}

static void free_members(struct worker *w) {
  for (size_t i = 0; i < w->members.count; i++) free(w->members.items[i].value); /* the key lies in the same piece */
}

void worker_free(struct worker *w) {
  for (unsigned i = 0; i < ROWS_COUNT; i++) {
    free(w->rows[i].offsets);
    free(w->values[slots_of[i].first]);
  }
  text_table_free(&w->texts);
  row_map_free(&w->lanes);
  row_map_free(&w->devices);
  free_members(w);
  list_free(&w->lane_texts);
  list_free(&w->lane_names);
  list_free(&w->halves);
  list_free(&w->collectives);
  list_free(&w->python_frames);
  list_free(&w->queue_calls);
  list_free(&w->members);
  free(w->nodes);
  free(w->edges);
  free(w->scratch);
  memset(w, 0, sizeof *w);
}

void worker_clear(struct worker *w) {
  for (unsigned i = 0; i < ROWS_COUNT; i++) w->rows[i].count = 0;
  free_members(w);
  w->lane_names.count = w->halves.count = w->collectives.count = w->python_frames.count = w->members.count = 0;
  w->queue_calls.count = 0;
  memset(w->problems, 0, sizeof w->problems);
  w->event_count = w->tensorflow_count = 0;
  memset(w->xspace_counts, 0, sizeof w->xspace_counts);
  w->has_events = false;
}

void worker_forget(struct worker *w) {
  worker_clear(w);
  w->lane_texts.count = w->lanes_published;
  w->host_cache.is_set = w->stream_cache.is_set = false;
  row_map_cut(&w->lanes, w->lanes_published);
  row_map_cut(&w->devices, w->devices_published);
  if (!text_forget(&w->texts)) w->no_memory = true;
}

void worker_problem(struct worker *w, enum problem problem, const char *where) {
  struct problem_tally *tally = &w->problems[problem];
  if (tally->count++ == 0) tally->offset = w->file_offset + (uint64_t)(where - w->data);
}

char *worker_scratch(struct worker *w, size_t size) {
  if (array_reserve(w->scratch, w->scratch_size, size + 8)) return w->scratch;
  w->no_memory = true;
  return NULL;
}

static bool grow_rows(struct worker *w, enum row_table table) {
  struct rows *rows = &w->rows[table];
  uint32_t capacity = rows->capacity ? rows->capacity * 2 : 256;
  if (capacity > UINT32_MAX / 2) return false;
  unsigned first = slots_of[table].first, count = slots_of[table + 1].first - first;
  int64_t *values = malloc((size_t)capacity * count * sizeof *values);
  uint32_t *offsets = realloc(rows->offsets, capacity * sizeof *offsets);
  if (offsets) rows->offsets = offsets;
  if (!values || !offsets) {
    free(values);
    return false;
  }
  for (unsigned i = 0; i < count; i++) {
    if (rows->count) memcpy(values + (size_t)i * capacity, w->values[first + i], rows->count * sizeof *values);
  }
  free(w->values[first]);
  for (unsigned i = 0; i < count; i++) w->values[first + i] = values + (size_t)i * capacity;
  rows->capacity = capacity;
  return true;
}

uint32_t worker_row(struct worker *w, enum row_table table) {
  struct rows *rows = &w->rows[table];
  if (rows->count == rows->capacity && !grow_rows(w, table)) {
    w->no_memory = true;
    return UINT32_MAX;
  }
  assert(w->event >= w->data && (uint64_t)(w->event - w->data) <= UINT32_MAX);
  uint32_t row = rows->count++;
  rows->offsets[row] = (uint32_t)(w->event - w->data);
  for (unsigned slot = slots_of[table].first; slot < slots_of[table + 1].first; slot++) w->values[slot][row] = ROW_NULL;
  return row;
}
