/* kernel_self_time.c: kernels.self_ns, of TPUs: what an op took without those inside it.
**
** A TPU runs its ops one after the other on a line; loops, branches and calls last as long as the ops that they run.
** Those of a line are sorted, what encloses first, and each takes its duration from the one around it.
*/
#include "derive/match.h"
#include "derive/passes.h"

static bool has_tpu(const struct profile *profile, bool *is_tpu, struct tfprof_error *error) {
  string_id tpu = derive_known_text(profile, "tpu");
  enum tfprof_status status = TFPROF_OK;
  bool found = false;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_devices, &block, &status, error);) {
    string_id kinds[ROWS_BLOCK];
    block_texts(&block, COLUMN_devices_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) {
      is_tpu[block.row + i] = kinds[i] == tpu;
      found |= kinds[i] == tpu;
    }
  }
  return found && !status;
}

/* Those of each line, with their durations in selves[]. */
static enum tfprof_status list_ops(const struct profile *profile, const bool *is_tpu, uint32_t device_count,
                                   struct lane_span *spans, uint32_t *count, int64_t *selves,
                                   struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], durations[ROWS_BLOCK];
    uint32_t devices[ROWS_BLOCK], threads[ROWS_BLOCK];
    block_integers(&block, COLUMN_kernels_start_ns, starts);
    block_integers(&block, COLUMN_kernels_dur_ns, durations);
    block_references(&block, COLUMN_kernels_device_id, device_count, devices);
    block_references(&block, COLUMN_kernels_thread_id, NO_ROW, threads);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      int64_t end;
      bool is_known = devices[i] != NO_ROW && is_tpu[devices[i]] && threads[i] != NO_ROW && starts[i] != NO_VALUE &&
                      durations[i] >= 0 && !__builtin_add_overflow(starts[i], durations[i], &end);
      selves[row] = is_known ? durations[i] : NO_VALUE;
      if (is_known) spans[(*count)++] = (struct lane_span){starts[i], end, threads[i], row};
    }
  }
  return status;
}

/* `open` are places of spans that enclose the next, the outermost first. */
static void take_from_enclosing(const struct lane_span *spans, uint32_t count, uint32_t *open, int64_t *selves) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; i++) {
    while (depth && (spans[open[depth - 1]].lane != spans[i].lane || spans[open[depth - 1]].end < spans[i].end ||
                     spans[open[depth - 1]].end <= spans[i].start))
      depth--;
    if (depth) selves[spans[open[depth - 1]].row] -= spans[i].end - spans[i].start;
    open[depth++] = i;
  }
}

static enum tfprof_status run_kernel_self_time(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, device_count, count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &device_count, error);
  if (status || !rows) return status;
  bool *is_tpu = scratch_allocate_zeroed((size_t)device_count + 1, sizeof *is_tpu);
  if (!is_tpu) return error_no_memory(error);
  if (has_tpu(profile, is_tpu, error)) {
    struct lane_span *spans = scratch_allocate((size_t)rows * sizeof *spans);
    int64_t *selves = scratch_allocate((size_t)rows * sizeof *selves);
    uint32_t *open = scratch_allocate((size_t)rows * sizeof *open);
    if (!spans || !selves || !open) status = error_no_memory(error);
    if (!status) status = list_ops(profile, is_tpu, device_count, spans, &count, selves, error);
    if (!status) status = lane_span_sort(spans, count, error);
    if (!status) {
      take_from_enclosing(spans, count, open, selves);
      status = derive_set_integers(profile, TABLE_kernels, COLUMN_kernels_self_ns, selves, error);
    }
    scratch_free(spans);
    scratch_free(selves);
    scratch_free(open);
  }
  scratch_free(is_tpu);
  return status;
}

const struct derive_pass derive_kernel_self_time = {
    .name = "self time of kernels",
    .summary = "Durations of a TPU's ops without those of the ops inside, by a sweep of each line.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_device_id},
              {TABLE_kernels, COLUMN_kernels_thread_id},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_dur_ns},
              {TABLE_devices, COLUMN_devices_kind}},
    .writes = {{TABLE_kernels, COLUMN_kernels_self_ns}},
    .run = run_kernel_self_time,
};
