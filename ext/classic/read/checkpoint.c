/* checkpoint.c: see checkpoint.h.
**
** V2: the key "" holds BundleHeaderProto num_shards=1, endianness=2; others BundleEntryProto dtype=1, shape=2,
** shard_id=3, offset=4, size=5, crc32c=6, slices=7.  A slice has an entry of its own under an ordered encoding of name
** and extents. V1: the key "" holds SavedTensorSlices meta=1 { tensor=1 { name=1, shape=2, type=3, slice=4 } }; others
** data=2 { name=1, slice=2, data=3 TensorProto }.  TensorSliceProto extent=1 { start=1, length=2, which is absent for
** all }.  A sharded V1 checkpoint is several such files, each with the tensors and slices that it holds.
*/
#include "classic/read/checkpoint_private.h"
#include "classic/read/fields.h"

#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void free_tensor(struct tensor *tensor) {
  for (size_t i = 0; i < tensor->slice_count; i++) free(tensor->slices[i].parts);
  free(tensor->slices);
  free(tensor->sizes);
}

void tf_checkpoint_free(struct tf_checkpoint *checkpoint) {
  if (!checkpoint) return;
  for (size_t i = 0; i < checkpoint->tensors.count; i++) free_tensor(&checkpoint->tensors.items[i]);
  free(checkpoint->by_name);
  for (size_t i = 0; i < checkpoint->slices.count; i++) free(checkpoint->slices.items[i].key);
  list_free(&checkpoint->tensors);
  list_free(&checkpoint->slices);
  for (size_t i = 0; i < checkpoint->files.count; i++) free(checkpoint->files.items[i]);
  list_free(&checkpoint->files);
  free(checkpoint->prefix);
  free(checkpoint);
}

/* ---- reading what there is ---- */

struct reading {
  struct tf_model *model;
  struct tf_checkpoint *checkpoint;
  struct row_map *names; /* of a checkpoint of several files: the tensor of a name */
  bool is_first;
};

bool tf_read_extent(struct wire_reader message, struct extent *extent) {
  struct wire_field field;
  struct wire_reader again = message;
  unsigned rank = 0;
  *extent = (struct extent){0};
  while (wire_next(&again, &field)) rank += field.number == TensorSliceProto_extent && rank < MAXIMUM_DIMENSIONS;
  if (rank && !(extent->parts = malloc(rank * sizeof *extent->parts))) return false;
  while (extent->rank < rank && wire_next(&message, &field)) {
    if (field.number != TensorSliceProto_extent) continue;
    struct wire_reader part = wire_enter(&message, &field);
    struct extent_part *made = &extent->parts[extent->rank++];
    *made = (struct extent_part){.length = -1};
    while (wire_next(&part, &field)) {
      if (field.number == Extent_start) made->start = wire_int64(&field);
      else if (field.number == Extent_length) made->length = wire_int64(&field);
    }
  }
  return true;
}

/* Room for so many slices more. */
static bool reserve_slices(struct tensor *tensor, size_t more) {
  return array_reserve(tensor->slices, tensor->slice_capacity, tensor->slice_count + more);
}

static bool add_slice(struct tensor *tensor, const struct wire_reader *message) {
  return reserve_slices(tensor, 1) && tf_read_extent(*message, &tensor->slices[tensor->slice_count]) &&
         ++tensor->slice_count;
}

static bool set_shape(struct tensor *tensor, struct wire_reader *message) {
  struct tf_shape shape;
  tf_read_shape(message, &shape);
  free(tensor->sizes);
  tensor->has_shape = shape.is_known;
  tensor->rank = shape.rank;
  tensor->elements = tf_shape_elements(&shape);
  tensor->sizes = malloc((shape.rank ? shape.rank : 1) * sizeof *tensor->sizes);
  if (tensor->sizes) memcpy(tensor->sizes, shape.sizes, shape.rank * sizeof *tensor->sizes);
  return tensor->sizes != NULL;
}

