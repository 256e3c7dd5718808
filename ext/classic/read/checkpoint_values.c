/* checkpoint_values.c: the values of the tensors of a checkpoint, read when they are asked for (checkpoint.h). */
#include "classic/read/checkpoint_private.h"
#include "classic/read/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* What all values together may take, read and written as text: a few times what the files have.  Entries may name the
** same bytes any number of times, shapes any number of elements. */
struct allowance {
  uint64_t bytes, text_bytes;
};
enum {
  FREE_BYTES = 64 << 20,
  READS_OF_A_BYTE = 4,  /* of V2: a slice is read, and put in its place */
  ZEROS_OF_A_BYTE = 24, /* of V1: what Snappy packs them to */
  TEXT_OF_A_BYTE = 16
};

static const char too_much[] = "the values of all tensors are more than files of their size can hold";

static bool may_take(uint64_t *left, uint64_t bytes) {
  if (bytes > *left) return false;
  *left -= bytes;
  return true;
}

/* ---- V2: bytes in files of their own ---- */

static char *shard_path(const struct tf_checkpoint *checkpoint, uint32_t shard) {
  char *path;
  return asprintf(&path, "%s.data-%05u-of-%05u", checkpoint->prefix, shard, checkpoint->shards) < 0 ? NULL : path;
}

static int compare_shards(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return a < b ? -1 : a > b;
}

/* The bytes of all files that an entry names. False: no memory. */
static bool find_shard_bytes(const struct tf_checkpoint *checkpoint, uint64_t *bytes) {
  size_t count = 0;
  uint32_t *shards = malloc((checkpoint->tensors.count + checkpoint->slices.count + 1) * sizeof *shards);
  *bytes = 0;
  if (!shards) return false;
  for (size_t i = 0; i < checkpoint->tensors.count; i++) shards[count++] = checkpoint->tensors.items[i].shard;
  for (size_t i = 0; i < checkpoint->slices.count; i++) shards[count++] = checkpoint->slices.items[i].shard;
  qsort(shards, count, sizeof *shards, compare_shards);
  bool ok = true;
  for (size_t i = 0; i < count && ok; i++) {
    struct stat facts;
    if (i && shards[i] == shards[i - 1]) continue;
    char *path = shard_path(checkpoint, shards[i]);
    ok = path != NULL;
    if (ok && stat(path, &facts) == 0 && S_ISREG(facts.st_mode)) *bytes += (uint64_t)facts.st_size;
    free(path);
  }
  free(shards);
  return ok;
}

