/* node_steps.c: node_steps for sources that keep no accounts of steps: of the nodes of a graph what their runs
** (node_runs) cost in each step, of the modules of a model what the ops that each ran itself did.
**
** A step may have several runs of sessions, whose costs are added up as TensorFlow's profiler does it with those of one
** step; input and output shapes are those of the last run.
**
** Of a module's row run_count is the number of those ops, exec_ns their self times and the times of the kernels that
** they launched, requested_bytes what they allocated; nothing is counted twice, so that sums over modules are right.
** Ops outside all steps make a row without a step.  The classic views go further, to single ops (classic/ops_graph.h).
*/
#include "base/list.h"
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdlib.h>

struct account {
  uint32_t node, step, next;
  int64_t runs, start, end, cpu, accelerator, requested;
  int64_t peak, residual, output; /* of runs */
  string_id shapes, call;         /* of the last run; 0: none */
};

struct accounts {
  struct account *list;
  uint32_t count, capacity;
  uint32_t *last; /* by node: of its accounts, the last; NO_ROW: none */
  bool *has_runs; /* by node */
};

static struct account *make_account(struct accounts *accounts, uint32_t node, uint32_t step) {
  if (!array_room(accounts->list, accounts->count, accounts->capacity)) return NULL;
  struct account *made = &accounts->list[accounts->count];
  *made = (struct account){.node = node,
                           .step = step,
                           .next = accounts->last[node],
                           .start = NO_VALUE,
                           .end = NO_VALUE,
                           .peak = NO_VALUE,
                           .residual = NO_VALUE,
                           .output = NO_VALUE};
  accounts->last[node] = accounts->count++;
  return made;
}

static struct account *account_of(struct accounts *accounts, uint32_t node, uint32_t step) {
  for (uint32_t at = accounts->last[node]; at != NO_ROW; at = accounts->list[at].next)
    if (accounts->list[at].step == step) return &accounts->list[at];
  return make_account(accounts, node, step);
}

static void add_node_cost(int64_t *to, int64_t value) {
  if (value != NO_VALUE && __builtin_add_overflow(*to, value, to)) *to = value < 0 ? -INT64_MAX : INT64_MAX;
}

static void add_run_cost(int64_t *to, int64_t value) {
  if (value != NO_VALUE && *to == NO_VALUE) *to = value;
  else add_node_cost(to, value);
}

/* ---- of runs ---- */

struct node_run { /* a row of node_runs */
  uint32_t node, step, row;
  int64_t start;
};

static int by_step_and_node(const void *left, const void *right) {
  const struct node_run *a = left, *b = right;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* An account for each node and step, and to which each row of node_runs belongs; NO_ROW: to none. `is_last`: whether it
** is the last of them. */
static enum tfprof_status find_accounts(struct profile *profile, uint32_t nodes, uint32_t steps,
                                        struct accounts *accounts, uint32_t *account_of_row, bool *is_last,
                                        struct tfprof_error *error) {
  uint32_t rows = 0, count = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_node_runs, &rows, error);
  struct node_run *runs = malloc(((size_t)rows + 1) * sizeof *runs);
  if (!status && !runs) status = error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_node_runs, &block, &status, error);) {
    uint32_t node[ROWS_BLOCK], step[ROWS_BLOCK];
    int64_t start[ROWS_BLOCK];
    block_references(&block, COLUMN_node_runs_node_id, nodes, node);
    block_references(&block, COLUMN_node_runs_step_id, steps, step);
    block_integers(&block, COLUMN_node_runs_start_ns, start);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t row = (uint32_t)block.row + i;
      account_of_row[row] = NO_ROW;
      if (node[i] != NO_ROW) runs[count++] = (struct node_run){node[i], step[i], row, start[i]};
    }
  }
  if (!status && count > 1) qsort(runs, count, sizeof *runs, by_step_and_node);
  for (uint32_t i = 0; i < count && !status; i++) {
    bool is_same = i && runs[i - 1].step == runs[i].step && runs[i - 1].node == runs[i].node;
    if (!is_same && !make_account(accounts, runs[i].node, runs[i].step)) status = error_no_memory(error);
    account_of_row[runs[i].row] = accounts->count - 1;
    is_last[runs[i].row] = true;
    if (is_same) is_last[runs[i - 1].row] = false;
    accounts->has_runs[runs[i].node] = true;
  }
  free(runs);
  return status;
}

