/* call_hooks.h: something is done before and after each call of a function of the program's modules, with no frame.
**
** The function object itself stays what it is and where it is: name, code, signature and identity, for whoever calls,
** inspects, pickles or compiles it (torch.compile reads a function's code and keeps its identity in guards).  What
** changes is the pointer by which CPython calls it: the `vectorcall` of a function, which CPython offers for that from
** 3.12 on (PyFunction_SetVectorcall) and looks at in every call up to 3.10; and of a builtin function the definition
** that names its C function.  So no frame of ours is in a traceback, and no warning counts one.
**
** CPython 3.11 calls functions without a look at that pointer.  There, and in interpreters of another make, a wrapper
** takes the function's place (_tfprof_calls.py), and calls what call_hook_object makes.
**
** Everything here is called with the GIL held.
*/
#ifndef TFPROF_CAPTURE_CALL_HOOKS_H
#define TFPROF_CAPTURE_CALL_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions of the interpreter that hooks need beside those of python_api.h. */
struct call_api {
  void (*fetch_error)(void **type, void **value, void **traceback); /* takes it away; NULL: none is set */
  void (*restore_error)(void *type, void *value, void *traceback);  /* which it gets */
  void *(*error)(void); /* borrowed; NULL: none is set */
  int (*error_matches)(void *exception);
  void **exception; /* the class Exception */
  void *(*call_with_names)(void *callable, void *arguments, void *names); /* a dictionary or NULL */
  int (*set_attribute)(void *object, const char *name, void *value); /* not 0: an error is set */
  void *(*new_dictionary)(void);
  int (*set_item)(void *dictionary, void *key, void *value); /* not 0: an error is set */
  void *(*empty_tuple)(intptr_t size);
  intptr_t (*tuple_size)(void *tuple);
  int (*set_tuple_item)(void *tuple, intptr_t index, void *object); /* gets the reference */
  int (*compare_text)(void *text, const char *ascii);               /* 0: equal */
  int (*builtin_flags)(void *function);
  void *(*builtin_function)(void *function); /* its function in C */
  void *function_type, *builtin_type, *yes;
};
extern struct call_api call_api;

/* Of both. false: this interpreter lacks one of them, and there are no hooks. */
bool call_hooks_find(void);

/* The arguments of a call, in one of CPython's two ways: an array, behind whose `count` positional ones are those that
** the tuple `names` names; or a tuple and a dictionary. What is not there is NULL. */
struct call_arguments {
  void *const *array;
  intptr_t count;
  void *names;
  void *tuple, *dictionary;
};

/* The argument at `place`, or of that name; borrowed. NULL: it is not given. */
void *call_argument(const struct call_arguments *arguments, intptr_t place, const char *name);
/* The positional ones, a new reference; NULL: no memory, and no error is set. */
void *call_positional(const struct call_arguments *arguments);

/* What `before` wants `after` to know. */
struct call_begun {
  uint64_t ticks;
  int kind;
  void *changed; /* of call_hook_change: the tuple that takes the place of the arguments, or NULL */
};
enum { CHANGED_MAXIMUM = 8 /* arguments, of which no more are taken */ };

struct call_hook {
  void (*before)(const struct call_hook *hook, const struct call_arguments *arguments, struct call_begun *begun);
  /* The function has returned, or raised: that error is set, and must be when this returns. */
  void (*after)(const struct call_hook *hook, const struct call_arguments *arguments, const struct call_begun *begun);
  const char *name;
  void *first, *last, *raised; /* objects of Python for the two; the third: for `after`, where the function raised */
  bool takes_names;            /* these are called with the arguments by name, too */
};

/* Whether a function's pointer is honoured here is tried out: `function` is one that does nothing. After it has been
** called, call_hooks_prove says whether each of the `calls` was seen; until then, and if not, functions of Python are
** not hooked. false: their layout is another one, builtin functions are not hooked either. */
bool call_hooks_watch(void *function);
bool call_hooks_prove(unsigned calls);

/* Hooks the function, for good; `hook` stays where it is. Of two hooks of one function the later is outside. false: it
** cannot be hooked in its place. */
bool call_hook_place(void *function, const struct call_hook *hook);
/* A builtin function that calls `function`, whatever can be called, with the hook around it; a new reference, or NULL,
** and no error is set. */
void *call_hook_object(void *function, const struct call_hook *hook);
/* Whether the object was made by call_hook_object. */
bool call_hook_is_object(void *object);

/* By which Python calls an object, as CPython declares it, and where the object keeps it; NULL: its class has no such
** place, or that is not known here. */
typedef void *vectorcall(void *function, void *const *arguments, size_t count, void *names);
vectorcall **call_slot(void *object);

/* Is called with the class of an exception and itself, or None, where a function of ours has raised it; NULL: none. */
void call_hooks_report_to(void *reporter);
/* An error is set: tells it to that one and clears it, unless it is no Exception: a handler of a signal has raised it,
** and it stays. Whether it stays. */
bool call_hooks_report(void);

/* `first` and `last`, functions of Python or NULL, are called with the positional arguments, and so is `raised` in the
** place of `last` where the function raised and there is one; what they raise is told and forgotten
** (call_hooks_report). */
void call_hook_first(const struct call_hook *hook, const struct call_arguments *arguments, struct call_begun *begun);
/* The same; but where `first` returns a tuple the function is called with what is in it, and with nothing else. Not of
** builtin functions. */
void call_hook_change(const struct call_hook *hook, const struct call_arguments *arguments, struct call_begun *begun);
void call_hook_last(const struct call_hook *hook, const struct call_arguments *arguments,
                    const struct call_begun *begun);

#endif
