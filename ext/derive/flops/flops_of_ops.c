/* flops_of_ops.c: ops.flops: what flops.def counts for each op, each operation once.
**
** An op of PyTorch is made of others: aten::conv2d calls aten::convolution, which calls aten::_convolution, and so on.
** Counted is the outermost that has a formula of its own and all that the formula needs, as torch.utils.flop_counter
** does; what lies inside it stays NULL.  An op that is only a way of writing others (FLOPS_COMPOSITE: aten::linear,
** aten::matmul) counts where none of them was recorded.  That tool sees ops where the dispatcher meets them and counts
** those that it has a formula for; of all others it sees neither what they take nor what they call (FLOPS_APART: the
** attention of CPUs, recurrent layers, aten::mv, and ops of other libraries).  So it is here: the sum over a step is
** what that tool says, and what the peak rates of devices are compared with.  The function flops() knows the others,
** too.  An op that ended with an error is not counted, nor what it called, but for ways of writing others.
**
** Where a source tells no shapes of ops, but nodes that they run, as sessions of TensorFlow do, an op has those of one
** run of its node (nodes.flops, flops_of_nodes.c).
**
** Most ops are of types that are not counted, which is found out once a type. Of the others many share few shapes: each
** combination of type, shapes and values is counted once.
*/
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "derive/links/ancestors.h"
#include "derive/flops/flops.h"
#include "derive/passes.h"
#include "derive/rows.h"
#include "store/scratch.h"

struct combination {
  string_id type, inputs, outputs, values;
  int64_t flops; /* NO_VALUE: not known */
  uint8_t kind;  /* enum flops_kind */
  bool is_too_large;
};

struct counting {
  struct profile *profile;
  struct flops_call *call;
  struct combination *combinations;
  uint32_t combination_count, combination_capacity;
  struct hash_index index; /* of combinations */
  uint8_t *type_kinds;   /* by text: enum type_kind */
  string_id op_category; /* the text "op" */
  uint32_t rows;
  int64_t *flops;        /* by row; NULL until an op is counted, and so are the other two */
  uint8_t *kinds;        /* by row; where flops is known */
  uint32_t *around;      /* by row: the nearest counted op, itself or one around it */
};

enum type_kind { NOT_ASKED, NOT_COUNTED, COUNTED, APART, FOREIGN };

static uint64_t hash_of(const struct combination *wanted) {
  uint64_t hash = (uint64_t)wanted->type << 32 | wanted->inputs;
  hash = (hash ^ hash >> 29) * HASH_FACTOR_1;
  hash ^= (uint64_t)wanted->values << 32 | wanted->outputs;
  hash *= HASH_FACTOR_2;
  return hash ^ hash >> 31;
}

struct search {
  const struct combination *combinations, *wanted;
};

static inline bool is_it(const void *context, uint32_t number) {
  const struct search *search = context;
  const struct combination *one = &search->combinations[number], *wanted = search->wanted;
  return one->type == wanted->type && one->inputs == wanted->inputs && one->outputs == wanted->outputs &&
         one->values == wanted->values;
}

static bool grow_index(struct counting *c) {
  uint64_t places = c->index.places ? (c->index.mask + 1) * 2 : 1024;
  uint32_t *larger = scratch_allocate_zeroed(places, sizeof *larger);
  if (!larger) return false;
  scratch_free(c->index.places);
  c->index = (struct hash_index){larger, places - 1};
  for (uint32_t i = 0; i < c->combination_count; i++) hash_index_put(&c->index, hash_of(&c->combinations[i]), i);
  return true;
}

static struct flops_text flops_text_of_id(const struct counting *c, string_id id) {
  const struct pool *pool = store_pool(c->profile->store);
  return (struct flops_text){pool_text(pool, id), id ? pool_length(pool, id) : 0};
}

static void count(const struct counting *c, struct combination *entry) {
  struct flops_text type = flops_text_of_id(c, entry->type);
  const struct flops_formula *formula = type.bytes ? flops_find(type.bytes, type.length) : NULL;
  entry->flops = NO_VALUE;
  if (!formula) return;
  int64_t flops;
  enum flops_status status =
      flops_count(c->call, type, flops_text_of_id(c, entry->inputs), flops_text_of_id(c, entry->outputs),
                  flops_text_of_id(c, entry->values), &flops);
  entry->kind = (uint8_t)formula->kind;
  entry->is_too_large = status == FLOPS_OVERFLOW;
  if (status == FLOPS_KNOWN) entry->flops = flops;
}

