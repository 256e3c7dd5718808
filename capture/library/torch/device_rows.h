/* device_rows.h: PyTorch's devices become rows of devices, when the first thing of theirs is written. On the writer
** thread only.
*/
#ifndef TFPROF_CAPTURE_DEVICE_ROWS_H
#define TFPROF_CAPTURE_DEVICE_ROWS_H

#include "recorder/recorder.h"
#include "torch_memory.h"

bool device_rows_open(struct recorder *recorder);
/* Its row, which is made; -1: no memory, or too many devices. */
int64_t device_row(struct recorder *recorder, struct torch_device device);

#endif
