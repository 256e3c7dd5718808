/* model.c: see model.h. */
#include "classic/read/model.h"

#include <ctype.h>

bool tf_no_memory(struct tf_model *model) {
  if (!model->status) model->status = error_no_memory(model->error);
  return false;
}

bool tf_goes_on(struct tf_model *model) {
  enum { NODES_UNTIL_POLL = 1024 };
  if (model->until_poll--) return true;
  model->until_poll = NODES_UNTIL_POLL;
  if (!store_interrupted(model->store)) return true;
  if (!model->status) model->status = error_set(model->error, TFPROF_INTERRUPTED, "interrupted");
  return false;
}

bool tf_model_init(struct tf_model *model, struct store *store, struct tfprof_error *error) {
  memset(model, 0, sizeof *model);
  model->store = store;
  model->pool = store_pool(store);
  model->error = error;
  model->start_micros = INT64_MAX;
  return true;
}

void tf_model_free(struct tf_model *model) {
  struct row_map *maps[] = {&model->step_map, &model->lane_map, &model->frame_map, &model->traces,
                           &model->string_map, &model->function_map, &model->functions_by_name};
  for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) row_map_free(maps[i]);
  list_free(&model->nodes);
  list_free(&model->edges);
  list_free(&model->functions);
  list_free(&model->function_nodes);
  list_free(&model->function_arguments);
  list_free(&model->function_inputs);
  list_free(&model->function_calls);
  list_free(&model->calls);
  list_free(&model->types);
  list_free(&model->constants);
  list_free(&model->steps);
  list_free(&model->execs);
  for (int i = 0; i < TF_COST_count; i++) column_appender_free(&model->costs.columns[i]);
  free(model->costs.rows);
  list_free(&model->allocations);
  tf_packed_free(&model->memory_points);
  free(model->named);
  list_free(&model->transfers);
  tf_packed_free(&model->runs);
  list_free(&model->lanes);
  list_free(&model->frames);
  list_free(&model->codes.rows);
  list_free(&model->code_frames.rows);
  if (model->node_parts) model->free_node_parts(model->node_parts);
  free(model->exec_forms);
  pool_free(model->codes.pool);
  pool_free(model->code_frames.pool);
  free(model->scratch);
  text_buffer_free(&model->run_shapes);
  row_map_free(&model->damages);
  free(model->device_names);
  free(model->lane_devices);
  memset(model, 0, sizeof *model);
}

void tf_begin_file(struct tf_model *model, const char *path) {
  model->path = path;
  model->file_offset = 0;
  if (pool_intern(model->pool, path, strlen(path), &model->path_id)) model->path_id = 0;
}

void tf_check(struct tf_model *model, const struct wire_reader *part) {
  if (part->wrong) tf_trouble(model, TF_TROUBLE_WIRE, wire_offset(part));
}

void tf_trouble(struct tf_model *model, enum tf_trouble trouble, uint64_t offset) {
  uint32_t before = model->damages.count;
  struct row_key place = {{model->path_id, model->file_offset + offset, 0}};
  bool is_told = trouble == TF_TROUBLE_WIRE && row_map_number(&model->damages, place) < before;
  if (is_told || model->troubles[trouble].count++) return;
  model->troubles[trouble].offset = model->file_offset + offset;
  model->troubles[trouble].file = model->path_id;
}

char *tf_scratch(struct tf_model *model, size_t size) {
  if (!array_reserve(model->scratch, model->scratch_size, size)) {
    tf_no_memory(model);
    return NULL;
  }
  return model->scratch;
}

/* Where a text is among the recent ones, by its length and its end, in which names differ. */
static string_id *recent_place(struct tf_model *model, const char *text, size_t length) {
  uint64_t end = length >= 8 ? load_u64(text + length - 8) : (uint64_t)(unsigned char)text[length - 1];
  return &model->recent[hash_pair(end, length) >> 56];
}

bool tf_intern(struct tf_model *model, const char *text, size_t length, string_id *id) {
  *id = 0;
  if (length == 0) return true;
  string_id *recent = recent_place(model, text, length);
  if (*recent && pool_length(model->pool, *recent) == length &&
      memcmp(pool_text(model->pool, *recent), text, length) == 0) {
    *id = *recent;
    return true;
  }
  uint64_t mended = 0;
  enum tfprof_status status = pool_intern_mended(model->pool, text, length, id, &mended);
  if (mended) tf_trouble(model, TF_TROUBLE_TEXT, 0);
  *recent = *id;
  if (status == TFPROF_OK) return true;
  model->status = status == TFPROF_NO_MEMORY ? error_no_memory(model->error)
                                             : error_set(model->error, status, "more texts than can be numbered");
  return false;
}

