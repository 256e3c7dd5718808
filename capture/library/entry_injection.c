/* entry_injection.c: what CUDA's driver calls in a program that tfprof-capture has started, whatever language it is
** written in.
**
** The driver loads the library that CUDA_INJECTION64_PATH names when the program initialises it (cuInit), and calls
** InitializeInjection within that, on the thread that does.  The Python hooks may have loaded the library before, or
** may come to it later: session.h.
*/
#include "session.h"

#include <stdlib.h>

#define ENTRY_POINT __attribute__((visibility("default")))

/* Returns not 0, or the driver's initialisation were to fail: the program is run in any case. */
ENTRY_POINT int InitializeInjection(void);

int InitializeInjection(void) {
  static _Atomic int is_registered;
  if (!session_load() || !session_begin()) return 1;
  /* Registered behind what the driver has registered for its own end, and so called before it: what it has not handed
  ** over yet can still be asked for. */
  if (!is_registered++) atexit(session_finish);
  session_driver_found();
  return 1;
}
