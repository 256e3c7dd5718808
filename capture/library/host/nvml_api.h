/* nvml_api.h: libnvidia-ml.so.1, which the GPU's driver brings, as it is called here.
**
** Opened at run time, once a program uses CUDA, and without NVIDIA's headers: the layouts below are those that the
** library has kept since CUDA 11 (nvml.h). Its calls take up to milliseconds, and more when
** the GPU does not answer: they are made on a thread of their own (nvml_source.h).
*/
#ifndef TFPROF_CAPTURE_NVML_API_H
#define TFPROF_CAPTURE_NVML_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* nvmlReturn_t: those that are told apart. */
enum nvml_result {
  NVML_OK = 0,
  NVML_UNINITIALIZED = 1,
  NVML_INVALID_ARGUMENT = 2,
  NVML_NOT_SUPPORTED = 3,
  NVML_NO_PERMISSION = 4,
  NVML_NOT_FOUND = 6,
  NVML_INSUFFICIENT_SIZE = 7,
  NVML_DRIVER_NOT_LOADED = 9,
  NVML_GPU_IS_LOST = 15,
  NVML_VERSION_MISMATCH = 18, /* NVML_ERROR_LIB_RM_VERSION_MISMATCH */
};
enum nvml_clock { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };
enum nvml_field { NVML_PCIE_SENT = 197, NVML_PCIE_RECEIVED = 198 }; /* NVML_FI_DEV_PCIE_COUNT_TX_BYTES, _RX_ */

typedef void *nvml_device;
struct nvml_utilization {
  unsigned gpu, memory;
}; /* percent */
struct nvml_memory {
  unsigned long long total, free, used;
};
struct nvml_process { /* nvmlProcessInfo_v2_t, which _v3 has as well */
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct nvml_field_value {
  unsigned field, scope;
  long long time_us, latency_us;
  int type, result;
  union {
    double real;
    unsigned number;
    unsigned long long large_number;
  } value;
};
enum nvml_value_type { NVML_REAL = 0, NVML_UNSIGNED = 1, NVML_UNSIGNED_LONG = 2, NVML_UNSIGNED_LONG_LONG = 3 };

/* NULL: this library does not have it. The first six it must have. */
struct nvml_api {
  int (*init)(void);
  int (*device_by_uuid)(const char *uuid, nvml_device *device);
  int (*device_by_bus)(const char *bus, nvml_device *device);
  int (*utilization)(nvml_device device, struct nvml_utilization *utilization);
  int (*memory)(nvml_device device, struct nvml_memory *memory);
  int (*power)(nvml_device device, unsigned *milliwatts);
  int (*clock)(nvml_device device, enum nvml_clock clock, unsigned *megahertz);
  int (*temperature)(nvml_device device, int sensor, unsigned *degrees);
  int (*throttle_reasons)(nvml_device device, unsigned long long *bits);
  int (*fields)(nvml_device device, int count, struct nvml_field_value *values);
  int (*processes)(nvml_device device, unsigned *count, struct nvml_process *processes);
  int (*parent_of_instance)(nvml_device instance, nvml_device *device); /* of an instance of MIG */
};
extern struct nvml_api nvml;

/* Opens and initialises it. false: `reason` says why it cannot be, and what to do. */
bool nvml_begin(char *reason, size_t size);

#endif
