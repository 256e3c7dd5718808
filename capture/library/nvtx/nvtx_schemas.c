/* nvtx_schemas.c: see nvtx_schemas.h. */
#include "nvtx_schemas.h"

#include "nvtx_texts.h"
#include "recorder/gate.h"

#include <stdatomic.h>
#include <stdlib.h>

pthread_mutex_t nvtx_schemas_lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic uint64_t nvtx_schemas_refused;

static struct nvtx_layout layouts[NVTX_SCHEMAS];
static _Atomic unsigned layout_count;
static size_t entry_count;

const struct nvtx_layout *nvtx_layout_find(unsigned domain, uint64_t id) {
  unsigned count = atomic_load_explicit(&layout_count, memory_order_acquire);
  if (id >= NVTX_ID_GIVEN) { /* ours: it says the place */
    const struct nvtx_layout *layout = id - NVTX_ID_GIVEN < count ? &layouts[id - NVTX_ID_GIVEN] : NULL;
    return layout && layout->id == id ? layout : NULL;
  }
  for (unsigned i = count; i--;) /* the last one counts */
    if (layouts[i].id == id && layouts[i].domain == domain) return &layouts[i];
  return NULL;
}

static uint32_t name_number(const char *name) { return name ? nvtx_text_number(name) : 0; }

/* Under the lock. */
static uint64_t add_layout(struct nvtx_layout layout) {
  unsigned place = atomic_load(&layout_count);
  if (layout.id < NVTX_ID_STATIC || layout.id >= NVTX_ID_GIVEN) layout.id = NVTX_ID_GIVEN + place;
  layouts[place] = layout;
  entry_count += layout.count;
  atomic_store_explicit(&layout_count, place + 1, memory_order_release);
  return layout.id;
}

/* Under the lock. */
static bool has_room(size_t count) {
  bool has_it = atomic_load(&layout_count) < NVTX_SCHEMAS && count <= NVTX_SCHEMA_ENTRIES - entry_count;
  if (!has_it) atomic_fetch_add(&nvtx_schemas_refused, 1);
  return has_it;
}

uint64_t nvtx_schema_register(unsigned domain, const struct nvtx_schema *schema) {
  enum { NEEDED = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT };
  if (!gate_is_ours() || !schema || (schema->fields & NEEDED) != NEEDED || !schema->entries) return 0;
  uint64_t id = 0;
  pthread_mutex_lock(&nvtx_schemas_lock);
  size_t count = schema->entry_count;
  struct nvtx_layout_entry *entries = has_room(count) ? calloc(count + 1, sizeof *entries) : NULL;
  for (size_t i = 0; entries && i < count; i++) {
    const struct nvtx_schema_entry *entry = &schema->entries[i];
    entries[i] = (struct nvtx_layout_entry){name_number(entry->name), (uint32_t)entry->flags, entry->type,
                                            entry->detail, entry->offset};
  }
  if (entries)
    id = add_layout((struct nvtx_layout){
        .id = schema->fields & NVTX_SCHEMA_HAS_ID ? schema->id : 0,
        .domain = domain,
        .is_known = schema->type == NVTX_SCHEMA_STATIC || schema->type == NVTX_SCHEMA_DYNAMIC,
        .size = schema->fields & NVTX_SCHEMA_HAS_SIZE && schema->type == NVTX_SCHEMA_STATIC &&
                        schema->static_size <= UINT32_MAX
                    ? (uint32_t)schema->static_size
                    : 0,
        .alignment = schema->fields & NVTX_SCHEMA_HAS_ALIGNMENT ? (uint32_t)schema->alignment : 0,
        .count = (uint32_t)count,
        .entries = entries,
    });
  pthread_mutex_unlock(&nvtx_schemas_lock);
  return id;
}

uint64_t nvtx_enum_register(unsigned domain, const struct nvtx_enum *given) {
  enum { NEEDED = NVTX_ENUM_HAS_VALUES | NVTX_ENUM_HAS_COUNT };
  if (!gate_is_ours() || !given || (given->fields & NEEDED) != NEEDED || !given->values) return 0;
  uint64_t id = 0;
  pthread_mutex_lock(&nvtx_schemas_lock);
  size_t count = given->value_count;
  struct nvtx_layout_value *values = has_room(count) ? calloc(count + 1, sizeof *values) : NULL;
  for (size_t i = 0; values && i < count; i++)
    values[i] = (struct nvtx_layout_value){name_number(given->values[i].name), given->values[i].is_flag != 0,
                                           given->values[i].value};
  size_t size = given->fields & NVTX_ENUM_HAS_SIZE && given->size ? given->size : sizeof(int);
  if (values)
    id = add_layout((struct nvtx_layout){
        .id = given->fields & NVTX_ENUM_HAS_ID ? given->id : 0,
        .domain = domain,
        .is_enum = true,
        .is_known = size == 1 || size == 2 || size == 4 || size == 8,
        .size = (uint32_t)size,
        .count = (uint32_t)count,
        .values = values,
    });
  pthread_mutex_unlock(&nvtx_schemas_lock);
  return id;
}
