/* step_totals.c: the tables activity_totals, step_activity_totals and step_op_totals: what is alike added up by name,
** and in each step.
**
** What is told step by step and name by name, and what compares steps, is read from these: they have a row where ops
** and work of devices have one for each call.  A row of a step does not repeat the name, which is long as a rule: it
** refers to the row of all steps.
*/
#include "derive/passes.h"
#include "derive/totals/plain_totals.h"

/* The columns that op_totals.c makes rows of ops alike by. */
#define SHARED(column) \
  { COLUMN_op_totals_##column, COLUMN_ops_##column, PLAIN_SHARED, 0 }
static const struct plain_totals all_ops = {
    .table = TABLE_op_totals,
    .of = TABLE_ops,
    .column_count = 6,
    .columns = {SHARED(name), SHARED(op_type), SHARED(category), SHARED(execution_mode), SHARED(thread_id),
                SHARED(is_measured)},
};
#undef SHARED

#define SHARED(column) \
  { COLUMN_step_op_totals_##column, COLUMN_ops_##column, PLAIN_SHARED, 0 }
static const struct plain_totals step_ops = {
    .table = TABLE_step_op_totals,
    .of = TABLE_ops,
    .via = &all_ops,
    .column_count = 6,
    .columns = {SHARED(step_id),
                {COLUMN_step_op_totals_op_total_id, 0, PLAIN_TOTAL, 0},
                SHARED(sample_weight),
                {COLUMN_step_op_totals_count, 0, PLAIN_ROWS, 0},
                {COLUMN_step_op_totals_sum_ns, COLUMN_ops_dur_ns, PLAIN_SUM, 0},
                {COLUMN_step_op_totals_self_ns, COLUMN_ops_self_ns, PLAIN_SUM, 0}},
};
#undef SHARED

#define SHARED(column) \
  { COLUMN_activity_totals_##column, COLUMN_device_activities_##column, PLAIN_SHARED, 0 }
static const struct plain_totals all_activities = {
    .table = TABLE_activity_totals,
    .of = TABLE_device_activities,
    .column_count = 5,
    .columns = {SHARED(device_id),
                SHARED(kind),
                SHARED(name),
                {COLUMN_activity_totals_count, 0, PLAIN_ROWS, 0},
                {COLUMN_activity_totals_sum_ns, COLUMN_device_activities_dur_ns, PLAIN_SUM, 0}},
};
#undef SHARED

static const struct plain_totals step_activities = {
    .table = TABLE_step_activity_totals,
    .of = TABLE_device_activities,
    .via = &all_activities,
    .column_count = 4,
    .columns = {{COLUMN_step_activity_totals_step_id, COLUMN_device_activities_step_id, PLAIN_SHARED, 0},
                {COLUMN_step_activity_totals_activity_total_id, 0, PLAIN_TOTAL, 0},
                {COLUMN_step_activity_totals_count, 0, PLAIN_ROWS, 0},
                {COLUMN_step_activity_totals_sum_ns, COLUMN_device_activities_dur_ns, PLAIN_SUM, 0}},
};

static enum tfprof_status run_step_op_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &step_ops, true, error);
}

static enum tfprof_status run_activity_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &all_activities, true, error);
}

static enum tfprof_status run_step_activity_totals(struct profile *profile, struct tfprof_error *error) {
  return plain_totals_run(profile, &step_activities, true, error);
}

#define OP_READS(column) \
  {TABLE_op_totals, COLUMN_op_totals_##column}, { TABLE_ops, COLUMN_ops_##column }
const struct derive_pass derive_step_op_totals = {
    .name = "totals of ops by step",
    .summary = "Calls and times of ops of one step that are alike, by a hash table of these.",
    .makes_table = TABLE_step_op_totals,
    .reads = {OP_READS(name),
              OP_READS(op_type),
              OP_READS(category),
              OP_READS(execution_mode),
              OP_READS(thread_id),
              OP_READS(is_measured),
              {TABLE_ops, COLUMN_ops_step_id},
              {TABLE_ops, COLUMN_ops_sample_weight},
              {TABLE_ops, COLUMN_ops_dur_ns},
              {TABLE_ops, COLUMN_ops_self_ns},
              {TABLE_steps, COLUMN_steps_start_ns}},
    .run = run_step_op_totals,
};

#define ACTIVITY_READS \
  {TABLE_device_activities, COLUMN_device_activities_device_id}, \
      {TABLE_device_activities, COLUMN_device_activities_kind}, \
      {TABLE_device_activities, COLUMN_device_activities_name}, \
      {TABLE_device_activities, COLUMN_device_activities_dur_ns}, { \
    TABLE_devices, COLUMN_devices_ordinal \
  }

const struct derive_pass derive_activity_totals = {
    .name = "totals of device activities",
    .summary = "Work and time of devices of one device, kind and name, by a hash table of these.",
    .makes_table = TABLE_activity_totals,
    .reads = {ACTIVITY_READS},
    .run = run_activity_totals,
};

const struct derive_pass derive_step_activity_totals = {
    .name = "totals of device activities by step",
    .summary = "The same of each step, by a hash table of steps and rows of all.",
    .makes_table = TABLE_step_activity_totals,
    .reads = {ACTIVITY_READS,
              {TABLE_activity_totals, COLUMN_activity_totals_device_id},
              {TABLE_activity_totals, COLUMN_activity_totals_kind},
              {TABLE_activity_totals, COLUMN_activity_totals_name},
              {TABLE_device_activities, COLUMN_device_activities_step_id},
              {TABLE_steps, COLUMN_steps_start_ns}},
    .run = run_step_activity_totals,
};
