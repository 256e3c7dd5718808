/* module_search.c: see module_search.h. */
#include "module_search.h"

#include "base/address_map.h"
#include "module_facts.h"
#include "python/python_api.h"
#include "python/python_frames.h"

#include <stdlib.h>
#include <string.h>

enum { FOUND_MAXIMUM = 4096 };

/* Found once, and not met since as far as is known. */
struct found_module {
  uintptr_t address;
  void *reference; /* weak */
};

static struct address_map found_before; /* of struct found_module */
static bool is_searching; /* Python may let others run meanwhile */

static void forget(struct found_module *found) {
  if (found->reference) python_api.decrement(found->reference);
  address_map_remove(&found_before, sizeof *found, found);
}

static void forget_all(void) {
  struct found_module *entries = found_before.entries;
  for (size_t i = 0; entries && i <= found_before.mask; i++)
    if (entries[i].address && entries[i].reference) python_api.decrement(entries[i].reference);
  free(entries);
  found_before = (struct address_map){0};
}

static bool refers_to(void *reference, const void *module) {
  void *object = reference ? python_api.call(reference, NULL) : NULL;
  if (!object) python_api.clear_error();
  else python_api.decrement(object);
  return object == module;
}

/* Whether it is the object that was found at its address before; from now on it was. */
static bool was_found(void *module) {
  bool is_new;
  if (found_before.count >= FOUND_MAXIMUM) forget_all();
  struct found_module *found = address_map_put(&found_before, sizeof *found, (uintptr_t)module, &is_new);
  if (!found) return false;
  if (refers_to(found->reference, module)) {
    forget(found);
    return true;
  }
  if (found->reference) python_api.decrement(found->reference);
  found->reference = python_api.new_reference(module, NULL);
  if (!found->reference) {
    python_api.clear_error();
    forget(found);
  }
  return false;
}

/* ---- The objects. */

struct place {
  struct wanted_module module;
  unsigned number; /* in the order of the search */
};

static int by_address(const void *left, const void *right) {
  const struct wanted_module *a = left, *b = right; /* each the first part of a place */
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  return (a->type > b->type) - (a->type < b->type);
}

static int by_module_and_number(const void *left, const void *right) {
  const struct place *a = left, *b = right;
  int order = by_address(left, right);
  return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Each of those that are missing once, where it was met first. */
static unsigned sort_places(const struct module_search *search, struct place *places) {
  unsigned kept = 0;
  for (unsigned i = 0; i < search->count; i++) places[i] = (struct place){search->missing[i], i};
  qsort(places, search->count, sizeof *places, by_module_and_number);
  for (unsigned i = 0; i < search->count; i++)
    if (!kept || by_address(&places[kept - 1], &places[i])) places[kept++] = places[i];
  return kept;
}

/* The objects at these places, by number. The list refers to them. */
static void find_objects(void *objects, const struct place *places, unsigned count, void **found) {
  for (intptr_t i = 0, size = python_api.list_size(objects); i < size; i++) {
    void *object = python_api.list_item(objects, i);
    struct wanted_module key = {(uintptr_t)object, 0};
    if (key.address < places[0].module.address || key.address > places[count - 1].module.address) continue;
    key.type = (uintptr_t)python_at(object, OBJECT_TYPE);
    const struct place *place = bsearch(&key, places, count, sizeof *places, by_address);
    if (place) found[place->number] = object;
  }
}

static bool is_proved(const struct module_search *search, void *module, const struct wanted_module *met) {
  if (search->main_state && module_facts_is_made(module) &&
      known_module_prove(search->main_state, met->address, met->type))
    return true;
  return was_found(module) || search->is_last;
}

bool module_search(const struct module_search *search) {
  bool is_any = false;
  if (!search->count || is_searching) return false;
  is_searching = true;
  struct place *places = malloc(search->count * sizeof *places);
  void **found = calloc(search->count, sizeof *found);
  void *objects = places && found ? python_api.call(search->get_objects, NULL) : NULL;
  if (objects) find_objects(objects, places, sort_places(search, places), found);
  else python_api.clear_error();
  for (unsigned i = 0; i < search->count && objects; i++) {
    if (!found[i]) continue;
    is_any = true;
    if (is_proved(search, found[i], &search->missing[i])) search->look(found[i], NULL);
  }
  if (objects) python_api.decrement(objects);
  free(places);
  free(found);
  is_searching = false;
  return is_any;
}

void module_search_reset(void) {
  found_before = (struct address_map){0}; /* the parent may be in the middle of it */
  is_searching = false;
}
