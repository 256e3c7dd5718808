/* publish.c: what a worker found becomes part of the trace; its rows become columns. */
#include <stdlib.h>
#include <string.h>

#include "read/json/trace.h"

static char *scratch(struct trace *trace, size_t size) {
  if (size > trace->scratch_size) {
    free(trace->scratch);
    trace->scratch_size = size + size / 2;
    trace->scratch = malloc(trace->scratch_size);
    if (!trace->scratch) {
      trace->scratch_size = 0;
      trace_fail(trace, TFPROF_NO_MEMORY);
    }
  }
  return trace->scratch;
}

/* Gives the text its number in the trace, and lets its bytes outlive the chunk: in the pool, if they are the same
** there. */
static bool publish_text(struct trace *trace, struct text *text) {
  const char *bytes = text->bytes;
  size_t length = text->length;
  bool is_stack = text->form == TEXT_STACK || text->form == TEXT_STACK_ESCAPED;
  if (text->form != TEXT_PLAIN && text->form != TEXT_STACK) {
    bool is_json = text->form == TEXT_JSON;
    char *decoded = scratch(trace, is_json ? text_compact_room(bytes, length) : length + 8);
    if (!decoded) return false;
    length = is_json ? text_compact(bytes, length, decoded) : text_unescape(bytes, length, decoded);
    bytes = decoded;
  }
  if (is_stack) {
    text->global = stack_intern(trace, bytes, length);
  } else {
    string_id id;
    uint64_t mended = 0;
    enum tfprof_status status = pool_intern_mended(trace->pool, bytes, length, &id, &mended);
    if (status) return trace_fail(trace, status), false;
    trace->problems[PROBLEM_NOT_UTF8].count += mended;
    text->global = id;
    if (text->is_owned) return true;
    if (length == text->length && !mended) { /* it is the same there */
      text->bytes = pool_text(trace->pool, id);
      return true;
    }
  }
  char *copy = malloc((size_t)text->length + 1);
  if (!copy) return trace_fail(trace, TFPROF_NO_MEMORY), false;
  memcpy(copy, text->bytes, text->length);
  text->bytes = copy;
  text->is_owned = true;
  return true;
}

static bool publish_lanes(struct trace *trace, struct worker *w) {
  const struct lane_text *texts = w->lane_texts.items;
  for (uint32_t i = w->lanes_published; i < w->lanes.count; i++) {
    uint32_t before = trace->lanes.count, lane = row_map_number(&trace->lanes, w->lanes.keys[i]);
    struct lane_info *info = trace->lane_infos.items;
    if (lane == before) {
      info = list_add(&trace->lane_infos);
      if (!info) lane = INTERN_NONE;
      else *info = (struct lane_info){.context = ROW_NULL};
    }
    if (lane == INTERN_NONE) return trace_fail(trace, TFPROF_NO_MEMORY), false;
    info = (struct lane_info *)trace->lane_infos.items + lane;
    if (texts[i].pid != INTERN_NONE) info->pid_text = w->texts.texts[texts[i].pid].global;
    if (texts[i].tid != INTERN_NONE) info->tid_text = w->texts.texts[texts[i].tid].global;
    if (info->context == ROW_NULL) info->context = texts[i].context;
    w->lanes.values[i] = lane;
  }
  w->lanes_published = w->lanes.count;
  for (uint32_t i = w->devices_published; i < w->devices.count; i++) {
    uint32_t device = row_map_number(&trace->devices, w->devices.keys[i]);
    if (device == INTERN_NONE) return trace_fail(trace, TFPROF_NO_MEMORY), false;
    w->devices.values[i] = device;
  }
  w->devices_published = w->devices.count;
  return true;
}

static uint32_t text_of(const struct worker *w, uint32_t text) {
  return text == INTERN_NONE ? 0 : w->texts.texts[text].global;
}

static bool publish_lists(struct trace *trace, struct worker *w, const uint64_t *first_rows) {
  bool ok = true;
  const struct lane_name *names = w->lane_names.items;
  for (size_t i = 0; i < w->lane_names.count && ok; i++) {
    struct lane_name *item = list_add(&trace->lane_names);
    if ((ok = item != NULL)) *item = names[i], item->text = text_of(w, names[i].text);
  }
  const struct half_event *halves = w->halves.items;
  for (size_t i = 0; i < w->halves.count && ok; i++) {
    struct half_event *item = list_add(&trace->halves);
    if (!(ok = item != NULL)) break;
    *item = halves[i];
    item->lane = halves[i].lane == INTERN_NONE ? INTERN_NONE : w->lanes.values[halves[i].lane];
    item->name = text_of(w, halves[i].name);
    item->category = text_of(w, halves[i].category);
    if (item->row != HALF_NO_ROW) item->row += first_rows[item->rows];
    if (item->range_row != HALF_NO_ROW) item->range_row += first_rows[ROWS_ranges];
  }
  const struct collective *collectives = w->collectives.items;
  for (size_t i = 0; i < w->collectives.count && ok; i++) {
    struct collective *item = list_add(&trace->collectives);
    if (!(ok = item != NULL)) break;
    *item = collectives[i];
    item->row += first_rows[item->rows];
    item->name = text_of(w, item->name);
    item->group = text_of(w, item->group);
    item->ranks = text_of(w, item->ranks);
    item->dtype = text_of(w, item->dtype);
  }
  const struct queue_call *calls = w->queue_calls.items;
  for (size_t i = 0; i < w->queue_calls.count && ok; i++) {
    struct queue_call *item = list_add(&trace->queue_calls);
    if (!(ok = item != NULL)) break;
    *item = calls[i];
    item->row += first_rows[ROWS_api_calls];
    item->lane = calls[i].lane == INTERN_NONE ? INTERN_NONE : w->lanes.values[calls[i].lane];
  }
  const struct python_frame *frames = w->python_frames.items;
  for (size_t i = 0; i < w->python_frames.count && ok; i++) {
    struct python_frame *item = list_add(&trace->python_frames);
    if (!(ok = item != NULL)) break;
    *item = frames[i];
    item->row += first_rows[ROWS_ops];
    item->name = text_of(w, item->name);
  }
  struct member *members = w->members.items;
  size_t moved = 0;
  for (; moved < w->members.count && ok; moved++) {
    struct member *item = list_add(&trace->members);
    if (!(ok = item != NULL)) break;
    *item = members[moved];
    members[moved].value = NULL; /* moved */
  }
  if (!ok) trace_fail(trace, TFPROF_NO_MEMORY);
  return ok;
}

