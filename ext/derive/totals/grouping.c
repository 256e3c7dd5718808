/* grouping.c: see grouping.h. */
#include "derive/totals/grouping.h"

#include <stdatomic.h>
#include <string.h>

enum { STRETCH = 1 << 17 /* rows */ };

struct stretches {
  const struct grouping *grouping;
  struct grouped *of;   /* by stretch */
  uint32_t **number_of; /* by stretch and number of a group in it: its number in all; of the first NULL: the same */
  uint32_t rows;
  atomic_int failure; /* an enum tfprof_status */
};

uint32_t grouping_number(const struct grouping *grouping, struct grouped *to, const int64_t *key, const void *first) {
  uint32_t known = to->groups.count, number = groups_number(&to->groups, key);
  if (number != known || !grouping->item_size) return number;
  char *items = scratch_grow(to->items, known, &to->capacity, 256, grouping->item_size);
  if (!items) return NO_ROW;
  to->items = items;
  memcpy(items + (size_t)number * grouping->item_size, first, grouping->item_size);
  return number;
}

void grouped_free(struct grouped *grouped) {
  groups_free(&grouped->groups);
  scratch_free(grouped->items);
  *grouped = (struct grouped){.items = NULL};
}

static void add_stretch(void *context, size_t at, unsigned worker) {
  struct stretches *s = context;
  const struct grouping *grouping = s->grouping;
  const struct profile_table *content = &grouping->profile->tables[grouping->table];
  uint32_t row = (uint32_t)at * STRETCH, end = s->rows - row < STRETCH ? s->rows : row + STRETCH;
  int failure = atomic_load(&s->failure);
  size_t hint = 0;
  (void)worker;
  s->of[at].groups.width = grouping->width;
  while (row < end && !failure) {
    const struct segment *segment = derive_segment_of(content, row, &hint);
    uint32_t first = row - (uint32_t)segment->first_row, count = derive_block_rows(segment, first);
    if (count > end - row) count = end - row;
    struct row_block block = {.segment = content->segments[hint], .first = first, .count = count, .row = row};
    if (!grouping->add(grouping, &s->of[at], &block)) failure = TFPROF_NO_MEMORY;
    else if (store_interrupted(grouping->profile->store)) failure = TFPROF_INTERRUPTED;
    row += count;
  }
  if (failure) atomic_store(&s->failure, failure);
}

/* number_of[i] becomes the number in all of group i of a stretch. False: no memory. */
static bool join_stretch(const struct grouping *grouping, struct grouped *all, const struct grouped *more,
                         uint32_t *number_of) {
  for (uint32_t i = 0; i < more->groups.count; i++) {
    const char *item = grouping->item_size ? (const char *)more->items + (size_t)i * grouping->item_size : NULL;
    uint32_t known = all->groups.count;
    number_of[i] = grouping_number(grouping, all, more->groups.keys + (size_t)i * grouping->width, item);
    if (number_of[i] == NO_ROW) return false;
    if (number_of[i] < known && grouping->join)
      grouping->join(grouping, (char *)all->items + (size_t)number_of[i] * grouping->item_size, item);
  }
  return true;
}

static void number_stretch(void *context, size_t at, unsigned worker) {
  struct stretches *s = context;
  uint32_t row = (uint32_t)at * STRETCH, end = s->rows - row < STRETCH ? s->rows : row + STRETCH;
  const uint32_t *number_of = s->number_of[at];
  (void)worker;
  for (; number_of && row < end; row++) s->grouping->numbers[row] = number_of[s->grouping->numbers[row]];
}

static enum tfprof_status join_stretches(struct stretches *s, size_t count, struct grouped *all,
                                         struct tfprof_error *error) {
  *all = s->of[0];
  s->of[0] = (struct grouped){.items = NULL};
  for (size_t i = 1; i < count; i++) {
    s->number_of[i] = scratch_allocate(((size_t)s->of[i].groups.count + 1) * sizeof *s->number_of[i]);
    if (!s->number_of[i] || !join_stretch(s->grouping, all, &s->of[i], s->number_of[i])) return error_no_memory(error);
    grouped_free(&s->of[i]);
  }
  if (s->grouping->numbers) derive_parallel(s->rows, count, number_stretch, s);
  return TFPROF_OK;
}

enum tfprof_status grouping_run(const struct grouping *grouping, struct grouped *all, struct tfprof_error *error) {
  struct stretches s = {.grouping = grouping};
  *all = (struct grouped){.groups = {.width = grouping->width}};
  enum tfprof_status status = derive_row_count(grouping->profile, grouping->table, &s.rows, error);
  size_t count = ((size_t)s.rows + STRETCH - 1) / STRETCH;
  if (status || !count) return status;
  s.of = scratch_allocate_zeroed(count, sizeof *s.of);
  s.number_of = scratch_allocate_zeroed(count, sizeof *s.number_of);
  if (s.of && s.number_of) {
    derive_parallel(s.rows, count, add_stretch, &s);
    status = derive_failure(atomic_load(&s.failure), error);
    if (!status) status = join_stretches(&s, count, all, error);
  } else {
    status = error_no_memory(error);
  }
  for (size_t i = 0; i < count && s.of && s.number_of; i++) {
    grouped_free(&s.of[i]);
    scratch_free(s.number_of[i]);
  }
  scratch_free(s.of);
  scratch_free(s.number_of);
  return status;
}
