/* module_facts.h: what a model consists of, taken in one piece.
**
** The hook looks at models from a thread of its own.  If it held a module or a parameter while the interpreter goes
** over to another thread, the program might drop its own reference meanwhile, and memory would be released later than
** without us, and by another thread; and a model may be gone before the hook comes.  So all that is to be known of the
** tree of a module is gathered here while the GIL is held and no Python code runs, each module in it is held
** (known_modules.h), and what is made refers to modules weakly and to parameters not at all.
**
** The facts of a module are a tuple
**   (number, class, weak reference, [(key, number)] of its modules, [(key, address, facts)] of its parameters)
** with None for both lists where it does not keep its parts in plain dictionaries. Facts of a parameter are
** (class, shape, dtype, device, requires_grad, where its memory begins), or None where they are not known yet; the last
** is 0 where it has none or that is not known.
*/
#ifndef TFPROF_CAPTURE_MODULE_FACTS_H
#define TFPROF_CAPTURE_MODULE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* What PyTorch calls what is looked at. Classes are kept for ever. */
struct module_classes {
  void *module, *tensor; /* torch.nn.Module, torch.Tensor */
  void *lazy;            /* of parameters without a shape yet, or None */
  void *no_overrides;    /* of context managers under which tensors answer themselves, whatever their class says,
                         ** or None */
};
void module_facts_begin(const struct module_classes *classes);
/* Functions that return, and set, what torch.jit.trace does on the calling thread; None: nothing. */
void module_facts_mute(void *its_state, void *its_set_state);
/* A new list of the facts of a module and of all below, itself first. None: memory was short. Never NULL, and no error
** is set: whoever calls functions in C from Python takes a NULL for an object. */
void *module_facts_tree(void *module);
/* The same of a model (known_modules.h); None when it is gone, too. */
void *module_facts_model(uint32_t model);
/* A module that is held by nobody yet, or has to be looked at again, is looked at; `caller` is the module that called
** it, or NULL. What is to be told of it is appended to `news`:
**   (model, [facts])   a model that was not there before, or, with model 0, new facts of a module that was
**   (number, number)   the second one, which may be in the file, is the first one again
** false: memory was short; an error may be set. */
bool module_facts_look(void *module, void *caller, void *news);
/* Tells under which other numbers modules that are held now were seen. false: an error is set. */
bool module_facts_add_numbers(void *news);
/* The module's own __init__ has run, as far as torch.nn.Module's goes. */
bool module_facts_is_made(void *module);

#endif
