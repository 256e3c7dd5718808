/* model.c: one profile's graph, types, costs and call stacks as plain arrays, nodes in the order of their names. */
#include <stdlib.h>
#include <string.h>

#include "classic/views/costs.h"
#include "classic/views/model.h"

struct loading {
  struct classic_model *model;
  struct profile *profile;
  struct tfprof_error *error;
  bool is_compat;
  string_id run; /* the text of nodes.flops_origin */
  uint32_t *rank; /* of a row of nodes: its place by name */
  uint64_t node_rows;
};

/* A row of a table, segment by segment. */
struct scan {
  const struct profile_table *table;
  size_t segment;
  uint32_t row;
};

static const struct segment *scan_next(struct scan *scan, uint32_t *row, uint64_t *number) {
  while (scan->segment < scan->table->segment_count) {
    const struct segment *segment = scan->table->segments[scan->segment];
    if (scan->row < segment->rows) {
      *row = scan->row++;
      *number = segment->first_row + *row;
      return segment;
    }
    scan->segment++;
    scan->row = 0;
  }
  return NULL;
}

static int64_t integer(const struct segment *segment, unsigned column, uint32_t row, int64_t otherwise) {
  const struct column *c = segment->columns[column];
  return !c || column_is_null(c, row) ? otherwise : column_integer(c, row);
}

/* Tables with a row for each node or more are read a column of a block at a time. */
enum { BLOCK = 1024 };
struct block {
  const struct segment *segment;
  uint32_t first, count;
  int64_t values[BLOCK]; /* of the column that was read last */
};

/* The next block of a table; at first all of *block is 0. */
static bool next_block(const struct profile_table *table, size_t *segment, struct block *block) {
  block->first += block->count;
  if (block->segment && block->first == block->segment->rows) {
    block->segment = NULL;
    block->first = 0;
    ++*segment;
  }
  for (; *segment < table->segment_count && table->segments[*segment]->rows == 0; ++*segment) continue;
  if (*segment == table->segment_count) return false;
  block->segment = table->segments[*segment];
  uint32_t left = block->segment->rows - block->first;
  block->count = left < BLOCK ? left : BLOCK;
  return true;
}

static void read_model_block(struct block *block, unsigned column, int64_t otherwise) {
  const struct column *c = block->segment->columns[column];
  uint64_t nulls[BLOCK / 64];
  bool has_nulls = c && column_read(c, block->first, block->count, block->values, nulls);
  for (uint32_t i = 0; !c && i < block->count; i++) block->values[i] = otherwise;
  for (uint32_t i = 0; has_nulls && i < block->count; i++) {
    if (nulls_have(nulls, i)) block->values[i] = otherwise;
  }
}

