/* node_steps.c: node_steps for sources that know the modules of a model, but keep no accounts of them: what the ops
** that each module ran itself cost in each step.
**
** Of a module's row run_count is the number of those ops, exec_ns their self times and the times of the kernels that
** they launched, requested_bytes what they allocated; nothing is counted twice, so that sums over modules are right.
** Ops outside all steps make a row without a step.  The classic views go further, to single ops (classic/ops_graph.h).
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdlib.h>

struct account {
  uint32_t node, step, next;
  int64_t runs, start, end, cpu, accelerator, requested;
};

struct accounts {
  struct account *list;
  uint32_t count, capacity;
  uint32_t *last; /* by node: of its accounts, the last; NO_ROW: none */
};

static struct account *account_of(struct accounts *accounts, uint32_t node, uint32_t step) {
  for (uint32_t at = accounts->last[node]; at != NO_ROW; at = accounts->list[at].next)
    if (accounts->list[at].step == step) return &accounts->list[at];
  if (accounts->count == accounts->capacity) {
    uint32_t capacity = accounts->capacity * 2 + 256;
    struct account *list = realloc(accounts->list, (size_t)capacity * sizeof *list);
    if (!list) return NULL;
    accounts->list = list;
    accounts->capacity = capacity;
  }
  struct account *made = &accounts->list[accounts->count];
  *made =
      (struct account){.node = node, .step = step, .next = accounts->last[node], .start = NO_VALUE, .end = NO_VALUE};
  accounts->last[node] = accounts->count++;
  return made;
}

static void add_node_cost(int64_t *to, int64_t value) {
  if (value != NO_VALUE && __builtin_add_overflow(*to, value, to)) *to = value < 0 ? -INT64_MAX : INT64_MAX;
}

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
        if (node[i] == NO_ROW) continue;
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
  for (uint32_t i = 0; i < count; i++) add_node_cost(&accounts->list[i].cpu, accounts->list[i].accelerator);
  SET(exec_ns, accounts->list[i].cpu)
#undef SET
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
  if (!accounts.last) return error_no_memory(error);
  for (uint32_t i = 0; i < nodes; i++) accounts.last[i] = NO_ROW;
  status = add_ops(profile, nodes, steps, &accounts, error);
  if (!status && accounts.count) {
    qsort(accounts.list, accounts.count, sizeof *accounts.list, compare_accounts);
    status = derive_make_table(profile, TABLE_node_steps, accounts.count, error);
    if (!status) status = set_node_step_columns(profile, &accounts, error);
  }
  free(accounts.list);
  free(accounts.last);
  return status;
}

const struct derive_pass derive_node_steps = {
    .name = "costs of modules",
    .summary = "What the ops that each module ran itself cost in each step, added up.",
    .makes_table = TABLE_node_steps,
    .reads = {{TABLE_ops, COLUMN_ops_node_id},
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
