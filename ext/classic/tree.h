/* tree.h: trees of displayed things: accounting, what is shown, and in what order.  Shared by scope, graph and code. */
#ifndef TFPROF_CLASSIC_TREE_H
#define TFPROF_CLASSIC_TREE_H

#include "classic/classic.h"

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
};

/* Fills total, rows. */
enum tfprof_status classic_tree_compute(struct classic_tree *tree, struct tfprof_error *error);
void classic_children_free(struct classic_children *children);

/* tensors.c: the values of the checkpoint. */
enum tfprof_status classic_take_tensors(struct classic_result *result, struct tfprof_error *error);

/* Whether the thresholds and name patterns let an item be shown.. */
bool classic_is_shown(const struct classic_result *result, uint32_t item, int64_t depth, struct classic_patterns *show,
                      struct classic_patterns *hide);
/* Puts items into the order of -order_by; ties stay as they are. False: no memory. */
bool classic_sort(const struct classic_result *result, uint32_t *items, size_t count);
void classic_add_values(struct classic_values *to, const struct classic_values *values);

/* Fills own values, op types and devices of items from their members, of which those that are not accounted are
** dropped. */
void classic_gather_members(struct classic_result *result, const uint8_t *accounted_nodes);

enum tfprof_status classic_code_tree(struct classic_tree *tree, const uint8_t *accounted_nodes,
                                     struct tfprof_error *error);
enum tfprof_status classic_op_list(struct classic_tree *tree, const uint8_t *accounted_nodes,
                                   struct tfprof_error *error);

#endif
