/* memory_forwarding.h: what PyTorch tells about its memory reaches the profiler of the user as if we were not there.
**
** PyTorch's allocators call c10::reportMemoryUsageToProfiler for what they give and take back.  This library defines
** the function itself (memory_callbacks.c) and is loaded before PyTorch into the global scope, so that the calls come
** here; the one that PyTorch has is found in libc10.so.  It is called where PyTorch would have called it:
**
** The allocator of the CPU tells only while c10::memoryProfilingEnabled() holds, which without us means: while a
** profiler of the user with profile_memory=True is active on the thread. It then keeps a table of the pieces that it
** told of, tells of no release that is not in there, and counts its totals from the pieces in there.  For us it has to
** tell everything from the beginning of the process, so its table and totals are another: those that the user's
** profiler would have seen are kept here, while there is one.  All other allocators tell in any case, and what they
** say is passed on as it is.
*/
#ifndef TFPROF_CAPTURE_MEMORY_FORWARDING_H
#define TFPROF_CAPTURE_MEMORY_FORWARDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c10::Device (c10/core/Device.h): trivially copyable, two signed bytes in one register. */
struct torch_device {
  int8_t type, index; /* index -1: the current one, or of the CPU the only one */
};
enum { DEVICE_TYPE_CPU = 0, DEVICE_TYPE_CUDA = 1, DEVICE_TYPE_HIP = 6 }; /* c10/core/DeviceType.h */

/* The functions of libc10.so; NULL until memory_find. */
struct torch_memory_functions {
  bool (*is_enabled)(void);
  void (*report)(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device);
  void (*report_failure)(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device);
  uintptr_t begin, end; /* where libc10.so lies, and with it the allocator of the CPU */
};
extern struct torch_memory_functions torch_memory;

/* Finds them, once PyTorch is loaded. false: `reason` says what is missing; then nothing is forwarded. */
bool memory_find(char *reason, size_t size);
/* In a forked child, whose other threads may have been at the table. */
void memory_forwarding_reset(void);

/* Whether a profiler of the user asks for memory on the calling thread. */
static inline bool memory_user_listens(void) { return torch_memory.is_enabled && torch_memory.is_enabled(); }
static inline bool memory_is_cpu_allocator(struct torch_device device, uintptr_t caller) {
  return device.type == DEVICE_TYPE_CPU && caller >= torch_memory.begin && caller < torch_memory.end;
}

/* What the allocator of the CPU told because we had asked it to. */
void memory_forward_cpu(void *address, int64_t bytes, struct torch_device device);
void memory_forward_cpu_failure(int64_t bytes, struct torch_device device);

#endif
