/* batch.c: see batch.h. */
#include "read/xplane/batch.h"

#include <math.h>
#include <string.h>

const uint16_t batch_first_slots[ROWS_COUNT + 1] = {
#define ROWS(table) ROW_FIRST_##table,
#define VALUE(table, column, kind)
#include "read/xplane/rows.def"
    ROW_SLOTS};

void batch_clear(struct batch *batch) {
  for (unsigned table = 0; table < ROWS_COUNT; table++) batch->rows[table].count = 0;
  memset(batch->filled, 0, sizeof batch->filled);
  batch->own_texts.count = 0;
  memset(batch->problems, 0, sizeof batch->problems);
}

void batch_free(struct batch *batch) {
  for (unsigned table = 0; table < ROWS_COUNT; table++) free(batch->rows[table].places);
  for (unsigned slot = 0; slot < ROW_SLOTS; slot++) free(batch->values[slot]);
  list_free(&batch->own_texts);
}

static bool grow_rows(struct batch *batch, enum row_table table) {
  struct rows *rows = &batch->rows[table];
  uint32_t larger = rows->capacity ? rows->capacity * 2 : 256;
  uint32_t *places = realloc(rows->places, larger * sizeof *places);
  if (!places) return false;
  rows->places = places;
  for (unsigned slot = batch_first_slots[table]; slot < batch_first_slots[table + 1]; slot++) {
    int64_t *values = realloc(batch->values[slot], larger * sizeof *values);
    if (!values) return false;
    batch->values[slot] = values;
  }
  rows->capacity = larger;
  return true;
}

uint32_t batch_row(struct batch *batch, enum row_table table) {
  struct rows *rows = &batch->rows[table];
  if (batch->is_dry) rows->count = 0;
  if (rows->count == rows->capacity && !grow_rows(batch, table)) {
    batch->no_memory = true;
    return UINT32_MAX;
  }
  uint32_t row = rows->count++;
  rows->places[row] = batch->place;
  batch->row_table = (int)table;
  return row;
}

void batch_fill(struct batch *batch, unsigned slot, uint32_t row) {
  for (uint32_t at = batch->filled[slot]; at < row; at++) batch->values[slot][at] = ROW_NULL;
  if (row > batch->filled[slot]) batch->filled[slot] = row;
}

void batch_problem(struct batch *batch, enum xplane_problem problem, uint64_t offset) {
  struct problem_tally *tally = &batch->problems[problem];
  if (!tally->count++) tally->offset = offset;
}

/* ---- stats ---- */

int64_t event_integer_there(struct batch *b, enum xplane_key key) {
  const struct event_field *field = &b->event.fields[key];
  if (field->form != FIELD_INTEGER && field->form != FIELD_UNSIGNED) return ROW_NULL;
  if ((int64_t)field->number == ROW_NULL) { /* the one number that no column can tell from NULL */
    batch_problem(b, PROBLEM_VALUE, b->event.offset);
    return ROW_NULL;
  }
  event_taken(b, key);
  return (int64_t)field->number;
}

int64_t event_count_there(struct batch *b, enum xplane_key key) {
  uint64_t consumed = b->event.consumed;
  int64_t number = event_integer_there(b, key);
  if (number >= 0 || number == ROW_NULL) return number;
  b->event.consumed = consumed;
  batch_problem(b, PROBLEM_VALUE, b->event.offset);
  return ROW_NULL;
}

static int64_t bits_of_real(double real) {
  int64_t bits;
  memcpy(&bits, &real, sizeof bits);
  return bits == ROW_NULL ? 0 : bits; /* -0.0 */
}

int64_t event_real_there(struct batch *b, enum xplane_key key, double factor) {
  const struct event_field *field = &b->event.fields[key];
  double real;
  switch (field->form) {
    case FIELD_INTEGER: real = (double)(int64_t)field->number; break;
    case FIELD_UNSIGNED: real = (double)field->number; break;
    case FIELD_REAL: real = wire_double_of_bits(field->number); break;
    default: return ROW_NULL;
  }
  if (!isfinite(real)) return ROW_NULL;
  event_taken(b, key);
  return bits_of_real(real * factor);
}

