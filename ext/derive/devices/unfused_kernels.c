/* unfused_kernels.c: step_kernel_totals.unfused_count and unfused_ns: kernels that compute number by number right
** behind another one on their stream, and read what that has written.
**
** Which do is told by the name of the kernel (those of PyTorch's elementwise kernels, of Eigen, and of TensorFlow's own
** for biases) or by the type of the TensorFlow op that launched it; each text is looked at once.  One comes right
** behind another where that was the last thing that their stream had done: device_activities are in that order.
*/
#include "derive/groups.h"
#include "derive/passes.h"

#include <string.h>

static const char *const name_parts[] = {"elementwise", "TensorCwise", "BiasNCHWKernel"};
static const char *const types[] = {
    "Add", "AddV2", "AddN", "Sub", "Mul", "RealDiv", "BiasAdd", "Relu", "ReluGrad", "LeakyRelu", "Elu", "Gelu",
    "Sigmoid", "SigmoidGrad", "Tanh", "TanhGrad", "Exp", "Log", "Sqrt", "Rsqrt", "RsqrtGrad", "Square",
    "SquaredDifference", "Maximum", "Minimum", "Neg", "Pow", "Cast", "Select", "SelectV2", "Greater", "GreaterEqual",
    "Less", "LessEqual", "Equal", "LogicalAnd"};

enum { IS_NAME_KNOWN = 1, IS_NAME = 2, IS_TYPE_KNOWN = 4, IS_TYPE = 8 };

struct unfused {
  struct profile *profile;
  uint32_t kernels, steps, devices, threads, totals;
  string_id compute;
  uint8_t *facts;         /* by text */
  bool *is_elementwise;   /* by kernel */
  struct groups of_step;  /* step and device: rows of step_kernel_totals */
  int64_t *counts;        /* by row of that */
  double *sums;
};

enum { KEY_STEP, KEY_DEVICE, KEYS };

/* ---- which kernels ---- */

static bool tells(struct unfused *u, string_id text, bool is_type) {
  uint8_t known = is_type ? IS_TYPE_KNOWN : IS_NAME_KNOWN, yes = is_type ? IS_TYPE : IS_NAME;
  if (!text) return false;
  if (!(u->facts[text] & known)) {
    const char *bytes = pool_text(store_pool(u->profile->store), text);
    bool found = false;
    for (size_t i = 0; is_type && i < sizeof types / sizeof *types && !found; i++) found = !strcmp(bytes, types[i]);
    for (size_t i = 0; !is_type && i < sizeof name_parts / sizeof *name_parts && !found; i++)
      found = strstr(bytes, name_parts[i]) != NULL;
    u->facts[text] |= (uint8_t)(known | (found ? yes : 0));
  }
  return u->facts[text] & yes;
}

static enum tfprof_status find_elementwise(struct unfused *u, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(u->profile, TABLE_kernels, &block, &status, error);) {
    string_id kinds[ROWS_BLOCK], names[ROWS_BLOCK], of_ops[ROWS_BLOCK];
    block_texts(&block, COLUMN_kernels_kind, kinds);
    block_texts(&block, COLUMN_kernels_name, names);
    block_texts(&block, COLUMN_kernels_op_type, of_ops);
    for (uint32_t i = 0; i < block.count; i++) {
      u->is_elementwise[block.row + i] =
          kinds[i] == u->compute && (tells(u, names[i], false) || tells(u, of_ops[i], true));
    }
  }
  return status;
}

/* ---- which of them follow one ---- */

static enum tfprof_status index_totals(struct unfused *u, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(u->profile, TABLE_step_kernel_totals, &block, &status, error);) {
    uint32_t steps[ROWS_BLOCK], devices[ROWS_BLOCK];
    block_references(&block, COLUMN_step_kernel_totals_step_id, u->steps, steps);
    block_references(&block, COLUMN_step_kernel_totals_device_id, u->devices, devices);
    for (uint32_t i = 0; i < block.count; i++) {
      const int64_t key[KEYS] = {[KEY_STEP] = steps[i], [KEY_DEVICE] = devices[i]};
      if (groups_number(&u->of_step, key) == NO_ROW) return error_no_memory(error);
    }
  }
  return status;
}

/* Adds the kernels that follow one to those of their steps. */
static enum tfprof_status add_followers(struct unfused *u, const bool *follows, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(u->profile, TABLE_kernels, &block, &status, error);) {
    uint32_t steps[ROWS_BLOCK], devices[ROWS_BLOCK];
    int64_t durations[ROWS_BLOCK];
    block_references(&block, COLUMN_kernels_step_id, u->steps, steps);
    block_references(&block, COLUMN_kernels_device_id, u->devices, devices);
    block_integers(&block, COLUMN_kernels_dur_ns, durations);
    for (uint32_t i = 0; i < block.count; i++) {
      if (!follows[block.row + i]) continue;
      const int64_t key[KEYS] = {[KEY_STEP] = steps[i], [KEY_DEVICE] = devices[i]};
      uint32_t number = groups_find(&u->of_step, key);
      if (number >= u->totals) continue;
      u->counts[number]++;
      if (durations[i] != NO_VALUE) u->sums[number] += (double)durations[i];
    }
  }
  return status;
}

