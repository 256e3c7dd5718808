/* order.c: permutations: the positions of a snapshot in the order of one or more columns.
**
** Each column becomes an array of integer keys that sort as its values do (keys.c), and the positions are sorted by
** these: by counting where the keys are few (names, references, enums), else by radix, with as many digits as the
** keys need. Both are stable, so that several columns are sorted from the last to the first.  Times, which come
** nearly sorted, take one pass by their highest digits and are put right within these.
*/
#include "store/keys.h"

#include <stdlib.h>

enum {
  DIGIT_BITS = 11,
  DIGITS = 1 << DIGIT_BITS,
  PART_BITS = 14,      /* of sort_by_parts: at most so many parts */
  PART_ROWS = 1 << 12, /* in none of them more rows than this */
  RUN_ROWS = 16,
};

/* ---- sorting ---- */

/* What a sort works on. `from` NULL: positions are in their own order. */
struct sort {
  struct store *store;
  const struct keys *keys;
  uint32_t count;
  const uint32_t *from;
  uint32_t *to;
};

static uint32_t position_at(const struct sort *sort, uint32_t i) { return sort->from ? sort->from[i] : i; }

static bool sort_by_counting(const struct sort *sort, uint32_t *starts, uint64_t size) {
  const uint32_t *keys = sort->keys->narrow;
  memset(starts, 0, size * sizeof *starts);
  for (uint32_t i = 0; i < sort->count; i++) {
    if (interrupted_at(sort->store, i)) return false;
    starts[keys[i]]++;
  }
  uint32_t sum = 0;
  for (uint64_t key = 0; key < size; key++) {
    uint32_t count = starts[key];
    starts[key] = sum;
    sum += count;
  }
  for (uint32_t i = 0; i < sort->count; i++) {
    if (interrupted_at(sort->store, i)) return false;
    uint32_t position = position_at(sort, i);
    sort->to[starts[keys[position]]++] = position;
  }
  return true;
}

static uint64_t key_at(const struct keys *keys, uint32_t position) {
  return keys->wide ? keys->wide[position] : keys->narrow[position];
}

static unsigned digit_at(const struct keys *keys, uint32_t position, unsigned shift) {
  return (unsigned)(key_at(keys, position) >> shift) & (DIGITS - 1);
}

/* One stable pass by one digit. *is_needless: all have the same digit and nothing was written. */
static bool sort_by_digit(const struct sort *sort, unsigned shift, bool *is_needless) {
  uint32_t starts[DIGITS] = {0};
  for (uint32_t i = 0; i < sort->count; i++) {
    if (interrupted_at(sort->store, i)) return false;
    starts[digit_at(sort->keys, i, shift)]++;
  }
  uint32_t sum = 0;
  *is_needless = false;
  for (unsigned digit = 0; digit < DIGITS; digit++) {
    uint32_t count = starts[digit];
    if (count == sort->count) *is_needless = true;
    starts[digit] = sum;
    sum += count;
  }
  if (*is_needless) return true;
  for (uint32_t i = 0; i < sort->count; i++) {
    if (interrupted_at(sort->store, i)) return false;
    uint32_t position = position_at(sort, i);
    sort->to[starts[digit_at(sort->keys, position, shift)]++] = position;
  }
  return true;
}

struct pair {
  uint64_t key;
  uint32_t position;
};

static void sort_run(struct pair *pairs, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    struct pair pair = pairs[i];
    uint32_t at = i;
    for (; at > 0 && pairs[at - 1].key > pair.key; at--) pairs[at] = pairs[at - 1];
    pairs[at] = pair;
  }
}

