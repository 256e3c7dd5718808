/* torch_inputs.c: proof of the layouts by which inputs are read, and lists among the inputs (see torch_inputs.h). */
#include "torch_inputs.h"

#include "python/guarded_read.h"

#include <stdio.h>

struct input_layout input_layout;

uint8_t input_kinds[32];
static bool put_tensor(struct input_sink *sink, const uint8_t *tensor) {
  if (input_is_no_tensor(tensor)) return false;
  const uint8_t *sizes;
  uint64_t dimensions;
  input_put(sink, input_tensor_word(tensor, &sizes, &dimensions));
  for (uint64_t i = 0; i < dimensions; i++) input_put(sink, torch_word(sizes, (unsigned)(8 * i)));
  return true;
}

/* Numbers or truth values; false: something else is among them. */
static bool put_numbers(struct input_sink *sink, const uint8_t *begin, uint64_t count) {
  uint64_t values[LIST_MAXIMUM], word = INPUT_NUMBER_LIST | count << 32;
  for (uint64_t i = 0; i < count; i++, begin += IVALUE_SIZE) {
    uint32_t tag;
    memcpy(&tag, begin + IVALUE_TAG, sizeof tag);
    uint64_t kind = input_number(begin, tag, &values[i]);
    if (!kind || (i && (kind ^ word) >> 8 & 1)) return false;
    word |= kind & 1 << 8;
  }
  input_put(sink, word);
  for (uint64_t i = 0; i < count; i++) input_put(sink, values[i]);
  return true;
}

static bool put_list(struct input_sink *sink, const uint8_t *list, bool with_values) {
  if (!list) return false;
  const uint8_t *begin = torch_pointer(list, input_layout.list_begin),
                *end = torch_pointer(list, input_layout.list_begin + 8u);
  uint64_t count = (uint64_t)(end - begin) / IVALUE_SIZE;
  uint32_t tag = 0;
  if (torch_pointer(list, input_layout.list_begin + 24u) != input_layout.tensor_type) {
    if (count) memcpy(&tag, begin + IVALUE_TAG, sizeof tag);
    if (count > LIST_MAXIMUM || (count && !input_is_scalar(tag))) return false;
    if (!with_values || !put_numbers(sink, begin, count)) input_put(sink, INPUT_SCALAR_LIST);
    return true;
  }
  input_put(sink, count > LIST_MAXIMUM ? INPUT_LONG_LIST : INPUT_TENSOR_LIST | count << 32);
  if (count > LIST_MAXIMUM) return true;
  for (; begin < end; begin += IVALUE_SIZE) {
    memcpy(&tag, begin + IVALUE_TAG, sizeof tag);
    /* Kineto, too, gives up a list that holds an undefined tensor. */
    if (tag != TAG_TENSOR || !put_tensor(sink, torch_pointer(begin, 0))) return false;
  }
  return true;
}

static void put_value(struct input_sink *sink, const uint8_t *value, bool with_values) {
  const uint8_t *payload = torch_pointer(value, 0);
  struct input_sink before = *sink;
  uint32_t tag;
  memcpy(&tag, value + IVALUE_TAG, sizeof tag);
  uint8_t kind = tag < sizeof input_kinds ? input_kinds[tag] : INPUT_OTHER;
  if (kind == INPUT_SCALAR) {
    uint64_t number, word = with_values ? input_number(value, tag, &number) : 0;
    input_put(sink, word ? word : INPUT_SCALAR);
    if (word) input_put(sink, number);
  } else if (kind == INPUT_TENSOR ? !put_tensor(sink, payload) : kind || !put_list(sink, payload, with_values)) {
    *sink = before;
    input_put(sink, INPUT_OTHER);
  }
}

void torch_inputs_read(struct input_sink *sink, const uint8_t *record_function) {
  const uint8_t *value = torch_pointer(record_function, torch_layout.inputs);
  uint64_t count = torch_word(record_function, torch_layout.inputs + 8u);
  bool with_values = input_values_wanted(value, count);
  for (uint64_t i = 0; i < count; i++, value += IVALUE_SIZE) put_value(sink, value, with_values);
}

