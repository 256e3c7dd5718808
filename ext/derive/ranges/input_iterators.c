/* input_iterators.c: which call of which iterator asked for which, as tf.data's own bottleneck analysis joins them
** (xprof, xplane_to_tf_data_stats.cc and group_events.cc).
**
** A call of an iterator lies in the call that asked for it, or in a Produce event that puts an element into the buffer
** of an asynchronous iterator, on another thread and perhaps long before.  Then what asked for it is the call with the
** Consume event that takes the element out: of the iterator that takes its elements, with the same element.
**
** The calls below a root, an iterator with one name behind Iterator::, are what one call of the pipeline cost. self_ns
** is a call's time without those that it asked for while they overlap it; is_blocking, that they do all the way up.
** XProf takes numbers of iterators from 2^63 on for 0, so that several become one there; here they stay apart.
**
** Roots are pipelines, in the order of their numbers: Host:0, Host:1 …; Device:0 … are those that a generator feeds.
**
** Events are ops of category input, in the order in which input_events has them: what is read here are columns of ops.
*/
#include "derive/ranges/input_iterators.h"

#include "derive/links/ancestors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum item_kind { ITERATOR, PRODUCE, CONSUME };

struct item {
  int64_t start, end, iterator, calling, element;
  string_id name;
  enum item_kind kind;
  uint32_t op, event;    /* event: row of input_events */
  uint32_t around;       /* the nearest item around it; NO_ROW: none */
  uint32_t parent, call; /* items */
  bool is_root, is_done, is_blocking;
};

struct taken_element {
  int64_t iterator, element;
  uint32_t item; /* the call that took it */
};

struct pipeline {
  int64_t iterator;
  string_id name;
};

struct iterators {
  struct profile *profile;
  uint32_t rows, count, event_count, capacity;
  struct item *items;
  uint32_t *parents, *steps; /* by op */
  struct taken_element *taken;
  uint32_t taken_count;
  struct pipeline *pipelines;
  uint32_t pipeline_count;
};

static int by_element(const void *left, const void *right) {
  const struct taken_element *a = left, *b = right;
  if (a->iterator != b->iterator) return a->iterator < b->iterator ? -1 : 1;
  if (a->element != b->element) return a->element < b->element ? -1 : 1;
  return a->item < b->item ? -1 : a->item > b->item;
}

static int by_iterator(const void *left, const void *right) {
  uint64_t a = (uint64_t)((const struct pipeline *)left)->iterator;
  uint64_t b = (uint64_t)((const struct pipeline *)right)->iterator;
  return a < b ? -1 : a > b;
}

/* ---- what there is ---- */

static bool has_ending(const char *text, const char *ending) {
  size_t length = strlen(text), size = strlen(ending);
  return length >= size && !strcmp(text + length - size, ending);
}

/* One name behind Iterator::. */
static bool is_root_name(const char *name) {
  const char *first = strstr(name, "::");
  return first && !strstr(first + 2, "::");
}

struct item_block {
  string_id names[ROWS_BLOCK], categories[ROWS_BLOCK];
  int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], calls[ROWS_BLOCK], callers[ROWS_BLOCK], elements[ROWS_BLOCK];
};

static enum tfprof_status add_items(struct iterators *all, const struct item_block *block, const struct row_block *at,
                                    string_id input, struct tfprof_error *error) {
  const struct pool *pool = store_pool(all->profile->store);
  for (uint32_t i = 0; i < at->count; i++) {
    bool is_iterator = block->categories[i] == input;
    if (!is_iterator && block->elements[i] == NO_VALUE) continue;
    const char *name = block->names[i] ? pool_text(pool, block->names[i]) : "";
    bool is_produce = has_ending(name, "Produce");
    if (!is_iterator && !is_produce && !has_ending(name, "Consume")) continue;
    struct item *grown = scratch_grow(all->items, all->count, &all->capacity, 1024, sizeof *grown);
    if (!grown) return error_no_memory(error);
    all->items = grown;
    all->items[all->count++] = (struct item){
        .start = block->starts[i], .end = block->ends[i], .iterator = block->calls[i], .calling = block->callers[i],
        .element = block->elements[i], .name = block->names[i],
        .kind = is_iterator ? ITERATOR : is_produce ? PRODUCE : CONSUME, .op = (uint32_t)at->row + i,
        .event = is_iterator ? all->event_count++ : NO_ROW, .around = NO_ROW, .parent = NO_ROW, .call = NO_ROW,
        .is_root = is_iterator && is_root_name(name)};
  }
  return TFPROF_OK;
}

