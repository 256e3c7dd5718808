/* checkpoint.c: see checkpoint.h.
**
** V2: the key "" holds BundleHeaderProto num_shards=1, endianness=2; others BundleEntryProto dtype=1, shape=2,
** shard_id=3, offset=4, size=5, crc32c=6, slices=7.  A slice has an entry of its own under an ordered encoding of name
** and extents. V1: the key "" holds SavedTensorSlices meta=1 { tensor=1 { name=1, shape=2, type=3, slice=4 } }; others
** data=2 { name=1, slice=2, data=3 TensorProto }.  TensorSliceProto extent=1 { start=1, length=2, which is absent for
** all }.  A sharded V1 checkpoint is several such files, each with the tensors and slices that it holds.
*/
#include "read/tensorflow/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/tensorflow/messages.h"

enum { MAXIMUM_DIMENSIONS = 64 };

struct extent {
  unsigned rank;
  int64_t start[MAXIMUM_DIMENSIONS], length[MAXIMUM_DIMENSIONS]; /* length -1: all */
};

struct tensor {
  string_id name;
  int dtype;
  struct tf_shape *shape;
  int64_t elements;
  uint32_t shard;
  uint64_t offset, size;
  uint32_t crc;
  bool has_crc;
  struct extent *slices;
  size_t slice_count;
};
TF_LIST(tensor_list, struct tensor)

/* V2: the entry of a slice. */
struct slice_entry {
  uint8_t *key;
  size_t key_length;
  uint32_t shard;
  uint64_t offset, size;
};
TF_LIST(slice_list, struct slice_entry)

struct tf_checkpoint {
  char *prefix;
  char **files; /* that were read: the index, or the file or files of V1 */
  size_t file_count;
  bool is_v1;
  uint32_t shards;
  struct tensor_list tensors;
  struct slice_list slices;
};

void tf_checkpoint_free(struct tf_checkpoint *checkpoint) {
  if (!checkpoint) return;
  for (size_t i = 0; i < checkpoint->tensors.count; i++) {
    free(checkpoint->tensors.items[i].shape);
    free(checkpoint->tensors.items[i].slices);
  }
  for (size_t i = 0; i < checkpoint->slices.count; i++) free(checkpoint->slices.items[i].key);
  tensor_list_free(&checkpoint->tensors);
  slice_list_free(&checkpoint->slices);
  for (size_t i = 0; i < checkpoint->file_count; i++) free(checkpoint->files[i]);
  free(checkpoint->files);
  free(checkpoint->prefix);
  free(checkpoint);
}

/* ---- reading what there is ---- */

struct reading {
  struct tf_model *model;
  struct tf_checkpoint *checkpoint;
  bool is_first;
};

static void read_extent(struct wire_reader *message, struct extent *extent) {
  struct wire_field field;
  *extent = (struct extent){0};
  while (wire_next(message, &field)) {
    if (field.number != 1 || extent->rank == MAXIMUM_DIMENSIONS) continue;
    struct wire_reader part = wire_enter(message, &field);
    int64_t start = 0, length = -1;
    while (wire_next(&part, &field)) {
      if (field.number == 1) start = wire_int64(&field);
      else if (field.number == 2) length = wire_int64(&field);
    }
    extent->start[extent->rank] = start;
    extent->length[extent->rank++] = length;
  }
}

static bool add_slice(struct tensor *tensor, struct wire_reader *message) {
  struct extent *slices = realloc(tensor->slices, (tensor->slice_count + 1) * sizeof *slices);
  if (!slices) return false;
  tensor->slices = slices;
  read_extent(message, &slices[tensor->slice_count++]);
  return true;
}

