/* c_symbols.c: _dl_find_object() of glibc, and the dynamic symbols of a module by its GNU hash table (c_symbols.h). */
#include "c_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recorder/small_file.h"

/* struct dl_find_object of <dlfcn.h> from glibc 2.35 on, with room for what comes later. */
struct found_object {
  unsigned long long flags;
  void *map_start, *map_end;
  struct link_map *link_map;
  void *more[32];
};
static int (*find_object)(void *address, struct found_object *found);

bool c_symbols_prepare(void) {
  void *function = find_object ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
  if (function) memcpy(&find_object, &function, sizeof function);
  return find_object != NULL;
}

/* ---- the tables of a module ---- */

struct tables {
  const ElfW(Sym) *symbols;
  const char *texts;
  size_t text_bytes;
  const uint32_t *hash; /* GNU */
};

/* The loader has added the base to the addresses of all modules but the vDSO. */
static const void *at(const struct link_map *module, ElfW(Addr) address) {
  return (const void *)(address < module->l_addr ? address + module->l_addr : address);
}

static bool read_tables(const struct link_map *module, struct tables *tables) {
  *tables = (struct tables){NULL, NULL, 0, NULL};
  for (const ElfW(Dyn) *entry = module->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_SYMTAB) tables->symbols = at(module, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) tables->texts = at(module, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRSZ) tables->text_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_GNU_HASH) tables->hash = at(module, entry->d_un.d_ptr);
  }
  return tables->symbols && tables->texts;
}

/* How many symbols there are: the hash table has its last one at the end of a chain. What it does not list (those that
** are asked of others) stands before. */
static uint32_t count_symbols(const struct tables *tables) {
  const uint32_t *hash = tables->hash;
  if (!hash) return 0;
  uint32_t bucket_count = hash[0], first = hash[1], bloom_words = hash[2], last = 0;
  const uint32_t *buckets = hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t *chains = buckets + bucket_count;
  for (uint32_t i = 0; i < bucket_count; i++) last = buckets[i] > last ? buckets[i] : last;
  if (last < first) return first;
  while (!(chains[last - first] & 1)) last++;
  return last + 1;
}

/* The function that the offset lies in; NULL: none that others may call. */
static const char *find_symbol(const struct tables *tables, uintptr_t offset, uintptr_t *begin) {
  uint32_t count = count_symbols(tables);
  const char *name = NULL;
  for (uint32_t i = 1; i < count; i++) {
    const ElfW(Sym) *symbol = &tables->symbols[i];
    unsigned type = symbol->st_info & 15;
    bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (!is_function || symbol->st_shndx == SHN_UNDEF || offset < symbol->st_value) continue;
    if (offset - symbol->st_value >= symbol->st_size || symbol->st_name >= tables->text_bytes) continue;
    name = tables->texts + symbol->st_name;
    *begin = symbol->st_value;
  }
  return name;
}

/* ---- names ---- */

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The main program has no name in the loader's list. */
static const char *module_name(const struct link_map *module) {
  static char program[256];
  if (module->l_name && module->l_name[0]) return file_name(module->l_name);
  if (!program[0]) {
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
  }
  return program[0] ? file_name(program) : "program";
}

static struct link_map *module_of(uintptr_t address) {
  struct found_object found;
  bool is_found = find_object && find_object((void *)address, &found) == 0; /* NOLINT(performance-no-int-to-ptr) */
  return is_found ? found.link_map : NULL;
}

size_t c_symbols_name(uintptr_t address, char *text, size_t room) {
  const struct link_map *module = module_of(address);
  struct tables tables;
  uintptr_t begin = 0;
  int length;
  if (!module) {
    length = snprintf(text, room, "0x%lx", (unsigned long)address);
  } else {
    uintptr_t offset = address - module->l_addr;
    const char *symbol = read_tables(module, &tables) ? find_symbol(&tables, offset, &begin) : NULL;
    length = symbol ? snprintf(text, room, "%s+0x%lx %s+0x%lx", module_name(module), (unsigned long)offset, symbol,
                               (unsigned long)(offset - begin))
                    : snprintf(text, room, "%s+0x%lx", module_name(module), (unsigned long)offset);
  }
  if (length < 0 || !room) return 0;
  return (size_t)length < room ? (size_t)length : room - 1;
}

bool c_symbols_refers(uintptr_t address, const char *symbol) {
  const struct link_map *module = module_of(address);
  struct tables tables;
  if (!module || !read_tables(module, &tables)) return false;
  uint32_t count = count_symbols(&tables);
  for (uint32_t i = 1; i < count; i++) {
    const ElfW(Sym) *entry = &tables.symbols[i];
    if (entry->st_shndx == SHN_UNDEF && entry->st_name < tables.text_bytes &&
        strcmp(tables.texts + entry->st_name, symbol) == 0)
      return true;
  }
  return false;
}
