/* lost_kernels.c: api_calls.lacks_kernel: launches of kernels of which no kernel was recorded; and kernels of a trace
** that name no launch.
**
** CUPTI and its like drop records when their buffers are full, and some of their releases the kernels at the beginning.
** A launch whose number no kernel carries is such a one, but not while its thread captures a device graph
** (...BeginCapture to ...EndCapture): what is launched then runs when the graph does.  Launches of graphs, which run
** several kernels under one number, and of functions of the host are no launches of a kernel.
*/
#include "derive/match.h"
#include "derive/passes.h"

#include <string.h>

enum call_sort { NOT_ASKED, OTHER_CALL, KERNEL_LAUNCH, CAPTURE_BEGIN, CAPTURE_END };

static enum call_sort sort_of_call(const char *name) {
  if (strstr(name, "BeginCapture")) return CAPTURE_BEGIN;
  if (strstr(name, "EndCapture")) return CAPTURE_END;
  if (strstr(name, "Graph")) return OTHER_CALL;
  bool is_launch = strstr(name, "LaunchKernel") || strstr(name, "LaunchCooperativeKernel") ||
                   strstr(name, "KernelLaunch");
  return is_launch ? KERNEL_LAUNCH : OTHER_CALL;
}

struct launches {
  uint8_t *sorts;   /* by text */
  uint8_t *has_one; /* by call: a kernel carries its number */
  int64_t *lacks;   /* by call: the column */
  struct lane_span *captures; /* calls that begin or end one, by thread and time */
  size_t capture_count, capture_capacity;
  uint64_t launched, lost;
};

static enum tfprof_status mark_launched(struct launches *l, struct profile *profile, const struct match *calls,
                                        struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    int64_t numbers[ROWS_BLOCK];
    block_integers(&block, COLUMN_kernels_correlation, numbers);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t call = numbers[i] == NO_VALUE || numbers[i] == 0 ? NO_ROW : match_find(calls, numbers[i]);
      if (call != NO_ROW) l->has_one[call] = 1;
    }
  }
  return status;
}

static bool add_capture(struct launches *l, int64_t time, uint32_t thread, uint32_t row) {
  if (l->capture_count == l->capture_capacity) {
    size_t larger = l->capture_capacity ? l->capture_capacity * 2 : 64;
    struct lane_span *grown = scratch_resize(l->captures, larger * sizeof *grown);
    if (!grown) return false;
    l->captures = grown;
    l->capture_capacity = larger;
  }
  l->captures[l->capture_count++] = (struct lane_span){time, INT64_MAX, thread, row};
  return true;
}

static enum tfprof_status sort_calls(struct launches *l, struct profile *profile, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_api_calls, &block, &status, error);) {
    string_id names[ROWS_BLOCK];
    int64_t numbers[ROWS_BLOCK], times[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    block_texts(&block, COLUMN_api_calls_name, names);
    block_integers(&block, COLUMN_api_calls_correlation, numbers);
    block_integers(&block, COLUMN_api_calls_start_ns, times);
    block_references(&block, COLUMN_api_calls_thread_id, NO_ROW, threads);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      uint32_t row = (uint32_t)block.row + i;
      l->lacks[row] = NO_VALUE;
      if (!names[i]) continue;
      if (l->sorts[names[i]] == NOT_ASKED) l->sorts[names[i]] = (uint8_t)sort_of_call(pool_text(pool, names[i]));
      enum call_sort sort = l->sorts[names[i]];
      bool has_number = numbers[i] != NO_VALUE && numbers[i] != 0;
      if (sort == KERNEL_LAUNCH && has_number) l->lacks[row] = !l->has_one[row];
      bool is_edge = sort == CAPTURE_BEGIN || sort == CAPTURE_END;
      bool is_kept = !is_edge || times[i] == NO_VALUE || add_capture(l, times[i], threads[i], row);
      if (!is_kept) status = error_no_memory(error);
    }
  }
  return status;
}

/* Puts what a thread launched while it captured back to NULL: such calls stand among the edges, by time. */
static enum tfprof_status leave_out_captured(struct launches *l, struct profile *profile, struct tfprof_error *error) {
  int64_t *times = NULL, *names = NULL;
  uint32_t *threads = NULL, rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &rows, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_start_ns, &times, error);
  if (!status) status = derive_all_integers(profile, TABLE_api_calls, COLUMN_api_calls_name, &names, error);
  if (!status) status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_thread_id, &threads, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    bool is_lost = l->lacks[row] == 1 && times[row] != NO_VALUE;
    if (is_lost && !add_capture(l, times[row], threads[row], row)) status = error_no_memory(error);
  }
  if (!status) status = lane_span_sort(l->captures, l->capture_count, error);
  bool captures = false;
  for (size_t i = 0; i < l->capture_count && !status; i++) {
    const struct lane_span *at = &l->captures[i];
    if (i && at->lane != l->captures[i - 1].lane) captures = false;
    enum call_sort sort = l->sorts[names[at->row]];
    if (sort == CAPTURE_BEGIN || sort == CAPTURE_END) captures = sort == CAPTURE_BEGIN;
    else if (captures) l->lacks[at->row] = NO_VALUE;
  }
  scratch_free(times);
  scratch_free(names);
  scratch_free(threads);
  return status;
}

