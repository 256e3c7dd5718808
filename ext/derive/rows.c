/* rows.c: unpacking and packing columns for derive passes (see rows.h).
**
** Unpacking is one tight loop for each width, which the compiler turns into vector code; NULLs are put in afterwards,
** a word of the bitmap at a time, because most columns have few or none.  Packing looks for the smallest and the
** largest value of a segment first, as column_builder_start() needs them to choose the width.
*/
#include "derive/rows.h"

#include "base/vectors.h"
#include "store/parallel.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
  SERIAL_ROWS = 1 << 15,      /* so few are not worth a thread */
  MADE_SEGMENT_ROWS = 1 << 14 /* what a core holds in its cache while it fills all columns of a table */
};

static VECTOR_INLINE void unpack_array(const struct column *column, uint32_t first, uint32_t count, int64_t *out) {
  uint64_t base = (uint64_t)column->base;
  switch (column->width) {
    case 1: {
      const uint8_t *elements = (const uint8_t *)column->elements + first;
      for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + elements[i]);
      break;
    }
    case 2: {
      const uint16_t *elements = (const uint16_t *)column->elements + first;
      for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + elements[i]);
      break;
    }
    case 4: {
      const uint32_t *elements = (const uint32_t *)column->elements + first;
      for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + elements[i]);
      break;
    }
    default: {
      const uint64_t *elements = (const uint64_t *)column->elements + first;
      for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)(base + elements[i]);
      break;
    }
  }
}

/* Calls `put` for each set bit of rows first ... first + count - 1, a whole word at once where all its bits are set. */
#define FOR_NULLS(nulls, first, count, put) \
  for (uint32_t at = 0, in_word; at < (count); at += in_word) { \
    uint32_t bit_row = (first) + at; \
    uint64_t word = (nulls)[bit_row >> 6] >> (bit_row & 63); \
    in_word = 64 - (bit_row & 63); \
    if (in_word > (count) - at) { \
      in_word = (count) - at; \
      word &= ((uint64_t)1 << in_word) - 1; /* less than 64, for a whole word would not have been too long */ \
    } \
    if (word == UINT64_MAX) { \
      for (uint32_t i = at; i < at + 64; i++) put; \
    } else { \
      for (uint32_t i; word; word &= word - 1) { \
        i = at + (uint32_t)__builtin_ctzll(word); \
        put; \
      } \
    } \
  }

static bool may_be_null(const struct column *column) {
  return column->nulls || column->form == COLUMN_ABSENT || column->form == COLUMN_SUM;
}

VECTOR_CLONES void derive_integers(const struct column *column, uint32_t first, uint32_t count, int64_t *out) {
  assert(!column->is_real && count <= ROWS_BLOCK && first <= column->rows && count <= column->rows - first);
  switch (column->form) {
    case COLUMN_CONSTANT:
      for (uint32_t i = 0; i < count; i++) out[i] = column->base;
      break;
    case COLUMN_ARRAY: unpack_array(column, first, count, out); break;
    case COLUMN_SUM: {
      int64_t right[ROWS_BLOCK];
      derive_integers(column->left, first, count, out);
      derive_integers(column->right, first, count, right);
      if (!may_be_null(column->left) && !may_be_null(column->right)) {
        for (uint32_t i = 0; i < count; i++) out[i] = (int64_t)((uint64_t)out[i] + (uint64_t)right[i]);
        break;
      }
      for (uint32_t i = 0; i < count; i++) {
        bool is_null = out[i] == NO_VALUE || right[i] == NO_VALUE;
        out[i] = is_null ? NO_VALUE : (int64_t)((uint64_t)out[i] + (uint64_t)right[i]);
      }
      break;
    }
    default:
      for (uint32_t i = 0; i < count; i++) out[i] = NO_VALUE;
      break;
  }
  if (column->nulls) FOR_NULLS(column->nulls, first, count, out[i] = NO_VALUE)
}

