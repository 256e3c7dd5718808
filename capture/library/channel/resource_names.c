/* resource_names.c: see resource_names.h. */
#include "resource_names.h"

#include "recorder/gate.h"

#include <stdatomic.h>
#include <string.h>

pthread_mutex_t resource_names_lock = PTHREAD_MUTEX_INITIALIZER;

static struct named_resource {
  struct resource_name is;
  uint64_t order; /* of all names that were given */
  bool is_translated;
} resources[RESOURCE_NAMES];
static unsigned count;
static uint64_t given, refused;
static _Atomic(resource_translator) translator;

void resource_names_translate(resource_translator translate) { atomic_store(&translator, translate); }

static uint64_t key_of(const struct resource_name *name) {
  return name->kind >= RESOURCE_CONTEXT_NUMBER ? name->number : name->handle;
}

static struct named_resource *find_resource(enum resource_kind kind, uint64_t key) {
  for (unsigned i = 0; i < count; i++)
    if (resources[i].is.kind == kind && key_of(&resources[i].is) == key) return &resources[i];
  return NULL;
}

static void keep_name(const struct resource_name *name, bool is_translated) {
  if (!gate_is_ours()) return;
  pthread_mutex_lock(&resource_names_lock);
  struct named_resource *resource = find_resource(name->kind, key_of(name));
  if (!resource && count < RESOURCE_NAMES) resource = &resources[count++];
  if (resource) *resource = (struct named_resource){*name, ++given, is_translated};
  else refused++;
  pthread_mutex_unlock(&resource_names_lock);
}

void resource_name_tell(enum resource_kind kind, uint64_t handle, const char *name, size_t length) {
  struct resource_name told = {.kind = kind, .handle = handle};
  bool has_number = kind == RESOURCE_CONTEXT || kind == RESOURCE_STREAM;
  resource_translator translate = has_number ? atomic_load(&translator) : NULL;
  if (length >= RESOURCE_NAME_MAXIMUM) {
    length = RESOURCE_NAME_MAXIMUM - 1;
    while (length && ((uint8_t)name[length] & 0xc0) == 0x80) length--; /* no half of a character */
  }
  memcpy(told.name, name, length);
  bool is_translated = translate && translate(kind, handle, &told.number);
  keep_name(&told, is_translated);
  if (!is_translated) return;
  told.kind = kind == RESOURCE_STREAM ? RESOURCE_STREAM_NUMBER : RESOURCE_CONTEXT_NUMBER;
  keep_name(&told, false);
}

void resource_names_since(uint64_t *seen, void (*tell)(void *context, const struct resource_name *name),
                          void *context) {
  pthread_mutex_lock(&resource_names_lock);
  for (unsigned i = 0; i < count && *seen != given; i++)
    if (resources[i].order > *seen && !resources[i].is_translated) tell(context, &resources[i].is);
  *seen = given;
  pthread_mutex_unlock(&resource_names_lock);
}

bool resource_name_of(enum resource_kind kind, uint64_t handle, char name[RESOURCE_NAME_MAXIMUM]) {
  pthread_mutex_lock(&resource_names_lock);
  const struct named_resource *resource = find_resource(kind, handle);
  if (resource) memcpy(name, resource->is.name, RESOURCE_NAME_MAXIMUM);
  pthread_mutex_unlock(&resource_names_lock);
  return resource != NULL;
}

uint64_t resource_names_refused(void) {
  pthread_mutex_lock(&resource_names_lock);
  uint64_t so_many = refused;
  pthread_mutex_unlock(&resource_names_lock);
  return so_many;
}
