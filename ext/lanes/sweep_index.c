/* sweep_index.c: see sweep_index.h. */
#include "lanes/sweep_index.h"

#include <stdlib.h>
#include <string.h>

struct sweep_index *sweep_index_create(void) {
  return calloc(1, sizeof(struct sweep_index));
}

void sweep_index_forget(struct indexed_table *table) {
  for (size_t i = 0; i < table->segment_count; i++) {
    free(table->segments[i].stretches);
    free(table->segments[i].depths);
  }
  free(table->segments);
  if (table->snapshot) snapshot_release(table->snapshot);
  *table = (struct indexed_table){0};
}

void sweep_index_free(struct sweep_index *index) {
  for (unsigned kind = 0; index && kind < LANE_TABLES; kind++) sweep_index_forget(&index->tables[kind]);
  free(index);
}

bool sweep_index_has(const struct indexed_table *table, const struct snapshot *snapshot) {
  if (!table->is_complete || table->segment_count != snapshot->segment_count) return false;
  for (size_t i = 0; i < table->segment_count; i++) {
    const struct segment *segment = snapshot->segments[i];
    if (table->segments[i].segment != segment ||
        table->segments[i].clock_offset_ns != segment->profile->clock_offset_ns)
      return false;
  }
  return true;
}

bool sweep_index_begin(struct indexed_table *table, struct snapshot *snapshot) {
  sweep_index_forget(table);
  table->segments = calloc(snapshot->segment_count + 1, sizeof *table->segments);
  if (!table->segments) return false;
  table->snapshot = snapshot_retain(snapshot);
  for (size_t i = 0; i < snapshot->segment_count; i++) {
    const struct segment *segment = snapshot->segments[i];
    struct indexed_segment *indexed = &table->segments[table->segment_count++];
    size_t stretches = ((size_t)segment->rows + LANES_BLOCK - 1) / LANES_BLOCK;
    *indexed = (struct indexed_segment){.segment = segment,
                                        .clock_offset_ns = segment->profile->clock_offset_ns,
                                        .stretches = malloc((stretches + 1) * sizeof *indexed->stretches)};
    for (size_t k = 0; indexed->stretches && k < stretches; k++)
      indexed->stretches[k] = (struct sweep_stretch){INT64_MAX, INT64_MIN};
    if (!indexed->stretches) {
      sweep_index_forget(table);
      return false;
    }
  }
  return true;
}

bool sweep_index_keep_depth(struct indexed_segment *indexed, uint32_t row, uint32_t depth) {
  if (!indexed->depths) {
    size_t size = ((size_t)indexed->segment->rows + 1) * sizeof *indexed->depths;
    indexed->depths = malloc(size);
    if (!indexed->depths) return false;
    memset(indexed->depths, 0xff, size);
  }
  indexed->depths[row] = (uint16_t)depth;
  return true;
}