/* The recorder tells itself what it lost, leaves out or has not written yet. */
static void tell(struct profile *profile, const struct launches *l) {
  if (!l->lost || strcmp(profile->source->format, "tfprof") == 0) return;
  bool is_much = l->lost * 100 > l->launched;
  profile_diagnose_once(profile, is_much ? "warning" : "info", "lost_kernels",
                        "%llu of %llu launches have no kernel: what ran there is in no sum of kernels, and devices "
                        "look idle meanwhile (api_calls.lacks_kernel)",
                        (unsigned long long)l->lost, (unsigned long long)l->launched);
}

/* Where a trace has ops, and most of its kernels have neither an op nor a call: communication is seldom launched by one
** that is in the file. */
static enum tfprof_status tell_unlinked(struct profile *profile, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  string_id communication = derive_known_text(profile, "communication");
  uint64_t kernels = 0, unlinked = 0;
  const char *format = profile->source->format;
  bool is_trace = strcmp(format, "kineto") == 0 || strcmp(format, "chrome") == 0;
  if (!is_trace || !profile->tables[TABLE_ops].rows) return TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    uint32_t ops[ROWS_BLOCK], calls[ROWS_BLOCK];
    string_id kinds[ROWS_BLOCK];
    block_references(&block, COLUMN_kernels_op_id, NO_ROW, ops);
    block_references(&block, COLUMN_kernels_api_call_id, NO_ROW, calls);
    block_texts(&block, COLUMN_kernels_kind, kinds);
    for (uint32_t i = 0; i < block.count; i++) {
      if (kinds[i] && kinds[i] == communication) continue;
      kernels++;
      unlinked += ops[i] == NO_ROW && calls[i] == NO_ROW;
    }
  }
  if (!status && unlinked * 2 > kernels)
    profile_diagnose_once(profile, "warning", "unlinked_kernels",
                          "%llu of %llu kernels name no launch that is in the file (correlation, connection_id): they "
                          "count for no op, and for the step only that they begin in",
                          (unsigned long long)unlinked, (unsigned long long)kernels);
  return status;
}

static enum tfprof_status run_lost_kernels(struct profile *profile, struct tfprof_error *error) {
  struct launches l = {.sorts = NULL};
  struct match calls = {.form = MATCH_NOTHING};
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &rows, error);
  if (!status) status = tell_unlinked(profile, error);
  if (status || !rows) return status;
  l.sorts = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, 1);
  l.has_one = scratch_allocate_zeroed(rows, 1);
  l.lacks = scratch_allocate((size_t)rows * sizeof *l.lacks);
  if (!l.sorts || !l.has_one || !l.lacks) status = error_no_memory(error);
  if (!status) status = match_make(&calls, profile, TABLE_api_calls, COLUMN_api_calls_correlation, error);
  if (!status) status = mark_launched(&l, profile, &calls, error);
  if (!status) status = sort_calls(&l, profile, error);
  if (!status && l.capture_count) status = leave_out_captured(&l, profile, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    l.launched += l.lacks[row] != NO_VALUE;
    l.lost += l.lacks[row] == 1;
  }
  if (!status) status = derive_set_integers(profile, TABLE_api_calls, COLUMN_api_calls_lacks_kernel, l.lacks, error);
  if (!status) tell(profile, &l);
  match_free(&calls);
  scratch_free(l.sorts);
  scratch_free(l.has_one);
  scratch_free(l.lacks);
  scratch_free(l.captures);
  return status;
}

const struct derive_pass derive_lost_kernels = {
    .name = "lost kernels",
    .summary = "Launches of kernels whose number no kernel carries, but those of a device graph that is captured.",
    .makes_table = -1,
    .reads = {{TABLE_api_calls, COLUMN_api_calls_name},
              {TABLE_api_calls, COLUMN_api_calls_correlation},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_thread_id},
              {TABLE_kernels, COLUMN_kernels_correlation},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_kernels, COLUMN_kernels_api_call_id},
              {TABLE_kernels, COLUMN_kernels_kind},
              {TABLE_ops, COLUMN_ops_start_ns}},
    .writes = {{TABLE_api_calls, COLUMN_api_calls_lacks_kernel}},
    .run = run_lost_kernels,
    .is_alone = true,
    .has_diagnostics = true,
};
