/* column.c: see column.h. */
#include "store/column.h"

#include "base/hash.h"
#include "base/vectors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static size_t null_words(uint32_t rows) { return ((size_t)rows + 63) / 64; }

static struct column *column_new(uint32_t rows, enum column_form form) {
  struct column *column = calloc(1, sizeof *column);
  if (!column) return NULL;
  column->references = 1;
  column->rows = rows;
  column->form = (uint8_t)form;
  return column;
}

struct column *column_retain(struct column *column) {
  assert(column->references > 0);
  column->references++;
  return column;
}

void column_release(struct column *column) {
  assert(!column || column->references > 0);
  if (!column || --column->references) return;
  column_release(column->left);
  column_release(column->right);
  free((void *)(uintptr_t)column->elements);
  free((void *)(uintptr_t)column->dictionary);
  free((void *)(uintptr_t)column->nulls);
  free(column);
}

uint64_t column_bytes(const struct column *column) {
  uint64_t bytes = sizeof *column;
  if (column->form == COLUMN_ARRAY) bytes += (uint64_t)column->rows * column->width;
  if (column->nulls) bytes += null_words(column->rows) * sizeof(uint64_t);
  return bytes;
}

struct column *column_absent(uint32_t rows) {
  return column_new(rows, COLUMN_ABSENT);
}

struct column *column_constant(uint32_t rows, int64_t value) {
  struct column *column = column_new(rows, COLUMN_CONSTANT);
  if (column) column->base = value;
  return column;
}

struct column *column_constant_real(uint32_t rows, double value) {
  struct column *column = column_new(rows, COLUMN_CONSTANT);
  if (!column) return NULL;
  column->is_real = true;
  memcpy(&column->base, &value, sizeof value);
  return column;
}

struct column *column_sum(struct column *left, struct column *right) {
  assert(left->rows == right->rows && !left->is_real && !right->is_real);
  /* Without values on one side there are none in the sum. */
  if (left->form == COLUMN_ABSENT || right->form == COLUMN_ABSENT) return column_absent(left->rows);
  struct column *column = column_new(left->rows, COLUMN_SUM);
  if (!column) return NULL;
  column->left = column_retain(left);
  column->right = column_retain(right);
  return column;
}

static unsigned width_of_range(uint64_t range) {
  if (range == 0) return 0;
  if (range <= UINT8_MAX) return 1;
  if (range <= UINT16_MAX) return 2;
  return range <= UINT32_MAX ? 4 : 8;
}

enum tfprof_status column_builder_start(struct column_builder *builder, uint32_t rows, int64_t minimum, int64_t maximum,
                                        bool is_real, bool may_have_nulls) {
  assert(is_real || minimum <= maximum);
  unsigned width = is_real ? 8 : width_of_range((uint64_t)maximum - (uint64_t)minimum);
  *builder = (struct column_builder){.column = column_new(rows, width ? COLUMN_ARRAY : COLUMN_CONSTANT)};
  if (!builder->column) return TFPROF_NO_MEMORY;
  builder->column->is_real = is_real;
  builder->column->width = (uint8_t)width;
  builder->column->base = is_real ? 0 : minimum;
  if (width) {
    builder->elements = calloc(rows ? rows : 1, width);
    builder->column->elements = builder->elements;
    if (!builder->elements) {
      column_builder_cancel(builder);
      return TFPROF_NO_MEMORY;
    }
  }
  if (may_have_nulls && column_builder_allow_nulls(builder)) {
    column_builder_cancel(builder);
    return TFPROF_NO_MEMORY;
  }
  return TFPROF_OK;
}

enum tfprof_status column_builder_allow_nulls(struct column_builder *builder) {
  if (builder->nulls) return TFPROF_OK;
  size_t words = null_words(builder->column->rows);
  builder->nulls = calloc(words ? words : 1, sizeof *builder->nulls);
  builder->column->nulls = builder->nulls;
  return builder->nulls ? TFPROF_OK : TFPROF_NO_MEMORY;
}