/* Merge sort; runs that follow each other as they should are not touched. Returns the array with the result. */
static struct pair *sort_pairs(struct pair *pairs, struct pair *other, uint32_t count) {
  for (uint32_t begin = 0; begin < count; begin += RUN_ROWS) {
    sort_run(pairs + begin, count - begin < RUN_ROWS ? count - begin : RUN_ROWS);
  }
  for (uint32_t width = RUN_ROWS; width < count; width *= 2) {
    for (uint32_t begin = 0; begin < count; begin += 2 * width) {
      uint32_t middle = begin + width < count ? begin + width : count;
      uint32_t end = begin + 2 * width < count ? begin + 2 * width : count, left = begin, right = middle, to = begin;
      if (middle == end || pairs[middle - 1].key <= pairs[middle].key) left = middle; /* only to be copied */
      if (left == middle) memcpy(other + begin, pairs + begin, (middle - begin) * sizeof *pairs);
      if (left == middle) to = middle;
      while (left < middle && right < end)
        other[to++] = pairs[right].key < pairs[left].key ? pairs[right++] : pairs[left++];
      while (left < middle) other[to++] = pairs[left++];
      while (right < end) other[to++] = pairs[right++];
    }
    struct pair *swap = pairs;
    pairs = other;
    other = swap;
  }
  return pairs;
}

/* Sorts by the highest digits into parts of PART_ROWS at most, and these by merging. False: interrupted, or *is_unfit,
** where too many rows have the same digits; sort->to is then undefined. */
static bool sort_by_parts(const struct sort *sort, unsigned shift, struct pair *pairs, uint32_t *starts,
                          bool *is_unfit) {
  const uint32_t parts = 1u << PART_BITS;
  memset(starts, 0, (parts + 1) * sizeof *starts);
  *is_unfit = false;
  for (uint32_t i = 0; i < sort->count; i++) {
    if (interrupted_at(sort->store, i)) return false;
    uint32_t *count = &starts[key_at(sort->keys, i) >> shift];
    if (++*count > PART_ROWS) {
      *is_unfit = true;
      return false;
    }
  }
  uint32_t sum = 0;
  for (uint32_t part = 0; part <= parts; part++) {
    uint32_t count = starts[part];
    starts[part] = sum;
    sum += count;
  }
  for (uint32_t i = 0; i < sort->count; i++) {
    if (interrupted_at(sort->store, i)) return false;
    uint32_t position = position_at(sort, i);
    sort->to[starts[key_at(sort->keys, position) >> shift]++] = position;
  }
  for (uint32_t part = 0, begin = 0; part < parts; part++) {
    uint32_t count = starts[part] - begin; /* it has moved on to the next part */
    for (uint32_t i = 0; i < count; i++) {
      uint32_t position = sort->to[begin + i];
      pairs[i] = (struct pair){key_at(sort->keys, position), position};
    }
    const struct pair *sorted = sort_pairs(pairs, pairs + PART_ROWS, count);
    for (uint32_t i = 0; i < count; i++) sort->to[begin + i] = sorted[i].position;
    begin += count;
    if (part % 256 == 0 && store_interrupted(sort->store)) return false;
  }
  return true;
}

/* NULLs to the front, where keys do not tell them apart. */
static bool sort_nulls_first(const struct sort *sort) {
  uint32_t nulls = 0, values = (uint32_t)sort->keys->space.null_count;
  for (uint32_t i = 0; i < sort->count; i++) {
    if (interrupted_at(sort->store, i)) return false;
    uint32_t position = position_at(sort, i);
    bool is_null = sort->keys->null_bits[position >> 6] >> (position & 63) & 1;
    sort->to[is_null ? nulls++ : values++] = position;
  }
  return true;
}

static void write_identity(uint32_t *positions, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) positions[i] = i;
}

/* sort_by_parts with its memory; without that the digits are sorted one by one, which needs none. */
static bool try_parts(const struct sort *sort, uint64_t largest, bool *is_unfit) {
  unsigned bits = 64 - (unsigned)__builtin_clzll(largest);
  struct pair *pairs = malloc(sizeof *pairs * 2 * PART_ROWS);
  uint32_t *starts = malloc((((size_t)1 << PART_BITS) + 1) * sizeof *starts);
  bool is_done = false;
  *is_unfit = !pairs || !starts;
  if (!*is_unfit) is_done = sort_by_parts(sort, bits - PART_BITS, pairs, starts, is_unfit);
  free(pairs);
  free(starts);
  return is_done;
}