bool event_peek_text_there(const struct batch *b, enum xplane_key key, struct text_part *text) {
  const struct event_field *field = &b->event.fields[key];
  if (field->form == FIELD_TEXT) {
    *text = (struct text_part){field->length ? field->bytes : "", field->length};
    return true;
  }
  if (field->form != FIELD_REFERENCE) return false;
  const struct pool *pool = b->listing->pool;
  string_id id = field->number == ROW_MAP_NONE ? 0 : b->names->stats.items[field->number].text;
  *text = (struct text_part){id ? pool_text(pool, id) : "", id ? pool_length(pool, id) : 0};
  return true;
}

int64_t batch_text(struct batch *b, struct text_part text) {
  if (!text.length) return ROW_NULL;
  if (b->is_dry) return 1;
  struct own_text *own = list_add(&b->own_texts);
  if (!own) {
    b->no_memory = true;
    return ROW_NULL;
  }
  *own = (struct own_text){text.bytes, text.length};
  return TEXT_OWN - (int64_t)(b->own_texts.count - 1);
}

int64_t event_text_there(struct batch *b, enum xplane_key key) {
  const struct event_field *field = &b->event.fields[key];
  struct text_part text;
  if (!event_peek_text(b, key, &text)) return ROW_NULL;
  event_taken(b, key);
  if (!text.length) return ROW_NULL;
  if (field->form == FIELD_REFERENCE) return b->names->stats.items[field->number].text;
  return batch_text(b, text);
}

const struct xplane_details *event_details(struct batch *b, enum xplane_key key) {
  const struct event_field *field = &b->event.fields[key];
  if (!event_has(b, key)) return NULL;
  if (field->form == FIELD_REFERENCE && field->number != ROW_MAP_NONE) {
    uint32_t details = b->names->stats.items[field->number].details;
    if (!details) return NULL;
    event_taken(b, key);
    return &b->names->details.items[details - 1];
  }
  struct text_part text;
  if (!event_peek_text(b, key, &text) || !xplane_details_read(text.bytes, text.length, &b->details)) return NULL;
  event_taken(b, key);
  return &b->details;
}

const struct hlo_op *event_hlo_op(const struct batch *b) {
  struct text_part instruction, module = {"", 0};
  const struct event_field *program = &b->event.fields[KEY_PROGRAM];
  bool is_number = event_has(b, KEY_PROGRAM) && (program->form == FIELD_INTEGER || program->form == FIELD_UNSIGNED);
  if (!event_peek_text(b, KEY_HLO_OP, &instruction)) return NULL;
  if (!is_number && !event_peek_text(b, KEY_HLO_MODULE, &module)) return NULL;
  return hlo_find(b->listing->programs, is_number ? &program->number : NULL, module,
                  xplane_innermost(instruction.bytes, instruction.length));
}

/* ---- events ---- */

/* Nanoseconds, rounded down: so the order of any two moments stays, and what lies in another event still does. On
** devices, where nothing nests, a duration is rounded by itself, as other tools do. False: beyond all times. */
static bool add_picoseconds(int64_t ns, int64_t ps, int64_t *sum) {
  int64_t whole = ps / 1000 - (ps % 1000 < 0);
  return !__builtin_add_overflow(ns, whole, sum) && *sum <= STORE_TIME_LIMIT && *sum >= -STORE_TIME_LIMIT;
}

static void find_times(struct batch *batch, int64_t offset_ps, int64_t dur_ps) {
  struct event *event = &batch->event;
  int64_t end_ps = 0, end_ns = 0;
  event->start_ns = event->dur_ns = ROW_NULL;
  if (dur_ps < 0) {
    batch_problem(batch, PROBLEM_NEGATIVE, event->offset);
  } else if (event->occurrences != ROW_NULL) {
    event->dur_ns = dur_ps / 1000;
    return;
  }
  if (event->occurrences != ROW_NULL) return;
  if (!add_picoseconds(batch->line->timestamp_ns, offset_ps, &event->start_ns)) {
    batch_problem(batch, PROBLEM_TIME, event->offset);
    event->start_ns = ROW_NULL;
  } else if (dur_ps >= 0) {
    bool fits = !__builtin_add_overflow(offset_ps, dur_ps, &end_ps) &&
                add_picoseconds(batch->line->timestamp_ns, end_ps, &end_ns);
    if (fits) event->dur_ns = batch->line->device != ROW_NULL ? dur_ps / 1000 : end_ns - event->start_ns;
    else batch_problem(batch, PROBLEM_TIME, event->offset);
  }
}

