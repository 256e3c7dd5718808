/* free_space.c: see free_space.h. */
#include "derive/memory/free_space.h"

#include <assert.h>

#include "store/scratch.h"

enum { TOLD, ALL_TAKEN, ALL_FREE }; /* whole */

bool free_space_begin(struct free_space *space, const uint64_t *bounds, uint32_t bound_count) {
  *space = (struct free_space){.bounds = bounds, .count = bound_count ? bound_count - 1 : 0};
  space->nodes = scratch_allocate_zeroed((size_t)space->count * 2 + 1, sizeof *space->nodes);
  space->whole = scratch_allocate_zeroed((size_t)space->count * 2 + 1, sizeof *space->whole);
  space->cuts = scratch_allocate_zeroed((size_t)space->count + 1, sizeof *space->cuts);
  if (space->nodes && space->whole && space->cuts) return true;
  free_space_end(space);
  return false;
}

void free_space_end(struct free_space *space) {
  scratch_free(space->nodes);
  scratch_free(space->whole);
  scratch_free(space->cuts);
  *space = (struct free_space){0};
}

uint32_t free_space_bound(const struct free_space *space, uint64_t address) {
  uint32_t low = 0, high = space->count + 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (space->bounds[middle] <= address) low = middle;
    else high = middle;
  }
  assert(space->bounds[low] == address);
  return low;
}

/* A node of the stretches from `low` to before `high`. */
struct node {
  size_t number;
  uint32_t low, high;
};

static struct node left_of(const struct node *node) {
  return (struct node){node->number + 1, node->low, node->low + (node->high - node->low) / 2};
}

static struct node right_of(const struct node *node) {
  uint32_t middle = node->low + (node->high - node->low) / 2;
  return (struct node){node->number + 2 * (size_t)(middle - node->low), middle, node->high};
}

static uint64_t bytes_of(const struct free_space *space, const struct node *node) {
  return space->bounds[node->high] - space->bounds[node->low];
}

static void set_whole(struct free_space *space, const struct node *node, bool is_free) {
  uint64_t bytes = is_free ? bytes_of(space, node) : 0;
  space->nodes[node->number] = (struct free_run){bytes, bytes, bytes};
  space->whole[node->number] = is_free ? ALL_FREE : ALL_TAKEN;
}

static void join(struct free_space *space, const struct node *node, const struct node *left, const struct node *right) {
  const struct free_run *l = &space->nodes[left->number], *r = &space->nodes[right->number];
  bool is_cut = space->cuts[right->low];
  struct free_run run = {l->first, r->last, l->largest > r->largest ? l->largest : r->largest};
  if (!is_cut) {
    uint64_t across = l->last + r->first;
    if (across > run.largest) run.largest = across;
    if (l->first == bytes_of(space, left)) run.first = across;
    if (r->last == bytes_of(space, right)) run.last = across;
  }
  space->nodes[node->number] = run;
}

static void set_part(struct free_space *space, const struct node *node, uint32_t from, uint32_t to, bool is_free) {
  if (to <= node->low || node->high <= from) return;
  if (from <= node->low && node->high <= to) {
    set_whole(space, node, is_free);
    return;
  }
  struct node left = left_of(node), right = right_of(node);
  if (space->whole[node->number] != TOLD) {
    set_whole(space, &left, space->whole[node->number] == ALL_FREE);
    set_whole(space, &right, space->whole[node->number] == ALL_FREE);
    space->whole[node->number] = TOLD;
  }
  set_part(space, &left, from, to, is_free);
  set_part(space, &right, from, to, is_free);
  join(space, node, &left, &right);
}

void free_space_set(struct free_space *space, uint32_t from, uint32_t to, bool is_free) {
  assert(from < to && to <= space->count);
  set_part(space, &(struct node){0, 0, space->count}, from, to, is_free);
}
