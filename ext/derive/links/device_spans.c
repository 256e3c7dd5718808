/* device_spans.c: see device_spans.h. */
#include "derive/links/device_spans.h"

#include <stdlib.h>
#include <string.h>

void device_spans_free(struct device_spans *spans) {
  scratch_free(spans->items);
  *spans = (struct device_spans){NULL, 0};
}

uint32_t device_spans_find(const struct device_spans *spans, uint32_t device, int64_t moment) {
  uint32_t low = 0, high = spans->count;
  while (low < high) { /* the first behind those of the device that began by then */
    uint32_t middle = low + (high - low) / 2;
    const struct lane_span *span = &spans->items[middle];
    if (span->lane < device || (span->lane == device && span->start <= moment)) low = middle + 1;
    else high = middle;
  }
  const struct lane_span *span = low ? &spans->items[low - 1] : NULL;
  return span && span->lane == device && moment < span->end ? span->row : NO_ROW;
}

/* ---- steps ---- */

static int span_by_number(const void *left, const void *right) {
  const struct lane_span *a = left, *b = right;
  return a->start != b->start ? (a->start < b->start ? -1 : 1) : (a->row > b->row) - (a->row < b->row);
}

/* The rows of steps that devices told, as spans that start at their numbers. */
static enum tfprof_status list_told_steps(struct profile *profile, struct device_spans *steps,
                                          struct tfprof_error *error) {
  string_id device = derive_known_text(profile, "device");
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &rows, error);
  if (status) return status;
  steps->items = scratch_allocate(((size_t)rows + 1) * sizeof *steps->items);
  if (!steps->items) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_steps, &block, &status, error);) {
    string_id origins[ROWS_BLOCK];
    int64_t numbers[ROWS_BLOCK];
    block_texts(&block, COLUMN_steps_origin, origins);
    block_integers(&block, COLUMN_steps_number, numbers);
    for (uint32_t i = 0; i < block.count; i++) {
      if (origins[i] == device && numbers[i] != NO_VALUE)
        steps->items[steps->count++] = (struct lane_span){numbers[i], numbers[i], 0, (uint32_t)block.row + i};
    }
  }
  if (!status) qsort(steps->items, steps->count, sizeof *steps->items, span_by_number);
  return status;
}

static uint32_t step_of_number(const struct device_spans *steps, int64_t number) {
  uint32_t low = 0, high = steps->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (steps->items[middle].start < number) low = middle + 1;
    else high = middle;
  }
  return low < steps->count && steps->items[low].start == number ? steps->items[low].row : NO_ROW;
}

enum tfprof_status device_spans_of_steps(struct profile *profile, struct device_spans *spans,
                                         struct tfprof_error *error) {
  struct device_spans steps = {NULL, 0};
  uint32_t thread_count, capacity = 0, *devices = NULL;
  string_id name = derive_known_text(profile, "Steps");
  *spans = (struct device_spans){NULL, 0};
  enum tfprof_status status = list_told_steps(profile, &steps, error);
  if (!status) status = derive_row_count(profile, TABLE_threads, &thread_count, error);
  if (!status && steps.count) {
    status = derive_all_references(profile, TABLE_threads, COLUMN_threads_device_id, &devices, error);
    for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
      string_id names[ROWS_BLOCK];
      int64_t numbers[ROWS_BLOCK], starts[ROWS_BLOCK], ends[ROWS_BLOCK];
      uint32_t threads[ROWS_BLOCK];
      block_texts(&block, COLUMN_ops_name, names);
      block_integers(&block, COLUMN_ops_marked_step, numbers);
      block_integers(&block, COLUMN_ops_start_ns, starts);
      block_integers(&block, COLUMN_ops_end_ns, ends);
      block_references(&block, COLUMN_ops_thread_id, thread_count, threads);
      for (uint32_t i = 0; i < block.count && !status; i++) {
        bool is_told = names[i] == name && numbers[i] != NO_VALUE && starts[i] != NO_VALUE && ends[i] != NO_VALUE;
        uint32_t device = is_told && threads[i] != NO_ROW ? devices[threads[i]] : NO_ROW;
        uint32_t step = device == NO_ROW ? NO_ROW : step_of_number(&steps, numbers[i]);
        if (step == NO_ROW) continue;
        struct lane_span *items = scratch_grow(spans->items, spans->count, &capacity, 64, sizeof *items);
        if (!items) {
          status = error_no_memory(error);
          break;
        }
        spans->items = items;
        items[spans->count++] = (struct lane_span){starts[i], ends[i], device, step};
      }
    }
  }
  if (!status) status = lane_span_sort(spans->items, spans->count, error);
  device_spans_free(&steps);
  scratch_free(devices);
  return status;
}

/* ---- programs ---- */

/* Those of a reader that lists them; saved ones came with their links, and are not loaded for this. */
static bool are_loaded(const struct profile_table *launches) {
  static const uint16_t columns[] = {COLUMN_graph_launches_start_ns, COLUMN_graph_launches_end_ns,
                                     COLUMN_graph_launches_device_id};
  for (size_t s = 0; s < launches->segment_count; s++) {
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
      if (!launches->segments[s]->columns[columns[i]]) return false;
    }
  }
  return true;
}

enum tfprof_status device_spans_of_launches(struct profile *profile, struct device_spans *spans,
                                            struct tfprof_error *error) {
  uint32_t rows, device_count;
  *spans = (struct device_spans){NULL, 0};
  const struct profile_table *launches = &profile->tables[TABLE_graph_launches];
  if (launches->is_made || !are_loaded(launches)) return TFPROF_OK;
  enum tfprof_status status = derive_row_count(profile, TABLE_graph_launches, &rows, error);
  if (!status) status = derive_row_count(profile, TABLE_devices, &device_count, error);
  if (status) return status;
  spans->items = scratch_allocate(((size_t)rows + 1) * sizeof *spans->items);
  if (!spans->items) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_graph_launches, &block, &status, error);) {
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t devices[ROWS_BLOCK];
    block_integers(&block, COLUMN_graph_launches_start_ns, starts);
    block_integers(&block, COLUMN_graph_launches_end_ns, ends);
    block_references(&block, COLUMN_graph_launches_device_id, device_count, devices);
    for (uint32_t i = 0; i < block.count; i++) {
      bool is_known = devices[i] != NO_ROW && starts[i] != NO_VALUE && ends[i] != NO_VALUE;
      if (is_known)
        spans->items[spans->count++] = (struct lane_span){starts[i], ends[i], devices[i], (uint32_t)block.row + i};
    }
  }
  if (!status) status = lane_span_sort(spans->items, spans->count, error);
  return status;
}