/* The usual case without the detour over 64 bits: an array that holds row numbers as they are, or all less `base`. */
static VECTOR_INLINE bool unpack_narrow(const struct column *column, uint32_t first, uint32_t count, uint32_t *out) {
  uint32_t base = (uint32_t)column->base;
  if (column->form != COLUMN_ARRAY || column->width > 4 || (uint64_t)column->base > INT32_MAX) return false;
  if (column->width == 1) {
    const uint8_t *elements = (const uint8_t *)column->elements + first;
    for (uint32_t i = 0; i < count; i++) out[i] = base + elements[i];
  } else if (column->width == 2) {
    const uint16_t *elements = (const uint16_t *)column->elements + first;
    for (uint32_t i = 0; i < count; i++) out[i] = base + elements[i];
  } else {
    const uint32_t *elements = (const uint32_t *)column->elements + first;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t value = base + elements[i];
      out[i] = value < base ? NO_ROW : value; /* beyond 32 bits */
    }
  }
  return true;
}

VECTOR_CLONES void derive_references(const struct column *column, uint32_t first, uint32_t count, uint32_t limit,
                                     uint32_t *out) {
  assert(count <= ROWS_BLOCK && first <= column->rows && count <= column->rows - first);
  if (unpack_narrow(column, first, count, out)) {
    for (uint32_t i = 0; i < count; i++) out[i] = out[i] < limit ? out[i] : NO_ROW;
    if (column->nulls) FOR_NULLS(column->nulls, first, count, out[i] = NO_ROW)
    return;
  }
  int64_t values[ROWS_BLOCK];
  derive_integers(column, first, count, values);
  for (uint32_t i = 0; i < count; i++) out[i] = (uint64_t)values[i] < limit ? (uint32_t)values[i] : NO_ROW;
}

void derive_reals(const struct column *column, uint32_t first, uint32_t count, double *out) {
  assert(first <= column->rows && count <= column->rows - first);
  if (column->form == COLUMN_ARRAY && column->is_real) {
    const double *dictionary = column->dictionary;
    if (!dictionary) {
      memcpy(out, (const double *)column->elements + first, count * sizeof *out);
    } else if (column->width == 1) {
      for (uint32_t i = 0; i < count; i++) out[i] = dictionary[((const uint8_t *)column->elements)[first + i]];
    } else {
      for (uint32_t i = 0; i < count; i++) out[i] = dictionary[((const uint16_t *)column->elements)[first + i]];
    }
    if (column->nulls) FOR_NULLS(column->nulls, first, count, out[i] = (double)NAN)
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    out[i] = column_is_null(column, first + i) ? (double)NAN : column_real(column, first + i);
}

VECTOR_CLONES void derive_texts(const struct column *column, uint32_t first, uint32_t count, string_id *out) {
  assert(count <= ROWS_BLOCK && first <= column->rows && count <= column->rows - first);
  if (unpack_narrow(column, first, count, out)) {
    if (column->nulls) FOR_NULLS(column->nulls, first, count, out[i] = 0)
    return;
  }
  int64_t values[ROWS_BLOCK];
  derive_integers(column, first, count, values);
  for (uint32_t i = 0; i < count; i++) out[i] = values[i] == NO_VALUE ? 0 : (string_id)values[i];
}

uint32_t derive_find_text(const struct column *column, uint32_t row, string_id text) {
  uint64_t element = (uint64_t)text - (uint64_t)column->base;
  if (column->form == COLUMN_ABSENT || (column->form == COLUMN_CONSTANT && element)) return column->rows;
  for (; row < column->rows; row++) {
    if (column->form == COLUMN_ARRAY && column->width == 1) {
      const uint8_t *elements = column->elements;
      const uint8_t *found = element > UINT8_MAX ? NULL : memchr(elements + row, (int)element, column->rows - row);
      if (!found) return column->rows;
      row = (uint32_t)(found - elements);
    } else if ((uint64_t)column_integer(column, row) != text) {
      continue;
    }
    if (!column->nulls || !column_is_null(column, row)) break;
  }
  return row;
}

uint32_t derive_find_value(const struct column *column, uint32_t row) {
  if (column->form == COLUMN_ABSENT) return column->rows;
  if (column->form == COLUMN_SUM) {
    while (row < column->rows && column_is_null(column, row)) row++;
    return row;
  }
  if (!column->nulls || row >= column->rows) return row < column->rows ? row : column->rows;
  uint64_t word = ~column->nulls[row >> 6] >> (row & 63) << (row & 63);
  for (row &= ~(uint32_t)63; !word && (row += 64) < column->rows;) word = ~column->nulls[row >> 6];
  row += word ? (uint32_t)__builtin_ctzll(word) : 0;
  return row < column->rows ? row : column->rows;
}

bool derive_has_value(const struct profile *profile, unsigned table, unsigned column) {
  const struct profile_table *content = &profile->tables[table];
  for (size_t s = 0; s < content->segment_count; s++) {
    const struct column *values = content->segments[s]->columns[column];
    if (values && derive_find_value(values, 0) < content->segments[s]->rows) return true;
  }
  return false;
}

enum tfprof_status derive_row_count(const struct profile *profile, unsigned table, uint32_t *rows,
                                    struct tfprof_error *error) {
  uint64_t count = profile->tables[table].rows;
  /* The passes that ask have columns that refer to its rows, so that it was listed. */
  assert(!profile->tables[table].is_deferred || !profile->tables[table].is_estimated);
  if (count >= NO_ROW) {
    return error_set(error, TFPROF_LIMIT, "table %s has %llu rows in one profile; at most %lu can be worked on",
                     schema_tables[table].name, (unsigned long long)count, (unsigned long)NO_ROW - 1);
  }
  *rows = (uint32_t)count;
  return TFPROF_OK;
}

struct unpacking {
  const struct profile_table *content;
  unsigned column;
  uint32_t limit;
  int64_t *integers; /* by row, or: */
  uint32_t *references;
};

static void unpack_segment(void *context, size_t i, unsigned worker) {
  const struct unpacking *unpacking = context;
  const struct segment *segment = unpacking->content->segments[i];
  const struct column *column = segment->columns[unpacking->column];
  (void)worker;
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    uint64_t row = segment->first_row + first;
    if (unpacking->integers) derive_integers(column, first, count, unpacking->integers + row);
    else derive_references(column, first, count, unpacking->limit, unpacking->references + row);
  }
}

