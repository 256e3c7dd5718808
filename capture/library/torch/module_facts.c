/* module_facts.c: see module_facts.h. Everything here runs with the GIL held. */
#include "module_facts.h"

#include "base/list.h"
#include "channel/intern.h"
#include "known_modules.h"
#include "python/python_api.h"
#include "python/python_code.h"
#include "python/python_frames.h"
#include "recorder/gate.h"
#include "recorder/key_map.h"
#include "torch_inputs.h"

#include <stdlib.h>

static struct module_classes classes;
static void *tracing_state, *set_tracing_state; /* NULL: there is no torch.jit.trace */

void module_facts_begin(const struct module_classes *its_classes) {
  classes = *its_classes;
  void *const kept[] = {classes.module, classes.tensor, classes.lazy, classes.no_overrides};
  for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) python_api.increment(kept[i]);
}

void module_facts_mute(void *its_state, void *its_set_state) {
  tracing_state = its_state;
  set_tracing_state = its_set_state;
  python_api.increment(its_state);
  python_api.increment(its_set_state);
}

static void *type_of(void *object) { return (void *)(uintptr_t)python_at(object, OBJECT_TYPE); }

static bool is_a(void *object, void *type) { return python_api.is_subtype(type_of(object), type); }

static void *same(void *object) {
  python_api.increment(object);
  return object;
}

/* A tuple of new references, which are given up; NULL when one of them is. */
static void *pack(void **parts, unsigned count) {
  void *tuple = NULL;
  bool is_whole = true;
  for (unsigned i = 0; i < count; i++) is_whole = is_whole && parts[i];
  if (is_whole && count == 2) tuple = python_api.new_tuple(2, parts[0], parts[1]);
  if (is_whole && count == 3) tuple = python_api.new_tuple(3, parts[0], parts[1], parts[2]);
  if (is_whole && count == 5) tuple = python_api.new_tuple(5, parts[0], parts[1], parts[2], parts[3], parts[4]);
  if (is_whole && count == 6)
    tuple = python_api.new_tuple(6, parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]);
  for (unsigned i = 0; i < count; i++)
    if (parts[i]) python_api.decrement(parts[i]);
  return tuple;
}

/* Appends a new reference, which is given up; false when it is NULL, too. */
static bool append_new(void *list, void *object) {
  bool is_done = object && python_api.append(list, object) == 0;
  if (object) python_api.decrement(object);
  return is_done;
}

/* ---- Deaths. PyMethodDef (methodobject.h); METH_O is 8. */

static void *module_died(void *address, void *reference) {
  uintptr_t at = (uintptr_t)python_api.address(address);
  if (gate_is_ours() && known_module_died(at, reference)) {
    python_object_died((const void *)at);
    python_api.decrement(reference);
  }
  return same(python_api.none);
}

static struct {
  const char *name;
  void *(*function)(void *, void *);
  int flags;
  const char *doc;
} died_definition = {"module_died", module_died, 8, NULL};

/* A weak reference to a module, which tells its death. NULL: an error is set. */
static void *refer(void *module) {
  void *address = python_api.new_address(module), *reference = NULL;
  void *callback = address ? python_api.new_function(&died_definition, address, NULL) : NULL;
  if (callback) reference = python_api.new_reference(module, callback);
  if (callback) python_api.decrement(callback);
  if (address) python_api.decrement(address);
  return reference;
}

/* ---- The walk over a tree. */

struct seen_module {
  uint32_t number; /* under which it was seen before it was held */
  unsigned place;
};

struct walk {
  void *facts;        /* a list */
  void **waiting;     /* modules, which are referred to; the next one is the last */
  unsigned waiting_count, waiting_capacity;
  struct key_map visited; /* by address: how many came before it, and one */
  uintptr_t *fresh;   /* the modules that were held just now */
  unsigned fresh_count, fresh_capacity;
  struct seen_module *seen; /* those among them whose numbers may be in the file */
  unsigned seen_count, seen_capacity;
  uint64_t signature;
};

