/* stream_numbers.h: the numbers by which CUPTI's records know contexts and streams of the program's.
*/
#ifndef TFPROF_CAPTURE_STREAM_NUMBERS_H
#define TFPROF_CAPTURE_STREAM_NUMBERS_H

#include "cupti_api.h"

/* From now on names that are given to contexts and streams are kept under their numbers, too (resource_names.h). `api`
** is kept. */
void stream_numbers_begin(const struct cupti_api *api);

/* Under which: a stream's is of its context and its own, a context's that of stream 0. */
static inline uint64_t stream_number(uint32_t context, uint32_t stream) { return (uint64_t)context << 32 | stream; }

#endif
