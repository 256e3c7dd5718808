/* known_modules.h: the modules of the program's models by their addresses, each with a number.
**
** A thread that meets a module on the stack of an op asks for its number, which goes with the op into the file
** (ops.recorded_module).  At an address that nobody has looked at yet there may be another module next time.  So it
** is looked for (module_discovery.h), as long as it stands on the stack: then it is held, which means that a weak
** reference tells its death, and until then address and number are one.
**
** Until then a number is that of one sighting: of one module that one thread has met and that nobody has looked at. It
** becomes the module's when that is seen to be still there, and by nothing else, neither address nor class: those may
** be another module's by now.  A sighting that is not proved so in time expires, and its ops have no module: one named
** wrongly would be worse.
**
** A model whose like was there before and is gone goes on under the numbers of that one: a program may make the same
** model for each step and drop it.
*/
#ifndef TFPROF_CAPTURE_KNOWN_MODULES_H
#define TFPROF_CAPTURE_KNOWN_MODULES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Held for a moment only, and never while Python is called. For forks.c. */
extern pthread_mutex_t known_modules_lock;

/* ---- On any thread, without the GIL. */

/* The number of the module at this address, whose class is at `type`; 0: there is none to give. `is_wanted`: it is to
** be looked for. `state` is the caller's PyThreadState. `is_awaited`: the caller does not go on before it has been
** looked for or the sighting has expired, so that who meets the module meanwhile meets the same one. */
uint32_t known_module_seen(const void *state, bool is_awaited, uintptr_t address, uintptr_t type, bool *is_wanted);
/* What the thread has seen and nobody has proved is never proved. true: there was something. */
bool known_modules_expire(const void *state);
struct wanted_module {
  uintptr_t address, type;
};
/* Whether there is one that was seen and not held. */
bool known_modules_are_wanted(void);
/* Takes those that were seen since the last call and are not held. */
unsigned known_modules_take_wanted(struct wanted_module *wanted, unsigned room);
/* In a forked child: nothing is known. */
void known_modules_reset(void);

/* ---- With the GIL. */

struct held_module {
  uint32_t number; /* 0: it is not held */
  bool must_look;  /* its class has become another one since */
};
struct held_module known_module_find(uintptr_t address);
/* The module that the thread has seen there is proved to be there still. false: it has seen none. */
bool known_module_prove(const void *state, uintptr_t address, uintptr_t type);
/* `reference`, which is kept, tells its death from now on. The number; 0: no memory, and the reference is not kept.
** `was_seen`: it is that of a proved sighting and may be in the file. */
uint32_t known_module_hold(uintptr_t address, uintptr_t type, void *reference, bool *was_seen);
/* Of a module that is held one more number under which it was seen, as was proved; false: there are no more. */
bool known_module_next_number(uint32_t *number, uint32_t *seen);
void known_module_was_looked_at(uintptr_t address);
/* The reference to the module at this address (borrowed), or NULL. */
void *known_module_reference(uintptr_t address);
/* It is dead. The reference that was kept, or NULL when this was none of ours. */
void *known_module_died(uintptr_t address, void *reference);

/* A model: the tree of a module that was part of no other when it was found. The modules were all held just now, in the
** order that `signature` was made in. If there was one with the same signature and it is gone, its place, and *is_again
** is true: the modules get its numbers. Else the place of a new one. 0: no memory, or there are too many. */
uint32_t known_model_begin(uintptr_t root, uint64_t signature, const uintptr_t *modules, unsigned count,
                           bool *is_again);
/* How many there was no place for. On any thread. */
uint64_t known_models_refused(void);
/* The address of the root of a model while it lives, else 0. */
uintptr_t known_model_root(uint32_t model);

#endif
