/* lookup.c: finding the rows with a value, or in a range of values, in the order of a column.
**
** The order is searched by halving.  From the SEARCHES_BEFORE_BUCKETS-th lookup on an array says where in it the
** rows of each value key begin, or of each 2, 4, 8 ... keys where they lie far apart, so that a lookup is two loads,
** or these and a short search.
*/
#include "store/keys.h"

#include <math.h>
#include <stdlib.h>

enum { SEARCHES_BEFORE_BUCKETS = 8 };

struct slice {
  uint64_t begin, end; /* of order->positions */
};

static struct value value_at(const struct snapshot *snapshot, const struct order *order, unsigned column, uint64_t at) {
  size_t hint = 0;
  uint32_t row;
  const struct segment *segment = snapshot_segment(snapshot, order->positions[at], &hint, &row);
  return segment_value(segment, column, row);
}

/* An integer as a double compares with it: below, at or above. */
static int compare_real(double real, int64_t integer) {
  if (!(real >= -9223372036854775808.0)) return -1; /* also what is no number, as in SQLite */
  if (real >= 9223372036854775808.0) return 1;
  int64_t whole = (int64_t)real; /* towards zero */
  if (whole != integer) return whole < integer ? -1 : 1;
  double rest = real - (double)whole;
  return (rest > 0) - (rest < 0);
}

/* Both are numbers. */
static int compare_values(struct value left, struct value right) {
  if (left.kind == VALUE_REAL && right.kind == VALUE_REAL) return (left.real > right.real) - (left.real < right.real);
  if (left.kind == VALUE_REAL) return compare_real(left.real, right.integer);
  if (right.kind == VALUE_REAL) return -compare_real(right.real, left.integer);
  return (left.integer > right.integer) - (left.integer < right.integer);
}

