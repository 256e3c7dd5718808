/* graph_launches.c: the table graph_launches and kernels.graph_launch_id, for sources that record calls and kernels
** only.
**
** Every call whose name says GraphLaunch is a launch; the kernels with its correlation are its kernels.  It lasts from
** the start of the first to the end of the last of them, on the device and stream of the first; a launch of which no
** kernel was recorded has the times of its call.
**
** Where the source has launches of its own, as those of programs on a TPU, kernels are of the one that they begin in
** (what such a launch is of: launch_steps.c).
*/
#include "derive/links/device_spans.h"
#include "derive/links/graph_launches.h"
#include "derive/passes.h"

#include <string.h>

struct launch {
  int64_t start, end, graph, correlation, first_start;
  uint32_t call, kernels, device, thread;
};

struct launches {
  struct launch *items;
  uint32_t count;
  uint32_t *of_call; /* launch by row of api_calls; NO_ROW: it launches no graph */
};

/* Each name is looked at once. */
enum tfprof_status graph_launches_find_calls(struct profile *profile, uint8_t **is_launch, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  uint32_t rows;
  *is_launch = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &rows, error);
  if (status) return status;
  enum { UNKNOWN, OTHER, LAUNCH };
  uint8_t *kinds = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* by string */
  *is_launch = scratch_allocate_zeroed((size_t)rows + 1, 1);
  if (!kinds || !*is_launch) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_api_calls, &block, &status, error);) {
    string_id names[ROWS_BLOCK];
    block_texts(&block, COLUMN_api_calls_name, names);
    for (uint32_t i = 0; i < block.count; i++) {
      if (!names[i]) continue;
      uint8_t *kind = &kinds[names[i]];
      if (*kind == UNKNOWN) *kind = strstr(pool_text(pool, names[i]), "GraphLaunch") ? LAUNCH : OTHER;
      (*is_launch)[block.row + i] = *kind == LAUNCH;
    }
  }
  scratch_free(kinds);
  return status;
}

static enum tfprof_status find_launches(struct profile *profile, struct launches *l, struct tfprof_error *error) {
  const struct profile_table *calls = &profile->tables[TABLE_api_calls];
  uint32_t rows, capacity = 0;
  uint8_t *is_launch = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &rows, error);
  if (!status) status = graph_launches_find_calls(profile, &is_launch, error);
  if (!status) l->of_call = scratch_allocate(((size_t)rows + 1) * sizeof *l->of_call);
  if (!status && !l->of_call) status = error_no_memory(error);
  if (!status) memset(l->of_call, 0xff, (size_t)rows * sizeof *l->of_call);
  for (size_t s = 0; s < calls->segment_count && !status; s++) {
    const struct segment *segment = calls->segments[s];
    for (uint32_t row = 0; row < segment->rows && !status; row++) {
      uint32_t call = (uint32_t)segment->first_row + row;
      if (!is_launch[call]) continue;
      struct launch *items = scratch_grow(l->items, l->count, &capacity, 64, sizeof *items);
      if (!items) {
        status = error_no_memory(error);
        break;
      }
      l->items = items;
      int64_t span[2], correlation;
      derive_integers(segment->columns[COLUMN_api_calls_start_ns], row, 1, &span[0]);
      derive_integers(segment->columns[COLUMN_api_calls_end_ns], row, 1, &span[1]);
      derive_integers(segment->columns[COLUMN_api_calls_correlation], row, 1, &correlation);
      l->of_call[call] = l->count;
      l->items[l->count++] =
          (struct launch){span[0], span[1], NO_VALUE, correlation, NO_VALUE, call, 0, NO_ROW, NO_ROW};
    }
  }
  scratch_free(is_launch);
  return status;
}

static enum tfprof_status add_kernels(struct profile *profile, struct launches *l, uint32_t *launch_of,
                                      struct tfprof_error *error) {
  uint32_t call_count, device_count, thread_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_api_calls, &call_count, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &device_count, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &thread_count, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    uint32_t calls[ROWS_BLOCK];
    block_references(&block, COLUMN_kernels_api_call_id, call_count, calls);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t at = calls[i] == NO_ROW ? NO_ROW : l->of_call[calls[i]], row = block.first + i;
      launch_of[block.segment->first_row + row] = at;
      if (at == NO_ROW) continue;
      struct launch *launch = &l->items[at];
      int64_t start, end, graph;
      derive_integers(block.segment->columns[COLUMN_kernels_start_ns], row, 1, &start);
      derive_integers(block.segment->columns[COLUMN_kernels_end_ns], row, 1, &end);
      derive_integers(block.segment->columns[COLUMN_kernels_graph], row, 1, &graph);
      if (!launch->kernels++) {
        launch->start = start;
        launch->end = end;
      }
      if (start < launch->start) launch->start = start;
      if (end > launch->end) launch->end = end;
      if (launch->graph == NO_VALUE) launch->graph = graph;
      if (launch->first_start == NO_VALUE || start < launch->first_start) {
        launch->first_start = start;
        derive_references(block.segment->columns[COLUMN_kernels_device_id], row, 1, device_count, &launch->device);
        derive_references(block.segment->columns[COLUMN_kernels_thread_id], row, 1, thread_count, &launch->thread);
      }
    }
  }
  return status;
}