static enum tfprof_status list_items(struct iterators *all, struct tfprof_error *error) {
  string_id input = derive_known_text(all->profile, "input");
  struct item_block *block = scratch_allocate(sizeof *block);
  enum tfprof_status status = block ? TFPROF_OK : error_no_memory(error);
  for (struct row_block at = {0}; derive_next_block(all->profile, TABLE_ops, &at, &status, error);) {
    block_texts(&at, COLUMN_ops_name, block->names);
    block_texts(&at, COLUMN_ops_category, block->categories);
    block_integers(&at, COLUMN_ops_start_ns, block->starts);
    block_integers(&at, COLUMN_ops_end_ns, block->ends);
    block_integers(&at, COLUMN_ops_call, block->calls);
    block_integers(&at, COLUMN_ops_calling_iterator, block->callers);
    block_integers(&at, COLUMN_ops_element, block->elements);
    status = add_items(all, block, &at, input, error);
  }
  scratch_free(block);
  return status;
}

/* Of rows with equal spans time does not tell which lies in which: a call lies in what puts its element into a buffer,
** and what takes one out lies in a call. */
static void order_equals(struct iterators *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    struct item *inner = &all->items[i], *outer = inner->around == NO_ROW ? NULL : &all->items[inner->around];
    if (!outer || outer->start != inner->start || outer->end != inner->end || outer->around == i) continue;
    bool is_wrong = (inner->kind == PRODUCE && outer->kind == ITERATOR) ||
                    (inner->kind == ITERATOR && outer->kind == CONSUME);
    if (!is_wrong) continue;
    uint32_t beyond = outer->around;
    outer->around = i;
    inner->around = beyond;
  }
}

/* The nearest item around each. */
static enum tfprof_status find_around(struct iterators *all, struct tfprof_error *error) {
  uint32_t *nearest = scratch_allocate(((size_t)all->rows + 1) * sizeof *nearest);
  if (!nearest) return error_no_memory(error);
  for (uint32_t row = 0; row < all->rows; row++) nearest[row] = NO_ROW;
  for (uint32_t i = 0; i < all->count; i++) nearest[all->items[i].op] = i;
  derive_inherit(all->parents, nearest, all->rows);
  for (uint32_t i = 0; i < all->count; i++) {
    uint32_t parent = all->parents[all->items[i].op];
    if (parent != NO_ROW) all->items[i].around = nearest[parent];
  }
  scratch_free(nearest);
  order_equals(all);
  return TFPROF_OK;
}

/* ---- what asked for what ---- */

static enum tfprof_status list_taken(struct iterators *all, struct tfprof_error *error) {
  all->taken = scratch_allocate(((size_t)all->count + 1) * sizeof *all->taken);
  if (!all->taken) return error_no_memory(error);
  for (uint32_t i = 0; i < all->count; i++) {
    const struct item *item = &all->items[i];
    if (item->kind != CONSUME || item->around == NO_ROW || all->items[item->around].kind != ITERATOR) continue;
    all->taken[all->taken_count++] =
        (struct taken_element){all->items[item->around].iterator, item->element, item->around};
  }
  qsort(all->taken, all->taken_count, sizeof *all->taken, by_element);
  return TFPROF_OK;
}

/* The first call of an iterator that took an element. */
static uint32_t find_taker(const struct iterators *all, int64_t iterator, int64_t element) {
  const struct taken_element key = {iterator, element, 0};
  uint32_t low = 0, high = all->taken_count;
  if (iterator == NO_VALUE) return NO_ROW;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (by_element(&all->taken[middle], &key) < 0) low = middle + 1;
    else high = middle;
  }
  bool is_found = low < all->taken_count && all->taken[low].iterator == iterator && all->taken[low].element == element;
  return is_found ? all->taken[low].item : NO_ROW;
}

