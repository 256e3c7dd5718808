/* views.c: what the four views display: nodes by the scopes of their names (scope) or by their inputs (graph), source
** lines by the call stacks of the nodes that they made (code: code_view.c), and op types (op: op_view.c). */
#include <stdlib.h>
#include <string.h>

#include "classic/views/tree.h"

/* ---- patterns and types ---- */

/* The patterns of an option; what is wrong with them goes to stderr. NULL: no memory. */
static struct classic_patterns *take_patterns(const struct classic_result *result, int option) {
  char *wrong;
  struct classic_patterns *patterns =
      classic_patterns_create(result->model->store, result->options.texts[option], &wrong);
  if (wrong) fprintf(stderr, "-%s: %s\n", classic_option_specs[option].name, wrong);
  free(wrong);
  return patterns;
}

static const char scope_type[] = "_kTFScopeParent";

/* For each node the expressions that match one of its types. To be freed; NULL: no memory. */
static uint64_t *find_expressions(const struct classic_model *model, struct classic_patterns *patterns) {
  uint32_t texts = pool_count(model->pool);
  uint64_t *expressions = calloc((size_t)model->node_count + 1, sizeof *expressions);
  uint64_t *known = calloc((size_t)texts + 1, sizeof *known);
  uint8_t *is_known = calloc((size_t)texts + 1, 1);
  bool ok = expressions && known && is_known;
  for (uint32_t i = 0; ok && i < model->node_count; i++) {
    const struct classic_node *node = &model->nodes[i];
    for (uint32_t k = node->first_type; k < node[1].first_type; k++) {
      string_id type = model->types[k];
      if (!type || type > texts) continue;
      if (!is_known[type])
        known[type] =
            classic_patterns_matching(patterns, pool_text(model->pool, type), pool_length(model->pool, type));
      is_known[type] = 1;
      expressions[i] |= known[type];
    }
  }
  free(known);
  free(is_known);
  if (ok) return expressions;
  free(expressions);
  return NULL;
}

/* Which nodes have a type that the patterns match. To be freed; NULL: no memory. */
static uint8_t *find_accounted_nodes(const struct classic_model *model, struct classic_patterns *patterns) {
  enum { UNKNOWN, NO, YES };
  uint32_t texts = pool_count(model->pool);
  uint8_t *accounted = calloc((size_t)model->node_count + 1, 1), *known = calloc((size_t)texts + 1, 1);
  bool ok = accounted && known;
  bool takes_scopes = ok && classic_patterns_match(patterns, scope_type, sizeof scope_type - 1);
  for (uint32_t i = 0; ok && i < model->node_count; i++) {
    const struct classic_node *node = &model->nodes[i];
    if (classic_patterns_is_all(patterns) || (node->is_scope && !node->op && takes_scopes)) {
      accounted[i] = 1;
      continue;
    }
    for (uint32_t k = node->first_type; k < node[1].first_type && !accounted[i]; k++) {
      string_id type = model->types[k];
      if (type > texts) continue;
      if (known[type] == UNKNOWN)
        known[type] =
            type && classic_patterns_match(patterns, pool_text(model->pool, type), pool_length(model->pool, type)) ? YES
                                                                                                                   : NO;
      accounted[i] = known[type] == YES;
    }
  }
  free(known);
  if (ok) return accounted;
  free(accounted);
  return NULL;
}

static enum tfprof_status account(const struct classic_result *result, struct classic_accounting *accounting,
                                  struct tfprof_error *error) {
  bool is_of_lists = result->view == CLASSIC_OP || result->view == CLASSIC_CODE;
  struct classic_patterns *patterns = take_patterns(result, OPTION_account_type_regexes);
  if (patterns) accounting->nodes = find_accounted_nodes(result->model, patterns);
  bool ok = accounting->nodes != NULL;
  if (ok && is_of_lists && result->options.integers[OPTION_compat] && !classic_patterns_is_all(patterns))
    ok = (accounting->expressions = find_expressions(result->model, patterns)) != NULL;
  enum tfprof_status status = ok ? classic_patterns_interrupted(patterns, error) : error_no_memory(error);
  classic_patterns_free(patterns);
  return status;
}

/* ---- scope and graph ---- */

