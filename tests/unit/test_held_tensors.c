/* test_held_tensors.c: which tensor a piece of memory holds, by calls as PyTorch's traces have them. */
#include "derive/flops/held_tensors.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static struct flops_call *memory;

static struct flops_text text_of(const char *bytes) { return (struct flops_text){bytes, bytes ? strlen(bytes) : 0}; }

struct asked {
  const char *type, *shapes, *types, *values;
  int64_t bytes;
  const char *expected; /* "float32 2x3", "? 2x3", "float32 ?"; NULL: unknown */
};

static void ask(const struct asked *asked, bool is_rounded, bool is_returned, bool is_innermost) {
  struct moved_call call = {.op_type = text_of(asked->type),
                            .input_shapes = text_of(asked->shapes),
                            .input_types = text_of(asked->types),
                            .input_values = text_of(asked->values),
                            .flops = -1};
  struct held_tensor tensor = {0};
  bool has_tensors;
  enum held held = held_tensor_find(memory, &call, (struct held_piece){asked->bytes, is_rounded}, is_returned,
                                    is_innermost, &has_tensors, &tensor);
  char found[200] = "";
  size_t length = (size_t)snprintf(found, sizeof found, "%s ", tensor.dtype ? tensor.dtype : "?");
  if (!tensor.has_shape) strcpy(found + length, "?");
  for (uint32_t i = 0; i < tensor.dimensions; i++)
    length += (size_t)snprintf(found + length, sizeof found - length, "%s%lld", i ? "x" : "",
                               (long long)tensor.sizes[i]);
  bool is_right = asked->expected ? held != HELD_UNKNOWN && !strcmp(found, asked->expected) : held == HELD_UNKNOWN;
  check(is_right, "%s %s of %lld bytes: %s, expected %s", asked->type, asked->shapes, (long long)asked->bytes,
        held == HELD_UNKNOWN ? "unknown" : found, asked->expected ? asked->expected : "unknown");
}

#define LIST(type) "[\"ScalarList\",\"" type "\",\"Scalar\",\"Scalar\",\"\",\"\"]"
#define SIX "[[],[],[],[],[],[]]"
#define TWO "[\"float\",\"float\"]"

