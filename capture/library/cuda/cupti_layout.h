/* cupti_layout.h: how CUPTI's activity records lie in memory, in words of our own: tfprof is built without NVIDIA's
** headers.
**
** Of each kind a record has only ever grown at its end, from CUPTI 11.4 to 13.5 (a test compares with NVIDIA's headers
** of several versions), so one structure speaks for all of them: the newest, as far as it is read.  What an older CUPTI
** leaves out is told by cupti_layout_of(): how many bytes of each kind are there.  A field is read where HAS_FIELD says
** that it is.  The one that moved is the bandwidth of NVLink (cupti_nvlink_rate).
**
** Where a record ends is CUPTI's affair (cuptiActivityGetNextRecord); a kind that is not here is passed over and
** counted.
*/
#ifndef TFPROF_CAPTURE_CUPTI_LAYOUT_H
#define TFPROF_CAPTURE_CUPTI_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CUpti_ActivityKind: what is read. */
enum cupti_kind {
  CUPTI_MEMCPY = 1,
  CUPTI_MEMSET = 2,
  CUPTI_KERNEL = 3,
  CUPTI_DRIVER = 4,
  CUPTI_RUNTIME = 5,
  CUPTI_CONTEXT = 9,
  CUPTI_CONCURRENT_KERNEL = 10,
  CUPTI_OVERHEAD = 17,
  CUPTI_ENVIRONMENT = 20,
  CUPTI_MEMCPY_PEERS = 22,
  CUPTI_UNIFIED_MEMORY = 25,
  CUPTI_EVENT = 36,
  CUPTI_STREAM = 37,
  CUPTI_SYNCHRONIZATION = 38,
  CUPTI_EXTERNAL_CORRELATION = 39,
  CUPTI_NVLINK = 40,
  CUPTI_PCIE = 46,
  CUPTI_MEMORY = 49, /* CUPTI_ACTIVITY_KIND_MEMORY2 */
  CUPTI_MEMORY_POOL = 50,
  CUPTI_GRAPH_TRACE = 51,
  CUPTI_JIT = 52,
  CUPTI_KINDS = 64 /* those known are below */
};

struct cupti_record {
  uint32_t kind;
};

