/* activity_details.c: columns of device_activities that take a look at the kernel or the op behind each row.
**
** short_name and outermost_op_id are what sequences of kernels are told by.  They are passes of their own, because the
** other readers of device_activities need neither short names nor outermost ops.
*/
#include "derive/passes.h"
#include "derive/rows.h"

static enum tfprof_status shorten(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *kernels = NULL;
  int64_t *names = NULL, *short_names = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_device_activities, &rows, error);
  if (status || !rows) return status;
  string_id *values = scratch_allocate((size_t)rows * sizeof *values);
  if (!values) return error_no_memory(error);
  status = derive_all_references(profile, TABLE_device_activities, COLUMN_device_activities_kernel_id, &kernels, error);
  if (!status)
    status = derive_all_integers(profile, TABLE_device_activities, COLUMN_device_activities_name, &names, error);
  if (!status) status = derive_all_integers(profile, TABLE_kernels, COLUMN_kernels_short_name, &short_names, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    int64_t name = kernels[row] == NO_ROW ? NO_VALUE : short_names[kernels[row]];
    if (name == NO_VALUE || name == 0) name = names[row];
    values[row] = name == NO_VALUE ? 0 : (string_id)name;
    if (row % ROWS_BLOCK == 0) status = derive_poll(profile, error);
  }
  if (!status)
    status = derive_set_texts(profile, TABLE_device_activities, COLUMN_device_activities_short_name, values, error);
  scratch_free(values);
  scratch_free(kernels);
  scratch_free(names);
  scratch_free(short_names);
  return status;
}

static enum tfprof_status find_outermost(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows, *ops = NULL, *outermost = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_device_activities, &rows, error);
  if (status || !rows) return status;
  status = derive_all_references(profile, TABLE_device_activities, COLUMN_device_activities_op_id, &ops, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_outermost_id, &outermost, error);
  for (uint32_t row = 0; row < rows && !status; row++) {
    if (ops[row] != NO_ROW) ops[row] = outermost[ops[row]];
    if (row % ROWS_BLOCK == 0) status = derive_poll(profile, error);
  }
  if (!status)
    status =
        derive_set_references(profile, TABLE_device_activities, COLUMN_device_activities_outermost_op_id, ops, error);
  scratch_free(ops);
  scratch_free(outermost);
  return status;
}

const struct derive_pass derive_short_names_of_activities = {
    .name = "short names of device activities",
    .summary = "The short name of a kernel, the name of anything else.",
    .makes_table = -1,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_kernel_id},
              {TABLE_device_activities, COLUMN_device_activities_name},
              {TABLE_kernels, COLUMN_kernels_short_name}},
    .writes = {{TABLE_device_activities, COLUMN_device_activities_short_name}},
    .run = shorten,
};

const struct derive_pass derive_outermost_ops_of_activities = {
    .name = "outermost ops of device activities",
    .summary = "The outermost op around the one that launched it.",
    .makes_table = -1,
    .reads = {{TABLE_device_activities, COLUMN_device_activities_op_id}, {TABLE_ops, COLUMN_ops_outermost_id}},
    .writes = {{TABLE_device_activities, COLUMN_device_activities_outermost_op_id}},
    .run = find_outermost,
};
