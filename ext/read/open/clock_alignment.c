/* clock_alignment.c: see clock_alignment.h.
**
** Ranks that take part in the same collective leave it together, whenever they entered it: the ends of the same
** collective on two ranks differ by what their clocks differ, and by little else.  That holds for operations in which
** every rank waits for every other; who sends or broadcasts may be long gone when the others receive, so that sends,
** broadcasts and the like do not count.  The offset of a rank is the median of these differences to the reference,
** which is the lowest rank; collectives are the same when they have the group, the name and the sequence number in
** common, or, without numbers, the group, the name, the number of the step and the place among those of it: a rank may
** be recorded from a later collective on than another, and with places alone every one of its collectives would be
** taken for the one before.  Only where there are no steps places must do. Where ranks share fewer than three
** collectives the ends of their steps are taken instead, which training in step keeps together as well.  The error is
** what nine of ten differences stay under, counted from the median.
**
** What does not happen at the same time is never brought together: windows of one rank, restarts of it, runs that only
** a pattern names together.  So a rank is compared only with others, clocks are taken to be off by LARGEST_OFFSET at
** most, and where several profiles have one rank, with what of the reference rank is the closest in time.  A rank whose
** clock would have to be off by more is told; xprof_pod_steps and late_ranks compare it with none.
**
** An offset is applied only where the hosts are not known to be the same and it is more than three times the error (and
** 10 us): else the clocks agree as far as can be told, but may be off by the offset besides.  Only traces of PyTorch
** are aligned; recordings of our own say themselves how their clocks relate.
*/
#include "read/open/clock_alignment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct mark { uint64_t key; int64_t end; };
struct marks {
  struct mark *items; /* by key */
  size_t count;
};
enum { FEWEST_COLLECTIVES = 3, FEWEST_STEPS = 2, SMALLEST_OFFSET = 10000 };
#define LARGEST_OFFSET (INT64_C(600) * 1000000000) /* ten minutes: clocks that nobody has set differ by less */

static int by_key(const void *left, const void *right) {
  const struct mark *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->end < b->end ? -1 : a->end > b->end;
}

/* Marks of the same key get numbers in the order of time; then they are sorted again. */
static void number_repeated(struct marks *marks) {
  qsort(marks->items, marks->count, sizeof *marks->items, by_key);
  uint64_t place = 0, key = 0;
  for (size_t i = 0; i < marks->count; i++) {
    place = i && marks->items[i].key == key ? place + 1 : 0;
    key = marks->items[i].key;
    marks->items[i].key = hash_pair(key, place + 1);
  }
  qsort(marks->items, marks->count, sizeof *marks->items, by_key);
}

static int64_t integer_at(const struct segment *segment, unsigned column, uint32_t row, int64_t otherwise) {
  const struct column *values = segment->columns[column];
  return values->form == COLUMN_ABSENT || column_is_null(values, row) ? otherwise : column_integer(values, row);
}

/* Whether nobody leaves the operation before everybody has entered it. The name is one that NCCL's marks have
** (_allgather_base, allreduce_coalesced) or one of Gloo's (all_gather, sparse_all_reduce). */
static bool keeps_ranks_together(const char *name) {
  static const char *const operations[] = {"allreduce", "allgather", "reducescatter", "alltoall", "barrier"};
  char plain[64];
  size_t length = 0;
  for (; name && *name && length + 1 < sizeof plain; name++) {
    if (*name != '_') plain[length++] = *name;
  }
  plain[length] = 0;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    if (strstr(plain, operations[i])) return true;
  }
  return false;
}

