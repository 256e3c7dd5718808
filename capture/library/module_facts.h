/* module_facts.h: what a module consists of, taken in one piece.
**
** The hook looks at models from a thread of its own.  If it held a module or a parameter while the interpreter goes
** over to another thread, the program might drop its own reference meanwhile, and memory would be released later than
** without us, and by another thread.  So all that is to be known of one module is gathered here while the GIL is held
** and no Python code runs, and what is returned refers to modules weakly and to parameters not at all. */
#ifndef TFPROF_CAPTURE_MODULE_FACTS_H
#define TFPROF_CAPTURE_MODULE_FACTS_H

#include <stdbool.h>

/* `reference_class`: a subclass of weakref.ref; `died`: its callback; `lazy_class`: that of parameters without a shape
** yet, or None. With the GIL. false: this interpreter lacks a function. */
bool module_facts_begin(void *reference_class, void *died, void *lazy_class);
/* A new reference to a module. NULL: an error is set. */
void *module_facts_reference(void *module);
/* A new object: None when the module is gone; False when it does not keep its parts in plain dictionaries; else
**   (address, address of the class, class, [(key, address, reference)], [(key, address, facts)])
** of its modules and its parameters, `facts` being (class, shape, dtype, device, requires_grad), or None where they are
** not known yet. NULL: an error is set. */
void *module_facts(void *reference);

#endif
