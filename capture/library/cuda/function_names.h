/* function_names.h: the functions of CUDA by CUPTI's numbers of them: what they are called, and which are worth a row.
**
** These launch, copy, set, allocate, release or wait, or record an event which others wait for.  Other calls take
** longer to record than to make, and there are many of them (cudaGetDevice).
*/
#ifndef TFPROF_CAPTURE_FUNCTION_NAMES_H
#define TFPROF_CAPTURE_FUNCTION_NAMES_H

#include "cupti_api.h"

enum { FUNCTIONS_MAXIMUM = 2048 }; /* CUPTI 13.5 has 879 of the driver and 569 of the runtime */

bool function_is_recorded(const char *name);
/* Whether a call of it launches one kernel. */
bool function_launches_kernel(const char *name);
/* Whether one launches a graph. */
bool function_launches_graph(const char *name);
/* The name as people write it, without the version that CUPTI appends: cudaLaunchKernel of cudaLaunchKernel_v7000, and
** of the variants for streams of threads (_ptsz). Its length. */
size_t function_name_length(const char *name, enum cupti_domain domain);

#endif
