/* filter.c: see filter.h. */
#include "vtab/filter.h"

#include "base/hash.h"
#include "base/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

/* ---- numbers ---- */

/* 2^63, the first double above all 64-bit integers; its negative is the lowest of them. */
static const double TWO_TO_63 = 9223372036854775808.0;

/* The integers for which `integer operator real` holds, as minimum ... maximum. False: none. */
static bool interval_for_real(enum term_operator operator, double real, int64_t *minimum, int64_t *maximum) {
  double above = ceil(real), below = floor(real);
  *minimum = INT64_MIN;
  *maximum = INT64_MAX;
  switch (operator) {
    case TERM_LESS:
      if (real >= TWO_TO_63) return true;
      if (real <= -TWO_TO_63) return false;
      *maximum = (int64_t)above - 1;
      return true;
    case TERM_LESS_EQUAL:
      if (real >= TWO_TO_63) return true;
      if (real < -TWO_TO_63) return false;
      *maximum = (int64_t)below;
      return true;
    case TERM_GREATER:
      if (real >= TWO_TO_63) return false;
      if (real < -TWO_TO_63) return true;
      *minimum = (int64_t)below + 1;
      return true;
    case TERM_GREATER_EQUAL:
      if (real >= TWO_TO_63) return false;
      if (real <= -TWO_TO_63) return true;
      *minimum = (int64_t)above;
      return true;
    default: /* equal */
      if (above != real || real >= TWO_TO_63 || real < -TWO_TO_63) return false;
      *minimum = *maximum = (int64_t)real;
      return true;
  }
}

static bool interval_for_integer(enum term_operator operator, int64_t value, int64_t *minimum, int64_t *maximum) {
  *minimum = INT64_MIN;
  *maximum = INT64_MAX;
  switch (operator) {
    case TERM_LESS:
      *maximum = value - (value != INT64_MIN);
      return value != INT64_MIN;
    case TERM_LESS_EQUAL: *maximum = value; return true;
    case TERM_GREATER:
      *minimum = value + (value != INT64_MAX);
      return value != INT64_MAX;
    case TERM_GREATER_EQUAL: *minimum = value; return true;
    default: *minimum = *maximum = value; return true;
  }
}

/* The doubles for which `double operator value` holds, likewise; an integer that no double equals lies between two of
** them. */
static bool real_interval(enum term_operator operator, sqlite3_value *value, double *minimum, double *maximum) {
  bool is_integer = sqlite3_value_type(value) == SQLITE_INTEGER;
  int64_t integer = is_integer ? sqlite3_value_int64(value) : 0;
  double real = is_integer ? (double)integer : sqlite3_value_double(value);
  int side = 0; /* of `real` against the value: -1 below, 1 above */
  if (is_integer) side = real >= TWO_TO_63 || (int64_t)real > integer ? 1 : (int64_t)real < integer ? -1 : 0;
  *minimum = -INFINITY;
  *maximum = INFINITY;
  switch (operator) {
    case TERM_LESS: *maximum = side < 0 ? real : nextafter(real, -INFINITY); return side < 0 || real != -INFINITY;
    case TERM_LESS_EQUAL: *maximum = side > 0 ? nextafter(real, -INFINITY) : real; return true;
    case TERM_GREATER: *minimum = side > 0 ? real : nextafter(real, INFINITY); return side > 0 || real != INFINITY;
    case TERM_GREATER_EQUAL: *minimum = side < 0 ? nextafter(real, INFINITY) : real; return true;
    default: *minimum = *maximum = real; return side == 0;
  }
}

/* What a comparison of a number with something that is no number gives, for every number alike: texts and blobs come
** after all numbers. */
static enum filter_kind against_text(enum term_operator operator) {
  switch (operator) {
    case TERM_LESS:
    case TERM_LESS_EQUAL:
    case TERM_NOT_EQUAL:
    case TERM_IS_NOT: return FILTER_NOT_NULL;
    default: return FILTER_NOTHING;
  }
}

static void prepare_integer(struct filter *filter, sqlite3_value *value) {
  enum term_operator operator = (enum term_operator)filter->operator;
  int type = sqlite3_value_numeric_type(value);
  bool is_found, is_negation = operator == TERM_NOT_EQUAL || operator == TERM_IS_NOT;
  if (type == SQLITE_INTEGER) {
    is_found = interval_for_integer(operator, sqlite3_value_int64(value), &filter->minimum, &filter->maximum);
  } else if (type == SQLITE_FLOAT) {
    is_found = interval_for_real(operator, sqlite3_value_double(value), &filter->minimum, &filter->maximum);
  } else {
    filter->kind = (uint8_t)against_text(operator);
    return;
  }
  if (is_negation) {
    filter->kind = is_found ? FILTER_INTEGER_NOT : FILTER_NOT_NULL;
  } else {
    filter->kind = is_found ? FILTER_INTEGER_RANGE : FILTER_NOTHING;
  }
}

