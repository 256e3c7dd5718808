/* next_definition.c: see next_definition.h. */
#include "next_definition.h"

#include "torch_api.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* Our own, which is what the search in the order of the linker finds first. */
static bool is_own(const void *address) {
  static const char place;
  Dl_info own, its;
  return dladdr(&place, &own) && dladdr(address, &its) && own.dli_fbase == its.dli_fbase;
}

static void *defined_in(void *library, const char *symbol) {
  void *address = library ? dlsym(library, symbol) : NULL;
  return address && !is_own(address) ? address : NULL;
}

static void *defined_for(const void *caller, const char *symbol) {
  Dl_info its;
  if (!caller || !dladdr(caller, &its) || !its.dli_fname) return NULL;
  return defined_in(dlopen(its.dli_fname, RTLD_LAZY | RTLD_NOLOAD), symbol);
}

/* ---- All libraries. They are opened after they were listed: the list is locked meanwhile. */

enum { LIBRARIES_MAXIMUM = 4096 };
struct library_list {
  char *paths[LIBRARIES_MAXIMUM];
  unsigned count;
};

static int note_path(struct dl_phdr_info *info, size_t size, void *context) {
  struct library_list *list = context;
  (void)size;
  if (!info->dlpi_name || !info->dlpi_name[0]) return 0; /* the program itself */
  if (list->count == LIBRARIES_MAXIMUM) return 1;
  list->paths[list->count] = strdup(info->dlpi_name);
  list->count += list->paths[list->count] != NULL;
  return 0;
}

static void *defined_anywhere(const char *symbol) {
  struct library_list *list = calloc(1, sizeof *list);
  void *address = NULL;
  if (!list) return NULL;
  dl_iterate_phdr(note_path, list);
  for (unsigned i = 0; i < list->count; i++) {
    if (!address) address = defined_in(dlopen(list->paths[i], RTLD_LAZY | RTLD_NOLOAD), symbol);
    free(list->paths[i]);
  }
  free(list);
  return address;
}

void *next_definition(const char *symbol, const char *suffix, const void *caller) {
  void *address = defined_in(torch_open_loaded(suffix, NULL, NULL), symbol);
  if (!address) address = defined_for(caller, symbol);
  if (!address) address = dlsym(RTLD_NEXT, symbol);
  if (!address) address = defined_anywhere(symbol);
  return address;
}

/* ---- Bounds. */

struct bounds {
  uintptr_t address, begin, end;
};

static int note_bounds(struct dl_phdr_info *info, size_t size, void *context) {
  struct bounds *bounds = context;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  (void)size;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t from = info->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;
    if (segment->p_type != PT_LOAD) continue;
    if (from < begin) begin = from;
    if (to > end) end = to;
  }
  if (bounds->address < begin || bounds->address >= end) return 0;
  bounds->begin = begin;
  bounds->end = end;
  return 1;
}

void library_bounds(const void *address, uintptr_t *begin, uintptr_t *end) {
  struct bounds bounds = {.address = (uintptr_t)address};
  dl_iterate_phdr(note_bounds, &bounds);
  *begin = bounds.begin;
  *end = bounds.end;
}
