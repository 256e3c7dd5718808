/* nvtx_source.h: the source nvtx: ranges, marks and names that the program gives through NVTX version 3. */
#ifndef TFPROF_CAPTURE_NVTX_SOURCE_H
#define TFPROF_CAPTURE_NVTX_SOURCE_H

#include "recorder/source.h"

extern const struct capture_source nvtx_source;

#endif