static void prepare_real(struct filter *filter, sqlite3_value *value) {
  enum term_operator operator = (enum term_operator)filter->operator;
  int type = sqlite3_value_numeric_type(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    filter->kind = (uint8_t)against_text(operator);
    return;
  }
  bool is_found = real_interval(operator, value, &filter->real_minimum, &filter->real_maximum);
  if (operator == TERM_NOT_EQUAL || operator == TERM_IS_NOT) {
    filter->kind = is_found ? FILTER_REAL_NOT : FILTER_NOT_NULL;
  } else {
    filter->kind = is_found ? FILTER_REAL_RANGE : FILTER_NOTHING;
  }
}

/* ---- sets of numbers ---- */

/* Each row is looked up: the numbers themselves lie in the places, and nothing else (base/hash_index.h has numbers of
** items). */

static size_t place_of_integer(int64_t value, size_t mask) {
  return (size_t)((uint64_t)value * HASH_FACTOR_1 >> 20) & mask;
}

static int build_places(struct filter *filter) {
  size_t count = 16;
  while (count < filter->integer_count * 2) count *= 2;
  if (count > filter->place_count) {
    free(filter->places);
    filter->place_count = 0;
    filter->places = malloc(count * sizeof *filter->places);
    if (!filter->places) return SQLITE_NOMEM;
    filter->place_count = count;
  }
  size_t mask = filter->place_count - 1;
  for (size_t i = 0; i <= mask; i++) filter->places[i] = INT64_MIN;
  filter->has_minimum_integer = false;
  for (size_t i = 0; i < filter->integer_count; i++) {
    int64_t value = filter->integers[i];
    if (value == INT64_MIN) filter->has_minimum_integer = true;
    size_t place = place_of_integer(value, mask);
    while (filter->places[place] != INT64_MIN && filter->places[place] != value) place = (place + 1) & mask;
    filter->places[place] = value;
  }
  return SQLITE_OK;
}

bool filter_set_has(const struct filter *filter, int64_t value) {
  if (value == INT64_MIN) return filter->has_minimum_integer;
  size_t mask = filter->place_count - 1, place = place_of_integer(value, mask);
  while (filter->places[place] != INT64_MIN) {
    if (filter->places[place] == value) return true;
    place = (place + 1) & mask;
  }
  return false;
}

bool filter_reals_have(const struct filter *filter, double value) {
  for (size_t i = 0; i < filter->real_count; i++) {
    if (filter->reals[i] == value) return true;
  }
  return false;
}

static int add_number(struct filter *filter, bool is_real, sqlite3_value *value) {
  int type = sqlite3_value_numeric_type(value);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return SQLITE_OK; /* equals no number */
  if (is_real) {
    double minimum, maximum;
    if (!real_interval(TERM_EQUAL, value, &minimum, &maximum)) return SQLITE_OK;
    if (!array_room(filter->reals, filter->real_count, filter->real_capacity)) return SQLITE_NOMEM;
    filter->reals[filter->real_count++] = minimum;
    return SQLITE_OK;
  }
  int64_t minimum, maximum;
  bool is_found = type == SQLITE_INTEGER
                      ? interval_for_integer(TERM_EQUAL, sqlite3_value_int64(value), &minimum, &maximum)
                      : interval_for_real(TERM_EQUAL, sqlite3_value_double(value), &minimum, &maximum);
  if (!is_found) return SQLITE_OK;
  if (!array_room(filter->integers, filter->integer_count, filter->integer_capacity)) return SQLITE_NOMEM;
  filter->integers[filter->integer_count++] = minimum;
  return SQLITE_OK;
}

/* ---- texts ---- */

static int add_text(struct text_list *list, sqlite3_value *value) {
  const char *text = (const char *)sqlite3_value_text(value);
  size_t length = (size_t)sqlite3_value_bytes(value);
  if (!text || !array_reserve(list->bytes, list->capacity, list->used + length + 1) ||
      !array_room(list->items, list->count, list->item_capacity)) {
    return SQLITE_NOMEM;
  }
  memcpy(list->bytes + list->used, text, length + 1);
  list->items[list->count++] = (struct text_item){list->used, (uint32_t)length};
  list->used += length + 1;
  return SQLITE_OK;
}

static void empty_texts(struct text_list *list) {
  list->used = 0;
  list->count = 0;
}

/* As SQLite's BINARY collation. */
static int compare_text(const char *left, size_t left_length, const char *right, size_t right_length) {
  int order = memcmp(left, right, left_length < right_length ? left_length : right_length);
  if (order) return order;
  return (left_length > right_length) - (left_length < right_length);
}

