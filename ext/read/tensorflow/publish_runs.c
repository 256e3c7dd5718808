/* publish_runs.c: the tables ops and kernels: each run of a node on a lane of a device.
**
** There are many more runs than anything else in a profile, and the classic views need none of them. So they are kept
** as they were collected, and a column is made when it is asked for.
*/
#include "read/tensorflow/publish.h"

struct tf_kept_runs {
  struct tf_runs runs;
  uint32_t *rows;      /* of executions: the row of node_steps */
  int64_t *devices;    /* of lanes: the row of devices, TF_NULL: none */
  bool *is_accelerator; /* of lanes */
};

void tf_kept_runs_free(struct tf_kept_runs *kept) {
  if (!kept) return;
  free(kept->runs.bytes);
  free(kept->rows);
  free(kept->devices);
  free(kept->is_accelerator);
  free(kept);
}

/* ---- what there is ---- */

/* Which facts any node that ran has; what none has may be derived. */
struct facts {
  bool name, op, trace, device;
};

static struct facts find_facts(const struct tf_model *model) {
  struct facts facts = {0};
  for (size_t i = 0; i < model->nodes.count; i++) {
    const struct tf_node *node = &model->nodes.items[i];
    if (!node->exec) continue;
    facts.name |= node->name != 0;
    facts.op |= node->op != 0;
    facts.trace |= node->trace != 0;
  }
  for (size_t i = 0; i < model->lanes.count; i++) facts.device |= model->lane_devices[i] != TF_NULL;
  return facts;
}