static bool read_entry(struct reading *reading, const uint8_t *key, size_t key_length, const uint8_t *value,
                       size_t length) {
  struct tf_model *model = reading->model;
  struct wire_reader reader = wire_open(value, length);
  struct wire_field field;
  struct tensor tensor = {.has_shape = true, .elements = 1}; /* a scalar says nothing of its shape */
  bool ok = true;
  while (ok && wire_next(&reader, &field)) {
    struct wire_reader child = wire_enter(&reader, &field);
    switch (field.number) {
      case BundleEntryProto_dtype: tensor.dtype = wire_int32(&field); break;
      case BundleEntryProto_shape: ok = set_shape(&tensor, &child); break;
      case BundleEntryProto_shard_id: tensor.shard = wire_uint32(&field); break;
      case BundleEntryProto_offset: tensor.offset = wire_uint64(&field); break;
      case BundleEntryProto_size: tensor.size = wire_uint64(&field); break;
      case BundleEntryProto_crc32c:
        tensor.crc = wire_uint32(&field);
        tensor.has_crc = true;
        break;
      case BundleEntryProto_slices: ok = add_slice(&tensor, &child); break;
    }
  }
  tf_check(model, &reader);
  if (ok && key_length && key[0] == 0) { /* of a slice */
    struct slice_entry *slice = list_add(&reading->checkpoint->slices);
    ok = slice && (slice->key = malloc(key_length));
    if (ok) memcpy(slice->key, key, slice->key_length = key_length);
    if (ok) slice->shard = tensor.shard, slice->offset = tensor.offset, slice->size = tensor.size;
    free_tensor(&tensor);
    return ok ? true : tf_no_memory(model);
  }
  struct tensor *place = ok && tf_intern(model, (const char *)key, key_length, &tensor.name)
                             ? list_add(&reading->checkpoint->tensors)
                             : NULL;
  if (place) {
    *place = tensor;
    return true;
  }
  free_tensor(&tensor);
  return tf_no_memory(model);
}

/* Of several shards each tells about its own slices of a tensor: those of the last one in the list go to the first of
** its name. */
static bool merge_shards(struct reading *reading) {
  struct tensor_list *tensors = &reading->checkpoint->tensors;
  struct tensor *last = &tensors->items[tensors->count - 1];
  uint32_t row = tf_map_find(reading->names, last->name, 0);
  if (row == UINT32_MAX)
    return tf_map_put(reading->model, reading->names, last->name, 0, (uint32_t)tensors->count - 1);
  struct tensor *first = &tensors->items[row];
  if (!reserve_slices(first, last->slice_count)) return tf_no_memory(reading->model);
  if (last->slice_count)
    memcpy(first->slices + first->slice_count, last->slices, last->slice_count * sizeof *last->slices);
  first->slice_count += last->slice_count;
  last->slice_count = 0;
  free_tensor(last);
  tensors->count--;
  return true;
}

static bool read_meta_tensor(struct reading *reading, struct wire_reader reader) {
  struct tf_model *model = reading->model;
  struct wire_field field;
  struct tensor *tensor = list_add(&reading->checkpoint->tensors);
  if (!tensor) return tf_no_memory(model);
  *tensor = (struct tensor){.has_shape = true, .elements = 1};
  while (wire_next(&reader, &field)) {
    struct wire_reader child = wire_enter(&reader, &field);
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number == SavedSliceMeta_name && !tf_intern(model, text, length, &tensor->name)) return false;
    else if (field.number == SavedSliceMeta_shape && !set_shape(tensor, &child)) return tf_no_memory(model);
    else if (field.number == SavedSliceMeta_type) tensor->dtype = wire_int32(&field);
    else if (field.number == SavedSliceMeta_slice && !add_slice(tensor, &child)) return tf_no_memory(model);
  }
  tf_check(model, &reader);
  return reading->checkpoint->files.count == 1 || merge_shards(reading);
}

/* The entry "": of V1 the list of everything. */
static bool read_header(struct reading *reading, const uint8_t *value, size_t length) {
  struct wire_reader reader = wire_open(value, length);
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    if (field.number == BundleHeaderProto_num_shards && field.type == WIRE_VARINT)
      reading->checkpoint->shards = wire_uint32(&field);
    if (field.number != SavedTensorSlices_meta || field.type != WIRE_BYTES) continue;
    struct wire_reader meta = wire_enter(&reader, &field);
    reading->checkpoint->is_v1 = true;
    while (wire_next(&meta, &field)) {
      if (field.number == SavedTensorSliceMeta_tensor && !read_meta_tensor(reading, wire_enter(&meta, &field)))
        return false;
    }
    tf_check(reading->model, &meta);
  }
  tf_check(reading->model, &reader);
  return true;
}

