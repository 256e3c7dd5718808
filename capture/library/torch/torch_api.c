/* torch_api.c: finding PyTorch's functions and proving the layout of at::RecordFunction (see torch_api.h). */
#include "torch_api.h"

#include "python/guarded_read.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct torch_functions torch;
struct torch_layout torch_layout;

/* std::variant<std::string_view, std::reference_wrapper<const FunctionSchema>>, the argument of RecordFunction::before
** in 2.10 and later; libstdc++ stores a string_view as {length, text}. */
struct name_argument {
  uint64_t length;
  const char *text;
  uint8_t alternative, padding[7];
};

static void (*construct)(void *, uint8_t);
static void (*destroy)(void *);
static void (*before_variant)(void *, struct name_argument, int64_t);
static void (*before_text)(void *, const char *, int64_t);

struct library_search {
  const char *suffix;
  char path[4096];
  uintptr_t begin, end;
};

static int note_library(struct dl_phdr_info *info, size_t size, void *context) {
  struct library_search *search = context;
  (void)size;
  size_t length = info->dlpi_name ? strlen(info->dlpi_name) : 0, suffix = strlen(search->suffix);
  if (length < suffix || length >= sizeof search->path || strcmp(info->dlpi_name + length - suffix, search->suffix))
    return 0;
  memcpy(search->path, info->dlpi_name, length + 1);
  search->begin = UINTPTR_MAX;
  search->end = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
    if (segment->p_type != PT_LOAD) continue;
    if (begin < search->begin) search->begin = begin;
    if (end > search->end) search->end = end;
  }
  return 1;
}

void *torch_open_loaded(const char *suffix, uintptr_t *begin, uintptr_t *end) {
  struct library_search search = {.suffix = suffix};
  if (!dl_iterate_phdr(note_library, &search)) return NULL;
  if (begin) *begin = search.begin;
  if (end) *end = search.end;
  return dlopen(search.path, RTLD_NOLOAD | RTLD_LAZY);
}