static bool add_rows(struct tf_model *model, struct profile *profile, bool is_accelerator, size_t count,
                     const struct facts *facts) {
  struct tf_rows rows;
  string_id op = 0, compute = 0;
  bool ok = tf_intern(model, "op", 2, &op) && tf_intern(model, "compute", 7, &compute) &&
            tf_rows_begin(&rows, model, profile, is_accelerator ? TABLE_kernels : TABLE_ops, count);
  if (!ok || count == 0) return ok;
  struct column_set *raw = &rows.segment->is_raw;
#define ADD(condition, column)                                                                          \
  if (condition) column_set_add(raw, is_accelerator ? (unsigned)COLUMN_kernels_##column : (unsigned)COLUMN_ops_##column)
  ADD(facts->name, name);
  ADD(facts->device, device_id);
  ADD(true, node_id);
  ADD(true, thread_id);
  ADD(true, step_id);
  ADD(true, start_ns);
  ADD(true, dur_ns);
  ADD(true, end_ns);
#undef ADD
  if (is_accelerator) {
    if (facts->op) column_set_add(raw, COLUMN_kernels_short_name);
    ok = tf_rows_set_constant(&rows, COLUMN_kernels_kind, compute);
  } else {
    if (facts->op) column_set_add(raw, COLUMN_ops_op_type);
    if (facts->trace) column_set_add(raw, COLUMN_ops_code_trace_id);
    column_set_add(raw, COLUMN_ops_self_ns);
    /* Ops of one lane overlap, since a device runs many at once; none calls another. */
    ok = tf_rows_set_constant(&rows, COLUMN_ops_category, op) && tf_rows_set_absent(&rows, COLUMN_ops_parent_id) &&
         tf_rows_set_constant(&rows, COLUMN_ops_depth, 0);
  }
  tf_rows_end(&rows);
  return ok;
}

bool tf_publish_runs(struct tf_model *model, struct profile *profile, const uint32_t *exec_order) {
  struct tf_source *source = profile->source_data;
  size_t execs = model->execs.count, lanes = model->lanes.count, counts[2] = {0, 0};
  struct tf_kept_runs *kept = source->runs = calloc(1, sizeof *kept);
  if (!kept) return tf_no_memory(model);
  kept->rows = malloc((execs + 1) * sizeof *kept->rows);
  kept->devices = malloc((lanes + 1) * sizeof *kept->devices);
  kept->is_accelerator = malloc((lanes + 1) * sizeof *kept->is_accelerator);
  if (!kept->rows || !kept->devices || !kept->is_accelerator) return tf_no_memory(model);
  for (size_t i = 0; i < execs; i++) kept->rows[exec_order[i]] = (uint32_t)i;
  for (size_t i = 0; i < lanes; i++) {
    kept->devices[i] = model->lane_devices[i];
    kept->is_accelerator[i] = model->lanes.items[i].is_accelerator;
    counts[kept->is_accelerator[i]] += model->lanes.items[i].run_count;
  }
  struct facts facts = find_facts(model);
  kept->runs = model->runs;
  model->runs = (struct tf_runs){0};
  return add_rows(model, profile, false, counts[0], &facts) && add_rows(model, profile, true, counts[1], &facts);
}

/* ---- columns ---- */

enum kind { NAME, OP, TRACE, NODE, STEP, LANE, DEVICE, START, DURATION, END, OTHER };

static enum kind kind_of(bool is_accelerator, unsigned column) {
  if (is_accelerator) {
    switch (column) {
      case COLUMN_kernels_name: return NAME;
      case COLUMN_kernels_short_name: return OP;
      case COLUMN_kernels_node_id: return NODE;
      case COLUMN_kernels_step_id: return STEP;
      case COLUMN_kernels_thread_id: return LANE;
      case COLUMN_kernels_device_id: return DEVICE;
      case COLUMN_kernels_start_ns: return START;
      case COLUMN_kernels_dur_ns: return DURATION;
      case COLUMN_kernels_end_ns: return END;
    }
    return OTHER;
  }
  switch (column) {
    case COLUMN_ops_name: return NAME;
    case COLUMN_ops_op_type: return OP;
    case COLUMN_ops_code_trace_id: return TRACE;
    case COLUMN_ops_node_id: return NODE;
    case COLUMN_ops_step_id: return STEP;
    case COLUMN_ops_thread_id: return LANE;
    case COLUMN_ops_device_id: return DEVICE;
    case COLUMN_ops_start_ns: return START;
    case COLUMN_ops_dur_ns: case COLUMN_ops_self_ns: return DURATION;
    case COLUMN_ops_end_ns: return END;
  }
  return OTHER;
}

/* A column of a table that is there from the start; NULL: no row has a value. */
static const struct column *other_column(const struct profile *profile, unsigned table, unsigned column) {
  return profile->tables[table].segment_count ? profile->tables[table].segments[0]->columns[column] : NULL;
}

static inline int64_t value_at(const struct column *column, int64_t row) {
  return !column || row < 0 || column_is_null(column, (uint32_t)row) ? TF_NULL : column_integer(column, (uint32_t)row);
}

static struct column *make_column(const struct tf_kept_runs *kept, const struct segment *segment, enum kind kind) {
  const struct profile *profile = segment->profile;
  bool is_accelerator = segment->table == TABLE_kernels;
  const struct column *nodes = other_column(profile, TABLE_node_steps, COLUMN_node_steps_node_id);
  const struct column *steps = other_column(profile, TABLE_node_steps, COLUMN_node_steps_step_id);
  const struct column *of_node = kind == NAME    ? other_column(profile, TABLE_nodes, COLUMN_nodes_name)
                                 : kind == OP    ? other_column(profile, TABLE_nodes, COLUMN_nodes_op_type)
                                 : kind == TRACE ? other_column(profile, TABLE_nodes, COLUMN_nodes_code_trace_id)
                                                 : NULL;
  int64_t *values = malloc(((size_t)segment->rows + 1) * sizeof *values);
  uint64_t *nulls = calloc((size_t)segment->rows / 64 + 1, sizeof *nulls);
  struct tf_run_reader reader = {.at = kept->runs.bytes};
  uint32_t row = 0;
  for (size_t i = 0; values && nulls && i < kept->runs.count && row < segment->rows; i++) {
    const struct tf_run *run = tf_next_run(&reader);
    if (kept->is_accelerator[run->lane] != is_accelerator) continue;
    int64_t value = 0;
    switch (kind) {
      case NAME: case OP: case TRACE: value = value_at(of_node, value_at(nodes, kept->rows[run->exec])); break;
      case NODE: value = value_at(nodes, kept->rows[run->exec]); break;
      case STEP: value = value_at(steps, kept->rows[run->exec]); break;
      case LANE: value = run->lane; break;
      case DEVICE: value = kept->devices[run->lane]; break;
      case START: value = run->start_micros * 1000; break;
      case DURATION: value = run->micros * 1000; break;
      case END: case OTHER: value = TF_NULL; break;
    }
    if (value == TF_NULL) nulls[row >> 6] |= (uint64_t)1 << (row & 63);
    values[row++] = value;
  }
  struct column *column = values && nulls ? column_from_integers(values, nulls, segment->rows) : NULL;
  free(values);
  free(nulls);
  return column;
}

/* What is being loaded. */
struct load {
  const struct tf_kept_runs *kept;
  const struct segment *segment;
  const uint16_t *columns;
  unsigned count;
  struct column **out;
};

/* A reference to a column that is there, or is to be loaded as well, or else is made for this alone. NULL:
** no memory. */
static struct column *get_column(const struct load *load, enum kind kind, unsigned column) {
  struct column *there = load->segment->columns[column];
  for (unsigned i = 0; i < load->count && !there; i++) {
    if (load->columns[i] != column) continue;
    if (!load->out[i]) load->out[i] = make_column(load->kept, load->segment, kind);
    if (!load->out[i]) return NULL;
    there = load->out[i];
  }
  return there ? column_retain(there) : make_column(load->kept, load->segment, kind);
}

static struct column *make_ends(const struct load *load) {
  bool is_accelerator = load->segment->table == TABLE_kernels;
  struct column *starts =
      get_column(load, START, is_accelerator ? (unsigned)COLUMN_kernels_start_ns : (unsigned)COLUMN_ops_start_ns);
  struct column *durations =
      get_column(load, DURATION, is_accelerator ? (unsigned)COLUMN_kernels_dur_ns : (unsigned)COLUMN_ops_dur_ns);
  struct column *ends = starts && durations ? column_sum(starts, durations) : NULL;
  column_release(starts);
  column_release(durations);
  return ends;
}

enum tfprof_status tf_kept_runs_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                     unsigned count, struct column **out, struct tfprof_error *error) {
  const struct tf_source *source = profile->source_data;
  struct load load = {source->runs, segment, columns, count, out};
  for (unsigned i = 0; i < count; i++) {
    enum kind kind = kind_of(segment->table == TABLE_kernels, columns[i]);
    if (kind == OTHER || out[i]) continue;
    if (store_interrupted(profile->store)) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
    out[i] = kind == END ? make_ends(&load) : make_column(source->runs, segment, kind);
    if (!out[i]) return error_no_memory(error);
  }
  return TFPROF_OK;
}

void tf_kept_runs_span(const struct tf_kept_runs *kept, int64_t *start_ns, int64_t *end_ns) {
  struct tf_run_reader reader = {.at = kept ? kept->runs.bytes : NULL};
  for (size_t i = 0; kept && i < kept->runs.count; i++) {
    const struct tf_run *run = tf_next_run(&reader);
    if (run->start_micros * 1000 < *start_ns) *start_ns = run->start_micros * 1000;
    if ((run->start_micros + run->micros) * 1000 > *end_ns) *end_ns = (run->start_micros + run->micros) * 1000;
  }
}