/* Of an op that is the innermost around the allocation, and returns the piece. */
static const struct asked exact[] = {
    /* What is asked for. */
    {"aten::empty", SIX, LIST("Scalar"), "[\"[32, 16]\",\"6\",\"0\",\"\",\"False\",\"\"]", 2048, "float32 32x16"},
    {"aten::empty", SIX, LIST("Scalar"), "[\"[32, 16]\",\"15\",\"0\",\"\",\"False\",\"\"]", 1024, "bfloat16 32x16"},
    {"aten::empty", SIX, LIST("Scalar"), "[\"[32, 16]\",\"6\",\"0\",\"\",\"False\",\"\"]", 1024, NULL},
    {"aten::empty", SIX, LIST(""), "[\"[32, 16]\",\"\",\"\",\"\",\"\",\"\"]", 2048, "float32 32x16"},
    {"aten::empty", SIX, LIST(""), "[\"[32, 16]\",\"\",\"\",\"\",\"\",\"\"]", 4096, "float64 32x16"},
    {"aten::empty", SIX, LIST(""), "[\"[]\",\"4\",\"\",\"\",\"\",\"\"]", 8, "int64 "},
    {"aten::empty", SIX, LIST("Scalar"), NULL, 2048, NULL},
    {"aten::empty", SIX, LIST("Scalar"), "[\"[32, 16]\",\"99\",\"0\",\"\",\"\",\"\"]", 2048, NULL},
    {"aten::empty_strided", SIX, LIST("ScalarList"), "[\"[4, 3]\",\"[8, 1]\",\"6\",\"0\",\"\",\"\"]", 108,
     "float32 4x3"},
    {"aten::resize_", "[[0],[],[]]", "[\"long int\",\"ScalarList\",\"\"]", "[\"\",\"[5, 2]\",\"\"]", 80, "int64 5x2"},
    /* What is returned. */
    {"aten::add", "[[8,1,5],[7,1],[]]", "[\"float\",\"float\",\"Scalar\"]", NULL, 8 * 7 * 5 * 4, "float32 8x7x5"},
    {"aten::add", "[[8],[8],[]]", "[\"c10::Half\",\"float\",\"Scalar\"]", NULL, 32, "float32 8"},
    {"aten::mul", "[[8],[]]", "[\"c10::Half\",\"double\"]", NULL, 16, "float16 8"},
    {"aten::add", "[[8],[8],[]]", "[\"c10::Half\",\"c10::BFloat16\",\"Scalar\"]", NULL, 16, NULL},
    {"aten::div", "[[8],[]]", "[\"long int\",\"Scalar\"]", NULL, 32, "float32 8"},
    {"aten::mul", "[[8],[]]", "[\"int\",\"Scalar\"]", NULL, 32, "? 8"},
    {"aten::eq", "[[8],[8]]", TWO, NULL, 8, "bool 8"},
    {"aten::mm", "[[32,10],[10,64]]", TWO, NULL, 32 * 64 * 4, "float32 32x64"},
    {"aten::addmm", "[[64],[32,10],[10,64],[],[]]", "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]", NULL,
     32 * 64 * 4, "float32 32x64"},
    {"aten::embedding", "[[500,64],[8,20]]", "[\"float\",\"long int\"]", NULL, 8 * 20 * 64 * 4, "float32 8x20x64"},
    {"aten::native_dropout", "[[8,4],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]", NULL, 32, "bool 8x4"},
    {"aten::native_layer_norm", "[[8,4],[],[4],[4],[]]", "[\"float\",\"ScalarList\",\"float\",\"float\",\"Scalar\"]",
     NULL, 128, "float32 8x4"},
    {"aten::native_batch_norm", "[[8,4],[4],[4],[4],[4],[],[],[]]",
     "[\"float\",\"float\",\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\",\"Scalar\"]", NULL, 16, "float32 4"},
    {"aten::sum", "[[32,10],[],[],[]]", "[\"float\",\"ScalarList\",\"Scalar\",\"\"]", "[\"\",\"[0]\",\"True\",\"\"]",
     40, "float32 1x10"},
    {"aten::sum", "[[32,10],[],[],[]]", "[\"float\",\"ScalarList\",\"Scalar\",\"\"]", "[\"\",\"[-1]\",\"False\",\"\"]",
     128, "float32 32"},
    {"aten::sum", "[[32,10],[],[],[]]", "[\"float\",\"ScalarList\",\"Scalar\",\"\"]", NULL, 40, NULL},
    {"aten::cudnn_convolution", "[[2,3,8,8],[5,3,3,3],[],[],[],[],[],[],[]]",
     "[\"float\",\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
     "[\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[1, 1]\",\"1\",\"False\",\"False\",\"True\"]", 2 * 5 * 4 * 4 * 4,
     "float32 2x5x4x4"},
    {"aten::convolution_backward", "[[2,5,8,8],[2,3,8,8],[5,3,3,3],[],[],[],[],[],[],[],[]]",
     "[\"float\",\"float\",\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\","
     "\"ScalarList\",\"Scalar\",\"ScalarList\"]",
     NULL, 5 * 3 * 3 * 3 * 4, "float32 5x3x3x3"},
    {"aten::max_pool2d_with_indices", "[[2,3,8,8],[],[],[],[],[]]",
     "[\"c10::BFloat16\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\"]",
     "[\"\",\"[2, 2]\",\"[]\",\"[0, 0]\",\"[1, 1]\",\"False\"]", 2 * 3 * 4 * 4 * 8, "int64 2x3x4x4"},
    /* As large as an input: of several the same, what they share. */
    {"aten::flip", "[[8,4],[]]", "[\"double\",\"ScalarList\"]", NULL, 256, "float64 8x4"},
    {"aten::unheard_of", "[[8,4],[4,8]]", TWO, NULL, 128, "float32 ?"},
    {"aten::unheard_of", "[[8,4],[8,4]]", "[\"float\",\"int\"]", NULL, 128, "? 8x4"},
    {"aten::unheard_of", "[[8,4],[4,8]]", "[\"float\",\"int\"]", NULL, 128, NULL},
    {"aten::cat", "[[[8,4],[8,4]],[]]", "[\"TensorList\",\"Scalar\"]", NULL, 256, NULL},
    /* What makes no sense. */
    {"aten::mm", "[[32,10],[10", TWO, NULL, 4, NULL},
    {"aten::mm", "[[4611686018427387904,8],[8,4611686018427387904]]", TWO, NULL, 128, NULL},
    {"aten::empty", SIX, LIST("Scalar"), "[\"[4611686018427387904, 16]\",\"6\",\"\",\"\",\"\",\"\"]", 64, NULL},
};

