/* tree.c: accounting and display of a tree, without recursion.
**
** Three walks.  1. Depth first over the children: an item stays when it is accounted or something below it stays;
** totals add up from below.  In a graph each item counts where it is reached first, and one that is not accounted
** leaves its place to what stays below it.  2. -start_name_regexes: the first matches on each way down become the
** root's children. 3. What is shown: the children of a hidden item move up; each shown item's children are sorted.
**
** A walk keeps its way on a stack, and what came out of the subtrees that it has finished on a second one, `pending`:
** the outcome of an item's children lies there from `mark` on when the item itself is finished.
*/
#include "classic/views/tree.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ITEM = UINT32_MAX };

LIST_NAMED(list, uint32_t);

static bool list_append(struct list *list, const uint32_t *items, size_t count) {
  if (!array_reserve(list->items, list->capacity, list->count + count + !list->items)) return false;
  if (count) memcpy(list->items + list->count, items, count * sizeof *items);
  list->count += count;
  return true;
}

struct frame {
  uint32_t item;
  uint32_t next; /* child to visit */
  size_t mark;
  int32_t depth, shown_above; /* shown_above: the depth of what is shown around it */
  bool is_shown, descends;
};

struct stack {
  struct frame *frames;
  size_t count, capacity;
};

static bool push(struct stack *stack, struct frame frame) {
  if (!array_room(stack->frames, stack->count, stack->capacity)) return false;
  stack->frames[stack->count++] = frame;
  return true;
}

/* Children of items that are found out one after the other: in `items` from first[i] on, count[i] many. */
struct found {
  struct list items;
  uint32_t *first, *count;
};

static bool found_init(struct found *found, uint32_t items) {
  *found = (struct found){.first = calloc((size_t)items + 1, sizeof(uint32_t)),
                          .count = calloc((size_t)items + 1, sizeof(uint32_t))};
  return found->first && found->count;
}

static void found_free(struct found *found) {
  free(found->items.items);
  free(found->first);
  free(found->count);
}

static bool found_set(struct found *found, uint32_t item, const uint32_t *children, size_t count) {
  found->first[item] = (uint32_t)found->items.count;
  found->count[item] = (uint32_t)count;
  return list_append(&found->items, children, count);
}

void classic_children_free(struct classic_children *children) {
  free(children->first);
  free(children->items);
}

enum { TURNS_BETWEEN_LOOKS = 4096 };

/* For each turn of a loop over items: false ends it, because of an interrupt. */
static bool tree_goes_on(struct classic_tree *tree) {
  if (++tree->turns % TURNS_BETWEEN_LOOKS == 0) tree->is_interrupted |= store_interrupted(tree->result->model->store);
  return !tree->is_interrupted;
}

/* ---- 1. accounting ---- */

static bool account(struct classic_tree *tree, struct found *kept) {
  struct classic_result *result = tree->result;
  uint32_t root = result->item_count, unvisited = 0;
  uint8_t *visited = calloc((size_t)root + 1, 1);
  struct stack stack = {0};
  struct list pending = {0};
  bool ok = visited && list_append(&pending, NULL, 0) &&
            push(&stack, (struct frame){.item = root, .next = tree->children.first[root]});
  while (ok && stack.count && tree_goes_on(tree)) {
    struct frame *frame = &stack.frames[stack.count - 1];
    uint32_t item = frame->item;
    if (frame->next < tree->children.first[item + 1]) {
      uint32_t child = tree->children.items[frame->next++];
      if (visited[child]) continue;
      visited[child] = 1;
      ok = push(&stack, (struct frame){.item = child, .next = tree->children.first[child], .mark = pending.count});
      continue;
    }
    /* Nodes of a circle that nothing else takes are below no root: the first of them by name becomes one. */
    while (tree->is_graph && item == root && unvisited < root && visited[unvisited]) unvisited++;
    if (tree->is_graph && item == root && unvisited < root) {
      visited[unvisited] = 1;
      ok = push(&stack,
                (struct frame){.item = unvisited, .next = tree->children.first[unvisited], .mark = pending.count});
      continue;
    }
    size_t mark = frame->mark, count = pending.count - mark;
    stack.count--;
    /* At first what is not accounted was there, and hidden; and its own values counted for nothing. */
    bool is_oldest = result->options.integers[OPTION_generation] == GENERATION_0_12;
    bool is_accounted = item != root && result->accounted[item];
    bool stays = item == root || is_accounted || (tree->is_graph ? is_oldest : count > 0);
    if (!stays) continue; /* in a graph the children stay pending, for the item above */
    if (item != root && (is_accounted || !is_oldest)) result->total[item] = result->own[item];
    for (size_t i = mark; i < pending.count; i++)
      classic_add_values(&result->total[item], &result->total[pending.items[i]]);
    ok = found_set(kept, item, pending.items + mark, count);
    pending.count = mark;
    ok = ok && list_append(&pending, &item, 1);
  }
  free(visited);
  free(stack.frames);
  free(pending.items);
  return ok;
}

