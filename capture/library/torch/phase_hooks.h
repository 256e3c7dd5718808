/* phase_hooks.h: calls of PyTorch's Python functions that become ranges (noted_ranges.h): _tfprof_phases.py says which.
**
** All with the GIL held.
*/
#ifndef TFPROF_CAPTURE_PHASE_HOOKS_H
#define TFPROF_CAPTURE_PHASE_HOOKS_H

#include "python/call_hooks.h"

enum phase_hook {
  PHASE_RANGE, /* each call is a range */
  /* Module.train(mode), to which all ways lead that put a model into evaluation mode or back, and which calls itself
  ** for each of the model's modules: the outermost call of a thread is a range; the one that puts a model back only
  ** while one is in evaluation mode. */
  PHASE_MODES,
  /* fetch() of a loader's fetcher: a range, and within it its call of collate_fn another. */
  PHASE_FETCH,
  PHASE_COUNT
};

/* What is kept of a hook, for good; NULL: no memory. `name` is copied. */
const struct call_hook *phase_hook(enum phase_hook kind, const char *name);

#endif
