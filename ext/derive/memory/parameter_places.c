/* parameter_places.c: see parameter_places.h. */
#include "derive/memory/parameter_places.h"

#include <stdlib.h>

static int compare_parameter_places(const void *a, const void *b) {
  const struct parameter_place *left = a, *right = b;
  if (left->address != right->address) return left->address < right->address ? -1 : 1;
  if (left->time != right->time) return left->time < right->time ? -1 : 1;
  return left->node < right->node ? -1 : left->node > right->node;
}

enum tfprof_status parameter_places_read(struct parameter_places *places, const struct profile *profile,
                                         struct tfprof_error *error) {
  uint32_t rows, nodes;
  enum tfprof_status status = derive_row_count(profile, TABLE_node_changes, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_nodes, &nodes, error);
  if (status || !rows || !derive_has_value(profile, TABLE_node_changes, COLUMN_node_changes_recorded_address))
    return status;
  places->places = scratch_allocate((size_t)rows * sizeof *places->places);
  places->are_held = scratch_allocate_zeroed((size_t)nodes + 1, sizeof *places->are_held);
  if (!places->places || !places->are_held) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_node_changes, &block, &status, error);) {
    uint32_t owners[ROWS_BLOCK];
    int64_t times[ROWS_BLOCK], bytes[ROWS_BLOCK], addresses[ROWS_BLOCK];
    block_references(&block, COLUMN_node_changes_node_id, nodes, owners);
    block_integers(&block, COLUMN_node_changes_time_ns, times);
    block_integers(&block, COLUMN_node_changes_param_bytes, bytes);
    block_integers(&block, COLUMN_node_changes_recorded_address, addresses);
    for (uint32_t i = 0; i < block.count; i++) {
      /* One that is the same as another has no bytes of its own. */
      if (owners[i] == NO_ROW || times[i] == NO_VALUE || addresses[i] == NO_VALUE || bytes[i] <= 0) continue;
      places->places[places->count++] = (struct parameter_place){addresses[i], times[i], owners[i]};
    }
  }
  if (places->count) qsort(places->places, places->count, sizeof *places->places, compare_parameter_places);
  return status;
}

void parameter_places_free(struct parameter_places *places) {
  scratch_free(places->places);
  scratch_free(places->are_held);
}

bool parameter_places_find(const struct parameter_places *places, int64_t address, int64_t allocated, int64_t released,
                           bool is_to_the_end, uint32_t *node) {
  uint32_t low = 0, high = places->count;
  bool is_found = false;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct parameter_place *place = &places->places[middle];
    if (place->address < address || (place->address == address && place->time < allocated)) low = middle + 1;
    else high = middle;
  }
  for (; low < places->count && places->places[low].address == address; low++) {
    const struct parameter_place *place = &places->places[low];
    if (released != NO_VALUE && place->time >= released) break;
    *node = is_found && *node != place->node ? NO_ROW : place->node;
    is_found = true;
    if (is_to_the_end) places->are_held[place->node] = true;
  }
  return is_found;
}
