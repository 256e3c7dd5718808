/* keys.h: the names of stats that the reader knows. What is not among them is shown in `attributes`. */
#ifndef TFPROF_XPLANE_KEYS_H
#define TFPROF_XPLANE_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* In the order of their bytes: they are looked up by halving. X(key, name) */
#define XPLANE_KEYS(X)                                              \
  X(CONSUMED, "_c")                                                 \
  X(CONSUMED_TYPE, "_ct")                                           \
  X(STAGE_CATEGORY, "_ipl_stage_cat")                               \
  X(STAGE_NAME, "_ipl_stage_name")                                  \
  X(PRODUCED, "_p")                                                 \
  X(PROCESS, "_pid")                                                \
  X(PRODUCED_TYPE, "_pt")                                           \
  X(ROOT_LEVEL, "_r")                                               \
  X(SOURCE, "_src")                                                 \
  X(ADDRESS, "addr")                                                \
  X(ALLOCATION_BYTES, "allocation_bytes")                           \
  X(ALLOCATOR, "allocator_name")                                    \
  X(PADDED_SIZE, "batch_size_after_padding")                        \
  X(BATCH_SIZE, "batch_size_before_padding")                        \
  X(INPUT_SIZE, "batching_input_task_size")                         \
  X(BUFFER_LIMIT, "buffer_limit")                                   \
  X(BYTES_ACCESSED, "bytes_accessed")                               \
  X(BYTES_ALLOCATED, "bytes_allocated")                             \
  X(BYTES_AVAILABLE, "bytes_available")                             \
  X(BYTES_RESERVED, "bytes_reserved")                               \
  X(CORRELATION, "correlation_id")                                  \
  X(COUNTER_VALUE, "counter_value")                                 \
  X(GRAPH_ID, "cuda_graph_id")                                      \
  X(GRAPH_NODE, "cuda_graph_node_id")                               \
  X(DATA_TYPE, "data_type")                                         \
  X(DEVICE_DURATION, "device_duration_ps")                          \
  X(DEVICE_ID, "device_id")                                         \
  X(DEVICE_ORDINAL, "device_ordinal")                               \
  X(ELEMENT, "element_id")                                          \
  X(EQUATION, "equation")                                           \
  X(FLOPS, "flops")                                                 \
  X(FRAGMENTATION, "fragmentation")                                 \
  X(HLO_CATEGORY, "hlo_category")                                   \
  X(HLO_MODULE, "hlo_module")                                       \
  X(HLO_OP, "hlo_op")                                               \
  X(ID, "id")                                                       \
  X(INDEX_ON_HOST, "index_on_host")                                 \
  X(IS_FUNCTION, "is_func")                                         \
  X(ITERATION, "iter_num")                                          \
  X(KERNEL_DETAILS, "kernel_details")                               \
  X(KERNEL_TYPE, "kernel_type")                                     \
  X(COPY_DETAILS, "memcpy_details")                                 \
  X(FILL_DETAILS, "memset_details")                                 \
  X(MODEL_FLOPS, "model_flops")                                     \
  X(MODEL, "model_id")                                              \
  X(NODE_NAME, "name")                                              \
  X(PADDING, "padding_amount")                                      \
  X(PARALLELISM, "parallelism")                                     \
  X(PARENT_ID, "parent_id")                                         \
  X(PEAK_BYTES, "peak_bytes_in_use")                                \
  X(PROGRAM, "program_id")                                          \
  X(REGION, "region_type")                                          \
  X(REQUESTED_BYTES, "requested_bytes")                             \
  X(RUN, "run_id")                                                  \
  X(SHAPE, "shape")                                                 \
  X(TASK_SIZE, "size")                                              \
  X(STEP, "step_num")                                               \
  X(FUNCTION_CALL, "tf_function_call")                              \
  X(TF_OP, "tf_op")                                                 \
  X(THEORETICAL_OCCUPANCY, "theoretical_occupancy_pct")

enum xplane_key {
#define X(key, name) KEY_##key,
  XPLANE_KEYS(X)
#undef X
  KEY_COUNT,
  KEY_UNKNOWN = KEY_COUNT
};

enum xplane_key xplane_find_key(const char *name, size_t length);

#endif
