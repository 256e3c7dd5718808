/* step_totals.c: the tables activity_totals, step_activity_totals and step_op_totals: what is alike added up by name,
** and in each step; op_durations and op_device_durations: by how long it took; op_shape_totals: by the inputs;
** step_trace_totals: by the place in the program that called it; critical_path_totals: pieces of critical paths by
** kind.
**
** What is told step by step and name by name, and what compares steps, is read from these: they have a row where ops
** and work of devices have one for each call.  A row of a step does not repeat the name, which is long as a rule: it
** refers to the row of all steps.
*/
#include "derive/passes.h"
#include "derive/totals/plain_totals.h"

/* ---- what is alike, and what is added up ---- */

/* The columns that op_totals.c makes rows of ops alike by. */
static const struct plain_totals all_ops = {
    .table = TABLE_op_totals,
    .of = TABLE_ops,
    .column_count = 7,
    .columns = {SHARED(op_totals, ops, name), SHARED(op_totals, ops, op_type), SHARED(op_totals, ops, category),
                SHARED(op_totals, ops, framework), SHARED(op_totals, ops, execution_mode),
                SHARED(op_totals, ops, thread_id), SHARED(op_totals, ops, is_measured)},
};

static const struct plain_totals step_ops = {
    .table = TABLE_step_op_totals,
    .of = TABLE_ops,
    .via = &all_ops,
    .column_count = 6,
    .columns = {SHARED(step_op_totals, ops, step_id), TOTAL(step_op_totals, op_total_id),
                SHARED(step_op_totals, ops, sample_weight), ROWS(step_op_totals),
                SUM(step_op_totals, sum_ns, ops_net_ns), SUM(step_op_totals, self_ns, ops_self_ns)},
};

static const struct plain_totals durations = {
    .table = TABLE_op_durations,
    .of = TABLE_ops,
    .via = &all_ops,
    .column_count = 4,
    .columns = {TOTAL(op_durations, op_total_id), BIN(op_durations, ops_self_ns), ROWS(op_durations),
                SUM(op_durations, sum_ns, ops_self_ns)},
};

static const struct plain_totals device_durations = {
    .table = TABLE_op_device_durations,
    .of = TABLE_ops,
    .via = &all_ops,
    .column_count = 4,
    .columns = {TOTAL(op_device_durations, op_total_id), BIN(op_device_durations, ops_device_ns),
                ROWS(op_device_durations), SUM(op_device_durations, sum_ns, ops_device_ns)},
};

#define SHAPE_IS(kind, to, from) IS(kind, op_shape_totals, to, ops_##from)
#define SHAPE_SUM(to, from) SUM(op_shape_totals, to, ops_##from)
static const struct plain_totals shapes = {
    .table = TABLE_op_shape_totals,
    .of = TABLE_ops,
    .via = &all_ops,
    .column_count = 14,
    .columns = {TOTAL(op_shape_totals, op_total_id), SHARED(op_shape_totals, ops, input_shapes),
                SHARED(op_shape_totals, ops, input_types), SHARED(op_shape_totals, ops, sample_weight),
                SHAPE_IS(POSITIVE, uses_tensor_core, tensor_core_ns), SHAPE_IS(KNOWN, has_flops, flops),
                SHAPE_IS(KNOWN, has_bytes, bytes_accessed), ROWS(op_shape_totals),
                KNOWN(op_shape_totals, self_count, ops_self_ns), SHAPE_SUM(sum_ns, net_ns),
                SHAPE_SUM(self_ns, self_ns), SHAPE_SUM(device_ns, device_ns), SHAPE_SUM(flops, flops),
                SHAPE_SUM(bytes_accessed, bytes_accessed)},
};

static const struct plain_totals traces = {
    .table = TABLE_step_trace_totals,
    .of = TABLE_ops,
    .column_count = 7,
    .columns = {SHARED(step_trace_totals, ops, step_id), SHARED(step_trace_totals, ops, origin_code_trace_id),
                SHARED(step_trace_totals, ops, code_trace_id), SHARED(step_trace_totals, ops, category),
                SHARED(step_trace_totals, ops, sample_weight), ROWS(step_trace_totals),
                SUM(step_trace_totals, self_ns, ops_self_ns)},
};

static const struct plain_totals all_activities = {
    .table = TABLE_activity_totals,
    .of = TABLE_device_activities,
    .column_count = 5,
    .columns = {SHARED(activity_totals, device_activities, device_id), SHARED(activity_totals, device_activities, kind),
                SHARED(activity_totals, device_activities, name), ROWS(activity_totals),
                SUM(activity_totals, sum_ns, device_activities_dur_ns)},
};

static const struct plain_totals step_activities = {
    .table = TABLE_step_activity_totals,
    .of = TABLE_device_activities,
    .via = &all_activities,
    .column_count = 4,
    .columns = {SHARED(step_activity_totals, device_activities, step_id),
                TOTAL(step_activity_totals, activity_total_id), ROWS(step_activity_totals),
                SUM(step_activity_totals, sum_ns, device_activities_dur_ns)},
};