static enum tfprof_status add_runs(struct profile *profile, uint32_t nodes, uint32_t steps, struct accounts *accounts,
                                   struct tfprof_error *error) {
  uint32_t rows = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_node_runs, &rows, error);
  if (status || !rows) return status;
  uint32_t *account_of_row = malloc((size_t)rows * sizeof *account_of_row);
  bool *is_last = calloc(rows, sizeof *is_last);
  status = account_of_row && is_last
               ? find_accounts(profile, nodes, steps, accounts, account_of_row, is_last, error)
               : error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_node_runs, &block, &status, error);) {
    enum { NUMBERS = 9 };
    static const uint16_t columns[NUMBERS] = {
        COLUMN_node_runs_run_count,       COLUMN_node_runs_start_ns,   COLUMN_node_runs_end_ns,
        COLUMN_node_runs_cpu_ns,          COLUMN_node_runs_accelerator_ns, COLUMN_node_runs_requested_bytes,
        COLUMN_node_runs_peak_bytes,      COLUMN_node_runs_residual_bytes, COLUMN_node_runs_output_bytes};
    int64_t values[NUMBERS][ROWS_BLOCK];
    string_id shapes[ROWS_BLOCK], calls[ROWS_BLOCK];
    for (unsigned k = 0; k < NUMBERS; k++) block_integers(&block, columns[k], values[k]);
    block_texts(&block, COLUMN_node_runs_output_shapes, shapes);
    block_texts(&block, COLUMN_node_runs_recorded_call, calls);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t place = account_of_row[block.row + i];
      struct account *account = place == NO_ROW ? NULL : &accounts->list[place];
      if (!account) continue;
      int64_t start = values[1][i], *sums[] = {&account->cpu,  &account->accelerator, &account->requested,
                                               &account->peak, &account->residual,    &account->output};
      add_node_cost(&account->runs, values[0][i]);
      if (start != NO_VALUE && (account->start == NO_VALUE || start < account->start)) account->start = start;
      if (values[2][i] > account->end) account->end = values[2][i]; /* NO_VALUE is the least of all */
      for (unsigned k = 3; k < NUMBERS; k++) add_run_cost(sums[k - 3], values[k][i]);
      if (is_last[block.row + i]) account->shapes = shapes[i], account->call = calls[i];
    }
  }
  free(account_of_row);
  free(is_last);
  return status;
}

/* ---- of ops ---- */

static enum tfprof_status add_ops(struct profile *profile, uint32_t nodes, uint32_t steps, struct accounts *accounts,
                                  struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    struct column *const *columns = segment->columns;
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      uint32_t node[ROWS_BLOCK], step[ROWS_BLOCK];
      int64_t start[ROWS_BLOCK], end[ROWS_BLOCK], self[ROWS_BLOCK], device[ROWS_BLOCK], bytes[ROWS_BLOCK];
      derive_references(columns[COLUMN_ops_node_id], first, count, nodes, node);
      derive_references(columns[COLUMN_ops_step_id], first, count, steps, step);
      derive_integers(columns[COLUMN_ops_start_ns], first, count, start);
      derive_integers(columns[COLUMN_ops_end_ns], first, count, end);
      derive_integers(columns[COLUMN_ops_self_ns], first, count, self);
      derive_integers(columns[COLUMN_ops_device_self_ns], first, count, device);
      derive_integers(columns[COLUMN_ops_allocated_self_bytes], first, count, bytes);
      for (uint32_t i = 0; i < count; i++) {
        if (node[i] == NO_ROW || accounts->has_runs[node[i]]) continue;
        struct account *account = account_of(accounts, node[i], step[i]);
        if (!account) return error_no_memory(error);
        account->runs++;
        if (start[i] != NO_VALUE && (account->start == NO_VALUE || start[i] < account->start))
          account->start = start[i];
        if (end[i] > account->end) account->end = end[i]; /* NO_VALUE is the least of all */
        add_node_cost(&account->cpu, self[i]);
        add_node_cost(&account->accelerator, device[i]);
        add_node_cost(&account->requested, bytes[i]);
      }
      enum tfprof_status status = derive_poll(profile, error);
      if (status) return status;
    }
  }
  return TFPROF_OK;
}

/* ---- their table ---- */

static int compare_accounts(const void *left, const void *right) {
  const struct account *a = left, *b = right;
  if (a->step != b->step) return a->step < b->step ? -1 : 1; /* NO_ROW, outside all steps, is last */
  return a->node < b->node ? -1 : a->node > b->node;
}

