/* op_view.c: op types, each with its nodes.  The total of a row is its own and all below it; the root's is that of the
** first row, so that percentages grow from the bottom of the list to its top. */
#include <stdlib.h>
#include <string.h>

#include "classic/views/tree.h"

static int compare_ops(const void *left, const void *right, void *context) {
  const struct pool *pool = context;
  string_id a = *(const string_id *)left, b = *(const string_id *)right;
  const char *x = a ? pool_text(pool, a) : "", *y = b ? pool_text(pool, b) : "";
  int order = a == b ? 0 : strcmp(x, y);
  return order ? order : (a > b) - (a < b);
}

/* The ops of the nodes that are no scopes, each once and by name; places[op] is where one is. */
static void find_ops(struct classic_result *result, uint32_t *places) {
  const struct classic_model *model = result->model;
  for (uint32_t i = 0; i < model->node_count; i++) {
    string_id op = model->nodes[i].op;
    if (model->nodes[i].is_scope || places[op]) continue;
    places[op] = 1;
    result->names[result->item_count++] = op;
  }
  qsort_r(result->names, result->item_count, sizeof *result->names, compare_ops, (void *)(uintptr_t)model->pool);
  for (uint32_t i = 0; i < result->item_count; i++) places[result->names[i]] = i;
}

static bool list_ops(struct classic_result *result) {
  const struct classic_model *model = result->model;
  uint32_t *places = calloc((size_t)pool_count(model->pool) + 1, sizeof *places);
  uint32_t *members = result->members = malloc(((size_t)model->node_count + 1) * sizeof *members);
  uint32_t *first = result->member_first = calloc((size_t)model->node_count + 2, sizeof *first);
  result->names = malloc(((size_t)model->node_count + 1) * sizeof *result->names);
  if (!places || !members || !result->names || !first) {
    free(places);
    return false;
  }
  find_ops(result, places);
  for (uint32_t i = 0; i < model->node_count; i++) {
    if (!model->nodes[i].is_scope) first[places[model->nodes[i].op] + 1]++;
  }
  for (uint32_t i = 0; i < result->item_count; i++) first[i + 1] += first[i];
  for (uint32_t i = 0; i < model->node_count; i++) { /* first[op] moves on to where the next op begins */
    if (!model->nodes[i].is_scope) members[first[places[model->nodes[i].op]]++] = i;
  }
  memmove(first + 1, first, result->item_count * sizeof *first);
  first[0] = 0;
  free(places);
  size_t items = (size_t)result->item_count + 1;
  result->own = result->own_made = calloc(items, sizeof *result->own_made);
  result->total = calloc(items, sizeof *result->total);
  result->accounted = calloc(items, 1);
  return result->own && result->total && result->accounted;
}

/* Totals of the items of a list, from its end. */
static void add_up(struct classic_result *result, const uint32_t *items, size_t count) {
  memset(&result->total[result->item_count], 0, sizeof *result->total);
  for (size_t i = count; i-- > 0;) {
    result->total[items[i]] = result->own[items[i]];
    if (i + 1 < count) classic_add_values(&result->total[items[i]], &result->total[items[i + 1]]);
  }
  if (count) result->total[result->item_count] = result->total[items[0]];
}

enum tfprof_status classic_op_list(struct classic_tree *tree, const struct classic_accounting *accounting,
                                   struct tfprof_error *error) {
  struct classic_result *result = tree->result;
  if (!list_ops(result)) return error_no_memory(error);
  classic_gather_members(result, accounting);
  uint32_t *items = malloc(((size_t)result->item_count + 1) * sizeof *items);
  result->rows = malloc(((size_t)result->item_count + 1) * sizeof *result->rows);
  size_t count = 0, length;
  bool ok = items && result->rows;
  for (uint32_t i = 0; ok && i < result->item_count; i++) {
    result->total[i] = result->own[i];
    if (result->accounted[i]) items[count++] = i;
  }
  ok = ok && classic_sort(result, items, count);
  if (ok) add_up(result, items, count);
  size_t at = 0;
  bool searches = ok && !classic_patterns_is_all(tree->start) && !classic_patterns_is_empty(tree->start);
  for (; searches && at < count; at++) {
    const char *name = classic_item_name(result, items[at], &length);
    if (classic_patterns_match(tree->start, name, length)) break;
  }
  int64_t depth = 0;
  for (; ok && at < count; at++, depth++) {
    const char *name = classic_item_name(result, items[at], &length);
    if (classic_patterns_match(tree->trim, name, length) || depth > result->options.integers[OPTION_max_depth]) break;
    if (!classic_is_shown(result, items[at], depth, tree->show, tree->hide)) continue;
    result->rows[result->row_count] = (struct classic_row){items[at], (int32_t)depth, (int64_t)result->row_count - 1};
    result->row_count++;
  }
  if (ok && result->options.integers[OPTION_account_displayed_op_only]) {
    for (size_t i = 0; i < result->row_count; i++) items[i] = result->rows[i].item;
    add_up(result, items, result->row_count);
  }
  free(items);
  return ok ? TFPROF_OK : error_no_memory(error);
}
