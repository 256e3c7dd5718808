/* items.c: one item of a view: its name, and what the nodes that belong to it cost. */
#include "classic/views/tree.h"

const char *classic_item_name(const struct classic_result *result, uint32_t item, size_t *length) {
  string_id id = item == result->item_count ? 0
                 : result->nodes            ? result->model->nodes[result->nodes[item]].name
                                            : result->names[item];
  const char *text = item == result->item_count ? "_TFProfRoot" : id ? pool_text(result->model->pool, id) : "";
  *length = item == result->item_count ? 11 : id ? pool_length(result->model->pool, id) : 0;
  return text;
}

void classic_add_values(struct classic_values *to, const struct classic_values *values) {
  for (int i = 0; i < METRIC_count; i++) {
    if (__builtin_add_overflow(to->of[i], values->of[i], &to->of[i])) to->of[i] = INT64_MAX;
  }
}

/* What the node cost, for each expression but the first. */
static void add_again(struct classic_result *result, uint32_t item, uint32_t node, uint64_t expressions) {
  struct classic_values values = result->node_values[node];
  values.of[METRIC_occurrence] = values.of[METRIC_defined] = 0;
  for (uint64_t more = expressions & (expressions - 1); more; more &= more - 1)
    classic_add_values(&result->own_made[item], &values);
}

void classic_gather_members(struct classic_result *result, const struct classic_accounting *accounting) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < result->item_count; i++) {
    uint32_t first = result->member_first[i], last = result->member_first[i + 1];
    result->member_first[i] = kept;
    for (uint32_t k = first; k < last; k++) {
      uint32_t node = result->members[k];
      if (!accounting->nodes[node]) continue;
      result->members[kept++] = node;
      classic_add_values(&result->own_made[i], &result->node_values[node]);
      if (accounting->expressions) add_again(result, i, node, accounting->expressions[node]);
    }
    result->accounted[i] = kept > result->member_first[i];
  }
  result->member_first[result->item_count] = kept;
}