int main(void) {
  memory = flops_call_create();
  if (!memory) return 1;
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) ask(&exact[i], false, true, true);
  /* A device gives whole units, and of a large block what is left of it. */
  struct asked product = {"aten::mm", "[[32,10],[10,65]]", TWO, NULL, 8704, "float32 32x65"};
  ask(&product, true, true, true);
  product.expected = NULL;
  ask(&product, false, true, true);
  product.bytes += 512;
  ask(&product, true, true, true);
  struct asked large = {"aten::mm", "[[1024,10],[10,1024]]", TWO, NULL, 5 << 20, "float32 1024x1024"};
  ask(&large, true, true, true);
  large.bytes = 6 << 20;
  large.expected = NULL;
  ask(&large, true, true, true);
  /* Of small pieces it is what all have in common that would fit; a guess is none. */
  struct asked small[] = {
      {"aten::native_dropout", "[[8,4],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]", NULL, 512, "? 8x4"},
      {"aten::convolution_backward", "[[2,5,8,8],[2,3,8,8],[5,3,1,1],[],[],[],[],[],[],[],[]]",
       "[\"float\",\"float\",\"float\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\","
       "\"ScalarList\",\"Scalar\",\"ScalarList\"]",
       NULL, 512, "float32 ?"},
      {"aten::native_batch_norm", "[[8,400],[400],[400],[400],[400],[],[],[]]",
       "[\"float\",\"float\",\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\",\"Scalar\"]", NULL, 2048,
       "float32 400"},
      {"aten::nll_loss_forward", "[[32,1000],[32],[],[],[]]", "[\"float\",\"long int\",\"\",\"Scalar\",\"Scalar\"]",
       NULL, 512, NULL},
      {"aten::clone", "[[5,4],[]]", "[\"double\",\"\"]", NULL, 512, "float64 5x4"},
      {"aten::flip", "[[500,400],[]]", "[\"double\",\"ScalarList\"]", NULL, 1600000 + 448, "float64 500x400"},
  };
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) ask(&small[i], true, true, true);
  /* Of what it gives back itself a call tells nothing, but what it was asked to make room for. */
  struct asked scratch = {"aten::mm", "[[32,10],[10,64]]", TWO, NULL, 32 * 64 * 4, NULL};
  ask(&scratch, false, false, true);
  ask(&exact[0], false, false, true);
  /* Around the innermost call with tensors only what is known of an op counts, no likeness. */
  struct asked like = {"aten::flip", "[[8,4],[]]", "[\"double\",\"ScalarList\"]", NULL, 256, NULL};
  ask(&like, false, true, false);
  scratch.expected = "float32 32x64";
  ask(&scratch, false, true, false);
  flops_call_free(memory);
  return check_result();
}