void column_builder_cancel(struct column_builder *builder) {
  column_release(builder->column);
  *builder = (struct column_builder){0};
}

VECTOR_CLONES void column_set_elements(void *elements, unsigned width, uint32_t row, const int64_t *values,
                                       uint32_t count, uint64_t base) {
  switch (width) {
    case 0: break;
    case 1:
      for (uint32_t i = 0; i < count; i++) ((uint8_t *)elements)[row + i] = (uint8_t)((uint64_t)values[i] - base);
      break;
    case 2:
      for (uint32_t i = 0; i < count; i++) ((uint16_t *)elements)[row + i] = (uint16_t)((uint64_t)values[i] - base);
      break;
    case 4:
      for (uint32_t i = 0; i < count; i++) ((uint32_t *)elements)[row + i] = (uint32_t)((uint64_t)values[i] - base);
      break;
    default:
      for (uint32_t i = 0; i < count; i++) ((uint64_t *)elements)[row + i] = (uint64_t)values[i] - base;
      break;
  }
}

void column_builder_put_all(struct column_builder *builder, uint32_t row, const int64_t *values, uint32_t count) {
  assert(row <= builder->column->rows && count <= builder->column->rows - row && !builder->column->is_real);
  column_set_elements(builder->elements, builder->column->width, row, values, count, (uint64_t)builder->column->base);
}

struct column *column_builder_done(struct column_builder *builder) {
  struct column *column = builder->column;
  if (builder->nulls) {
    uint64_t count = 0;
    for (size_t i = 0; i < null_words(column->rows); i++) count += (uint64_t)__builtin_popcountll(builder->nulls[i]);
    if (count == column->rows) { /* only NULLs */
      free((void *)(uintptr_t)column->elements);
      free((void *)(uintptr_t)column->dictionary);
      column->elements = NULL;
      column->dictionary = NULL;
      column->form = COLUMN_ABSENT;
      column->width = 0;
      column->base = 0;
      column->is_real = false;
    }
    if (count == 0 || count == column->rows) {
      free(builder->nulls);
      column->nulls = NULL;
    }
  }
  *builder = (struct column_builder){0};
  return column;
}

static bool is_null_in(const uint64_t *nulls, uint32_t row) { return nulls && nulls_have(nulls, row); }

static void copy_nulls(struct column_builder *builder, const uint64_t *nulls, uint32_t rows) {
  if (!nulls || rows == 0) return;
  size_t words = null_words(rows);
  memcpy(builder->nulls, nulls, words * sizeof *nulls);
  if (rows & 63) builder->nulls[words - 1] &= ((uint64_t)1 << (rows & 63)) - 1;
}

struct column *column_from_integers(const int64_t *values, const uint64_t *nulls, uint32_t rows) {
  int64_t minimum = INT64_MAX, maximum = INT64_MIN;
  for (uint32_t row = 0; row < rows; row++) {
    if (is_null_in(nulls, row)) continue;
    if (values[row] < minimum) minimum = values[row];
    if (values[row] > maximum) maximum = values[row];
  }
  if (minimum > maximum) return column_absent(rows);
  struct column_builder builder;
  if (column_builder_start(&builder, rows, minimum, maximum, false, nulls != NULL)) return NULL;
  for (uint32_t row = 0; row < rows; row++) {
    if (!is_null_in(nulls, row)) column_builder_put(&builder, row, values[row]);
  }
  copy_nulls(&builder, nulls, rows);
  return column_builder_done(&builder);
}

/* ---- reals ---- */

enum {
  MOST_KINDS = 4096,  /* of reals in a dictionary */
  ROWS_OF_A_KIND = 8, /* on average, or a dictionary is not worth its making */
  FIRST_KINDS = 512,  /* that many may turn up at once */
  LEAST_ROWS = 1024,  /* shorter columns have no dictionary */
  PLACES = 4 * MOST_KINDS
};

struct dictionary {
  uint64_t kinds[MOST_KINDS]; /* bits, so that -0.0 and NaN stay what they are */
  uint32_t count;
  uint16_t places[PLACES]; /* 1 + a kind; 0: free */
};