enum tfprof_status derive_all_integers(const struct profile *profile, unsigned table, unsigned column, int64_t **values,
                                       struct tfprof_error *error) {
  struct unpacking unpacking = {.content = &profile->tables[table], .column = column};
  uint32_t rows = 0;
  enum tfprof_status status = derive_row_count(profile, table, &rows, error);
  if (status) return status;
  unpacking.integers = scratch_allocate(((size_t)rows + 1) * sizeof *unpacking.integers);
  if (!unpacking.integers) return error_no_memory(error);
  derive_parallel(rows, unpacking.content->segment_count, unpack_segment, &unpacking);
  *values = unpacking.integers;
  return TFPROF_OK;
}

enum tfprof_status derive_all_references(const struct profile *profile, unsigned table, unsigned column,
                                         uint32_t **values, struct tfprof_error *error) {
  struct unpacking unpacking = {.content = &profile->tables[table], .column = column};
  uint32_t rows = 0;
  enum tfprof_status status = derive_row_count(profile, table, &rows, error);
  if (!status)
    status = derive_row_count(profile, schema_tables[table].columns[column].target, &unpacking.limit, error);
  if (status) return status;
  unpacking.references = scratch_allocate(((size_t)rows + 1) * sizeof *unpacking.references);
  if (!unpacking.references) return error_no_memory(error);
  derive_parallel(rows, unpacking.content->segment_count, unpack_segment, &unpacking);
  *values = unpacking.references;
  return TFPROF_OK;
}

/* The values of one segment, of whichever kind the caller has. */
struct packed {
  const int64_t *integers;    /* NO_VALUE is NULL */
  const uint32_t *references; /* where integers is NULL */
  uint32_t no_reference;      /* which of them means NULL: NO_ROW or 0 */
};

struct range {
  int64_t minimum, maximum; /* of what is not NULL; crossed when all is */
  bool has_nulls;
};

