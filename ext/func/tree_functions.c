/* tree_functions.c: totals of what hangs together as a tree.
**
** n log n, for sorting; the walk over the trees, which enters and leaves each node once, is linear.
*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"

SQLITE_EXTENSION_INIT3

#define NO_NODE UINT32_MAX

struct node {
  int64_t id, parent, key;
  double sum; /* of its own value, then with those of all below it */
  bool has_parent, has_key, has_sum;
  uint32_t up, first_child, next_sibling; /* NO_NODE: none */
  uint32_t key_place;
};

struct key {
  int64_t key;
  double sum;
  bool has_sum;
  uint32_t on_path; /* nodes of the path that the walk is on */
};

struct tree {
  struct node *nodes; /* sqlite3_malloc64 */
  uint32_t count, capacity;
};

static void path_step(sqlite3_context *context, int count, sqlite3_value **values) {
  struct tree *tree = sqlite3_aggregate_context(context, sizeof *tree);
  int types[4];
  if (!tree) {
    sqlite3_result_error_nomem(context);
    return;
  }
  for (int i = 0; i < count; i++) {
    types[i] = sqlite3_value_numeric_type(values[i]);
    bool is_number = types[i] == SQLITE_INTEGER || (i == 3 && types[i] == SQLITE_FLOAT);
    if (!is_number && (i == 0 || types[i] != SQLITE_NULL)) {
      sqlite3_result_error(context, "path_sums: id, parent and key must be integers, value a number", -1);
      return;
    }
  }
  if (tree->count == tree->capacity) {
    uint32_t capacity = tree->capacity ? tree->capacity * 2 : 64;
    struct node *nodes = capacity < NO_NODE / 2 ? sqlite3_realloc64(tree->nodes, capacity * sizeof *nodes) : NULL;
    if (!nodes) {
      sqlite3_result_error_nomem(context);
      return;
    }
    tree->nodes = nodes;
    tree->capacity = capacity;
  }
  tree->nodes[tree->count++] = (struct node){
      .id = sqlite3_value_int64(values[0]),
      .parent = sqlite3_value_int64(values[1]),
      .key = sqlite3_value_int64(values[2]),
      .sum = sqlite3_value_double(values[3]),
      .has_parent = types[1] != SQLITE_NULL,
      .has_key = types[2] != SQLITE_NULL,
      .has_sum = types[3] != SQLITE_NULL,
  };
}

static int by_id(const void *left, const void *right) {
  int64_t a = ((const struct node *)left)->id, b = ((const struct node *)right)->id;
  return (a > b) - (a < b);
}

static int by_key(const void *left, const void *right) {
  int64_t a = ((const struct key *)left)->key, b = ((const struct key *)right)->key;
  return (a > b) - (a < b);
}

/* Sorts the nodes and links them; the first root. Roots are siblings of each other. */
static uint32_t link_nodes(struct tree *tree) {
  uint32_t root = NO_NODE;
  qsort(tree->nodes, tree->count, sizeof *tree->nodes, by_id);
  for (uint32_t i = 0; i < tree->count; i++) tree->nodes[i].first_child = NO_NODE;
  for (uint32_t i = tree->count; i-- > 0;) { /* from the last, so that siblings come in the order of ids */
    struct node *node = &tree->nodes[i], wanted = {.id = node->parent}, *parent = NULL;
    if (node->has_parent) parent = bsearch(&wanted, tree->nodes, tree->count, sizeof wanted, by_id);
    uint32_t *first = parent ? &parent->first_child : &root;
    node->up = parent ? (uint32_t)(parent - tree->nodes) : NO_NODE;
    node->next_sibling = *first;
    *first = i;
  }
  return root;
}

