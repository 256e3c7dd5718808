/* match.c: see match.h. */
#include "derive/match.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_key(int64_t key) {
  uint64_t hash = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

uint32_t match_search(const struct match *match, int64_t key) {
  if (!match->rows) return NO_ROW;
  for (uint64_t at = hash_key(key) & match->mask; match->rows[at]; at = (at + 1) & match->mask) {
    if (match->keys[at] == key) return match->rows[at] - 1;
  }
  return NO_ROW;
}

void match_free(struct match *match) {
  scratch_free(match->rows);
  scratch_free(match->keys);
  memset(match, 0, sizeof *match);
}

static void put(struct match *match, int64_t key, uint32_t row) {
  if (match->range) {
    uint32_t *place = &match->rows[(uint64_t)key - (uint64_t)match->base];
    if (!*place) *place = row + 1;
    return;
  }
  uint64_t at = hash_key(key) & match->mask;
  for (; match->rows[at]; at = (at + 1) & match->mask) {
    if (match->keys[at] == key) return;
  }
  match->rows[at] = row + 1;
  match->keys[at] = key;
}

enum tfprof_status match_make(struct match *match, const struct profile *profile, unsigned table, unsigned column,
                              struct tfprof_error *error) {
  const struct profile_table *content = &profile->tables[table];
  int64_t values[ROWS_BLOCK], minimum = INT64_MAX, maximum = INT64_MIN;
  uint32_t all;
  uint64_t count = 0;
  memset(match, 0, sizeof *match);
  enum tfprof_status status = derive_row_count(profile, table, &all, error);
  if (status) return status;
  for (unsigned round = 0; round < 2; round++) {
    for (size_t s = 0; s < content->segment_count; s++) {
      const struct segment *segment = content->segments[s];
      if (segment->columns[column]->form == COLUMN_ABSENT) continue;
      for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
        uint32_t rows = segment->rows - first < ROWS_BLOCK ? segment->rows - first : ROWS_BLOCK;
        derive_integers(segment->columns[column], first, rows, values);
        for (uint32_t i = 0; i < rows; i++) {
          if (values[i] == NO_VALUE || values[i] == 0) continue;
          if (round) {
            put(match, values[i], (uint32_t)segment->first_row + first + i);
            continue;
          }
          count++;
          if (values[i] < minimum) minimum = values[i];
          if (values[i] > maximum) maximum = values[i];
        }
      }
    }
    if (round || !count) break;
    uint64_t range = (uint64_t)maximum - (uint64_t)minimum + 1, slots;
    if (range && range <= count * 8 + 1024) {
      match->base = minimum;
      match->range = slots = range;
    } else {
      for (slots = 16; slots < count * 2; slots *= 2) continue;
      match->mask = slots - 1;
      match->keys = scratch_allocate((size_t)slots * sizeof *match->keys);
      if (!match->keys) return error_no_memory(error);
    }
    match->rows = scratch_allocate_zeroed((size_t)slots, sizeof *match->rows);
    if (!match->rows) return error_no_memory(error);
  }
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

/* Where sorted runs end, ascending, into a list that grows; 0: no memory. */
static size_t find_runs(const struct lane_span *spans, size_t count, size_t **ends) {
  size_t runs = 0, capacity = 64;
  *ends = scratch_allocate(capacity * sizeof **ends);
  for (size_t i = 1; i <= count && *ends; i++) {
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

enum tfprof_status lane_span_sort(struct lane_span *spans, size_t count, struct tfprof_error *error) {
  enum { FEW_RUNS = 8 };
  size_t *ends, runs = find_runs(spans, count, &ends);
  struct lane_span *other = runs > 1 ? scratch_allocate(count * sizeof *other) : NULL, *from = spans, *to = other;
  /* Threads take turns in most sources. */
  if (runs > FEW_RUNS && other && group_by_lane(spans, count, other)) {
    from = other;
    to = spans;
    scratch_free(ends);
    runs = find_runs(from, count, &ends);
  }
  if (!ends || (count && !runs) || (runs > 1 && !other)) {
    scratch_free(ends);
    scratch_free(other);
    return error_no_memory(error);
  }
  while (runs > 1) { /* neighbours in pairs */
    size_t made = 0, begin = 0;
    for (size_t i = 0; i < runs; i += 2) {
      size_t middle = ends[i], end = i + 1 < runs ? ends[i + 1] : middle;
      merge(from + begin, from + middle, from + middle, from + end, to + begin);
      ends[made++] = begin = end;
    }
    runs = made;
    struct lane_span *swap = from;
    from = to;
    to = swap;
  }
  if (from != spans) memcpy(spans, from, count * sizeof *spans);
  scratch_free(other);
  scratch_free(ends);
  return TFPROF_OK;
}
