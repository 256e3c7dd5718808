/* keys.h: the members of trace events that are known, and their numbers.
**
** Event level: the Trace Event Format ("ph", "ts" ...).  Arguments: what libkineto writes into "args" (output_json.cpp
** and the generated metadata of its activities), what the autograd profiler adds (profiler_kineto.cpp), and what
** TensorFlow's timeline writes.  Everything else is KEY_UNKNOWN and can be had again through the column `attributes`.
*/
#ifndef TFPROF_JSON_KEYS_H
#define TFPROF_JSON_KEYS_H

#include <stdint.h>
#include <string.h>

/* EVENT(id, text): a member of the event; ARGUMENT(id, text): a member of its "args" */
/* clang-format off */
#define JSON_KEYS(EVENT, ARGUMENT) \
  EVENT(PH, "ph") EVENT(CAT, "cat") EVENT(NAME, "name") EVENT(PID, "pid") EVENT(TID, "tid") EVENT(TS, "ts") \
  EVENT(DUR, "dur") EVENT(ID, "id") EVENT(ID2, "id2") EVENT(ID_SCOPE, "scope") EVENT(SCOPE, "s") \
  EVENT(BINDING, "bp") EVENT(STACK_FRAME, "sf") EVENT(ARGS, "args") \
  ARGUMENT(EXTERNAL_ID, "External id") ARGUMENT(OLD_EXTERNAL_ID, "external id") \
  ARGUMENT(CORRELATION, "correlation") ARGUMENT(SEQUENCE, "Sequence number") \
  ARGUMENT(FORWARD_THREAD, "Fwd thread id") ARGUMENT(DIMS, "Input Dims") ARGUMENT(TYPES, "Input type") \
  ARGUMENT(CONCRETE, "Concrete Inputs") ARGUMENT(CALL_STACK, "Call stack") \
  ARGUMENT(MODULE_HIERARCHY, "Module Hierarchy") ARGUMENT(PYTHON_ID, "Python id") \
  ARGUMENT(PYTHON_PARENT, "Python parent id") ARGUMENT(DEVICE, "device") ARGUMENT(CONTEXT, "context") \
  ARGUMENT(STREAM, "stream") ARGUMENT(QUEUED, "queued") ARGUMENT(REGISTERS, "registers per thread") \
  ARGUMENT(SHARED_MEMORY, "shared memory") ARGUMENT(BLOCKS_PER_SM, "blocks per SM") \
  ARGUMENT(WARPS_PER_SM, "warps per SM") ARGUMENT(GRID, "grid") ARGUMENT(BLOCK, "block") \
  ARGUMENT(OCCUPANCY, "est. achieved occupancy %") ARGUMENT(PRIORITY, "priority") ARGUMENT(GRAPH_ID, "graph id") \
  ARGUMENT(GRAPH_NODE_ID, "graph node id") ARGUMENT(BYTES, "bytes") ARGUMENT(BANDWIDTH, "memory bandwidth (GB/s)") \
  ARGUMENT(FROM_DEVICE, "fromDevice") ARGUMENT(TO_DEVICE, "toDevice") ARGUMENT(KIND, "kind") \
  ARGUMENT(COLLECTIVE, "Collective name") ARGUMENT(IN_ELEMENTS, "In msg nelems") \
  ARGUMENT(OUT_ELEMENTS, "Out msg nelems") ARGUMENT(GROUP_SIZE, "Group size") ARGUMENT(DTYPE, "dtype") \
  ARGUMENT(GROUP_NAME, "Process Group Name") ARGUMENT(GROUP_RANKS, "Process Group Ranks") \
  ARGUMENT(COLLECTIVE_SEQUENCE, "Seq") ARGUMENT(ADDRESS, "Addr") ARGUMENT(MEMORY_BYTES, "Bytes") \
  ARGUMENT(DEVICE_TYPE, "Device Type") ARGUMENT(DEVICE_ID, "Device Id") \
  ARGUMENT(TOTAL_ALLOCATED, "Total Allocated") ARGUMENT(TOTAL_RESERVED, "Total Reserved") \
  ARGUMENT(SYNC_KIND, "cuda_sync_kind") ARGUMENT(WAIT_STREAM, "wait_on_stream") \
  ARGUMENT(WAIT_CORRELATION, "wait_on_cuda_event_record_corr_id") ARGUMENT(WAIT_EVENT, "wait_on_cuda_event_id") \
  ARGUMENT(ARGUMENT_NAME, "name") ARGUMENT(LABELS, "labels") ARGUMENT(SORT_INDEX, "sort_index") \
  ARGUMENT(HLO_OP, "hlo_op") ARGUMENT(HLO_MODULE, "hlo_module") ARGUMENT(STEP, "step_num") \
  ARGUMENT(FUNCTION_CALL, "tf_function_call") ARGUMENT(SOURCE, "_src") \
  ARGUMENT(OP, "op") ARGUMENT(STREAM_ID, "stream_id") ARGUMENT(RESULT, "result") \
  ARGUMENT(TASK_TYPE, "Task Type") ARGUMENT(CONNECTION, "connection_id") ARGUMENT(NATIVE_THREAD, "Thread Id") \
  ARGUMENT(PHYSICAL_STREAM, "Physic Stream Id") ARGUMENT(QUEUE_CORRELATION, "correlation_id") \
  ARGUMENT(DATA_TYPE, "data_type") ARGUMENT(ELEMENTS, "count")
/* clang-format on */

enum json_key {
#define KEY_ENUM(id, text) KEY_##id,
  JSON_KEYS(KEY_ENUM, KEY_ENUM)
#undef KEY_ENUM
  KEY_UNKNOWN,
  KEY_COUNT,
};

struct key_set { uint64_t words[2]; };
static inline void key_set_add(struct key_set *set, unsigned key) { set->words[key >> 6] |= (uint64_t)1 << (key & 63); }
static inline int key_set_has(const struct key_set *set, unsigned key) {
  return (int)(set->words[key >> 6] >> (key & 63) & 1);
}

/* Not on the fast path: the parser asks once for each shape of event. */
static inline unsigned key_find(const char *text, size_t length, int in_args) {
#define KEY_MATCH(id, name) \
  if (length == sizeof name - 1 && memcmp(text, name, sizeof name - 1) == 0) return KEY_##id;
#define KEY_SKIP(id, name)
  if (in_args) {
    JSON_KEYS(KEY_SKIP, KEY_MATCH)
  } else {
    JSON_KEYS(KEY_MATCH, KEY_SKIP)
  }
#undef KEY_MATCH
#undef KEY_SKIP
  return KEY_UNKNOWN;
}

#endif
