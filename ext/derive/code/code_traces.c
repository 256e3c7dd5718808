/* code_traces.c: ops.code_trace_id, node_id and module: the place in the program that called an op, and the module of
** the model that it ran in, which the same stack shows.
**
** Stacks are recorded only at ops that no other recorded op encloses (recorded_code_trace), since everything inside
** came from the same line of the program.  So:
**   1. an op has the trace that was recorded at itself, else that of the nearest op around it;
**   2. a backward op without one, as on autograd's own threads, where there are no Python frames, has that of its
**      forward op: the line that made the work, not the line of the loss's backward();
**   3. what lies around such a backward op and has no trace of its own (the engine's task) has it too, of several the
**      first; what lies inside inherits it by 1.
** On the CPU the engine runs in the calling thread; there the line that called backward() was recorded, and is kept.
** The module is the innermost one on the stack that the op has its trace from: its number in recorded_module, or, where
** the source records calls of modules as rows, the one around the op (module_path).
**
** Gradients of gradients have forward ops that are backward ops themselves: 2 and 3 are repeated until nothing
** changes, at most as many times as anyone differentiates.
*/
#include "derive/links/ancestors.h"
#include "derive/modules/module_numbers.h"
#include "derive/passes.h"

enum { MAXIMUM_ROUNDS = 8 };

struct link {
  uint32_t backward, forward;
};

/* One round of 2 and 3. Returns whether anything changed. */
static bool inherit_from_forward(const struct link *links, uint32_t count, const uint32_t *parents, uint32_t *values) {
  bool is_changed = false;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t value = values[links[i].forward];
    if (values[links[i].backward] != NO_ROW || value == NO_ROW) continue;
    is_changed = true;
    for (uint32_t up = links[i].backward; up != NO_ROW && values[up] == NO_ROW; up = parents[up]) values[up] = value;
  }
  return is_changed;
}

/* The rows that have a forward op, in row order. The caller frees *links. */
static enum tfprof_status find_links(const struct profile *profile, uint32_t rows, struct link **links, uint32_t *count,
                                     struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  uint32_t capacity = 0;
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct column *forwards = ops->segments[s]->columns[COLUMN_ops_forward_op_id];
    uint32_t row = derive_find_value(forwards, 0);
    for (; row < forwards->rows; row = derive_find_value(forwards, row + 1)) {
      int64_t forward = column_integer(forwards, row);
      if ((uint64_t)forward >= rows) continue;
      struct link *items = scratch_grow(*links, *count, &capacity, 1024, sizeof *items);
      if (!items) return error_no_memory(error);
      *links = items;
      (*links)[(*count)++] = (struct link){(uint32_t)ops->segments[s]->first_row + row, (uint32_t)forward};
    }
  }
  return TFPROF_OK;
}

static bool has_recorded(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    if (ops->segments[s]->columns[COLUMN_ops_recorded_code_trace]->form != COLUMN_ABSENT) return true;
  }
  return false;
}

static bool has_called_modules(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    if (ops->segments[s]->columns[COLUMN_ops_module_path]->form != COLUMN_ABSENT) return true;
  }
  return false;
}

/* Modules whose calls are rows: the nearest call around the op, or around the one that it has its trace from. */
static enum tfprof_status set_called_modules(struct profile *profile, const uint32_t *sources, const uint32_t *parents,
                                             uint32_t rows, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  if (!has_called_modules(profile)) return TFPROF_OK;
  string_id *paths = scratch_allocate_zeroed(rows, sizeof *paths);
  string_id *modules = scratch_allocate_zeroed(rows, sizeof *modules);
  uint32_t *around = scratch_allocate((size_t)rows * sizeof *around);
  enum tfprof_status status = paths && modules && around ? TFPROF_OK : error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      derive_texts(segment->columns[COLUMN_ops_module_path], first, count, paths + segment->first_row + first);
    }
  }
  if (!status) {
    for (uint32_t row = 0; row < rows; row++) around[row] = paths[row] ? row : NO_ROW;
    derive_inherit(parents, around, rows);
    for (uint32_t row = 0; row < rows; row++) {
      uint32_t call = around[row];
      if (call == NO_ROW && sources[row] != NO_ROW) call = around[sources[row]];
      modules[row] = call == NO_ROW ? 0 : paths[call];
    }
    status = derive_set_texts(profile, TABLE_ops, COLUMN_ops_module, modules, error);
  }
  scratch_free(paths);
  scratch_free(modules);
  scratch_free(around);
  return status;
}

