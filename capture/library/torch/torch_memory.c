/* torch_memory.c: see torch_memory.h. */
#include "torch_memory.h"

#include "next_definition.h"

#include <stdio.h>
#include <string.h>

struct torch_memory_functions torch_memory;

bool torch_memory_find(const void *caller, char *reason, size_t size) {
  struct torch_memory_functions found = {.begin = 0};
  const char *missing = NULL;
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
    void *address = next_definition(wanted[i].symbol, "/libc10.so", caller);
    if (!address && wanted[i].former) address = next_definition(wanted[i].former, "/libc10.so", caller);
    if (!address && !missing) missing = wanted[i].symbol;
    memcpy(wanted[i].target, &address, sizeof address);
    if (i == 0 && address) library_bounds(address, &found.begin, &found.end);
  }
  torch_memory.release = found.release;
  torch_memory.report = found.report;
  torch_memory.report_failure = found.report_failure;
  torch_memory.begin = found.begin;
  torch_memory.end = found.end;
  atomic_store_explicit(&torch_memory.allocate, found.allocate, memory_order_release);
  if (missing && reason) snprintf(reason, size, "no library of this PyTorch has %s", missing);
  return !missing;
}
