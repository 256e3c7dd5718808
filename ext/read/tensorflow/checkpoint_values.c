/* checkpoint_values.c: the values of the tensors of a checkpoint, read when they are asked for (checkpoint.h). */
#include "read/tensorflow/checkpoint_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- V2: bytes in files of their own ---- */

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
    if (key.failed) {
      tf_text_free(&key);
      return "no memory";
    }
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
      else if (field.number == 2) tf_read_extent(&child, &extent);
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
    struct summary summary = tf_tensor_summarise(tensor, content);
    loaded->numbers[0][row] = summary.minimum;
    loaded->numbers[1][row] = summary.maximum;
    loaded->numbers[2][row] = summary.mean;
    if (summary.is_known) loaded->number_nulls[row >> 6] &= ~((uint64_t)1 << (row & 63));
    if (wants_text) {
      tf_tensor_write(tensor, content, &text);
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