/* Why a value cannot be had; NULL: it can. */
static const char *read_bytes(const struct tf_checkpoint *checkpoint, uint32_t shard, uint64_t offset, uint64_t size,
                              struct allowance *allowance, struct content *content) {
  struct stat facts;
  char *path = shard_path(checkpoint, shard);
  if (!path) return "no memory";
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  free(path);
  if (fd < 0) return "the file with its bytes cannot be opened";
  const char *wrong = NULL;
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || offset > (uint64_t)facts.st_size ||
      size > (uint64_t)facts.st_size - offset)
    wrong = "its bytes lie outside of the file";
  else if (!may_take(&allowance->bytes, size)) wrong = too_much;
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
  unsigned rank = tensor->rank;
  int64_t start[MAXIMUM_DIMENSIONS], size[MAXIMUM_DIMENSIONS], count = 1, at[MAXIMUM_DIMENSIONS] = {0};
  if (rank > MAXIMUM_DIMENSIONS || (extent->rank && extent->rank != rank)) return false;
  for (unsigned d = 0; d < rank; d++) {
    int64_t all = tensor->sizes[d];
    bool is_all = !extent->rank || extent->parts[d].length < 0;
    start[d] = is_all ? 0 : extent->parts[d].start;
    size[d] = is_all ? all : extent->parts[d].length;
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
    for (unsigned d = 0; d < rank; d++) index = index * tensor->sizes[d] + start[d] + (d + 1 < rank ? at[d] : 0);
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
static void put_number(struct text_buffer *key, uint64_t number) {
  char bytes[9];
  unsigned length = 0;
  for (uint64_t rest = number; rest; rest >>= 8) length++;
  bytes[0] = (char)length;
  for (unsigned i = 0; i < length; i++) bytes[1 + i] = (char)(number >> 8 * (length - 1 - i));
  text_buffer_add(key, bytes, 1 + length);
}

static void put_signed(struct text_buffer *key, int64_t number) {
  uint64_t size = (uint64_t)(number < 0 ? ~number : number);
  uint8_t bytes[10];
  unsigned length = 1;
  while (length < 10 && size >> (7 * length - 1 < 63 ? 7 * length - 1 : 63)) length++;
  memset(bytes, number < 0 ? 0xff : 0, sizeof bytes);
  for (unsigned i = 0; i < 8; i++) bytes[2 + i] = (uint8_t)((uint64_t)number >> 8 * (7 - i));
  uint8_t *first = bytes + 10 - length;
  if (length < 9) first[0] ^= (uint8_t)(0xff00 >> length);
  else first[0] ^= 0xff, first[1] ^= length == 9 ? 0x80 : 0xc0;
  text_buffer_add(key, (const char *)first, length);
}

/* What the keys of all slices of a tensor begin with. */
static void slice_key_of_name(const char *name, size_t length, struct text_buffer *key) {
  put_number(key, 0);
  for (size_t i = 0; i < length; i++) {
    text_buffer_add(key, name + i, 1);
    if (name[i] == 0) text_buffer_add(key, "\xff", 1);
    else if ((uint8_t)name[i] == 0xff) text_buffer_add(key, "\0", 1);
  }
  text_buffer_add(key, "\0\1", 2);
}

static void add_extent_to_key(const struct extent *extent, struct text_buffer *key) {
  put_number(key, extent->rank);
  for (unsigned d = 0; d < extent->rank; d++) {
    put_signed(key, extent->parts[d].start);
    put_signed(key, extent->parts[d].length);
  }
}

static int compare_keys(const struct slice_entry *slice, const char *key, size_t length) {
  size_t common = slice->key_length < length ? slice->key_length : length;
  int order = common ? memcmp(slice->key, key, common) : 0;
  return order ? order : slice->key_length < length ? -1 : slice->key_length > length;
}

static const struct slice_entry *find_slice(const struct tf_checkpoint *checkpoint, const struct text_buffer *key) {
  size_t low = 0, high = checkpoint->slices.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = compare_keys(&checkpoint->slices.items[middle], key->bytes, key->length);
    if (order == 0) return &checkpoint->slices.items[middle];
    if (order < 0) low = middle + 1; else high = middle;
  }
  return NULL;
}

static const char not_filled[] = "its slices do not fill it";

static const char *read_slice(const struct tf_checkpoint *checkpoint, const struct tensor *tensor,
                              const struct extent *extent, const struct text_buffer *key, struct allowance *allowance,
                              struct content *whole) {
  const struct slice_entry *found = find_slice(checkpoint, key);
  struct content content = {0};
  if (!found) return "one of its slices is missing";
  const char *wrong = read_bytes(checkpoint, found->shard, found->offset, found->size, allowance, &content);
  if (!wrong && !place_slice(tensor, extent, content.bytes, content.length, whole))
    wrong = "one of its slices does not fit";
  free(content.bytes);
  return wrong;
}

static const char *read_slices(const struct tf_checkpoint *checkpoint, const struct pool *pool,
                               const struct tensor *tensor, struct allowance *allowance, struct content *whole) {
  struct text_buffer key = {0};
  const char *wrong = NULL;
  slice_key_of_name(pool_text(pool, tensor->name), pool_length(pool, tensor->name), &key);
  size_t length = key.length;
  for (size_t i = 0; i < tensor->slice_count && !wrong; i++) {
    key.length = length;
    add_extent_to_key(&tensor->slices[i], &key);
    if (key.failed) wrong = "no memory";
    else if (!may_take(&allowance->bytes, key.length)) wrong = too_much;
    else wrong = read_slice(checkpoint, tensor, &tensor->slices[i], &key, allowance, whole);
  }
  text_buffer_free(&key);
  return wrong ? wrong : whole->filled < tensor->elements ? not_filled : NULL;
}

