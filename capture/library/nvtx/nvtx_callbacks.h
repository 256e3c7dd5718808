/* nvtx_callbacks.h: the functions that NVTX's header calls in our place, as it types them, and their tables.
**
** They read what they are given, no more than its own size says is there, and hand on to nvtx_ranges.h.
*/
#ifndef TFPROF_CAPTURE_NVTX_CALLBACKS_H
#define TFPROF_CAPTURE_NVTX_CALLBACKS_H

#include "nvtx_abi.h"

struct nvtx_entry {
  unsigned number;
  nvtx_function function;
};
/* Up to number 0; of extensions, whose functions begin with 0, up to function NULL. */
extern const struct nvtx_entry nvtx_core_entries[], nvtx_core2_entries[], nvtx_cuda_entries[], nvtx_cudart_entries[],
    nvtx_sync_entries[], nvtx_payload_entries[];

/* Attributes that say to be of no size. */
extern _Atomic uint64_t nvtx_attributes_wrong;

#endif
