/* dump.h: the reader of tfprof's own dump files. */
#ifndef TFPROF_READ_DUMP_H
#define TFPROF_READ_DUMP_H

#include "read/read.h"

extern const struct reader dump_reader;
extern const struct read_format dump_read_format;

#endif