/* The number of a real; MOST_KINDS: there are too many. */
static inline uint32_t number_of_kind(struct dictionary *dictionary, uint64_t bits) {
  uint32_t place = (uint32_t)hash_spread(bits, 14); /* below PLACES */
  for (; dictionary->places[place]; place = (place + 1) & (PLACES - 1)) {
    if (dictionary->kinds[dictionary->places[place] - 1] == bits) return dictionary->places[place] - 1u;
  }
  if (dictionary->count == MOST_KINDS) return MOST_KINDS;
  dictionary->kinds[dictionary->count++] = bits;
  dictionary->places[place] = (uint16_t)dictionary->count;
  return dictionary->count - 1;
}
_Static_assert(PLACES == 1 << 14, "number_of_kind() takes the highest 14 bits");

/* numbers[row] in the dictionary, 0 for NULL. False: too many differ. */
static bool number_kinds(struct dictionary *dictionary, const double *values, const uint64_t *nulls, uint32_t rows,
                         uint16_t *numbers) {
  uint64_t last_bits = 0;
  uint32_t last = MOST_KINDS;
  for (uint32_t row = 0; row < rows; row++) {
    uint64_t bits;
    numbers[row] = 0;
    if (is_null_in(nulls, row)) continue;
    memcpy(&bits, &values[row], sizeof bits);
    if (last == MOST_KINDS || bits != last_bits) last = number_of_kind(dictionary, bits);
    if (last == MOST_KINDS) return false;
    if (dictionary->count > FIRST_KINDS + row / ROWS_OF_A_KIND) return false;
    numbers[row] = (uint16_t)last;
    last_bits = bits;
  }
  return dictionary->count <= rows / ROWS_OF_A_KIND + 1;
}

/* The elements of a column as numbers in a dictionary. False: no memory. */
static bool set_numbers(struct column *column, const struct dictionary *dictionary, const uint16_t *numbers) {
  double *reals = malloc(dictionary->count * sizeof *reals);
  column->width = dictionary->count <= UINT8_MAX + 1 ? 1 : 2;
  void *elements = malloc(((size_t)column->rows + 1) * column->width);
  column->dictionary = reals;
  column->elements = elements;
  if (!reals || !elements) return false;
  memcpy(reals, dictionary->kinds, dictionary->count * sizeof *reals);
  for (uint32_t row = 0; row < column->rows; row++) {
    if (column->width == 1) ((uint8_t *)elements)[row] = (uint8_t)numbers[row];
    else ((uint16_t *)elements)[row] = numbers[row];
  }
  return true;
}

static bool set_reals(struct column *column, const double *values, const uint64_t *nulls) {
  double *elements = malloc(((size_t)column->rows + 1) * sizeof *elements);
  column->width = sizeof *elements;
  column->elements = elements;
  if (!elements) return false;
  memcpy(elements, values, column->rows * sizeof *elements);
  for (uint32_t row = 0; nulls && row < column->rows; row++) {
    if (nulls_have(nulls, row)) elements[row] = 0;
  }
  return true;
}

/* As numbers in a dictionary, unless too many differ. False: no memory. */
static bool set_elements(struct column *column, const double *values, const uint64_t *nulls) {
  if (column->rows < LEAST_ROWS) return set_reals(column, values, nulls);
  struct dictionary *dictionary = calloc(1, sizeof *dictionary);
  uint16_t *numbers = malloc(column->rows * sizeof *numbers);
  bool ok = dictionary && numbers;
  if (ok) {
    bool are_few = number_kinds(dictionary, values, nulls, column->rows, numbers);
    ok = are_few ? set_numbers(column, dictionary, numbers) : set_reals(column, values, nulls);
  }
  free(dictionary);
  free(numbers);
  return ok;
}

