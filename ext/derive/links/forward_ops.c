/* forward_ops.c: ops.forward_op_id: which forward op a backward op differentiates.
**
** Autograd numbers the nodes of its graph for each thread.  Ops record the number that the next node of their thread
** will get, so all ops since the last node carry the same one, and the op that makes the node is the one of them that
** began last.  A backward op carries the number of its node and the logical number of the thread that made it
** (forward_thread). Its forward op is therefore, among the ops of that thread with that number, the one with the
** latest start before its own; of equal starts the later row.  This is the rule by which Kineto draws its arrows
** between forward and backward ops.
**
** Its traces, though, do not say which logical number a thread has.  Where no thread of the profile has one, each
** number goes to the thread on which most of the ops that it asks for are found, one thread for each number, the
** clearest case first.
**
** A hash table of the numbers that backward ops ask for picks the forward ops that matter; they are grouped by number
** (counting sort), each group is sorted by start and searched.  Groups are small, and no group is gone through more
** than once.  Rows of any order will do.  Both kinds of ops are looked for in all segments side by side.
*/
#include "base/hash.h"
#include "base/hash_index.h"
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdatomic.h>
#include <stdlib.h>

struct backward {
  int64_t sequence, thread, start;
  uint32_t row, key;
};

struct candidate {
  int64_t start;
  uint32_t row, key;
};

/* What was found in one segment, in row order. */
struct finds {
  struct backward *backwards;
  uint32_t backward_count, backward_capacity;
  struct candidate *candidates;
  uint32_t candidate_count, candidate_capacity;
};

struct join {
  struct profile *profile;
  uint32_t thread_count;
  int64_t *logical; /* by thread row; NO_VALUE: not known */
  struct finds *finds; /* by segment */
  struct backward *backwards; /* of all segments */
  uint32_t backward_count;
  struct candidate *grouped;
  uint32_t candidate_count;
  struct hash_index first_of_key; /* of backwards */
  uint32_t key_count;
  int64_t first_sequence, last_sequence; /* of all backward ops */
  atomic_int failure;                    /* an enum tfprof_status */
};

static bool add_backward(struct finds *finds, struct backward backward) {
  struct backward *items =
      scratch_grow(finds->backwards, finds->backward_count, &finds->backward_capacity, 1024, sizeof *items);
  if (!items) return false;
  finds->backwards = items;
  finds->backwards[finds->backward_count++] = backward;
  return true;
}

static void find_backwards(void *context, size_t i, unsigned worker) {
  struct join *join = context;
  const struct segment *segment = join->profile->tables[TABLE_ops].segments[i];
  const struct column *threads = segment->columns[COLUMN_ops_forward_thread];
  const struct column *sequences = segment->columns[COLUMN_ops_sequence_number];
  const struct column *starts = segment->columns[COLUMN_ops_start_ns];
  (void)worker;
  if (store_interrupted(join->profile->store)) atomic_store(&join->failure, TFPROF_INTERRUPTED);
  if (atomic_load(&join->failure)) return;
  uint32_t row = derive_find_value(threads, 0);
  for (; row < segment->rows; row = derive_find_value(threads, row + 1)) {
    int64_t thread = column_integer(threads, row), sequence = column_integer(sequences, row);
    if (thread <= 0 || column_is_null(sequences, row) || sequence < 0 || column_is_null(starts, row)) continue;
    struct backward backward = {sequence, thread, column_integer(starts, row), (uint32_t)segment->first_row + row, 0};
    if (!add_backward(&join->finds[i], backward)) atomic_store(&join->failure, TFPROF_NO_MEMORY);
  }
}

