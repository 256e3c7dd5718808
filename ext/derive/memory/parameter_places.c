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
  if (!places->places) return error_no_memory(error);
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
  if (status || !places->count) return status;
  qsort(places->places, places->count, sizeof *places->places, compare_parameter_places);
  places->others = scratch_allocate((size_t)places->count * sizeof *places->others);
  places->changes = scratch_allocate_zeroed((size_t)places->count + 1, sizeof *places->changes);
  if (!places->others || !places->changes) return error_no_memory(error);
  for (uint32_t i = places->count; i-- > 0;) {
    const struct parameter_place *own = &places->places[i], *next = own + 1;
    bool is_same = i + 1 < places->count && next->address == own->address && next->node == own->node;
    places->others[i] = is_same ? places->others[i + 1] : i + 1;
  }
  return TFPROF_OK;
}

void parameter_places_free(struct parameter_places *places) {
  scratch_free(places->places);
  scratch_free(places->others);
  scratch_free(places->changes);
}

/* The first place that is not before an address and a time. */
static uint32_t first_place(const struct parameter_places *places, int64_t address, int64_t time) {
  uint32_t low = 0, high = places->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct parameter_place *place = &places->places[middle];
    if (place->address < address || (place->address == address && place->time < time)) low = middle + 1;
    else high = middle;
  }
  return low;
}

bool parameter_places_find(const struct parameter_places *places, int64_t address, int64_t allocated, int64_t released,
                           bool is_to_the_end, uint32_t *node) {
  uint32_t first = first_place(places, address, allocated);
  uint32_t last = first_place(places, address, released == NO_VALUE ? INT64_MAX : released);
  if (first >= last) return false;
  *node = places->others[first] < last ? NO_ROW : places->places[first].node;
  places->changes[first] += is_to_the_end;
  places->changes[last] -= is_to_the_end;
  return true;
}

bool *parameter_places_held(const struct parameter_places *places, uint32_t nodes) {
  bool *are_held = scratch_allocate_zeroed((size_t)nodes + 1, sizeof *are_held);
  int64_t pieces = 0;
  for (uint32_t i = 0; i < places->count && are_held; i++) {
    pieces += places->changes[i];
    if (pieces) are_held[places->places[i].node] = true;
  }
  return are_held;
}
