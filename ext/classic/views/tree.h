/* tree.h: trees of displayed things: accounting, what is shown, and in what order.  Shared by scope, graph and code. */
#ifndef TFPROF_CLASSIC_TREE_H
#define TFPROF_CLASSIC_TREE_H

#include "classic/views/classic.h"

/* Children of items 0 ... count - 1, and of the root, which is item `count`. */
struct classic_children {
  uint32_t *first; /* count + 2 */
  uint32_t *items;
};

struct classic_tree {
  struct classic_result *result; /* own, accounted are filled for all items */
  struct classic_children children;
  /* Items may be reached on several ways, the first counts; what is not accounted gives way to its children. */
  bool is_graph;
  struct classic_patterns *start, *trim, *show, *hide;
  uint32_t turns; /* of loops over items, and whether one of them was interrupted */
  bool is_interrupted;
};

/* Fills total, rows. */
enum tfprof_status classic_tree_compute(struct classic_tree *tree, struct tfprof_error *error);
void classic_children_free(struct classic_children *children);

/* tensors.c: the values of the checkpoint. */
enum tfprof_status classic_take_tensors(struct classic_result *result, struct tfprof_error *error);

/* Whether the thresholds and name patterns let an item be shown. */
bool classic_is_shown(const struct classic_result *result, uint32_t item, int64_t depth, struct classic_patterns *show,
                      struct classic_patterns *hide);
/* Puts items into the order of -order_by; ties stay as they are. False: no memory. */
bool classic_sort(const struct classic_result *result, uint32_t *items, size_t count);
void classic_add_values(struct classic_values *to, const struct classic_values *values);

/* Which nodes -account_type_regexes take. */
struct classic_accounting {
  uint8_t *nodes;        /* of the model's nodes: whether any expression matches a type */
  uint64_t *expressions; /* op and code with -compat: which ones do (classic_patterns_matching); else NULL */
};

/* Fills own values of items from their members, of which those that are not accounted are dropped. With `expressions`
** what a node cost counts once for each of them, as in TensorFlow's profiler, and the node itself once. */
void classic_gather_members(struct classic_result *result, const struct classic_accounting *accounting);

enum tfprof_status classic_code_tree(struct classic_tree *tree, const struct classic_accounting *accounting,
                                     struct tfprof_error *error);
enum tfprof_status classic_op_list(struct classic_tree *tree, const struct classic_accounting *accounting,
                                   struct tfprof_error *error);

#endif