struct chunk *publish_chunk(struct trace *trace, struct worker *w, uint64_t length) {
  if (w->no_memory) {
    trace_fail(trace, TFPROF_NO_MEMORY);
    return NULL;
  }
  for (; w->texts.published < w->texts.count; w->texts.published++) {
    struct problem_tally *mended = &trace->problems[PROBLEM_NOT_UTF8];
    const char *where = w->texts.texts[w->texts.published].bytes;
    bool is_first = mended->count == 0;
    if (!publish_text(trace, &w->texts.texts[w->texts.published])) return NULL;
    if (!is_first || !mended->count) continue;
    bool is_composed = where < w->data || where >= w->end; /* of several texts of the chunk */
    mended->offset = w->file_offset + (is_composed ? 0 : (uint64_t)(where - w->data));
  }
  if (!trace->literals[0]) {
    for (unsigned i = 0; i < LITERAL_COUNT; i++) trace->literals[i] = w->texts.texts[i].global;
  }
  struct chunk *chunk = calloc(1, sizeof *chunk);
  struct chunk **place = list_add(&trace->chunks);
  uint64_t first_rows[ROWS_COUNT];
  memcpy(first_rows, trace->rows, sizeof first_rows);
  if (!chunk || !place || !publish_lanes(trace, w) || !publish_lists(trace, w, first_rows)) {
    free(chunk);
    if (place) trace->chunks.count--;
    trace_fail(trace, TFPROF_NO_MEMORY);
    return NULL;
  }
  *place = chunk;
  chunk->offset = w->file_offset;
  chunk->length = length;
  chunk->is_utf8 = w->is_utf8;
  trace->is_other_than_utf8 |= !w->is_utf8;
  for (unsigned i = 0; i < ROWS_COUNT; i++) {
    chunk->tables[i].rows = w->rows[i].count;
    chunk->tables[i].first_row = trace->rows[i];
    trace->rows[i] += w->rows[i].count;
  }
  for (unsigned i = 0; i < PROBLEM_COUNT; i++) {
    if (w->problems[i].count && !trace->problems[i].count) trace->problems[i].offset = w->problems[i].offset;
    trace->problems[i].count += w->problems[i].count;
  }
  trace->event_count += w->event_count;
  trace->has_events |= w->has_events;
  trace->tensorflow_count += w->tensorflow_count;
  for (unsigned i = 0; i < XSPACE_FRAMEWORKS; i++) trace->xspace_counts[i] += w->xspace_counts[i];
  return chunk;
}

/* ---- packing ---- */

static void translate(const struct worker *w, enum value_kind kind, int64_t *values, uint32_t rows) {
  switch (kind) {
    case KIND_TEXT:
      for (uint32_t i = 0; i < rows; i++) {
        if (values[i] == ROW_NULL) continue;
        assert((uint64_t)values[i] < w->texts.published);
        values[i] = w->texts.texts[values[i]].global;
      }
      break;
    case KIND_STACK:
      for (uint32_t i = 0; i < rows; i++) {
        if (values[i] == ROW_NULL) continue;
        assert((uint64_t)values[i] < w->texts.published);
        uint32_t global = w->texts.texts[values[i]].global;
        values[i] = global ? (int64_t)global - 1 : ROW_NULL;
      }
      break;
    case KIND_LANE: case KIND_DEVICE: {
      const uint32_t *globals = kind == KIND_LANE ? w->lanes.values : w->devices.values;
      for (uint32_t i = 0; i < rows; i++) {
        if (values[i] == ROW_NULL) continue;
        assert((uint64_t)values[i] < (kind == KIND_LANE ? w->lanes_published : w->devices_published));
        values[i] = globals[values[i]];
      }
      break;
    }
    case KIND_INTEGER: case KIND_TIME: case KIND_REAL: break;
  }
}

enum tfprof_status pack_chunk(const struct worker *w, struct chunk *chunk, bool is_translated) {
  for (unsigned table = 0; table < ROWS_COUNT; table++) {
    struct chunk_table *t = &chunk->tables[table];
    unsigned first = row_first_slots[table], count = row_first_slots[table + 1] - first;
    if (!t->rows) continue;
    t->columns = calloc(count, sizeof *t->columns);
    t->offsets = malloc(t->rows * sizeof *t->offsets);
    if (!t->columns || !t->offsets) return TFPROF_NO_MEMORY;
    memcpy(t->offsets, w->rows[table].offsets, t->rows * sizeof *t->offsets);
    for (unsigned i = 0; i < count; i++) {
      enum value_kind kind = row_slot_kinds[first + i];
      if (!is_translated) translate(w, kind, w->values[first + i], t->rows);
      t->columns[i] = pack_values(w->values[first + i], t->rows, kind == KIND_REAL);
      if (!t->columns[i]) return TFPROF_NO_MEMORY;
    }
  }
  return TFPROF_OK;
}
