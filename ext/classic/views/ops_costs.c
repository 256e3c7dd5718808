/* ops_costs.c: what the nodes of ops_graph.h cost: time, memory, flops and runs of each in each step. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "classic/views/ops_graph.h"

/* The costs of a node in a step, made where new.  Ops come thread by thread, each step by step: the last one mostly is
** it, and where a node runs on several threads, any of its steps may be. */
static enum tfprof_status exec_of(struct ops_graph *graph, uint32_t node, uint32_t step, struct ops_exec **found) {
  uint32_t last = graph->list[node].last_exec;
  if (last != NO_ROW && graph->execs[last].step == step) {
    *found = &graph->execs[last];
    return TFPROF_OK;
  }
  if (graph->exec_count == INT32_MAX || !array_room(graph->execs, graph->exec_count, graph->exec_capacity))
    return error_no_memory(graph->error);
  uint32_t number = row_map_number(&graph->exec_map, (struct row_key){{node, step}});
  if (number == ROW_MAP_NONE) return error_no_memory(graph->error);
  if (number == graph->exec_count) {
    graph->execs[graph->exec_count] = (struct ops_exec){.node = node, .step = step, .next = last};
    graph->list[node].last_exec = graph->exec_count++;
  }
  *found = &graph->execs[number];
  return TFPROF_OK;
}

static void add_cost(int64_t *to, int64_t value) {
  if (value != NO_VALUE && __builtin_add_overflow(*to, value, to)) *to = value < 0 ? INT64_MIN : INT64_MAX;
}

/* ---- ops ---- */

static enum tfprof_status add_op_times(struct ops_graph *graph) {
  const struct profile_table *ops = &graph->profile->tables[TABLE_ops];
  enum tfprof_status status = OPS_REQUIRE(graph, TABLE_ops, COLUMN_ops_self_ns, COLUMN_ops_device_self_ns,
                                          COLUMN_ops_flops, COLUMN_ops_occurrence_count);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows && !status; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      int64_t self[ROWS_BLOCK], device[ROWS_BLOCK], flops[ROWS_BLOCK], runs[ROWS_BLOCK];
      derive_integers(segment->columns[COLUMN_ops_self_ns], first, count, self);
      derive_integers(segment->columns[COLUMN_ops_device_self_ns], first, count, device);
      derive_integers(segment->columns[COLUMN_ops_flops], first, count, flops);
      derive_integers(segment->columns[COLUMN_ops_occurrence_count], first, count, runs);
      for (uint32_t i = 0; i < count && !status; i++) {
        uint64_t op = segment->first_row + first + i;
        struct ops_exec *exec;
        if (graph->kinds[op] != OPS_OP) continue;
        struct ops_node *node = &graph->list[graph->nodes[op]];
        node->is_known_placed = true;
        if (flops[i] != NO_VALUE && flops[i] > node->flops) node->flops = flops[i];
        status = exec_of(graph, graph->nodes[op], graph->steps[op], &exec);
        if (status) break;
        add_cost(&exec->runs, runs[i] == NO_VALUE || runs[i] < 1 ? 1 : runs[i]);
        add_cost(&exec->cpu_ns, self[i]);
        add_cost(&exec->accelerator_ns, device[i]);
      }
      if (!status) status = derive_poll(graph->profile, graph->error);
    }
  }
  return status;
}

/* ---- devices ---- */

struct device_work {
  unsigned table, name, device, op, step, duration;
};
static const struct device_work device_works[] = {
    {TABLE_kernels, COLUMN_kernels_short_name, COLUMN_kernels_device_id, COLUMN_kernels_op_id, COLUMN_kernels_step_id,
     COLUMN_kernels_dur_ns},
    {TABLE_transfers, COLUMN_transfers_name, COLUMN_transfers_device_id, COLUMN_transfers_op_id,
     COLUMN_transfers_step_id, COLUMN_transfers_dur_ns},
};

/* Tells where the ops ran that launched something; what no known op launched becomes a node of its own. */
static enum tfprof_status add_device_work(struct ops_graph *graph, const struct device_work *work) {
  uint32_t rows, *ops = NULL, *devices = NULL, *steps = NULL;
  int64_t *durations = NULL;
  string_id *names = NULL;
  const uint16_t columns[] = {(uint16_t)work->name, (uint16_t)work->device, (uint16_t)work->op, (uint16_t)work->step,
                              (uint16_t)work->duration};
  enum tfprof_status status = derive_row_count(graph->profile, work->table, &rows, graph->error);
  if (status || !rows) return status;
  status = ops_graph_require(graph, work->table, columns, sizeof columns / sizeof *columns);
  if (!status) status = derive_all_references(graph->profile, work->table, work->op, &ops, graph->error);
  if (!status) status = derive_all_references(graph->profile, work->table, work->device, &devices, graph->error);
  if (!status) status = derive_all_references(graph->profile, work->table, work->step, &steps, graph->error);
  if (!status) status = derive_all_integers(graph->profile, work->table, work->duration, &durations, graph->error);
  if (!status) status = ops_graph_texts(graph, work->table, work->name, &names);
  uint32_t *nodes = malloc((size_t)rows * sizeof *nodes);
  if (!status && !nodes) status = error_no_memory(graph->error);
  for (uint32_t i = 0; i < rows && !status; i++) nodes[i] = NO_ROW;
  for (uint32_t i = 0; i < rows && !status; i++) {
    uint32_t node;
    struct ops_exec *exec;
    if (ops[i] != NO_ROW && ops[i] < graph->op_count && graph->kinds[ops[i]] == OPS_OP) {
      struct ops_node *launcher = &graph->list[graph->nodes[ops[i]]];
      if (launcher->accelerator == NO_ROW) launcher->accelerator = devices[i];
      nodes[i] = graph->nodes[ops[i]];
      continue;
    }
    if (!names[i]) continue;
    status = ops_graph_node(graph, NO_ROW, names[i], devices[i], 0, false, &node);
    if (!status) status = exec_of(graph, node, steps[i], &exec);
    if (status) break;
    nodes[i] = node;
    graph->list[node].trace = NO_ROW;
    graph->list[node].accelerator = devices[i];
    graph->list[node].is_known_placed = devices[i] != NO_ROW;
    add_cost(&exec->runs, 1);
    add_cost(&exec->accelerator_ns, durations[i]);
  }
  if (work->table == TABLE_kernels) graph->kernel_nodes = nodes;
  else graph->transfer_nodes = nodes;
  scratch_free(ops);
  scratch_free(devices);
  scratch_free(steps);
  scratch_free(durations);
  free(names);
  return status;
}

