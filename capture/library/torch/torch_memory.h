/* torch_memory.h: the functions of libc10.so in whose place this library's stand (memory_callbacks.h); of another
** library where PyTorch lies in one. */
#ifndef TFPROF_CAPTURE_TORCH_MEMORY_H
#define TFPROF_CAPTURE_TORCH_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c10::Device (c10/core/Device.h): trivially copyable, two signed bytes in one register. */
struct torch_device {
  int8_t type, index; /* index -1: the current one, or of the CPU the only one */
};
enum { DEVICE_TYPE_CPU = 0, DEVICE_TYPE_CUDA = 1 }; /* c10/core/DeviceType.h */

struct torch_memory_functions { /* NULL: nobody defines it */
  void *(*_Atomic allocate)(size_t bytes); /* may throw a C++ exception; who has seen it may look at the others */
  void (*release)(void *address);
  void (*report)(void *address, int64_t bytes, size_t in_use, size_t reserved, struct torch_device device);
  void (*report_failure)(int64_t bytes, size_t in_use, size_t reserved, struct torch_device device);
  uintptr_t begin, end; /* where that library lies, and with it the allocator of the CPU */
};
extern struct torch_memory_functions torch_memory;

/* Finds them; they are called before PyTorch has been imported to the end, so this is done when the first call comes
** (`caller`: a place in the code that calls; or NULL). false: `reason` (or NULL) says what is missing. */
bool torch_memory_find(const void *caller, char *reason, size_t size);

#endif
