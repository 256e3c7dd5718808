/* on_doubles.h: how a program of the tests that launches by itself begins on the doubles of CUDA, CUPTI and NVTX. */
#ifndef TFPROF_ON_DOUBLES_H
#define TFPROF_ON_DOUBLES_H

#include "../../unit/fake_nvtx.h"
#include "double_cupti.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Initialises the driver, which loads the recorder where there is one, and what NVTX_INJECTION64_PATH names.
** *is_marked: ranges of NVTX are recorded.  The double of CUPTI that the recorder has loaded, or that of CUDA 13; NULL:
** there is none, or no driver. */
static inline const struct double_cupti *begin_on_doubles(bool *is_marked) {
  static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
  const char *path = getenv("NVTX_INJECTION64_PATH");
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *nvtx = path ? dlopen(path, RTLD_NOW) : NULL, *library = NULL;
  int (*initialise)(unsigned) = NULL, (*inject)(nvtx_get_export_table) = NULL;
  if (cuda) *(void **)&initialise = dlsym(cuda, "cuInit");
  if (nvtx) *(void **)&inject = dlsym(nvtx, "InitializeInjectionNvtx2");
  if (!initialise || initialise(0)) return NULL;
  *is_marked = inject && inject(fake_table);
  for (unsigned i = 0; i < sizeof names / sizeof *names && !library; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
  if (!library) library = dlopen(names[0], RTLD_NOW);
  return library ? dlsym(library, "double_cupti") : NULL;
}

#endif
