/* nvml_api.c: see nvml_api.h. */
#include "nvml_api.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct nvml_api nvml;

/* As they are in nvml.h of CUDA 11.4 to 13. */
_Static_assert(sizeof(struct nvml_utilization) == 8 && sizeof(struct nvml_memory) == 24, "layout of NVML");
_Static_assert(sizeof(struct nvml_process) == 24 && offsetof(struct nvml_process, bytes) == 8, "layout of NVML");
_Static_assert(sizeof(struct nvml_field_value) == 40 && offsetof(struct nvml_field_value, value) == 32,
               "layout of NVML");

static bool find_function(void *library, void *function, const char *name) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

static bool find_functions(void *library) {
  bool is_whole = find_function(library, &nvml.init, "nvmlInit_v2") &&
                  find_function(library, &nvml.device_by_uuid, "nvmlDeviceGetHandleByUUID") &&
                  find_function(library, &nvml.device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2") &&
                  find_function(library, &nvml.utilization, "nvmlDeviceGetUtilizationRates") &&
                  find_function(library, &nvml.memory, "nvmlDeviceGetMemoryInfo") &&
                  find_function(library, &nvml.power, "nvmlDeviceGetPowerUsage");
  find_function(library, &nvml.clock, "nvmlDeviceGetClockInfo");
  find_function(library, &nvml.temperature, "nvmlDeviceGetTemperature");
  if (!find_function(library, &nvml.throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
    find_function(library, &nvml.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find_function(library, &nvml.fields, "nvmlDeviceGetFieldValues");
  if (!find_function(library, &nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3"))
    find_function(library, &nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v2");
  find_function(library, &nvml.parent_of_instance, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  return is_whole;
}

static const char *reason_of(int result) {
  switch (result) {
    case NVML_NO_PERMISSION: return "it has no permission; the devices /dev/nvidia* must be readable";
    case NVML_DRIVER_NOT_LOADED: return "the kernel module nvidia is not loaded";
    case NVML_VERSION_MISMATCH:
      return "the library and the kernel module are of different versions of the driver, as after an update; restart "
             "the machine, or the container with the driver that the machine has";
    default: return NULL;
  }
}

/* Its devices would get the numbers that the program has closed, and what writes to stderr would write into them. */
static bool has_standard_descriptors(char *reason, size_t size) {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    snprintf(reason, size, "NVML would open its devices as descriptor %d, which the program has closed", number);
    return false;
  }
  return true;
}

bool nvml_begin(char *reason, size_t size) {
  static void *library;
  if (!has_standard_descriptors(reason, size)) return false;
  if (!library) library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(reason, size,
             "libnvidia-ml.so.1 cannot be loaded; it comes with the driver, and into a container with "
             "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    return false;
  }
  if (!find_functions(library)) {
    snprintf(reason, size, "libnvidia-ml.so.1 is too old; drivers from 450 on have what is needed");
    return false;
  }
  int result = nvml.init();
  if (result == NVML_OK) return true;
  const char *known = reason_of(result);
  snprintf(reason, size, "NVML answers %d%s%s", result, known ? ": " : "", known ? known : "");
  return false;
}