/* Items are nodes, all of them or those that are no scopes; *items[node] is the item, UINT32_MAX: none. */
static bool take_nodes(struct classic_result *result, bool with_scopes, const uint8_t *accounted_nodes,
                       uint32_t **items) {
  const struct classic_model *model = result->model;
  uint32_t *of_node = malloc(((size_t)model->node_count + 1) * sizeof *of_node);
  result->nodes = malloc(((size_t)model->node_count + 1) * sizeof *result->nodes);
  *items = of_node;
  if (!of_node || !result->nodes) return false;
  for (uint32_t i = 0; i < model->node_count; i++) {
    bool is_item = with_scopes || !model->nodes[i].is_scope;
    of_node[i] = is_item ? result->item_count : UINT32_MAX;
    if (is_item) result->nodes[result->item_count++] = i;
  }
  size_t count = (size_t)result->item_count + 1;
  result->total = calloc(count, sizeof *result->total);
  result->accounted = calloc(count, 1);
  bool is_all = result->item_count == model->node_count;
  if (!is_all) result->own_made = calloc(count, sizeof *result->own_made);
  result->own = is_all ? result->node_values : result->own_made;
  if (!result->own || !result->total || !result->accounted) return false;
  for (uint32_t i = 0; i < result->item_count; i++) {
    if (!is_all) result->own_made[i] = result->node_values[result->nodes[i]];
    result->accounted[i] = accounted_nodes[result->nodes[i]];
  }
  return true;
}

/* Children from (parent, child) pairs, which come by child. */
static bool children_of_parents(struct classic_children *children, const uint32_t *parents, uint32_t count) {
  children->first = calloc((size_t)count + 3, sizeof *children->first);
  children->items = malloc(((size_t)count + 1) * sizeof *children->items);
  if (!children->first || !children->items) return false;
  uint32_t *next = children->first + 1; /* shifted, so that it is right after filling */
  for (uint32_t i = 0; i < count; i++) next[parents[i] + 1]++;
  for (uint32_t i = 0; i <= count; i++) next[i + 1] += next[i];
  for (uint32_t i = 0; i < count; i++) children->items[next[parents[i]]++] = i;
  return true;
}

static enum tfprof_status scope_tree(struct classic_tree *tree, const uint8_t *accounted, struct tfprof_error *error) {
  struct classic_result *result = tree->result;
  const struct classic_model *model = result->model;
  uint32_t *items = NULL, *parents = NULL;
  bool ok = take_nodes(result, true, accounted, &items) &&
            (parents = malloc(((size_t)result->item_count + 1) * sizeof *parents));
  for (uint32_t i = 0; ok && i < result->item_count; i++) {
    uint32_t parent = model->nodes[i].parent;
    parents[i] = parent == UINT32_MAX ? result->item_count : parent;
  }
  ok = ok && children_of_parents(&tree->children, parents, result->item_count);
  free(items);
  free(parents);
  return ok ? TFPROF_OK : error_no_memory(error);
}

static enum tfprof_status graph_tree(struct classic_tree *tree, const uint8_t *accounted, struct tfprof_error *error) {
  struct classic_result *result = tree->result;
  const struct classic_model *model = result->model;
  struct classic_children *children = &tree->children;
  uint32_t *items = NULL, count = 0;
  uint32_t inputs = model->nodes[model->node_count].first_input;
  tree->is_graph = true;
  bool ok = take_nodes(result, false, accounted, &items);
  uint8_t *feeds = ok ? calloc((size_t)model->node_count + 1, 1) : NULL;
  children->first = calloc((size_t)result->item_count + 3, sizeof *children->first);
  children->items = malloc(((size_t)inputs + result->item_count + 1) * sizeof *children->items);
  ok = ok && feeds && children->first && children->items;
  for (uint32_t i = 0; ok && i < result->item_count; i++) {
    const struct classic_node *node = &model->nodes[result->nodes[i]];
    children->first[i] = count;
    for (uint32_t k = node->first_input; k < node[1].first_input; k++) {
      uint32_t source = model->inputs[k].source;
      if (source == UINT32_MAX) continue;
      feeds[source] = 1;
      if (items[source] != UINT32_MAX) children->items[count++] = items[source];
    }
  }
  if (ok) children->first[result->item_count] = count;
  for (uint32_t i = 0; ok && i < result->item_count; i++) {
    if (!feeds[result->nodes[i]]) children->items[count++] = i;
  }
  if (ok) children->first[result->item_count + 1] = count;
  free(feeds);
  free(items);
  return ok ? TFPROF_OK : error_no_memory(error);
}

/* ---- older generations ---- */

/* -device_regexes, and scalars, which had no parameters in 0.12. */
static enum tfprof_status apply_generation(struct classic_result *result, struct tfprof_error *error) {
  const struct classic_model *model = result->model;
  const struct classic_options *options = &result->options;
  if (options->integers[OPTION_generation] == GENERATION_0_12) {
    size_t size = ((size_t)model->node_count + 1) * sizeof *result->old_values;
    result->old_values = malloc(size);
    if (!result->old_values) return error_no_memory(error);
    memcpy(result->old_values, result->node_values, size - sizeof *result->old_values);
    for (uint32_t i = 0; i < model->node_count; i++) {
      string_id shape = model->nodes[i].shape;
      if (shape && strcmp(pool_text(model->pool, shape), "1") == 0) result->old_values[i].of[METRIC_params] = 0;
    }
    result->node_values = result->old_values;
  }
  struct classic_patterns *devices = take_patterns(result, OPTION_device_regexes);
  if (!devices) return error_no_memory(error);
  if (!classic_patterns_is_all(devices)) result->on_devices = calloc((size_t)model->node_count + 1, 1);
  bool ok = classic_patterns_is_all(devices) || result->on_devices;
  for (uint32_t i = 0; result->on_devices && i < model->node_count; i++) {
    string_id device = model->nodes[i].device;
    const char *text = device ? pool_text(model->pool, device) : "";
    result->on_devices[i] = classic_patterns_match(devices, text, strlen(text));
  }
  enum tfprof_status status = ok ? classic_patterns_interrupted(devices, error) : error_no_memory(error);
  classic_patterns_free(devices);
  return status;
}

