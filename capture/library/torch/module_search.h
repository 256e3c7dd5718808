/* module_search.h: modules that were met on a stack, and that nobody has found there, among all objects that Python's
** garbage collector knows.
**
** What lies at an address may be another module than was met there.  One of the two must be true before it gets a
** name: the main thread has just come (module_discovery.h), and met it in its last op; or a search has found it before,
** it is still the same object, and was met again since.  A module that is about to be made part of another one, at the
** address of one that is gone, would else be taken for the root of a model.
*/
#ifndef TFPROF_CAPTURE_MODULE_SEARCH_H
#define TFPROF_CAPTURE_MODULE_SEARCH_H

#include "known_modules.h"

struct module_search {
  const struct wanted_module *missing; /* in the order in which they were met, an outer one before those in it */
  unsigned count;
  void *get_objects;      /* gc.get_objects */
  const void *main_state; /* the main thread's PyThreadState, if it has come and searches; NULL: others do */
  bool is_last;           /* there are no more: what is found is taken for what was met */
  void (*look)(void *module, void *caller);
};
/* With the GIL. Whether anything was found. */
bool module_search(const struct module_search *search);
/* In a forked child: nothing was found before. */
void module_search_reset(void);

#endif
