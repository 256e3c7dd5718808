/* kernels_of_ops.c: like_op_id and op_kernels_start_ns of device_activities: which ops launch the same kernels.
**
** Two ops are alike when they have the same name and launched, each by itself, kernels with the same short names in the
** same order of launches, those of one launch (of a device graph) in the order of their names.  Copies and fills do not
** count, nor what has no call or is not before the last step (last_steps.c); in a profile without any call the starts
** of the kernels stand for their launches.  So a view counts what ops launch by one integer, and puts together the text
** of a sequence once for all ops that are alike.
**
** The sequences of short names lie one after the other; a hash table finds the first op with the same one.
*/
#include "base/hash.h"
#include "base/hash_index.h"
#include "derive/match.h"
#include "derive/passes.h"

#include <string.h>

struct work {
  struct profile *profile;
  uint32_t rows, count;      /* of device_activities; of kernels that count */
  int64_t *starts, *names;   /* by row: start_ns, short_name */
  struct lane_span *kernels; /* by op and launch; lane is the op, row that of device_activities */
  string_id *sequence;       /* the short names in that order, 0: has none */
};

static enum tfprof_status collect_kernels_of_ops(struct work *w, struct tfprof_error *error) {
  bool has_launches = derive_has_value(w->profile, TABLE_device_activities, COLUMN_device_activities_launch_ns);
  unsigned order = has_launches ? COLUMN_device_activities_launch_ns : COLUMN_device_activities_start_ns;
  uint32_t ops, kernels;
  enum tfprof_status status = derive_row_count(w->profile, TABLE_ops, &ops, error);
  if (!status) status = derive_row_count(w->profile, TABLE_kernels, &kernels, error);
  for (struct row_block block = {0}; derive_next_block(w->profile, TABLE_device_activities, &block, &status, error);) {
    int64_t launches[ROWS_BLOCK], counts[ROWS_BLOCK];
    uint32_t op[ROWS_BLOCK], kernel[ROWS_BLOCK];
    block_integers(&block, order, launches);
    block_integers(&block, COLUMN_device_activities_is_before_last_step, counts);
    block_references(&block, COLUMN_device_activities_op_id, ops, op);
    block_references(&block, COLUMN_device_activities_kernel_id, kernels, kernel);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      if (op[i] == NO_ROW || kernel[i] == NO_ROW || launches[i] == NO_VALUE || counts[i] != 1) continue;
      if (w->starts[row] == NO_VALUE) continue;
      w->kernels[w->count++] = (struct lane_span){launches[i], INT64_MAX, op[i], row};
    }
  }
  return status;
}

/* Those that one call launched, in the order of their texts, in which a sequence is shown; without a name first. */
static enum tfprof_status sort_equal(const struct work *w, string_id *names, uint32_t count) {
  uint32_t nameless = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (names[i]) continue;
    names[i] = names[nameless];
    names[nameless++] = 0;
  }
  return pool_sort(store_pool(w->profile->store), names + nameless, count - nameless);
}

