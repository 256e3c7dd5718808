/* python_api.h: the functions of the interpreter that are called, found by name: nothing is linked.
**
** All but those that say otherwise are called with the GIL held. An object that is returned is a new reference where
** nothing else is said.
*/
#ifndef TFPROF_CAPTURE_PYTHON_API_H
#define TFPROF_CAPTURE_PYTHON_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_api {
  void (*increment)(void *object);
  void (*decrement)(void *object);
  void (*clear_error)(void);
  void *(*call)(void *callable, void *arguments);
  void *(*attribute)(void *object, const char *name);
  void *(*dictionary_of)(void *object, void *context); /* __dict__, whatever the class says; context is NULL */
  int (*is_subtype)(void *type, void *of);
  int64_t (*hash)(void *object); /* -1: an error is set */
  void *(*item)(void *dictionary, const char *key); /* borrowed */
  void *(*items)(void *dictionary);
  void *(*new_list)(intptr_t size);
  intptr_t (*list_size)(void *list);
  void *(*list_item)(void *list, intptr_t index); /* borrowed */
  int (*append)(void *list, void *object);
  void *(*new_tuple)(intptr_t size, ...); /* of objects that keep their references */
  void *(*tuple_item)(void *tuple, intptr_t index); /* borrowed */
  void *(*new_integer)(long long value);
  void *(*new_address)(void *address); /* an integer */
  void *(*address)(void *integer);
  void *(*new_reference)(void *object, void *callback); /* a weak one */
  void *(*new_function)(void *definition, void *self, void *module);
  void *dictionary_type, *none, *no;

  int (*add_pending_call)(int (*function)(void *), void *argument); /* without the GIL, too */
  int (*has_gil)(void);                                            /* the same */
  void *(*release_gil)(void);
  void (*take_gil)(void *state); /* without the GIL: what release_gil has returned */
  int (*enter)(void);            /* on a thread that is none of Python's: takes the GIL */
  void (*leave)(int state);      /* gives it up: what enter has returned */
  void *(*interpreter)(void);
  void *(*first_thread)(void *interpreter); /* borrowed, as the next */
  void *(*next_thread)(void *thread);
};
extern struct python_api python_api;

/* false: this interpreter lacks one of them. */
bool python_api_find(void);

/* What of the interpreter is to be found by name, and where in a structure its address is put. */
struct python_symbol {
  size_t place;
  const char *name;
};
/* false: it lacks one of them. */
bool python_symbols_find(void *structure, const struct python_symbol *symbols, size_t count);

#endif
