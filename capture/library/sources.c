/* sources.c: all sources, in their order (see recorder/source.h): who has the lock of one takes only those of the ones
** behind it. */
#include "governor/sampling.h"
#include "python/python_source.h"
#include "recorder/source.h"
#include "torch/memory_callbacks.h"
#include "torch/module_sightings.h"
#include "torch/op_callbacks.h"

const struct capture_source *const capture_sources[] = {&governor_source, &ops_source,    &memory_source,
                                                        &modules_source,  &python_source, NULL};