/* Of values that are mostly small and rarely NULL the bits that any of them has are a bound that is quicker to find
** than the largest, for 64-bit numbers are not compared several at a time. */
static VECTOR_INLINE struct range range_of_integers(const int64_t *values, uint32_t rows) {
  uint64_t any = 0, differ = 0;
  for (uint32_t row = 0; row < rows; row++) {
    any |= (uint64_t)values[row];
    differ |= (uint64_t)values[row] ^ (uint64_t)values[0];
  }
  if (rows && differ == 0 && values[0] != NO_VALUE) return (struct range){values[0], values[0], false};
  if (rows && (int64_t)any >= 0 && any <= UINT32_MAX) return (struct range){0, (int64_t)any, false};
  struct range range = {INT64_MAX, INT64_MIN, false};
  for (uint32_t row = 0; row < rows; row++) {
    int64_t value = values[row];
    bool is_null = value == NO_VALUE;
    int64_t low = is_null ? INT64_MAX : value;
    range.has_nulls |= is_null;
    range.minimum = low < range.minimum ? low : range.minimum;
    range.maximum = value > range.maximum ? value : range.maximum;
  }
  return range;
}

/* Counted so that NULL is 0 and values begin at 1; one less, NULL is the largest number: no condition is needed. */
static VECTOR_INLINE struct range range_of_references(const uint32_t *values, uint32_t none, uint32_t rows) {
  uint32_t up = none == NO_ROW, smallest = UINT32_MAX, smallest_value = UINT32_MAX, largest = 0;
  for (uint32_t row = 0; row < rows; row++) {
    uint32_t counted = values[row] + up, less = counted - 1;
    smallest = counted < smallest ? counted : smallest;
    smallest_value = less < smallest_value ? less : smallest_value;
    largest = counted > largest ? counted : largest;
  }
  if (largest == 0) return (struct range){INT64_MAX, INT64_MIN, true};
  return (struct range){(int64_t)smallest_value + 1 - up, (int64_t)largest - up, smallest == 0};
}

static VECTOR_INLINE struct range range_of(const struct packed *packed, uint32_t rows) {
  if (packed->integers) return range_of_integers(packed->integers, rows);
  return range_of_references(packed->references, packed->no_reference, rows);
}

/* Computes in `unsigned_type`, which is as wide as the values, for that decides how many fit a register. */
#define FILL(type, unsigned_type, values, none) { \
    type *restrict elements = builder->elements; \
    for (uint32_t row = 0; row < rows; row++) { \
      unsigned_type element = (unsigned_type)(values)[row] - (unsigned_type)base; \
      elements[row] = (values)[row] == (none) ? 0 : (type)element; \
    } \
  }

static VECTOR_INLINE void fill_elements(const struct packed *packed, uint32_t rows, struct column_builder *builder) {
  int64_t base = builder->column->base;
  uint8_t width = builder->column->width;
  if (packed->integers) {
    const int64_t *values = packed->integers;
    switch (width) {
      case 1: FILL(uint8_t, uint64_t, values, NO_VALUE) break;
      case 2: FILL(uint16_t, uint64_t, values, NO_VALUE) break;
      case 4: FILL(uint32_t, uint64_t, values, NO_VALUE) break;
      case 8: FILL(uint64_t, uint64_t, values, NO_VALUE) break;
      default: break;
    }
  } else {
    const uint32_t *values = packed->references;
    uint32_t none = packed->no_reference;
    switch (width) {
      case 1: FILL(uint8_t, uint32_t, values, none) break;
      case 2: FILL(uint16_t, uint32_t, values, none) break;
      case 4: FILL(uint32_t, uint32_t, values, none) break;
      default: break;
    }
  }
}
#undef FILL

/* Sixty-four bytes of 0 or 1 as one word; the multiplication gathers the lowest bits of eight bytes in the highest. */
static VECTOR_INLINE uint64_t bits_of_bytes(const uint8_t *bytes) {
  uint64_t word = 0;
  for (unsigned i = 0; i < 8; i++) {
    uint64_t eight = 0;
    for (unsigned k = 0; k < 8; k++) eight |= (uint64_t)bytes[8 * i + k] << (8 * k);
    word |= (eight * 0x0102040810204080u >> 56) << (8 * i);
  }
  return word;
}

