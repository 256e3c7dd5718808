/* shapes.c: see shapes.h.
**
** TensorFlow writes _output_shapes only when it is asked to, and infers shapes when it reads a graph.  Here only those
** are inferred that come for nothing: of constants, placeholders and variables, whose attributes have them; of ops that
** take theirs from a constant (transposed convolutions and gradients of convolutions, Fill, Reshape); and of ops whose
** result is as large as what they take.  Windows of convolutions and what a program computes of shapes are left.  Flops
** are counted by them; the columns of shapes, and the classic views, have what the graph says.
*/
#include "classic/read/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/rows/text_buffer.h"

enum { MOST_SIDES = 8, MOST_PASSES = 32 };

struct sides {
  unsigned rank;
  int64_t sizes[MOST_SIDES]; /* -1: unknown */
};

enum rule {
  NO_RULE,
  OF_ITSELF,   /* by an attribute of its own */
  OF_VARIABLE, /* as the variable whose handle it takes */
  AS_FIRST,    /* as input 0 */
  BROADCAST,   /* of inputs 0 and 1 */
  BY_FIRST,    /* input 0 is a constant that has it */
  BY_SECOND,   /* input 1 is */
  MULTIPLIED,  /* of matrices 0 and 1 */
  RESHAPED,    /* input 1 is, and one of its sizes may be -1: what is left of input 0 */
};

static const struct {
  const char *op;
  enum rule rule;
} rules[] = {{"Const", OF_ITSELF}, {"Placeholder", OF_ITSELF}, {"Variable", OF_ITSELF}, {"VariableV2", OF_ITSELF},
             {"ReadVariableOp", OF_VARIABLE},
             {"Conv2DBackpropInput", BY_FIRST}, {"Conv3DBackpropInputV2", BY_FIRST},
             {"DepthwiseConv2dNativeBackpropInput", BY_FIRST}, {"Conv2DBackpropFilter", BY_SECOND},
             {"Conv3DBackpropFilterV2", BY_SECOND}, {"DepthwiseConv2dNativeBackpropFilter", BY_SECOND},
             {"Fill", BY_FIRST}, {"BroadcastTo", BY_SECOND}, {"RandomUniform", BY_FIRST},
             {"RandomStandardNormal", BY_FIRST}, {"TruncatedNormal", BY_FIRST}, {"Reshape", RESHAPED},
             {"Identity", AS_FIRST}, {"StopGradient", AS_FIRST}, {"PreventGradient", AS_FIRST}, {"Snapshot", AS_FIRST},
             {"CheckNumerics", AS_FIRST}, {"Cast", AS_FIRST}, {"BiasAdd", AS_FIRST}, {"Relu", AS_FIRST},
             {"Relu6", AS_FIRST}, {"LeakyRelu", AS_FIRST}, {"Elu", AS_FIRST}, {"Selu", AS_FIRST}, {"Tanh", AS_FIRST},
             {"Sigmoid", AS_FIRST}, {"Softmax", AS_FIRST}, {"LogSoftmax", AS_FIRST}, {"Softplus", AS_FIRST},
             {"Neg", AS_FIRST}, {"Abs", AS_FIRST}, {"Square", AS_FIRST}, {"Sqrt", AS_FIRST}, {"Rsqrt", AS_FIRST},
             {"Exp", AS_FIRST}, {"Log", AS_FIRST}, {"ZerosLike", AS_FIRST}, {"OnesLike", AS_FIRST},
             {"MatMul", MULTIPLIED}, {"Add", BROADCAST}, {"AddV2", BROADCAST}, {"Sub", BROADCAST}, {"Mul", BROADCAST},
             {"RealDiv", BROADCAST},
             {"Maximum", BROADCAST}, {"Minimum", BROADCAST}, {"SquaredDifference", BROADCAST}};

/* ---- shapes as texts ---- */

/* The first shape of "[[5,-1],null]". False: it is not known, or has too many sides. */
static bool read_sides(const struct tf_model *model, string_id shapes, struct sides *sides) {
  const char *at = shapes ? pool_text(model->pool, shapes) : NULL;
  sides->rank = 0;
  if (!at || strncmp(at, "[[", 2) != 0) return false;
  for (at += 2; *at != ']';) {
    char *end;
    int64_t size = strtoll(at, &end, 10);
    if (end == at || sides->rank == MOST_SIDES) return false;
    sides->sizes[sides->rank++] = size;
    at = *end == ',' ? end + 1 : end;
  }
  return true;
}