/* The first place within a slice whose value is not below `value`, or is above it. */
static uint64_t search(const struct snapshot *snapshot, const struct order *order, unsigned column, struct slice slice,
                       struct value value, bool is_above) {
  uint64_t low = slice.begin, high = slice.end;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int comparison = compare_values(value_at(snapshot, order, column, middle), value);
    if (comparison < 0 || (is_above && comparison == 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The rows equal to `value` within a slice. */
static struct slice search_equal(const struct snapshot *snapshot, const struct order *order, unsigned column,
                                 struct slice slice, struct value value) {
  slice.begin = search(snapshot, order, column, slice, value, false);
  slice.end = search(snapshot, order, column, slice, value, true);
  return slice;
}

static bool is_text_column(const struct snapshot *snapshot, unsigned column) {
  uint8_t type = schema_tables[snapshot->table].columns[column].type;
  return type == TYPE_TEXT || type == TYPE_JSON;
}

/* ---- buckets ---- */

static void fill_starts(const struct snapshot *snapshot, struct order *order, const struct keys *keys) {
  uint32_t *starts = order->starts, sum = (uint32_t)order->null_count;
  for (uint64_t position = 0; position < snapshot->rows; position++) {
    if (!keys_is_null(keys, position)) starts[keys_at(keys, position) >> order->shift]++;
  }
  for (uint64_t bucket = 0; bucket <= order->bucket_count; bucket++) {
    uint32_t count = bucket < order->bucket_count ? starts[bucket] : 0;
    starts[bucket] = sum;
    sum += count;
  }
}

static enum tfprof_status make_buckets(struct snapshot *snapshot, unsigned column, struct order *order,
                                       struct tfprof_error *error) {
  struct keys keys;
  uint64_t limit = 2 * snapshot->rows + 1024;
  if (order->space.kind == KEY_REFERENCE) limit = 16 * snapshot->rows + (1 << 20); /* joins go through these */
  order->shift = 0;
  while (order->space.range >> order->shift >= limit) order->shift++;
  order->bucket_count = (order->space.range >> order->shift) + 1;
  uint32_t *starts = calloc(order->bucket_count + 1, sizeof *starts);
  if (!starts) return error_no_memory(error);
  enum tfprof_status status = keys_build(snapshot, column, &keys, error);
  if (status) {
    free(starts);
    return status;
  }
  order->starts = starts;
  fill_starts(snapshot, order, &keys);
  keys_clear(&keys);
  return TFPROF_OK;
}

/* The value key of a value; false: no row has it. */
static bool key_of_value(const struct snapshot *snapshot, const struct order *order, struct value value,
                         uint64_t *key) {
  const struct key_space *space = &order->space;
  const struct snapshot_private *state = snapshot->private_state;
  int64_t number = value.integer;
  switch (space->kind) {
    case KEY_TEXT: {
      size_t place = (size_t)value.text - space->first_id;
      if (value.kind != VALUE_TEXT || value.text < space->first_id || place >= space->dense_count) return false;
      *key = (uint64_t)space->dense[place] - 1;
      return space->dense[place] != 0;
    }
    case KEY_REFERENCE: {
      const struct snapshot_group *group = snapshot_find_group(snapshot, id_profile(number));
      if (value.kind != VALUE_INTEGER || !group) return false;
      size_t index = (size_t)(group - state->groups);
      *key = space->group_base[index] + id_row(number);
      return *key < space->group_base[index + 1];
    }
    case KEY_REAL:
      if (value.kind == VALUE_INTEGER) {
        value.real = (double)number;
        if (compare_real(value.real, number) != 0) return false; /* between two doubles */
      }
      number = sortable_bits(value.real);
      break;
    case KEY_INTEGER:
      if (value.kind != VALUE_INTEGER) return false;
      break;
    case KEY_ASCENDING: return false;
  }
  *key = (uint64_t)number - (uint64_t)space->minimum;
  return number >= space->minimum && *key <= space->range;
}

/* ---- equal ---- */

/* A whole number told as a real is that whole number. */
static struct value simplify(struct value value) {
  if (value.kind != VALUE_REAL || compare_real(value.real, INT64_MIN) < 0 || compare_real(value.real, INT64_MAX) > 0) {
    return value;
  }
  if (trunc(value.real) != value.real) return value;
  return (struct value){.kind = VALUE_INTEGER, .integer = (int64_t)value.real};
}

static struct slice find_equal(const struct snapshot *snapshot, const struct order *order, unsigned column,
                               struct value value) {
  const struct slice nothing = {0, 0};
  struct slice slice = {order->null_count, snapshot->rows};
  if (value.kind == VALUE_NULL) return (struct slice){0, order->null_count};
  if ((value.kind == VALUE_TEXT) != is_text_column(snapshot, column)) return nothing;
  if (value.kind == VALUE_REAL && value.real != value.real) return nothing;
  if (order->space.kind == KEY_ASCENDING) {
    if (column != 0) return search_equal(snapshot, order, column, slice, value);
    int64_t position = value.kind == VALUE_INTEGER ? snapshot_find_id(snapshot, value.integer) : -1;
    return position < 0 ? nothing : (struct slice){(uint64_t)position, (uint64_t)position + 1};
  }
  uint64_t key;
  if (order->space.is_empty || !key_of_value(snapshot, order, value, &key)) return nothing;
  if (!order->starts) return search_equal(snapshot, order, column, slice, value);
  slice.begin = order->starts[key >> order->shift];
  slice.end = order->starts[(key >> order->shift) + 1];
  return order->shift ? search_equal(snapshot, order, column, slice, value) : slice;
}

enum tfprof_status snapshot_equal(struct snapshot *snapshot, unsigned column, struct value value,
                                  const uint32_t **positions, uint64_t *count, struct tfprof_error *error) {
  struct order *order;
  enum tfprof_status status = order_of_column(snapshot, column, &order, error);
  if (status) return status;
  bool can_search = order->space.kind != KEY_TEXT, is_indexed = order->starts || order->space.kind == KEY_ASCENDING;
  if (!is_indexed && !order->space.is_empty && (!can_search || ++order->searches > SEARCHES_BEFORE_BUCKETS)) {
    status = make_buckets(snapshot, column, order, error);
    if (status) return status;
  }
  struct slice slice = find_equal(snapshot, order, column, simplify(value));
  *positions = order->positions + slice.begin;
  *count = slice.end - slice.begin;
  return TFPROF_OK;
}

enum tfprof_status snapshot_range(struct snapshot *snapshot, unsigned column, int64_t minimum, int64_t maximum,
                                  const uint32_t **positions, uint64_t *count, struct tfprof_error *error) {
  struct order *order;
  struct slice slice = {0, 0};
  enum tfprof_status status = order_of_column(snapshot, column, &order, error);
  if (status) return status;
  if (minimum <= maximum && !is_text_column(snapshot, column)) {
    const struct value first = {.kind = VALUE_INTEGER, .integer = minimum};
    const struct value last = {.kind = VALUE_INTEGER, .integer = maximum};
    slice = (struct slice){order->null_count, snapshot->rows};
    slice.begin = search(snapshot, order, column, slice, first, false);
    slice.end = search(snapshot, order, column, slice, last, true);
  }
  *positions = order->positions + slice.begin;
  *count = slice.end - slice.begin;
  return TFPROF_OK;
}
