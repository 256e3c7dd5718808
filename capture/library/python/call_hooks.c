/* call_hooks.c: see call_hooks.h. The places in objects are those of CPython 3.8 to 3.14 with a GIL: PyTypeObject and
** PyCFunctionObject (cpython/object.h, cpython/methodobject.h), PyMethodDef (methodobject.h). */
#include "call_hooks.h"

#include "python_api.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum {
  TYPE = 8,               /* of an object */
  BASIC_SIZE = 32,        /* of a type */
  VECTORCALL_OFFSET = 56, /* of a type */
  DEFINITION = 16,        /* of a builtin function */
  MAXIMUM = 16,           /* builtin functions, */
  FUNCTIONS_MAXIMUM = 64, /* and functions of Python */
};
enum { VARARGS = 1, KEYWORDS = 2, NOARGS = 4, ONE = 8, FASTCALL = 0x80 };

/* All four are handed on, however many of them the convention has: what lies in the registers of others is not used. */
typedef void *builtin(void *self, void *first, void *second, void *third);
struct definition {
  const char *name;
  builtin *function;
  int flags;
  const char *doc;
};

struct call_api call_api;

bool call_hooks_find(void) {
  static const struct python_symbol wanted[] = {
#define WANTED(member, symbol) {offsetof(struct call_api, member), symbol}
      WANTED(fetch_error, "PyErr_Fetch"),
      WANTED(restore_error, "PyErr_Restore"),
      WANTED(error, "PyErr_Occurred"),
      WANTED(error_matches, "PyErr_ExceptionMatches"),
      WANTED(exception, "PyExc_Exception"),
      WANTED(call_with_names, "PyObject_Call"),
      WANTED(set_attribute, "PyObject_SetAttrString"),
      WANTED(new_dictionary, "PyDict_New"),
      WANTED(set_item, "PyDict_SetItem"),
      WANTED(empty_tuple, "PyTuple_New"),
      WANTED(tuple_size, "PyTuple_Size"),
      WANTED(set_tuple_item, "PyTuple_SetItem"),
      WANTED(compare_text, "PyUnicode_CompareWithASCIIString"),
      WANTED(builtin_flags, "PyCFunction_GetFlags"),
      WANTED(builtin_function, "PyCFunction_GetFunction"),
      WANTED(function_type, "PyFunction_Type"),
      WANTED(builtin_type, "PyCFunction_Type"),
      WANTED(yes, "_Py_TrueStruct"),
#undef WANTED
  };
  return python_symbols_find(&call_api, wanted, sizeof wanted / sizeof *wanted) && python_api_find();
}

static void *pointer_at(void *object, size_t offset) {
  void *value;
  memcpy(&value, (char *)object + offset, sizeof value);
  return value;
}

/* ---- Arguments. */

void *call_argument(const struct call_arguments *arguments, intptr_t place, const char *name) {
  if (arguments->tuple) {
    if (place < arguments->count) return python_api.tuple_item(arguments->tuple, place);
    return arguments->dictionary ? python_api.item(arguments->dictionary, name) : NULL;
  }
  if (place < arguments->count) return arguments->array[place];
  intptr_t names = arguments->names ? call_api.tuple_size(arguments->names) : 0;
  for (intptr_t i = 0; i < names; i++)
    if (!call_api.compare_text(python_api.tuple_item(arguments->names, i), name))
      return arguments->array[arguments->count + i];
  return NULL;
}

void *call_positional(const struct call_arguments *arguments) {
  if (arguments->tuple) {
    python_api.increment(arguments->tuple);
    return arguments->tuple;
  }
  void *tuple = call_api.empty_tuple(arguments->count);
  if (!tuple) python_api.clear_error();
  for (intptr_t i = 0; tuple && i < arguments->count; i++) {
    python_api.increment(arguments->array[i]);
    call_api.set_tuple_item(tuple, i, arguments->array[i]);
  }
  return tuple;
}

/* ---- What functions of ours raise. */

static void *reporter;

void call_hooks_report_to(void *its_reporter) {
  if (its_reporter) python_api.increment(its_reporter);
  reporter = its_reporter;
}

bool call_hooks_report(void) {
  if (!call_api.error_matches(*call_api.exception)) return true;
  void *error[3];
  call_api.fetch_error(&error[0], &error[1], &error[2]);
  void *arguments = reporter ? python_api.new_tuple(2, error[0], error[1] ? error[1] : python_api.none) : NULL;
  void *result = arguments ? python_api.call(reporter, arguments) : NULL;
  if (arguments) python_api.decrement(arguments);
  for (unsigned i = 0; i < sizeof error / sizeof *error; i++)
    if (error[i]) python_api.decrement(error[i]);
  if (result) python_api.decrement(result);
  bool is_interrupted = !result && call_api.error() && !call_api.error_matches(*call_api.exception);
  if (!result && !is_interrupted) python_api.clear_error();
  return is_interrupted;
}