/* Where ops are hidden between an item and the one that is shown above it, a line of its own says how many. */
static bool indent_rows(struct classic_result *result) {
  result->indents = calloc(result->row_count + 1, sizeof *result->indents);
  if (!result->indents) return false;
  for (size_t row = 1; row < result->row_count; row++)
    result->indents[row] =
        result->indents[result->rows[row].parent] + (result->hidden[result->rows[row].item] ? 4 : 2);
  return true;
}

/* ---- computing ---- */

enum tfprof_status classic_compute(const struct classic_model *model, enum classic_view view,
                                   const struct classic_options *options, struct classic_result **made,
                                   struct tfprof_error *error) {
  *made = NULL;
  enum tfprof_status status = classic_check(model, view, options, error);
  if (status) return status;
  struct classic_result *result = calloc(1, sizeof *result);
  struct classic_tree tree = {.result = result};
  if (!result || !classic_options_copy(&result->options, options)) {
    free(result);
    return error_no_memory(error);
  }
  result->model = model;
  result->view = view;
  status = classic_adapt_options(&result->options, view, error);
  if (status) {
    classic_result_free(result);
    return status;
  }
  result->shared_values = classic_own_values(model, options->integers[OPTION_step]);
  result->node_values = result->shared_values ? result->shared_values->values : NULL;
  struct classic_accounting accounting = {0};
  status = account(result, &accounting, error);
  tree.start = take_patterns(result, OPTION_start_name_regexes);
  tree.trim = take_patterns(result, OPTION_trim_name_regexes);
  tree.show = take_patterns(result, OPTION_show_name_regexes);
  tree.hide = take_patterns(result, OPTION_hide_name_regexes);
  const struct classic_patterns *const of_names[] = {tree.start, tree.trim, tree.show, tree.hide};
  enum { OF_NAMES = sizeof of_names / sizeof of_names[0] };
  for (size_t i = 0; i < OF_NAMES && !status; i++) status = of_names[i] ? TFPROF_OK : error_no_memory(error);
  if (!status && !result->node_values) status = error_no_memory(error);
  if (!status) status = apply_generation(result, error);
  if (!status) {
    switch (view) {
      case CLASSIC_SCOPE: status = scope_tree(&tree, accounting.nodes, error); break;
      case CLASSIC_GRAPH: status = graph_tree(&tree, accounting.nodes, error); break;
      case CLASSIC_CODE: status = classic_code_tree(&tree, &accounting, error); break;
      case CLASSIC_OP: case CLASSIC_VIEW_count: status = classic_op_list(&tree, &accounting, error); break;
    }
  }
  bool counts_hidden = options->selected & 1u << SELECT_num_hidden_ops && view == CLASSIC_GRAPH;
  if (!status && counts_hidden && !(result->hidden = calloc((size_t)result->item_count + 1, sizeof *result->hidden)))
    status = error_no_memory(error);
  if (!status && view != CLASSIC_OP) status = classic_tree_compute(&tree, error);
  for (size_t i = 0; i < OF_NAMES && !status; i++) status = classic_patterns_interrupted(of_names[i], error);
  if (!status && result->nodes && (options->selected & 1u << SELECT_tensor_value))
    status = classic_take_tensors(result, error);
  if (!status && counts_hidden && !indent_rows(result)) status = error_no_memory(error);
  classic_children_free(&tree.children);
  classic_patterns_free(tree.start);
  classic_patterns_free(tree.trim);
  classic_patterns_free(tree.show);
  classic_patterns_free(tree.hide);
  free(accounting.nodes);
  free(accounting.expressions);
  if (status) classic_result_free(result);
  else *made = result;
  return status;
}

void classic_result_free(struct classic_result *result) {
  if (!result) return;
  classic_options_free(&result->options);
  free(result->rows);
  free(result->own_made);
  free(result->total);
  free(result->accounted);
  free(result->nodes);
  free(result->parents);
  free(result->frames);
  free(result->names);
  free(result->member_first);
  free(result->members);
  classic_own_values_put_back(result->shared_values);
  free(result->old_values);
  free(result->on_devices);
  free(result->hidden);
  free(result->indents);
  free(result->tensors);
  free(result);
}
