/* nvml_devices.h: the GPUs of the process as it numbers them itself, and one reading of each.
**
** NVML numbers all GPUs of the machine, CUDA those that CUDA_VISIBLE_DEVICES leaves, in its order; so the CUDA driver
** is asked for the UUID and the bus of each of its own, once the program has initialised it, and NVML for the device
** of that. An instance of MIG has its own memory and processes; the rest is told of the GPU that it is a part of, and
** the utilisation of neither.
**
** Only devices that the process uses are asked: each of the ranks of a host sees all of them, and to ask them of all
** would take as many times as many calls.  So the counters of a device are in the file of the rank that uses it.
*/
#ifndef TFPROF_CAPTURE_NVML_DEVICES_H
#define TFPROF_CAPTURE_NVML_DEVICES_H

#include "nvml_api.h"

enum { NVML_DEVICES = 32 };

enum gpu_value {
  GPU_UTILIZATION,
  GPU_MEMORY_UTILIZATION,
  GPU_MEMORY_USED,
  GPU_MEMORY_TOTAL,
  GPU_PROCESS_MEMORY,
  GPU_POWER,
  GPU_SM_CLOCK,
  GPU_MEMORY_CLOCK,
  GPU_TEMPERATURE,
  GPU_THROTTLE_REASONS,
  GPU_PCIE_SENT,
  GPU_PCIE_RECEIVED,
  GPU_VALUES
};

struct gpu_reading {
  uint64_t time_ns;
  int ordinal;
  unsigned known; /* a bit for each value that is */
  int failure;    /* of which NVML tells nothing: what it answers */
  double values[GPU_VALUES];
};

/* Which of the devices this process has a context of, a bit for each; all where the driver does not tell. */
uint32_t nvml_devices_used(int count);
/* How many devices the CUDA driver has; -1: it is not initialised, or not there. Loads nothing. */
int nvml_devices_count(void);
/* Finds those of NVML, after nvml_begin(). How many are known. */
int nvml_devices_find(int count);
/* false: NVML tells nothing of it.  One that is gone - off the bus, or an instance of MIG that was destroyed - is not
** asked for any more. */
bool nvml_devices_read(int ordinal, struct gpu_reading *reading);

#endif
