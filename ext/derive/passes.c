/* passes.c: the list of derive passes.
**
** The store goes by what they read and write; of those that can run next it takes the first, and of those that could
** write a column the first one does.
*/
#include "derive/passes.h"

const struct derive_pass *const derive_passes[] = {
    &derive_nesting,
    &derive_calling_ops,
    &derive_steps,
    &derive_step_marks,
    &derive_steps_of_ops,
    &derive_steps_of_api_calls,
    &derive_steps_of_compilations,
    &derive_steps_of_instants,
    &derive_steps_of_node_changes,
    &derive_forward_ops,
    &derive_module_paths,
    &derive_code_traces,
    &derive_nested_ranges,
    &derive_ranges,
    &derive_input_events,
    &derive_marked_collectives,
    &derive_collectives,
    &derive_defaults,
    &derive_op_weights,
    &derive_measured_ops,
    &derive_device_links,
    &derive_graph_launches,
    &derive_allocations,
    &derive_memory_of_ops,
    &derive_memory_regions,
    &derive_memory_traces,
    &derive_model_changes,
    &derive_steps_of_memory_events,
    &derive_steps_of_allocations,
    &derive_sync_kernels,
    &derive_kernel_names,
    &derive_outermost_ops,
    &derive_op_names_of_ops,
    &derive_op_names_of_kernels,
    &derive_op_names_of_api_calls,
    &derive_critical_path, /* the longest to run first */
    &derive_step_segments,
    &derive_device_activities,
    &derive_last_steps,
    &derive_queue_events,
    &derive_short_names_of_activities,
    &derive_outermost_ops_of_activities,
    &derive_kernels_of_ops,
    &derive_device_steps,
    &derive_device_time_of_ops,
    &derive_tensor_core_time_of_ops,
    &derive_flops_of_ops,
    &derive_node_steps,
};
const unsigned derive_pass_count = sizeof derive_passes / sizeof derive_passes[0];
