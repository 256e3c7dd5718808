/* lookup.c: finding the rows with a value, or in a range of values, in the order of a column.
**
** Where the keys of a column are few, order->starts says where each begins and a lookup is two loads.  Elsewhere the order
** is searched by halving.
*/
#include "store/private.h"

#include <math.h>

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
  if (real < -9223372036854775808.0) return -1;
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

/* The first place, NULLs left out, whose value is not below `value`, or above it. */
static uint64_t search(const struct snapshot *snapshot, const struct order *order, unsigned column, struct value value,
                       bool is_above) {
  uint64_t low = order->null_count, high = snapshot->rows;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int comparison = compare_values(value_at(snapshot, order, column, middle), value);
    if (comparison < 0 || (is_above && comparison == 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

static bool is_text_column(const struct snapshot *snapshot, unsigned column) {
  uint8_t type = schema_tables[snapshot->table].columns[column].type;
  return type == TYPE_TEXT || type == TYPE_JSON;
}

/* The key of a value that is not NULL; 0: no row has it. Only for orders with starts. */
static uint64_t key_of_value(const struct snapshot *snapshot, const struct order *order, struct value value) {
  const struct key_space *space = &order->space;
  if (space->kind == KEY_TEXT) {
    if (value.kind != VALUE_TEXT) return 0;
    size_t place = (size_t)value.text - space->first_id;
    return value.text >= space->first_id && place < space->dense_count ? space->dense[place] : 0;
  }
  if (value.kind != VALUE_INTEGER) return 0;
  if (space->kind == KEY_REFERENCE) {
    const struct snapshot_private *state = snapshot->private_state;
    const struct snapshot_group *group = snapshot_find_group(snapshot, id_profile(value.integer));
    if (!group) return 0;
    size_t number = (size_t)(group - state->groups);
    uint64_t row = id_row(value.integer), rows = space->group_base[number + 1] - space->group_base[number];
    return row < rows ? space->group_base[number] + row + 1 : 0;
  }
  if (value.integer < space->minimum) return 0;
  uint64_t key = (uint64_t)value.integer - (uint64_t)space->minimum;
  return key < space->size - 1 ? key + 1 : 0;
}

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
  if (value.kind == VALUE_NULL) return (struct slice){0, order->null_count};
  value = simplify(value);
  if (order->starts) {
    uint64_t key = key_of_value(snapshot, order, value);
    return key ? (struct slice){order->starts[key], order->starts[key + 1]} : nothing;
  }
  if (value.kind == VALUE_TEXT || is_text_column(snapshot, column)) return nothing;
  if (value.kind == VALUE_REAL && value.real != value.real) return nothing;
  uint64_t begin = search(snapshot, order, column, value, false);
  return (struct slice){begin, search(snapshot, order, column, value, true)};
}

enum tfprof_status snapshot_equal(struct snapshot *snapshot, unsigned column, struct value value,
                                  const uint32_t **positions, uint64_t *count, struct tfprof_error *error) {
  const struct order *order;
  enum tfprof_status status = order_of_column(snapshot, column, &order, error);
  if (status) return status;
  struct slice slice = find_equal(snapshot, order, column, value);
  *positions = order->positions + slice.begin;
  *count = slice.end - slice.begin;
  return TFPROF_OK;
}

enum tfprof_status snapshot_range(struct snapshot *snapshot, unsigned column, int64_t minimum, int64_t maximum,
                                  const uint32_t **positions, uint64_t *count, struct tfprof_error *error) {
  const struct order *order;
  struct slice slice = {0, 0};
  enum tfprof_status status = order_of_column(snapshot, column, &order, error);
  if (status) return status;
  if (minimum <= maximum && !is_text_column(snapshot, column)) {
    slice.begin = search(snapshot, order, column, (struct value){.kind = VALUE_INTEGER, .integer = minimum}, false);
    slice.end = search(snapshot, order, column, (struct value){.kind = VALUE_INTEGER, .integer = maximum}, true);
  }
  *positions = order->positions + slice.begin;
  *count = slice.end - slice.begin;
  return TFPROF_OK;
}

/* ---- for query plans ---- */

static uint64_t at_most(uint64_t value, uint64_t limit) { return value < limit ? value : limit; }

uint64_t snapshot_estimate_distinct(const struct snapshot *snapshot, unsigned column) {
  const struct column_spec *spec = &schema_tables[snapshot->table].columns[column];
  const struct order *order = snapshot->indexes ? snapshot->indexes->single[column] : NULL;
  uint64_t rows = snapshot->rows;
  if (rows == 0) return 0;
  if (column == 0) return rows;
  if (column == 1) return snapshot->private_state->group_count;
  if (order && order->distinct) return order->distinct;
  switch ((enum column_type)spec->type) {
  case TYPE_BOOLEAN: return at_most(2, rows);
  case TYPE_TEXT:
  case TYPE_JSON: return at_most(pool_count(store_pool(snapshot->store)) + 1, rows);
  case TYPE_TIME: return rows;
  case TYPE_REFERENCE: return at_most(store_estimate_rows(snapshot->store, spec->target) + 1, rows);
  case TYPE_INTEGER:
  case TYPE_REAL:
  case TYPE_DURATION: break;
  }
  return rows / 10 + 1;
}
