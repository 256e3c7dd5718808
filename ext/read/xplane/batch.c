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
  for (unsigned slot = 0; slot < ROW_SLOTS; slot++) batch->rest[slot] = ROW_NULL;
  batch->own_texts.count = 0;
  memset(batch->problems, 0, sizeof batch->problems);
  batch->instruction_run = (struct instruction_run){0};
}

void batch_free(struct batch *batch) {
  for (unsigned table = 0; table < ROWS_COUNT; table++) free(batch->rows[table].places);
  for (unsigned slot = 0; slot < ROW_SLOTS; slot++) free(batch->values[slot]);
  list_free(&batch->own_texts);
}

bool batch_grow(struct batch *batch, enum row_table table) {
  struct rows *rows = &batch->rows[table];
  uint32_t larger = rows->capacity ? rows->capacity * 2 : 256;
  uint32_t *places = realloc(rows->places, larger * sizeof *places);
  bool ok = places != NULL;
  if (ok) rows->places = places;
  for (unsigned slot = batch_first_slots[table]; slot < batch_first_slots[table + 1] && ok; slot++) {
    int64_t *values = realloc(batch->values[slot], larger * sizeof *values);
    ok = values != NULL;
    if (ok) batch->values[slot] = values;
  }
  if (ok) rows->capacity = larger;
  else batch->no_memory = true;
  return ok;
}

void batch_fill(struct batch *batch, unsigned slot, uint32_t row) {
  for (uint32_t at = batch->filled[slot]; at < row; at++) batch->values[slot][at] = batch->rest[slot];
  if (row > batch->filled[slot]) batch->filled[slot] = row;
}

void batch_complete(struct batch *batch) {
  for (unsigned table = 0; table < ROWS_COUNT; table++) {
    uint32_t rows = batch->rows[table].count;
    for (unsigned slot = batch_first_slots[table]; slot < batch_first_slots[table + 1]; slot++) {
      if (batch_slot_uses[slot] == SLOT_EACH) batch->filled[slot] = rows;
      else if (batch->filled[slot]) batch_fill(batch, slot, rows);
    }
  }
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

int64_t event_op_name(struct batch *b) {
  const struct event_field *field = &b->event.fields[KEY_TF_OP];
  struct text_part text, name, type;
  if (!event_peek_text(b, KEY_TF_OP, &text)) return ROW_NULL;
  xplane_op_name(text.bytes, text.length, &name, &type);
  if (name.length == text.length || !name.length) return event_text(b, KEY_TF_OP);
  event_taken(b, KEY_TF_OP);
  const struct stat_name *stat = field->form == FIELD_REFERENCE ? &b->names->stats.items[field->number] : NULL;
  bool is_known = stat && stat->op_name && pool_length(b->listing->pool, stat->op_name) == name.length;
  return is_known ? (int64_t)stat->op_name : batch_text(b, name);
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