static const char *read_tensor(const struct tf_checkpoint *checkpoint, const struct pool *pool,
                               const struct tensor *tensor, struct allowance *allowance, struct content *content) {
  size_t width = tf_dtype_bytes(tensor->dtype);
  if (tensor->slice_count == 0 || width == 0) {
    const char *wrong = read_bytes(checkpoint, tensor->shard, tensor->offset, tensor->size, allowance, content);
    if (!wrong && width && (content->length % width || content->length / width != (uint64_t)tensor->elements))
      wrong = "its size does not fit its shape";
    uint32_t crc = wrong || !tensor->has_crc || !width ? 0 : tf_crc32c(content->bytes, content->length);
    if (!wrong && tensor->has_crc && width && (crc >> 15 | crc << 17) + 0xa282ead8u != tensor->crc)
      wrong = "its checksum is wrong";
    return wrong;
  }
  if ((uint64_t)tensor->elements > allowance->bytes / width) return too_much;
  may_take(&allowance->bytes, (uint64_t)tensor->elements * width);
  content->length = (size_t)tensor->elements * width;
  content->bytes = calloc(content->length + 1, 1);
  return content->bytes ? read_slices(checkpoint, pool, tensor, allowance, content) : "no memory";
}

/* ---- V1: values lie among the entries ---- */

struct v1_reading {
  const struct tf_checkpoint *checkpoint;
  const struct pool *pool;
  struct allowance *allowance;
  struct content *contents; /* of each tensor */
  bool has_failed;          /* no memory */
};

static bool is_text(int dtype) { return dtype % 100 == 7; }

/* The numbers of a TensorProto as bytes of its type. */
static bool tensor_bytes(struct wire_reader reader, int dtype, struct text_buffer *bytes) {
  struct wire_field field;
  size_t width = tf_dtype_bytes(dtype);
  while (wire_next(&reader, &field)) {
    uint64_t value;
    size_t length;
    const char *text = wire_text(&field, &length);
    bool is_complex = field.number == TensorProto_scomplex_val || field.number == TensorProto_dcomplex_val;
    bool is_float = field.number == TensorProto_float_val || field.number == TensorProto_scomplex_val;
    bool is_double = field.number == TensorProto_double_val || field.number == TensorProto_dcomplex_val;
    enum wire_type type = is_float ? WIRE_FIXED32 : is_double ? WIRE_FIXED64 : WIRE_VARINT;
    switch (field.number) {
      case TensorProto_tensor_content: text_buffer_add(bytes, text, length); break; /* tensor_content */
      case TensorProto_float_val: case TensorProto_double_val: case TensorProto_int_val: case TensorProto_scomplex_val:
      case TensorProto_int64_val: case TensorProto_bool_val: case TensorProto_dcomplex_val: case TensorProto_half_val:
      case TensorProto_uint32_val: case TensorProto_uint64_val: {
        size_t part = !is_complex ? width : is_float ? 4 : 8; /* complex numbers come in halves */
        for (struct wire_packed list = wire_unpack(&field, type); wire_packed_next(&list, &value);)
          text_buffer_add(bytes, (const char *)&value, part);
        break;
      }
    }
  }
  return !bytes->failed;
}

/* The texts of a TensorProto as V2 stores them: lengths, four bytes for a checksum, texts. */
static bool tensor_texts(struct wire_reader reader, struct text_buffer *bytes, int64_t *count) {
  struct wire_field field;
  struct wire_reader again = reader;
  while (wire_next(&reader, &field)) {
    uint8_t length[VARINT_MAXIMUM_BYTES];
    if (field.number != TensorProto_string_val) continue;
    text_buffer_add(bytes, (const char *)length, (size_t)(varint_write(length, field.length) - length));
    ++*count;
  }
  text_buffer_add(bytes, "\0\0\0\0", 4);
  while (wire_next(&again, &field)) {
    if (field.number == TensorProto_string_val) text_buffer_add(bytes, (const char *)field.bytes, field.length);
  }
  return !bytes->failed;
}

/* Texts are saved whole. */
static void take_v1_texts(const struct tensor *tensor, struct wire_reader data, struct content *content) {
  struct text_buffer bytes = {0};
  int64_t count = 0;
  if (content->bytes || !tensor_texts(data, &bytes, &count) || count != tensor->elements) {
    text_buffer_free(&bytes);
    return;
  }
  *content = (struct content){(uint8_t *)bytes.bytes, bytes.length, count};
}

/* The first tensor of a name, or the number of tensors. */
static size_t find_tensor(const struct tf_checkpoint *checkpoint, string_id name) {
  size_t count = checkpoint->tensors.count, low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (checkpoint->tensors.items[checkpoint->by_name[middle]].name < name) low = middle + 1; else high = middle;
  }
  bool is_found = low < count && checkpoint->tensors.items[checkpoint->by_name[low]].name == name;
  return is_found ? checkpoint->by_name[low] : count;
}

