/* stream_numbers.h: the number by which CUPTI's records know a stream of the program's: of its context, and its own.
*/
#ifndef TFPROF_CAPTURE_STREAM_NUMBERS_H
#define TFPROF_CAPTURE_STREAM_NUMBERS_H

#include "cupti_api.h"

/* From now on names that are given to streams are kept under their numbers, too (resource_names.h); `api` is kept. */
void stream_numbers_begin(const struct cupti_api *api);

/* Under which. */
static inline uint64_t stream_number(uint32_t context, uint32_t stream) { return (uint64_t)context << 32 | stream; }

#endif
