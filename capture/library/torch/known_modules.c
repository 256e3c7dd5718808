/* known_modules.c: modules that are held in a hash table by address, sightings of others, and the models that there
** were (see known_modules.h).
*/
#include "known_modules.h"

#include "base/address_map.h"
#include "base/list.h"
#include "recorder/key_map.h"

#include <stdlib.h>
#include <string.h>

enum {
  WANTED_MAXIMUM = 4096,
  SIGHTINGS_MAXIMUM = 4096, /* more are not named: few modules stand on all stacks together */
  NUMBERS_MAXIMUM = 1 << 20, /* of all models together: a program that makes ever other ones is not followed for ever */
};

struct slot {
  uintptr_t address, type;
  void *reference;
  uint32_t number, model;
  bool must_look;
};

struct sighting {
  uintptr_t address, type;
  const void *state;
  uint32_t number;
  bool is_awaited, is_proved;
};

struct model {
  uint64_t signature;
  uintptr_t root; /* 0: it is gone */
  uint32_t *numbers;
  uint32_t count, next; /* the model with the same signature before it */
};

pthread_mutex_t known_modules_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
  struct address_map slots; /* of struct slot, by the module */
  uint32_t last_number;
  struct sighting sightings[SIGHTINGS_MAXIMUM];
  unsigned sighting_count;
  struct wanted_module wanted[WANTED_MAXIMUM];
  unsigned wanted_count;
  struct model *models;
  uint32_t model_count, model_capacity, numbers_kept;
  struct key_map by_signature;
  uint64_t refused;
} known;

/* ---- The table. */

static struct slot *find_known(uintptr_t address) {
  return address_map_find(&known.slots, sizeof(struct slot), address);
}

/* NULL: no memory. */
static struct slot *find_or_add(uintptr_t address) {
  bool is_new;
  return address_map_put(&known.slots, sizeof(struct slot), address, &is_new);
}

/* ---- Without the GIL. */

static void want(uintptr_t address, uintptr_t type) {
  if (known.wanted_count < WANTED_MAXIMUM)
    known.wanted[known.wanted_count++] = (struct wanted_module){address, type};
}

static uint32_t see(const void *state, bool is_awaited, uintptr_t address, uintptr_t type) {
  if (known.sighting_count == SIGHTINGS_MAXIMUM) return 0;
  uint32_t number = 0;
  for (unsigned i = 0; i < known.sighting_count && !number; i++) {
    const struct sighting *other = &known.sightings[i];
    if (other->address == address && other->type == type && (other->is_awaited || other->state == state))
      number = other->number;
  }
  if (!number) number = ++known.last_number;
  known.sightings[known.sighting_count++] = (struct sighting){address, type, state, number, is_awaited, false};
  return number;
}

uint32_t known_module_seen(const void *state, bool is_awaited, uintptr_t address, uintptr_t type, bool *is_wanted) {
  pthread_mutex_lock(&known_modules_lock);
  struct slot *slot = find_known(address);
  if (slot && slot->type != type) slot->must_look = true;
  if (slot) slot->type = type;
  *is_wanted = !slot || slot->must_look;
  uint32_t number = slot ? slot->number : see(state, is_awaited, address, type);
  if (*is_wanted) want(address, type);
  pthread_mutex_unlock(&known_modules_lock);
  return number;
}

static void remove_sighting(unsigned place) { known.sightings[place] = known.sightings[--known.sighting_count]; }

bool known_modules_expire(const void *state) {
  pthread_mutex_lock(&known_modules_lock);
  unsigned before = known.sighting_count;
  for (unsigned i = known.sighting_count; i--;)
    if (known.sightings[i].state == state) remove_sighting(i);
  bool are_expired = known.sighting_count != before || before == SIGHTINGS_MAXIMUM;
  pthread_mutex_unlock(&known_modules_lock);
  return are_expired;
}

bool known_modules_are_wanted(void) {
  pthread_mutex_lock(&known_modules_lock);
  bool are_wanted = known.wanted_count != 0;
  pthread_mutex_unlock(&known_modules_lock);
  return are_wanted;
}

unsigned known_modules_take_wanted(struct wanted_module *wanted, unsigned room) {
  unsigned count = 0;
  pthread_mutex_lock(&known_modules_lock);
  for (unsigned i = 0; i < known.wanted_count && count < room; i++) {
    if (!find_known(known.wanted[i].address)) wanted[count++] = known.wanted[i];
  }
  known.wanted_count = 0;
  pthread_mutex_unlock(&known_modules_lock);
  return count;
}

/* The references stay where they are: the modules of the parent are in the child, too, and so is what they call. */
void known_modules_reset(void) {
  for (uint32_t i = 0; i < known.model_count; i++) free(known.models[i].numbers);
  free(known.models);
  free(known.slots.entries);
  key_map_end(&known.by_signature);
  memset(&known, 0, sizeof known);
}

/* ---- With the GIL. */

struct held_module known_module_find(uintptr_t address) {
  struct held_module found = {0};
  pthread_mutex_lock(&known_modules_lock);
  const struct slot *slot = find_known(address);
  if (slot) found = (struct held_module){slot->number, slot->must_look};
  pthread_mutex_unlock(&known_modules_lock);
  return found;
}

