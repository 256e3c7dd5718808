/* torch_inputs.h: the shapes and types of an op's inputs, read in the callback.
**
** An op's inputs arrive as an array of c10::IValue: 16 bytes, payload and tag (ATen/core/ivalue.h).  A tensor's
** payload is its c10::TensorImpl, whose sizes are read where they lie: the accessors could call into Python for
** tensors of some subclasses, and would throw for symbolic sizes.  Like Kineto, we take a tensor whose sizes are not
** plain numbers for an undefined one. All of it is proved when recording begins, on tensors and ops that the Python
** hook makes for the purpose.
**
** The inputs are words, which the writer thread turns into JSON texts: one word for each input, followed by a tensor's
** sizes, or by the tensors of a list.  Equal words have equal texts.  For most ops the callback needs only a hash of
** the words, by which it finds the number that they were given before; the words are written when they are new.
**
** Whole numbers and truth values among the inputs are kept for ops of at least VALUES_INPUTS inputs that begin with two
** tensors: convolutions and attention, whose floating point operations depend on strides and flags, are among them, and
** few whose numbers change with every call.  And for ops of FACTORY_INPUTS inputs that begin with a list: aten::empty
** and aten::empty_strided are among them, whose sizes and type tell what the memory is for that they allocate.
*/
#ifndef TFPROF_CAPTURE_TORCH_INPUTS_H
#define TFPROF_CAPTURE_TORCH_INPUTS_H

#include "base/hash.h"
#include "torch_api.h"

#include <string.h>

enum input_kind {                  /* the low byte of a word */
                  INPUT_OTHER = 1, /* undefined tensors, texts, None, ...: shape [] and no type */
                  INPUT_TENSOR,    /* bits 8...23: dtype; bits 32...: how many sizes follow */
                  INPUT_SCALAR,
                  INPUT_SCALAR_LIST,
                  INPUT_TENSOR_LIST, /* bits 32...: how many tensors follow */
                  INPUT_LONG_LIST,   /* a list of tensors too long to be written out */
                  INPUT_NUMBER,      /* a scalar of which the value is kept: bit 8: truth value; the value follows */
                  INPUT_NUMBER_LIST, /* a list of them: bit 8: truth values; bits 32...: how many values follow */
};

enum {
  IVALUE_SIZE = 16,
  IVALUE_TAG = 8,
  TAG_TENSOR = 1, /* the tags up to Int are the same in torch 1.12 to 2.15 */
  TAG_DOUBLE = 3,
  TAG_COMPLEX = 4,
  TAG_INT = 5,
  INLINE_SIZES = 5,  /* C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE */
  LIST_MAXIMUM = 30, /* TENSOR_LIST_DISPLAY_LENGTH_LIMIT and SCALAR_LIST_LENGTH_LIMIT of torch/csrc/profiler */
  DIMENSION_MAXIMUM = 64,
  VALUES_INPUTS = 7,
  FACTORY_INPUTS = 6,
};

struct input_layout {
  bool is_proved;
  /* In TensorImpl: c10::impl::SizesAndStrides, a count and then numbers or, above INLINE_SIZES, their address. */
  uint16_t sizes;
  uint16_t dtype;       /* caffe2::TypeMeta: 16 bits that equal the ScalarType */
  uint16_t policy_word; /* the 8 bytes that hold sizes_strides_policy_, and its place in them */
  uint8_t policy_shift;
  /* In TensorImpl the address of c10::StorageImpl, and in that where its memory begins; storage 0: not found. */
  uint16_t storage, memory;
  uint32_t tag_list, tag_bool;
  uint16_t list_begin;     /* in c10::detail::ListImpl: std::vector<IValue>; its element type follows */
  const void *tensor_type; /* the element type of a list of tensors: one object in the process */
};
extern struct input_layout input_layout;

