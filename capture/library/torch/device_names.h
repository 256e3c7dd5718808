/* device_names.h: PyTorch's devices as rows of devices (recorder/device_rows.h). */
#ifndef TFPROF_CAPTURE_DEVICE_NAMES_H
#define TFPROF_CAPTURE_DEVICE_NAMES_H

#include "recorder/device_rows.h"
#include "torch_memory.h"

/* Its row, which is made; -1: no memory, or too many devices. */
int64_t device_row_torch(struct device_rows *devices, struct torch_device device);

#endif
