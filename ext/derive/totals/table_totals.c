/* table_totals.c: kernel_launch_totals, stream_totals, op_kernel_totals, outermost_totals, api_call_totals,
** allocation_totals, memory_event_totals, module_totals and step_input_totals: rows of tables that have one for each
** thing that happened, added up by what views group them by.
**
** What stands for several steps, or is left out by statistics, is apart where views weigh it; what devices did in each
** step where that was recorded only in some.
*/
#include "derive/passes.h"
#include "derive/totals/plain_totals.h"

/* Nothing here asks which step launched a kernel, so that of an XPlane file the planes of hosts need not be read. */
#define KERNEL(column) SHARED(kernel_launch_totals, kernels, column)
static const struct plain_totals launches = {
    .table = TABLE_kernel_launch_totals,
    .of = TABLE_kernels,
    .column_count = 10,
    .columns = {KERNEL(launch_group), KERNEL(op_name), KERNEL(uses_tensor_core), KERNEL(tensor_core_eligible),
                KERNEL(theoretical_occupancy_ratio), FIRST(kernel_launch_totals, kernel_id), ROWS(kernel_launch_totals),
                SUM(kernel_launch_totals, sum_ns, kernels_dur_ns), LEAST(kernel_launch_totals, min_ns, kernels_dur_ns),
                MOST(kernel_launch_totals, max_ns, kernels_dur_ns)},
};

#define ACTIVITY(column) SHARED(stream_totals, device_activities, column)
static const struct plain_totals streams = {
    .table = TABLE_stream_totals,
    .of = TABLE_device_activities,
    .column_count = 16,
    .columns = {ACTIVITY(device_id), ACTIVITY(thread_id), ACTIVITY(kind), ACTIVITY(name), ACTIVITY(is_before_last_step),
                ACTIVITY(sample_weight), ACTIVITY(sampled_step_id),
                IS(KNOWN, stream_totals, is_kernel, device_activities_kernel_id), ROWS(stream_totals),
                KNOWN(stream_totals, known_count, device_activities_dur_ns),
                SUM(stream_totals, sum_ns, device_activities_dur_ns),
                LEAST(stream_totals, min_ns, device_activities_dur_ns),
                MOST(stream_totals, max_ns, device_activities_dur_ns),
                DEVIATION(stream_totals, stddev_ns, device_activities_dur_ns),
                LEAST(stream_totals, first_start_ns, device_activities_start_ns),
                MOST(stream_totals, last_end_ns, device_activities_end_ns)},
};

static const struct plain_totals alike_kernels = {
    .table = TABLE_op_kernel_totals,
    .of = TABLE_device_activities,
    .column_count = 7,
    .columns = {SHARED(op_kernel_totals, device_activities, like_op_id),
                IS(KNOWN, op_kernel_totals, is_first, device_activities_op_kernels_start_ns),
                REFERRED(op_kernel_totals, sample_weight, device_activities_step_id, steps_sample_weight),
                ROWS(op_kernel_totals), SUM(op_kernel_totals, sum_ns, device_activities_dur_ns),
                LATER_THAN_OF(op_kernel_totals, launch_delay_ns, device_activities_launch_ns, device_activities_op_id,
                              ops_start_ns),
                LATER(op_kernel_totals, kernel_delay_ns, device_activities_op_kernels_start_ns,
                      device_activities_launch_ns)},
};

static const struct plain_totals outermost = {
    .table = TABLE_outermost_totals,
    .of = TABLE_device_activities,
    .column_count = 4,
    .columns = {SHARED(outermost_totals, device_activities, outermost_op_id),
                SHARED(outermost_totals, device_activities, is_before_last_step), ROWS(outermost_totals),
                SUM(outermost_totals, sum_ns, device_activities_dur_ns)},
};