static enum tfprof_status find_followers(struct unfused *u, bool *follows, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  uint32_t thread = NO_ROW;
  int64_t last_end = NO_VALUE; /* of those before on the stream that compute number by number */
  for (struct row_block block = {0}; derive_next_block(u->profile, TABLE_device_activities, &block, &status, error);) {
    uint32_t threads[ROWS_BLOCK], kernels[ROWS_BLOCK];
    int64_t ends[ROWS_BLOCK], previous[ROWS_BLOCK];
    block_references(&block, COLUMN_device_activities_thread_id, u->threads, threads);
    block_references(&block, COLUMN_device_activities_kernel_id, u->kernels, kernels);
    block_integers(&block, COLUMN_device_activities_end_ns, ends);
    block_integers(&block, COLUMN_device_activities_previous_end_ns, previous);
    for (uint32_t i = 0; i < block.count; i++) {
      if (threads[i] != thread) last_end = NO_VALUE;
      thread = threads[i];
      if (kernels[i] == NO_ROW || !u->is_elementwise[kernels[i]]) continue;
      follows[kernels[i]] = previous[i] != NO_VALUE && previous[i] == last_end;
      if (ends[i] > last_end) last_end = ends[i];
    }
  }
  return status;
}

static enum tfprof_status run_unfused_kernels(struct profile *profile, struct tfprof_error *error) {
  struct unfused u = {.profile = profile, .of_step = {.width = KEYS}};
  bool *follows = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &u.kernels, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &u.steps, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &u.devices, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &u.threads, error);
  if (!status) status = derive_row_count(profile, TABLE_step_kernel_totals, &u.totals, error);
  if (status || !u.totals) return status;
  u.compute = derive_known_text(profile, "compute");
  u.facts = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, sizeof *u.facts);
  u.is_elementwise = scratch_allocate_zeroed((size_t)u.kernels + 1, sizeof *u.is_elementwise);
  follows = scratch_allocate_zeroed((size_t)u.kernels + 1, sizeof *follows);
  u.counts = scratch_allocate_zeroed((size_t)u.totals + 1, sizeof *u.counts);
  u.sums = scratch_allocate_zeroed((size_t)u.totals + 1, sizeof *u.sums);
  if (!u.facts || !u.is_elementwise || !follows || !u.counts || !u.sums) status = error_no_memory(error);
  if (!status) status = find_elementwise(&u, error);
  if (!status) status = index_totals(&u, error);
  if (!status) status = find_followers(&u, follows, error);
  if (!status) status = add_followers(&u, follows, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_step_kernel_totals, COLUMN_step_kernel_totals_unfused_count, u.counts,
                                 error);
  for (uint32_t i = 0; i < u.totals && !status; i++) u.counts[i] = whole_sum(u.sums[i]);
  if (!status)
    status = derive_set_integers(profile, TABLE_step_kernel_totals, COLUMN_step_kernel_totals_unfused_ns, u.counts,
                                 error);
  scratch_free(u.facts);
  scratch_free(u.is_elementwise);
  scratch_free(follows);
  scratch_free(u.counts);
  scratch_free(u.sums);
  groups_free(&u.of_step);
  return status;
}

const struct derive_pass derive_unfused_kernels = {
    .name = "kernels that could be one",
    .summary = "Kernels that compute number by number behind another one, by names and the order of their stream.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_name},
              {TABLE_kernels, COLUMN_kernels_op_type},
              {TABLE_kernels, COLUMN_kernels_kind},
              {TABLE_kernels, COLUMN_kernels_step_id},
              {TABLE_kernels, COLUMN_kernels_device_id},
              {TABLE_kernels, COLUMN_kernels_dur_ns},
              {TABLE_device_activities, COLUMN_device_activities_thread_id},
              {TABLE_device_activities, COLUMN_device_activities_kernel_id},
              {TABLE_device_activities, COLUMN_device_activities_end_ns},
              {TABLE_device_activities, COLUMN_device_activities_previous_end_ns},
              {TABLE_step_kernel_totals, COLUMN_step_kernel_totals_step_id},
              {TABLE_step_kernel_totals, COLUMN_step_kernel_totals_device_id}},
    .writes = {{TABLE_step_kernel_totals, COLUMN_step_kernel_totals_unfused_count},
               {TABLE_step_kernel_totals, COLUMN_step_kernel_totals_unfused_ns}},
    .run = run_unfused_kernels,
};
