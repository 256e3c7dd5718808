/* demangle.c: by the C++ runtime library of the program (see demangle.h), which whatever uses PyTorch has. */
#include "demangle.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* <cxxabi.h>, Itanium C++ ABI: the result is allocated by malloc() where no buffer is given. */
typedef char *(*demangler)(const char *name, char *buffer, size_t *size, int *status);

static demangler find_demangler(void) {
  static demangler found;
  static int is_known;
  if (is_known) return found;
  is_known = 1;
  void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");
  /* A C program has none; one that PyTorch brought along is not seen from here. */
  void *library = symbol ? NULL : dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
  if (library) symbol = dlsym(library, "__cxa_demangle");
  memcpy(&found, &symbol, sizeof symbol);
  return found;
}

char *demangle(const char *name) {
  int status;
  if (name[0] != '_' || name[1] != 'Z' || !find_demangler()) return NULL;
  return find_demangler()(name, NULL, NULL, &status);
}
