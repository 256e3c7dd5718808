/* publish_runs.c: the tables ops and kernels: each run of a node on a lane of a device.
**
** There are many more runs than anything else in a profile, and the classic views need none of them. So they are kept
** as they were collected, and a column is made when it is asked for.
*/
#include "classic/read/publish.h"

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
  for (size_t i = 0; i < model->lanes.count; i++) facts.device |= model->lane_devices[i] != ROW_NULL;
  return facts;
}

static bool add_rows(struct tf_model *model, struct profile *profile, bool is_accelerator, size_t count,
                     const struct facts *facts) {
  struct eager_rows rows;
  string_id op = 0, compute = 0;
  bool ok =
      tf_intern(model, "op", 2, &op) && tf_intern(model, "compute", 7, &compute) &&
      eager_rows_begin(&rows, profile, is_accelerator ? TABLE_kernels : TABLE_ops, count, &model->status, model->error);
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
    /* What a device ran is told by the node, which is the op. */
    if (facts->name) column_set_add(raw, COLUMN_kernels_op_name);
    if (facts->op) column_set_add(raw, COLUMN_kernels_op_type);
    ok = eager_rows_set_constant(&rows, COLUMN_kernels_kind, compute);
  } else {
    if (facts->op) column_set_add(raw, COLUMN_ops_op_type);
    if (facts->trace) column_set_add(raw, COLUMN_ops_code_trace_id);
    /* Gradients do the work of their forward nodes, as in the code view. */
    bool has_gradients = tf_column_of(profile, TABLE_nodes, COLUMN_nodes_forward_node_id) != NULL;
    if (has_gradients) column_set_add(raw, COLUMN_ops_is_backward);
    if (has_gradients && facts->trace) column_set_add(raw, COLUMN_ops_origin_code_trace_id);
    column_set_add(raw, COLUMN_ops_self_ns);
    /* Ops of one lane overlap, since a device runs many at once; none calls another. */
    ok = eager_rows_set_constant(&rows, COLUMN_ops_category, op) &&
         eager_rows_set_absent(&rows, COLUMN_ops_parent_id) && eager_rows_set_constant(&rows, COLUMN_ops_depth, 0) &&
         eager_rows_set_absent(&rows, COLUMN_ops_sequence_number) &&
         eager_rows_set_absent(&rows, COLUMN_ops_forward_op_id) &&
         eager_rows_take(&rows, COLUMN_ops_sample_weight, column_constant_real(rows.count, 1));
  }
  eager_rows_end(&rows);
  return ok;
}

bool tf_publish_runs(struct tf_model *model, struct profile *profile) {
  struct tf_source *source = profile->source_data;
  size_t lanes = model->lanes.count, counts[2] = {0, 0};
  source->devices = malloc((lanes + 1) * sizeof *source->devices);
  source->is_accelerator = malloc((lanes + 1) * sizeof *source->is_accelerator);
  if (!source->devices || !source->is_accelerator) return tf_no_memory(model);
  for (size_t i = 0; i < lanes; i++) {
    source->devices[i] = model->lane_devices[i];
    source->is_accelerator[i] = model->lanes.items[i].is_accelerator;
    counts[source->is_accelerator[i]] += model->lanes.items[i].run_count;
  }
  struct facts facts = find_facts(model);
  source->runs = model->runs;
  model->runs = (struct tf_packed){0};
  return add_rows(model, profile, false, counts[0], &facts) && add_rows(model, profile, true, counts[1], &facts);
}

/* ---- columns ---- */

enum kind { NAME, OP, TRACE, ORIGIN, BACKWARD, NODE, STEP, LANE, DEVICE, START, DURATION, END, OTHER };