/* That combination, which is counted when it is new. NULL: no memory. */
static const struct combination *find_combination(struct counting *c, const struct combination *wanted) {
  if (hash_index_is_full(&c->index, c->combination_count) && !grow_index(c)) return NULL;
  const struct search search = {c->combinations, wanted};
  uint32_t *place = hash_index_place(&c->index, hash_of(wanted), is_it, &search);
  if (*place) return &c->combinations[*place - 1];
  struct combination *combinations =
      scratch_grow(c->combinations, c->combination_count, &c->combination_capacity, 256, sizeof *combinations);
  if (!combinations) return NULL;
  c->combinations = combinations;
  struct combination *entry = &combinations[c->combination_count++];
  *entry = *wanted;
  count(c, entry);
  *place = c->combination_count;
  return entry;
}

/* library::op, not PyTorch's own; autograd's names of nodes have colons, too. */
static bool is_foreign(struct flops_text type) {
  static const char *const own[] = {"aten::", "autograd::", "torch::autograd::"};
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
    if (strncmp(type.bytes, own[i], strlen(own[i])) == 0) return false;
  return strstr(type.bytes, "::") != NULL;
}

static __attribute__((noinline)) enum type_kind ask_kind(const struct counting *c, string_id type) {
  struct flops_text text = flops_text_of_id(c, type);
  const struct flops_formula *formula = text.bytes ? flops_find(text.bytes, text.length) : NULL;
  if (!formula) return text.bytes && is_foreign(text) ? FOREIGN : NOT_COUNTED;
  if (formula->kind == FLOPS_ELEMENTWISE) return NOT_COUNTED;
  return formula->kind == FLOPS_APART ? APART : COUNTED;
}

static inline enum type_kind kind_of_type(const struct counting *c, string_id type) {
  if (c->type_kinds[type] == NOT_ASKED) c->type_kinds[type] = (uint8_t)ask_kind(c, type);
  return (enum type_kind)c->type_kinds[type];
}

/* With the first op that is counted. */
static bool make_arrays(struct counting *c) {
  if (c->flops) return true;
  c->call = flops_call_create();
  c->kinds = scratch_allocate_zeroed(c->rows, 1);
  c->around = scratch_allocate((size_t)c->rows * sizeof *c->around);
  c->flops = scratch_allocate((size_t)c->rows * sizeof *c->flops);
  if (!c->call || !c->kinds || !c->around || !c->flops) return false;
  for (uint32_t row = 0; row < c->rows; row++) c->flops[row] = NO_VALUE;
  return true;
}

static const char *const too_large_texts[] = {
    "warning", "flops_too_large", "ops.flops is NULL where the shapes of the inputs make it more than 2^63 - 1", NULL};

static enum tfprof_status count_segment(struct counting *c, struct segment *segment, struct tfprof_error *error) {
  int64_t too_large = 0;
  for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
    uint32_t rows = derive_block_rows(segment, first);
    string_id types[ROWS_BLOCK], inputs[ROWS_BLOCK], outputs[ROWS_BLOCK], values[ROWS_BLOCK], categories[ROWS_BLOCK],
        errors[ROWS_BLOCK];
    enum tfprof_status status = derive_poll(c->profile, error);
    if (status) return status;
    derive_texts(segment->columns[COLUMN_ops_op_type], first, rows, types);
    bool any = false, any_foreign = false;
    for (uint32_t i = 0; i < rows; i++) {
      enum type_kind kind = kind_of_type(c, types[i]);
      any |= kind != NOT_COUNTED;
      any_foreign |= kind == FOREIGN;
    }
    if (!any) continue;
    if (!make_arrays(c)) return error_no_memory(error);
    if (any_foreign) derive_texts(segment->columns[COLUMN_ops_category], first, rows, categories);
    derive_texts(segment->columns[COLUMN_ops_input_shapes], first, rows, inputs);
    derive_texts(segment->columns[COLUMN_ops_output_shapes], first, rows, outputs);
    derive_texts(segment->columns[COLUMN_ops_input_values], first, rows, values);
    derive_texts(segment->columns[COLUMN_ops_error], first, rows, errors);
    for (uint32_t i = 0; i < rows; i++) {
      uint64_t row = segment->first_row + first + i;
      enum type_kind kind = kind_of_type(c, types[i]);
      if (kind == APART || (kind == FOREIGN && categories[i] == c->op_category)) {
        c->flops[row] = 0;
        c->kinds[row] = FLOPS_APART;
      }
      if (!inputs[i] || kind != COUNTED) continue;
      struct combination wanted = {.type = types[i], .inputs = inputs[i], .outputs = outputs[i], .values = values[i]};
      const struct combination *entry = find_combination(c, &wanted);
      if (!entry) return error_no_memory(error);
      if (errors[i]) {
        c->flops[row] = entry->kind == FLOPS_COMPOSITE ? NO_VALUE : 0;
        c->kinds[row] = FLOPS_APART;
        continue;
      }
      c->flops[row] = entry->flops;
      c->kinds[row] = entry->kind;
      too_large += entry->is_too_large;
    }
  }
  if (too_large) {
    segment_diagnose(segment, COLUMN_ops_flops, too_large_texts[0], too_large_texts[1], too_large, -1, "%s",
                     too_large_texts[2]);
    column_set_add(&segment->is_told, COLUMN_ops_flops);
  }
  return TFPROF_OK;
}

