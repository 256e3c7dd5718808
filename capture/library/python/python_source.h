/* python_source.h: source "python": stacks of the program's threads, and the text of source that lies in no file. */
#ifndef TFPROF_CAPTURE_PYTHON_SOURCE_H
#define TFPROF_CAPTURE_PYTHON_SOURCE_H

#include "recorder/parts.h"
#include "recorder/source.h"

extern const struct capture_source python_source;
extern struct capture_part stacks_part, source_text_part;

#endif