static string_id shapes_of(const struct tf_model *model, uint32_t node) {
  if (node == UINT32_MAX) return 0;
  const struct tf_node *item = &model->nodes.items[node];
  return item->output_shapes ? item->output_shapes : item->inferred_shapes;
}

static bool write_sides(struct tf_model *model, const struct sides *sides, string_id *shapes) {
  char text[MOST_SIDES * 24 + 8];
  size_t length = (size_t)snprintf(text, sizeof text, "[[");
  for (unsigned i = 0; i < sides->rank; i++)
    length += (size_t)snprintf(text + length, sizeof text - length, i ? ",%lld" : "%lld", (long long)sides->sizes[i]);
  length += (size_t)snprintf(text + length, sizeof text - length, "]]");
  return tf_intern(model, text, length, shapes);
}

/* ---- rules ---- */

struct inferred {
  uint32_t node, sources[2]; /* UINT32_MAX: none */
  enum rule rule;
};

static bool is_side(int64_t size) { return size >= 0; }

/* The values of a constant as a shape; a size of -1 where they may have one. */
static bool sides_of_constant(const struct tf_model *model, uint32_t node, bool may_miss, struct sides *sides) {
  uint32_t number = node == UINT32_MAX ? 0 : model->nodes.items[node].constant;
  if (!number || model->constants.items[number - 1].is_scalar) return false;
  const struct tf_constant *constant = &model->constants.items[number - 1];
  sides->rank = constant->count;
  for (unsigned i = 0; i < constant->count; i++) {
    sides->sizes[i] = constant->values[i];
    if (!is_side(constant->values[i]) && !(may_miss && constant->values[i] == -1)) return false;
  }
  return true;
}

/* The product of all sides but those that are -1; negative: too large, or one is not known and must be. */
static int64_t product_of(const struct sides *sides, bool may_miss) {
  int64_t product = 1;
  for (unsigned i = 0; i < sides->rank; i++) {
    if (!is_side(sides->sizes[i]) && may_miss) continue;
    if (!is_side(sides->sizes[i]) || __builtin_mul_overflow(product, sides->sizes[i], &product)) return -1;
  }
  return product;
}

static void reshape(const struct sides *input, bool is_known, struct sides *sides) {
  unsigned missing = 0, at = 0;
  for (unsigned i = 0; i < sides->rank; i++) {
    if (is_side(sides->sizes[i])) continue;
    missing++;
    at = i;
  }
  int64_t whole = is_known ? product_of(input, false) : -1, rest = product_of(sides, true);
  if (missing == 1 && whole >= 0 && rest > 0 && whole % rest == 0) sides->sizes[at] = whole / rest;
}

/* False: one of the two does not fit the other. */
static bool broadcast(const struct sides *a, const struct sides *b, struct sides *sides) {
  sides->rank = a->rank > b->rank ? a->rank : b->rank;
  for (unsigned i = 0; i < sides->rank; i++) { /* from the last side */
    int64_t x = i < a->rank ? a->sizes[a->rank - 1 - i] : 1, y = i < b->rank ? b->sizes[b->rank - 1 - i] : 1;
    if (x != y && x != 1 && y != 1 && is_side(x) && is_side(y)) return false;
    int64_t *size = &sides->sizes[sides->rank - 1 - i];
    if (x == y || y == 1) *size = x;
    else if (x == 1) *size = y;
    else *size = is_side(x) ? x : y; /* the other one is not known: 1, or as large */
  }
  return true;
}

static bool is_set(const struct tf_model *model, const struct tf_node *node, const char *attribute) {
  const char *text = node->attributes ? pool_text(model->pool, node->attributes) : NULL;
  return text && strstr(text, attribute);
}

static bool multiply(const struct tf_model *model, const struct tf_node *node, const struct sides *a,
                     const struct sides *b, struct sides *sides) {
  sides->rank = 2;
  if (a->rank != 2 || b->rank != 2) return false;
  sides->sizes[0] = a->sizes[is_set(model, node, "\"transpose_a\":true")];
  sides->sizes[1] = b->sizes[!is_set(model, node, "\"transpose_b\":true")];
  return true;
}