static enum tfprof_status set_graph_launch_columns(struct profile *profile, const struct launches *l,
                                                   struct tfprof_error *error) {
  uint32_t *references = scratch_allocate((size_t)l->count * sizeof *references), *of_calls = NULL;
  int64_t *integers = scratch_allocate((size_t)l->count * sizeof *integers);
  enum tfprof_status status = references && integers ? TFPROF_OK : error_no_memory(error);
#define INTEGERS(column, expression) \
  for (uint32_t i = 0; i < l->count && !status; i++) { \
    const struct launch *launch = &l->items[i]; \
    integers[i] = (expression); \
  } \
  if (!status) \
  status = derive_set_integers(profile, TABLE_graph_launches, COLUMN_graph_launches_##column, integers, error)
#define REFERENCES(column, expression) \
  for (uint32_t i = 0; i < l->count && !status; i++) { \
    const struct launch *launch = &l->items[i]; \
    references[i] = (expression); \
  } \
  if (!status) \
  status = derive_set_references(profile, TABLE_graph_launches, COLUMN_graph_launches_##column, references, error)
  INTEGERS(graph, launch->graph);
  INTEGERS(start_ns, launch->start);
  INTEGERS(end_ns, launch->end);
  INTEGERS(dur_ns, launch->start == NO_VALUE || launch->end == NO_VALUE
                       ? NO_VALUE
                       : (int64_t)((uint64_t)launch->end - (uint64_t)launch->start));
  INTEGERS(correlation, launch->correlation);
  INTEGERS(kernel_count, launch->kernels ? (int64_t)launch->kernels : NO_VALUE);
  REFERENCES(device_id, launch->device);
  REFERENCES(thread_id, launch->thread);
  REFERENCES(api_call_id, launch->call);
  if (!status) status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_op_id, &of_calls, error);
  REFERENCES(op_id, of_calls[launch->call]);
  scratch_free(of_calls);
  of_calls = NULL;
  if (!status) status = derive_all_references(profile, TABLE_api_calls, COLUMN_api_calls_step_id, &of_calls, error);
  REFERENCES(step_id, of_calls[launch->call]);
#undef INTEGERS
#undef REFERENCES
  scratch_free(of_calls);
  scratch_free(references);
  scratch_free(integers);
  return status;
}

/* kernels.graph_launch_id by time. */
static enum tfprof_status find_launches_around(struct profile *profile, struct tfprof_error *error) {
  struct device_spans launches;
  uint32_t rows, *launch_of = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (status || !rows) return status;
  status = device_spans_of_launches(profile, &launches, error);
  if (!status && launches.count) {
    launch_of = scratch_allocate((size_t)rows * sizeof *launch_of);
    if (!launch_of) status = error_no_memory(error);
    for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
      int64_t starts[ROWS_BLOCK];
      uint32_t devices[ROWS_BLOCK];
      block_integers(&block, COLUMN_kernels_start_ns, starts);
      block_references(&block, COLUMN_kernels_device_id, NO_ROW, devices);
      for (uint32_t i = 0; i < block.count; i++) {
        bool is_known = devices[i] != NO_ROW && starts[i] != NO_VALUE;
        launch_of[block.row + i] = is_known ? device_spans_find(&launches, devices[i], starts[i]) : NO_ROW;
      }
    }
    if (!status)
      status = derive_set_references(profile, TABLE_kernels, COLUMN_kernels_graph_launch_id, launch_of, error);
  }
  scratch_free(launch_of);
  device_spans_free(&launches);
  return status;
}

static bool has_links(const struct profile *profile) {
  const struct profile_table *kernels = &profile->tables[TABLE_kernels];
  return kernels->segment_count && column_set_has(&kernels->segments[0]->is_raw, COLUMN_kernels_graph_launch_id);
}

static enum tfprof_status run_graph_launches(struct profile *profile, struct tfprof_error *error) {
  struct launches l = {0};
  uint32_t kernel_count, *launch_of = NULL;
  if (!profile->tables[TABLE_graph_launches].is_made)
    return has_links(profile) ? TFPROF_OK : find_launches_around(profile, error);
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &kernel_count, error);
  if (!status) status = find_launches(profile, &l, error);
  if (!status && l.count) {
    launch_of = scratch_allocate(((size_t)kernel_count + 1) * sizeof *launch_of);
    status = launch_of ? add_kernels(profile, &l, launch_of, error) : error_no_memory(error);
    if (!status) status = derive_make_table(profile, TABLE_graph_launches, l.count, error);
    if (!status) status = set_graph_launch_columns(profile, &l, error);
    if (!status && kernel_count) {
      status = derive_set_references(profile, TABLE_kernels, COLUMN_kernels_graph_launch_id, launch_of, error);
    }
  }
  scratch_free(launch_of);
  scratch_free(l.items);
  scratch_free(l.of_call);
  return status;
}

const struct derive_pass derive_graph_launches = {
    .name = "graph launches",
    .summary = "A launch for every call that launches a graph, with the kernels that share its correlation.",
    .makes_table = TABLE_graph_launches,
    .reads = {{TABLE_api_calls, COLUMN_api_calls_name},
              {TABLE_api_calls, COLUMN_api_calls_start_ns},
              {TABLE_api_calls, COLUMN_api_calls_end_ns},
              {TABLE_api_calls, COLUMN_api_calls_correlation},
              {TABLE_api_calls, COLUMN_api_calls_op_id},
              {TABLE_api_calls, COLUMN_api_calls_step_id},
              {TABLE_kernels, COLUMN_kernels_api_call_id},
              {TABLE_kernels, COLUMN_kernels_start_ns},
              {TABLE_kernels, COLUMN_kernels_end_ns},
              {TABLE_kernels, COLUMN_kernels_graph},
              {TABLE_kernels, COLUMN_kernels_device_id},
              {TABLE_kernels, COLUMN_kernels_thread_id}},
    .writes = {{TABLE_kernels, COLUMN_kernels_graph_launch_id}},
    .run = run_graph_launches,
    .is_alone = true,
};