static enum tfprof_status set_node_step_columns(struct profile *profile, const struct accounts *accounts,
                                                struct tfprof_error *error) {
  uint32_t count = accounts->count, *references = malloc(((size_t)count + 1) * sizeof *references);
  int64_t *values = malloc(((size_t)count + 1) * sizeof *values);
  enum tfprof_status status = references && values ? TFPROF_OK : error_no_memory(error);
  for (uint32_t i = 0; i < count && !status; i++) references[i] = accounts->list[i].node;
  if (!status) status = derive_set_references(profile, TABLE_node_steps, COLUMN_node_steps_node_id, references, error);
  for (uint32_t i = 0; i < count && !status; i++) references[i] = accounts->list[i].step;
  if (!status) status = derive_set_references(profile, TABLE_node_steps, COLUMN_node_steps_step_id, references, error);
#define SET(column, value)                                             \
  for (uint32_t i = 0; i < count && !status; i++) values[i] = (value); \
  if (!status) status = derive_set_integers(profile, TABLE_node_steps, COLUMN_node_steps_##column, values, error);
  SET(run_count, accounts->list[i].runs)
  SET(start_ns, accounts->list[i].start)
  SET(end_ns, accounts->list[i].end)
  SET(cpu_ns, accounts->list[i].cpu)
  SET(accelerator_ns, accounts->list[i].accelerator)
  SET(requested_bytes, accounts->list[i].requested)
  SET(peak_bytes, accounts->list[i].peak)
  SET(residual_bytes, accounts->list[i].residual)
  SET(output_bytes, accounts->list[i].output)
  for (uint32_t i = 0; i < count; i++) add_node_cost(&accounts->list[i].cpu, accounts->list[i].accelerator);
  SET(exec_ns, accounts->list[i].cpu)
#undef SET
  string_id *texts = references; /* as wide */
  static_assert(sizeof *texts == sizeof *references, "ids of texts and rows of tables");
  for (uint32_t i = 0; i < count && !status; i++) texts[i] = accounts->list[i].shapes;
  if (!status) status = derive_set_texts(profile, TABLE_node_steps, COLUMN_node_steps_output_shapes, texts, error);
  for (uint32_t i = 0; i < count && !status; i++) texts[i] = accounts->list[i].call;
  if (!status) status = derive_set_texts(profile, TABLE_node_steps, COLUMN_node_steps_recorded_call, texts, error);
  free(references);
  free(values);
  return status;
}

static enum tfprof_status run_node_steps(struct profile *profile, struct tfprof_error *error) {
  uint32_t nodes, steps;
  struct accounts accounts = {0};
  enum tfprof_status status = derive_row_count(profile, TABLE_nodes, &nodes, error);
  if (!status) status = derive_row_count(profile, TABLE_steps, &steps, error);
  if (status || !nodes || !profile->tables[TABLE_node_steps].is_made) return status;
  accounts.last = malloc((size_t)nodes * sizeof *accounts.last);
  accounts.has_runs = calloc(nodes, sizeof *accounts.has_runs);
  if (!accounts.last || !accounts.has_runs) status = error_no_memory(error);
  for (uint32_t i = 0; i < nodes && !status; i++) accounts.last[i] = NO_ROW;
  if (!status) status = add_runs(profile, nodes, steps, &accounts, error);
  if (!status) status = add_ops(profile, nodes, steps, &accounts, error);
  if (!status && accounts.count) {
    qsort(accounts.list, accounts.count, sizeof *accounts.list, compare_accounts);
    status = derive_make_table(profile, TABLE_node_steps, accounts.count, error);
    if (!status) status = set_node_step_columns(profile, &accounts, error);
  }
  free(accounts.list);
  free(accounts.last);
  free(accounts.has_runs);
  return status;
}

const struct derive_pass derive_node_steps = {
    .name = "costs of nodes",
    .summary = "What the runs of each node, or the ops that each module ran itself, cost in each step, added up.",
    .makes_table = TABLE_node_steps,
    .reads = {{TABLE_node_runs, COLUMN_node_runs_node_id},
              {TABLE_node_runs, COLUMN_node_runs_step_id},
              {TABLE_node_runs, COLUMN_node_runs_run_count},
              {TABLE_node_runs, COLUMN_node_runs_start_ns},
              {TABLE_node_runs, COLUMN_node_runs_end_ns},
              {TABLE_node_runs, COLUMN_node_runs_cpu_ns},
              {TABLE_node_runs, COLUMN_node_runs_accelerator_ns},
              {TABLE_node_runs, COLUMN_node_runs_requested_bytes},
              {TABLE_node_runs, COLUMN_node_runs_peak_bytes},
              {TABLE_node_runs, COLUMN_node_runs_residual_bytes},
              {TABLE_node_runs, COLUMN_node_runs_output_bytes},
              {TABLE_node_runs, COLUMN_node_runs_output_shapes},
              {TABLE_node_runs, COLUMN_node_runs_recorded_call},
              {TABLE_ops, COLUMN_ops_node_id},
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_self_ns},
              {TABLE_ops, COLUMN_ops_device_self_ns},
              {TABLE_ops, COLUMN_ops_allocated_self_bytes},
              {TABLE_nodes, COLUMN_nodes_name},
              {TABLE_steps, COLUMN_steps_number}},
    .run = run_node_steps,
    .is_alone = true,
};