bool tf_intern_lower(struct tf_model *model, const char *text, size_t length, string_id *id) {
  char *lower = tf_scratch(model, length + 1);
  if (!lower) return false;
  for (size_t i = 0; i < length; i++) lower[i] = (char)tolower((unsigned char)text[i]);
  return tf_intern(model, lower, length, id);
}

/* ---- maps ---- */

uint32_t tf_map_find(const struct row_map *map, uint64_t first, uint64_t second) {
  uint32_t number = row_map_find(map, (struct row_key){{first, second, 0}});
  return number == ROW_MAP_NONE ? UINT32_MAX : map->values[number];
}

bool tf_map_put(struct tf_model *model, struct row_map *map, uint64_t first, uint64_t second, uint32_t row) {
  uint32_t number = row_map_number(map, (struct row_key){{first, second, 0}});
  if (number == ROW_MAP_NONE) return tf_no_memory(model);
  map->values[number] = row;
  return true;
}

/* ---- nodes ---- */

uint32_t tf_find_node(const struct tf_model *model, string_id name) {
  return name < model->named_count ? model->named[name] - 1 : UINT32_MAX;
}

/* Says which node has a name. */
static bool set_node(struct tf_model *model, string_id name, uint32_t row) {
  if (name >= model->named_count) {
    size_t count = (size_t)name + name / 2 + 256;
    uint32_t *named = calloc(count, sizeof *named);
    if (!named) return tf_no_memory(model);
    if (model->named_count) memcpy(named, model->named, model->named_count * sizeof *named);
    free(model->named);
    model->named = named;
    model->named_count = count;
  }
  model->named[name] = row + 1;
  return true;
}

bool tf_add_type(struct tf_model *model, uint32_t node, string_id type) {
  if (!type) return true;
  struct tf_type *item = list_add(&model->types);
  if (!item) return tf_no_memory(model);
  *item = (struct tf_type){node, type};
  return true;
}

bool tf_add_node(struct tf_model *model, string_id name, string_id op, uint32_t *row) {
  if (model->nodes.count >= INT32_MAX) {
    model->status = error_set(model->error, TFPROF_LIMIT, "%s has more than 2^31 nodes", model->path);
    return false;
  }
  *row = (uint32_t)model->nodes.count;
  struct tf_node *node = list_add(&model->nodes);
  if (!node) return tf_no_memory(model);
  node->name = name;
  node->op = op;
  node->parameters = TF_NONE;
  node->file_id = TF_NONE;
  return set_node(model, name, *row);
}

bool tf_add_function_node(struct tf_model *model, const struct tf_function_node *node) {
  uint32_t row = (uint32_t)model->function_nodes.count, first = tf_map_find(&model->function_map, node->name, 0);
  struct tf_function_node *item = row < INT32_MAX ? list_add(&model->function_nodes) : NULL;
  if (!item) return tf_no_memory(model);
  *item = *node;
  if (first == UINT32_MAX) return tf_map_put(model, &model->function_map, node->name, 0, row);
  struct tf_function_node *known = &model->function_nodes.items[first];
  known->is_ambiguous |= known->op != node->op || known->attributes != node->attributes;
  return true;
}

const struct tf_function_node *tf_find_function_node(const struct tf_model *model, const char *name, size_t length,
                                                     string_id op) {
  enum { MOST_SCOPES = 256 };
  for (int i = 0; model->function_nodes.count && name && i < MOST_SCOPES; i++) {
    string_id id = pool_find(model->pool, name, length);
    uint32_t row = id ? tf_map_find(&model->function_map, id, 0) : UINT32_MAX;
    const struct tf_function_node *node = row == UINT32_MAX ? NULL : &model->function_nodes.items[row];
    if (node && node->op == op) return node->is_ambiguous ? NULL : node;
    const char *slash = memchr(name, '/', length);
    if (!slash) return NULL;
    length -= (size_t)(slash + 1 - name);
    name = slash + 1;
  }
  return NULL;
}

