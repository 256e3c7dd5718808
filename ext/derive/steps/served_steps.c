/* served_steps.c: see served_steps.h. */
#include "derive/steps/served_steps.h"

#include "derive/serving/serving.h"

#include <stdlib.h>

/* Batches go to one list, requests to the other. */
static enum tfprof_status take_served(struct profile *profile, struct mark_list *batches, struct mark_list *requests,
                                      struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  enum tfprof_status status = TFPROF_OK;
  uint8_t *kinds = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1);
  if (!kinds) return error_no_memory(error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK], models[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK];
    bool is_any = false;
    if (block.segment->is_of_other_kind) continue; /* windows have the steps of the recording */
    block_texts(&block, COLUMN_ops_name, names);
    for (uint32_t i = 0; i < block.count; i++) {
      uint8_t *kind = &kinds[names[i]];
      if (*kind == SERVING_NOT_ASKED) *kind = (uint8_t)serving_kind(pool_text(pool, names[i]));
      is_any |= *kind != SERVING_NONE;
    }
    if (!is_any) continue;
    block_texts(&block, COLUMN_ops_model_name, models);
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_integers(&block, COLUMN_ops_end_ns, ends);
    block_references(&block, COLUMN_ops_thread_id, NO_ROW, threads);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      const uint8_t kind = kinds[names[i]];
      if (kind == SERVING_NONE || (kind == SERVING_SESSION && !models[i])) continue;
      if (starts[i] == NO_VALUE || ends[i] < starts[i] || threads[i] == NO_ROW) continue;
      struct mark mark = {starts[i], ends[i], NO_VALUE, (uint32_t)block.row + i, threads[i], names[i]};
      if (!mark_list_add(kind == SERVING_BATCH ? batches : requests, mark)) status = error_no_memory(error);
    }
  }
  scratch_free(kinds);
  return status;
}

static int served_by_thread(const void *left, const void *right) {
  const struct mark *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  if (a->end != b->end) return a->end > b->end ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}
static int served_by_start(const void *left, const void *right) {
  const struct mark *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static void keep_outermost(struct mark_list *list) {
  uint32_t kept = 0;
  if (list->count) qsort(list->items, list->count, sizeof *list->items, served_by_thread);
  for (uint32_t i = 0; i < list->count; i++) {
    const struct mark *mark = &list->items[i], *before = kept ? &list->items[kept - 1] : NULL;
    if (before && before->thread == mark->thread && mark->start < before->end) continue;
    list->items[kept++] = *mark;
  }
  list->count = kept;
}

enum tfprof_status find_served_steps(struct profile *profile, struct mark_list *list, struct tfprof_error *error) {
  struct mark_list requests = {.count = 0};
  if (serving_has_none(profile)) return TFPROF_OK;
  enum tfprof_status status = take_served(profile, list, &requests, error);
  if (!status && !list->count) {
    scratch_free(list->items);
    *list = requests;
    requests = (struct mark_list){.count = 0};
  }
  keep_outermost(list);
  if (list->count) qsort(list->items, list->count, sizeof *list->items, served_by_start);
  for (uint32_t i = 0; i < list->count; i++) list->items[i].number = i;
  scratch_free(requests.items);
  return status;
}