static void find_parents(struct iterators *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    struct item *item = &all->items[i];
    if (item->kind != ITERATOR || item->around == NO_ROW) continue;
    const struct item *around = &all->items[item->around];
    item->parent = around->kind == ITERATOR  ? item->around
                   : around->kind == PRODUCE ? find_taker(all, item->calling, around->element)
                                             : around->around;
    if (item->parent != NO_ROW && all->items[item->parent].kind != ITERATOR) item->parent = NO_ROW;
  }
}

static int64_t overlap_of(const struct item *a, const struct item *b) {
  if (a->start == NO_VALUE || a->end == NO_VALUE || b->start == NO_VALUE || b->end == NO_VALUE) return 0;
  int64_t start = a->start > b->start ? a->start : b->start, end = a->end < b->end ? a->end : b->end;
  return end > start ? derive_difference(end, start) : 0;
}

/* From the outermost call to the innermost. A circle, which elements of a damaged file can make, is cut where it
** closes. `path` has room for all items. */
static void find_calls(struct iterators *all, uint32_t *path, bool *is_on_path) {
  for (uint32_t i = 0; i < all->count; i++) {
    uint32_t length = 0, at = i;
    for (; at != NO_ROW && !all->items[at].is_done && !is_on_path[at]; at = all->items[at].parent) {
      is_on_path[at] = true;
      path[length++] = at;
    }
    if (length && at != NO_ROW && is_on_path[at]) all->items[path[length - 1]].parent = NO_ROW;
    while (length-- > 0) {
      struct item *item = &all->items[path[length]];
      const struct item *parent = item->parent == NO_ROW ? NULL : &all->items[item->parent];
      is_on_path[path[length]] = false;
      item->is_done = true;
      item->call = item->is_root ? path[length] : parent ? parent->call : NO_ROW;
      item->is_blocking = item->is_root || (parent && parent->is_blocking && overlap_of(parent, item) > 0);
    }
  }
}

/* ---- pipelines ---- */

static struct pipeline *find_pipeline(const struct iterators *all, int64_t iterator) {
  const struct pipeline key = {iterator, 0};
  return bsearch(&key, all->pipelines, all->pipeline_count, sizeof key, by_iterator);
}

static enum tfprof_status name_pipelines(struct iterators *all, struct tfprof_error *error) {
  string_id generator = derive_known_text(all->profile, "Iterator::Prefetch::Generator"), device;
  unsigned hosts = 0, devices = 0;
  all->pipelines = scratch_allocate(((size_t)all->count + 1) * sizeof *all->pipelines);
  if (!all->pipelines) return error_no_memory(error);
  enum tfprof_status status = derive_text(all->profile, "Device", &device, error);
  for (uint32_t i = 0; i < all->count; i++) {
    if (all->items[i].is_root && all->items[i].iterator != NO_VALUE)
      all->pipelines[all->pipeline_count++] = (struct pipeline){all->items[i].iterator, 0};
  }
  qsort(all->pipelines, all->pipeline_count, sizeof *all->pipelines, by_iterator);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < all->pipeline_count; i++) {
    if (!kept || all->pipelines[kept - 1].iterator != all->pipelines[i].iterator)
      all->pipelines[kept++] = all->pipelines[i];
  }
  all->pipeline_count = kept;
  for (uint32_t i = 0; i < all->count; i++) {
    bool feeds = all->items[i].kind == ITERATOR && all->items[i].name == generator;
    struct pipeline *fed = feeds ? find_pipeline(all, all->items[i].calling) : NULL;
    if (fed) fed->name = device;
  }
  for (uint32_t i = 0; i < kept && !status; i++) {
    char text[32];
    bool is_device = all->pipelines[i].name == device;
    snprintf(text, sizeof text, "%s:%u", is_device ? "Device" : "Host", is_device ? devices++ : hosts++);
    status = derive_text(all->profile, text, &all->pipelines[i].name, error);
  }
  return status;
}

/* ---- the columns ---- */

struct event_columns {
  uint32_t *parents, *steps, *calls;
  int64_t *selves, *blocking;
  string_id *pipelines;
};