int32_t tf_output_number(const char *text, size_t length) {
  int64_t number = 0;
  if (length == 0 || length > 9) return 0;
  for (size_t i = 0; i < length; i++) {
    if (!isdigit((unsigned char)text[i])) return 0;
    number = number * 10 + (text[i] - '0');
  }
  return (int32_t)number;
}

bool tf_add_input(struct tf_model *model, uint32_t node, int32_t position, const char *text, size_t length) {
  bool is_control = length && *text == '^';
  text += is_control;
  length -= is_control;
  /* "node", "node:2"; in functions "node:output:2". */
  const char *colon = memchr(text, ':', length), *last = memrchr(text, ':', length);
  size_t name_length = colon ? (size_t)(colon - text) : length;
  string_id name;
  if (!tf_intern(model, text, name_length, &name)) return false;
  struct tf_edge *edge = list_add(&model->edges);
  if (!edge) return tf_no_memory(model);
  *edge = (struct tf_edge){.node = node, .position = position, .is_control = is_control, .source = name};
  if (last) edge->source_output = tf_output_number(last + 1, (size_t)(text + length - last - 1));
  return true;
}

/* ---- steps ---- */

static bool find_step(struct tf_model *model, int64_t number, uint32_t *row) {
  /* Mostly the step after the last one, or the first again. */
  size_t count = model->steps.count, next = (size_t)model->step + 1 < count ? (size_t)model->step + 1 : 0;
  if (count && model->steps.items[next].number == number) {
    *row = (uint32_t)next;
    return true;
  }
  *row = tf_map_find(&model->step_map, (uint64_t)number, 0);
  if (*row != UINT32_MAX) return true;
  *row = (uint32_t)count;
  struct tf_step *step = list_add(&model->steps);
  if (!step) return tf_no_memory(model);
  step->number = number;
  return tf_map_put(model, &model->step_map, (uint64_t)number, 0, *row);
}

bool tf_begin_step(struct tf_model *model, int64_t number) {
  uint32_t row;
  if (!find_step(model, number, &row) || (row != model->step && !tf_end_execs(model))) return false;
  model->step = row;
  return true;
}

bool tf_get_exec(struct tf_model *model, uint32_t node, struct tf_exec **exec) {
  size_t count = model->execs.count, place = model->nodes.items[node].exec;
  if (place && place <= count && model->execs.items[place - 1].node == node) {
    *exec = &model->execs.items[place - 1];
    return true;
  }
  bool has_room = model->costs.count + count < INT32_MAX;
  struct tf_exec *item = *exec = has_room ? list_add(&model->execs) : NULL;
  if (!item) return tf_no_memory(model);
  item->node = node;
  model->nodes.items[node].exec = (uint32_t)count + 1;
  return true;
}

/* Puts the rows of costs that are not yet in the columns there. */
static bool end_cost_rows(struct tf_model *model) {
  struct tf_cost_rows *rows = model->costs.rows;
  bool ok = true;
  if (!rows) return true;
  uint32_t first = model->costs.count - rows->count;
  int columns = model->has_calls ? TF_COST_count : TF_COST_call;
  for (int i = 0; ok && i < columns; i++) {
    struct column_appender *column = &model->costs.columns[i];
    if (!rows->has_untimed || (i != TF_COST_start && i != TF_COST_length)) {
      ok = column_appender_put_all(column, first, rows->values[i], rows->count);
      continue;
    }
    for (uint32_t k = 0; ok && k < rows->count; k++) {
      ok = rows->is_untimed[k] ? column_appender_put_null(column, first + k)
                               : column_appender_put(column, first + k, rows->values[i][k]);
    }
  }
  rows->count = 0;
  rows->has_untimed = false;
  return ok ? true : tf_no_memory(model);
}