struct column *column_from_reals(const double *values, const uint64_t *nulls, uint32_t rows) {
  uint32_t first = 0;
  bool is_constant = true;
  while (first < rows && is_null_in(nulls, first)) first++;
  if (first == rows) return column_absent(rows);
  for (uint32_t row = first; row < rows && is_constant; row++) {
    /* Bits are compared, so that -0.0 and NaN stay what they are.
    ** NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    is_constant = is_null_in(nulls, row) || memcmp(&values[row], &values[first], sizeof *values) == 0;
  }
  struct column_builder builder = {.column = column_constant_real(rows, values[first])};
  bool ok = builder.column != NULL;
  if (ok && !is_constant) {
    builder.column->form = COLUMN_ARRAY;
    builder.column->base = 0;
    ok = set_elements(builder.column, values, nulls);
  }
  if (!ok || (nulls && column_builder_allow_nulls(&builder))) {
    if (builder.column) column_builder_cancel(&builder);
    return NULL;
  }
  copy_nulls(&builder, nulls, rows);
  return column_builder_done(&builder);
}

/* ---- reading ---- */

/* The bits of reals. */
static void read_dictionary(const struct column *column, uint32_t first, uint32_t count, int64_t *values) {
  for (uint32_t i = 0; i < count; i++) {
    double real = column_real(column, first + i);
    memcpy(&values[i], &real, sizeof real);
  }
}

VECTOR_CLONES static void read_array(const struct column *column, uint32_t first, uint32_t count, int64_t *values) {
  uint64_t base = (uint64_t)column->base;
  const void *elements = column->elements;
  switch (column->width) {
    case 1:
      for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)(base + ((const uint8_t *)elements)[first + i]);
      break;
    case 2:
      for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)(base + ((const uint16_t *)elements)[first + i]);
      break;
    case 4:
      for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)(base + ((const uint32_t *)elements)[first + i]);
      break;
    default:
      for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)(base + ((const uint64_t *)elements)[first + i]);
      break;
  }
}

enum { BLOCK = 256 };

static void read_values(const struct column *column, uint32_t first, uint32_t count, int64_t *values) {
  switch ((enum column_form)column->form) {
    case COLUMN_ABSENT: memset(values, 0, count * sizeof *values); break;
    case COLUMN_CONSTANT:
      for (uint32_t i = 0; i < count; i++) values[i] = column->base;
      break;
    case COLUMN_ARRAY:
      if (column->dictionary) read_dictionary(column, first, count, values);
      else read_array(column, first, count, values);
      break;
    case COLUMN_SUM:
      read_values(column->left, first, count, values);
      for (uint32_t done = 0; done < count; done += BLOCK) {
        uint32_t rows = count - done < BLOCK ? count - done : BLOCK;
        int64_t others[BLOCK];
        read_values(column->right, first + done, rows, others);
        for (uint32_t i = 0; i < rows; i++)
          values[done + i] = (int64_t)((uint64_t)values[done + i] + (uint64_t)others[i]);
      }
      break;
  }
}

/* Sets bits, never clears any. */
static void read_nulls(const struct column *column, uint32_t first, uint32_t count, uint64_t *nulls) {
  size_t words = null_words(count);
  if (column->form == COLUMN_SUM) {
    read_nulls(column->left, first, count, nulls);
    read_nulls(column->right, first, count, nulls);
  } else if (column->form == COLUMN_ABSENT) {
    memset(nulls, 0xff, words * sizeof *nulls);
  } else if (column->nulls) {
    for (size_t i = 0; i < words; i++) nulls[i] |= column->nulls[first / 64 + i];
  }
}

bool column_read(const struct column *column, uint32_t first, uint32_t count, int64_t *values, uint64_t *nulls) {
  size_t words = null_words(count);
  uint64_t any = 0;
  assert(first % 64 == 0 && first <= column->rows && count <= column->rows - first);
  memset(nulls, 0, words * sizeof *nulls);
  read_values(column, first, count, values);
  read_nulls(column, first, count, nulls);
  if (count % 64) nulls[words - 1] &= ((uint64_t)1 << count % 64) - 1;
  for (size_t i = 0; i < words; i++) any |= nulls[i];
  return any != 0;
}