/* Those by name, a new reference; NULL: there are none, or no memory, and no error is set. */
static void *call_names(const struct call_arguments *arguments) {
  if (arguments->tuple) {
    if (arguments->dictionary) python_api.increment(arguments->dictionary);
    return arguments->dictionary;
  }
  intptr_t count = arguments->names ? call_api.tuple_size(arguments->names) : 0;
  void *dictionary = count ? call_api.new_dictionary() : NULL;
  for (intptr_t i = 0; dictionary && i < count; i++)
    call_api.set_item(dictionary, python_api.tuple_item(arguments->names, i), arguments->array[arguments->count + i]);
  if (call_api.error()) python_api.clear_error();
  return dictionary;
}

static void *call_with(const struct call_hook *hook, void *function, const struct call_arguments *arguments) {
  void *tuple = call_positional(arguments), *names = hook->takes_names ? call_names(arguments) : NULL;
  void *result = tuple ? call_api.call_with_names(function, tuple, names) : NULL;
  if (tuple) python_api.decrement(tuple);
  if (names) python_api.decrement(names);
  return result;
}

/* What a handler of a signal raises meanwhile, KeyboardInterrupt or SystemExit, is the program's and stays, in the
** place of what the function has raised. What it returns, a new reference; NULL: nothing. */
static void *call_and_forget(const struct call_hook *hook, void *function, const struct call_arguments *arguments) {
  void *error[3];
  if (!function) return NULL;
  call_api.fetch_error(&error[0], &error[1], &error[2]);
  void *result = call_with(hook, function, arguments);
  bool is_interrupted = !result && call_api.error() && call_hooks_report();
  if (!is_interrupted) call_api.restore_error(error[0], error[1], error[2]);
  for (unsigned i = 0; is_interrupted && i < sizeof error / sizeof *error; i++)
    if (error[i]) python_api.decrement(error[i]);
  return result;
}

void call_hook_first(const struct call_hook *hook, const struct call_arguments *arguments, struct call_begun *begun) {
  (void)begun;
  void *result = call_and_forget(hook, hook->first, arguments);
  if (result) python_api.decrement(result);
}

void call_hook_change(const struct call_hook *hook, const struct call_arguments *arguments, struct call_begun *begun) {
  void *result = call_and_forget(hook, hook->first, arguments);
  bool is_taken = result && result != python_api.none;
  intptr_t size = is_taken ? call_api.tuple_size(result) : 0; /* -1, and an error: it is no tuple */
  if (size < 0) python_api.clear_error();
  if (size > 0 && size <= CHANGED_MAXIMUM) begun->changed = result;
  else if (result) python_api.decrement(result);
}

void call_hook_last(const struct call_hook *hook, const struct call_arguments *arguments,
                    const struct call_begun *begun) {
  (void)begun;
  void *result = call_and_forget(hook, hook->raised && call_api.error() ? hook->raised : hook->last, arguments);
  if (result) python_api.decrement(result);
}

/* false: an error is set, as if it had come just before the call. */
static bool call_begins(const struct call_hook *hook, const struct call_arguments *arguments,
                        struct call_begun *begun) {
  *begun = (struct call_begun){0, 0, NULL};
  if (hook->before) hook->before(hook, arguments, begun);
  return (hook->before != call_hook_first && hook->before != call_hook_change) || !call_api.error();
}

/* What the call returns. */
static void *call_ends(const struct call_hook *hook, const struct call_arguments *arguments,
                       const struct call_begun *begun, void *result) {
  if (begun->changed) python_api.decrement(begun->changed);
  if (hook->after) hook->after(hook, arguments, begun);
  if (!result || hook->after != call_hook_last || !call_api.error()) return result;
  python_api.decrement(result); /* as if it had come just after the call */
  return NULL;
}

/* ---- Functions of Python, in their place. */

static struct {
  void *function;
  const struct call_hook *hook;
  vectorcall *inner;
} functions[FUNCTIONS_MAXIMUM];
static unsigned function_count;
static vectorcall *standard; /* of all functions; NULL: not known */
static size_t vectorcall_offset;
static bool is_honoured;

static void *call_function(unsigned limit, void *function, void *const *array, size_t count, void *names);

static void *call_changed(unsigned limit, void *function, void *tuple) {
  void *array[CHANGED_MAXIMUM];
  intptr_t count = call_api.tuple_size(tuple);
  for (intptr_t i = 0; i < count; i++) array[i] = python_api.tuple_item(tuple, i);
  return call_function(limit, function, array, (size_t)count, NULL);
}

