/* resource_names.c: see resource_names.h. */
#include "resource_names.h"

#include <stdatomic.h>
#include <string.h>

pthread_mutex_t resource_names_lock = PTHREAD_MUTEX_INITIALIZER;

static struct named_resource {
  uint64_t handle;
  enum resource_kind kind;
  char name[RESOURCE_NAME_MAXIMUM];
} resources[RESOURCE_NAMES];
static unsigned count;
static uint64_t refused;
static _Atomic(stream_translator) translator;

void resource_names_translate(stream_translator translate) { atomic_store(&translator, translate); }

static struct named_resource *find_resource(enum resource_kind kind, uint64_t handle) {
  for (unsigned i = 0; i < count; i++)
    if (resources[i].handle == handle && resources[i].kind == kind) return &resources[i];
  return NULL;
}

static void keep_name(enum resource_kind kind, uint64_t handle, const char *name, size_t length) {
  pthread_mutex_lock(&resource_names_lock);
  struct named_resource *resource = find_resource(kind, handle);
  if (!resource && count < RESOURCE_NAMES) resource = &resources[count++];
  if (resource) {
    *resource = (struct named_resource){.handle = handle, .kind = kind};
    memcpy(resource->name, name, length);
  } else {
    refused++;
  }
  pthread_mutex_unlock(&resource_names_lock);
}

void resource_name_tell(enum resource_kind kind, uint64_t handle, const char *name, size_t length) {
  stream_translator translate = kind == RESOURCE_STREAM ? atomic_load(&translator) : NULL;
  uint64_t number;
  if (length >= RESOURCE_NAME_MAXIMUM) {
    length = RESOURCE_NAME_MAXIMUM - 1;
    while (length && ((uint8_t)name[length] & 0xc0) == 0x80) length--; /* no half of a character */
  }
  keep_name(kind, handle, name, length);
  if (translate && translate(handle, &number)) keep_name(RESOURCE_STREAM_NUMBER, number, name, length);
}

bool resource_name_of(enum resource_kind kind, uint64_t handle, char name[RESOURCE_NAME_MAXIMUM]) {
  pthread_mutex_lock(&resource_names_lock);
  const struct named_resource *resource = find_resource(kind, handle);
  if (resource) memcpy(name, resource->name, RESOURCE_NAME_MAXIMUM);
  pthread_mutex_unlock(&resource_names_lock);
  return resource != NULL;
}

uint64_t resource_names_refused(void) {
  pthread_mutex_lock(&resource_names_lock);
  uint64_t so_many = refused;
  pthread_mutex_unlock(&resource_names_lock);
  return so_many;
}
