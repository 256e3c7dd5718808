/* function_names.c: see function_names.h. */
#include "function_names.h"

#include <ctype.h>
#include <string.h>

static bool begins_with(const char *name, const char *head) { return !strncmp(name, head, strlen(head)); }

bool function_launches_graph(const char *name) { return strstr(name, "GraphLaunch") != NULL; }

bool function_is_recorded(const char *name) {
  static const char *const parts[] = {"Launch",     "Memcpy",      "Memset",      "Malloc",         "MemAlloc",
                                      "Free",       "HostAlloc",   "HostReg",     "HostUnreg",      "Synchronize",
                                      "StreamWait", "EventRecord", "MemPrefetch", "MemCreate",      "MemRelease",
                                      "MemMap",     "MemUnmap",    "DeviceReset", "PrimaryCtxReset"};
  bool is_graph = begins_with(name, "cudaGraph") || begins_with(name, "cuGraph");
  if (is_graph) return function_launches_graph(name); /* the others describe what will be launched */
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(name, parts[i])) return true;
  return false;
}

bool function_launches_kernel(const char *name) {
  return strstr(name, "LaunchKernel") || begins_with(name, "cudaLaunch_v");
}

/* "_v7000" and "_ptsz_v7000" of the runtime, "_ptsz" of both; "_v2" belongs to a name of the driver. */
size_t function_name_length(const char *name, enum cupti_domain domain) {
  size_t length = strlen(name), end = length;
  if (domain == CUPTI_RUNTIME_FUNCTIONS) {
    while (end && isdigit((unsigned char)name[end - 1])) end--;
    if (end + 4 <= length && end > 2 && name[end - 1] == 'v' && name[end - 2] == '_') length = end - 2;
  }
  if (length > 5 && (!strncmp(name + length - 5, "_ptsz", 5) || !strncmp(name + length - 5, "_ptds", 5))) length -= 5;
  return length;
}
