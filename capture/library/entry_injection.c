/* entry_injection.c: what CUDA's driver and NVTX call in a program that tfprof-capture has started, whatever its
** language is.
**
** The driver loads the library that CUDA_INJECTION64_PATH names when the program initialises it (cuInit), and calls
** InitializeInjection within that, on the thread that does.  The Python hooks may have loaded the library before, or
** may come to it later: session.h.  The header of NVTX loads the one that NVTX_INJECTION64_PATH names, in each binary
** that was built with it at its first call there, and calls InitializeInjectionNvtx2; for extensions
** InitializeInjectionNvtxExtension.
*/
#include "nvtx/nvtx_injection.h"
#include "nvtx/nvtx_texts.h"
#include "session.h"

#include <stdlib.h>

#define ENTRY_POINT __attribute__((visibility("default")))

/* Returns not 0, or the driver's initialisation were to fail: the program is run in any case. */
ENTRY_POINT int InitializeInjection(void);
/* 0: nothing is attached, and the header's functions do nothing. */
ENTRY_POINT int InitializeInjectionNvtx2(nvtx_get_export_table get_table);
ENTRY_POINT int InitializeInjectionNvtxExtension(struct nvtx_extension *extension);

int InitializeInjection(void) {
  static _Atomic int is_registered;
  if (!session_load() || !session_begin()) return 1;
  /* Registered behind what the driver has registered for its own end, and so called before it: what it has not handed
  ** over yet can still be asked for. */
  if (!is_registered++) atexit(session_finish);
  session_driver_found();
  return 1;
}

int InitializeInjectionNvtx2(nvtx_get_export_table get_table) {
  return session_load() && nvtx_texts_begin() && session_begin() && nvtx_attach(get_table);
}

int InitializeInjectionNvtxExtension(struct nvtx_extension *extension) {
  return session_load() && nvtx_texts_begin() && session_begin() && nvtx_attach_extension(extension);
}
