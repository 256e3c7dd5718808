/* file_index.c: finds which profile was read from a file, among thousands, by its place and by its inode.
**
** Made when it is first asked for and forgotten with every change of what is open.  Files with one hash are chained in
** the order of the profiles, the published ones first, so that the first that fits is found.
*/
#include "base/hash.h"
#include "store/private.h"

#include <stdlib.h>
#include <string.h>

struct indexed_file {
  const struct profile *profile;
  const struct profile_file *file;
  uint32_t next[2]; /* 1 + the next with the same hash of its place, and of its inode */
};
struct file_index {
  struct indexed_file *files;
  uint32_t *heads[2], mask;
};
enum { BY_PLACE, BY_INODE };

static uint64_t hash_of_place(const char *place) {
  return hash_text(0, place, strlen(place));
}
static uint64_t hash_of_inode(uint64_t device, uint64_t inode) {
  return hash_pair(device, inode);
}

void store_forget_files(struct store *store) {
  struct file_index *index = store->file_index;
  store->file_index = NULL;
  if (!index) return;
  free(index->files);
  free(index->heads[BY_PLACE]);
  free(index->heads[BY_INODE]);
  free(index);
}

static uint32_t add_profiles(struct file_index *index, const struct profile_list *list, uint32_t count) {
  for (size_t i = 0; i < list->count; i++) {
    const struct profile *profile = list->items[i];
    for (size_t k = 0; k < profile->file_count; k++)
      index->files[count++] = (struct indexed_file){.profile = profile, .file = &profile->files[k]};
  }
  return count;
}

static void chain(struct file_index *index, unsigned by, uint32_t place, uint64_t hash) {
  uint32_t *head = &index->heads[by][hash & index->mask];
  index->files[place].next[by] = *head;
  *head = place + 1;
}

/* NULL: no memory. */
static struct file_index *make_index(struct store *store) {
  const struct profile_list *const lists[] = {&store->profiles, &store->pending};
  struct file_index *index = calloc(1, sizeof *index);
  size_t count = 0, room = 16;
  for (unsigned list = 0; list < 2; list++)
    for (size_t i = 0; i < lists[list]->count; i++) count += lists[list]->items[i]->file_count;
  while (room < count) room *= 2;
  store->file_index = index;
  if (!index) return NULL;
  index->mask = (uint32_t)room - 1;
  index->files = malloc((count + 1) * sizeof *index->files);
  for (unsigned by = 0; by < 2; by++) index->heads[by] = calloc(room, sizeof **index->heads);
  if (count > UINT32_MAX / 2 || !index->files || !index->heads[BY_PLACE] || !index->heads[BY_INODE]) {
    store_forget_files(store);
    return NULL;
  }
  uint32_t filled = add_profiles(index, &store->pending, add_profiles(index, &store->profiles, 0));
  for (uint32_t i = filled; i--;) { /* what comes first is in front of its chain */
    const struct profile_file *file = index->files[i].file;
    const char *place = pool_text(store->pool, file->location);
    if (!place) continue; /* there was no memory for it */
    chain(index, BY_PLACE, i, hash_of_place(place));
    chain(index, BY_INODE, i, hash_of_inode(file->device, file->inode));
  }
  return index;
}

struct profile *store_find_file(struct store *store, const struct file_identity *file, const char **location) {
  char *wanted = location_of(file->path);
  const struct file_index *index = store->file_index ? store->file_index : make_index(store);
  struct profile *found = NULL;
  if (!wanted || !index) {
    free(wanted);
    return NULL;
  }
  uint32_t best = 0;
  for (unsigned by = 0; by < 2; by++) {
    uint64_t hash = by == BY_PLACE ? hash_of_place(wanted) : hash_of_inode(file->device, file->inode);
    uint32_t at = by == BY_INODE && !file->inode ? 0 : index->heads[by][hash & index->mask];
    for (; at && (!best || at < best); at = index->files[at - 1].next[by]) {
      const struct indexed_file *its = &index->files[at - 1];
      bool is_same = by == BY_PLACE ? strcmp(pool_text(store->pool, its->file->location), wanted) == 0
                                    : its->file->inode == file->inode && its->file->device == file->device;
      if (is_same && !its->profile->is_replaced) best = at;
    }
  }
  if (best) {
    found = (struct profile *)(uintptr_t)index->files[best - 1].profile;
    if (location) *location = pool_text(store->pool, index->files[best - 1].file->location);
  }
  free(wanted);
  return found;
}