uint64_t input_hash_closely(uint64_t hash, const uint8_t *value, bool with_values) {
  uint64_t words[LIST_MAXIMUM * (1 + DIMENSION_MAXIMUM) + 1];
  struct input_sink sink = {.words = words, .room = sizeof words / 8};
  put_value(&sink, value, with_values);
  for (uint32_t i = 0; i < sink.used; i++) hash = input_hash(hash, words[i]);
  return hash;
}

uint64_t input_hash_with_values(uint64_t hash, const uint8_t *values, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) hash = input_hash_closely(hash, values + i * IVALUE_SIZE, true);
  return hash;
}

void torch_inputs_ready(void) {
  for (uint32_t tag = 0; tag < sizeof input_kinds; tag++)
    input_kinds[tag] = input_is_scalar(tag) ? INPUT_SCALAR : INPUT_OTHER;
  input_kinds[TAG_TENSOR] = INPUT_TENSOR;
  if (input_layout.tag_list < sizeof input_kinds) input_kinds[input_layout.tag_list] = 0;
}

/* ---- Tensors. */

enum {
  SAMPLE_ADDRESS,
  SAMPLE_DTYPE,
  SAMPLE_POLICY,
  SAMPLE_DIMENSIONS,
  SAMPLE_SIZES,
  SAMPLE_MEMORY = SAMPLE_SIZES + 8,
  SAMPLE_NUMBERS,
  TENSOR_SEARCHED = 192, /* sizeof(c10::TensorImpl) is 176 in 2.13 and no more than 208 in older versions */
  TENSOR_READ = TENSOR_SEARCHED + 16,
};

struct sample {
  const int64_t *expected;
  uint8_t bytes[TENSOR_READ];
};

static bool sizes_match(const struct sample *sample, uint16_t offset) {
  uint64_t dimensions = torch_word(sample->bytes, offset);
  if (dimensions != (uint64_t)sample->expected[SAMPLE_DIMENSIONS] || dimensions > 8) return false;
  uint64_t sizes[8];
  if (dimensions > INLINE_SIZES) {
    if (!guarded_read(torch_pointer(sample->bytes, offset + 8u), sizes, dimensions * 8)) return false;
  } else {
    memcpy(sizes, sample->bytes + offset + 8, dimensions * 8);
  }
  return !memcmp(sizes, sample->expected + SAMPLE_SIZES, dimensions * 8);
}

static bool dtype_matches(const struct sample *sample, uint16_t offset) {
  uint16_t dtype;
  memcpy(&dtype, sample->bytes + offset, sizeof dtype);
  return dtype == (uint16_t)sample->expected[SAMPLE_DTYPE];
}

static bool policy_matches(const struct sample *sample, uint16_t bit) {
  if (sample->expected[SAMPLE_POLICY] < 0) return true;
  uint64_t word = torch_word(sample->bytes, bit / 64 * 8u);
  return (word >> bit % 64 & 3) == (uint64_t)sample->expected[SAMPLE_POLICY];
}

/* The only place between `first` and `last` where every sample has what it must have; 0 when there is none or more
** than one. */
static uint16_t only_place(const struct sample *samples, unsigned count, uint16_t first, uint16_t last, uint16_t step,
                           bool (*matches)(const struct sample *, uint16_t)) {
  uint16_t found = 0;
  for (uint16_t place = first; place < last; place = (uint16_t)(place + step)) {
    unsigned matching = 0;
    while (matching < count && matches(&samples[matching], place)) matching++;
    if (matching < count) continue;
    if (found) return 0;
    found = place;
  }
  return found;
}

/* Whether every sample's memory is found by these two steps. */
static bool leads_to_memory(const struct sample *samples, unsigned count, unsigned storage, unsigned memory) {
  unsigned found = 0;
  for (unsigned i = 0; i < count; i++) {
    const uint8_t *object = torch_pointer(samples[i].bytes, storage);
    uint64_t address;
    if (samples[i].expected[SAMPLE_MEMORY] == -1) continue;
    if (!object || !guarded_word(object + memory, &address)) return false;
    if (address != (uint64_t)samples[i].expected[SAMPLE_MEMORY]) return false;
    found++;
  }
  return found > 2;
}