static enum tfprof_status write_sequences(struct work *w, struct tfprof_error *error) {
  for (uint32_t begin = 0, end; begin < w->count; begin = end) {
    const struct lane_span *first = &w->kernels[begin];
    for (end = begin; end < w->count; end++) {
      const struct lane_span *next = &w->kernels[end];
      if (next->lane != first->lane || next->start != first->start) break;
      w->sequence[end] = (string_id)(w->names[next->row] == NO_VALUE ? 0 : w->names[next->row]);
    }
    if (end - begin > 1 && sort_equal(w, w->sequence + begin, end - begin)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

/* The kernels of one op: w->kernels[begin ... end - 1]. */
struct call {
  uint32_t begin, end;
  int64_t name; /* of the op */
};

static uint64_t hash_of(const struct work *w, const struct call *call) {
  uint64_t hash = (uint64_t)call->name;
  for (uint32_t i = call->begin; i < call->end; i++) hash = (hash ^ w->sequence[i]) * HASH_FACTOR_1;
  return hash ^ hash >> 32;
}

static bool is_alike(const struct work *w, const struct call *a, const struct call *b) {
  size_t count = a->end - a->begin;
  return a->name == b->name && b->end - b->begin == count &&
         memcmp(w->sequence + a->begin, w->sequence + b->begin, count * sizeof *w->sequence) == 0;
}

struct search {
  const struct work *w;
  const struct call *call;
  const int64_t *op_names;
  const uint32_t *ends;
};

static inline bool is_like_that(const void *context, uint32_t begin) {
  const struct search *search = context;
  const struct call other = {begin, search->ends[begin], search->op_names[search->w->kernels[begin].lane]};
  return is_alike(search->w, search->call, &other);
}

/* The first call that is like this one, which is put into the index, by its first kernel, when there is none. */
static uint32_t find_first(const struct search *search, struct hash_index *calls) {
  uint32_t *place = hash_index_place(calls, hash_of(search->w, search->call), is_like_that, search);
  if (!*place) *place = search->call->begin + 1;
  return *place - 1;
}

/* Both columns, by row; ends is by number of an op's first kernel. */
static enum tfprof_status compare_calls(const struct work *w, const int64_t *op_names, uint32_t *ends,
                                        struct hash_index *known, uint32_t *like, int64_t *starts,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t begin = 0, end, calls = 0; begin < w->count && !status; begin = end, calls++) {
    int64_t start = INT64_MAX;
    for (end = begin; end < w->count && w->kernels[end].lane == w->kernels[begin].lane; end++) {
      int64_t of_kernel = w->starts[w->kernels[end].row];
      if (w->kernels[end].start == w->kernels[begin].start && of_kernel < start) start = of_kernel;
    }
    const struct call call = {begin, end, op_names[w->kernels[begin].lane]};
    ends[begin] = end;
    uint32_t op = w->kernels[find_first(&(struct search){w, &call, op_names, ends}, known)].lane;
    for (uint32_t i = begin; i < end; i++) like[w->kernels[i].row] = op;
    starts[w->kernels[begin].row] = start;
    if (calls % ROWS_BLOCK == 0) status = derive_poll(w->profile, error);
  }
  return status;
}

static enum tfprof_status set_kernels_of_ops_columns(struct work *w, struct tfprof_error *error) {
  static const unsigned table = TABLE_device_activities;
  uint32_t *ends = scratch_allocate(((size_t)w->count + 1) * sizeof *ends);
  uint64_t places = hash_index_places(w->count);
  struct hash_index known = {scratch_allocate_zeroed(places, sizeof *known.places), places - 1};
  uint32_t *like = scratch_allocate((size_t)w->rows * sizeof *like);
  int64_t *starts = scratch_allocate((size_t)w->rows * sizeof *starts), *op_names = NULL;
  enum tfprof_status status = ends && known.places && like && starts ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(w->profile, TABLE_ops, COLUMN_ops_name, &op_names, error);
  for (uint32_t row = 0; row < w->rows && !status; row++) {
    like[row] = NO_ROW;
    starts[row] = NO_VALUE;
  }
  if (!status) status = compare_calls(w, op_names, ends, &known, like, starts, error);
  if (!status) status = derive_set_references(w->profile, table, COLUMN_device_activities_like_op_id, like, error);
  if (!status)
    status = derive_set_integers(w->profile, table, COLUMN_device_activities_op_kernels_start_ns, starts, error);
  scratch_free(ends);
  scratch_free(known.places);
  scratch_free(like);
  scratch_free(starts);
  scratch_free(op_names);
  return status;
}

static enum tfprof_status run_kernels_of_ops(struct profile *profile, struct tfprof_error *error) {
  struct work w = {.profile = profile};
  enum tfprof_status status = derive_row_count(profile, TABLE_device_activities, &w.rows, error);
  if (status || !w.rows) return status;
  w.kernels = scratch_allocate((size_t)w.rows * sizeof *w.kernels);
  w.sequence = scratch_allocate((size_t)w.rows * sizeof *w.sequence);
  status = w.kernels && w.sequence ? TFPROF_OK : error_no_memory(error);
  if (!status)
    status = derive_all_integers(profile, TABLE_device_activities, COLUMN_device_activities_start_ns, &w.starts, error);
  if (!status)
    status =
        derive_all_integers(profile, TABLE_device_activities, COLUMN_device_activities_short_name, &w.names, error);
  if (!status) status = collect_kernels_of_ops(&w, error);
  if (!status) status = lane_span_sort(w.kernels, w.count, error);
  if (!status) status = write_sequences(&w, error);
  if (!status && w.count) status = set_kernels_of_ops_columns(&w, error);
  scratch_free(w.kernels);
  scratch_free(w.sequence);
  scratch_free(w.starts);
  scratch_free(w.names);
  return status;
}

const struct derive_pass derive_kernels_of_ops = {
    .name = "kernels of ops",
    .summary = "The first op that launched the same kernels, and when what each op launched first started.",
    .makes_table = -1,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_op_id},
              {TABLE_device_activities, COLUMN_device_activities_kernel_id},
              {TABLE_device_activities, COLUMN_device_activities_short_name},
              {TABLE_device_activities, COLUMN_device_activities_start_ns},
              {TABLE_device_activities, COLUMN_device_activities_launch_ns},
              {TABLE_device_activities, COLUMN_device_activities_is_before_last_step},
              {TABLE_ops, COLUMN_ops_name}},
    .writes = {{TABLE_device_activities, COLUMN_device_activities_like_op_id},
               {TABLE_device_activities, COLUMN_device_activities_op_kernels_start_ns}},
    .run = run_kernels_of_ops,
};