/* Its number; 0: an error is set, or there is no memory. */
static uint32_t hold(struct walk *walk, void *module) {
  uintptr_t address = (uintptr_t)module, type = (uintptr_t)type_of(module);
  uint32_t held = known_module_find(address).number;
  if (held) return held;
  bool has_room = array_room(walk->seen, walk->seen_count, walk->seen_capacity) &&
                  array_room(walk->fresh, walk->fresh_count, walk->fresh_capacity);
  void *reference = has_room ? refer(module) : NULL;
  if (!reference) return 0;
  bool was_seen;
  uint32_t number = known_module_hold(address, type, reference, &was_seen);
  if (!number) {
    python_api.decrement(reference);
    return 0;
  }
  if (was_seen) walk->seen[walk->seen_count++] = (struct seen_module){number, walk->fresh_count};
  walk->fresh[walk->fresh_count++] = address;
  return number;
}

static void sign(struct walk *walk, uint64_t word) { walk->signature = hash_step(walk->signature, word); }

static void sign_object(struct walk *walk, void *object) {
  int64_t hash = python_api.hash(object);
  if (hash == -1) python_api.clear_error();
  sign(walk, (uint64_t)hash);
}

/* The name of a class: one that the program makes anew each time lies elsewhere each time. PyTypeObject.tp_name. */
static void sign_class(struct walk *walk, void *type) {
  const char *name = (const char *)python_at(type, 24);
  sign(walk, hash_bytes(name, strnlen(name, 1000)));
}

/* An integer; NULL: an error is set. */
static void *memory_of_parameter(void *parameter) {
  void *integer = input_layout.storage ? python_api.attribute(parameter, "_cdata") : NULL;
  const uint8_t *tensor = integer ? python_api.address(integer) : NULL;
  if (integer) python_api.decrement(integer);
  else python_api.clear_error();
  return python_api.new_integer(tensor ? (intptr_t)torch_tensor_memory(tensor) : 0);
}

static void *facts_of_parameter(struct walk *walk, void *parameter) {
  static const char *const names[] = {"shape", "dtype", "device", "requires_grad"};
  enum { SHAPE, DTYPE, DEVICE, TRAINABLE, NAMES };
  void *none = python_api.none, *type = type_of(parameter), *values[NAMES] = {NULL};
  sign_class(walk, type);
  if (classes.lazy != none && is_a(parameter, classes.lazy)) return same(none);
  unsigned count = 0;
  while (count < NAMES && (values[count] = python_api.attribute(parameter, names[count]))) count++;
  void *memory = NULL;
  if (count == NAMES) {
    sign_object(walk, values[SHAPE]);
    sign_object(walk, values[DEVICE]);
    sign(walk, (uintptr_t)values[DTYPE] ^ (uintptr_t)values[TRAINABLE]);
    memory = memory_of_parameter(parameter);
  }
  void *facts =
      pack((void *[]){same(type), values[SHAPE], values[DTYPE], values[DEVICE], values[TRAINABLE], memory}, 6);
  if (facts) return facts;
  python_api.clear_error(); /* some tensors have no shape to tell */
  return same(none);
}

static void *facts_of_child(struct walk *walk, void *child) {
  uint32_t number = hold(walk, child);
  return number ? python_api.new_integer(number) : NULL;
}

static bool wait_for(struct walk *walk, void *module) {
  if (!array_room(walk->waiting, walk->waiting_count, walk->waiting_capacity)) return false;
  walk->waiting[walk->waiting_count++] = same(module);
  return true;
}

/* What is said of the values of a dictionary that are modules, or tensors: a program may keep None, and by mistake
** anything else, among them. NULL: an error is set, or there is no memory. Modules are walked later, in their order. */
static void *facts_of_values(struct walk *walk, void *dictionary, bool is_of_modules) {
  void *items = python_api.items(dictionary), *list = items ? python_api.new_list(0) : NULL;
  intptr_t count = list ? python_api.list_size(items) : 0;
  unsigned before = walk->waiting_count;
  sign(walk, (uint64_t)count);
  bool is_whole = list != NULL;
  for (intptr_t i = 0; i < count && is_whole; i++) {
    void *item = python_api.list_item(items, i), *value = python_api.tuple_item(item, 1);
    if (!is_a(value, is_of_modules ? classes.module : classes.tensor)) continue;
    void *key = python_api.tuple_item(item, 0);
    sign_object(walk, key);
    if (is_of_modules)
      is_whole = append_new(list, pack((void *[]){same(key), facts_of_child(walk, value)}, 2)) && wait_for(walk, value);
    else
      is_whole = append_new(list, pack((void *[]){same(key), python_api.new_address(value),
                                              facts_of_parameter(walk, value)}, 3));
  }
  for (unsigned i = before, j = walk->waiting_count; i + 1 < j; i++, j--) {
    void *first = walk->waiting[i];
    walk->waiting[i] = walk->waiting[j - 1];
    walk->waiting[j - 1] = first;
  }
  if (items) python_api.decrement(items);
  if (list && !is_whole) python_api.decrement(list);
  return is_whole ? list : NULL;
}