static void collect_steps(struct profile *profile, struct marks *marks) {
  struct column_set columns = {{0, 0}};
  column_set_add(&columns, COLUMN_steps_number);
  column_set_add(&columns, COLUMN_steps_end_ns);
  *marks = (struct marks){NULL, 0};
  if (profile_require(profile, TABLE_steps, &columns, NULL)) return;
  const struct profile_table *content = &profile->tables[TABLE_steps];
  marks->items = malloc(((size_t)content->rows + 1) * sizeof *marks->items);
  for (size_t s = 0; s < content->segment_count && marks->items; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t row = 0; row < segment->rows; row++) {
      uint64_t number = (uint64_t)integer_at(segment, COLUMN_steps_number, row, -1);
      int64_t end = integer_at(segment, COLUMN_steps_end_ns, row, INT64_MIN);
      if (end != INT64_MIN) marks->items[marks->count++] = (struct mark){hash_pair(TABLE_steps, number), end};
    }
  }
  if (marks->items) number_repeated(marks);
}

/* The numbers of the profile's steps by their rows. NULL: there are none, or they cannot be had. */
static int64_t *step_numbers(struct profile *profile, size_t *count) {
  struct column_set columns = {{0, 0}};
  column_set_add(&columns, COLUMN_steps_number);
  *count = 0;
  if (profile_require(profile, TABLE_steps, &columns, NULL)) return NULL;
  const struct profile_table *content = &profile->tables[TABLE_steps];
  int64_t *numbers = content->rows ? malloc((size_t)content->rows * sizeof *numbers) : NULL;
  for (size_t s = 0; s < content->segment_count && numbers; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t row = 0; row < segment->rows; row++) {
      numbers[(*count)++] = integer_at(segment, COLUMN_steps_number, row, -1);
    }
  }
  return numbers;
}

static bool has_numbers(const struct profile_table *collectives) {
  for (size_t s = 0; s < collectives->segment_count; s++) {
    const struct segment *segment = collectives->segments[s];
    for (uint32_t row = 0; row < segment->rows; row++) {
      if (integer_at(segment, COLUMN_collectives_sequence_number, row, -1) < 0) return false;
    }
  }
  return true;
}

/* Those that keep ranks together. */
static void collect_collectives(struct profile *profile, struct marks *marks) {
  struct column_set columns = {{0, 0}};
  column_set_add(&columns, COLUMN_collectives_name);
  column_set_add(&columns, COLUMN_collectives_process_group);
  column_set_add(&columns, COLUMN_collectives_sequence_number);
  column_set_add(&columns, COLUMN_collectives_end_ns);
  *marks = (struct marks){NULL, 0};
  if (profile_require(profile, TABLE_collectives, &columns, NULL)) return;
  const struct profile_table *content = &profile->tables[TABLE_collectives];
  const struct pool *pool = store_pool(profile->store);
  size_t step_count = 0;
  int64_t *steps = NULL;
  if (!has_numbers(content)) { /* the step of each takes much longer to find than the rest */
    column_set_add(&columns, COLUMN_collectives_step_id);
    if (profile_require(profile, TABLE_collectives, &columns, NULL) == TFPROF_OK) {
      steps = step_numbers(profile, &step_count);
    }
  }
  string_id known_name = 0;
  bool is_known_together = false;
  marks->items = malloc(((size_t)content->rows + 1) * sizeof *marks->items);
  for (size_t s = 0; s < content->segment_count && marks->items; s++) {
    const struct segment *segment = content->segments[s];
    for (uint32_t row = 0; row < segment->rows; row++) {
      int64_t number = integer_at(segment, COLUMN_collectives_sequence_number, row, -1);
      int64_t end = integer_at(segment, COLUMN_collectives_end_ns, row, INT64_MIN);
      string_id name = (string_id)integer_at(segment, COLUMN_collectives_name, row, 0);
      if (name != known_name) is_known_together = keeps_ranks_together(pool_text(pool, name));
      known_name = name;
      if (!is_known_together || end == INT64_MIN) continue;
      uint64_t key = hash_pair(hash_pair(TABLE_collectives, name), (uint64_t)number);
      key = hash_pair(key, (uint64_t)integer_at(segment, COLUMN_collectives_process_group, row, 0));
      if (number < 0 && steps) {
        int64_t step = integer_at(segment, COLUMN_collectives_step_id, row, -1);
        if (step < 0 || (size_t)step >= step_count) continue; /* between steps places may differ from rank to rank */
        key = hash_pair(key, (uint64_t)steps[step]);
      }
      marks->items[marks->count++] = (struct mark){key, end};
    }
  }
  free(steps);
  if (marks->items) number_repeated(marks);
}

