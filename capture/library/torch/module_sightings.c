/* module_sightings.c: see module_sightings.h. */
#include "module_sightings.h"

#include "known_modules.h"
#include "module_discovery.h"
#include "python/python_frames.h"

static const void *state_of_caller(void) { return python_thread_state ? python_thread_state() : NULL; }

uint32_t module_sighting_number(struct capture_thread *thread, uintptr_t address, uintptr_t type) {
  struct intern_slot *slot = intern_find(&thread->modules, address, NULL);
  if (slot && slot->data == (uint32_t)(type >> 4)) return slot->id;
  if (slot) intern_remove(slot); /* one of another class that nobody told to be dead */
  struct module_item *item = thread_reserve(thread, sizeof *item);
  if (!item) return 0;
  slot = intern_add(&thread->modules, &thread->arena, address, (uint32_t)(type >> 4));
  if (!slot) {
    thread_forget(thread); /* the caller begins again */
    return 0;
  }
  bool is_wanted, is_main = module_discovery_is_main(thread->tid);
  uint32_t number = known_module_seen(state_of_caller(), !is_main, address, type, &is_wanted);
  *item = (struct module_item){{ITEM_MODULE, 0, sizeof *item / 16, slot->id}, number};
  thread_commit(thread, sizeof *item);
  if (is_wanted) {
    thread->changes.wanted++;
    if (!module_discovery_ask()) thread->was_not_asked = true;
  }
  return slot->id;
}

void module_sightings_resolve(struct capture_thread *thread, bool may_wait) {
  bool comes = module_discovery_is_main(thread->tid) && !thread->was_not_asked;
  thread->was_not_asked = false;
  if (comes) return; /* and resolves it itself */
  if (may_wait) module_discovery_wait();
  if (known_modules_expire(state_of_caller())) thread_forget_modules(thread);
}

void module_sightings_begin(void) {
  static const struct module_watch watch = {module_sighting_number, module_sightings_resolve};
  python_watch_modules(&watch);
}