/* Sets the shapes of one node if they are known by now; is_last: no more will be. */
static bool infer(struct tf_model *model, const struct inferred *item, bool is_last, bool *is_done) {
  struct tf_node *node = &model->nodes.items[item->node];
  const uint32_t first = item->sources[0], second = item->sources[1];
  string_id of_first = shapes_of(model, first), of_second = shapes_of(model, second);
  struct sides a, b, sides;
  bool is_known = false;
  *is_done = true;
  switch (item->rule) {
    case OF_ITSELF: node->inferred_shapes = node->own_shape; return true;
    case OF_VARIABLE:
      if (first != UINT32_MAX) node->inferred_shapes = model->nodes.items[first].own_shape;
      return true;
    case AS_FIRST: is_known = read_sides(model, of_first, &sides); break;
    case BROADCAST:
      is_known = read_sides(model, of_first, &a) && read_sides(model, of_second, &b) && broadcast(&a, &b, &sides);
      break;
    case MULTIPLIED:
      is_known = read_sides(model, of_first, &a) && read_sides(model, of_second, &b) &&
                 multiply(model, node, &a, &b, &sides);
      break;
    case BY_FIRST: is_known = sides_of_constant(model, first, false, &sides); break;
    case BY_SECOND: is_known = sides_of_constant(model, second, false, &sides); break;
    case RESHAPED:
      if (!(is_known = sides_of_constant(model, second, true, &sides))) break;
      reshape(&a, read_sides(model, of_first, &a), &sides);
      if (product_of(&sides, false) < 0 && !of_first) is_known = is_last; /* its input may come to be known */
      break;
    case NO_RULE: break;
  }
  *is_done = is_known;
  return !is_known || write_sides(model, &sides, &node->inferred_shapes);
}

/* ---- all nodes ---- */

static enum rule find_rule(const struct tf_model *model, string_id op, uint8_t *known) {
  if (known[op]) return (enum rule)(known[op] - 1);
  const char *text = pool_text(model->pool, op);
  enum rule rule = NO_RULE;
  for (size_t i = 0; text && i < sizeof rules / sizeof rules[0]; i++)
    if (strcmp(rules[i].op, text) == 0) rule = rules[i].rule;
  known[op] = (uint8_t)(1 + rule);
  return rule;
}

bool tf_infer_shapes(struct tf_model *model) {
  size_t count = model->nodes.count, found = 0;
  if (!model->has_graph || !count || (model->edges.count && model->edges.items[0].is_by_file_id)) return true;
  uint8_t *known = calloc((size_t)pool_count(model->pool) + 1, 1);
  uint32_t *item_of = calloc(count, sizeof *item_of); /* + 1; 0: its shapes are told, or nothing tells them */
  bool ok = known && item_of;
  for (size_t i = 0; ok && i < count; i++) {
    const struct tf_node *node = &model->nodes.items[i];
    if (node->output_shapes || node->is_scope || !node->op || find_rule(model, node->op, known) == NO_RULE) continue;
    item_of[i] = (uint32_t)++found;
  }
  struct inferred *items = ok ? malloc((found + 1) * sizeof *items) : NULL;
  ok = ok && items;
  for (size_t i = 0; ok && i < count; i++) {
    if (!item_of[i]) continue;
    items[item_of[i] - 1] = (struct inferred){
        (uint32_t)i, {UINT32_MAX, UINT32_MAX}, find_rule(model, model->nodes.items[i].op, known)};
  }
  for (size_t i = 0; ok && i < model->edges.count; i++) {
    const struct tf_edge *edge = &model->edges.items[i];
    if (!item_of[edge->node] || edge->is_control || edge->source_output || edge->position < 0 || edge->position > 1)
      continue;
    items[item_of[edge->node] - 1].sources[edge->position] = tf_find_node(model, (string_id)edge->source);
  }
  if (!ok) tf_no_memory(model);
  /* Mostly nodes come behind what they take: one pass, and one that finds nothing more. */
  bool is_last = false;
  for (unsigned pass = 0; ok && found && pass < MOST_PASSES; pass++) {
    size_t kept = 0;
    for (size_t i = 0; ok && i < found; i++) {
      bool is_done = false;
      ok = infer(model, &items[i], is_last, &is_done);
      if (!is_done) items[kept++] = items[i];
    }
    if (kept == found && is_last) break;
    is_last = kept == found;
    found = kept;
  }
  free(known);
  free(item_of);
  free(items);
  return ok;
}
