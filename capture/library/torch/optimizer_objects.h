/* optimizer_objects.h: which optimizer it is that steps.
**
** PyTorch puts a range around each step, whose name tells the class.  The object is the first argument of the function
** that it has put in the place of step() (Optimizer.profile_hook_step), which is on the stack of the thread then, and
** its frame is found as those of modules are (python_layout.h).  Where what lies is proved on a function made for it.
*/
#ifndef TFPROF_CAPTURE_OPTIMIZER_OBJECTS_H
#define TFPROF_CAPTURE_OPTIMIZER_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

/* Called by a function with the code `probe`, declared as probe(*args), whose first argument is at `expected`. Whether
** it was found there: then the object is looked for in frames of `code`. Once the Python was found (python_find). */
bool optimizer_objects_prove(uintptr_t probe, uintptr_t expected, uintptr_t code);

/* An optimizer is being made at this address, where another one may have been before. */
void optimizer_objects_made(uintptr_t optimizer);

/* A number that stands for the optimizer whose step the calling thread is about to begin; 0: it is not known. Takes no
** lock, and no memory. */
uint32_t optimizer_object(void);

#endif