static bool is_dictionary(void *object) { return object && is_a(object, python_api.dictionary_type); }

bool module_facts_is_made(void *module) {
  void *dictionary = python_api.dictionary_of(module, NULL);
  if (!dictionary) python_api.clear_error();
  bool is_made = is_dictionary(dictionary) && is_dictionary(python_api.item(dictionary, "_modules"));
  if (dictionary) python_api.decrement(dictionary);
  return is_made;
}

static void *facts_of_module(struct walk *walk, void *module) {
  uint32_t number = hold(walk, module);
  void *dictionary = number ? python_api.dictionary_of(module, NULL) : NULL;
  if (!dictionary) return NULL;
  bool has_parts = is_dictionary(dictionary);
  void *modules = has_parts ? python_api.item(dictionary, "_modules") : NULL;
  void *parameters = has_parts ? python_api.item(dictionary, "_parameters") : NULL;
  has_parts = is_dictionary(modules) && is_dictionary(parameters);
  sign_class(walk, type_of(module));
  if (!has_parts) sign(walk, number); /* nothing tells two of them apart */
  known_module_was_looked_at((uintptr_t)module);
  void *facts = pack((void *[]){python_api.new_integer(number), same(type_of(module)),
                                same(known_module_reference((uintptr_t)module)),
                                has_parts ? facts_of_values(walk, modules, true) : same(python_api.none),
                                has_parts ? facts_of_values(walk, parameters, false) : same(python_api.none)},
                     5);
  python_api.decrement(dictionary);
  return facts;
}

/* What a function called with up to one object returns; NULL: it failed, and no error is set. */
static void *call(void *function, void *argument) {
  void *arguments = argument ? python_api.new_tuple(1, argument) : NULL;
  void *result = argument && !arguments ? NULL : python_api.call(function, arguments);
  if (arguments) python_api.decrement(arguments);
  if (!result) python_api.clear_error();
  return result;
}

struct quiet {
  void *guard, *tracing; /* NULL: none */
};

/* Tensors of the program's own classes may ask Python what their shape is; now they do not. And what torch.jit.trace
** sees of a tensor on this thread, its shape too, becomes part of the graph; now it does not see us. */
static struct quiet quiet_begin(void) {
  bool has_guard = classes.no_overrides != python_api.none;
  struct quiet quiet = {has_guard ? python_api.call(classes.no_overrides, NULL) : NULL,
                        tracing_state ? call(tracing_state, NULL) : NULL};
  void *enter = quiet.guard ? python_api.attribute(quiet.guard, "__enter__") : NULL;
  void *result = enter ? python_api.call(enter, NULL) : NULL;
  if (enter) python_api.decrement(enter);
  if (result) python_api.decrement(result);
  if (!result) python_api.clear_error();
  if (!result && quiet.guard) {
    python_api.decrement(quiet.guard);
    quiet.guard = NULL;
  }
  void *muted = quiet.tracing && quiet.tracing != python_api.none ? call(set_tracing_state, python_api.none) : NULL;
  if (muted) {
    python_api.decrement(muted);
  } else if (quiet.tracing) {
    python_api.decrement(quiet.tracing);
    quiet.tracing = NULL;
  }
  return quiet;
}

static void quiet_end(struct quiet quiet) {
  if (quiet.tracing) {
    void *result = call(set_tracing_state, quiet.tracing);
    if (result) python_api.decrement(result);
    python_api.decrement(quiet.tracing);
  }
  if (!quiet.guard) return;
  void *none = python_api.none, *leave = python_api.attribute(quiet.guard, "__exit__");
  void *arguments = leave ? python_api.new_tuple(3, none, none, none) : NULL;
  void *result = arguments ? python_api.call(leave, arguments) : NULL;
  void *const owned[] = {leave, arguments, result, quiet.guard};
  for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
    if (owned[i]) python_api.decrement(owned[i]);
  if (!result) python_api.clear_error();
}