static bool end_exec(struct tf_model *model, const struct tf_exec *exec) {
  struct tf_costs *costs = &model->costs;
  struct tf_step *step = &model->steps.items[model->step];
  bool is_timed = exec->start_micros > 0;
  if (!costs->rows && !(costs->rows = calloc(1, sizeof *costs->rows))) return tf_no_memory(model);
  if (costs->rows->count == TF_COST_ROWS && !end_cost_rows(model)) return false;
  uint32_t row = costs->rows->count++;
  costs->count++;
#define PUT(cost, value) costs->rows->values[TF_COST_##cost][row] = (value)
  PUT(node, exec->node);
  PUT(step, model->step);
  PUT(run_count, exec->run_count);
  PUT(accelerator, exec->accelerator_micros * 1000);
  PUT(cpu, exec->cpu_micros * 1000);
  PUT(requested, exec->requested_bytes);
  PUT(peak, exec->peak_bytes);
  PUT(residual, exec->residual_bytes);
  PUT(output, exec->output_bytes);
  PUT(start, exec->start_micros * 1000);
  PUT(length, (exec->end_micros - exec->start_micros) * 1000);
  PUT(call, exec->call);
  PUT(output_shapes, exec->output_shapes);
#undef PUT
  costs->rows->is_untimed[row] = !is_timed;
  costs->rows->has_untimed |= !is_timed;
  if (!is_timed) return true;
  if (!step->start_micros || exec->start_micros < step->start_micros) step->start_micros = exec->start_micros;
  if (exec->end_micros > step->end_micros) step->end_micros = exec->end_micros;
  return true;
}

bool tf_end_execs(struct tf_model *model) {
  bool ok = true;
  for (size_t i = 0; ok && i < model->execs.count; i++) ok = end_exec(model, &model->execs.items[i]);
  model->execs.count = 0;
  return ok;
}

bool tf_end_costs(struct tf_model *model) { return tf_end_execs(model) && end_cost_rows(model); }

bool tf_get_lane(struct tf_model *model, string_id device, string_id device_lower, int64_t thread, bool is_accelerator,
                 uint32_t *lane) {
  *lane = tf_map_find(&model->lane_map, device, (uint64_t)thread);
  if (*lane != UINT32_MAX) return true;
  *lane = (uint32_t)model->lanes.count;
  struct tf_lane *item = list_add(&model->lanes);
  if (!item) return tf_no_memory(model);
  *item = (struct tf_lane){
      .device = device, .device_lower = device_lower, .thread = thread, .is_accelerator = is_accelerator};
  return tf_map_put(model, &model->lane_map, device, (uint64_t)thread, *lane);
}

/* ---- runs and memory points ---- */