static enum tfprof_status set_modules(struct profile *profile, const uint32_t *sources, uint32_t rows,
                                      struct tfprof_error *error) {
  struct module_numbers numbering;
  uint32_t node_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_nodes, &node_count, error);
  if (status || !node_count) return status;
  int64_t *numbers = NULL, *names = NULL;
  uint32_t *nodes = scratch_allocate((size_t)rows * sizeof *nodes);
  string_id *modules = scratch_allocate((size_t)rows * sizeof *modules);
  status = module_numbers_make(&numbering, profile, error);
  if (!status && (!nodes || !modules)) status = error_no_memory(error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_recorded_module, &numbers, error);
  bool any = false; /* a trace may have modules that its ops do not name */
  for (uint32_t row = 0; numbers && row < rows && !any; row++)
    any = sources[row] != NO_ROW && numbers[sources[row]] != NO_VALUE;
  if (!status && any) status = derive_all_integers(profile, TABLE_nodes, COLUMN_nodes_name, &names, error);
  for (uint32_t row = 0; row < rows && !status && any; row++) {
    int64_t number = sources[row] == NO_ROW ? NO_VALUE : numbers[sources[row]];
    nodes[row] = number == NO_VALUE ? NO_ROW : module_numbers_node(&numbering, number);
    modules[row] = nodes[row] == NO_ROW || names[nodes[row]] == NO_VALUE ? 0 : (string_id)names[nodes[row]];
  }
  if (!status && any) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_node_id, nodes, error);
  if (!status && any) status = derive_set_texts(profile, TABLE_ops, COLUMN_ops_module, modules, error);
  module_numbers_free(&numbering);
  scratch_free(nodes);
  scratch_free(modules);
  scratch_free(numbers);
  scratch_free(names);
  return status;
}

/* Gives every row a value: the one it has, or that of an op around it, or 2 and 3. */
static enum tfprof_status inherit(const struct profile *profile, const uint32_t *parents, uint32_t rows,
                                  uint32_t *values, struct tfprof_error *error) {
  uint32_t link_count = 0;
  struct link *links = NULL;
  enum tfprof_status status = find_links(profile, rows, &links, &link_count, error);
  if (!status) derive_inherit(parents, values, rows);
  for (int round = 0; round < MAXIMUM_ROUNDS && !status; round++) {
    if (!inherit_from_forward(links, link_count, parents, values)) break;
    derive_inherit(parents, values, rows);
    status = derive_poll(profile, error);
  }
  scratch_free(links);
  return status;
}

/* The op whose stack it is, at first only where one was recorded, tells the module as well. */
static enum tfprof_status inherit_sources(struct profile *profile, const uint32_t *parents, uint32_t rows,
                                          uint32_t *traces, struct tfprof_error *error) {
  uint32_t *sources = scratch_allocate((size_t)rows * sizeof *sources);
  if (!sources) return error_no_memory(error);
  for (uint32_t row = 0; row < rows; row++) sources[row] = traces[row] == NO_ROW ? NO_ROW : row;
  enum tfprof_status status = inherit(profile, parents, rows, sources, error);
  if (!status) status = set_modules(profile, sources, rows, error);
  if (!status) status = set_called_modules(profile, sources, parents, rows, error);
  /* No source has another one: its own trace is still there when it is read. */
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (sources[row] != NO_ROW) traces[row] = traces[sources[row]];
  }
  scratch_free(sources);
  return status;
}

static enum tfprof_status run_code_traces(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, node_count, *traces = NULL, *parents = NULL;
  if (!has_recorded(profile)) return TFPROF_OK;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_nodes, &node_count, error);
  if (!status)
    status = derive_all_references(profile, TABLE_ops, COLUMN_ops_recorded_code_trace, &traces, error);
  if (!status) status = derive_all_op_parents(profile, &parents, error);
  if (!status && (node_count || has_called_modules(profile)))
    status = inherit_sources(profile, parents, rows, traces, error);
  else if (!status)
    status = inherit(profile, parents, rows, traces, error);
  if (!status) status = derive_set_references(profile, TABLE_ops, COLUMN_ops_code_trace_id, traces, error);
  scratch_free(parents);
  scratch_free(traces);
  return status;
}

const struct derive_pass derive_code_traces = {
    .name = "code traces",
    .summary = "The trace recorded at an op or around it, for backward ops without one that of the forward op; the "
               "innermost module on it.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_recorded_code_trace},
              {TABLE_ops, COLUMN_ops_recorded_module},
              {TABLE_ops, COLUMN_ops_module_path},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_forward_op_id},
              {TABLE_nodes, COLUMN_nodes_recorded_module},
              {TABLE_node_changes, COLUMN_node_changes_recorded_module},
              {TABLE_node_changes, COLUMN_node_changes_node_id},
              {TABLE_nodes, COLUMN_nodes_name}},
    .writes = {{TABLE_ops, COLUMN_ops_code_trace_id}, {TABLE_ops, COLUMN_ops_node_id}, {TABLE_ops, COLUMN_ops_module}},
    .run = run_code_traces,
};
