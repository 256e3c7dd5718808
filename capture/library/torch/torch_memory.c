/* torch_memory.c: see torch_memory.h. */
#include "torch_memory.h"

#include "torch_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct torch_memory_functions torch_memory;

bool torch_memory_find(char *reason, size_t size) {
  struct torch_memory_functions found;
  void *library = torch_open_loaded("/libc10.so", &found.begin, &found.end);
  if (!library) {
    if (reason) snprintf(reason, size, "libc10.so is not loaded");
    return false;
  }
  const struct {
    void *target;
    const char *symbol, *former; /* before PyTorch 2.0, where the totals were int64_t; NULL: the same */
  } wanted[] = {
      {&found.allocate, "_ZN3c109alloc_cpuEm", NULL},
      {&found.release, "_ZN3c108free_cpuEPv", NULL},
      {&found.report, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
       "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"},
      {&found.report_failure, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
       "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    void *address = dlsym(library, wanted[i].symbol);
    if (!address && wanted[i].former) address = dlsym(library, wanted[i].former);
    if (!address) {
      if (reason) snprintf(reason, size, "this PyTorch does not have %s", wanted[i].symbol);
      return false;
    }
    memcpy(wanted[i].target, &address, sizeof address);
  }
  torch_memory = found;
  return true;
}