void tf_packed_free(struct tf_packed *packed) {
  for (struct tf_packed_block *block = packed->first, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  *packed = (struct tf_packed){0};
}

static bool add_packed_block(struct tf_model *model, struct tf_packed *packed) {
  struct tf_packed_block *block = packed->count < INT32_MAX ? malloc(sizeof *block) : NULL;
  if (!block) return tf_no_memory(model);
  block->next = NULL;
  block->end = block->bytes;
  if (packed->last) packed->last->next = block;
  else packed->first = block;
  packed->last = block;
  return true;
}

/* Room for an item, the end of which is to be set then. NULL: no memory. */
static inline uint8_t *packed_room(struct tf_model *model, struct tf_packed *packed) {
  const struct tf_packed_block *last = packed->last;
  bool has_room = last && last->bytes + TF_PACKED_BLOCK - last->end >= TF_PACKED_ITEM;
  return has_room || add_packed_block(model, packed) ? packed->last->end : NULL;
}

bool tf_add_run(struct tf_model *model, uint32_t exec, uint32_t lane, int64_t start_micros, int64_t micros) {
  uint8_t *at = packed_room(model, &model->runs);
  if (!at) return false;
  at = varint_write(at, zigzag((int64_t)exec - (int64_t)model->last_run.exec));
  at = varint_write(at, lane);
  at = varint_write(at, zigzag(start_micros - model->last_run.start_micros));
  at = varint_write(at, (uint64_t)micros);
  model->runs.last->end = at;
  model->runs.count++;
  model->last_run = (struct tf_run){start_micros, micros, exec, lane};
  if (start_micros > 0 && start_micros < model->start_micros) model->start_micros = start_micros;
  if (start_micros + micros > model->end_micros) model->end_micros = start_micros + micros;
  model->lanes.items[lane].run_count++;
  return true;
}

/* ---- traces ---- */

static bool is_on_host(struct tf_model *model, uint32_t node) {
  string_id device = model->nodes.items[node].device;
  if (device && device == model->last_device) return model->last_is_host;
  const char *text = pool_text(model->pool, device);
  model->last_device = device;
  return model->last_is_host = !text || strstr(text, "cpu");
}

bool tf_add_allocation(struct tf_model *model, uint32_t node, bool is_persistent, int64_t micros, int64_t bytes) {
  const int64_t most_bytes = INT64_MAX / 4;
  if (bytes == 0 || is_on_host(model, node)) return true;
  if (micros < 0 || micros > TF_MOST_MICROS || bytes > most_bytes || bytes < -most_bytes) {
    tf_trouble(model, TF_TROUBLE_TIME, 0);
    return true;
  }
  struct tf_allocation *item = list_add(&model->allocations);
  if (!item) return tf_no_memory(model);
  uint32_t exec = model->nodes.items[node].exec;
  bool has_run = model->runs.count && exec && model->last_run.exec == model->costs.count + exec - 1;
  *item = (struct tf_allocation){node, model->step, has_run ? (uint32_t)model->runs.count - 1 : UINT32_MAX,
                                 is_persistent, micros, bytes};
  return true;
}

bool tf_add_memory_point(struct tf_model *model, const struct tf_exec *exec, int64_t micros, int64_t bytes) {
  if (is_on_host(model, exec->node)) return true;
  if (micros <= 0 || micros > TF_MOST_MICROS || bytes < 0) {
    if (micros != 0) tf_trouble(model, TF_TROUBLE_TIME, 0);
    return true;
  }
  uint8_t *at = packed_room(model, &model->memory_points);
  if (!at) return false;
  uint32_t row = tf_exec_row(model, exec);
  at = varint_write(at, zigzag((int64_t)row - (int64_t)model->last_point.exec));
  at = varint_write(at, zigzag(micros - model->last_point.micros));
  at = varint_write(at, zigzag(bytes - model->last_point.bytes)); /* neither is below 0 */
  model->memory_points.last->end = at;
  model->memory_points.count++;
  model->last_point = (struct tf_memory_point){micros, bytes, row};
  return true;
}

bool tf_get_frame(struct tf_model *model, const struct tf_frame *frame, uint32_t *found) {
  uint64_t first = hash_pair((uint64_t)frame->file, (uint64_t)frame->function) ^ (uint64_t)frame->text << 8 ^
                   frame->is_inline;
  uint64_t second = (uint64_t)frame->line << 32 ^ (uint64_t)frame->first_line;
  uint32_t row;
  /* The key is a hash: look on under neighbouring keys until the frame itself is found. */
  while ((row = tf_map_find(&model->frame_map, first, second)) != UINT32_MAX) {
    const struct tf_frame *other = &model->frames.items[row];
    if (other->file == frame->file && other->function == frame->function && other->text == frame->text &&
        other->line == frame->line && other->first_line == frame->first_line && other->is_inline == frame->is_inline)
      break;
    first++;
  }
  if (row == UINT32_MAX) {
    row = (uint32_t)model->frames.count;
    struct tf_frame *item = row < INT32_MAX ? list_add(&model->frames) : NULL;
    if (!item) return tf_no_memory(model);
    *item = *frame;
    if (!tf_map_put(model, &model->frame_map, first, second, row)) return false;
  }
  *found = row;
  return true;
}

bool tf_push_frame(struct tf_model *model, uint32_t parent, uint32_t row, uint32_t *trace) {
  *trace = stacks_push(&model->traces, parent, row);
  return *trace || tf_no_memory(model);
}

bool tf_add_string(struct tf_model *model, int64_t key, const char *text, size_t length) {
  string_id id;
  if (tf_map_find(&model->string_map, (uint64_t)key, 0) != UINT32_MAX) return true;
  return tf_intern(model, text, length, &id) && tf_map_put(model, &model->string_map, (uint64_t)key, 0, id);
}

/* ---- devices ---- */

bool tf_is_canonical_device(const char *device, size_t length) {
  size_t at = length;
  while (at > 0 && isdigit((unsigned char)device[at - 1])) at--;
  if (at == length || at < 4) return false;
  /* Of "device:cpu:" the last part is enough where a slash or "/device:" stands before it. */
  if (memcmp(device + at - 4, "cpu:", 4) != 0 && memcmp(device + at - 4, "gpu:", 4) != 0) return false;
  at -= 4;
  if (at >= 1 && device[at - 1] == '/') return true;
  return at >= 8 && memcmp(device + at - 8, "/device:", 8) == 0;
}

bool tf_is_accelerator_lane(const char *device, size_t length) {
  return memmem(device, length, "stream:all", 10) != NULL;
}

int64_t tf_add(struct tf_model *model, int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  tf_trouble(model, TF_TROUBLE_TIME, 0);
  return a;
}
