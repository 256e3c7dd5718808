/* modules_source.h: source "modules": the modules of the program's models, their parameters and their calls. */
#ifndef TFPROF_CAPTURE_MODULES_SOURCE_H
#define TFPROF_CAPTURE_MODULES_SOURCE_H

#include "recorder/parts.h"
#include "recorder/source.h"

extern const struct capture_source modules_source;
extern struct capture_part modules_part;

#endif