static bool read_entry(struct reading *reading, const uint8_t *key, size_t key_length, const uint8_t *value,
                       size_t length) {
  struct tf_model *model = reading->model;
  struct wire_reader reader = wire_open(value, length);
  struct wire_field field;
  struct tensor tensor = {.shape = calloc(1, sizeof *tensor.shape)};
  bool ok = tensor.shape != NULL;
  if (ok) tensor.shape->is_known = true;
  while (ok && wire_next(&reader, &field)) {
    struct wire_reader child = wire_enter(&reader, &field);
    switch (field.number) {
      case 1: tensor.dtype = wire_int32(&field); break;
      case 2: tf_read_shape(&child, tensor.shape); break;
      case 3: tensor.shard = wire_uint32(&field); break;
      case 4: tensor.offset = wire_uint64(&field); break;
      case 5: tensor.size = wire_uint64(&field); break;
      case 6:
        tensor.crc = wire_uint32(&field);
        tensor.has_crc = true;
        break;
      case 7: ok = add_slice(&tensor, &child); break;
    }
  }
  tf_check(model, &reader);
  if (ok && key_length && key[0] == 0) { /* of a slice */
    struct slice_entry *slice = slice_list_add(&reading->checkpoint->slices);
    ok = slice && (slice->key = malloc(key_length));
    if (ok) memcpy(slice->key, key, slice->key_length = key_length);
    if (ok) slice->shard = tensor.shard, slice->offset = tensor.offset, slice->size = tensor.size;
    free(tensor.shape);
    free(tensor.slices);
    return ok ? true : tf_no_memory(model);
  }
  tensor.elements = ok ? tf_shape_elements(tensor.shape) : 0;
  struct tensor *place = ok && tf_intern(model, (const char *)key, key_length, &tensor.name)
                             ? tensor_list_add(&reading->checkpoint->tensors)
                             : NULL;
  if (place) {
    *place = tensor;
    return true;
  }
  free(tensor.shape);
  free(tensor.slices);
  return tf_no_memory(model);
}

/* Of several shards each tells about its own slices of a tensor: those of the last one in the list go to the first of
** its name. */
static bool merge_shards(struct reading *reading) {
  struct tensor_list *tensors = &reading->checkpoint->tensors;
  struct tensor *last = &tensors->items[tensors->count - 1], *first = NULL;
  for (size_t i = 0; i + 1 < tensors->count && !first; i++) {
    if (tensors->items[i].name == last->name) first = &tensors->items[i];
  }
  if (!first) return true;
  struct extent *slices =
      realloc(first->slices, (first->slice_count + last->slice_count + 1) * sizeof *slices);
  if (!slices) return tf_no_memory(reading->model);
  first->slices = slices;
  if (last->slice_count) memcpy(slices + first->slice_count, last->slices, last->slice_count * sizeof *slices);
  first->slice_count += last->slice_count;
  free(last->shape);
  free(last->slices);
  tensors->count--;
  return true;
}

static bool read_meta_tensor(struct reading *reading, struct wire_reader reader) {
  struct tf_model *model = reading->model;
  struct wire_field field;
  struct tensor *tensor = tensor_list_add(&reading->checkpoint->tensors);
  if (tensor) *tensor = (struct tensor){.shape = calloc(1, sizeof *tensor->shape)};
  if (!tensor || !tensor->shape) {
    if (tensor) reading->checkpoint->tensors.count--;
    return tf_no_memory(model);
  }
  tensor->shape->is_known = true;
  while (wire_next(&reader, &field)) {
    struct wire_reader child = wire_enter(&reader, &field);
    size_t length;
    const char *text = wire_text(&field, &length);
    if (field.number == 1 && !tf_intern(model, text, length, &tensor->name)) return false;
    else if (field.number == 2) tf_read_shape(&child, tensor->shape);
    else if (field.number == 3) tensor->dtype = wire_int32(&field);
    else if (field.number == 4 && !add_slice(tensor, &child)) return tf_no_memory(model);
  }
  tf_check(model, &reader);
  tensor->elements = tf_shape_elements(tensor->shape);
  return reading->checkpoint->file_count == 1 || merge_shards(reading);
}