static VECTOR_INLINE void fill_nulls(const struct packed *packed, uint32_t rows, uint64_t *nulls) {
  uint32_t none = packed->no_reference;
  for (uint32_t first = 0; first < rows; first += 64) {
    uint32_t count = rows - first < 64 ? rows - first : 64;
    uint8_t is_null[64] = {0};
    if (packed->integers) {
      const int64_t *values = packed->integers + first;
      for (uint32_t i = 0; i < count; i++) is_null[i] = values[i] == NO_VALUE;
    } else if (count == 64) {
      const uint32_t *values = packed->references + first;
      for (uint32_t i = 0; i < 64; i++) is_null[i] = values[i] == none;
    } else {
      const uint32_t *values = packed->references + first;
      for (uint32_t i = 0; i < count; i++) is_null[i] = values[i] == none;
    }
    nulls[first >> 6] = bits_of_bytes(is_null);
  }
}

VECTOR_CLONES static struct column *pack(const struct packed *packed, uint32_t rows) {
  struct range range = range_of(packed, rows);
  if (range.minimum > range.maximum) return column_absent(rows);
  if (range.minimum == range.maximum && !range.has_nulls) return column_constant(rows, range.minimum);
  struct column_builder builder;
  if (column_builder_start(&builder, rows, range.minimum, range.maximum, false, range.has_nulls)) return NULL;
  fill_elements(packed, rows, &builder);
  if (range.has_nulls) fill_nulls(packed, rows, builder.nulls);
  return column_builder_done(&builder);
}

enum tfprof_status derive_set_segment(struct segment *segment, unsigned column, const uint32_t *values) {
  return segment_set_column(segment, column, pack(&(struct packed){NULL, values, NO_ROW}, segment->rows));
}

enum tfprof_status derive_set_segment_integers(struct segment *segment, unsigned column, const int64_t *values) {
  return segment_set_column(segment, column, pack(&(struct packed){values, NULL, 0}, segment->rows));
}

struct packing {
  struct profile *profile;
  unsigned table, column;
  const int64_t *integers; /* as in struct packed, by row number */
  const uint32_t *references;
  uint32_t no_reference;
  const double *reals;
  const struct row_value *few; /* where all are NULL */
  uint32_t few_count;
  atomic_bool has_failed;
};

/* The values of a segment for which there are only some. */
static struct column *pack_few(const struct packing *packing, const struct segment *segment) {
  uint32_t low = 0, high = packing->few_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (packing->few[middle].row < segment->first_row) low = middle + 1; else high = middle;
  }
  uint64_t end = segment->first_row + segment->rows;
  if (low == packing->few_count || packing->few[low].row >= end) return column_absent(segment->rows);
  uint32_t *values = scratch_allocate(segment->rows * sizeof *values);
  if (!values) return NULL;
  memset(values, 0xff, segment->rows * sizeof *values); /* NO_ROW */
  for (; low < packing->few_count && packing->few[low].row < end; low++) {
    values[packing->few[low].row - segment->first_row] = packing->few[low].value;
  }
  struct column *column = pack(&(struct packed){NULL, values, NO_ROW}, segment->rows);
  scratch_free(values);
  return column;
}

static void pack_segment(void *context, size_t i, unsigned worker) {
  struct packing *packing = context;
  struct segment *segment = packing->profile->tables[packing->table].segments[i];
  struct packed packed = {packing->integers ? packing->integers + segment->first_row : NULL,
                          packing->references ? packing->references + segment->first_row : NULL, packing->no_reference};
  bool is_all = packing->integers || packing->references;
  (void)worker;
  struct column *value = is_all ? pack(&packed, segment->rows) : pack_few(packing, segment);
  if (!value || segment_set_column(segment, packing->column, value)) atomic_store(&packing->has_failed, true);
}