bool torch_find(char *reason, size_t size) {
  if (!TORCH_CALLBACKS_SUPPORTED) {
    snprintf(reason, size, "the callbacks are not written for this processor");
    return false;
  }
  void *library = torch_open_loaded("/libtorch_cpu.so", NULL, NULL);
  if (!library) {
    snprintf(reason, size, "libtorch_cpu.so is not loaded");
    return false;
  }
  const struct {
    void *target;
    const char *symbol;
    bool is_needed;
  } wanted[] = {
      {&torch.add_global_callback, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", true},
      {&torch.add_thread_callback, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE", true},
      {&torch.remove_callback, "_ZN2at14removeCallbackEm", true},
      {&torch.name, "_ZNK2at14RecordFunction4nameEv", true},
      {&torch.current_thread, "_ZN2at14RecordFunction15currentThreadIdEv", true},
      {&construct, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE", true},
      {&destroy, "_ZN2at14RecordFunctionD1Ev", true},
      {&before_variant,
       "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEESt17reference_wrapperI"
       "KN3c1014FunctionSchemaEEEEl",
       false},
      {&before_text, "_ZN2at14RecordFunction6beforeEPKcl", false},
      {&torch.exceptions, "__cxa_get_globals", false}, /* of libstdc++, which it needs */
  };
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    void *address = dlsym(library, wanted[i].symbol);
    if (!address && wanted[i].is_needed) {
      snprintf(reason, size, "this PyTorch does not have %s", wanted[i].symbol);
      return false;
    }
    memcpy(wanted[i].target, &address, sizeof address);
  }
  if (!before_variant && !before_text) {
    snprintf(reason, size, "this PyTorch has no RecordFunction::before of a known form");
    return false;
  }
  void *core = torch_open_loaded("/libc10.so", NULL, NULL);
  if (core) torch.undefined_tensor = dlsym(core, "_ZN3c1019UndefinedTensorImpl10_singletonE");
  return true;
}

/* ---- The self-test: one range with known values, looked at from within its own callbacks. */

enum {
  OBJECT_SIZE = 1024, /* more than any version's sizeof(at::RecordFunction) */
  SEARCHED = 512,
  MAXIMUM_HANDLE_STEP = 100000, /* other threads may take handles meanwhile */
};
static const int64_t SENTINEL = 0x0123456789abcdef;
static const char TEXT[] = "tfprof self-test";

static void do_nothing(void *context) { (void)context; }
static const void *const context_vtable[2] = {(const void *)do_nothing, (const void *)do_nothing};
static struct test_context {
  const void *const *vtable;
} test_context = {context_vtable};

static struct self_test {
  int starts, ends;
  bool name_matches, name_has_length, context_matches;
  uint16_t sequence_places, sequence, scope_places, scope, name, name_kind;
  uint64_t words[SEARCHED / 8];
} test;

static uint64_t word_at(const uint8_t *object, unsigned offset) {
  uint64_t word;
  memcpy(&word, object + offset, sizeof word);
  return word;
}

static void self_test_start(void **context, const uint8_t *object) {
  *context = &test_context;
  test.starts++;
  const char *name = torch.name(object);
  test.name_matches = name && !strcmp(name, TEXT);
  memcpy(test.words, object, sizeof test.words);
  uint64_t thread = torch.current_thread();
  for (unsigned offset = 0; offset < SEARCHED; offset += 8) {
    if (word_at(object, offset) == (uint64_t)SENTINEL) {
      test.sequence = (uint16_t)offset;
      test.sequence_places++;
    }
    /* StepCallbacks ends with uint64_t thread_id_; RecordScope scope_. */
    if (!test.scope_places && word_at(object, offset) == thread && object[offset + 8] == SCOPE_USER) {
      test.scope = (uint16_t)(offset + 8);
      test.scope_places++;
    }
  }
  /* fn_ lies before sequence_nr_: a variant of std::string (32 bytes, or 8 with the old string ABI) and a pointer,
  ** then its index. */
  for (uint16_t size = 16; test.sequence_places == 1 && size <= 40; size = (uint16_t)(size + 24)) {
    if (test.sequence < size || word_at(object, test.sequence - size) != (uint64_t)(uintptr_t)name ||
        object[test.sequence - 8] != 0)
      continue;
    test.name = (uint16_t)(test.sequence - size);
    test.name_kind = (uint16_t)(test.sequence - 8);
    test.name_has_length = size == 40 && word_at(object, test.name + 8u) == sizeof TEXT - 1;
  }
}
TORCH_START_CALLBACK(self_test_start)

static void self_test_end(const void *record_function, void *context) {
  (void)record_function;
  test.ends++;
  test.context_matches = context == &test_context;
}

static void run_test_range(bool needs_ids) {
  static _Alignas(64) uint8_t object[OBJECT_SIZE];
  memset(&test, 0, sizeof test);
  memset(object, 0, sizeof object);
  struct torch_callback callback = {
      .start = (void *)self_test_start_entry, .end = (void *)self_test_end, .sampling_probability = 1};
  memset(callback.scopes, 1, sizeof callback.scopes);
  callback.needs_ids = needs_ids;
  uint64_t handle = torch.add_thread_callback(callback);
  construct(object, SCOPE_USER);
  if (before_variant)
    before_variant(object, (struct name_argument){.length = sizeof TEXT - 1, .text = TEXT}, SENTINEL);
  else
    before_text(object, TEXT, SENTINEL);
  destroy(object);
  torch.remove_callback(handle);
}

/* handle_ follows fwd_thread_id_. With needs_ids each object gets the next number of the process; without, it stays 0.
*/
static uint16_t find_handle(void) {
  uint64_t first[SEARCHED / 8];
  uint16_t found = 0;
  run_test_range(true);
  memcpy(first, test.words, sizeof first);
  run_test_range(true);
  for (unsigned i = test.sequence / 8u + 3; i < SEARCHED / 8; i++) {
    uint64_t step = test.words[i] - first[i];
    if (first[i] == 0 || step == 0 || step > MAXIMUM_HANDLE_STEP || test.words[i - 1] != 0) continue;
    if (found) return 0;
    found = (uint16_t)(i * 8);
  }
  return found;
}

bool torch_self_test(char *reason, size_t size) {
  memset(&torch_layout, 0, sizeof torch_layout);
  reason[0] = 0;
  run_test_range(false);
  if (test.starts != 1 || test.ends != 1 || !test.name_matches || !test.context_matches) {
    snprintf(reason, size, "the self-test range came back %d times, ended %d times, %s", test.starts, test.ends,
             test.name_matches ? "with a wrong context" : "with a wrong name");
    return false;
  }
  if (test.sequence_places != 1 || test.scope_places != 1) {
    snprintf(reason, size,
             "sequence numbers, categories and shapes are unknown: this PyTorch's RecordFunction has another layout");
    return true;
  }
  struct self_test plain = test;
  uint16_t handle = find_handle();
  if (!handle || test.sequence != plain.sequence || test.scope != plain.scope || plain.words[handle / 8] != 0) {
    snprintf(reason, size,
             "sequence numbers, categories and shapes are unknown: RecordFunction's handle was not found");
    return true;
  }
  torch_layout.sequence = plain.sequence;
  torch_layout.scope = plain.scope;
  torch_layout.inputs = (uint16_t)(plain.sequence + 8);
  torch_layout.forward_thread = (uint16_t)(handle - 8);
  torch_layout.name = plain.name;
  torch_layout.name_kind = plain.name_kind;
  torch_layout.has_name_object = plain.name != 0;
  torch_layout.has_name_text = plain.name_has_length;
  torch_layout.has_details = true;
  return true;
}
