/* module_sightings.h: a thread of the program meets a module on its Python stack (python_frames.h): it gets a number,
** and is looked for where nobody knows it yet (known_modules.h, module_discovery.h).
*/
#ifndef TFPROF_CAPTURE_MODULE_SIGHTINGS_H
#define TFPROF_CAPTURE_MODULE_SIGHTINGS_H

#include "channel/thread_record.h"

/* From now on python_frames.h tells of the modules that it meets. */
void module_sightings_begin(void);

/* The thread's number of the module, written as an item when it is new; 0: there was no room. */
uint32_t module_sighting_number(struct capture_thread *thread, uintptr_t address, uintptr_t type);
/* After the thread has met a module that is wanted (changes.wanted), in the same callback: it is looked for now, or
** soon, or what was seen of it expires. `may_wait`: the op has not begun yet. */
void module_sightings_resolve(struct capture_thread *thread, bool may_wait);

#endif
