/* pprof.h: the reader of memory profiles in pprof's format, of JAX's save_device_memory_profile(), Go and others. */
#ifndef TFPROF_READ_PPROF_H
#define TFPROF_READ_PPROF_H

#include "read/read.h"

extern const struct read_format read_format_pprof;
extern const struct reader pprof_reader;

#endif