/* The entry "": of V1 the list of everything. */
static bool read_header(struct reading *reading, const uint8_t *value, size_t length) {
  struct wire_reader reader = wire_open(value, length);
  struct wire_field field;
  while (wire_next(&reader, &field)) {
    if (field.number == 1 && field.type == WIRE_VARINT) reading->checkpoint->shards = wire_uint32(&field);
    if (field.number != 1 || field.type != WIRE_BYTES) continue;
    struct wire_reader meta = wire_enter(&reader, &field);
    reading->checkpoint->is_v1 = true;
    while (wire_next(&meta, &field)) {
      if (field.number == 1 && !read_meta_tensor(reading, wire_enter(&meta, &field))) return false;
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
  char **files = realloc(checkpoint->files, (checkpoint->file_count + 1) * sizeof *files);
  if (!files) return false;
  checkpoint->files = files;
  return (files[checkpoint->file_count] = strdup(path)) && ++checkpoint->file_count;
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
  if (ok && !checkpoint->file_count) {
    ok = asprintf(&name, "%s-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]", path) >= 0;
    if (ok) ok = add_matches(checkpoint, name);
    if (name) free(name);
  }
  return ok && (checkpoint->file_count || add_file(checkpoint, path));
}

enum tfprof_status tf_checkpoint_file(const char *path, char **file, struct tfprof_error *error) {
  struct tf_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
  *file = checkpoint && find_files(checkpoint, path) ? strdup(checkpoint->files[0]) : NULL;
  tf_checkpoint_free(checkpoint);
  return *file ? TFPROF_OK : error_no_memory(error);
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
  for (size_t i = 0; i < checkpoint->file_count && !status; i++) {
    const char *file = checkpoint->files[i];
    struct reading reading = {model, checkpoint, true};
    tf_begin_file(model, file);
    status = tf_table_each(file, take_entry, &reading, model->error);
    if (!status) status = model->status;
    if (!status && stat(file, &facts) == 0) model->file_bytes = tf_add(model, model->file_bytes, facts.st_size);
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
    struct tf_text text = {0};
    string_id id = 0;
    if (tensors[i].shape->is_known) tf_shape_text(tensors[i].shape, &text);
    ok = text.failed ? tf_no_memory(model) : tf_intern(model, text.bytes, text.length, &id);
    tf_text_free(&text);
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

/* ---- values ---- */

/* The bytes of one tensor, elements in row-major order; of strings their lengths and texts as V2 stores them. */
struct content {
  uint8_t *bytes;
  size_t length;
  int64_t filled; /* elements that slices have brought; overlapping ones count twice */
};

/* Why a value cannot be had; NULL: it can. */
static const char *read_bytes(const struct tf_checkpoint *checkpoint, uint32_t shard, uint64_t offset, uint64_t size,
                              struct content *content) {
  char *path;
  struct stat facts;
  if (asprintf(&path, "%s.data-%05u-of-%05u", checkpoint->prefix, shard, checkpoint->shards) < 0) return "no memory";
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  free(path);
  if (fd < 0) return "the file with its bytes cannot be opened";
  const char *wrong = NULL;
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || offset > (uint64_t)facts.st_size ||
      size > (uint64_t)facts.st_size - offset)
    wrong = "its bytes lie outside of the file";
  else if (!(content->bytes = malloc((size_t)size + 1))) wrong = "no memory";
  for (size_t done = 0; !wrong && done < size;) {
    ssize_t got = pread(fd, content->bytes + done, (size_t)size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) wrong = "its bytes cannot be read";
    else done += (size_t)got;
  }
  content->length = (size_t)size;
  close(fd);
  return wrong;
}

/* Puts a slice where it belongs. False: it does not fit. */
static bool place_slice(const struct tensor *tensor, const struct extent *extent, const uint8_t *bytes, size_t length,
                        struct content *content) {
  uint8_t *whole = content->bytes;
  size_t width = tf_dtype_bytes(tensor->dtype);
  unsigned rank = tensor->shape->rank;
  int64_t start[MAXIMUM_DIMENSIONS], size[MAXIMUM_DIMENSIONS], count = 1, at[MAXIMUM_DIMENSIONS] = {0};
  if (rank > MAXIMUM_DIMENSIONS || (extent->rank && extent->rank != rank)) return false;
  for (unsigned d = 0; d < rank; d++) {
    int64_t all = tensor->shape->sizes[d];
    bool is_all = !extent->rank || extent->length[d] < 0;
    start[d] = is_all ? 0 : extent->start[d];
    size[d] = is_all ? all : extent->length[d];
    if (start[d] < 0 || start[d] > all || size[d] > all - start[d]) return false;
    count *= size[d]; /* at most the tensor's own number */
  }
  if ((uint64_t)count * width != length) return false;
  if (__builtin_add_overflow(content->filled, count, &content->filled)) return false;
  if (rank == 0) {
    memcpy(whole, bytes, length);
    return true;
  }
  size_t row = (size_t)size[rank - 1] * width;
  for (int64_t done = 0; row && done < count; done += size[rank - 1]) {
    int64_t index = 0;
    for (unsigned d = 0; d < rank; d++) index = index * tensor->shape->sizes[d] + start[d] + (d + 1 < rank ? at[d] : 0);
    memcpy(whole + (size_t)index * width, bytes, row);
    bytes += row;
    for (unsigned d = rank - 1; d-- > 0;) { /* the next row */
      if (++at[d] < size[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

/* OrderedCode of tensorflow/core/lib/strings/ordered_code.h. */
static void put_number(struct tf_text *key, uint64_t number) {
  char bytes[9];
  unsigned length = 0;
  for (uint64_t rest = number; rest; rest >>= 8) length++;
  bytes[0] = (char)length;
  for (unsigned i = 0; i < length; i++) bytes[1 + i] = (char)(number >> 8 * (length - 1 - i));
  tf_text_add(key, bytes, 1 + length);
}

static void put_signed(struct tf_text *key, int64_t number) {
  uint64_t size = (uint64_t)(number < 0 ? ~number : number);
  uint8_t bytes[10];
  unsigned length = 1;
  while (length < 10 && size >> (7 * length - 1 < 63 ? 7 * length - 1 : 63)) length++;
  memset(bytes, number < 0 ? 0xff : 0, sizeof bytes);
  for (unsigned i = 0; i < 8; i++) bytes[2 + i] = (uint8_t)((uint64_t)number >> 8 * (7 - i));
  uint8_t *first = bytes + 10 - length;
  if (length < 9) first[0] ^= (uint8_t)(0xff00 >> length);
  else first[0] ^= 0xff, first[1] ^= length == 9 ? 0x80 : 0xc0;
  tf_text_add(key, (const char *)first, length);
}

static void slice_key(const char *name, size_t length, const struct extent *extent, struct tf_text *key) {
  put_number(key, 0);
  for (size_t i = 0; i < length; i++) {
    tf_text_add(key, name + i, 1);
    if (name[i] == 0) tf_text_add(key, "\xff", 1);
    else if ((uint8_t)name[i] == 0xff) tf_text_add(key, "\0", 1);
  }
  tf_text_add(key, "\0\1", 2);
  put_number(key, extent->rank);
  for (unsigned d = 0; d < extent->rank; d++) {
    put_signed(key, extent->start[d]);
    put_signed(key, extent->length[d]);
  }
}

static const char not_filled[] = "its slices do not fill it";

static const char *read_slices(const struct tf_checkpoint *checkpoint, const struct pool *pool,
                               const struct tensor *tensor, struct content *whole) {
  for (size_t i = 0; i < tensor->slice_count; i++) {
    struct tf_text key = {0};
    const struct slice_entry *found = NULL;
    slice_key(pool_text(pool, tensor->name), pool_length(pool, tensor->name), &tensor->slices[i], &key);
    if (key.failed) return "no memory";
    for (size_t k = 0; k < checkpoint->slices.count && !found; k++) {
      const struct slice_entry *slice = &checkpoint->slices.items[k];
      if (slice->key_length == key.length && memcmp(slice->key, key.bytes, key.length) == 0) found = slice;
    }
    tf_text_free(&key);
    if (!found) return "one of its slices is missing";
    struct content content = {0};
    const char *wrong = read_bytes(checkpoint, found->shard, found->offset, found->size, &content);
    if (!wrong && !place_slice(tensor, &tensor->slices[i], content.bytes, content.length, whole))
      wrong = "one of its slices does not fit";
    free(content.bytes);
    if (wrong) return wrong;
  }
  return whole->filled < tensor->elements ? not_filled : NULL;
}

static const char *read_tensor(const struct tf_checkpoint *checkpoint, const struct pool *pool,
                               const struct tensor *tensor, struct content *content) {
  size_t width = tf_dtype_bytes(tensor->dtype);
  if (tensor->slice_count == 0 || width == 0) {
    const char *wrong = read_bytes(checkpoint, tensor->shard, tensor->offset, tensor->size, content);
    if (!wrong && width && (content->length % width || content->length / width != (uint64_t)tensor->elements))
      wrong = "its size does not fit its shape";
    uint32_t crc = wrong || !tensor->has_crc || !width ? 0 : tf_crc32c(content->bytes, content->length);
    if (!wrong && tensor->has_crc && width && (crc >> 15 | crc << 17) + 0xa282ead8u != tensor->crc)
      wrong = "its checksum is wrong";
    return wrong;
  }
  uint64_t stored = 0;
  for (size_t i = 0; i < checkpoint->slices.count; i++) stored += checkpoint->slices.items[i].size;
  if ((uint64_t)tensor->elements > stored / width) return not_filled;
  content->length = (size_t)tensor->elements * width;
  content->bytes = calloc(content->length + 1, 1);
  return content->bytes ? read_slices(checkpoint, pool, tensor, content) : "no memory";
}

/* ---- V1: values lie among the entries ---- */

struct v1_reading {
  const struct tf_checkpoint *checkpoint;
  const struct pool *pool;
  struct content *contents; /* of each tensor */
};

static bool is_text(int dtype) { return dtype % 100 == 7; }

/* The numbers of a TensorProto as bytes of its type. */
static bool tensor_bytes(struct wire_reader reader, int dtype, struct tf_text *bytes) {
  struct wire_field field;
  size_t width = tf_dtype_bytes(dtype);
  while (wire_next(&reader, &field)) {
    uint64_t value;
    size_t length;
    const char *text = wire_text(&field, &length);
    enum wire_type type = field.number == 5 || field.number == 9    ? WIRE_FIXED32
                          : field.number == 6 || field.number == 12 ? WIRE_FIXED64
                                                                    : WIRE_VARINT;
    switch (field.number) {
      case 4: tf_text_add(bytes, text, length); break; /* tensor_content */
      case 5: case 6: case 7: case 9: case 10: case 11: case 12: case 13: case 16: case 17: {
        size_t part = field.number == 9 ? 4 : field.number == 12 ? 8 : width; /* complex numbers come in halves */
        for (struct wire_packed list = wire_unpack(&field, type); wire_packed_next(&list, &value);)
          tf_text_add(bytes, (const char *)&value, part);
        break;
      }
    }
  }
  return !bytes->failed;
}

/* The texts of a TensorProto as V2 stores them: lengths, four bytes for a checksum, texts. */
static bool tensor_texts(struct wire_reader reader, struct tf_text *bytes, int64_t *count) {
  struct wire_field field;
  struct wire_reader again = reader;
  while (wire_next(&reader, &field)) {
    uint8_t length[VARINT_MAXIMUM_BYTES];
    if (field.number != 8) continue;
    tf_text_add(bytes, (const char *)length, (size_t)(varint_write(length, field.length) - length));
    ++*count;
  }
  tf_text_add(bytes, "\0\0\0\0", 4);
  while (wire_next(&again, &field)) {
    if (field.number == 8) tf_text_add(bytes, (const char *)field.bytes, field.length);
  }
  return !bytes->failed;
}

/* Texts are saved whole. */
static void take_v1_texts(const struct tensor *tensor, struct wire_reader data, struct content *content) {
  struct tf_text bytes = {0};
  int64_t count = 0;
  if (content->bytes || !tensor_texts(data, &bytes, &count) || count != tensor->elements) {
    tf_text_free(&bytes);
    return;
  }
  *content = (struct content){(uint8_t *)bytes.bytes, bytes.length, count};
}

static bool take_v1_entry(void *context, const uint8_t *key, size_t key_length, const uint8_t *value, size_t length) {
  struct v1_reading *reading = context;
  struct wire_reader reader = wire_open(value, length);
  struct wire_field field;
  if (key_length == 0) return true;
  (void)key;
  while (wire_next(&reader, &field)) {
    if (field.number != 2) continue;
    struct wire_reader slice = wire_enter(&reader, &field), data = slice;
    struct extent extent = {0};
    string_id name = 0;
    data.at = data.end;
    while (wire_next(&slice, &field)) {
      struct wire_reader child = wire_enter(&slice, &field);
      size_t size;
      const char *text = wire_text(&field, &size);
      if (field.number == 1) name = pool_find(reading->pool, text, size);
      else if (field.number == 2) read_extent(&child, &extent);
      else if (field.number == 3) data = child;
    }
    for (size_t i = 0; i < reading->checkpoint->tensors.count && name; i++) {
      const struct tensor *tensor = &reading->checkpoint->tensors.items[i];
      struct content *content = &reading->contents[i];
      size_t width = tf_dtype_bytes(tensor->dtype);
      struct tf_text bytes = {0};
      if (tensor->name == name && is_text(tensor->dtype)) {
        take_v1_texts(tensor, data, content);
        break;
      }
      if (tensor->name != name || !width || tensor->elements < 0 ||
          (uint64_t)tensor->elements > ((uint64_t)1 << 31) / width)
        continue;
      if (!content->bytes && (content->bytes = calloc((size_t)tensor->elements * width + 1, 1)))
        content->length = (size_t)tensor->elements * width;
      if (content->bytes && tensor_bytes(data, tensor->dtype, &bytes))
        place_slice(tensor, &extent, (const uint8_t *)(bytes.bytes ? bytes.bytes : ""), bytes.length, content);
      tf_text_free(&bytes);
      break;
    }
  }
  return true;
}

/* ---- values as text ---- */

static float half_to_float(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float value = exponent == 0    ? ldexpf((float)mantissa, -24)
                : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                 : ldexpf((float)(mantissa + 1024), exponent - 25);
  return bits & 0x8000 ? -value : value;
}

static float small_float(uint8_t bits, int exponent_bits) {
  int mantissa_bits = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1,
      mantissa = bits & ((1 << mantissa_bits) - 1);
  int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1), top = (1 << exponent_bits) - 1;
  float value;
  if (exponent_bits == 5 && exponent == top) value = mantissa ? NAN : INFINITY;
  else if (exponent_bits == 4 && exponent == top && mantissa == 7) value = NAN;
  else if (exponent == 0) value = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
  else value = ldexpf((float)(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
  return bits & 0x80 ? -value : value;
}

/* One element as a number. *is_real, *digits: how it is written. */
static double element(int dtype, const uint8_t *at, bool *is_real, int *digits) {
  *is_real = true;
  *digits = 9;
  if (dtype > 100) dtype -= 100;
  switch (dtype) {
    case 1: return wire_float_of_bits(load_u32(at));
    case 2: *digits = 17; return wire_double_of_bits(load_u64(at));
    case 14: return wire_float_of_bits((uint32_t)(at[0] | at[1] << 8) << 16);
    case 19: return half_to_float((uint16_t)(at[0] | at[1] << 8));
    case 24: return small_float(*at, 5);
    case 25: return small_float(*at, 4);
  }
  *is_real = false;
  switch (dtype) {
    case 3: case 13: return (int32_t)load_u32(at);
    case 4: case 10: case 12: return *at;
    case 6: case 11: return (int8_t)*at;
    case 29: return (*at & 15) - (*at & 8) * 2; /* four bits, in a byte each */
    case 30: return *at & 15;
    case 5: case 15: return (int16_t)(at[0] | at[1] << 8);
    case 16: case 17: return (uint16_t)(at[0] | at[1] << 8);
    case 22: return load_u32(at);
  }
  return 0;
}

static void write_element(int dtype, const uint8_t *at, struct tf_text *text) {
  bool is_real;
  int digits;
  if (dtype > 100) dtype -= 100;
  if (dtype == 9) tf_text_print(text, "%lld", (long long)(int64_t)load_u64(at));
  else if (dtype == 23) tf_text_print(text, "%llu", (unsigned long long)load_u64(at));
  else if (dtype == 10) tf_text_print(text, "%s", *at ? "true" : "false");
  else if (dtype == 8 || dtype == 18) {
    double re = dtype == 8 ? wire_float_of_bits(load_u32(at)) : wire_double_of_bits(load_u64(at));
    double im = dtype == 8 ? wire_float_of_bits(load_u32(at + 4)) : wire_double_of_bits(load_u64(at + 8));
    digits = dtype == 8 ? 9 : 17;
    tf_text_add(text, "[", 1);
    tf_text_real(text, digits, re);
    tf_text_add(text, ",", 1);
    tf_text_real(text, digits, im);
    tf_text_add(text, "]", 1);
  } else {
    double value = element(dtype, at, &is_real, &digits);
    if (is_real) tf_text_real(text, digits, value);
    else tf_text_print(text, "%.0f", value);
  }
}

/* Nested lists; brackets open and close where indexes begin and end. */
static void write_value(const struct tensor *tensor, const struct content *content, struct tf_text *text) {
  unsigned rank = tensor->shape->rank;
  size_t width = tf_dtype_bytes(tensor->dtype), strings = (size_t)tensor->elements;
  const uint8_t *lengths = content->bytes, *end = content->bytes + content->length, *bytes = NULL;
  if (!width) { /* strings: their lengths, a checksum of these, their bytes */
    bytes = content->bytes;
    for (size_t i = 0; i < strings && bytes; i++) {
      uint64_t length;
      bytes = varint_read(bytes, end, &length);
    }
    if (!bytes || end - bytes < 4) {
      tf_text_add(text, "null", 4);
      return;
    }
    bytes += 4;
  }
  for (int64_t i = 0; i < tensor->elements; i++) {
    int64_t block = 1;
    unsigned opens = 0;
    for (unsigned d = rank; d-- > 0;) {
      block *= tensor->shape->sizes[d];
      if (i % block == 0) opens++;
      else break;
    }
    if (i) tf_text_add(text, ",", 1);
    for (unsigned k = 0; k < opens; k++) tf_text_add(text, "[", 1);
    if (width) {
      write_element(tensor->dtype, content->bytes + (size_t)i * width, text);
    } else {
      uint64_t length = 0;
      lengths = varint_read(lengths, end, &length);
      if (length > (size_t)(end - bytes)) length = (size_t)(end - bytes);
      tf_text_quote(text, (const char *)bytes, (size_t)length);
      bytes += length;
    }
    block = 1;
    for (unsigned d = rank; d-- > 0;) {
      block *= tensor->shape->sizes[d];
      if ((i + 1) % block != 0) break;
      tf_text_add(text, "]", 1);
    }
  }
  if (tensor->elements == 0) tf_text_add(text, "[]", 2);
}

struct summary {
  double minimum, maximum, mean;
  bool is_known;
};

static struct summary summarise(const struct tensor *tensor, const struct content *content) {
  struct summary summary = {0};
  size_t width = tf_dtype_bytes(tensor->dtype);
  int dtype = tensor->dtype > 100 ? tensor->dtype - 100 : tensor->dtype;
  double sum = 0, count = 0;
  if (!width || dtype == 8 || dtype == 18) return summary;
  for (int64_t i = 0; i < tensor->elements; i++) {
    const uint8_t *at = content->bytes + (size_t)i * width;
    bool is_real;
    int digits;
    double value = dtype == 9    ? (double)(int64_t)load_u64(at)
                   : dtype == 23 ? (double)load_u64(at)
                                 : element(dtype, at, &is_real, &digits);
    if (!isfinite(value)) continue;
    if (!summary.is_known || value < summary.minimum) summary.minimum = value;
    if (!summary.is_known || value > summary.maximum) summary.maximum = value;
    summary.is_known = true;
    sum += value;
    count++;
  }
  if (summary.is_known) summary.mean = sum / count;
  return summary;
}

/* ---- loading ---- */

struct loaded {
  int64_t *values;
  double *numbers[3];
  uint64_t *value_nulls, *number_nulls;
};

static void load_tensor(struct profile *profile, struct segment *segment, const struct tf_checkpoint *checkpoint,
                        uint32_t row, struct content *content, struct loaded *loaded, bool wants_text) {
  struct pool *pool = store_pool(profile->store);
  const struct tensor *tensor = &checkpoint->tensors.items[row];
  const char *wrong = tensor->elements < 0 ? "its shape is not known" : NULL;
  struct tf_text text = {0};
  string_id id = 0;
  if (!wrong && !checkpoint->is_v1) wrong = read_tensor(checkpoint, pool, tensor, content);
  else if (!wrong && !content->bytes && tensor->elements) wrong = "its bytes are missing";
  else if (!wrong && content->filled < tensor->elements) wrong = not_filled;
  if (!wrong) {
    struct summary summary = summarise(tensor, content);
    loaded->numbers[0][row] = summary.minimum;
    loaded->numbers[1][row] = summary.maximum;
    loaded->numbers[2][row] = summary.mean;
    if (summary.is_known) loaded->number_nulls[row >> 6] &= ~((uint64_t)1 << (row & 63));
    if (wants_text) {
      write_value(tensor, content, &text);
      if (text.failed || pool_intern(pool, text.bytes ? text.bytes : "", text.length, &id))
        wrong = "its text is too long";
      else loaded->value_nulls[row >> 6] &= ~((uint64_t)1 << (row & 63));
      loaded->values[row] = id;
    }
  }
  if (wrong)
    segment_diagnose(segment, COLUMN_tensors_value, "error", "tensor_value", 1, -1,
                     "the value of a tensor cannot be read: %s", wrong);
  tf_text_free(&text);
  free(content->bytes);
  *content = (struct content){0};
}

enum tfprof_status tf_checkpoint_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                      unsigned count, struct column **out, struct tfprof_error *error) {
  const struct tf_checkpoint *checkpoint = ((const struct tf_source *)profile->source_data)->checkpoint;
  if (segment->table != TABLE_tensors || !checkpoint) return TFPROF_OK;
  uint32_t rows = segment->rows;
  size_t words = (rows + 63) / 64;
  struct loaded loaded = {
      .values = calloc(rows, sizeof(int64_t)), .value_nulls = malloc(words * 8), .number_nulls = malloc(words * 8)};
  struct content *contents = calloc(rows, sizeof *contents);
  bool ok = loaded.values && loaded.value_nulls && loaded.number_nulls && contents, wants_text = false;
  for (int i = 0; i < 3; i++) ok = (loaded.numbers[i] = calloc(rows, sizeof(double))) && ok;
  for (unsigned i = 0; i < count; i++) wants_text |= columns[i] == COLUMN_tensors_value;
  enum tfprof_status status = ok ? TFPROF_OK : error_no_memory(error);
  if (ok) {
    memset(loaded.value_nulls, 0xff, words * 8);
    memset(loaded.number_nulls, 0xff, words * 8);
    struct v1_reading reading = {checkpoint, store_pool(profile->store), contents};
    for (size_t i = 0; i < checkpoint->file_count && checkpoint->is_v1 && !status; i++)
      status = tf_table_each(checkpoint->files[i], take_v1_entry, &reading, error);
    for (uint32_t row = 0; row < rows && !status; row++) {
      if (store_interrupted(profile->store)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
      else load_tensor(profile, segment, checkpoint, row, &contents[row], &loaded, wants_text);
    }
  }
  for (unsigned i = 0; i < count && !status; i++) {
    int number = columns[i] == COLUMN_tensors_minimum   ? 0
                 : columns[i] == COLUMN_tensors_maximum ? 1
                 : columns[i] == COLUMN_tensors_mean    ? 2
                                                        : -1;
    if (columns[i] == COLUMN_tensors_value) out[i] = column_from_integers(loaded.values, loaded.value_nulls, rows);
    else if (number >= 0) out[i] = column_from_reals(loaded.numbers[number], loaded.number_nulls, rows);
    else continue;
    if (!out[i]) status = error_no_memory(error);
  }
  for (uint32_t row = 0; row < rows && contents; row++) free(contents[row].bytes);
  for (int i = 0; i < 3; i++) free(loaded.numbers[i]);
  free(contents);
  free(loaded.values);
  free(loaded.value_nulls);
  free(loaded.number_nulls);
  return status;
}