/* ---- 2. start ---- */

static bool is_match(const struct classic_result *result, struct classic_patterns *patterns, uint32_t item) {
  size_t length;
  const char *name = classic_item_name(result, item, &length);
  return classic_patterns_match(patterns, name, length);
}

static bool search_start(struct classic_tree *tree, struct found *kept) {
  struct classic_result *result = tree->result;
  struct list starts = {0}, todo = {0};
  uint32_t root = result->item_count;
  bool ok = true;
  /* Those to look at lie on a stack, the next one on top. */
  for (uint32_t i = kept->count[root]; i-- > 0 && ok;)
    ok = list_append(&todo, &kept->items.items[kept->first[root] + i], 1);
  while (ok && todo.count && tree_goes_on(tree)) {
    uint32_t item = todo.items[--todo.count];
    if (is_match(result, tree->start, item)) {
      ok = list_append(&starts, &item, 1);
      continue;
    }
    for (uint32_t i = kept->count[item]; i-- > 0 && ok;)
      ok = list_append(&todo, &kept->items.items[kept->first[item] + i], 1);
  }
  ok = ok && found_set(kept, root, starts.items, starts.count);
  free(starts.items);
  free(todo.items);
  return ok;
}

/* ---- 3. display ---- */

bool classic_is_shown(const struct classic_result *result, uint32_t item, int64_t depth, struct classic_patterns *show,
                      struct classic_patterns *hide) {
  static const struct { uint8_t option, metric; } thresholds[] = {
      {OPTION_min_bytes, METRIC_bytes}, {OPTION_min_peak_bytes, METRIC_peak_bytes},
      {OPTION_min_residual_bytes, METRIC_residual_bytes}, {OPTION_min_output_bytes, METRIC_output_bytes},
      {OPTION_min_micros, METRIC_micros}, {OPTION_min_accelerator_micros, METRIC_accelerator_micros},
      {OPTION_min_cpu_micros, METRIC_cpu_micros}, {OPTION_min_params, METRIC_params},
      {OPTION_min_float_ops, METRIC_float_ops}};
  const int64_t *limits = result->options.integers;
  bool is_single = result->view == CLASSIC_SCOPE || result->view == CLASSIC_GRAPH;
  bool is_old = limits[OPTION_generation] != GENERATION_2;
  if (item == result->item_count) return true;
  /* There, the scopes around accounted nodes were not shown. */
  if (is_old && is_single && !result->accounted[item]) return false;
  for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++) {
    int metric = thresholds[i].metric;
    /* Of single nodes it is their own parameters and flops that count; in older generations all that is their own. */
    bool is_own = is_single && (metric >= METRIC_params || is_old);
    if ((is_own ? result->own : result->total)[item].of[metric] < limits[thresholds[i].option]) return false;
  }
  if (is_single && result->own[item].of[METRIC_occurrence] < limits[OPTION_min_occurrence]) return false;
  if (result->view == CLASSIC_OP && result->own[item].of[METRIC_defined] < limits[OPTION_min_occurrence]) return false;
  if (depth > limits[OPTION_max_depth]) return false;
  if (result->on_devices && result->nodes && !result->on_devices[result->nodes[item]]) return false;
  if (!classic_patterns_is_all(show) && !is_match(result, show, item)) return false;
  return classic_patterns_is_empty(hide) || !is_match(result, hide, item);
}

struct sorted {
  const char *name;
  size_t length;
  int64_t value;
  uint32_t item, place;
};

static int compare_sorted(const void *left, const void *right) {
  const struct sorted *a = left, *b = right;
  if (a->name) {
    int order = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);
    if (order) return order;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
  } else if (a->value != b->value) {
    return a->value > b->value ? -1 : 1;
  }
  return a->place < b->place ? -1 : a->place > b->place;
}

bool classic_sort(const struct classic_result *result, uint32_t *items, size_t count) {
  if (count < 2) return true;
  struct sorted few[32], *sorted = count <= 32 ? few : malloc(count * sizeof *sorted);
  if (!sorted) return false;
  int order = result->options.order;
  bool is_multiple = result->view == CLASSIC_CODE || result->view == CLASSIC_OP;
  /* Single nodes are not ordered by occurrence: TensorFlow's profiler falls back to their names. */
  if (order == METRIC_occurrence && !is_multiple) order = -1;
  for (size_t i = 0; i < count; i++) {
    sorted[i] = (struct sorted){.item = items[i], .place = (uint32_t)i};
    if (order < 0) sorted[i].name = classic_item_name(result, items[i], &sorted[i].length);
    else if (order == METRIC_occurrence && is_multiple) sorted[i].value = result->own[items[i]].of[METRIC_defined];
    else sorted[i].value = result->total[items[i]].of[order];
  }
  qsort(sorted, count, sizeof *sorted, compare_sorted);
  for (size_t i = 0; i < count; i++) items[i] = sorted[i].item;
  if (sorted != few) free(sorted);
  return true;
}

