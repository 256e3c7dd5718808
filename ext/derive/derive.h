/* derive.h: what is computed once from raw rows.
**
** Each pass is one file of this directory, declares what it reads and writes (struct derive_pass in store/store.h),
** works on one profile at a time in linear time (or n log n where it must sort), and knows neither SQLite nor file
** formats.
*/
#ifndef TFPROF_DERIVE_H
#define TFPROF_DERIVE_H

#include "store/store.h"

extern const struct derive_pass *const derive_passes[];
extern const unsigned derive_pass_count;

#endif