struct cupti_kernel {
  uint32_t kind;
  uint8_t cache_config; /* asked for in the low four bits, used in the others: CUfunc_cache */
  uint8_t shared_bank_size;
  uint16_t registers; /* of a thread */
  uint32_t partitioned_cache[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char *name;
  void *reserved;
  uint64_t queued, submitted; /* 0: not asked for */
  uint8_t launch_type, has_carveout, carveout, padding;
  uint32_t shared_executed;
  uint64_t graph_node;
  uint32_t shared_limit;
  uint32_t graph;
  void *access_policy;
  uint32_t channel, channel_type;
  uint32_t cluster[3], cluster_policy; /* CUPTI 11.8 */
  uint64_t local_total_wide;
  uint32_t largest_cluster, active_clusters;  /* 12.0 */
  uint8_t is_device_launched, padding_too[7]; /* 13.0 */
  int32_t priority, padding_last;             /* 13.1 */
};

struct cupti_memcpy {
  uint32_t kind;
  uint8_t direction, source, target, flags; /* flags: 1 asynchronous */
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, padding;
  void *reserved;
  uint64_t graph_node;
  uint32_t graph, channel, channel_type;
  uint8_t is_device_launched, padding_too[3];
};

struct cupti_memcpy_peers {
  uint32_t kind;
  uint8_t direction, source, target, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream;
  uint32_t source_device, source_context, target_device, target_context;
  uint32_t correlation;
  void *reserved;
  uint64_t graph_node;
  uint32_t graph, channel, channel_type, padding;
};

struct cupti_memset {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory;
  uint32_t padding;
  void *reserved;
  uint64_t graph_node;
  uint32_t graph, channel, channel_type;
  uint8_t is_device_launched, padding_too[3];
};

struct cupti_call {
  uint32_t kind, function; /* its number in its domain */
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};

struct cupti_synchronization {
  uint32_t kind, type;
  uint64_t start, end;
  uint32_t correlation, context, stream, event;
  uint64_t event_sync; /* CUPTI 12.8: which recording of the event */
  uint32_t result, padding;
};

struct cupti_event {
  uint32_t kind, correlation, context, stream, event, padding;
  uint32_t device, padding_too; /* CUPTI 12.8 */
  void *reserved;
  uint64_t device_time, event_sync;
};

struct cupti_overhead {
  uint32_t kind, overhead, object;
  uint32_t object_id[3]; /* of a thread: process, thread */
  uint64_t start, end;
  uint32_t correlation, reserved;
};

struct cupti_graph_trace {
  uint32_t kind, correlation;
  uint64_t start, end;
  uint32_t device, graph, context, stream;
};

struct cupti_unified_memory {
  uint32_t kind, counter;
  uint64_t value, start, end, address;
  uint32_t source, target, stream, process, flags, padding;
};

struct cupti_memory {
  uint32_t kind, operation, memory, correlation;
  uint64_t address, bytes, time, instruction;
  uint32_t process, device, context, stream;
  const char *name;
  uint32_t is_async, padding;
};

struct cupti_memory_pool {
  uint32_t kind, operation, type, correlation, process, device;
  uint64_t kept_bytes, address, bytes, release_threshold, time;
};

struct cupti_context {
  uint32_t kind, context, device;
  uint16_t interface, null_stream;
};

struct cupti_stream {
  uint32_t kind, context, stream, priority, flag, correlation;
};

struct cupti_environment {
  uint32_t kind, device;
  uint64_t time;
  uint32_t environment;
  uint32_t values[5]; /* clocks: MHz of multiprocessors and memory, generation and width of PCIe, reasons to throttle;
                      ** degrees Celsius; milliwatts, their limit; percent of the fan's speed */
};

struct cupti_jit {
  uint32_t kind, entry, operation, device;
  uint64_t start, end;
  uint32_t correlation, padding;
  uint64_t operation_correlation, cache_bytes;
  const char *cache_path;
  uint32_t process, thread; /* CUPTI 12.4 */
};

struct cupti_pcie {
  uint32_t kind, type; /* 0: a GPU */
  uint32_t id, domain;
  uint16_t generation, rate, width, upstream_bus; /* rate: GT/s */
  uint8_t uuid[16];
};

struct cupti_nvlink {
  uint32_t kind, version, types[2]; /* 1: a GPU */
  uint8_t uuids[2][16];
  uint32_t flag, count;
};

_Static_assert(offsetof(struct cupti_kernel, name) == 104 && offsetof(struct cupti_kernel, priority) == 216, "CUPTI's");
_Static_assert(offsetof(struct cupti_memcpy, graph) == 72 && offsetof(struct cupti_memset, graph) == 72, "CUPTI's");
_Static_assert(offsetof(struct cupti_memcpy_peers, graph_node) == 72, "CUPTI's");
_Static_assert(sizeof(struct cupti_call) == 40 && sizeof(struct cupti_synchronization) == 56, "CUPTI's");
_Static_assert(offsetof(struct cupti_jit, thread) == 68 && offsetof(struct cupti_memory, is_async) == 72, "CUPTI's");

struct cupti_layout {
  uint32_t version;            /* from this one on, as cuptiGetVersion counts: 15 is 11.4, 130000 is 13.0 */
  uint16_t sizes[CUPTI_KINDS]; /* of a record in bytes; 0: there is no such kind, or it is not read */
};
/* NULL: it is older than 11.4. A CUPTI that is newer than all that are known has the layout of the last of them. */
const struct cupti_layout *cupti_layout_of(uint32_t version);
/* The last version whose headers were looked at. */
enum { CUPTI_LAST_KNOWN_VERSION = 130500 };

/* Whether a record of `bytes` is long enough to have the field. */
#define HAS_FIELD(bytes, type, field) ((bytes) >= offsetof(struct type, field) + sizeof(((struct type *)0)->field))

/* What a connection of NVLink carries in one direction, kB/s; 0: it is not known where that lies. */
uint64_t cupti_nvlink_rate(const struct cupti_nvlink *record, uint32_t version, size_t bytes);

#endif