/* The latest first: they are outside those before. `limit`: those that are looked at. */
static void *call_function(unsigned limit, void *function, void *const *array, size_t count, void *names) {
  while (limit && functions[limit - 1].function != function) limit--;
  if (!limit) return standard(function, array, count, names);
  const size_t may_use_place_before = (size_t)1 << 63; /* PY_VECTORCALL_ARGUMENTS_OFFSET */
  struct call_arguments arguments = {
      .array = array, .count = (intptr_t)(count & ~may_use_place_before), .names = names};
  struct call_begun begun;
  const struct call_hook *hook = functions[limit - 1].hook;
  if (!call_begins(hook, &arguments, &begun)) return NULL;
  void *result = begun.changed ? call_changed(limit - 1, function, begun.changed)
                               : call_function(limit - 1, function, array, count, names);
  return call_ends(hook, &arguments, &begun, result);
}

static void *function_called(void *function, void *const *array, size_t count, void *names) {
  return call_function(function_count, function, array, count, names);
}

vectorcall **call_slot(void *object) {
  if (!standard) return NULL; /* of another layout */
  void *type = pointer_at(object, TYPE);
  size_t size = (size_t)pointer_at(type, BASIC_SIZE), offset = (size_t)pointer_at(type, VECTORCALL_OFFSET);
  if (offset % sizeof(void *) || offset < DEFINITION || offset > size - sizeof(void *) || size > 4096) return NULL;
  vectorcall **slot = (vectorcall **)(void *)((char *)object + offset);
  return *slot ? slot : NULL;
}

static void set_vectorcall(void *function, vectorcall *pointer) {
  static void (*set)(void *, vectorcall *); /* from 3.12 on */
  if (!set) {
    void *address = dlsym(RTLD_DEFAULT, "PyFunction_SetVectorcall");
    memcpy(&set, &address, sizeof address);
  }
  if (set) set(function, pointer);
  else memcpy((char *)function + vectorcall_offset, &pointer, sizeof pointer);
}

static bool is_function(void *object) { return pointer_at(object, TYPE) == call_api.function_type; }

static bool has_known_pointer(void *function) {
  void *pointer = pointer_at(function, vectorcall_offset);
  vectorcall *called = function_called;
  return !memcmp(&pointer, &standard, sizeof pointer) || !memcmp(&pointer, &called, sizeof pointer);
}

static bool hook_function(void *function, const struct call_hook *hook) {
  if (!standard || !has_known_pointer(function) || function_count == FUNCTIONS_MAXIMUM) return false;
  python_api.increment(function);
  functions[function_count].function = function;
  functions[function_count++].hook = hook;
  set_vectorcall(function, function_called);
  return true;
}

static unsigned calls_seen;
static void count_call(const struct call_hook *hook, const struct call_arguments *arguments, struct call_begun *begun) {
  (void)hook;
  (void)arguments;
  (void)begun;
  calls_seen++;
}

bool call_hooks_watch(void *function) {
  static const struct call_hook counting = {.before = count_call};
  if (standard || !call_hooks_find() || function == python_api.none || !is_function(function)) return false;
  size_t size = (size_t)pointer_at(call_api.function_type, BASIC_SIZE);
  size_t offset = (size_t)pointer_at(call_api.function_type, VECTORCALL_OFFSET);
  if (offset % sizeof(void *) || offset < DEFINITION || offset > size - sizeof(void *) || size > 512) return false;
  void *pointer = pointer_at(function, offset);
  void *known = dlsym(RTLD_DEFAULT, "_PyFunction_Vectorcall"); /* not from 3.13 on */
  if (!pointer || (known && known != pointer)) return false;
  vectorcall_offset = offset;
  memcpy(&standard, &pointer, sizeof pointer);
  calls_seen = 0;
  return hook_function(function, &counting);
}

bool call_hooks_prove(unsigned calls) {
  if (!function_count) return false;
  set_vectorcall(functions[0].function, standard);
  python_api.decrement(functions[0].function);
  function_count = 0;
  is_honoured = calls_seen == calls;
  return is_honoured;
}

/* ---- Builtin functions, in their place: each has a definition of its own, with a function that knows which it is. */

static struct {
  const struct definition *inner;
  struct definition definition;
  const struct call_hook *hook;
} builtins[MAXIMUM];
static unsigned builtin_count;