static void fill_columns(const struct iterators *all, struct event_columns *to) {
  for (uint32_t i = 0; i < all->count; i++) {
    const struct item *item = &all->items[i];
    uint32_t event = item->event;
    if (item->kind != ITERATOR) continue;
    const struct item *call = item->call == NO_ROW ? NULL : &all->items[item->call];
    const struct pipeline *pipeline = call ? find_pipeline(all, call->iterator) : NULL;
    to->parents[event] = item->parent == NO_ROW ? NO_ROW : all->items[item->parent].event;
    to->steps[event] = all->steps[call ? call->op : item->op];
    to->calls[event] = call ? call->event : NO_ROW;
    to->blocking[event] = call ? item->is_blocking : NO_VALUE;
    to->pipelines[event] = pipeline ? pipeline->name : 0;
    to->selves[event] = item->start == NO_VALUE || item->end == NO_VALUE ? NO_VALUE
                                                                         : derive_difference(item->end, item->start);
  }
  for (uint32_t i = 0; i < all->count; i++) {
    const struct item *item = &all->items[i];
    if (item->kind != ITERATOR || item->parent == NO_ROW) continue;
    const struct item *parent = &all->items[item->parent];
    int64_t overlap = overlap_of(parent, item), *self = &to->selves[parent->event];
    if (*self > 0) *self = *self > overlap ? *self - overlap : 0;
  }
}

static enum tfprof_status set_columns(struct iterators *all, struct tfprof_error *error) {
  struct profile *profile = all->profile;
  size_t count = (size_t)all->event_count + 1;
  struct event_columns to = {scratch_allocate(count * sizeof(uint32_t)), scratch_allocate(count * sizeof(uint32_t)),
                             scratch_allocate(count * sizeof(uint32_t)), scratch_allocate(count * sizeof(int64_t)),
                             scratch_allocate(count * sizeof(int64_t)), scratch_allocate(count * sizeof(string_id))};
  bool ok = to.parents && to.steps && to.calls && to.selves && to.blocking && to.pipelines;
  enum tfprof_status status = ok ? TFPROF_OK : error_no_memory(error);
  if (!status) {
    fill_columns(all, &to);
    status = derive_set_references(profile, TABLE_input_events, COLUMN_input_events_parent_id, to.parents, error);
  }
  if (!status)
    status = derive_set_references(profile, TABLE_input_events, COLUMN_input_events_step_id, to.steps, error);
  if (!status)
    status = derive_set_references(profile, TABLE_input_events, COLUMN_input_events_call_id, to.calls, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_input_events, COLUMN_input_events_self_ns, to.selves, error);
  if (!status)
    status = derive_set_integers(profile, TABLE_input_events, COLUMN_input_events_is_blocking, to.blocking, error);
  if (!status)
    status = derive_set_texts(profile, TABLE_input_events, COLUMN_input_events_pipeline, to.pipelines, error);
  scratch_free(to.parents);
  scratch_free(to.steps);
  scratch_free(to.calls);
  scratch_free(to.selves);
  scratch_free(to.blocking);
  scratch_free(to.pipelines);
  return status;
}

enum tfprof_status input_iterators_run(struct profile *profile, struct tfprof_error *error) {
  struct iterators all = {.profile = profile};
  uint32_t *path = NULL, events;
  bool *is_on_path = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_input_events, &events, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &all.rows, error);
  if (status || !events) return status;
  status = derive_all_op_parents(profile, &all.parents, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_step_id, &all.steps, error);
  if (!status) status = list_items(&all, error);
  if (!status && all.event_count == events) { /* else the source's input events are none of its ops */
    path = scratch_allocate(((size_t)all.count + 1) * sizeof *path);
    is_on_path = scratch_allocate_zeroed((size_t)all.count + 1, sizeof *is_on_path);
    status = path && is_on_path ? find_around(&all, error) : error_no_memory(error);
    if (!status) status = list_taken(&all, error);
    if (!status) {
      find_parents(&all);
      find_calls(&all, path, is_on_path);
      status = name_pipelines(&all, error);
    }
    if (!status) status = set_columns(&all, error);
  }
  scratch_free(path);
  scratch_free(is_on_path);
  scratch_free(all.items);
  scratch_free(all.parents);
  scratch_free(all.steps);
  scratch_free(all.taken);
  scratch_free(all.pipelines);
  return status;
}