/* Sorts the positions in `positions` (in their own order where is_fresh) in several passes, `other` being of the same
** size. */
static bool sort_by_radix(struct store *store, const struct keys *keys, uint32_t count, bool is_fresh,
                          uint32_t *positions, uint32_t *other) {
  uint64_t largest = keys->wide ? keys->space.range : keys_size(keys) - 1;
  struct sort sort = {.store = store,
                      .keys = keys,
                      .count = count,
                      .from = is_fresh ? NULL : positions,
                      .to = is_fresh ? positions : other};
  bool is_sorted = false;
  if (largest >> (2 * DIGIT_BITS)) { /* three passes or more */
    bool is_unfit;
    is_sorted = try_parts(&sort, largest, &is_unfit);
    if (!is_sorted && !is_unfit) return false;
    if (is_sorted) sort.from = sort.to;
  }
  for (unsigned shift = 0; shift < 64 && largest >> shift && !is_sorted; shift += DIGIT_BITS) {
    bool is_needless;
    if (sort.from == sort.to) sort.to = sort.to == positions ? other : positions;
    if (!sort_by_digit(&sort, shift, &is_needless)) return false;
    if (!is_needless) sort.from = sort.to;
  }
  if (keys->wide && keys->space.null_count) {
    if (sort.from == sort.to) sort.to = sort.to == positions ? other : positions;
    if (!sort_nulls_first(&sort)) return false;
    sort.from = sort.to;
  }
  if (!sort.from) write_identity(positions, count);
  else if (sort.from == other) memcpy(positions, other, (size_t)count * sizeof *positions);
  return true;
}

/* Sorts `positions`, in their own order where is_fresh, stably by one column. */
static enum tfprof_status sort_positions(struct store *store, const struct keys *keys, uint32_t count, bool is_fresh,
                                         uint32_t *positions, struct tfprof_error *error) {
  bool is_by_id = keys->space.kind == KEY_ASCENDING && !keys->narrow, is_done = true;
  if (is_by_id || (is_fresh && keys->is_ascending)) {
    write_identity(positions, count);
    return TFPROF_OK;
  }
  bool has_few_keys = !keys->wide && keys_size(keys) <= 4 * (uint64_t)count + 65536;
  uint32_t *other = NULL;
  if (!is_fresh || !has_few_keys) {
    other = malloc(((size_t)count + 1) * sizeof *other);
    if (!other) return error_no_memory(error);
  }
  if (has_few_keys) {
    uint32_t *starts = malloc(keys_size(keys) * sizeof *starts);
    if (!starts) {
      free(other);
      return error_no_memory(error);
    }
    if (!is_fresh) memcpy(other, positions, (size_t)count * sizeof *other);
    struct sort sort = {store, keys, count, is_fresh ? NULL : other, positions};
    is_done = sort_by_counting(&sort, starts, keys_size(keys));
    free(starts);
  } else {
    is_done = sort_by_radix(store, keys, count, is_fresh, positions, other);
  }
  free(other);
  return is_done ? TFPROF_OK : error_interrupted(error);
}

/* ---- orders ---- */

static enum tfprof_status require_columns(struct snapshot *snapshot, const uint16_t *columns, unsigned count,
                                          struct tfprof_error *error) {
  struct column_set set = {{0, 0}};
  for (unsigned i = 0; i < count; i++) {
    if (columns[i] >= schema_tables[snapshot->table].column_count) {
      return error_set(error, TFPROF_USAGE, "table %s has no column %u", schema_tables[snapshot->table].name,
                       columns[i]);
    }
    column_set_add(&set, columns[i]);
  }
  return snapshot_require(snapshot, &set, error);
}