/* Puts those of all segments together. */
static bool gather_backwards(struct join *join) {
  size_t segments = join->profile->tables[TABLE_ops].segment_count;
  for (size_t i = 0; i < segments; i++) join->backward_count += join->finds[i].backward_count;
  join->backwards = scratch_allocate(((size_t)join->backward_count + 1) * sizeof *join->backwards);
  if (!join->backwards) return false;
  join->first_sequence = INT64_MAX;
  join->last_sequence = -1;
  uint32_t count = 0;
  for (size_t i = 0; i < segments; i++) {
    for (uint32_t k = 0; k < join->finds[i].backward_count; k++) {
      const struct backward *backward = &join->finds[i].backwards[k];
      if (backward->sequence < join->first_sequence) join->first_sequence = backward->sequence;
      if (backward->sequence > join->last_sequence) join->last_sequence = backward->sequence;
      join->backwards[count++] = *backward;
    }
  }
  return true;
}

struct search {
  const struct backward *backwards;
  int64_t sequence, thread;
};

static inline bool is_of_key(const void *context, uint32_t number) {
  const struct search *search = context;
  const struct backward *there = &search->backwards[number];
  return there->sequence == search->sequence && there->thread == search->thread;
}

/* The place of a key, or the free one where it would be. Ops that follow each other have numbers that do: sixteen such
** numbers share the sixteen places of a cache line. */
static uint32_t *find_sequence(const struct join *join, int64_t sequence, int64_t thread) {
  const struct search search = {join->backwards, sequence, thread};
  uint64_t sixteen = (uint64_t)sequence >> 4;
  uint64_t hash = (sixteen + (uint64_t)thread * HASH_FACTOR_3) * HASH_FACTOR_1;
  return hash_index_place(&join->first_of_key, (hash >> 32) << 4 | ((uint64_t)sequence & 15), is_of_key, &search);
}

static bool make_keys(struct join *join) {
  uint64_t places = hash_index_places(join->backward_count);
  join->first_of_key = (struct hash_index){scratch_allocate_zeroed(places, sizeof(uint32_t)), places - 1};
  if (!join->first_of_key.places) return false;
  for (uint32_t i = 0; i < join->backward_count; i++) {
    struct backward *backward = &join->backwards[i];
    uint32_t *place = find_sequence(join, backward->sequence, backward->thread);
    if (*place) {
      backward->key = join->backwards[*place - 1].key;
    } else {
      backward->key = join->key_count++;
      *place = i + 1;
    }
  }
  return true;
}

/* ---- logical numbers of threads, where the source does not tell them ---- */

enum { MOST_LOGICAL = 64 }; /* more threads that build graphs at once have not been seen */

static bool has_logical_numbers(const struct join *join) {
  for (uint32_t thread = 0; thread < join->thread_count; thread++) {
    if (join->logical[thread] != NO_VALUE && join->logical[thread] > 0) return true;
  }
  return false;
}

/* votes[thread * count + i]: ops of the thread that backward ops with logical number numbers[i] ask for. */
static void count_votes(const struct join *join, const int64_t *numbers, uint32_t count, uint32_t *votes) {
  const struct profile_table *ops = &join->profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *forwards = segment->columns[COLUMN_ops_forward_thread];
    const struct column *sequences = segment->columns[COLUMN_ops_sequence_number];
    const struct column *threads = segment->columns[COLUMN_ops_thread_id];
    uint32_t row = derive_find_value(sequences, 0);
    for (; row < segment->rows; row = derive_find_value(sequences, row + 1)) {
      int64_t sequence = column_integer(sequences, row);
      if (sequence < join->first_sequence || sequence > join->last_sequence) continue;
      if (!column_is_null(forwards, row) && column_integer(forwards, row) > 0) continue;
      uint64_t thread = (uint64_t)column_integer(threads, row);
      if (column_is_null(threads, row) || thread >= join->thread_count) continue;
      for (uint32_t i = 0; i < count; i++) {
        if (*find_sequence(join, sequence, numbers[i])) votes[thread * count + i]++;
      }
    }
  }
}

