/* user_types.c: types that a user gives to nodes by expressions for their names, beside those that the source knows. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "classic/views/classic.h"

struct labelling {
  struct classic_model *model;
  string_id *types; /* of all nodes so far */
  size_t count, capacity;
};

static bool add_labelled_type(struct labelling *labelling, string_id type) {
  if (labelling->count == INT32_MAX || !array_room(labelling->types, labelling->count, labelling->capacity))
    return false;
  labelling->types[labelling->count++] = type;
  return true;
}

/* The types of a node: its own, then those whose expressions match. */
static bool label(struct labelling *labelling, uint32_t number, struct classic_patterns **patterns,
                  const string_id *types, size_t count) {
  const struct classic_model *model = labelling->model;
  struct classic_node *node = &model->nodes[number];
  uint32_t first = node->first_type, last = node[1].first_type;
  bool ok = true;
  node->first_type = (uint32_t)labelling->count;
  for (uint32_t i = first; ok && i < last; i++) ok = add_labelled_type(labelling, model->types[i]);
  /* What is a scope and nothing else is no node of the graph. */
  if (node->is_scope && !node->op) return ok;
  const char *name = node->name ? pool_text(model->pool, node->name) : "";
  size_t length = node->name ? pool_length(model->pool, node->name) : 0;
  for (size_t k = 0; ok && k < count; k++) {
    if (patterns[k] && classic_patterns_match(patterns[k], name, length)) ok = add_labelled_type(labelling, types[k]);
  }
  return ok;
}

enum tfprof_status classic_model_add_types(struct classic_model *model, const struct classic_user_type *given,
                                           size_t count, struct tfprof_error *error) {
  struct labelling labelling = {.model = model};
  if (!count) return TFPROF_OK;
  struct classic_patterns **patterns = calloc(count, sizeof *patterns);
  string_id *types = calloc(count, sizeof *types);
  bool ok = patterns && types;
  for (size_t k = 0; ok && k < count; k++) {
    char *wrong;
    patterns[k] = classic_pattern_create(model->store, given[k].pattern, &wrong);
    ok = patterns[k] &&
         pool_intern(store_pool(model->store), given[k].type, strlen(given[k].type), &types[k]) == TFPROF_OK;
    free(wrong);
  }
  for (uint32_t i = 0; ok && i < model->node_count; i++) ok = label(&labelling, i, patterns, types, count);
  enum tfprof_status status = ok ? TFPROF_OK : error_no_memory(error);
  for (size_t k = 0; k < count && !status; k++) status = classic_patterns_interrupted(patterns[k], error);
  for (size_t k = 0; patterns && k < count; k++) classic_patterns_free(patterns[k]);
  free(patterns);
  free(types);
  if (status) {
    free(labelling.types);
    return status;
  }
  model->nodes[model->node_count].first_type = (uint32_t)labelling.count;
  free(model->types);
  model->types = labelling.types;
  return TFPROF_OK;
}