/* Proof in two steps, called by the Python hook. `samples`: `count` times 13 numbers: address of the TensorImpl,
** dtype, policy (0 default, 1 custom strides, 2 custom sizes; -1 not known), number of sizes, 8 sizes, address of the
** storage's memory (-1: it has none). false: `reason` is filled. */
bool torch_inputs_prove_tensors(const int64_t *samples, unsigned count, char *reason, size_t size);
/* Then the hook runs transpose(a, 0, 1), broadcast_tensors(a, b) and a.expand(2, 3), a being of 2 x 3, on this thread.
*/
bool torch_inputs_watch(const void *tensor_a, const void *tensor_b);
bool torch_inputs_prove_ops(char *reason, size_t size);

static inline uint64_t torch_word(const uint8_t *object, unsigned offset) {
  uint64_t word;
  memcpy(&word, object + offset, sizeof word);
  return word;
}
static inline const uint8_t *torch_pointer(const uint8_t *object, unsigned offset) {
  return (const uint8_t *)(uintptr_t)torch_word(object, offset);
}

/* Where the memory of a tensor's storage begins; NULL: it has none, or that is not known. */
static inline const uint8_t *torch_tensor_memory(const uint8_t *tensor) {
  const uint8_t *storage = input_layout.storage ? torch_pointer(tensor, input_layout.storage) : NULL;
  return storage ? torch_pointer(storage, input_layout.memory) : NULL;
}

/* Bool's tag differs between versions; SymInt, SymFloat and SymBool are the (at most three) tags just below it. UInt,
** the tag after Int in 2.13, is not a scalar for Kineto either. */
static inline bool input_is_scalar(uint32_t tag) {
  if (tag >= TAG_DOUBLE && tag <= TAG_INT) return true;
  uint32_t first = input_layout.tag_bool >= TAG_INT + 4 ? input_layout.tag_bool - 3 : TAG_INT + 1;
  return tag >= first && tag <= input_layout.tag_bool;
}

/* Where the words of an op's inputs go. */
struct input_sink {
  uint64_t *words;
  uint32_t used, room;
  bool is_full; /* they do not fit */
};

static inline void input_put(struct input_sink *sink, uint64_t word) {
  if (sink->used < sink->room)
    sink->words[sink->used++] = word;
  else
    sink->is_full = true;
}

/* Undefined tensors and those without plain sizes. */
static inline bool input_is_no_tensor(const uint8_t *tensor) {
  return !tensor || tensor == torch.undefined_tensor ||
         (torch_word(tensor, input_layout.policy_word) >> input_layout.policy_shift & 3) > 1 ||
         torch_word(tensor, input_layout.sizes) > DIMENSION_MAXIMUM;
}

/* The first word of a tensor; `sizes` and `dimensions` are filled. */
static inline uint64_t input_tensor_word(const uint8_t *tensor, const uint8_t **sizes, uint64_t *dimensions) {
  *dimensions = torch_word(tensor, input_layout.sizes);
  *sizes = tensor + input_layout.sizes + 8;
  if (*dimensions > INLINE_SIZES) *sizes = torch_pointer(*sizes, 0);
  uint16_t dtype;
  memcpy(&dtype, tensor + input_layout.dtype, sizeof dtype);
  return INPUT_TENSOR | (uint64_t)dtype << 8 | *dimensions << 32;
}

/* Whether values are kept for an op with these inputs. */
static inline bool input_values_wanted(const uint8_t *values, uint64_t count) {
  if (count < FACTORY_INPUTS) return false;
  uint32_t first, second;
  memcpy(&first, values + IVALUE_TAG, sizeof first);
  if (count == FACTORY_INPUTS) return first == input_layout.tag_list;
  memcpy(&second, values + IVALUE_SIZE + IVALUE_TAG, sizeof second);
  return first == TAG_TENSOR && second == TAG_TENSOR;
}

/* The value of an Int or a Bool, and INPUT_NUMBER with its bit; 0: it is another scalar. */
static inline uint64_t input_number(const uint8_t *value, uint32_t tag, uint64_t *number) {
  *number = torch_word(value, 0);
  if (tag == TAG_INT) return INPUT_NUMBER;
  *number &= 0xff;
  return tag == input_layout.tag_bool ? INPUT_NUMBER | 1 << 8 : 0;
}

/* All words. */
void torch_inputs_read(struct input_sink *sink, const uint8_t *record_function);

