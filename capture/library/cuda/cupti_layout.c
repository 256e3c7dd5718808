/* cupti_layout.c: the sizes of records, version by version (see cupti_layout.h). */
#include "cupti_layout.h"

#include <string.h>

/* Kinds whose records are alike in all versions. */
#define SAME \
  [CUPTI_DRIVER] = 40, [CUPTI_RUNTIME] = 40, [CUPTI_ENVIRONMENT] = 40, [CUPTI_STREAM] = 24, \
  [CUPTI_EXTERNAL_CORRELATION] = 24, [CUPTI_PCIE] = 168
#define KERNEL(bytes) [CUPTI_KERNEL] = (bytes), [CUPTI_CONCURRENT_KERNEL] = (bytes)
/* What 11.6 to 12.7 have in common. */
#define COPIES [CUPTI_MEMCPY] = 88, [CUPTI_MEMCPY_PEERS] = 96, [CUPTI_MEMSET] = 88
#define MIDDLE \
  COPIES, [CUPTI_MEMORY] = 120, [CUPTI_MEMORY_POOL] = 72, [CUPTI_SYNCHRONIZATION] = 40, [CUPTI_EVENT] = 24, \
          [CUPTI_UNIFIED_MEMORY] = 64, [CUPTI_NVLINK] = 136
#define FIRST_TRACES [CUPTI_OVERHEAD] = 40, [CUPTI_GRAPH_TRACE] = 48, [CUPTI_CONTEXT] = 16
#define LATER_TRACES [CUPTI_OVERHEAD] = 56, [CUPTI_GRAPH_TRACE] = 56, [CUPTI_JIT] = 72
/* What 12.8 and later have in common. */
#define NEW \
  LATER_TRACES, [CUPTI_MEMCPY_PEERS] = 96, [CUPTI_MEMORY] = 128, [CUPTI_SYNCHRONIZATION] = 56, \
                [CUPTI_UNIFIED_MEMORY] = 104

/* The versions in between are those of the one before. Where NVIDIA's release notes and headers leave it open which
** update brought a longer record, the shorter one stands: what is read of a record never lies behind its end. */
static const struct cupti_layout layouts[] = {
    {15,
     {SAME, KERNEL(168), [CUPTI_MEMCPY] = 80, [CUPTI_MEMCPY_PEERS] = 88, [CUPTI_MEMSET] = 80, [CUPTI_MEMORY] = 112,
      [CUPTI_MEMORY_POOL] = 64, [CUPTI_SYNCHRONIZATION] = 40, [CUPTI_EVENT] = 24, [CUPTI_UNIFIED_MEMORY] = 64,
      [CUPTI_NVLINK] = 136, [CUPTI_OVERHEAD] = 40, [CUPTI_CONTEXT] = 16}},
    {17, {SAME, KERNEL(176), MIDDLE, FIRST_TRACES}},
    {18, {SAME, KERNEL(200), MIDDLE, FIRST_TRACES, [CUPTI_JIT] = 64}},
    {22, {SAME, KERNEL(208), MIDDLE, LATER_TRACES, [CUPTI_CONTEXT] = 24}},
    {26,
     {SAME, KERNEL(208), NEW, [CUPTI_MEMCPY] = 96, [CUPTI_MEMSET] = 88, [CUPTI_MEMORY_POOL] = 72, [CUPTI_EVENT] = 56,
      [CUPTI_CONTEXT] = 32, [CUPTI_NVLINK] = 136}},
    {130000,
     {SAME, KERNEL(216), NEW, [CUPTI_MEMCPY] = 96, [CUPTI_MEMSET] = 88, [CUPTI_MEMORY_POOL] = 80, [CUPTI_EVENT] = 56,
      [CUPTI_CONTEXT] = 32, [CUPTI_NVLINK] = 136}},
    {130100,
     {SAME, KERNEL(224), NEW, [CUPTI_MEMCPY] = 96, [CUPTI_MEMSET] = 88, [CUPTI_MEMORY_POOL] = 80, [CUPTI_EVENT] = 56,
      [CUPTI_CONTEXT] = 40, [CUPTI_NVLINK] = 136}},
    {130500,
     {SAME, KERNEL(248), NEW, [CUPTI_MEMCPY] = 112, [CUPTI_MEMSET] = 104, [CUPTI_MEMORY_POOL] = 80, [CUPTI_EVENT] = 80,
      [CUPTI_CONTEXT] = 40, [CUPTI_NVLINK] = 88}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

const struct cupti_layout *cupti_layout_of(uint32_t version) {
  const struct cupti_layout *found = NULL;
  for (unsigned i = 0; i < LAYOUTS && layouts[i].version <= version; i++) found = &layouts[i];
  return found;
}

/* CUpti_ActivityNvLink3 and 4 have two arrays of 32 ports before it; NvLink5, which 13.2 brought, has none. */
uint64_t cupti_nvlink_rate(const struct cupti_nvlink *record, uint32_t version, size_t bytes) {
  size_t offset = version < 130200 ? 120 : 72;
  uint64_t rate = 0;
  if (version >= 130200 && version < 130500) return 0;
  if (bytes >= offset + sizeof rate) memcpy(&rate, (const char *)record + offset, sizeof rate);
  return rate;
}