static const struct plain_totals path_pieces = {
    .table = TABLE_critical_path_totals,
    .of = TABLE_critical_path,
    .column_count = 5,
    .columns = {SHARED(critical_path_totals, critical_path, step_id), SHARED(critical_path_totals, critical_path, kind),
                ROWS(critical_path_totals), SUM(critical_path_totals, sum_ns, critical_path_dur_ns),
                SUM(critical_path_totals, slack_ns, critical_path_slack_ns)},
};

static enum tfprof_status run_step_op_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &step_ops, error);
}

static enum tfprof_status run_op_durations(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &durations, error);
}

static enum tfprof_status run_op_device_durations(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &device_durations, error);
}

static enum tfprof_status run_op_shape_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &shapes, error);
}

static enum tfprof_status run_step_trace_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &traces, error);
}

static enum tfprof_status run_activity_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &all_activities, error);
}

static enum tfprof_status run_step_activity_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &step_activities, error);
}

static enum tfprof_status run_critical_path_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &path_pieces, error);
}

/* ---- passes ---- */

#define SHARED_OF_OPS \
  READ(op_totals, name), READ(op_totals, op_type), READ(op_totals, category), READ(op_totals, framework), \
      READ(op_totals, execution_mode), READ(op_totals, thread_id), READ(op_totals, is_measured), READ(ops, name), \
      READ(ops, op_type), READ(ops, category), READ(ops, framework), READ(ops, execution_mode), READ(ops, thread_id), \
      READ(ops, is_measured)

const struct derive_pass derive_step_op_totals = {
    .name = "totals of ops by step",
    .summary = "Calls and times of ops of one step that are alike, by a hash table of these.",
    .makes_table = TABLE_step_op_totals,
    .reads = {SHARED_OF_OPS, READ(ops, step_id), READ(ops, sample_weight), READ(ops, net_ns), READ(ops, self_ns),
              READ(steps, start_ns)},
    .run = run_step_op_totals,
};

const struct derive_pass derive_op_durations = {
    .name = "durations of ops",
    .summary = "Ops that are alike and took about as long, by a hash table of rows of op_totals and bins.",
    .makes_table = TABLE_op_durations,
    .reads = {SHARED_OF_OPS, READ(ops, self_ns)},
    .run = run_op_durations,
};

const struct derive_pass derive_op_device_durations = {
    .name = "durations of ops on devices",
    .summary = "The same of what they launched.",
    .makes_table = TABLE_op_device_durations,
    .reads = {SHARED_OF_OPS, READ(ops, device_ns)},
    .run = run_op_device_durations,
};

const struct derive_pass derive_op_shape_totals = {
    .name = "totals of ops by shape",
    .summary = "Calls, times and work of ops that are alike, shapes and types of inputs too, by a hash table of these.",
    .makes_table = TABLE_op_shape_totals,
    .reads = {SHARED_OF_OPS, READ(ops, input_shapes), READ(ops, input_types), READ(ops, sample_weight),
              READ(ops, tensor_core_ns), READ(ops, flops), READ(ops, bytes_accessed), READ(ops, net_ns),
              READ(ops, self_ns), READ(ops, device_ns)},
    .run = run_op_shape_totals,
};

const struct derive_pass derive_step_trace_totals = {
    .name = "totals of ops by place in the program",
    .summary = "Calls and times of ops of one step that come from one place, by a hash table of these.",
    .makes_table = TABLE_step_trace_totals,
    .reads = {READ(ops, step_id), READ(ops, origin_code_trace_id), READ(ops, code_trace_id), READ(ops, category),
              READ(ops, sample_weight), READ(ops, self_ns), READ(steps, start_ns), READ(code_traces, parent_id)},
    .run = run_step_trace_totals,
};

#define SHARED_OF_ACTIVITIES \
  READ(device_activities, device_id), READ(device_activities, kind), READ(device_activities, name), \
      READ(device_activities, dur_ns), READ(devices, ordinal)

const struct derive_pass derive_activity_totals = {
    .name = "totals of device activities",
    .summary = "Work and time of devices of one device, kind and name, by a hash table of these.",
    .makes_table = TABLE_activity_totals,
    .reads = {SHARED_OF_ACTIVITIES},
    .run = run_activity_totals,
};

const struct derive_pass derive_step_activity_totals = {
    .name = "totals of device activities by step",
    .summary = "The same of each step, by a hash table of steps and rows of all.",
    .makes_table = TABLE_step_activity_totals,
    .reads = {SHARED_OF_ACTIVITIES, READ(activity_totals, device_id), READ(activity_totals, kind),
              READ(activity_totals, name), READ(device_activities, step_id), READ(steps, start_ns)},
    .run = run_step_activity_totals,
};

const struct derive_pass derive_critical_path_totals = {
    .name = "totals of critical paths",
    .summary = "Pieces of one kind on the path of a step, by a hash table of these.",
    .makes_table = TABLE_critical_path_totals,
    .reads = {READ(critical_path, step_id), READ(critical_path, kind), READ(critical_path, dur_ns),
              READ(critical_path, slack_ns), READ(steps, start_ns)},
    .run = run_critical_path_totals,
};