/* A hash, made without writing the words: equal hashes, equal words. For most ops this is all.  Which inputs an op has
** changes from op to op, and a branch that the processor cannot foretell costs as much as hashing a tensor.  So each
** input is taken for a tensor: those that are none are replaced by one without sizes, and of each tensor SIZES_READ
** sizes are taken in whether it has them or not, each with a factor of its own (multilinear hashing), which is 0 then.
*/
enum { SIZES_READ = 4 };
extern uint8_t input_kinds[32]; /* by tag, an enum input_kind; 0: a list */
/* Fills input_kinds, once input_layout is proved. */
void torch_inputs_ready(void);
/* The rare inputs: lists, tensors of many sizes or of such as are not plain numbers; all of an op of which values are
** kept. */
uint64_t input_hash_closely(uint64_t hash, const uint8_t *value, bool with_values);
uint64_t input_hash_with_values(uint64_t hash, const uint8_t *values, uint64_t count);

static inline uint64_t input_hash(uint64_t hash, uint64_t word) {
  return ((hash << 5 | hash >> 59) ^ word) * 0x517cc1b727220a95u;
}

static inline uint64_t torch_inputs_hash(uint64_t hash, const uint8_t *record_function) {
  static const uint8_t no_tensor[256];
  static const uint64_t by_dimensions[SIZES_READ + 1][SIZES_READ] = {
      {0},
      {HASH_FACTOR_1},
      {HASH_FACTOR_1, HASH_FACTOR_2},
      {HASH_FACTOR_1, HASH_FACTOR_2, HASH_FACTOR_3},
      {HASH_FACTOR_1, HASH_FACTOR_2, HASH_FACTOR_3, HASH_FACTOR_4},
  };
  const uint8_t *value = torch_pointer(record_function, torch_layout.inputs);
  uint64_t count = torch_word(record_function, torch_layout.inputs + 8u);
  hash = input_hash(hash, count);
  if (__builtin_expect(input_values_wanted(value, count), 0)) return input_hash_with_values(hash, value, count);
  for (; count; count--, value += IVALUE_SIZE) {
    uint32_t tag;
    memcpy(&tag, value + IVALUE_TAG, sizeof tag);
    uint64_t kind = tag < sizeof input_kinds ? input_kinds[tag] : INPUT_OTHER;
    /* Arithmetic, for the compiler would make a branch of the choice. */
    uintptr_t otherwise = (uintptr_t)no_tensor, is_tensor = -(uintptr_t)(tag == TAG_TENSOR);
    const uint8_t *tensor = (const uint8_t *)(otherwise + ((torch_word(value, 0) - otherwise) & is_tensor));
    if (__builtin_expect(!kind || !tensor, 0)) {
      hash = input_hash_closely(hash, value, false);
      continue;
    }
    const uint8_t *sizes = tensor + input_layout.sizes;
    uint64_t dimensions = torch_word(sizes, 0);
    uint64_t policy = torch_word(tensor, input_layout.policy_word) >> input_layout.policy_shift & 2;
    if (__builtin_expect(dimensions > SIZES_READ || policy, 0)) {
      hash = input_hash_closely(hash, value, false);
      continue;
    }
    uint16_t dtype;
    memcpy(&dtype, tensor + input_layout.dtype, sizeof dtype);
    const uint64_t *factors = by_dimensions[dimensions];
    uint64_t word = kind + ((uint64_t)dtype << 8) + (dimensions << 32);
    word += torch_word(sizes, 8) * factors[0] + torch_word(sizes, 16) * factors[1];
    word += torch_word(sizes, 24) * factors[2] + torch_word(sizes, 32) * factors[3];
    hash = input_hash(hash, word);
  }
  return hash;
}

/* ---- The writer thread's half (torch_input_text.c): JSON of the words. Returns the length, or 0 when `size` is too
** small. */
size_t input_shapes_text(const uint64_t *words, uint32_t count, char *bytes, size_t size);
size_t input_types_text(const uint64_t *words, uint32_t count, char *bytes, size_t size);
/* The values that were kept; 0 when there are none, too. */
size_t input_values_text(const uint64_t *words, uint32_t count, char *bytes, size_t size);

#endif