string_id filter_find_text(struct filter *filter) {
  if (pool_count(filter->pool) == filter->pool_count_seen) return 0;
  filter->pool_count_seen = pool_count(filter->pool);
  filter->text =
      pool_find(filter->pool, filter->texts.bytes + filter->texts.items[0].offset, filter->texts.items[0].length);
  return filter->text;
}

/* By length first: most texts then differ without a look at their bytes. */
static int compare_items(const void *left_pointer, const void *right_pointer, void *bytes) {
  const struct text_item *left = left_pointer, *right = right_pointer;
  if (left->length != right->length) return left->length < right->length ? -1 : 1;
  return memcmp((const char *)bytes + left->offset, (const char *)bytes + right->offset, left->length);
}

static bool is_in_texts(const struct filter *filter, const char *text, uint32_t length) {
  size_t low = 0, high = filter->texts.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct text_item *item = &filter->texts.items[middle];
    int order = item->length != length ? (item->length < length ? -1 : 1)
                                       : memcmp(filter->texts.bytes + item->offset, text, length);
    if (order == 0) return true;
    if (order < 0) low = middle + 1; else high = middle;
  }
  return false;
}

static bool is_in_range(const struct filter *filter, const char *text, uint32_t length) {
  const struct text_item *item = &filter->texts.items[0];
  int order = compare_text(text, length, filter->texts.bytes + item->offset, item->length);
  switch ((enum term_operator)filter->operator) {
    case TERM_LESS: return order < 0;
    case TERM_LESS_EQUAL: return order <= 0;
    case TERM_GREATER: return order > 0;
    default: return order >= 0;
  }
}

/* Asks the connection's own function, which may be another than SQLite's; -1: it failed. */
static int ask_function(struct filter *filter, sqlite3 *db, string_id id) {
  static const char *const questions[] = {"SELECT (?2 LIKE ?1) IS TRUE", "SELECT (?2 GLOB ?1) IS TRUE",
                                          "SELECT (?2 REGEXP ?1) IS TRUE"};
  const char *question = questions[filter->operator - TERM_LIKE];
  if (!filter->statement) {
    if (sqlite3_prepare_v2(db, question, -1, &filter->statement, NULL)) return -1;
    if (sqlite3_bind_value(filter->statement, 1, filter->pattern)) return -1;
  }
  /* Told the length, SQLite copies the text once more, to end it with a NUL. */
  int length = pool_has_nul(filter->pool, id) ? (int)pool_length(filter->pool, id) : -1;
  if (sqlite3_bind_text(filter->statement, 2, pool_text(filter->pool, id), length, SQLITE_STATIC)) return -1;
  int answer = sqlite3_step(filter->statement) == SQLITE_ROW ? sqlite3_column_int(filter->statement, 0) : -1;
  return sqlite3_reset(filter->statement) ? -1 : answer;
}

int filter_memo_answer(struct filter *filter, sqlite3 *db, string_id id) {
  bool is_new = id >= filter->memo_size;
  if (is_new && !array_extend(filter->memo, filter->memo_size, pool_count(filter->pool) + 1)) return -1;
  const char *text = pool_text(filter->pool, id);
  uint32_t length = pool_length(filter->pool, id);
  int answer;
  if (filter->operator == TERM_IN) {
    answer = is_in_texts(filter, text, length);
  } else if (filter->operator < TERM_LIKE) {
    answer = is_in_range(filter, text, length);
  } else {
    answer = ask_function(filter, db, id);
  }
  if (answer >= 0) filter->memo[id] = (uint8_t)(answer + 1);
  return answer;
}

static void forget_answers(struct filter *filter) {
  if (filter->memo_size) memset(filter->memo, 0, filter->memo_size);
}

static bool same_pattern(sqlite3_value *left, sqlite3_value *right) {
  if (!left || sqlite3_value_type(left) != SQLITE_TEXT || sqlite3_value_type(right) != SQLITE_TEXT) return false;
  int length = sqlite3_value_bytes(left);
  return length == sqlite3_value_bytes(right) &&
         memcmp(sqlite3_value_text(left), sqlite3_value_text(right), (size_t)length) == 0;
}

static int prepare_pattern(struct filter *filter, sqlite3_value *value) {
  filter->kind = FILTER_TEXT_MEMO;
  if (same_pattern(filter->pattern, value)) return SQLITE_OK; /* the answers still hold */
  sqlite3_value_free(filter->pattern);
  filter->pattern = sqlite3_value_dup(value);
  if (!filter->pattern) return SQLITE_NOMEM;
  forget_answers(filter);
  return filter->statement ? sqlite3_bind_value(filter->statement, 1, filter->pattern) : SQLITE_OK;
}

