/* match.c: see match.h. */
#include "derive/match.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

enum { ROWS_IN_BUCKET = 2, MOST_IN_BUCKET = 64 };

/* The highest bits of the product: numbers with equal gaps fall evenly between each other. */
static uint64_t place_of_key(const struct match *match, int64_t key) {
  return (uint64_t)key * HASH_FACTOR_1 >> match->shift;
}

uint32_t match_search(const struct match *match, int64_t key) {
  uint64_t offset = (uint64_t)key - (uint64_t)match->base, bucket = offset >> match->shift;
  uint64_t mask = UINT64_MAX >> match->shift;
  if (match->form == MATCH_BUCKETS && bucket < match->range) {
    for (uint32_t i = match->first_of_bucket[bucket]; i < match->first_of_bucket[bucket + 1]; i++) {
      if (match->entries[i].low == (uint32_t)offset) return match->entries[i].row;
    }
  }
  if (match->form != MATCH_TABLE) return NO_ROW;
  for (uint64_t at = place_of_key(match, key); match->slots[at].row; at = (at + 1) & mask) {
    if (match->slots[at].key == key) return match->slots[at].row - 1;
  }
  return NO_ROW;
}

void match_free(struct match *match) {
  scratch_free(match->rows);
  scratch_free(match->first_of_bucket);
  scratch_free(match->entries);
  scratch_free(match->slots);
  memset(match, 0, sizeof *match);
}

/* What a round over all rows does with each number. */
enum round { MEASURE, COUNT, PUT };

struct making {
  struct match *match;
  uint64_t count;
  int64_t minimum, maximum;
  uint32_t largest; /* bucket */
};

static void measure_keys(struct making *m, const int64_t *values, uint32_t rows) {
  for (uint32_t i = 0; i < rows; i++) {
    if (values[i] == NO_VALUE || values[i] == 0) continue;
    m->count++;
    m->minimum = values[i] < m->minimum ? values[i] : m->minimum;
    m->maximum = values[i] > m->maximum ? values[i] : m->maximum;
  }
}

/* How many rows each bucket has, two places beyond: see begin_buckets(). */
static void count_buckets(struct making *m, const int64_t *values, uint32_t rows) {
  const struct match *match = m->match;
  for (uint32_t i = 0; i < rows; i++) {
    if (values[i] == NO_VALUE || values[i] == 0) continue;
    uint32_t *count = &match->first_of_bucket[(((uint64_t)values[i] - (uint64_t)match->base) >> match->shift) + 2];
    if (++*count > m->largest) m->largest = *count;
  }
}

static void put_key(struct match *match, int64_t key, uint32_t row) {
  uint64_t offset = (uint64_t)key - (uint64_t)match->base;
  if (match->form == MATCH_ARRAY) {
    assert(offset < match->range);
    if (!match->rows[offset]) match->rows[offset] = row + 1;
  } else if (match->form == MATCH_BUCKETS) {
    match->entries[match->first_of_bucket[(offset >> match->shift) + 1]++] =
        (struct match_entry){(uint32_t)offset, row};
  } else {
    uint64_t at = place_of_key(match, key), mask = UINT64_MAX >> match->shift;
    for (; match->slots[at].row; at = (at + 1) & mask) {
      if (match->slots[at].key == key) return;
    }
    match->slots[at] = (struct match_slot){key, row + 1};
  }
}

static void each_row(struct making *m, const struct profile_table *content, unsigned column, enum round round) {
  int64_t values[ROWS_BLOCK];
  for (size_t s = 0; s < content->segment_count; s++) {
    const struct segment *segment = content->segments[s];
    if (segment->columns[column]->form == COLUMN_ABSENT) continue;
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t rows = derive_block_rows(segment, first);
      derive_integers(segment->columns[column], first, rows, values);
      if (round == MEASURE) measure_keys(m, values, rows);
      if (round == COUNT) count_buckets(m, values, rows);
      for (uint32_t i = 0; i < rows && round == PUT; i++) {
        if (values[i] == NO_VALUE || values[i] == 0) continue;
        put_key(m->match, values[i], (uint32_t)segment->first_row + first + i);
      }
    }
  }
}