bool known_module_prove(const void *state, uintptr_t address, uintptr_t type) {
  bool is_any = false;
  pthread_mutex_lock(&known_modules_lock);
  for (unsigned i = 0; i < known.sighting_count; i++) {
    struct sighting *seen = &known.sightings[i];
    bool is_it = seen->state == state && seen->address == address && seen->type == type;
    seen->is_proved |= is_it;
    is_any |= is_it;
  }
  pthread_mutex_unlock(&known_modules_lock);
  return is_any;
}

/* The number of a proved sighting, with those that share it; 0: there is none. */
static uint32_t take_number(uintptr_t address) {
  uint32_t number = 0;
  for (unsigned i = 0; i < known.sighting_count && !number; i++)
    if (known.sightings[i].is_proved && known.sightings[i].address == address) number = known.sightings[i].number;
  for (unsigned i = known.sighting_count; i-- && number;)
    if (known.sightings[i].number == number) remove_sighting(i);
  return number;
}

uint32_t known_module_hold(uintptr_t address, uintptr_t type, void *reference, bool *was_seen) {
  pthread_mutex_lock(&known_modules_lock);
  struct slot *slot = find_or_add(address);
  uint32_t number = slot ? take_number(address) : 0;
  *was_seen = number != 0;
  if (slot && !number) number = ++known.last_number;
  if (slot) *slot = (struct slot){.address = address, .type = type, .reference = reference, .number = number};
  pthread_mutex_unlock(&known_modules_lock);
  return number;
}

bool known_module_next_number(uint32_t *number, uint32_t *seen) {
  const struct slot *slot = NULL;
  pthread_mutex_lock(&known_modules_lock);
  for (unsigned i = 0; i < known.sighting_count && !slot; i++) {
    slot = known.sightings[i].is_proved ? find_known(known.sightings[i].address) : NULL;
    if (!slot) continue;
    *number = slot->number;
    *seen = take_number(slot->address);
  }
  pthread_mutex_unlock(&known_modules_lock);
  return slot != NULL;
}

void known_module_was_looked_at(uintptr_t address) {
  pthread_mutex_lock(&known_modules_lock);
  struct slot *slot = find_known(address);
  if (slot) slot->must_look = false;
  pthread_mutex_unlock(&known_modules_lock);
}

void *known_module_reference(uintptr_t address) {
  pthread_mutex_lock(&known_modules_lock);
  const struct slot *slot = find_known(address);
  void *reference = slot ? slot->reference : NULL;
  pthread_mutex_unlock(&known_modules_lock);
  return reference;
}

void *known_module_died(uintptr_t address, void *reference) {
  pthread_mutex_lock(&known_modules_lock);
  struct slot *slot = find_known(address);
  bool is_ours = slot && slot->reference == reference;
  if (is_ours) {
    if (slot->model && known.models[slot->model - 1].root == address) known.models[slot->model - 1].root = 0;
    address_map_remove(&known.slots, sizeof *slot, slot);
  }
  pthread_mutex_unlock(&known_modules_lock);
  return is_ours ? reference : NULL;
}

/* ---- Models. */

static uint32_t new_model(uint64_t signature, unsigned count) {
  if (known.numbers_kept + count > NUMBERS_MAXIMUM) return 0;
  if (!array_room(known.models, known.model_count, known.model_capacity)) return 0;
  uint32_t *numbers = malloc((count ? count : 1) * sizeof *numbers);
  if (!numbers) return 0;
  known.models[known.model_count] = (struct model){.signature = signature, .numbers = numbers, .count = count};
  known.numbers_kept += count;
  return ++known.model_count;
}

/* One that is gone; 0: there is none. */
static uint32_t find_gone(uint32_t first, unsigned count) {
  uint32_t model = first;
  while (model && (known.models[model - 1].root || known.models[model - 1].count != count))
    model = known.models[model - 1].next;
  return model;
}

uint32_t known_model_begin(uintptr_t root, uint64_t signature, const uintptr_t *modules, unsigned count,
                           bool *is_again) {
  pthread_mutex_lock(&known_modules_lock);
  struct key_map_entry *entry = key_map_entry(&known.by_signature, signature, 0);
  uint32_t first = entry ? entry->row_plus_one : 0, place = find_gone(first, count);
  *is_again = place != 0;
  if (!place && entry && (place = new_model(signature, count))) {
    known.models[place - 1].next = first;
    entry->row_plus_one = place;
    if (!first) key_map_added(&known.by_signature);
  }
  struct model *model = place ? &known.models[place - 1] : NULL;
  for (unsigned i = 0; i < count && model; i++) {
    struct slot *slot = find_known(modules[i]);
    if (slot && *is_again) slot->number = model->numbers[i];
    if (!*is_again) model->numbers[i] = slot ? slot->number : 0;
    if (slot && modules[i] == root) slot->model = place;
  }
  if (model) model->root = root;
  else known.refused++;
  pthread_mutex_unlock(&known_modules_lock);
  return place;
}

uint64_t known_models_refused(void) {
  pthread_mutex_lock(&known_modules_lock);
  uint64_t count = known.refused;
  pthread_mutex_unlock(&known_modules_lock);
  return count;
}

uintptr_t known_model_root(uint32_t model) {
  pthread_mutex_lock(&known_modules_lock);
  uintptr_t root = model && model <= known.model_count ? known.models[model - 1].root : 0;
  pthread_mutex_unlock(&known_modules_lock);
  return root;
}
