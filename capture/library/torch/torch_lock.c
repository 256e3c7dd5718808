/* torch_lock.c: see torch_lock.h. */
#include "torch_lock.h"

#include "python/guarded_read.h"
#include "recorder/own_threads.h"
#include "torch_api.h"

#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum {
  LIST_MAXIMUM = 64 * 1024, /* bytes of the vector: some fifty to a callback */
  ENTRY_MAXIMUM = 128,      /* bytes of a callback in it */
  LOCK_HAS_WAITER = 2,      /* the first int of a lock in glibc (lowlevellock.h); 0 is free, 1 taken */
  SEARCHES = 3,
  PROOF_TRIES = 20000,      /* 2 s */
  TRY_US = 100,
};

/* at::GlobalCallbackManager, with libstdc++. */
struct callback_manager {
  uint64_t version;
  uintptr_t begin, end, room_end;
  pthread_mutex_t lock;
};

pthread_mutex_t *torch_lock;

/* A callback for no scope at all is never called. */
static void call_never(void **context, const uint8_t *object) {
  (void)object;
  *context = NULL;
}
TORCH_START_CALLBACK(call_never)

static uint64_t add_callback(void) {
  return torch.add_global_callback(
      (struct torch_callback){.start = (void *)call_never_entry, .sampling_probability = 1});
}

/* ---- The object. */

struct search {
  uintptr_t inside; /* the library that is searched */
  uint64_t handle;  /* of our callback */
  struct callback_manager *found;
  unsigned count;
};

/* Whether ours is the last callback in the vector. */
static bool ends_with_ours(uintptr_t begin, uintptr_t end, uint64_t handle) {
  uint64_t words[ENTRY_MAXIMUM / 8];
  size_t bytes = end - begin < sizeof words ? end - begin : sizeof words;
  if (!guarded_read((const void *)(end - bytes), words, bytes)) return false;
  for (size_t i = 0; i < bytes / 8; i++)
    if (words[i] == (uintptr_t)call_never_entry)
      for (size_t j = i + 1; j < bytes / 8; j++)
        if (words[j] == handle) return true;
  return false;
}

/* All of a library's variables are looked at, also where sanitizers keep room between them, and while others write. */
__attribute__((no_sanitize("address", "thread"))) static void search_segment(struct search *search, uintptr_t begin,
                                                                             uintptr_t end) {
  for (uintptr_t at = begin; at + sizeof *search->found <= end; at += 8) {
    struct callback_manager *seen = (struct callback_manager *)at;
    uintptr_t first = seen->begin, last = seen->end;
    if (!first || first % 8 || last <= first || last - first > LIST_MAXIMUM || last % 8 || seen->room_end < last)
      continue;
    if (!seen->version || seen->version > UINT32_MAX) continue;
    const uint64_t *words = (const uint64_t *)(const void *)&seen->lock;
    uint64_t used = 0; /* a free lock is zeros */
    for (size_t i = 0; i < sizeof seen->lock / sizeof *words; i++) used |= words[i];
    if (used || !ends_with_ours(first, last, search->handle)) continue;
    search->found = seen;
    search->count++;
  }
}

static int search_library(struct dl_phdr_info *info, size_t size, void *context) {
  struct search *search = context;
  uintptr_t fixed_begin = 0, fixed_end = 0; /* what is written only while the library is loaded (PT_GNU_RELRO) */
  bool is_wanted = false;
  (void)size;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && search->inside - begin < segment->p_memsz) is_wanted = true;
    if (segment->p_type != PT_GNU_RELRO) continue;
    fixed_begin = begin;
    fixed_end = begin + segment->p_memsz;
  }
  for (unsigned i = 0; i < info->dlpi_phnum && is_wanted; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W)) continue;
    if (begin <= fixed_begin && fixed_begin < end) begin = fixed_end;
    search_segment(search, (begin + 7) & ~(uintptr_t)7, end);
  }
  return is_wanted;
}

static struct callback_manager *find_manager(void) {
  struct search search = {.inside = (uintptr_t)torch.add_global_callback, .handle = add_callback()};
  /* Another thread may have had the lock just then. */
  for (int i = 0; i < SEARCHES && !search.count; i++) dl_iterate_phdr(search_library, &search);
  uint64_t version = search.count == 1 ? search.found->version : 0;
  torch.remove_callback(search.handle);
  return search.count == 1 && search.found->version == version + 1 ? search.found : NULL;
}

/* ---- The proof. */

struct change {
  _Atomic bool has_ended;
  uint64_t handle;
};

static void *make_change(void *argument) {
  struct change *change = argument;
  change->handle = add_callback();
  atomic_store(&change->has_ended, true);
  return NULL;
}

static bool is_taken_by_changes(pthread_mutex_t *lock) {
  pthread_t thread;
  struct change change = {.has_ended = false};
  if (pthread_mutex_lock(lock)) return false;
  bool is_started = own_thread_start(&thread, make_change, &change), is_proved = false;
  for (int i = 0; is_started && !is_proved && i < PROOF_TRIES && !atomic_load(&change.has_ended); i++, usleep(TRY_US))
    is_proved = __atomic_load_n((const int *)(const void *)lock, __ATOMIC_RELAXED) == LOCK_HAS_WAITER;
  pthread_mutex_unlock(lock);
  if (!is_started) return false;
  pthread_join(thread, NULL);
  torch.remove_callback(change.handle);
  return is_proved;
}

bool torch_lock_find(void) {
  struct callback_manager *manager = find_manager();
  torch_lock = manager && is_taken_by_changes(&manager->lock) ? &manager->lock : NULL;
  return torch_lock != NULL;
}
