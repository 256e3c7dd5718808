/* hlo.h: reader of modules of XLA in files of their own: HloProto, HloModuleProto and the text of HLO. */
#ifndef TFPROF_HLO_H
#define TFPROF_HLO_H

#include "read/read.h"

extern const struct reader hlo_reader;
extern const struct read_format read_format_hlo, read_format_hlo_text;

#endif