static enum tfprof_status guess_logical_numbers(struct join *join, struct tfprof_error *error) {
  int64_t numbers[MOST_LOGICAL];
  uint32_t count = 0;
  for (uint32_t i = 0; i < join->backward_count && count < MOST_LOGICAL; i++) {
    uint32_t k = 0;
    while (k < count && numbers[k] != join->backwards[i].thread) k++;
    if (k == count) numbers[count++] = join->backwards[i].thread;
  }
  uint32_t *votes = scratch_allocate_zeroed((size_t)join->thread_count * count + 1, sizeof *votes);
  if (!votes) return error_no_memory(error);
  count_votes(join, numbers, count, votes);
  for (uint32_t round = 0; round < count; round++) {
    size_t best = 0;
    for (size_t i = 0; i < (size_t)join->thread_count * count; i++) best = votes[i] > votes[best] ? i : best;
    if (!votes[best]) break;
    uint32_t thread = (uint32_t)(best / count), number = (uint32_t)(best % count);
    join->logical[thread] = numbers[number];
    for (uint32_t i = 0; i < count; i++) votes[(size_t)thread * count + i] = 0;
    for (uint32_t t = 0; t < join->thread_count; t++) votes[(size_t)t * count + number] = 0;
  }
  scratch_free(votes);
  return TFPROF_OK;
}

/* ---- forward ops ---- */

static bool add_candidate(struct finds *finds, struct candidate candidate) {
  struct candidate *items =
      scratch_grow(finds->candidates, finds->candidate_count, &finds->candidate_capacity, 1024, sizeof *items);
  if (!items) return false;
  finds->candidates = items;
  finds->candidates[finds->candidate_count++] = candidate;
  return true;
}

static void find_candidates(void *context, size_t i, unsigned worker) {
  struct join *join = context;
  const struct segment *segment = join->profile->tables[TABLE_ops].segments[i];
  const struct column *forwards = segment->columns[COLUMN_ops_forward_thread];
  const struct column *sequences = segment->columns[COLUMN_ops_sequence_number];
  const struct column *threads = segment->columns[COLUMN_ops_thread_id];
  const struct column *starts = segment->columns[COLUMN_ops_start_ns];
  (void)worker;
  if (store_interrupted(join->profile->store)) atomic_store(&join->failure, TFPROF_INTERRUPTED);
  if (atomic_load(&join->failure)) return;
  uint32_t row = derive_find_value(sequences, 0);
  for (; row < segment->rows; row = derive_find_value(sequences, row + 1)) {
    int64_t sequence = column_integer(sequences, row);
    if (sequence < join->first_sequence || sequence > join->last_sequence) continue;
    if (!column_is_null(forwards, row) && column_integer(forwards, row) > 0) continue;
    uint64_t thread = (uint64_t)column_integer(threads, row);
    if (column_is_null(threads, row) || thread >= join->thread_count || join->logical[thread] <= 0) continue;
    uint32_t slot = *find_sequence(join, sequence, join->logical[thread]);
    if (!slot || column_is_null(starts, row)) continue;
    struct candidate candidate = {column_integer(starts, row), (uint32_t)segment->first_row + row,
                                  join->backwards[slot - 1].key};
    if (!add_candidate(&join->finds[i], candidate)) atomic_store(&join->failure, TFPROF_NO_MEMORY);
  }
}