static enum kind kind_of(bool is_accelerator, unsigned column) {
  if (is_accelerator) {
    switch (column) {
      case COLUMN_kernels_name: case COLUMN_kernels_op_name: return NAME;
      case COLUMN_kernels_short_name: case COLUMN_kernels_op_type: return OP;
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
    case COLUMN_ops_origin_code_trace_id: return ORIGIN;
    case COLUMN_ops_is_backward: return BACKWARD;
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

static struct column *make_column(const struct segment *segment, enum kind kind) {
  const struct profile *profile = segment->profile;
  const struct tf_source *source = profile->source_data;
  bool is_accelerator = segment->table == TABLE_kernels;
  const struct column *nodes = tf_column_of(profile, TABLE_node_steps, COLUMN_node_steps_node_id);
  const struct column *steps = tf_column_of(profile, TABLE_node_steps, COLUMN_node_steps_step_id);
  bool is_of_code = kind == TRACE || kind == ORIGIN;
  const struct column *of_node = kind == NAME ? tf_column_of(profile, TABLE_nodes, COLUMN_nodes_name)
                                 : kind == OP ? tf_column_of(profile, TABLE_nodes, COLUMN_nodes_op_type)
                                 : is_of_code ? tf_column_of(profile, TABLE_nodes, COLUMN_nodes_code_trace_id)
                                              : NULL;
  const struct column *forwards = tf_column_of(profile, TABLE_nodes, COLUMN_nodes_forward_node_id);
  int64_t *values = malloc(((size_t)segment->rows + 1) * sizeof *values);
  uint64_t *nulls = calloc((size_t)segment->rows / 64 + 1, sizeof *nulls);
  struct tf_run_reader reader = {.block = source->runs.first};
  uint32_t row = 0;
  for (size_t i = 0; values && nulls && i < source->runs.count && row < segment->rows; i++) {
    const struct tf_run *run = tf_next_run(&reader);
    if (source->is_accelerator[run->lane] != is_accelerator) continue;
    int64_t value = 0, forward = ROW_NULL;
    if (kind == ORIGIN || kind == BACKWARD) forward = tf_value_at(forwards, tf_value_at(nodes, run->exec));
    switch (kind) {
      case NAME: case OP: case TRACE: value = tf_value_at(of_node, tf_value_at(nodes, run->exec)); break;
      case ORIGIN:
        value = tf_value_at(of_node, forward);
        if (value == ROW_NULL) value = tf_value_at(of_node, tf_value_at(nodes, run->exec));
        break;
      case BACKWARD: value = forward == ROW_NULL ? ROW_NULL : 1; break;
      case NODE: value = tf_value_at(nodes, run->exec); break;
      case STEP: value = tf_value_at(steps, run->exec); break;
      case LANE: value = run->lane; break;
      case DEVICE: value = source->devices[run->lane]; break;
      case START: value = run->start_micros * 1000; break;
      case DURATION: value = run->micros * 1000; break;
      case END:
      case OTHER: value = ROW_NULL; break;
    }
    if (value == ROW_NULL) nulls_add(nulls, row);
    values[row++] = value;
  }
  struct column *column = values && nulls ? column_from_integers(values, nulls, segment->rows) : NULL;
  free(values);
  free(nulls);
  return column;
}

/* What is being loaded. */
struct load {
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
    if (!load->out[i]) load->out[i] = make_column(load->segment, kind);
    if (!load->out[i]) return NULL;
    there = load->out[i];
  }
  return there ? column_retain(there) : make_column(load->segment, kind);
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

enum tfprof_status tf_load_runs(struct segment *segment, const uint16_t *columns, unsigned count, struct column **out,
                                struct tfprof_error *error) {
  struct load load = {segment, columns, count, out};
  for (unsigned i = 0; i < count; i++) {
    enum kind kind = kind_of(segment->table == TABLE_kernels, columns[i]);
    if (kind == OTHER || out[i]) continue;
    if (store_interrupted(segment->profile->store)) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
    out[i] = kind == END ? make_ends(&load) : make_column(segment, kind);
    if (!out[i]) return error_no_memory(error);
  }
  return TFPROF_OK;
}
