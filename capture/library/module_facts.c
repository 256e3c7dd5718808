/* module_facts.c: see module_facts.h. The functions of the interpreter are found by name: nothing is linked. */
#include "module_facts.h"

#include "python_frames.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

static struct {
  void *(*call)(void *callable, void *arguments);
  void *(*attribute)(void *object, const char *name);
  void *(*item)(void *dictionary, const char *key); /* borrowed */
  void *(*items)(void *dictionary);
  void *(*new_list)(intptr_t size);
  intptr_t (*list_size)(void *list);
  void *(*list_item)(void *list, intptr_t index);   /* borrowed */
  void *(*tuple_item)(void *tuple, intptr_t index); /* borrowed */
  int (*append)(void *list, void *object);
  void *(*new_tuple)(intptr_t size, ...);
  void *(*new_integer)(void *address);
  int (*is_subtype)(void *type, void *of);
  void (*increment)(void *object);
  void (*decrement)(void *object);
  void (*clear_error)(void);
  void *dictionary_type, *none, *no;
  void *reference_class, *died, *lazy_class;
} python;

bool module_facts_begin(void *reference_class, void *died, void *lazy_class) {
  const struct {
    void *target;
    const char *symbol;
  } wanted[] = {
      {&python.call, "PyObject_CallObject"},       {&python.attribute, "PyObject_GetAttrString"},
      {&python.item, "PyDict_GetItemString"},      {&python.items, "PyDict_Items"},
      {&python.new_list, "PyList_New"},            {&python.list_size, "PyList_Size"},
      {&python.list_item, "PyList_GetItem"},       {&python.tuple_item, "PyTuple_GetItem"},
      {&python.append, "PyList_Append"},           {&python.new_tuple, "PyTuple_Pack"},
      {&python.new_integer, "PyLong_FromVoidPtr"}, {&python.is_subtype, "PyType_IsSubtype"},
      {&python.increment, "Py_IncRef"},            {&python.decrement, "Py_DecRef"},
      {&python.clear_error, "PyErr_Clear"},        {&python.dictionary_type, "PyDict_Type"},
      {&python.none, "_Py_NoneStruct"},            {&python.no, "_Py_FalseStruct"},
  };
  for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *address = dlsym(RTLD_DEFAULT, wanted[i].symbol);
    if (!address) return false;
    memcpy(wanted[i].target, &address, sizeof address);
  }
  python.reference_class = reference_class;
  python.died = died;
  python.lazy_class = lazy_class;
  void *const kept[] = {reference_class, died, lazy_class};
  for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) python.increment(kept[i]);
  return true;
}

static void *type_of(void *object) { return (void *)(uintptr_t)python_at(object, OBJECT_TYPE); }

/* A tuple of new references, which are given up; NULL when one of them is. */
static void *pack(void **parts, unsigned count) {
  void *tuple = NULL;
  bool is_whole = true;
  for (unsigned i = 0; i < count; i++) is_whole = is_whole && parts[i];
  if (is_whole && count == 3) tuple = python.new_tuple(3, parts[0], parts[1], parts[2]);
  if (is_whole && count == 5) tuple = python.new_tuple(5, parts[0], parts[1], parts[2], parts[3], parts[4]);
  for (unsigned i = 0; i < count; i++)
    if (parts[i]) python.decrement(parts[i]);
  return tuple;
}

static void *same(void *object) {
  python.increment(object);
  return object;
}

void *module_facts_reference(void *module) {
  void *arguments = python.new_tuple(2, module, python.died);
  void *reference = arguments ? python.call(python.reference_class, arguments) : NULL;
  if (arguments) python.decrement(arguments);
  return reference;
}

static void *facts_of_parameter(void *parameter) {
  if (python.lazy_class != python.none && python.is_subtype(type_of(parameter), python.lazy_class))
    return same(python.none);
  void *facts = pack((void *[]){same(type_of(parameter)), python.attribute(parameter, "shape"),
                                python.attribute(parameter, "dtype"), python.attribute(parameter, "device"),
                                python.attribute(parameter, "requires_grad")},
                     5);
  if (facts) return facts;
  python.clear_error(); /* some tensors have no shape to tell */
  return same(python.none);
}

/* A list of (key, address, what `describe` returns) of the values that are not None. NULL: an error is set. */
static void *describe_values(void *dictionary, void *(*describe)(void *value)) {
  void *items = python.items(dictionary), *list = items ? python.new_list(0) : NULL;
  intptr_t count = list ? python.list_size(items) : 0;
  for (intptr_t i = 0; i < count && list; i++) {
    void *item = python.list_item(items, i), *value = python.tuple_item(item, 1);
    if (value == python.none) continue;
    void *entry = pack((void *[]){same(python.tuple_item(item, 0)), python.new_integer(value), describe(value)}, 3);
    if (!entry || python.append(list, entry)) {
      python.decrement(list);
      list = NULL;
    }
    if (entry) python.decrement(entry);
  }
  if (items) python.decrement(items);
  return list;
}

static bool is_dictionary(void *object) {
  return object && python.is_subtype(type_of(object), python.dictionary_type);
}

static void *facts_of_module(void *module) {
  void *dictionary = python.attribute(module, "__dict__");
  if (!dictionary) return NULL;
  void *modules = is_dictionary(dictionary) ? python.item(dictionary, "_modules") : NULL;
  void *parameters = is_dictionary(dictionary) ? python.item(dictionary, "_parameters") : NULL;
  void *facts;
  if (!is_dictionary(modules) || !is_dictionary(parameters))
    facts = same(python.no);
  else
    facts = pack((void *[]){python.new_integer(module), python.new_integer(type_of(module)), same(type_of(module)),
                            describe_values(modules, module_facts_reference),
                            describe_values(parameters, facts_of_parameter)},
                 5);
  python.decrement(dictionary);
  return facts;
}

void *module_facts(void *reference) {
  void *module = python.call(reference, NULL);
  if (!module || module == python.none) return module;
  void *facts = facts_of_module(module);
  python.decrement(module);
  return facts;
}