/* Fills order->positions, and what belongs to the order of a single column. */
static enum tfprof_status sort_order(struct snapshot *snapshot, struct order *order, struct tfprof_error *error) {
  uint32_t rows = (uint32_t)snapshot->rows;
  enum tfprof_status status = TFPROF_OK;
  bool is_single = order->column_count == 1, is_fresh = true;
  for (unsigned i = order->column_count; i-- > 0 && !status;) {
    struct keys keys;
    uint16_t column = order->columns[i];
    const struct order *known = snapshot->indexes->single[column];
    if (is_fresh && known) { /* sorted by the last column before */
      memcpy(order->positions, known->positions, (size_t)rows * sizeof *order->positions);
      is_fresh = false;
      continue;
    }
    status = keys_build(snapshot, column, &keys, error);
    if (status) break;
    status = sort_positions(snapshot->store, &keys, rows, is_fresh, order->positions, error);
    is_fresh = false;
    if (is_single && !status) {
      order->space = keys.space;
      keys.space = (struct key_space){0};
      order->null_count = order->space.null_count;
    }
    keys_clear(&keys);
  }
  return status;
}

static enum tfprof_status make_order(struct snapshot *snapshot, const uint16_t *columns, unsigned count,
                                     struct order **result, struct tfprof_error *error) {
  if (snapshot->rows > SNAPSHOT_MAXIMUM_INDEXED_ROWS) {
    return error_set(error, TFPROF_LIMIT, "table %s has more rows than can be sorted",
                     schema_tables[snapshot->table].name);
  }
  if (!snapshot->indexes) snapshot->indexes = calloc(1, sizeof *snapshot->indexes);
  struct order *order = calloc(1, sizeof *order);
  if (!order || !snapshot->indexes) {
    free(order);
    return error_no_memory(error);
  }
  memcpy(order->columns, columns, count * sizeof *columns);
  order->column_count = count;
  order->positions = malloc((snapshot->rows + 1) * sizeof *order->positions);
  enum tfprof_status status = order->positions ? sort_order(snapshot, order, error) : error_no_memory(error);
  if (status) {
    order_free(order);
    return status;
  }
  order->next = snapshot->indexes->orders;
  snapshot->indexes->orders = order;
  if (count == 1) snapshot->indexes->single[columns[0]] = order;
  *result = order;
  return TFPROF_OK;
}

enum tfprof_status order_of_column(struct snapshot *snapshot, unsigned column, struct order **order,
                                   struct tfprof_error *error) {
  uint16_t columns[1] = {(uint16_t)column};
  if (snapshot->indexes && column < SCHEMA_MAXIMUM_COLUMNS && snapshot->indexes->single[column]) {
    *order = snapshot->indexes->single[column];
    return TFPROF_OK;
  }
  enum tfprof_status status = require_columns(snapshot, columns, 1, error);
  return status ? status : make_order(snapshot, columns, 1, order, error);
}

enum tfprof_status snapshot_order(struct snapshot *snapshot, const uint16_t *columns, unsigned count,
                                  const uint32_t **positions, struct tfprof_error *error) {
  struct order *order = NULL;
  enum tfprof_status status = TFPROF_OK;
  if (count == 0 || count > ORDER_MAXIMUM_COLUMNS) {
    return error_set(error, TFPROF_USAGE, "rows are ordered by 1 to %d columns", ORDER_MAXIMUM_COLUMNS);
  }
  if (count == 1) {
    status = order_of_column(snapshot, columns[0], &order, error);
  } else {
    for (order = snapshot->indexes ? snapshot->indexes->orders : NULL; order; order = order->next) {
      if (order->column_count == count && memcmp(order->columns, columns, count * sizeof *columns) == 0) break;
    }
    if (!order) {
      status = require_columns(snapshot, columns, count, error);
      if (!status) status = make_order(snapshot, columns, count, &order, error);
    }
  }
  if (!status) *positions = order->positions;
  return status;
}