/* Whether the value is the text that the filter has found in the pool. */
static bool is_text_of_pool(const struct filter *filter, sqlite3_value *value) {
  if (!filter->text) return false;
  const unsigned char *text = sqlite3_value_text(value);
  int length = sqlite3_value_bytes(value);
  return text && length == (int)pool_length(filter->pool, filter->text) &&
         memcmp(text, pool_text(filter->pool, filter->text), (size_t)length) == 0;
}

static int prepare_text(struct filter *filter, sqlite3_value *value) {
  enum term_operator operator = (enum term_operator)filter->operator;
  bool is_negation = operator == TERM_NOT_EQUAL || operator == TERM_IS_NOT;
  int type = sqlite3_value_type(value);
  if (operator >= TERM_LIKE) return prepare_pattern(filter, value);
  filter->kind = FILTER_EVERYTHING; /* how a text compares with a number depends on where that comes from */
  if (type != SQLITE_TEXT) return SQLITE_OK;
  if (operator == TERM_EQUAL || operator == TERM_IS || is_negation) {
    filter->kind = is_negation ? FILTER_TEXT_NOT : FILTER_TEXT_EQUAL;
    /* In the inner loop of a join it often is the same one again. */
    if (is_text_of_pool(filter, value)) return SQLITE_OK;
    filter->text = 0;
    filter->pool_count_seen = UINT32_MAX;
  }
  empty_texts(&filter->texts);
  if (add_text(&filter->texts, value)) return SQLITE_NOMEM;
  if (filter->kind == FILTER_EVERYTHING) {
    filter->kind = FILTER_TEXT_MEMO;
    forget_answers(filter);
  }
  return SQLITE_OK;
}

/* ---- IN ---- */

static int prepare_in(struct filter *filter, const struct table_spec *spec, sqlite3_value *values) {
  bool is_text = column_is_text(spec, filter->column), is_real = column_is_real(spec, filter->column);
  sqlite3_value *value;
  int result;
  filter->integer_count = filter->real_count = 0;
  empty_texts(&filter->texts);
  filter->kind = is_text ? FILTER_TEXT_MEMO : is_real ? FILTER_REAL_SET : FILTER_INTEGER_SET;
  for (result = sqlite3_vtab_in_first(values, &value); result == SQLITE_OK && value;
       result = sqlite3_vtab_in_next(values, &value)) {
    int type = sqlite3_value_type(value), added = SQLITE_OK;
    if (!is_text) {
      added = add_number(filter, is_real, value);
    } else if (type == SQLITE_TEXT) {
      added = add_text(&filter->texts, value);
    } else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
      filter->kind = FILTER_EVERYTHING;
    }
    if (added) return added;
  }
  if (result != SQLITE_OK && result != SQLITE_DONE) return result;
  bool is_empty = !filter->integer_count && !filter->real_count && !filter->texts.count;
  if (is_empty && filter->kind != FILTER_EVERYTHING) filter->kind = FILTER_NOTHING;
  if (filter->kind == FILTER_INTEGER_SET) return build_places(filter);
  if (!is_text) return SQLITE_OK;
  forget_answers(filter);
  if (filter->texts.count > 1)
    qsort_r(filter->texts.items, filter->texts.count, sizeof *filter->texts.items, compare_items, filter->texts.bytes);
  return SQLITE_OK;
}

int filter_prepare(struct filter *filter, const struct table_spec *spec, const struct plan_term *term,
                   sqlite3_value *value, struct pool *pool) {
  filter->operator = term->operator;
  filter->column = term->column;
  if (filter->pool != pool) filter->text = 0;
  filter->pool = pool;
  filter->null_matches = false;
  enum term_operator operator = (enum term_operator)term->operator;
  if (operator == TERM_NULL || operator == TERM_NOT_NULL) {
    filter->kind = operator == TERM_NULL ? FILTER_NULL : FILTER_NOT_NULL;
    return SQLITE_OK;
  }
  if (operator == TERM_IN) return prepare_in(filter, spec, value);
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    filter->kind = operator == TERM_IS ? FILTER_NULL : operator == TERM_IS_NOT ? FILTER_NOT_NULL : FILTER_NOTHING;
    return SQLITE_OK;
  }
  filter->null_matches = operator == TERM_IS_NOT;
  if (column_is_text(spec, term->column)) return prepare_text(filter, value);
  if (column_is_real(spec, term->column)) {
    prepare_real(filter, value);
  } else {
    prepare_integer(filter, value);
  }
  return SQLITE_OK;
}

void filter_clear(struct filter *filter) {
  free(filter->integers);
  free(filter->places);
  free(filter->reals);
  free(filter->texts.bytes);
  free(filter->texts.items);
  free(filter->memo);
  sqlite3_value_free(filter->pattern);
  sqlite3_finalize(filter->statement);
  *filter = (struct filter){0};
}
