/* nvtx_injection.h: our functions take their places in what an NVTX header offers. Each binary of a process that was
** built with NVTX has its own, and calls.
*/
#ifndef TFPROF_CAPTURE_NVTX_INJECTION_H
#define TFPROF_CAPTURE_NVTX_INJECTION_H

#include "nvtx_abi.h"

#include <stdbool.h>

/* false: it offers none that we know. */
bool nvtx_attach(nvtx_get_export_table get_table);
/* false: it is an extension that we do not know. */
bool nvtx_attach_extension(const struct nvtx_extension *extension);

#endif