static enum tfprof_status set_column(struct packing *packing, struct tfprof_error *error) {
  const struct profile_table *content = &packing->profile->tables[packing->table];
  derive_parallel(content->rows, content->segment_count, pack_segment, packing);
  return atomic_load(&packing->has_failed) ? error_no_memory(error) : TFPROF_OK;
}

enum tfprof_status derive_set_integers(struct profile *profile, unsigned table, unsigned column, const int64_t *values,
                                       struct tfprof_error *error) {
  struct packing packing = {.profile = profile, .table = table, .column = column, .integers = values};
  return set_column(&packing, error);
}

enum tfprof_status derive_set_references(struct profile *profile, unsigned table, unsigned column,
                                         const uint32_t *values, struct tfprof_error *error) {
  struct packing packing = {
      .profile = profile, .table = table, .column = column, .references = values, .no_reference = NO_ROW};
  return set_column(&packing, error);
}

enum tfprof_status derive_set_texts(struct profile *profile, unsigned table, unsigned column, const string_id *values,
                                    struct tfprof_error *error) {
  struct packing packing = {.profile = profile, .table = table, .column = column, .references = values};
  return set_column(&packing, error);
}

enum tfprof_status derive_set_few_references(struct profile *profile, unsigned table, unsigned column,
                                             const struct row_value *values, uint32_t count,
                                             struct tfprof_error *error) {
  struct packing packing = {.profile = profile, .table = table, .column = column, .few = values, .few_count = count};
  for (uint32_t i = 1; i < count; i++) assert(values[i - 1].row < values[i].row);
  return set_column(&packing, error);
}

enum tfprof_status derive_set_segment_reals(struct segment *segment, unsigned column, const double *values) {
  uint64_t *nulls = scratch_allocate_zeroed(segment->rows / 64 + 1, sizeof *nulls);
  struct column *made = NULL;
  uint32_t null_count = 0;
  for (uint32_t i = 0; nulls && i < segment->rows; i++) {
    if (!isnan(values[i])) continue;
    nulls[i / 64] |= (uint64_t)1 << i % 64;
    null_count++;
  }
  if (nulls && null_count == segment->rows) made = column_absent(segment->rows);
  else if (nulls) made = column_from_reals(values, null_count ? nulls : NULL, segment->rows);
  scratch_free(nulls);
  return segment_set_column(segment, column, made);
}

static void set_reals_of_segment(void *context, size_t i, unsigned worker) {
  struct packing *packing = context;
  struct segment *segment = packing->profile->tables[packing->table].segments[i];
  (void)worker;
  if (derive_set_segment_reals(segment, packing->column, packing->reals + segment->first_row))
    atomic_store(&packing->has_failed, true);
}

enum tfprof_status derive_set_reals(struct profile *profile, unsigned table, unsigned column, const double *values,
                                    struct tfprof_error *error) {
  struct packing packing = {.profile = profile, .table = table, .column = column, .reals = values};
  const struct profile_table *content = &profile->tables[table];
  derive_parallel(content->rows, content->segment_count, set_reals_of_segment, &packing);
  return atomic_load(&packing.has_failed) ? error_no_memory(error) : TFPROF_OK;
}

enum tfprof_status derive_make_table(struct profile *profile, unsigned table, uint32_t rows,
                                     struct tfprof_error *error) {
  struct column_set nothing = {{0, 0}};
  enum tfprof_status status = TFPROF_OK;
  for (uint64_t first = 0; first < rows && !status; first += MADE_SEGMENT_ROWS) {
    uint32_t count = rows - first < MADE_SEGMENT_ROWS ? (uint32_t)(rows - first) : MADE_SEGMENT_ROWS;
    status = profile_add_segment(profile, table, first, count, &nothing, NULL, NULL, error);
  }
  return status;
}

struct filling {
  struct profile *profile;
  unsigned table, count;
  const struct made_column *columns;
  const void *context;
  atomic_int failure; /* an enum tfprof_status */
};

