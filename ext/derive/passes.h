/* passes.h: the passes of this part (derive.h). */
#ifndef TFPROF_DERIVE_PASSES_H
#define TFPROF_DERIVE_PASSES_H

#include "derive/derive.h"

extern const struct derive_pass derive_allocations;
extern const struct derive_pass derive_calling_ops;
extern const struct derive_pass derive_code_lines;
extern const struct derive_pass derive_code_traces;
extern const struct derive_pass derive_collectives;
extern const struct derive_pass derive_connected_steps;
extern const struct derive_pass derive_connected_steps_of_api_calls;
extern const struct derive_pass derive_compilations;
extern const struct derive_pass derive_critical_path;
extern const struct derive_pass derive_device_activities;
extern const struct derive_pass derive_device_kernel_totals;
extern const struct derive_pass derive_device_links;
extern const struct derive_pass derive_device_memory;
extern const struct derive_pass derive_device_peaks;
extern const struct derive_pass derive_device_steps;
extern const struct derive_pass derive_device_time_of_ops;
extern const struct derive_pass derive_device_totals_of_ops;
extern const struct derive_pass derive_execution_modes;
extern const struct derive_pass derive_flops_of_ops;
extern const struct derive_pass derive_forward_ops;
extern const struct derive_pass derive_graph_launches;
extern const struct derive_pass derive_host_steps;
extern const struct derive_pass derive_idle_reasons;
extern const struct derive_pass derive_input_events;
extern const struct derive_pass derive_kernel_configurations;
extern const struct derive_pass derive_kernel_names;
extern const struct derive_pass derive_kernel_self_time;
extern const struct derive_pass derive_kernel_totals;
extern const struct derive_pass derive_kernels_of_ops;
extern const struct derive_pass derive_lane_names;
extern const struct derive_pass derive_last_steps;
extern const struct derive_pass derive_launch_groups;
extern const struct derive_pass derive_marked_collectives;
extern const struct derive_pass derive_measured_ops;
extern const struct derive_pass derive_memory_of_ops;
extern const struct derive_pass derive_memory_regions;
extern const struct derive_pass derive_memory_segments;
extern const struct derive_pass derive_memory_traces;
extern const struct derive_pass derive_model_changes;
extern const struct derive_pass derive_module_calls;
extern const struct derive_pass derive_module_paths;
extern const struct derive_pass derive_nested_ranges;
extern const struct derive_pass derive_nesting;
extern const struct derive_pass derive_op_self_time;
extern const struct derive_pass derive_node_steps;
extern const struct derive_pass derive_occupancy;
extern const struct derive_pass derive_op_names_of_api_calls;
extern const struct derive_pass derive_op_names_of_kernels;
extern const struct derive_pass derive_op_names_of_ops;
extern const struct derive_pass derive_op_totals;
extern const struct derive_pass derive_op_types;
extern const struct derive_pass derive_op_weights;
extern const struct derive_pass derive_ops_of_ranges;
extern const struct derive_pass derive_origin_traces;
extern const struct derive_pass derive_outermost_ops;
extern const struct derive_pass derive_outermost_ops_of_activities;
extern const struct derive_pass derive_output_shapes;
extern const struct derive_pass derive_queue_events;
extern const struct derive_pass derive_ranges;
extern const struct derive_pass derive_segment_totals;
extern const struct derive_pass derive_short_names_of_activities;
extern const struct derive_pass derive_step_kernel_totals;
extern const struct derive_pass derive_step_marks;
extern const struct derive_pass derive_step_phases;
extern const struct derive_pass derive_step_segments;
extern const struct derive_pass derive_steps;
extern const struct derive_pass derive_steps_of_allocations;
extern const struct derive_pass derive_steps_of_api_calls;
extern const struct derive_pass derive_steps_of_compilations;
extern const struct derive_pass derive_steps_of_instants;
extern const struct derive_pass derive_steps_of_memory_events;
extern const struct derive_pass derive_steps_of_memory_totals;
extern const struct derive_pass derive_steps_of_module_calls;
extern const struct derive_pass derive_steps_of_node_changes;
extern const struct derive_pass derive_steps_of_ops;
extern const struct derive_pass derive_steps_of_python_samples;
extern const struct derive_pass derive_sync_kernels;
extern const struct derive_pass derive_tensor_core_time_of_ops;
extern const struct derive_pass derive_trace_costs;
extern const struct derive_pass derive_training_time;

#endif