/* ---- memory ---- */

struct piece {
  uint32_t op;
  int64_t time, bytes; /* negative: given back */
};

static int compare_pieces(const void *left, const void *right) {
  const struct piece *a = left, *b = right;
  if (a->op != b->op) return a->op < b->op ? -1 : 1;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return a->bytes < b->bytes ? -1 : a->bytes > b->bytes; /* what is given back first makes room */
}

/* One call: its allocations and those of their releases that came before its end. */
static enum tfprof_status add_memory_of_op(struct ops_graph *graph, const struct piece *pieces, size_t count) {
  struct ops_exec *exec;
  uint32_t op = pieces->op;
  int64_t requested = 0, held = 0, peak = 0;
  for (size_t i = 0; i < count; i++) {
    if (pieces[i].bytes > 0) add_cost(&requested, pieces[i].bytes);
    add_cost(&held, pieces[i].bytes);
    peak = held > peak ? held : peak;
  }
  enum tfprof_status status = exec_of(graph, graph->nodes[op], graph->steps[op], &exec);
  if (status) return status;
  add_cost(&exec->requested_bytes, requested);
  /* Of several runs in a step the largest counts, as in TensorFlow. */
  exec->peak_bytes = peak > exec->peak_bytes ? peak : exec->peak_bytes;
  exec->residual_bytes = held > exec->residual_bytes ? held : exec->residual_bytes;
  return TFPROF_OK;
}

static enum tfprof_status add_memory(struct ops_graph *graph) {
  uint32_t rows, *ops = NULL;
  int64_t *bytes = NULL, *allocated = NULL, *released = NULL, *ends = NULL;
  struct profile *profile = graph->profile;
  struct tfprof_error *error = graph->error;
  enum tfprof_status status = OPS_REQUIRE(graph, TABLE_allocations, COLUMN_allocations_op_id, COLUMN_allocations_bytes,
                                          COLUMN_allocations_allocated_ns, COLUMN_allocations_released_ns);
  if (!status) status = derive_row_count(profile, TABLE_allocations, &rows, error);
  if (status || !rows) return status;
  status = OPS_REQUIRE(graph, TABLE_ops, COLUMN_ops_end_ns);
  if (!status) status = derive_all_references(profile, TABLE_allocations, COLUMN_allocations_op_id, &ops, error);
  if (!status) status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_bytes, &bytes, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_allocated_ns, &allocated, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_allocations, COLUMN_allocations_released_ns, &released, error);
  if (!status) status = derive_all_integers(profile, TABLE_ops, COLUMN_ops_end_ns, &ends, error);
  struct piece *pieces = status ? NULL : malloc(2 * (size_t)rows * sizeof *pieces);
  size_t count = 0;
  if (!status && !pieces) status = error_no_memory(error);
  for (uint32_t i = 0; i < rows && !status; i++) {
    uint32_t op = ops[i];
    if (op == NO_ROW || op >= graph->op_count || graph->kinds[op] != OPS_OP || bytes[i] <= 0) continue;
    pieces[count++] = (struct piece){op, allocated[i], bytes[i]};
    if (released[i] != NO_VALUE && ends[op] != NO_VALUE && released[i] <= ends[op])
      pieces[count++] = (struct piece){op, released[i], -bytes[i]};
  }
  if (!status && count) qsort(pieces, count, sizeof *pieces, compare_pieces);
  for (size_t i = 0, next; i < count && !status; i = next) {
    for (next = i + 1; next < count && pieces[next].op == pieces[i].op; next++) continue;
    status = add_memory_of_op(graph, pieces + i, next - i);
  }
  free(pieces);
  scratch_free(ops);
  scratch_free(bytes);
  scratch_free(allocated);
  scratch_free(released);
  scratch_free(ends);
  return status;
}

enum tfprof_status ops_graph_add_costs(struct ops_graph *graph) {
  enum tfprof_status status = add_op_times(graph);
  for (size_t i = 0; i < sizeof device_works / sizeof *device_works && !status; i++)
    status = add_device_work(graph, &device_works[i]);
  if (!status) status = add_memory(graph);
  return status;
}