/* Puts the numbers of a slice where they belong, if they do. */
static void take_v1_numbers(struct v1_reading *reading, const struct tensor *tensor, const struct extent *extent,
                            struct wire_reader data, struct content *content) {
  size_t width = tf_dtype_bytes(tensor->dtype);
  struct text_buffer bytes = {0};
  if (!width || tensor->elements < 0 || (uint64_t)tensor->elements > ((uint64_t)1 << 31) / width) return;
  size_t length = (size_t)tensor->elements * width;
  if (!content->bytes && may_take(&reading->allowance->bytes, length) && (content->bytes = calloc(length + 1, 1)))
    content->length = length;
  if (content->bytes && tensor_bytes(data, tensor->dtype, &bytes))
    place_slice(tensor, extent, (const uint8_t *)(bytes.bytes ? bytes.bytes : ""), bytes.length, content);
  text_buffer_free(&bytes);
}

static void take_v1_slice(struct v1_reading *reading, struct wire_reader slice) {
  struct wire_field field;
  struct wire_reader data = slice;
  struct extent extent = {0};
  string_id name = 0;
  data.at = data.end;
  while (wire_next(&slice, &field)) {
    struct wire_reader child = wire_enter(&slice, &field);
    size_t size;
    const char *text = wire_text(&field, &size);
    if (field.number == SavedSlice_name) name = pool_find(reading->pool, text, size);
    else if (field.number == SavedSlice_data) data = child;
    if (field.number != SavedSlice_slice) continue;
    free(extent.parts);
    reading->has_failed |= !tf_read_extent(child, &extent);
  }
  size_t at = name ? find_tensor(reading->checkpoint, name) : reading->checkpoint->tensors.count;
  if (at < reading->checkpoint->tensors.count) {
    const struct tensor *tensor = &reading->checkpoint->tensors.items[at];
    struct content *content = &reading->contents[at];
    if (is_text(tensor->dtype)) take_v1_texts(tensor, data, content);
    else take_v1_numbers(reading, tensor, &extent, data, content);
  }
  free(extent.parts);
}

static bool take_v1_entry(void *context, const uint8_t *key, size_t key_length, const uint8_t *value, size_t length) {
  struct v1_reading *reading = context;
  struct wire_reader reader = wire_open(value, length);
  struct wire_field field;
  if (key_length == 0) return true;
  (void)key;
  while (wire_next(&reader, &field)) {
    if (field.number == SavedTensorSlices_data) take_v1_slice(reading, wire_enter(&reader, &field));
  }
  return !reading->has_failed;
}

/* ---- loading ---- */

struct loaded {
  int64_t *values;
  double *numbers[3];
  uint64_t *value_nulls, *number_nulls;
};

/* The value as text, its id into *id where it is kept.  What is wrong with it; NULL: nothing. */
static const char *write_text(struct pool *pool, const struct tensor *tensor, const struct content *content,
                              struct allowance *allowance, bool is_kept, string_id *id) {
  struct text_buffer text = {0};
  const char *wrong = NULL;
  bool is_whole = tf_tensor_write(tensor, content, allowance->text_bytes, &text);
  if (!is_whole || !may_take(&allowance->text_bytes, text.length)) wrong = too_much;
  else if (text.failed || (is_kept && pool_intern(pool, text.bytes ? text.bytes : "", text.length, id)))
    wrong = "its text is too long";
  text_buffer_free(&text);
  return wrong;
}

/* Whether the texts of all tensors have room enough whatever their elements are, as those of files that were not made
** to have none: then nothing is told of texts, and they need not be written to know that. */
static bool all_texts_fit(const struct tf_checkpoint *checkpoint, const struct allowance *allowance) {
  double bytes = 0;
  for (size_t i = 0; i < checkpoint->tensors.count; i++) bytes += tf_tensor_text_bytes(&checkpoint->tensors.items[i]);
  return bytes < (double)allowance->text_bytes;
}

enum text_use { TEXT_UNUSED, TEXT_TRIED, TEXT_KEPT };