static bool take_entry(void *context, const uint8_t *key, size_t key_length, const uint8_t *value, size_t length) {
  struct reading *reading = context;
  if (reading->is_first && key_length == 0) {
    reading->is_first = false;
    return read_header(reading, value, length) && !reading->checkpoint->is_v1;
  }
  return read_entry(reading, key, key_length, value, length);
}

static bool exists(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0;
}

static bool add_file(struct tf_checkpoint *checkpoint, const char *path) {
  char *copy = strdup(path), **file = copy ? list_add(&checkpoint->files) : NULL;
  if (file) *file = copy;
  else free(copy);
  return file;
}

/* The files that match a pattern, in the order of their names. False: no memory. */
static bool add_matches(struct tf_checkpoint *checkpoint, const char *pattern) {
  glob_t found = {0};
  int code = glob(pattern, 0, NULL, &found);
  bool ok = code != GLOB_NOSPACE;
  for (size_t i = 0; ok && code == 0 && i < found.gl_pathc; i++) ok = add_file(checkpoint, found.gl_pathv[i]);
  if (code == 0) globfree(&found);
  return ok;
}

/* Which files `path` stands for. Where there is none, the path itself: opening it says so. */
static bool find_files(struct tf_checkpoint *checkpoint, const char *path) {
  size_t length = strlen(path);
  bool is_index = length > 6 && strcmp(path + length - 6, ".index") == 0, ok;
  char *name = NULL;
  checkpoint->prefix = strndup(path, is_index ? length - 6 : length);
  if (!checkpoint->prefix || asprintf(&name, "%s.index", checkpoint->prefix) < 0) return false;
  if (is_index || exists(name)) {
    ok = add_file(checkpoint, name);
    free(name);
    return ok;
  }
  free(name);
  if (exists(path)) return add_file(checkpoint, path);
  ok = add_matches(checkpoint, path); /* "model.ckpt-?????-of-00002", which is what Saver.save() returns */
  if (ok && !checkpoint->files.count) {
    ok = asprintf(&name, "%s-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]", path) >= 0;
    if (ok) ok = add_matches(checkpoint, name);
    if (name) free(name);
  }
  return ok && (checkpoint->files.count || add_file(checkpoint, path));
}

enum tfprof_status tf_checkpoint_file(const char *path, char **file, struct tfprof_error *error) {
  struct tf_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
  *file = checkpoint && find_files(checkpoint, path) ? strdup(checkpoint->files.items[0]) : NULL;
  tf_checkpoint_free(checkpoint);
  return *file ? TFPROF_OK : error_no_memory(error);
}

static int compare_names(const void *left, const void *right, void *context) {
  const struct tensor *tensors = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  if (tensors[a].name != tensors[b].name) return tensors[a].name < tensors[b].name ? -1 : 1;
  return a < b ? -1 : a > b;
}

static void order_by_name(struct tf_checkpoint *checkpoint) {
  size_t count = checkpoint->tensors.count;
  for (size_t i = 0; i < count; i++) checkpoint->by_name[i] = (uint32_t)i;
  qsort_r(checkpoint->by_name, count, sizeof *checkpoint->by_name, compare_names, checkpoint->tensors.items);
}

void tf_checkpoint_adopt(struct tf_checkpoint *checkpoint, const string_id *map) {
  for (size_t i = 0; i < checkpoint->tensors.count; i++) {
    struct tensor *tensor = &checkpoint->tensors.items[i];
    tensor->name = map[tensor->name];
  }
  order_by_name(checkpoint);
}