static enum tfprof_status require(struct loading *loading, unsigned table, const uint16_t *columns, size_t count) {
  struct column_set set = {{0, 0}};
  for (size_t i = 0; i < count; i++) column_set_add(&set, columns[i]);
  return profile_require(loading->profile, table, &set, loading->error);
}
#define REQUIRE(loading, table, ...) \
  require(loading, table, (const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

/* ---- nodes ---- */

/* "3x3x16" -> 144; -1: unknown. */
static int64_t shape_elements(const char *shape) {
  int64_t product = 1;
  while (*shape) {
    char *end;
    long long size = strtoll(shape, &end, 10);
    if (end == shape || size < 0 || __builtin_mul_overflow(product, (int64_t)size, &product)) return -1;
    shape = *end == 'x' ? end + 1 : end;
    if (*end && *end != 'x') return -1;
  }
  return product;
}

static int compare_model_names(const void *left, const void *right, void *context) {
  const struct pool *pool = context;
  const struct classic_node *a = left, *b = right;
  if (a->name != b->name) {
    const char *x = pool_text(pool, a->name), *y = pool_text(pool, b->name);
    uint32_t m = x ? pool_length(pool, a->name) : 0, n = y ? pool_length(pool, b->name) : 0;
    int order = m && n ? memcmp(x, y, m < n ? m : n) : 0;
    if (order) return order;
    if (m != n) return m < n ? -1 : 1;
  }
  return a->row < b->row ? -1 : a->row > b->row;
}

static void fill_nodes(const struct loading *loading, struct classic_node *nodes, struct block *block) {
  const struct pool *pool = loading->model->pool;
#define FILL(member, type, column, otherwise)          \
  read_model_block(block, COLUMN_nodes_##column, otherwise); \
  for (uint32_t i = 0; i < block->count; i++) nodes[i].member = (type)block->values[i];
  FILL(name, string_id, name, 0)
  FILL(op, string_id, op_type, 0)
  FILL(device, string_id, canonical_device, 0)
  FILL(shape, string_id, shape, 0)
  FILL(output_shapes, string_id, output_shapes, 0)
  FILL(is_scope, bool, is_scope, 0)
  FILL(trace, uint32_t, code_trace_id, UINT32_MAX)
  FILL(parent, uint32_t, parent_id, UINT32_MAX)
  FILL(parameters, int64_t, param_count, 0)
#undef FILL
  read_model_block(block, loading->is_compat ? COLUMN_nodes_told_flops : COLUMN_nodes_flops, 0);
  for (uint32_t i = 0; i < block->count; i++) nodes[i].flops = block->values[i];
  read_model_block(block, COLUMN_nodes_flops_origin, 0);
  for (uint32_t i = 0; i < block->count; i++)
    nodes[i].has_flops_of_steps = !loading->is_compat && loading->run && block->values[i] == (int64_t)loading->run;
  read_model_block(block, COLUMN_nodes_is_runtime, 0);
  for (uint32_t i = 0; i < block->count; i++) nodes[i].is_runtime = block->values[i] != 0;
  read_model_block(block, COLUMN_nodes_function, 0);
  for (uint32_t i = 0; i < block->count; i++) nodes[i].is_of_function = block->values[i] != 0;
  for (uint32_t i = 0; i < block->count; i++) {
    nodes[i].row = (int64_t)(block->segment->first_row + block->first + i);
    if (nodes[i].shape) nodes[i].parameters = shape_elements(pool_text(pool, nodes[i].shape));
    if (nodes[i].parameters < 0) nodes[i].parameters = 0;
  }
}

/* With -compat: the engine knows the nodes of the graph alone. */
static void drop_functions(struct classic_model *model) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < model->node_count; i++) {
    if (!model->nodes[i].is_of_function) model->nodes[count++] = model->nodes[i];
  }
  model->node_count = count;
}

static enum tfprof_status load_nodes(struct loading *loading) {
  struct classic_model *model = loading->model;
  enum tfprof_status status =
      REQUIRE(loading, TABLE_nodes, COLUMN_nodes_name, COLUMN_nodes_op_type, COLUMN_nodes_canonical_device,
              COLUMN_nodes_parent_id, COLUMN_nodes_is_scope, COLUMN_nodes_shape, COLUMN_nodes_param_count,
              COLUMN_nodes_flops, COLUMN_nodes_flops_origin, COLUMN_nodes_told_flops, COLUMN_nodes_is_runtime,
              COLUMN_nodes_function, COLUMN_nodes_code_trace_id, COLUMN_nodes_output_shapes);
  if (status) return status;
  loading->run = pool_find(loading->model->pool, "run", 3);
  const struct profile_table *table = &loading->profile->tables[TABLE_nodes];
  loading->node_rows = table->rows;
  uint64_t count = 0;
  for (size_t i = 0; i < table->segment_count; i++) count += table->segments[i]->rows;
  if (count >= INT32_MAX || table->rows >= INT32_MAX)
    return error_set(loading->error, TFPROF_LIMIT, "more than 2^31 nodes");
  model->nodes = calloc(count + 1, sizeof *model->nodes);
  loading->rank = malloc((table->rows + 1) * sizeof *loading->rank);
  if (!model->nodes || !loading->rank) return error_no_memory(loading->error);
  memset(loading->rank, 0xff, (table->rows + 1) * sizeof *loading->rank);
  struct block block = {0};
  size_t segment = 0;
  while (next_block(table, &segment, &block)) {
    fill_nodes(loading, model->nodes + model->node_count, &block);
    model->node_count += block.count;
  }
  if (loading->is_compat) drop_functions(model);
  bool is_sorted = true;
  for (uint32_t i = 1; i < model->node_count && is_sorted; i++)
    is_sorted = compare_model_names(&model->nodes[i - 1], &model->nodes[i], (void *)(uintptr_t)model->pool) < 0;
  if (!is_sorted)
    qsort_r(model->nodes, model->node_count, sizeof *model->nodes, compare_model_names, (void *)(uintptr_t)model->pool);
  for (uint32_t i = 0; i < model->node_count; i++) loading->rank[model->nodes[i].row] = i;
  for (uint32_t i = 0; i < model->node_count; i++) {
    struct classic_node *node = &model->nodes[i];
    if (node->parent != UINT32_MAX)
      node->parent = node->parent < loading->node_rows ? loading->rank[node->parent] : UINT32_MAX;
    if (node->parent == i) node->parent = UINT32_MAX;
  }
  return TFPROF_OK;
}

/* Scopes that enclose each other in a circle would be lost from the tree: the circle is cut. */
static enum tfprof_status cut_circles(struct loading *loading) {
  struct classic_model *model = loading->model;
  uint32_t *seen = calloc(model->node_count + 1, sizeof *seen);
  if (!seen) return error_no_memory(loading->error);
  for (uint32_t i = 0; i < model->node_count; i++) {
    for (uint32_t at = i; at != UINT32_MAX && !seen[at]; at = model->nodes[at].parent) {
      seen[at] = i + 1;
      uint32_t up = model->nodes[at].parent;
      if (up != UINT32_MAX && seen[up] == i + 1) model->nodes[at].parent = UINT32_MAX;
    }
  }
  free(seen);
  return TFPROF_OK;
}

/* ---- what belongs to nodes: types, inputs, costs ---- */

/* Makes room in *items for the rows of a table, grouped by node: those of node n stand from the number on that is
** written into nodes[n] at first_offset.  (*positions)[i] is where the row goes that is the i-th over all segments,
** UINT32_MAX for one without a node. */
static enum tfprof_status group_by_node(struct loading *loading, unsigned table_id, unsigned column,
                                        size_t first_offset, size_t item_size, void **items, uint32_t **positions) {
  struct classic_model *model = loading->model;
  const struct profile_table *table = &loading->profile->tables[table_id];
  uint64_t count = 0, place = 0;
  struct block block = {0};
  size_t segment = 0;
  for (size_t i = 0; i < table->segment_count; i++) count += table->segments[i]->rows;
  if (count >= INT32_MAX)
    return error_set(loading->error, TFPROF_LIMIT, "more than 2^31 rows of %s", schema_tables[table_id].name);
  uint32_t *position = *positions = malloc((count + 1) * sizeof *position);
  uint32_t *next = calloc((size_t)model->node_count + 2, sizeof *next);
  if (!position || !next) {
    free(next);
    return error_no_memory(loading->error);
  }
  while (next_block(table, &segment, &block)) {
    read_model_block(&block, column, -1);
    for (uint32_t i = 0; i < block.count; i++, place++) {
      int64_t node = block.values[i];
      position[place] = node >= 0 && (uint64_t)node < loading->node_rows ? loading->rank[node] : UINT32_MAX;
      if (position[place] != UINT32_MAX) next[position[place] + 1]++;
    }
  }
  for (uint32_t i = 0; i < model->node_count; i++) next[i + 1] += next[i];
  for (uint32_t i = 0; i <= model->node_count; i++)
    memcpy((char *)&model->nodes[i] + first_offset, &next[i], sizeof next[i]);
  *items = malloc(((size_t)next[model->node_count] + 1) * item_size);
  for (uint64_t i = 0; i < place; i++) {
    if (position[i] != UINT32_MAX) position[i] = next[position[i]]++;
  }
  free(next);
  return *items ? TFPROF_OK : error_no_memory(loading->error);
}
/* GROUP(loading, TABLE_node_types, node_id, first_type, types, &positions) */
#define GROUP(loading, table, column, first, items, positions)                                                 \
  group_by_node(loading, table, column, offsetof(struct classic_node, first), sizeof *(loading)->model->items, \
                (void **)&(loading)->model->items, positions)

static enum tfprof_status load_types(struct loading *loading) {
  struct classic_model *model = loading->model;
  const struct profile_table *table = &loading->profile->tables[TABLE_node_types];
  enum tfprof_status status = REQUIRE(loading, TABLE_node_types, COLUMN_node_types_node_id, COLUMN_node_types_type);
  uint32_t *positions = NULL;
  if (!status) status = GROUP(loading, TABLE_node_types, COLUMN_node_types_node_id, first_type, types, &positions);
  if (!status) {
    const uint32_t *position = positions;
    struct block block = {0};
    for (size_t segment = 0; next_block(table, &segment, &block); position += block.count) {
      read_model_block(&block, COLUMN_node_types_type, 0);
      for (uint32_t i = 0; i < block.count; i++) {
        if (position[i] != UINT32_MAX) model->types[position[i]] = (string_id)block.values[i];
      }
    }
  }
  free(positions);
  return status;
}

/* With -compat: to the engine the op of a node that no graph names is called as the node. */
static void forget_runtime_types(struct loading *loading) {
  struct classic_model *model = loading->model;
  for (uint32_t i = 0; i < model->node_count && loading->is_compat; i++) {
    struct classic_node *node = &model->nodes[i];
    if (!node->is_runtime) continue;
    for (uint32_t k = node->first_type; k < model->nodes[i + 1].first_type; k++) {
      const char *type = pool_text(model->pool, model->types[k]);
      if (model->types[k] == node->op || (type && strncmp(type, "_Mkl", 4) == 0)) model->types[k] = node->name;
    }
    node->op = node->name;
  }
}

static int compare_inputs(const void *left, const void *right) {
  const struct classic_input *a = left, *b = right;
  return a->position < b->position ? -1 : a->position > b->position;
}

static void fill_inputs(struct loading *loading, const uint32_t *position, struct block *block) {
  struct classic_input *inputs = loading->model->inputs;
#define FILL(member, type, column, otherwise)                                           \
  read_model_block(block, COLUMN_node_inputs_##column, otherwise);                            \
  for (uint32_t i = 0; i < block->count; i++) {                                         \
    if (position[i] != UINT32_MAX) inputs[position[i]].member = (type)block->values[i]; \
  }
  FILL(position, int32_t, position, 0)
  FILL(source_output, int32_t, source_output, 0)
  FILL(shape, string_id, shape, 0)
  FILL(is_control, bool, is_control, 0)
#undef FILL
  read_model_block(block, COLUMN_node_inputs_source_node_id, -1);
  for (uint32_t i = 0; i < block->count; i++) {
    uint64_t source = (uint64_t)block->values[i];
    if (position[i] == UINT32_MAX) continue;
    inputs[position[i]].source = source < loading->node_rows ? loading->rank[source] : UINT32_MAX;
  }
}

static enum tfprof_status load_inputs(struct loading *loading) {
  struct classic_model *model = loading->model;
  const struct profile_table *table = &loading->profile->tables[TABLE_node_inputs];
  enum tfprof_status status =
      REQUIRE(loading, TABLE_node_inputs, COLUMN_node_inputs_node_id, COLUMN_node_inputs_position,
              COLUMN_node_inputs_source_node_id, COLUMN_node_inputs_source_output, COLUMN_node_inputs_is_control,
              COLUMN_node_inputs_shape);
  uint32_t *positions = NULL;
  if (!status) status = GROUP(loading, TABLE_node_inputs, COLUMN_node_inputs_node_id, first_input, inputs, &positions);
  if (!status) {
    const uint32_t *position = positions;
    struct block block = {0};
    for (size_t segment = 0; next_block(table, &segment, &block); position += block.count)
      fill_inputs(loading, position, &block);
    for (uint32_t i = 0; i < model->node_count; i++) {
      struct classic_input *first = model->inputs + model->nodes[i].first_input;
      uint32_t count = model->nodes[i + 1].first_input - model->nodes[i].first_input;
      bool is_sorted = true;
      for (uint32_t k = 1; k < count && is_sorted; k++) is_sorted = first[k - 1].position <= first[k].position;
      if (!is_sorted) qsort(first, count, sizeof *first, compare_inputs);
    }
  }
  free(positions);
  return status;
}

/* ---- steps and traces ---- */

static enum tfprof_status load_steps(struct loading *loading) {
  struct classic_model *model = loading->model;
  const struct profile_table *table = &loading->profile->tables[TABLE_steps];
  enum tfprof_status status = REQUIRE(loading, TABLE_steps, COLUMN_steps_number);
  if (status) return status;
  uint64_t number;
  uint32_t row;
  const struct segment *segment;
  model->steps = malloc((table->rows + 1) * sizeof *model->steps);
  if (!model->steps) return error_no_memory(loading->error);
  /* By row number, which is what node_steps refers to. */
  for (uint64_t i = 0; i < table->rows; i++) model->steps[i] = -1;
  for (struct scan scan = {table, 0, 0}; (segment = scan_next(&scan, &row, &number));)
    model->steps[number] = integer(segment, COLUMN_steps_number, row, (int64_t)number);
  model->step_count = (uint32_t)table->rows;
  return TFPROF_OK;
}

static enum tfprof_status load_traces(struct loading *loading) {
  struct classic_model *model = loading->model;
  const struct profile_table *traces = &loading->profile->tables[TABLE_code_traces],
                             *frames = &loading->profile->tables[TABLE_code_frames];
  enum tfprof_status status =
      REQUIRE(loading, TABLE_code_traces, COLUMN_code_traces_parent_id, COLUMN_code_traces_leaf_frame_id);
  if (!status)
    status = REQUIRE(loading, TABLE_code_frames, COLUMN_code_frames_file, COLUMN_code_frames_line,
                     COLUMN_code_frames_function, COLUMN_code_frames_first_line, COLUMN_code_frames_text);
  if (status) return status;
  model->traces = malloc((traces->rows + 1) * sizeof *model->traces);
  model->frames = calloc(frames->rows + 1, sizeof *model->frames);
  if (!model->traces || !model->frames) return error_no_memory(loading->error);
  model->trace_count = (uint32_t)traces->rows;
  model->frame_count = (uint32_t)frames->rows;
  for (uint32_t i = 0; i < model->trace_count; i++) model->traces[i] = (struct classic_trace){UINT32_MAX, UINT32_MAX};
  uint64_t number;
  uint32_t row;
  const struct segment *segment;
  for (struct scan scan = {traces, 0, 0}; (segment = scan_next(&scan, &row, &number));) {
    int64_t parent = integer(segment, COLUMN_code_traces_parent_id, row, -1),
            frame = integer(segment, COLUMN_code_traces_leaf_frame_id, row, -1);
    /* Parents come before their children, so that every walk upwards ends. */
    model->traces[number].parent = parent >= 0 && (uint64_t)parent < number ? (uint32_t)parent : UINT32_MAX;
    model->traces[number].frame = frame >= 0 && (uint64_t)frame < frames->rows ? (uint32_t)frame : UINT32_MAX;
  }
  for (struct scan scan = {frames, 0, 0}; (segment = scan_next(&scan, &row, &number));) {
    model->frames[number] = (struct classic_frame){(string_id)integer(segment, COLUMN_code_frames_file, row, 0),
                                                   (string_id)integer(segment, COLUMN_code_frames_function, row, 0),
                                                   (string_id)integer(segment, COLUMN_code_frames_text, row, 0),
                                                   integer(segment, COLUMN_code_frames_line, row, 0),
                                                   integer(segment, COLUMN_code_frames_first_line, row, -1)};
  }
  for (uint32_t i = 0; i < model->node_count; i++) {
    if (model->nodes[i].trace >= model->trace_count) model->nodes[i].trace = UINT32_MAX;
    model->has_traces |= model->nodes[i].trace != UINT32_MAX;
  }
  return TFPROF_OK;
}

bool classic_name_without_file(const struct classic_model *model, const struct classic_frame *frame, bool is_gradient,
                               char **name) {
  *name = NULL;
  if (frame->file || !frame->function || !model->is_in_nanoseconds) return true;
  const char *function = pool_text(model->pool, frame->function), *of = NULL;
  if (strncmp(function, "<built-in ", 10) == 0 && strstr(function, " at 0x")) of = strstr(function, " of ");
  return asprintf(name, "%.*s%s%s", of ? (int)(of - function) : (int)strlen(function), function, of ? ">" : "",
                  is_gradient ? " (gradient)" : "") >= 0;
}

/* ---- life ---- */

enum tfprof_status classic_model_create(struct store *store, struct profile *profile, bool is_compat,
                                        struct classic_model **made, struct tfprof_error *error) {
  struct loading loading = {.profile = profile, .error = error, .is_compat = is_compat};
  struct classic_model *model = loading.model = calloc(1, sizeof *model);
  *made = NULL;
  if (!model) return error_no_memory(error);
  model->store = store;
  model->pool = store_pool(store);
  model->profile_number = profile->number;
  enum tfprof_status status = profile_list_all(profile, error);
  bool is_of_ops = !status && classic_is_of_ops(profile);
  if (!status) status = is_of_ops ? classic_model_of_ops(model, profile, error) : load_nodes(&loading);
  if (!status && !is_of_ops) status = cut_circles(&loading);
  if (!status && !is_of_ops) status = load_types(&loading);
  if (!status && !is_of_ops) forget_runtime_types(&loading);
  if (!status && !is_of_ops) status = load_inputs(&loading);
  if (!status && !is_of_ops) status = load_steps(&loading);
  if (!status) status = load_traces(&loading);
  if (!status) {
    status = classic_costs_create(is_of_ops ? NULL : profile, model, loading.rank, loading.node_rows, error);
    loading.rank = NULL; /* the costs' own */
  }
  free(loading.rank);
  if (status) classic_model_free(model);
  else *made = model;
  return status;
}

void classic_model_free(struct classic_model *model) {
  if (!model) return;
  free(model->nodes);
  free(model->types);
  free(model->inputs);
  classic_costs_free(model->costs);
  free(model->execs);
  free(model->steps);
  free(model->traces);
  free(model->frames);
  free(model->op_nodes);
  free(model->kernel_nodes);
  free(model->transfer_nodes);
  free(model->device_names);
  free(model);
}

static enum tfprof_status check_step(const struct classic_model *model, int64_t step, struct tfprof_error *error) {
  char numbers[600] = "", more[40] = "";
  size_t length = 0;
  uint32_t listed = 0;
  if (step < 0) return TFPROF_OK;
  for (uint32_t i = 0; i < model->step_count; i++) {
    if (model->steps[i] == step) return TFPROF_OK;
    if (length + 40 >= sizeof numbers) continue;
    length += (size_t)snprintf(numbers + length, sizeof numbers - length, " %lld", (long long)model->steps[i]);
    listed++;
  }
  if (listed < model->step_count)
    snprintf(more, sizeof more, " and %u more, to %lld", model->step_count - listed,
             (long long)model->steps[model->step_count - 1]);
  if (model->step_count == 0)
    return error_set(error, TFPROF_NOT_FOUND, "there is no step %lld; no step was traced", (long long)step);
  return error_set(error, TFPROF_NOT_FOUND, "there is no step %lld; the steps are%s%s", (long long)step, numbers,
                   more);
}

enum tfprof_status classic_check(const struct classic_model *model, enum classic_view view,
                                 const struct classic_options *options, struct tfprof_error *error) {
  enum tfprof_status status = check_step(model, options->integers[OPTION_step], error);
  if (!status && view == CLASSIC_CODE && !model->has_traces)
    status = error_set(error, TFPROF_NOT_FOUND, "there is no code trace information");
  return status;
}
