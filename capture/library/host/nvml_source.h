/* nvml_source.h: what the GPUs of the process do, measured each second by NVML (nvml_api.h), as rows of counters with
** their device.
**
**   gpu_utilization            ratio    share of the time in which a kernel ran, as the driver measures it
**   gpu_memory_utilization     ratio    share of the time in which memory of the device was read or written
**   gpu_memory_used_bytes      bytes    memory in use, by all processes
**   gpu_memory_total_bytes     bytes    memory that there is
**   gpu_process_memory_bytes   bytes    memory in use by this process; not known in most containers
**   gpu_power                  W        electrical power
**   gpu_sm_clock               Hz       clock of the multiprocessors
**   gpu_memory_clock           Hz       clock of the memory
**   gpu_temperature            C        temperature
**   gpu_throttle_reasons       bits     why clocks are lower than they could be: 2 set by an application, 4 power cap,
**                                       8 hardware slowdown, 16 sync boost, 32 heat (software), 64 heat (hardware),
**                                       128 power brake, 256 set for displays; 0: they are not
**   gpu_pcie_sent_bytes        bytes    sent over PCIe so far
**   gpu_pcie_received_bytes    bytes    received over PCIe so far
**
** What a GPU or its driver does not tell has no rows. Calls of NVML block for milliseconds, so a thread of their own
** (tfprof-gpu) makes them, which begins when the program has initialised CUDA; a process that does not never loads
** NVML. The writer thread takes the readings from a ring.
*/
#ifndef TFPROF_CAPTURE_NVML_SOURCE_H
#define TFPROF_CAPTURE_NVML_SOURCE_H

#include "recorder/source.h"

extern const struct capture_source gpu_counters_source;

#endif