/* Where the values of a segment's columns begin, one column after the other. */
static int64_t *room_of(const struct filling *filling, int64_t *room, uint32_t rows, unsigned k) {
  for (unsigned i = 0; i < k; i++) {
    if (filling->columns[i].kind != MADE_SUM) room += filling->columns[i].kind == MADE_INTEGERS ? rows : (rows + 1) / 2;
  }
  return room;
}

static struct column *made_column(const struct made_column *made, const struct segment *segment, const void *values) {
  if (made->kind == MADE_SUM) return column_sum(segment->columns[made->left], segment->columns[made->right]);
  bool is_integers = made->kind == MADE_INTEGERS;
  struct packed packed = {is_integers ? values : NULL, is_integers ? NULL : values,
                          made->kind == MADE_TEXTS ? 0 : NO_ROW};
  return pack(&packed, segment->rows);
}

/* All columns of a block of rows, then of the next, so that what they are computed from is in the cache. */
static void fill_segment(void *context, size_t s, unsigned worker) {
  struct filling *filling = context;
  struct segment *segment = filling->profile->tables[filling->table].segments[s];
  int64_t *room = scratch_allocate((size_t)segment->rows * filling->count * sizeof *room + sizeof *room);
  int failure = room ? atomic_load(&filling->failure) : TFPROF_NO_MEMORY;
  (void)worker;
  for (uint32_t first = 0; first < segment->rows && !failure; first += ROWS_BLOCK) {
    uint32_t count = derive_block_rows(segment, first);
    for (unsigned k = 0; k < filling->count; k++) {
      const struct made_column *made = &filling->columns[k];
      int64_t *values = room_of(filling, room, segment->rows, k);
      if (made->kind == MADE_SUM) continue;
      made->fill(filling->context, (uint32_t)segment->first_row + first, count,
                 made->kind == MADE_INTEGERS ? (void *)(values + first) : (void *)((uint32_t *)values + first));
    }
    if (store_interrupted(filling->profile->store)) failure = TFPROF_INTERRUPTED;
  }
  for (unsigned k = 0; k < filling->count && !failure; k++) {
    const struct made_column *made = &filling->columns[k];
    struct column *column = made_column(made, segment, room_of(filling, room, segment->rows, k));
    if (!column || segment_set_column(segment, made->column, column)) failure = TFPROF_NO_MEMORY;
  }
  scratch_free(room);
  if (failure) atomic_store(&filling->failure, failure);
}

enum tfprof_status derive_fill_table(struct profile *profile, unsigned table, const struct made_column *columns,
                                     unsigned count, const void *context, struct tfprof_error *error) {
  struct filling filling = {profile, table, count, columns, context, 0};
  const struct profile_table *content = &profile->tables[table];
  derive_parallel(content->rows, content->segment_count, fill_segment, &filling);
  return derive_failure(atomic_load(&filling.failure), error);
}

string_id derive_known_text(const struct profile *profile, const char *text) {
  string_id id = pool_find(store_pool(profile->store), text, strlen(text));
  return id ? id : UINT32_MAX;
}

enum tfprof_status derive_text(struct profile *profile, const char *text, string_id *id, struct tfprof_error *error) {
  enum tfprof_status status = pool_intern(store_pool(profile->store), text, strlen(text), id);
  if (status == TFPROF_NO_MEMORY) return error_no_memory(error);
  if (status) return error_set(error, status, "too many different texts are open");
  return TFPROF_OK;
}

void derive_parallel(uint64_t rows, size_t count, void (*task)(void *context, size_t i, unsigned worker),
                     void *context) {
  if (rows > SERIAL_ROWS) {
    parallel_for(count, task, context);
  } else {
    for (size_t i = 0; i < count; i++) task(context, i, 0);
  }
}

enum tfprof_status derive_failure(int status, struct tfprof_error *error) {
  if (status == TFPROF_INTERRUPTED) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
  return status ? error_no_memory(error) : TFPROF_OK;
}

enum tfprof_status derive_poll(const struct profile *profile, struct tfprof_error *error) {
  if (!store_interrupted(profile->store)) return TFPROF_OK;
  return error_set(error, TFPROF_INTERRUPTED, "interrupted");
}