/* Leaves each operation counted once. */
static void count_once(struct counting *c, const uint32_t *parents, uint32_t rows) {
  /* What has a product inside: marked upwards until something is marked already. */
  for (uint32_t row = 0; row < rows; row++) c->around[row] = NO_ROW;
  for (uint32_t row = 0; row < rows; row++) {
    if (c->flops[row] == NO_VALUE || c->kinds[row] == FLOPS_COMPOSITE) continue;
    for (uint32_t up = parents[row]; up != NO_ROW && c->around[up] == NO_ROW; up = parents[up]) c->around[up] = 0;
  }
  for (uint32_t row = 0; row < rows; row++) {
    if (c->kinds[row] == FLOPS_COMPOSITE && c->around[row] != NO_ROW) c->flops[row] = NO_VALUE;
  }
  for (uint32_t row = 0; row < rows; row++) c->around[row] = c->flops[row] == NO_VALUE ? NO_ROW : row;
  derive_inherit(parents, c->around, rows);
  for (uint32_t row = 0; row < rows; row++) {
    bool is_inside = parents[row] != NO_ROW && c->around[parents[row]] != NO_ROW;
    if (is_inside || c->kinds[row] == FLOPS_APART) c->flops[row] = NO_VALUE;
  }
}

static enum tfprof_status take_from_nodes(struct profile *profile, uint32_t rows, struct tfprof_error *error) {
  if (!derive_has_value(profile, TABLE_nodes, COLUMN_nodes_flops)) return TFPROF_OK;
  int64_t *of_nodes = NULL, *flops = scratch_allocate((size_t)rows * sizeof *flops);
  uint32_t *nodes = NULL;
  enum tfprof_status status = flops ? TFPROF_OK : error_no_memory(error);
  if (!status) status = derive_all_integers(profile, TABLE_nodes, COLUMN_nodes_flops, &of_nodes, error);
  if (!status) status = derive_all_references(profile, TABLE_ops, COLUMN_ops_node_id, &nodes, error);
  for (uint32_t row = 0; row < rows && !status; row++)
    flops[row] = nodes[row] == NO_ROW ? NO_VALUE : of_nodes[nodes[row]];
  if (!status) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_flops, flops, error);
  scratch_free(of_nodes);
  scratch_free(flops);
  scratch_free(nodes);
  return status;
}

static enum tfprof_status run_flops_of_ops(struct profile *profile, struct tfprof_error *error) {
  struct counting c = {.profile = profile};
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  uint32_t rows, *parents = NULL;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status || !rows) return status;
  bool has_shapes = false;
  for (size_t s = 0; s < ops->segment_count; s++)
    has_shapes |= ops->segments[s]->columns[COLUMN_ops_input_shapes]->form != COLUMN_ABSENT;
  if (!has_shapes) return take_from_nodes(profile, rows, error);
  c.rows = rows;
  c.op_category = derive_known_text(profile, "op");
  c.type_kinds = scratch_allocate_zeroed((size_t)pool_count(store_pool(profile->store)) + 1, sizeof *c.type_kinds);
  if (!c.type_kinds) status = error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) status = count_segment(&c, ops->segments[s], error);
  if (!status && c.flops) status = derive_all_op_parents(profile, &parents, error);
  if (!status && c.flops) count_once(&c, parents, rows);
  if (!status && c.flops) status = derive_set_integers(profile, TABLE_ops, COLUMN_ops_flops, c.flops, error);
  flops_call_free(c.call);
  scratch_free(c.combinations);
  scratch_free(c.index.places);
  scratch_free(c.type_kinds);
  scratch_free(c.flops);
  scratch_free(c.kinds);
  scratch_free(c.around);
  scratch_free(parents);
  return status;
}

const struct derive_pass derive_flops_of_ops = {
    .name = "flops",
    .summary = "Formulas of flops.def on the shapes of inputs; of ops inside one another the outermost counts. Where "
               "no op has shapes, those of the node that it runs.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_op_type},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_input_shapes},
              {TABLE_ops, COLUMN_ops_output_shapes},
              {TABLE_ops, COLUMN_ops_input_values},
              {TABLE_ops, COLUMN_ops_error},
              {TABLE_ops, COLUMN_ops_parent_id},
              {TABLE_ops, COLUMN_ops_node_id},
              {TABLE_nodes, COLUMN_nodes_flops}},
    .writes = {{TABLE_ops, COLUMN_ops_flops}},
    .run = run_flops_of_ops,
    .has_diagnostics = true,
    .texts = too_large_texts,
};