static int ops_by_start(const void *left, const void *right) {
  const struct candidate *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* Groups the candidates by key; group k is groups[k] ... groups[k + 1]. */
static bool group_candidates(struct join *join, uint32_t *groups) {
  size_t segments = join->profile->tables[TABLE_ops].segment_count;
  for (size_t i = 0; i < segments; i++) join->candidate_count += join->finds[i].candidate_count;
  join->grouped = scratch_allocate(((size_t)join->candidate_count + 1) * sizeof *join->grouped);
  if (!join->grouped) return false;
  for (size_t i = 0; i < segments; i++) {
    const struct finds *finds = &join->finds[i];
    for (uint32_t k = 0; k < finds->candidate_count; k++) groups[finds->candidates[k].key + 1]++;
  }
  for (uint32_t key = 0; key < join->key_count; key++) groups[key + 1] += groups[key];
  for (size_t i = segments; i-- > 0;) {
    const struct finds *finds = &join->finds[i];
    for (uint32_t k = finds->candidate_count; k-- > 0;) {
      /* groups[key + 1] moves down to the group's beginning and is put right below. */
      join->grouped[--groups[finds->candidates[k].key + 1]] = finds->candidates[k];
    }
  }
  for (uint32_t key = 0; key < join->key_count; key++) groups[key] = groups[key + 1];
  groups[join->key_count] = join->candidate_count;
  for (uint32_t key = 0; key < join->key_count; key++) {
    uint32_t count = groups[key + 1] - groups[key];
    if (count > 1) qsort(join->grouped + groups[key], count, sizeof *join->grouped, ops_by_start);
  }
  return true;
}

/* Those backward ops that have a forward op. Returns their number. */
static uint32_t match(const struct join *join, const uint32_t *groups, struct row_value *forwards) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < join->backward_count; i++) {
    const struct backward *backward = &join->backwards[i];
    uint32_t first = groups[backward->key], low = first, high = groups[backward->key + 1];
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (join->grouped[middle].start < backward->start) low = middle + 1; else high = middle;
    }
    if (low > first) forwards[found++] = (struct row_value){backward->row, join->grouped[low - 1].row};
  }
  return found;
}

static enum tfprof_status join_ops(struct join *join, uint32_t rows, struct tfprof_error *error) {
  size_t segments = join->profile->tables[TABLE_ops].segment_count;
  derive_parallel(rows, segments, find_backwards, join);
  enum tfprof_status status = derive_failure(atomic_load(&join->failure), error);
  if (status) return status;
  if (!gather_backwards(join)) return error_no_memory(error);
  if (join->backward_count == 0) return TFPROF_OK;
  if (!make_keys(join)) return error_no_memory(error);
  if (!has_logical_numbers(join)) status = guess_logical_numbers(join, error);
  if (status) return status;
  derive_parallel(rows, segments, find_candidates, join);
  status = derive_failure(atomic_load(&join->failure), error);
  if (status) return status;
  uint32_t *groups = scratch_allocate_zeroed((size_t)join->key_count + 2, sizeof *groups);
  struct row_value *forwards = scratch_allocate((size_t)join->backward_count * sizeof *forwards);
  if (groups && forwards && group_candidates(join, groups)) {
    uint32_t count = match(join, groups, forwards);
    status = derive_set_few_references(join->profile, TABLE_ops, COLUMN_ops_forward_op_id, forwards, count, error);
  } else {
    status = error_no_memory(error);
  }
  scratch_free(groups);
  scratch_free(forwards);
  return status;
}

static enum tfprof_status run_forward_ops(struct profile *profile, struct tfprof_error *error) {
  struct join join = {.profile = profile};
  size_t segments = profile->tables[TABLE_ops].segment_count;
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &join.thread_count, error);
  if (!status) {
    status = derive_all_integers(profile, TABLE_threads, COLUMN_threads_logical_thread, &join.logical, error);
  }
  join.finds = scratch_allocate_zeroed(segments + 1, sizeof *join.finds);
  if (!status && !join.finds) status = error_no_memory(error);
  if (!status) status = join_ops(&join, rows, error);
  for (size_t i = 0; join.finds && i < segments; i++) {
    scratch_free(join.finds[i].backwards);
    scratch_free(join.finds[i].candidates);
  }
  scratch_free(join.finds);
  scratch_free(join.logical);
  scratch_free(join.backwards);
  scratch_free(join.grouped);
  scratch_free(join.first_of_key.places);
  return status;
}

const struct derive_pass derive_forward_ops = {
    .name = "forward ops",
    .summary = "Backward ops joined to forward ops by sequence number and thread; the latest start wins, as in Kineto.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_sequence_number},
              {TABLE_ops, COLUMN_ops_forward_thread},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_threads, COLUMN_threads_logical_thread}},
    .writes = {{TABLE_ops, COLUMN_ops_forward_op_id}},
    .run = run_forward_ops,
};