static void *call_builtin_changed(const struct definition *inner, void *self, void *tuple) {
  void *array[CHANGED_MAXIMUM];
  intptr_t count = call_api.tuple_size(tuple);
  if (inner->flags & VARARGS) return inner->function(self, tuple, NULL, NULL);
  for (intptr_t i = 0; i < count; i++) array[i] = python_api.tuple_item(tuple, i);
  if (inner->flags & FASTCALL) return inner->function(self, array, (void *)count, NULL);
  return inner->function(self, array[0], NULL, NULL);
}

static void *builtin_called(unsigned number, void *self, void *first, void *second, void *third) {
  int flags = builtins[number].definition.flags;
  struct call_arguments arguments = {0};
  if (flags & FASTCALL) {
    arguments.array = first;
    arguments.count = (intptr_t)second;
    arguments.names = flags & KEYWORDS ? third : NULL;
  } else if (flags & VARARGS) {
    arguments.tuple = first;
    arguments.count = call_api.tuple_size(first);
    arguments.dictionary = flags & KEYWORDS ? second : NULL;
  } else if (flags & ONE) {
    arguments.array = &first;
    arguments.count = 1;
  }
  struct call_begun begun;
  if (!call_begins(builtins[number].hook, &arguments, &begun)) return NULL;
  const struct definition *inner = builtins[number].inner;
  void *result = begun.changed && !(flags & NOARGS) ? call_builtin_changed(inner, self, begun.changed)
                                                    : inner->function(self, first, second, third);
  return call_ends(builtins[number].hook, &arguments, &begun, result);
}

#define FOR_EACH_BUILTIN(DO) \
  DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define CALLED(number)                                                             \
  static void *called_##number(void *self, void *first, void *second, void *third) { \
    return builtin_called(number, self, first, second, third);                       \
  }
#define ITS_NAME(number) called_##number,
FOR_EACH_BUILTIN(CALLED)
static builtin *const entries[MAXIMUM] = {FOR_EACH_BUILTIN(ITS_NAME)};

static bool hook_builtin(void *object, const struct call_hook *hook) {
  const struct definition *inner = pointer_at(object, DEFINITION);
  int flags = call_api.builtin_flags(object), convention = flags & (VARARGS | NOARGS | ONE | FASTCALL);
  void *function = call_api.builtin_function(object);
  if (!inner || inner->flags != flags || memcmp(&inner->function, &function, sizeof function)) return false;
  bool is_known = convention == VARARGS || convention == NOARGS || convention == ONE || convention == FASTCALL;
  if (!is_known || flags & ~(convention | KEYWORDS) || builtin_count == MAXIMUM) return false;
  unsigned number = builtin_count++;
  builtins[number].inner = inner;
  builtins[number].hook = hook;
  builtins[number].definition = *inner;
  builtins[number].definition.function = entries[number];
  python_api.increment(object);
  const struct definition *mine = &builtins[number].definition;
  memcpy((char *)object + DEFINITION, &mine, sizeof mine);
  return true;
}

bool call_hook_place(void *function, const struct call_hook *hook) {
  if (!standard) return false; /* of another layout */
  if (is_function(function)) return is_honoured && hook_function(function, hook);
  return pointer_at(function, TYPE) == call_api.builtin_type && hook_builtin(function, hook);
}

/* ---- Other objects that can be called. `self` is (address of the hook, function). */

static void *object_called(void *self, void *tuple, void *dictionary, void *unused) {
  (void)unused;
  const struct call_hook *hook = python_api.address(python_api.tuple_item(self, 0));
  struct call_arguments arguments = {.tuple = tuple, .count = call_api.tuple_size(tuple), .dictionary = dictionary};
  struct call_begun begun;
  if (!call_begins(hook, &arguments, &begun)) return NULL;
  void *function = python_api.tuple_item(self, 1);
  void *result = begun.changed ? call_api.call_with_names(function, begun.changed, NULL)
                               : call_api.call_with_names(function, tuple, dictionary);
  return call_ends(hook, &arguments, &begun, result);
}

void *call_hook_object(void *function, const struct call_hook *hook) {
  static struct definition definition = {"call", object_called, VARARGS | KEYWORDS, NULL};
  if (!call_hooks_find()) return NULL;
  void *address = python_api.new_address((void *)(uintptr_t)hook);
  void *self = address ? python_api.new_tuple(2, address, function) : NULL;
  void *object = self ? python_api.new_function(&definition, self, NULL) : NULL;
  if (address) python_api.decrement(address);
  if (self) python_api.decrement(self);
  if (!object) python_api.clear_error();
  return object;
}

bool call_hook_is_object(void *object) {
  builtin *mine = object_called;
  void *function = call_api.builtin_function(object); /* asked of CPython: the layout may be another one */
  if (!function) python_api.clear_error();
  return !memcmp(&mine, &function, sizeof function);
}