static const struct plain_totals calls = {
    .table = TABLE_api_call_totals,
    .of = TABLE_api_calls,
    .column_count = 10,
    .columns = {SHARED(api_call_totals, api_calls, domain), SHARED(api_call_totals, api_calls, name),
                SHARED(api_call_totals, api_calls, result), SHARED(api_call_totals, api_calls, is_measured),
                SHARED(api_call_totals, api_calls, sample_weight), SHARED(api_call_totals, api_calls, sampled_step_id),
                ROWS(api_call_totals),
                SUM(api_call_totals, sum_ns, api_calls_dur_ns), LEAST(api_call_totals, min_ns, api_calls_dur_ns),
                MOST(api_call_totals, max_ns, api_calls_dur_ns)},
};

static const struct plain_totals allocations = {
    .table = TABLE_allocation_totals,
    .of = TABLE_allocations,
    .column_count = 11,
    .columns = {SHARED(allocation_totals, allocations, device_id),
                REFERRED(allocation_totals, op_name, allocations_op_id, ops_name),
                REFERRED(allocation_totals, sample_weight, allocations_step_id, steps_sample_weight),
                SHARED(allocation_totals, allocations, occurrence_count),
                IS(KNOWN, allocation_totals, has_address, allocations_address),
                IS(KNOWN, allocation_totals, is_released, allocations_released_ns),
                IS(KNOWN, allocation_totals, has_start, allocations_allocated_ns), ROWS(allocation_totals),
                SUM(allocation_totals, bytes, allocations_bytes), MOST(allocation_totals, max_bytes, allocations_bytes),
                LATER(allocation_totals, held_ns, allocations_released_ns, allocations_allocated_ns)},
};

static const struct plain_totals memory_events = {
    .table = TABLE_memory_event_totals,
    .of = TABLE_memory_events,
    .column_count = 6,
    .columns = {SHARED(memory_event_totals, memory_events, kind),
                REFERRED(memory_event_totals, op_name, memory_events_op_id, ops_name),
                REFERRED(memory_event_totals, op_category, memory_events_op_id, ops_category),
                REFERRED(memory_event_totals, op_weight, memory_events_op_id, ops_sample_weight),
                ROWS(memory_event_totals), SUM(memory_event_totals, bytes, memory_events_bytes)},
};

static const struct plain_totals modules = {
    .table = TABLE_module_totals,
    .of = TABLE_ops,
    .column_count = 11,
    .columns = {SHARED(module_totals, ops, node_id), SHARED(module_totals, ops, module),
                SHARED(module_totals, ops, code_trace_id), SHARED(module_totals, ops, category),
                SHARED(module_totals, ops, is_measured), SHARED(module_totals, ops, is_backward),
                SHARED(module_totals, ops, sample_weight), ROWS(module_totals),
                SUM(module_totals, self_ns, ops_self_ns), SUM(module_totals, device_self_ns, ops_device_self_ns),
                SUM(module_totals, flops, ops_flops)},
};

static const struct plain_totals step_inputs = {
    .table = TABLE_step_input_totals,
    .of = TABLE_input_events,
    .column_count = 6,
    .columns = {SHARED(step_input_totals, input_events, step_id), SHARED(step_input_totals, input_events, name),
                SHARED(step_input_totals, input_events, stage), ROWS(step_input_totals),
                SUM(step_input_totals, sum_ns, input_events_dur_ns),
                SUM(step_input_totals, self_ns, input_events_self_ns)},
};

#define RUN(totals) \
  static enum tfprof_status run_##totals(struct profile *profile, struct tfprof_error *error) { \
    return plain_totals_run(profile, &(totals), error); \
  }
RUN(launches)
RUN(streams)
RUN(alike_kernels)
RUN(outermost)
RUN(calls)
RUN(allocations)
RUN(memory_events)
RUN(modules)
RUN(step_inputs)

const struct derive_pass derive_kernel_launch_totals = {
    .name = "totals of launches of kernels",
    .summary = "Kernels of one name and geometry, launched by ops of one name, by a hash table of these.",
    .makes_table = TABLE_kernel_launch_totals,
    .reads = {READ(kernels, launch_group), READ(kernels, op_name), READ(kernels, uses_tensor_core),
              READ(kernels, tensor_core_eligible), READ(kernels, theoretical_occupancy_ratio), READ(kernels, dur_ns)},
    .run = run_launches,
};