/* Where the memory lies is left out when there is no such place or more than one. */
static void find_memory(const struct sample *samples, unsigned count) {
  enum { SEARCHED = 64 };
  unsigned found = 0;
  for (unsigned storage = 8; storage < SEARCHED; storage += 8) {
    for (unsigned memory = 8; memory < SEARCHED; memory += 8) {
      if (!leads_to_memory(samples, count, storage, memory)) continue;
      input_layout.storage = (uint16_t)storage;
      input_layout.memory = (uint16_t)memory;
      found++;
    }
  }
  if (found != 1) input_layout.storage = 0;
}

bool torch_inputs_prove_tensors(const int64_t *numbers, unsigned count, char *reason, size_t size) {
  enum { MAXIMUM_SAMPLES = 32 };
  struct sample samples[MAXIMUM_SAMPLES];
  memset(&input_layout, 0, sizeof input_layout);
  if (!torch_layout.has_details || !torch_layout.has_name_object || !torch.undefined_tensor) {
    snprintf(reason, size, "this PyTorch's ops are laid out in another way");
    return false;
  }
  if (count < 4 || count > MAXIMUM_SAMPLES) {
    snprintf(reason, size, "there are %u sample tensors", count);
    return false;
  }
  for (unsigned i = 0; i < count; i++) {
    samples[i].expected = numbers + (size_t)i * SAMPLE_NUMBERS;
    memset(samples[i].bytes, 0, sizeof samples[i].bytes);
    if (!guarded_read((const void *)(uintptr_t)samples[i].expected[SAMPLE_ADDRESS], samples[i].bytes, TENSOR_READ)) {
      snprintf(reason, size, "a sample tensor cannot be read");
      return false;
    }
  }
  input_layout.sizes = only_place(samples, count, 8, 128, 8, sizes_match);
  /* Sizes and strides take a count and two times five numbers; data_type_ follows behind offset and number of
  ** elements. */
  if (input_layout.sizes)
    input_layout.dtype =
        only_place(samples, count, (uint16_t)(input_layout.sizes + 88), TENSOR_SEARCHED - 2, 2, dtype_matches);
  uint16_t bit = 0;
  if (input_layout.dtype)
    bit = only_place(samples, count, (uint16_t)(input_layout.dtype * 8 + 16), (uint16_t)(input_layout.dtype * 8 + 64),
                     1, policy_matches);
  if (!bit || bit % 64 == 63) {
    snprintf(reason, size, "this PyTorch's tensors are laid out in another way (%s not found)",
             !input_layout.sizes   ? "sizes"
             : !input_layout.dtype ? "type"
                                   : "size policy");
    return false;
  }
  input_layout.policy_word = (uint16_t)(bit / 64 * 8);
  input_layout.policy_shift = bit % 64;
  find_memory(samples, count);
  return true;
}

/* ---- Ops: the hook runs three, whose arguments hold each kind of value. */

static struct {
  const void *a, *b;
  uint64_t callback;
  int depth, op;
  bool op_is_proved[3];
} watch;

static bool read_arguments(const uint8_t *object, unsigned count, uint64_t values[][2]) {
  if (torch_word(object, torch_layout.inputs + 8u) != count) return false;
  return guarded_read(torch_pointer(object, torch_layout.inputs), values, (size_t)count * IVALUE_SIZE);
}

static bool prove_transpose(const uint8_t *object) {
  uint64_t values[3][2], text[2];
  const char *name = torch.name(object);
  if (object[torch_layout.name_kind] != 1 || strcmp(name, "aten::transpose") || !read_arguments(object, 3, values))
    return false;
  /* c10::FunctionSchema begins with its OperatorName, which begins with std::string name. This one has 15 characters,
  ** the most that lie within the string object itself. */
  const uint8_t *schema = torch_pointer(object, torch_layout.name);
  torch_layout.schema_begins_with_text = guarded_read(schema, text, sizeof text) &&
                                         (const char *)(uintptr_t)text[0] == name &&
                                         (const uint8_t *)name == schema + 16 && text[1] == strlen(name);
  return (const void *)(uintptr_t)values[0][0] == watch.a && (uint32_t)values[0][1] == TAG_TENSOR &&
         values[1][0] == 0 && (uint32_t)values[1][1] == TAG_INT && values[2][0] == 1 &&
         (uint32_t)values[2][1] == TAG_INT;
}