static bool begin_array(struct match *match, uint64_t range) {
  match->form = MATCH_ARRAY;
  match->range = range;
  match->rows = scratch_allocate_zeroed((size_t)range, sizeof *match->rows);
  return match->rows;
}

/* Buckets of which each begins where the one before ends; first_of_bucket[bucket + 1] moves from there to the bucket's
** end while rows are put into it. MATCH_NOTHING stays where the numbers are too unevenly spread, or few buckets would
** hold numbers that differ in more than their low bits. */
static bool try_buckets(struct making *m, const struct profile_table *content, unsigned column) {
  struct match *match = m->match;
  uint64_t range = (uint64_t)m->maximum - (uint64_t)m->minimum;
  while (range >> match->shift >= m->count * ROWS_IN_BUCKET) match->shift++;
  if (match->shift > 32) return true;
  match->range = (range >> match->shift) + 1;
  match->first_of_bucket = scratch_allocate_zeroed((size_t)match->range + 2, sizeof *match->first_of_bucket);
  match->entries = scratch_allocate((size_t)m->count * sizeof *match->entries);
  if (!match->first_of_bucket || !match->entries) return false;
  each_row(m, content, column, COUNT);
  if (m->largest > MOST_IN_BUCKET) return true;
  for (uint64_t i = 2; i < match->range + 2; i++) match->first_of_bucket[i] += match->first_of_bucket[i - 1];
  match->form = MATCH_BUCKETS;
  return true;
}

static bool begin_table(struct match *match, uint64_t count) {
  uint64_t slots = 2;
  for (match->shift = 63; slots < count * 2; match->shift--) slots *= 2;
  match->form = MATCH_TABLE;
  match->slots = scratch_allocate_zeroed((size_t)slots, sizeof *match->slots);
  return match->slots;
}

enum tfprof_status match_make(struct match *match, const struct profile *profile, unsigned table, unsigned column,
                              struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[table];
  struct making m = {.match = match, .minimum = INT64_MAX, .maximum = INT64_MIN};
  uint32_t rows;
  memset(match, 0, sizeof *match);
  enum tfprof_status status = derive_row_count(profile, table, &rows, error);
  if (status) return status;
  each_row(&m, content, column, MEASURE);
  if (!m.count) return TFPROF_OK;
  match->base = m.minimum;
  uint64_t range = (uint64_t)m.maximum - (uint64_t)m.minimum + 1;
  bool is_made = range && range <= m.count * 8 + 1024 ? begin_array(match, range) : try_buckets(&m, content, column);
  if (is_made && match->form == MATCH_NOTHING) is_made = begin_table(match, m.count);
  if (!is_made) return error_no_memory(error);
  each_row(&m, content, column, PUT);
  return TFPROF_OK;
}

/* ---- spans ---- */

static inline bool in_order(const struct lane_span *a, const struct lane_span *b) {
  if (a->lane != b->lane) return a->lane < b->lane;
  if (a->start != b->start) return a->start < b->start;
  if (a->end != b->end) return a->end > b->end;
  return a->row < b->row;
}