static void load_tensor(struct profile *profile, struct segment *segment, const struct tf_checkpoint *checkpoint,
                        uint32_t row, struct allowance *allowance, struct content *content, struct loaded *loaded,
                        enum text_use text_use) {
  struct pool *pool = store_pool(profile->store);
  const struct tensor *tensor = &checkpoint->tensors.items[row];
  const char *wrong = tensor->elements < 0 ? "its shape is not known" : NULL;
  string_id id = 0;
  if (!wrong && !checkpoint->is_v1) wrong = read_tensor(checkpoint, pool, tensor, allowance, content);
  else if (!wrong && !content->bytes && tensor->elements) wrong = "its bytes are missing";
  else if (!wrong && content->filled < tensor->elements) wrong = not_filled;
  if (!wrong) {
    struct summary summary = tf_tensor_summarise(tensor, content);
    loaded->numbers[0][row] = summary.minimum;
    loaded->numbers[1][row] = summary.maximum;
    loaded->numbers[2][row] = summary.mean;
    if (summary.is_known) loaded->number_nulls[row >> 6] &= ~((uint64_t)1 << (row & 63));
    if (text_use != TEXT_UNUSED) wrong = write_text(pool, tensor, content, allowance, text_use == TEXT_KEPT, &id);
    if (!wrong) loaded->value_nulls[row >> 6] &= ~((uint64_t)1 << (row & 63));
    loaded->values[row] = id;
  }
  if (wrong)
    segment_diagnose(segment, COLUMN_tensors_value, "error", "tensor_value", 1, -1,
                     "the value of a tensor cannot be read: %s", wrong);
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
  bool ok = loaded.values && loaded.value_nulls && loaded.number_nulls && contents;
  enum text_use text_use = TEXT_UNUSED;
  for (int i = 0; i < 3; i++) ok = (loaded.numbers[i] = calloc(rows, sizeof(double))) && ok;
  for (unsigned i = 0; i < count; i++) text_use = columns[i] == COLUMN_tensors_value ? TEXT_KEPT : text_use;
  enum tfprof_status status = ok ? TFPROF_OK : error_no_memory(error);
  if (ok) {
    memset(loaded.value_nulls, 0xff, words * 8);
    memset(loaded.number_nulls, 0xff, words * 8);
    uint64_t bytes = checkpoint->file_bytes;
    if (!checkpoint->is_v1 && !find_shard_bytes(checkpoint, &bytes)) status = error_no_memory(error);
    struct allowance allowance = {
        FREE_BYTES + (checkpoint->is_v1 ? ZEROS_OF_A_BYTE : READS_OF_A_BYTE) * bytes,
        FREE_BYTES + TEXT_OF_A_BYTE * bytes};
    if (text_use == TEXT_UNUSED && !all_texts_fit(checkpoint, &allowance)) text_use = TEXT_TRIED;
    struct v1_reading reading = {checkpoint, store_pool(profile->store), &allowance, contents, false};
    for (size_t i = 0; i < checkpoint->files.count && checkpoint->is_v1 && !status; i++) {
      status = tf_table_each(checkpoint->files.items[i], profile->store, take_v1_entry, &reading, error);
      if (!status && reading.has_failed) status = error_no_memory(error);
    }
    for (uint32_t row = 0; row < rows && !status; row++) {
      if (store_interrupted(profile->store)) status = error_set(error, TFPROF_INTERRUPTED, "interrupted");
      else load_tensor(profile, segment, checkpoint, row, &allowance, &contents[row], &loaded, text_use);
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
  /* Whichever column it was read for, all is told of the values now. */
  if (!status) column_set_add(&segment->is_told, COLUMN_tensors_value);
  for (uint32_t row = 0; row < rows && contents; row++) free(contents[row].bytes);
  for (int i = 0; i < 3; i++) free(loaded.numbers[i]);
  free(contents);
  free(loaded.values);
  free(loaded.value_nulls);
  free(loaded.number_nulls);
  return status;
}

enum tfprof_status tf_checkpoint_verify(struct profile *profile, struct tfprof_error *error) {
  const struct profile_table *tensors = &profile->tables[TABLE_tensors];
  bool is_told = !((const struct tf_source *)profile->source_data)->checkpoint;
  struct column_set numbers = {{0, 0}};
  for (size_t i = 0; i < tensors->segment_count; i++)
    is_told |= column_set_has(&tensors->segments[i]->is_told, COLUMN_tensors_value);
  column_set_add(&numbers, COLUMN_tensors_minimum);
  column_set_add(&numbers, COLUMN_tensors_maximum);
  column_set_add(&numbers, COLUMN_tensors_mean);
  return is_told ? TFPROF_OK : profile_require(profile, TABLE_tensors, &numbers, error);
}