/* The different keys, sorted; each node learns its place among them. NULL: no memory. */
static struct key *find_keys(struct tree *tree, uint32_t *key_count) {
  struct key *keys = sqlite3_malloc64(((uint64_t)tree->count + 1) * sizeof *keys);
  uint32_t count = 0, kept = 0;
  if (!keys) return NULL;
  for (uint32_t i = 0; i < tree->count; i++) {
    if (tree->nodes[i].has_key) keys[count++] = (struct key){.key = tree->nodes[i].key};
  }
  qsort(keys, count, sizeof *keys, by_key);
  for (uint32_t i = 0; i < count; i++) {
    if (i == 0 || keys[i].key != keys[i - 1].key) keys[kept++] = keys[i];
  }
  for (uint32_t i = 0; i < tree->count; i++) {
    struct node *node = &tree->nodes[i];
    struct key wanted = {.key = node->key};
    if (node->has_key) {
      const struct key *found = bsearch(&wanted, keys, kept, sizeof wanted, by_key);
      node->key_place = (uint32_t)(found - keys);
    }
  }
  *key_count = kept;
  return keys;
}

/* Leaves a node: what it sums up goes to its parent, and to its key where no node above has the same. */
static void leave(struct tree *tree, const struct node *node, struct key *keys) {
  struct node *parent = node->up == NO_NODE ? NULL : &tree->nodes[node->up];
  struct key *key = node->has_key ? &keys[node->key_place] : NULL;
  if (key && --key->on_path == 0 && node->has_sum) {
    key->sum += node->sum;
    key->has_sum = true;
  }
  if (parent && node->has_sum) {
    parent->sum += node->sum;
    parent->has_sum = true;
  }
}

static void walk(struct tree *tree, uint32_t root, struct key *keys) {
  for (uint32_t at = root; at != NO_NODE;) {
    const struct node *node = &tree->nodes[at];
    if (node->has_key) keys[node->key_place].on_path++;
    if (node->first_child != NO_NODE) {
      at = node->first_child;
      continue;
    }
    for (;;) {
      leave(tree, node, keys);
      at = node->next_sibling;
      if (at != NO_NODE || node->up == NO_NODE) break;
      node = &tree->nodes[node->up];
    }
  }
}

static void write_sums(sqlite3_context *context, const struct key *keys, uint32_t count) {
  sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
  const char *before = "{";
  for (uint32_t i = 0; i < count; i++) {
    if (!keys[i].has_sum) continue;
    if (isnan(keys[i].sum)) sqlite3_str_appendf(text, "%s\"%lld\":null", before, (sqlite3_int64)keys[i].key);
    else if (isinf(keys[i].sum)) /* what JSON has no word for is read back from a number that is too large */
      sqlite3_str_appendf(text, "%s\"%lld\":%s9e999", before, (sqlite3_int64)keys[i].key, keys[i].sum < 0 ? "-" : "");
    else sqlite3_str_appendf(text, "%s\"%lld\":%!.17g", before, (sqlite3_int64)keys[i].key, keys[i].sum);
    before = ",";
  }
  sqlite3_str_appendall(text, *before == '{' ? "{}" : "}");
  int length = sqlite3_str_length(text);
  char *result = sqlite3_str_finish(text);
  if (result) sqlite3_result_text(context, result, length, sqlite3_free);
  else sqlite3_result_error_nomem(context);
}

static void path_final(sqlite3_context *context) {
  struct tree *tree = sqlite3_aggregate_context(context, 0);
  uint32_t key_count = 0;
  if (!tree || !tree->count) return;
  struct key *keys = find_keys(tree, &key_count);
  if (keys) {
    walk(tree, link_nodes(tree), keys);
    write_sums(context, keys, key_count);
  } else {
    sqlite3_result_error_nomem(context);
  }
  sqlite3_free(keys);
  sqlite3_free(tree->nodes);
  memset(tree, 0, sizeof *tree);
}

const struct function_spec tree_functions[] = {
    {.name = "path_sums",
     .argument_count = 4,
     .step = path_step,
     .final = path_final,
     .text = {"id, parent, key, value",
              "Sums over trees, as a JSON object: for each key the values of the nodes that have it on their path "
              "from the root.",
              "A row is a node. id, parent and key are integers, value is a number. A node is a root where its "
              "parent is NULL or no row. A value counts once for a key, however often that is on the path. A NULL "
              "key is none, a NULL value no value. Keys for which no node has a value are left out. Nodes on a "
              "circle, and what hangs on them, count for nothing. NULL without rows. A text is an error.",
              "SELECT path_sums(id, parent_id, length(name), dur_ns) FROM ops"}},
    {0},
};