static void merge(const struct lane_span *a, const struct lane_span *a_end, const struct lane_span *b,
                  const struct lane_span *b_end, struct lane_span *out) {
  while (a < a_end && b < b_end) *out++ = in_order(b, a) ? *b++ : *a++;
  memcpy(out, a, (size_t)(a_end - a) * sizeof *a);
  memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Where sorted runs end, ascending, into a list that grows; 0: no memory. Stops when there are more than `most`. */
static size_t find_runs(const struct lane_span *spans, size_t count, size_t most, size_t **ends) {
  size_t runs = 0, capacity = 64;
  *ends = scratch_allocate(capacity * sizeof **ends);
  for (size_t i = 1; i <= count && *ends && runs <= most; i++) {
    if (i < count && !in_order(&spans[i], &spans[i - 1])) continue;
    if (runs == capacity) {
      size_t *grown = scratch_resize(*ends, capacity * 2 * sizeof *grown);
      if (!grown) return 0;
      *ends = grown;
      capacity *= 2;
    }
    (*ends)[runs++] = i;
  }
  return runs;
}

/* Spans by lane, those of one lane as they were: a counting sort. False: there are too many lanes, or no memory. */
static bool group_by_lane(struct lane_span *spans, size_t count, struct lane_span *other) {
  uint32_t lanes = 0;
  for (size_t i = 0; i < count; i++) lanes = spans[i].lane > lanes ? spans[i].lane : lanes;
  size_t *next = lanes < count ? scratch_allocate_zeroed((size_t)lanes + 2, sizeof *next) : NULL;
  if (!next) return false;
  for (size_t i = 0; i < count; i++) next[spans[i].lane + 1]++;
  for (uint32_t lane = 0; lane < lanes; lane++) next[lane + 1] += next[lane];
  for (size_t i = 0; i < count; i++) other[next[spans[i].lane]++] = spans[i];
  scratch_free(next);
  return true;
}

/* Of spans that lie within each other or apart, by lane and each behind those inside it, as a recording writes them
** when they end: each one's place is that of the first inside it, and one further for each span around it.  Spans that
** are not so come out in any order.  Lanes whose ends do not ascend stay as they are. */
static bool order_nested(const struct lane_span *spans, size_t count, struct lane_span *to) {
  uint32_t *sizes = count < UINT32_MAX ? scratch_allocate(count * sizeof *sizes) : NULL, *open = NULL;
  if (sizes) open = scratch_allocate(count * sizeof *open);
  for (size_t begin = 0, end; open && begin < count; begin = end) {
    const struct lane_span *lane = spans + begin;
    bool ascends = true;
    for (end = begin + 1; end < count && spans[end].lane == lane->lane; end++)
      ascends &= spans[end].end >= spans[end - 1].end;
    uint32_t length = (uint32_t)(end - begin), depth = 0;
    if (!ascends) {
      memcpy(to + begin, lane, length * sizeof *to);
      continue;
    }
    for (uint32_t i = 0; i < length; i++) {
      sizes[i] = 1;
      while (depth && lane[open[depth - 1]].start >= lane[i].start) sizes[i] += sizes[open[--depth]];
      open[depth++] = i;
    }
    depth = 0;
    for (uint32_t i = length; i-- > 0; open[depth++] = i) {
      while (depth && open[depth - 1] - sizes[open[depth - 1]] + 1 > i) depth--;
      to[begin + i - sizes[i] + 1 + depth] = lane[i];
    }
  }
  bool is_done = open;
  scratch_free(sizes);
  scratch_free(open);
  return is_done;
}

enum tfprof_status lane_span_sort(struct lane_span *spans, size_t count, struct tfprof_error *error) {
  enum { FEW_RUNS = 8 };
  size_t *ends, runs = find_runs(spans, count, FEW_RUNS, &ends);
  struct lane_span *other = runs > 1 ? scratch_allocate(count * sizeof *other) : NULL, *from = spans, *to = other;
  if (runs > FEW_RUNS && other) {
    scratch_free(ends);
    /* Threads take turns in most sources. */
    if (group_by_lane(spans, count, other)) {
      from = other;
      to = spans;
      if (order_nested(other, count, spans)) {
        from = spans;
        to = other;
      }
    }
    runs = find_runs(from, count, SIZE_MAX, &ends);
  }
  if (!ends || (count && !runs) || (runs > 1 && !other)) {
    scratch_free(ends);
    scratch_free(other);
    return error_no_memory(error);
  }
  while (runs > 1) { /* neighbours in pairs; what then lies in order is one run */
    size_t made = 0, begin = 0;
    for (size_t i = 0; i < runs; i += 2) {
      size_t middle = ends[i], end = i + 1 < runs ? ends[i + 1] : middle;
      merge(from + begin, from + middle, from + middle, from + end, to + begin);
      bool is_next = made && !in_order(&to[begin], &to[begin - 1]);
      ends[is_next ? made - 1 : made++] = begin = end;
    }
    runs = made;
    struct lane_span *swap = from;
    from = to;
    to = swap;
  }
  if (from != spans) memcpy(spans, from, count * sizeof *spans);
  for (size_t i = 1; i < count; i++) assert(!in_order(&spans[i], &spans[i - 1]));
  scratch_free(other);
  scratch_free(ends);
  return TFPROF_OK;
}