/* c10::detail::ListImpl: a vtable, reference counts, std::vector<IValue>, the element type. */
static bool prove_list(const uint8_t *object) {
  uint64_t values[1][2], list[8], elements[2][2];
  if (strcmp(torch.name(object), "aten::broadcast_tensors") || !read_arguments(object, 1, values)) return false;
  if (!guarded_read((const void *)(uintptr_t)values[0][0], list, sizeof list)) return false;
  for (uint16_t i = 1; i + 3 < 8; i++) {
    if (list[i + 1] - list[i] != sizeof elements || list[i + 2] < list[i + 1]) continue;
    if (!guarded_read((const void *)(uintptr_t)list[i], elements, sizeof elements)) continue;
    if ((const void *)(uintptr_t)elements[0][0] != watch.a || (const void *)(uintptr_t)elements[1][0] != watch.b)
      continue;
    if ((uint32_t)elements[0][1] != TAG_TENSOR || (uint32_t)elements[1][1] != TAG_TENSOR) continue;
    input_layout.tag_list = (uint32_t)values[0][1];
    input_layout.list_begin = (uint16_t)(i * 8);
    input_layout.tensor_type = (const void *)(uintptr_t)list[i + 3];
    return input_layout.tag_list > TAG_INT;
  }
  return false;
}

static bool prove_expand(const uint8_t *object) {
  uint64_t values[3][2], list[8], elements[2][2];
  if (!input_layout.tensor_type || strcmp(torch.name(object), "aten::expand") || !read_arguments(object, 3, values))
    return false;
  if ((uint32_t)values[1][1] != input_layout.tag_list) return false;
  if (!guarded_read((const void *)(uintptr_t)values[1][0], list, sizeof list)) return false;
  unsigned begin = input_layout.list_begin / 8;
  if (list[begin + 1] - list[begin] != sizeof elements ||
      (const void *)(uintptr_t)list[begin + 3] == input_layout.tensor_type)
    return false;
  if (!guarded_read((const void *)(uintptr_t)list[begin], elements, sizeof elements)) return false;
  if (elements[0][0] != 2 || elements[1][0] != 3 || (uint32_t)elements[0][1] != TAG_INT) return false;
  input_layout.tag_bool = (uint32_t)values[2][1];
  return input_layout.tag_bool > TAG_INT && input_layout.tag_bool < input_layout.tag_list && (values[2][0] & 0xff) == 0;
}

static void watch_start(void **context, const uint8_t *object) {
  *context = NULL;
  if (watch.depth++ > 0) return;
  switch (watch.op++) {
    case 0: watch.op_is_proved[0] = prove_transpose(object); break;
    case 1: watch.op_is_proved[1] = prove_list(object); break;
    case 2: watch.op_is_proved[2] = prove_expand(object); break;
  }
}
TORCH_START_CALLBACK(watch_start)

static void watch_end(const void *record_function, void *context) {
  (void)record_function;
  (void)context;
  watch.depth--;
}

bool torch_inputs_watch(const void *tensor_a, const void *tensor_b) {
  if (!input_layout.policy_word || watch.callback) return false;
  memset(&watch, 0, sizeof watch);
  watch.a = tensor_a;
  watch.b = tensor_b;
  struct torch_callback callback = {
      .start = (void *)watch_start_entry, .end = (void *)watch_end, .sampling_probability = 1, .needs_inputs = 1};
  callback.scopes[SCOPE_FUNCTION] = 1;
  watch.callback = torch.add_thread_callback(callback);
  return true;
}

bool torch_inputs_prove_ops(char *reason, size_t size) {
  if (watch.callback) torch.remove_callback(watch.callback);
  watch.callback = 0;
  static const char *const what[3] = {"arguments", "lists of tensors", "lists of numbers"};
  for (int i = 0; i < 3; i++) {
    if (watch.op_is_proved[i]) continue;
    snprintf(reason, size, "this PyTorch passes %s in another way", what[i]);
    return false;
  }
  input_layout.is_proved = true;
  return true;
}