static int by_value(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

struct fit { int64_t offset, error; size_t count; };

/* The offset that brings `other` to `reference`. */
static struct fit compare(const struct marks *reference, const struct marks *other) {
  struct fit fit = {0, 0, 0};
  size_t room = reference->count < other->count ? reference->count : other->count;
  int64_t *differences = malloc((room + 1) * sizeof *differences);
  for (size_t a = 0, b = 0; differences && a < reference->count && b < other->count;) {
    const struct mark *left = &reference->items[a], *right = &other->items[b];
    if (left->key == right->key) differences[fit.count++] = left->end - right->end; /* times are below 2^62 */
    a += left->key <= right->key;
    b += right->key <= left->key;
  }
  if (fit.count) {
    qsort(differences, fit.count, sizeof *differences, by_value);
    fit.offset = differences[fit.count / 2];
    for (size_t i = 0; i < fit.count; i++) differences[i] = llabs(differences[i] - fit.offset);
    qsort(differences, fit.count, sizeof *differences, by_value);
    fit.error = differences[(fit.count - 1) * 9 / 10];
  }
  free(differences);
  return fit;
}

static bool is_trace(const struct profile *profile) {
  return strcmp(profile->source->format, "kineto") == 0 && profile->clock_offset_ns == 0 && profile->clock_error_ns < 0;
}

/* A rank that has what another one has, long before or after it. */
static void tell_distance(const struct profile *reference, struct profile *other, int64_t away) {
  profile_diagnose(other, "warning", "distant_rank", 1, -1, -1,
                   "rank %lld has the steps of rank %lld %.0f s before or after it: no clock is off by more than ten "
                   "minutes, so these count as two runs, and nothing of one is compared with the other",
                   (long long)other->rank, (long long)reference->rank, (double)away / 1e9);
}

static void align(struct profile *reference, struct profile *other, bool is_repeated) {
  struct fit fit = {0, 0, 0};
  static const struct {
    void (*collect)(struct profile *profile, struct marks *marks);
    size_t fewest;
  } kinds[2] = {{collect_collectives, FEWEST_COLLECTIVES}, {collect_steps, FEWEST_STEPS}};
  for (unsigned round = 0; round < 2; round++) {
    struct marks left, right;
    kinds[round].collect(reference, &left);
    kinds[round].collect(other, &right);
    fit = compare(&left, &right);
    free(left.items);
    free(right.items);
    if (fit.count >= kinds[round].fewest) break;
    fit.count = 0;
  }
  int64_t size = llabs(fit.offset);
  if (fit.count && size > LARGEST_OFFSET && !is_repeated) tell_distance(reference, other, size);
  if (!fit.count || size > LARGEST_OFFSET) return;
  bool is_same_host = reference->host && reference->host == other->host;
  other->clock_error_ns = fit.error;
  if (is_same_host) return;
  if (size > SMALLEST_OFFSET && size / 3 > fit.error) other->clock_offset_ns = fit.offset;
  else other->clock_error_ns += size; /* times are below 2^62 */
}

/* "2, 5, 7" of the ranks below `world_size` that no profile has. */
static void name_missing(struct profile *const *profiles, size_t count, int64_t world_size) {
  char names[256] = "";
  size_t length = 0, missing = 0;
  for (int64_t rank = 0; rank < world_size; rank++) {
    bool is_there = false;
    for (size_t i = 0; i < count && !is_there; i++) is_there = profiles[i]->rank == rank;
    if (is_there) continue;
    if (length + 24 < sizeof names)
      length += (size_t)snprintf(names + length, sizeof names - length, "%s%lld", missing ? ", " : "", (long long)rank);
    else if (names[length - 1] != '.') length += (size_t)snprintf(names + length, sizeof names - length, ", ...");
    missing++;
  }
  if (!missing) return;
  profile_diagnose(profiles[0], "warning", "missing_ranks", (int64_t)missing, -1, -1,
                   "of the %lld ranks of the job %zu are not open: %s", (long long)world_size, missing, names);
}

/* How far the spans of two profiles lie apart; 0: they overlap. */
static int64_t time_between(struct profile *a, struct profile *b) {
  bool is_known = profile_find_span(a, NULL) == TFPROF_OK && profile_find_span(b, NULL) == TFPROF_OK;
  if (!is_known || a->start_ns > a->end_ns || b->start_ns > b->end_ns) return 0;
  int64_t gap = a->start_ns > b->end_ns ? a->start_ns - b->end_ns : b->start_ns - a->end_ns;
  return gap > 0 ? gap : 0;
}

/* Of the profiles of the reference rank, of which there are several windows or restarts, the one that the profile went
** on together with. */
static struct profile *closest(struct profile *const *profiles, size_t count, int64_t rank, struct profile *other) {
  struct profile *best = NULL;
  int64_t least = 0;
  for (size_t i = 0; i < count; i++) {
    if (profiles[i]->rank != rank) continue;
    int64_t gap = time_between(profiles[i], other);
    if (best && gap >= least) continue;
    best = profiles[i];
    least = gap;
  }
  return best;
}

/* Whether a rank has several profiles. */
static bool has_repeated_rank(struct profile *const *profiles, size_t count) {
  for (size_t i = 1; i < count && i < 4096; i++)
    for (size_t k = 0; k < i; k++)
      if (profiles[i]->rank == profiles[k]->rank) return true;
  return false;
}

/* Two processes cannot have one rank at the same time: names of files that say so, or runs that a pattern names. */
static void tell_repeated(struct profile *const *profiles, size_t count) {
  for (size_t i = 1; i < count && i < 4096; i++) {
    for (size_t k = 0; k < i; k++) {
      struct profile *one = profiles[i], *other = profiles[k];
      if (one->rank != other->rank || one->pid == other->pid || time_between(one, other) > 0) continue;
      const struct pool *pool = store_pool(one->store);
      profile_diagnose(one, "warning", "repeated_rank", 1, -1, -1,
                       "rank %lld is also that of %s, at the same time: no step of either is compared with those of "
                       "other ranks; open the files of one job alone", (long long)one->rank,
                       pool_text(pool, other->path));
      break;
    }
  }
}

void clock_alignment_run(struct store *store, uint32_t run_number) {
  size_t all = store_profile_count(store), count = 0;
  struct profile **profiles = malloc((all + 1) * sizeof *profiles), *reference = NULL;
  int64_t world_size = -1;
  for (size_t i = 0; i < all && profiles; i++) {
    struct profile *profile = store_profile_at(store, i);
    if (profile->run_number != run_number || !is_trace(profile) || profile->rank < 0) continue;
    profiles[count++] = profile;
    if (profile->world_size > world_size) world_size = profile->world_size;
    if (!reference || profile->rank < reference->rank) reference = profile;
  }
  if (count > 1) {
    bool is_repeated = has_repeated_rank(profiles, count);
    for (size_t i = 0; i < count; i++) {
      if (profiles[i]->rank == reference->rank) continue;
      align(is_repeated ? closest(profiles, count, reference->rank, profiles[i]) : reference, profiles[i],
            is_repeated);
    }
    for (size_t i = 0; i < count; i++)
      if (profiles[i]->rank == reference->rank) profiles[i]->clock_error_ns = 0;
    if (is_repeated) tell_repeated(profiles, count);
    if (world_size > 0 && world_size <= 1000000) name_missing(profiles, count, world_size);
  }
  free(profiles);
}