/* An item is entered: whether it is shown, and whether what is below it is looked at. False: it is left out with all
** below it. */
static bool enter(struct classic_tree *tree, struct frame *frame) {
  const struct classic_result *result = tree->result;
  bool is_root = frame->item == result->item_count;
  bool is_trimmed = !classic_patterns_is_empty(tree->trim) && is_match(result, tree->trim, frame->item);
  int64_t deepest = result->options.integers[OPTION_max_depth];
  if (result->view == CLASSIC_CODE) {
    /* Here trimming takes the item itself too, but never the root. */
    if (!is_root && (is_trimmed || frame->depth > deepest)) return false;
    frame->descends = !is_root || (!is_trimmed && frame->depth <= deepest);
  } else {
    frame->descends = !is_trimmed && frame->depth <= deepest;
  }
  frame->is_shown = classic_is_shown(result, frame->item, frame->depth, tree->show, tree->hide);
  return true;
}

static bool display(struct classic_tree *tree, const struct found *kept, struct found *shown) {
  struct classic_result *result = tree->result;
  bool recounts = result->options.integers[OPTION_account_displayed_op_only] && result->view != CLASSIC_CODE;
  struct stack stack = {0};
  struct list pending = {0};
  struct frame first = {.item = result->item_count, .depth = 1};
  enter(tree, &first);
  bool ok = list_append(&pending, NULL, 0) && push(&stack, first);
  while (ok && stack.count && tree_goes_on(tree)) {
    struct frame *frame = &stack.frames[stack.count - 1];
    uint32_t item = frame->item;
    if (frame->descends && frame->next < kept->count[item]) {
      struct frame child = {.item = kept->items.items[kept->first[item] + frame->next++],
                            .mark = pending.count,
                            .depth = frame->depth + 1,
                            .shown_above = frame->is_shown ? frame->depth : frame->shown_above};
      if (!enter(tree, &child)) continue;
      if (result->hidden) result->hidden[child.item] = (uint32_t)(child.depth - child.shown_above - 1);
      ok = push(&stack, child);
      continue;
    }
    size_t mark = frame->mark;
    bool is_shown = frame->is_shown;
    stack.count--;
    if (!is_shown) continue;
    if (recounts) {
      result->total[item] = result->own[item];
      if (item == result->item_count) result->total[item].of[METRIC_defined] = 1;
      for (size_t i = mark; i < pending.count; i++)
        classic_add_values(&result->total[item], &result->total[pending.items[i]]);
    }
    ok = classic_sort(result, pending.items + mark, pending.count - mark) &&
         found_set(shown, item, pending.items + mark, pending.count - mark);
    pending.count = mark;
    ok = ok && list_append(&pending, &item, 1);
  }
  free(stack.frames);
  free(pending.items);
  return ok;
}

static bool add_tree_row(struct classic_result *result, size_t *capacity, uint32_t item, int32_t depth,
                         int64_t parent) {
  if (!array_room(result->rows, result->row_count, *capacity)) return false;
  result->rows[result->row_count++] = (struct classic_row){item, depth, parent};
  return true;
}

/* The shown items from top to bottom. */
static bool list_rows(struct classic_tree *tree, const struct found *shown) {
  struct classic_result *result = tree->result;
  struct stack stack = {0};
  size_t capacity = 0;
  bool ok = push(&stack, (struct frame){.item = result->item_count, .depth = 1, .mark = SIZE_MAX});
  while (ok && stack.count && tree_goes_on(tree)) {
    struct frame frame = stack.frames[--stack.count];
    size_t row = result->row_count;
    ok = add_tree_row(result, &capacity, frame.item, frame.depth, frame.mark == SIZE_MAX ? -1 : (int64_t)frame.mark);
    for (uint32_t i = shown->count[frame.item]; i-- > 0 && ok;) {
      uint32_t child = shown->items.items[shown->first[frame.item] + i];
      ok = push(&stack, (struct frame){.item = child, .depth = frame.depth + 1, .mark = row});
    }
  }
  free(stack.frames);
  return ok;
}

enum tfprof_status classic_tree_compute(struct classic_tree *tree, struct tfprof_error *error) {
  struct found kept, shown;
  bool ok = found_init(&kept, tree->result->item_count);
  ok = found_init(&shown, tree->result->item_count) && ok;
  ok = ok && account(tree, &kept);
  if (ok && !classic_patterns_is_all(tree->start)) ok = search_start(tree, &kept);
  ok = ok && display(tree, &kept, &shown) && list_rows(tree, &shown);
  found_free(&kept);
  found_free(&shown);
  if (tree->is_interrupted) return error_set(error, TFPROF_INTERRUPTED, "interrupted");
  return ok ? TFPROF_OK : error_no_memory(error);
}