enum tfprof_status tf_checkpoint_read(struct tf_model *model, const char *path, struct tf_checkpoint **made) {
  struct tf_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
  struct stat facts;
  *made = NULL;
  if (!checkpoint || !find_files(checkpoint, path)) {
    tf_checkpoint_free(checkpoint);
    return error_no_memory(model->error);
  }
  enum tfprof_status status = TFPROF_OK;
  struct row_map names = {0};
  for (size_t i = 0; i < checkpoint->files.count && !status; i++) {
    const char *file = checkpoint->files.items[i];
    struct reading reading = {model, checkpoint, &names, true};
    tf_begin_file(model, file);
    status = tf_table_each(file, model->store, take_entry, &reading, model->error);
    if (!status) status = model->status;
    if (!status && stat(file, &facts) == 0) {
      checkpoint->file_bytes += (uint64_t)facts.st_size;
      model->file_bytes = tf_add(model, model->file_bytes, facts.st_size);
    }
  }
  row_map_free(&names);
  if (!status) {
    checkpoint->by_name = malloc((checkpoint->tensors.count + 1) * sizeof *checkpoint->by_name);
    if (checkpoint->by_name) order_by_name(checkpoint);
    else status = error_no_memory(model->error);
  }
  if (status) tf_checkpoint_free(checkpoint);
  else *made = checkpoint;
  return status;
}

bool tf_checkpoint_mark(struct tf_model *model, const struct tf_checkpoint *checkpoint) {
  string_id type;
  if (!tf_intern(model, "_checkpoint_variables", 21, &type)) return false;
  for (size_t i = 0; i < checkpoint->tensors.count; i++) {
    uint32_t node = tf_find_node(model, checkpoint->tensors.items[i].name);
    if (node != UINT32_MAX && !tf_add_type(model, node, type)) return false;
  }
  return true;
}

/* ---- the table ---- */

bool tf_publish_tensors(struct tf_model *model, struct profile *profile, const struct tf_node_order *order,
                        const struct tf_checkpoint *checkpoint) {
  struct eager_rows rows;
  if (!checkpoint || checkpoint->tensors.count == 0) return true;
  if (!eager_rows_begin(&rows, profile, TABLE_tensors, checkpoint->tensors.count, &model->status, model->error))
    return false;
  const struct tensor *tensors = checkpoint->tensors.items;
  bool ok = true;
#define SET(column, expression)                     \
  for (uint32_t i = 0; ok && i < rows.count; i++) { \
    const struct tensor *tensor = &tensors[i];      \
    int64_t width = tf_dtype_bytes(tensor->dtype);  \
    (void)width;                                    \
    rows.values[i] = (expression);                  \
  }                                                 \
  ok = ok && eager_rows_set_known(&rows, COLUMN_tensors_##column);
  SET(name, tensor->name ? (int64_t)tensor->name : ROW_NULL)
  SET(element_count, tensor->elements < 0 ? ROW_NULL : tensor->elements)
  SET(bytes, width == 0 && !checkpoint->is_v1 ? (int64_t)(tensor->size & INT64_MAX)
             : width == 0 || tensor->elements < 0 || tensor->elements > INT64_MAX / width ? ROW_NULL
                                                                                          : tensor->elements * width)
  SET(node_id, tf_find_node(model, tensor->name) == UINT32_MAX
                   ? ROW_NULL
                   : (int64_t)order->rows[tf_find_node(model, tensor->name)])
#undef SET
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    const char *name = tf_dtype_name(tensors[i].dtype);
    string_id id = 0;
    ok = tf_intern(model, name ? name : "", name ? strlen(name) : 0, &id);
    rows.values[i] = id ? (int64_t)id : ROW_NULL;
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_tensors_dtype);
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    struct text_buffer text = {0};
    struct tf_shape shape = {tensors[i].has_shape, tensors[i].rank, {0}};
    string_id id = 0;
    if (shape.rank) memcpy(shape.sizes, tensors[i].sizes, shape.rank * sizeof *shape.sizes);
    if (shape.is_known) tf_shape_text(&shape, &text);
    ok = text.failed ? tf_no_memory(model) : tf_intern(model, text.bytes, text.length, &id);
    text_buffer_free(&text);
    rows.values[i] = id ? (int64_t)id : ROW_NULL;
  }
  ok = ok && eager_rows_set_known(&rows, COLUMN_tensors_shape);
  static const uint16_t on_demand[] = {COLUMN_tensors_value, COLUMN_tensors_minimum, COLUMN_tensors_maximum,
                                       COLUMN_tensors_mean};
  for (size_t i = 0; i < sizeof on_demand / sizeof on_demand[0]; i++)
    column_set_add(&rows.segment->is_raw, on_demand[i]);
  eager_rows_end(&rows);
  return ok;
}