const struct derive_pass derive_stream_totals = {
    .name = "totals of streams",
    .summary = "Work and time of one stream, kind and name, by a hash table of these.",
    .makes_table = TABLE_stream_totals,
    .reads = {READ(device_activities, device_id), READ(device_activities, thread_id), READ(device_activities, kind),
              READ(device_activities, name), READ(device_activities, is_before_last_step),
              READ(device_activities, kernel_id), READ(device_activities, dur_ns), READ(device_activities, start_ns),
              READ(device_activities, end_ns), READ(device_activities, sample_weight),
              READ(device_activities, sampled_step_id), READ(devices, ordinal), READ(threads, kind),
              READ(steps, start_ns)},
    .run = run_streams,
};

const struct derive_pass derive_op_kernel_totals = {
    .name = "totals of kernels of ops",
    .summary = "Kernels of ops that launch the same, by a hash table of these.",
    .makes_table = TABLE_op_kernel_totals,
    .reads = {READ(device_activities, like_op_id), READ(device_activities, op_kernels_start_ns),
              READ(device_activities, step_id), READ(device_activities, dur_ns), READ(device_activities, launch_ns),
              READ(device_activities, op_id), READ(ops, start_ns), READ(steps, sample_weight)},
    .run = run_alike_kernels,
};

const struct derive_pass derive_outermost_totals = {
    .name = "totals of outermost ops",
    .summary = "Work of devices of one outermost op, by a hash table of these.",
    .makes_table = TABLE_outermost_totals,
    .reads = {READ(device_activities, outermost_op_id), READ(device_activities, is_before_last_step),
              READ(device_activities, dur_ns), READ(ops, start_ns)},
    .run = run_outermost,
};

const struct derive_pass derive_api_call_totals = {
    .name = "totals of API calls",
    .summary = "Calls of one function with one result, measured or not, by a hash table of these.",
    .makes_table = TABLE_api_call_totals,
    .reads = {READ(api_calls, domain), READ(api_calls, name), READ(api_calls, result), READ(api_calls, is_measured),
              READ(api_calls, sample_weight), READ(api_calls, sampled_step_id), READ(api_calls, dur_ns),
              READ(steps, start_ns)},
    .run = run_calls,
};

const struct derive_pass derive_allocation_totals = {
    .name = "totals of allocations",
    .summary = "Allocations of ops of one name on one device, in steps of one weight, by a hash table of these.",
    .makes_table = TABLE_allocation_totals,
    .reads = {READ(allocations, device_id), READ(allocations, op_id), READ(allocations, step_id),
              READ(allocations, occurrence_count), READ(allocations, address), READ(allocations, allocated_ns),
              READ(allocations, released_ns), READ(allocations, bytes), READ(ops, name), READ(steps, sample_weight),
              READ(devices, ordinal)},
    .run = run_allocations,
};

const struct derive_pass derive_memory_event_totals = {
    .name = "totals of memory events",
    .summary = "Memory events of one kind in ops of one name, by a hash table of these.",
    .makes_table = TABLE_memory_event_totals,
    .reads = {READ(memory_events, kind), READ(memory_events, op_id), READ(memory_events, bytes), READ(ops, name),
              READ(ops, category), READ(ops, sample_weight)},
    .run = run_memory_events,
};

const struct derive_pass derive_module_totals = {
    .name = "totals of modules",
    .summary = "Ops of one module, or of one place in the program, by a hash table of these.",
    .makes_table = TABLE_module_totals,
    .reads = {READ(ops, node_id), READ(ops, module), READ(ops, code_trace_id), READ(ops, category),
              READ(ops, is_measured), READ(ops, is_backward), READ(ops, sample_weight), READ(ops, self_ns),
              READ(ops, device_self_ns), READ(ops, flops)},
    .run = run_modules,
};

const struct derive_pass derive_step_input_totals = {
    .name = "totals of input events by step",
    .summary = "Input events of one step and name, by a hash table of these.",
    .makes_table = TABLE_step_input_totals,
    .reads = {READ(input_events, step_id), READ(input_events, name), READ(input_events, stage),
              READ(input_events, dur_ns), READ(input_events, self_ns), READ(steps, start_ns)},
    .run = run_step_inputs,
};
