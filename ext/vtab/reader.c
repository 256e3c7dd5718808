/* reader.c: see reader.h. */
#include "vtab/reader.h"

static int64_t wrapping_sum(int64_t left, int64_t right) { return (int64_t)((uint64_t)left + (uint64_t)right); }

/* id and profile_id are never stored. */
static void bind_number(struct column_reader *reader, const struct segment *segment, unsigned column) {
  reader->value_kind = VALUE_INTEGER;
  reader->kind = READER_ROW;
  if (column == 0) {
    reader->base = id_make(segment->profile->number, segment->first_row);
  } else if (segment->table == TABLE_profiles) {
    reader->base = (int64_t)segment->first_row; /* the row of a profile belongs to itself */
  } else {
    reader->kind = segment->table == TABLE_runs ? READER_NULL : READER_CONSTANT; /* runs belong to none */
    reader->base = segment->profile->number;
  }
}

/* What is added to every stored value. */
static int64_t offset_of(const struct segment *segment, const struct column_spec *spec) {
  if (spec->type == TYPE_TIME) return segment->profile->clock_offset_ns;
  if (spec->type != TYPE_REFERENCE || spec->target == TABLE_runs || spec->target == TABLE_profiles) return 0;
  return id_make(segment->profile->number, 0);
}

void reader_bind(struct column_reader *reader, const struct segment *segment, unsigned column) {
  static const uint8_t kind_of_width[9] = {[1] = READER_1, [2] = READER_2, [4] = READER_4, [8] = READER_8};
  const struct column_spec *spec = &schema_tables[segment->table].columns[column];
  *reader = (struct column_reader){.kind = READER_NULL};
  if (column <= 1) {
    bind_number(reader, segment, column);
    return;
  }
  const struct column *values = segment->columns[column];
  bool is_text = spec->type == TYPE_TEXT || spec->type == TYPE_JSON;
  reader->value_kind = is_text ? VALUE_TEXT : spec->type == TYPE_REAL ? VALUE_REAL : VALUE_INTEGER;
  reader->column = values;
  reader->elements = values->elements;
  reader->nulls = values->nulls;
  reader->base = values->base;
  switch ((enum column_form)values->form) {
    case COLUMN_ABSENT: break;
    case COLUMN_CONSTANT: reader->kind = values->is_real ? READER_REAL_CONSTANT : READER_CONSTANT; break;
    case COLUMN_ARRAY:
      if (values->dictionary) reader->kind = values->width == 1 ? READER_REAL_1 : READER_REAL_2;
      else reader->kind = values->is_real ? READER_REAL : kind_of_width[values->width];
      break;
    case COLUMN_SUM:
      reader->kind = READER_SUM;
      reader->base = 0;
      break;
  }
  if (!values->is_real) reader->base = wrapping_sum(reader->base, offset_of(segment, spec));
}