/* false: memory was short. No error is left: leaving the guard clears it. */
static bool walk_tree(struct walk *walk, void *root) {
  *walk = (struct walk){.facts = python_api.new_list(0), .signature = 1};
  bool is_whole = walk->facts && wait_for(walk, root);
  struct quiet quiet = quiet_begin();
  while (walk->waiting_count && is_whole) {
    void *module = walk->waiting[--walk->waiting_count];
    struct key_map_entry *entry = key_map_entry(&walk->visited, (uintptr_t)module, 0);
    is_whole = entry != NULL;
    if (entry && entry->row_plus_one) {
      sign(walk, entry->row_plus_one);
    } else if (entry) {
      entry->row_plus_one = walk->visited.used + 1;
      key_map_added(&walk->visited);
      is_whole = append_new(walk->facts, facts_of_module(walk, module));
    }
    python_api.decrement(module);
  }
  while (walk->waiting_count) python_api.decrement(walk->waiting[--walk->waiting_count]);
  if (!is_whole) python_api.clear_error();
  quiet_end(quiet);
  return is_whole;
}

static void walk_end(struct walk *walk) {
  if (walk->facts) python_api.decrement(walk->facts);
  key_map_end(&walk->visited);
  free(walk->waiting);
  free(walk->fresh);
  free(walk->seen);
}

void *module_facts_tree(void *module) {
  struct walk walk;
  void *facts = same(walk_tree(&walk, module) ? walk.facts : python_api.none);
  walk_end(&walk);
  return facts;
}

void *module_facts_model(uint32_t model) {
  uintptr_t root = known_model_root(model);
  void *reference = root ? known_module_reference(root) : NULL;
  void *module = reference ? python_api.call(reference, NULL) : same(python_api.none);
  if (!module) {
    python_api.clear_error();
    return same(python_api.none);
  }
  if (module == python_api.none) return module;
  void *facts = module_facts_tree(module);
  python_api.decrement(module);
  return facts;
}

/* ---- What is new. */

static bool add_news(void *news, uint32_t model, void *facts) {
  return append_new(news, pack((void *[]){python_api.new_integer(model), same(facts)}, 2));
}

static bool add_number(void *news, uint32_t number, uint32_t seen) {
  return append_new(news, pack((void *[]){python_api.new_integer(number), python_api.new_integer(seen)}, 2));
}

bool module_facts_add_numbers(void *news) {
  bool is_done = true;
  for (uint32_t number, seen; is_done && known_module_next_number(&number, &seen);)
    if (seen != number) is_done = add_number(news, number, seen);
  return is_done;
}

/* One that was added to a model since this was looked at is part of its caller, and no model of its own. *is_part: it
** is, and that is told. */
static bool look_at_caller(void *module, void *caller, void *news, bool *is_part) {
  struct walk walk;
  bool is_done = walk_tree(&walk, caller);
  struct key_map_entry *entry = is_done ? key_map_entry(&walk.visited, (uintptr_t)module, 0) : NULL;
  *is_part = entry && entry->row_plus_one;
  if (*is_part) is_done = add_news(news, 0, walk.facts);
  walk_end(&walk);
  return is_done;
}

/* The modules of the tree that were held just now are a model, or one again. */
static bool add_model(struct walk *walk, void *module, void *caller, void *news) {
  bool is_again, is_part = false;
  sign(walk, caller ? known_module_find((uintptr_t)caller).number : 0);
  uint32_t model = known_model_begin((uintptr_t)module, walk->signature, walk->fresh, walk->fresh_count, &is_again);
  if (!model) return true; /* there are too many: they stay without names */
  if (!is_again && caller && !look_at_caller(module, caller, news, &is_part)) return false;
  if (!is_again) return is_part || add_news(news, model, walk->facts);
  bool is_done = true;
  for (unsigned i = 0; i < walk->seen_count && is_done; i++) {
    uint32_t number = known_module_find(walk->fresh[walk->seen[i].place]).number;
    if (number && number != walk->seen[i].number) is_done = add_number(news, number, walk->seen[i].number);
  }
  return is_done;
}

bool module_facts_look(void *module, void *caller, void *news) {
  struct held_module found = known_module_find((uintptr_t)module);
  if (found.number && !found.must_look) return true;
  struct walk walk;
  bool is_done = walk_tree(&walk, module);
  if (is_done && !found.number)
    is_done = add_model(&walk, module, caller, news);
  else if (is_done)
    is_done = add_news(news, 0, walk.facts);
  walk_end(&walk);
  return is_done;
}