static void take_field(struct batch *batch, const struct event_field *field) {
  if (field->form == FIELD_NONE || field->stat == ROW_MAP_NONE) return;
  unsigned key = batch->names->stats.items[field->stat].key;
  if (key == KEY_UNKNOWN) return;
  batch->event.fields[key] = *field;
  batch->event.present |= (uint64_t)1 << key;
}

/* The next field, if it is a stat as nearly all are: its number, then a number or reference, and nothing else. False:
** it is read as any other field is. */
static inline bool take_plain_stat(struct batch *batch, struct wire_reader *reader) {
  enum { READ_AHEAD = 32, STAT = 4 << 3 | WIRE_BYTES, ID = 1 << 3 | WIRE_VARINT };
  const struct plane_names *names = batch->names;
  const uint8_t *at = reader->at, *end;
  if (reader->limit - at < READ_AHEAD || at[0] != STAT || at[1] >= 0x80 || at[2] != ID) return false;
  end = at + 2 + at[1];
  uint64_t id = at[3], value;
  at = id < 0x80 ? at + 4 : varint_read_ahead(at + 3, &id);
  if (!at || at >= end || end > reader->end) return false;
  unsigned tag = *at++, form;
  switch (tag) {
    case 2 << 3 | WIRE_FIXED64: form = FIELD_REAL; break;
    case 3 << 3 | WIRE_VARINT: form = FIELD_UNSIGNED; break;
    case 4 << 3 | WIRE_VARINT: form = FIELD_INTEGER; break;
    case 7 << 3 | WIRE_VARINT: form = FIELD_REFERENCE; break;
    default: return false;
  }
  if (form == FIELD_REAL) {
    value = load_u64(at);
    at += sizeof value;
  } else if (*at < 0x80) {
    value = *at++;
  } else {
    at = varint_read_ahead(at, &value);
  }
  if (at != end) return false;
  reader->at = at;
  uint32_t stat = id_map_find(&names->stat_map, (int64_t)id);
  unsigned key = stat == ROW_MAP_NONE ? KEY_UNKNOWN : names->stats.items[stat].key;
  if (key == KEY_UNKNOWN) return true;
  struct event_field *taken = &batch->event.fields[key];
  taken->form = form;
  taken->stat = stat;
  taken->number = form == FIELD_REFERENCE ? id_map_find(&names->stat_map, (int64_t)value) : value;
  batch->event.present |= (uint64_t)1 << key;
  return true;
}

bool event_read(struct batch *batch, const struct wire_reader *outer, const struct wire_field *whole, uint64_t offset) {
  struct event *event = &batch->event;
  const struct plane_names *names = batch->names;
  struct wire_reader reader = wire_enter(outer, whole);
  struct wire_field field;
  int64_t id = 0, offset_ps = 0, dur_ps = 0;
  event->present = event->consumed = 0;
  event->offset = offset;
  event->occurrences = ROW_NULL;
  bool is_read = true;
  for (;;) {
    while (take_plain_stat(batch, &reader)) continue;
    if (!wire_next(&reader, &field)) break;
    switch (field.number) {
      case 1: id = wire_int64(&field); break;
      case 2: offset_ps = wire_int64(&field); break;
      case 3: dur_ps = wire_int64(&field); break;
      case 4: {
        struct event_field value;
        is_read &= plane_read_stat(names, &reader, &field, &value);
        take_field(batch, &value);
        break;
      }
      case 5: event->occurrences = wire_int64(&field); break;
    }
  }
  if (reader.wrong || !is_read) {
    batch_problem(batch, PROBLEM_DAMAGED, offset);
    if (reader.wrong) return false;
  }
  uint32_t number = id_map_find(&names->event_map, id);
  event->name = number == ROW_MAP_NONE ? NULL : &names->events.items[number];
  if (!event->name) batch_problem(batch, PROBLEM_UNNAMED, offset);
  uint64_t own = event->present;
  for (uint32_t i = 0; event->name && i < event->name->stat_count; i++) {
    const struct event_field *inherited = &names->inherited.items[event->name->first_stat + i];
    unsigned key = inherited->stat == ROW_MAP_NONE ? KEY_UNKNOWN : names->stats.items[inherited->stat].key;
    if (key != KEY_UNKNOWN && !(own >> key & 1)) take_field(batch, inherited);
  }
  find_times(batch, offset_ps, dur_ps);
  return true;
}
