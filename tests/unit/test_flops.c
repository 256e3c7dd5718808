/* test_flops.c: the table of flops.def: its order, its texts against its numbers, an example of every formula, and that
** any text is answered. */
#include "derive/flops/flops.h"

#include "store_check.h"

static const char *const op_types[] = {
#define FLOPS(op_type, kind, formula, number, text, source) op_type,
#include "derive/flops/flops.def"
#undef FLOPS
};
enum { OP_TYPES = sizeof op_types / sizeof op_types[0] };
static bool has_example[OP_TYPES];

static struct flops_text text(const char *bytes) { return (struct flops_text){bytes, bytes ? strlen(bytes) : 0}; }

static enum flops_status count(const char *type, const char *inputs, const char *output, const char *attributes,
                               int64_t *flops) {
  static struct flops_call *call;
  if (!call) call = flops_call_create();
  return flops_count(call, text(type), text(inputs), text(output), text(attributes), flops);
}

static void note_example(const char *type) {
  for (unsigned i = 0; i < OP_TYPES; i++)
    if (!strcmp(op_types[i], type)) has_example[i] = true;
}

static void expect(const char *type, const char *inputs, const char *output, const char *attributes, int64_t wanted) {
  int64_t flops;
  enum flops_status status = count(type, inputs, output, attributes, &flops);
  note_example(type);
  check(status == FLOPS_KNOWN && flops == wanted, "%s(%s, %s, %s): status %d, %lld instead of %lld", type, inputs,
        output ? output : "NULL", attributes ? attributes : "NULL", status, (long long)flops, (long long)wanted);
}

static void refuse(const char *type, const char *inputs, const char *output, const char *attributes,
                   enum flops_status wanted) {
  int64_t flops;
  enum flops_status status = count(type, inputs, output, attributes, &flops);
  check(status == wanted, "%s(%s, %s, %s): status %d instead of %d", type, inputs ? inputs : "NULL",
        output ? output : "NULL", attributes ? attributes : "NULL", status, wanted);
}

/* "in", "5 * in", "14 * parameters", ...: one input of 2 x 3, whose output has the same shape. */
static void test_plain_formulas(void) {
  for (unsigned i = 0; i < OP_TYPES; i++) {
    const struct flops_formula *formula = flops_find(op_types[i], strlen(op_types[i]));
    if (!check(formula && !strcmp(formula->op_type, op_types[i]), "%s is not found", op_types[i])) continue;
    check(i == 0 || strcmp(op_types[i - 1], op_types[i]) < 0, "%s is not in order", op_types[i]);
    int64_t factor = 1;
    const char *rest = formula->text;
    if (*rest >= '0' && *rest <= '9' && strstr(rest, " * ")) {
      factor = strtoll(rest, NULL, 10);
      rest = strstr(rest, " * ") + 3;
    }
    if (!strcmp(rest, "parameters")) expect(op_types[i], "[[[1,3],[3]],[[1,3],[3]]]", NULL, NULL, factor * 6);
    if (!strcmp(rest, "not known from the shapes")) {
      refuse(op_types[i], "[[2,3],[3,2]]", NULL, NULL, FLOPS_UNKNOWN);
      note_example(op_types[i]);
    }
    if (!strcmp(rest, "in") || !strcmp(rest, "out")) expect(op_types[i], "[[2,3]]", NULL, NULL, factor * 6);
  }
  expect("aten::embedding", "[[50,8],[2,3]]", NULL, NULL, 0);
  expect("aten::_embedding_bag", "[[50,8],[7],[2]]", NULL, NULL, 56);
}

static void test_elementwise(void) {
  expect("aten::add", "[[4,1,3],[5,1],[]]", NULL, NULL, 60);
  expect("Add", "[[4,1,3],[5,1]]", NULL, NULL, 60);
  expect("Mul", "[[4],[4]]", "4x2", NULL, 8);
  expect("RsqrtGrad", "[[4],[4]]", "[4]", NULL, 16);
  expect("SquaredDifference", "[[2,2],[2]]", NULL, NULL, 8);
  expect("aten::addcmul", "[[2,2],[2],[2,1]]", NULL, NULL, 12);
  refuse("aten::add", "[[4],[3]]", NULL, NULL, FLOPS_UNKNOWN);
  /* in place, and over lists, by the same line */
  expect("aten::mul_", "[[4],[]]", NULL, NULL, 4);
  expect("aten::_foreach_add_", "[[[2,3],[4]],[[2,3],[4]],[]]", NULL, NULL, 10);
  expect("aten::_foreach_lerp_", "[[[2,3],[4]],[[2,3],[4]],[]]", NULL, NULL, 30);
  expect("aten::_foreach_sqrt", "[[[2,3],[4]]]", NULL, NULL, 10);
  refuse("aten::_foreach_add_", "[[],[]]", NULL, NULL, FLOPS_UNKNOWN); /* a list too long to be recorded */
  refuse("aten::_foreach_mm", "[[[2,3]],[[3,2]]]", NULL, NULL, FLOPS_NO_FORMULA);
  refuse("aten::view", "[[2,3]]", NULL, NULL, FLOPS_NO_FORMULA);
  expect("AddN", "[[2,3],[2,3],[2,3]]", NULL, NULL, 12);
  expect("L2Loss", "[[2,3]]", NULL, NULL, 17);
  expect("Sum", "[[4,5],[1]]", "[4]", NULL, 16);
  expect("ArgMax", "[[4,5]]", "4", NULL, 16);
  expect("ArgMin", "[[4,5]]", "5", NULL, 15);
  refuse("Sum", "[[4,5]]", NULL, NULL, FLOPS_UNKNOWN);
  expect("BiasAddGrad", "[[2,5,5,3]]", NULL, "{\"data_format\":\"NHWC\"}", 147);
  expect("BiasAddGrad", "[[2,3,5,5]]", NULL, "{\"data_format\":\"NCHW\"}", 147);
  expect("BiasAddGrad", "[[2,5,5,3]]", "3", NULL, 147);
}

static void test_products(void) {
  expect("MatMul", "[[2,3],[3,5]]", NULL, NULL, 60);
  expect("MatMul", "[[3,2],[3,5]]", NULL, "{\"transpose_a\":true,\"transpose_b\":false}", 60);
  expect("MatMul", "[[3,2],[5,3]]", NULL, "{\"transpose_a\": true, \"transpose_b\": true}", 60);
  expect("MatMul", "[[2,3],null]", "2x5", NULL, 60);
  expect("BatchMatMul", "[[4,2,3],[4,3,5]]", NULL, NULL, 240);
  expect("BatchMatMulV2", "[[4,3,2],[3,5]]", NULL, "{\"adj_x\":true}", 240);
  expect("BatchMatMulV3", "[[4,1,2,3],[6,3,5]]", NULL, NULL, 1440);
  expect("Einsum", "[[4,2,3],[4,3,5]]", NULL, "{\"equation\":\"bij,bjk->bik\"}", 240);
  expect("Einsum", "[[7,4,2,3],[3,5]]", NULL, "{\"equation\":\"...ij,jk->...ik\"}", 1680);
  refuse("Einsum", "[[4,2],[3,5]]", NULL, "{\"equation\":\"ij,jk->ik\"}", FLOPS_UNKNOWN);
  refuse("Einsum", "[[4,2]]", NULL, "{\"equation\":\"ij,jk->ik\"}", FLOPS_UNKNOWN);
  expect("XlaEinsum", "[[4,2,3],[4,3,5]]", NULL, "{\"equation\":\"bij,bjk->bik\"}", 240);
  expect("SparseMatMul", "[[2,3],[3,5]]", NULL, "{}", 60);
  expect("_FusedMatMul", "[[2,3],[3,5],[5]]", "[2,5]", "{}", 60 + 10);
  expect("_FusedBatchMatMulV2", "[[4,2,3],[4,3,5],[1]]", "[4,2,5]", "{}", 240 + 40);
  /* Which side is k, as the result tells where no attribute does. */
  expect("MatMul", "[[32,7],[32,8]]", "[7,8]", NULL, 2 * 32 * 7 * 8);
  expect("MatMul", "[[32,7],[8,7]]", "[32,8]", NULL, 2 * 32 * 7 * 8);
  refuse("MatMul", "[[32,7],[32,8]]", "[9,8]", NULL, FLOPS_UNKNOWN);
  expect("LSTMBlockCell", "[[4,8],[4,5],[4,5],[13,20]]", NULL, NULL, 2 * 4 * 13 * 20);
  expect("BlockLSTM", "[[],[7,4,8],[4,5],[4,5],[13,20]]", NULL, NULL, 2 * 7 * 4 * 13 * 20);
  expect("BlockLSTMV2", "[[],[7,4,8],[4,5],[4,5],[13,20]]", NULL, NULL, 2 * 7 * 4 * 13 * 20);
  expect("GRUBlockCell", "[[4,8],[4,5],[13,10],[13,5]]", NULL, NULL, 2 * 4 * 13 * 15);
  refuse("GRUBlockCell", "[[4,8],[4,5],[13,10],null]", NULL, NULL, FLOPS_UNKNOWN);
  expect("FusedBatchNorm", "[[2,3],[3]]", NULL, NULL, 42);
  expect("FusedBatchNormV2", "[[2,3],[3]]", NULL, "{\"is_training\":true}", 42);
  expect("FusedBatchNormV3", "[[2,3],[3]]", NULL, "{\"is_training\":false}", 24);
  expect("_FusedBatchNormEx", "[[2,3],[3]]", NULL, "{\"is_training\":false}", 24);
  expect("aten::mm", "[[2,3],[3,5]]", NULL, NULL, 60);
  expect("aten::_int_mm", "[[2,3],[3,5]]", NULL, NULL, 60);
  expect("aten::_scaled_mm", "[[2,3],[3,5],[],[]]", NULL, NULL, 60);
  expect("aten::addmm", "[[5],[2,3],[3,5],[],[]]", NULL, NULL, 60);
  expect("aten::addmm_", "[[2,5],[2,3],[3,5],[],[]]", NULL, NULL, 60);
  expect("aten::_addmm_activation", "[[5],[2,3],[3,5]]", NULL, NULL, 60);
  expect("aten::bmm", "[[4,2,3],[4,3,5]]", NULL, NULL, 240);
  expect("aten::baddbmm", "[[4,2,5],[4,2,3],[4,3,5]]", NULL, NULL, 240);
  expect("aten::addbmm", "[[2,5],[4,2,3],[4,3,5]]", NULL, NULL, 240);
  expect("aten::matmul", "[[7,1,2,3],[4,3,5]]", NULL, NULL, 1680);
  expect("aten::mv", "[[2,3],[3]]", NULL, NULL, 12);
  expect("aten::addmm_", "[[2,5],[2,3],[3,5]]", NULL, NULL, 60);
  expect("aten::baddbmm_", "[[4,2,5],[4,2,3],[4,3,5]]", NULL, NULL, 240);
  expect("aten::addmv", "[[2],[2,3],[3]]", NULL, NULL, 12);
  expect("aten::dot", "[[3],[3]]", NULL, NULL, 6);
  expect("aten::vdot", "[[3],[3]]", NULL, NULL, 6);
  expect("aten::outer", "[[3],[4]]", NULL, NULL, 12);
  expect("aten::ger", "[[3],[4]]", NULL, NULL, 12);
  expect("aten::addr", "[[3,4],[3],[4]]", NULL, NULL, 24);
  expect("aten::linear", "[[7,2,3],[5,3],[5]]", NULL, NULL, 420);
  expect("aten::linear", "[[7,3],[3]]", NULL, NULL, 42);
  expect("aten::mkldnn_linear", "[[2,3],[5,3],[5]]", NULL, NULL, 60);
  expect("aten::_grouped_mm", "[[10,3],[4,3,5],[4]]", NULL, NULL, 300);
  expect("aten::_grouped_mm", "[[4,2,3],[3,20],[4]]", NULL, NULL, 240);
  expect("aten::_scaled_grouped_mm", "[[4,2,3],[4,3,5]]", NULL, NULL, 240);
  refuse("aten::mm", "[[2,3],[4,5]]", NULL, NULL, FLOPS_UNKNOWN);
  refuse("aten::mm", "[[2,3]]", NULL, NULL, FLOPS_UNKNOWN);
  refuse("aten::mm", "[[2,3],[[3,5]]]", NULL, NULL, FLOPS_UNKNOWN);
  refuse("aten::mm", "[[2,-1],[-1,5]]", NULL, NULL, FLOPS_UNKNOWN);
  refuse("aten::mm", NULL, NULL, NULL, FLOPS_UNKNOWN);
}

/* 2 images of 8 channels and 9 x 9, kernel 3 x 3: windows (9 + 2 - 5) / 2 + 1 = 4. */
static void test_convolutions(void) {
  const char *shapes = "[[2,8,9,9],[16,2,3,3],[16],[],[],[],[],[],[]]";
  const int64_t forward = 2 * 2 * 16 * 2 * 9 * 16;
  expect("aten::convolution", shapes, NULL,
         "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[2, 2]\",\"False\",\"[0, 0]\",\"4\"]", forward);
  expect("aten::_convolution", shapes, NULL, "[null,null,null,[2],[1,1],[2,2],false,[0,0],4]", forward);
  expect("aten::convolution_overrideable", shapes, NULL, "[null,null,null,2,1,2,false]", forward);
  expect("aten::convolution", shapes, "2x16x4x4", "[null,null,null,null,null,null,false]", forward);
  expect("aten::convolution", "[[2,16,4,4],[16,3,3,3],[6]]", NULL,
         "[\"\",\"\",\"\",\"[2, 2]\",\"[0, 0]\",\"[1, 1]\",\"True\",\"[1, 1]\",\"2\"]", 2 * 2 * 16 * 3 * 9 * 16);
  expect("aten::conv2d", "[[8,9,9],[16,2,3,3]]", NULL, "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[2, 2]\",\"4\"]",
         forward / 2);
  expect("aten::conv1d", "[[2,8,9],[16,2,3]]", NULL, "[\"\",\"\",\"\",\"[2]\",\"[1]\",\"[2]\",\"4\"]",
         2 * 2 * 16 * 2 * 3 * 4);
  expect("aten::conv3d", "[[1,1,3,3,3],[1,1,3,3,3]]", NULL,
         "[\"\",\"\",\"\",\"[1,1,1]\",\"[0,0,0]\",\"[1,1,1]\",\"1\"]", 54);
  expect("aten::_convolution_mode", shapes, "[2,16,4,4]", "[]", forward);
  for (int dimensions = 1; dimensions <= 3; dimensions++) {
    static const char *const types[] = {"aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"};
    static const char *const inputs[] = {"[[2,4,5],[4,3,2]]", "[[2,4,5,5],[4,3,2,2]]", "[[2,4,5,5,5],[4,3,2,2,2]]"};
    static const int64_t wanted[] = {2 * 2 * 4 * 3 * 2 * 5, 2 * 2 * 4 * 3 * 4 * 25, 2 * 2 * 4 * 3 * 8 * 125};
    expect(types[dimensions - 1], inputs[dimensions - 1], NULL, NULL, wanted[dimensions - 1]);
  }
  expect("aten::mkldnn_convolution", shapes, NULL, "[\"\",\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[2, 2]\",\"4\"]", forward);
  expect("aten::miopen_convolution", shapes, NULL, "[\"\",\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[2, 2]\",\"4\"]", forward);
  expect("aten::cudnn_convolution", shapes, NULL, "[\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[2, 2]\",\"4\",\"True\"]",
         forward);
  expect("aten::cudnn_convolution_relu", shapes, NULL, "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[2, 2]\",\"4\"]",
         forward);
  expect("aten::cudnn_convolution_transpose", "[[2,4,5,5],[4,3,2,2]]", NULL, NULL, 2 * 2 * 4 * 3 * 4 * 25);
  expect("aten::thnn_conv2d", "[[1,3,5,5],[4,3,3,3]]", NULL, "[\"\",\"\",\"[3, 3]\",\"\",\"[1, 1]\",\"[1, 1]\"]",
         2 * 4 * 3 * 9 * 25);
  expect("aten::_slow_conv2d_forward", "[[1,3,5,5],[4,3,3,3]]", NULL,
         "[\"\",\"\",\"[3, 3]\",\"\",\"[1, 1]\",\"[1, 1]\"]", 2 * 4 * 3 * 9 * 25);
  expect("aten::_conv_depthwise2d", "[[1,4,5,5],[4,1,3,3]]", NULL,
         "[\"\",\"\",\"[3, 3]\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\"]", 2 * 4 * 9 * 25);
  const char *gradients = "[[2,16,4,4],[2,8,9,9],[16,2,3,3]]", *transposed = "[[2,6,10,10],[2,16,4,4],[16,3,3,3]]";
  const char *values = "[\"\",\"\",\"\",\"[16]\",\"[2, 2]\",\"[1, 1]\",\"[2, 2]\",\"False\",\"[0, 0]\",\"4\",\"%s\"]";
  char attributes[200];
  snprintf(attributes, sizeof attributes, values, "[True, True, True]");
  expect("aten::convolution_backward", gradients, NULL, attributes, forward + 2 * 2 * 16 * 8 * 9 * 16);
  snprintf(attributes, sizeof attributes, values, "[False, True, True]");
  expect("aten::convolution_backward", gradients, NULL, attributes, 2 * 2 * 16 * 8 * 9 * 16);
  expect("aten::convolution_backward", transposed, NULL, "[0,0,0,0,0,0,0,true,0,2,[true,true,false]]",
         2 * 2 * 16 * 3 * 9 * 16 + 2 * 2 * 6 * 16 * 9 * 16);
  expect("aten::convolution_backward_overrideable", gradients, NULL, "[0,0,0,0,0,0,false,0,4,[true,false,false]]",
         forward);
  expect("aten::_slow_conv2d_backward", "[[1,4,5,5],[1,3,5,5],[4,3,3,3]]", NULL,
         "[\"\",\"\",\"\",\"[3, 3]\",\"[1, 1]\",\"[1, 1]\",\"[False, True, True]\"]", 2 * 4 * 3 * 9 * 25);
  /* by name, where what is missing has its default */
  expect("aten::convolution", shapes, NULL, "{\"stride\":2,\"padding\":[1,1],\"dilation\":[2,2]}", forward);
  expect("aten::conv2d", "[[1,3,8,8],[6,3,3,3]]", NULL, " {}", 2 * 6 * 27 * 36);
  expect("aten::convolution", "[[2,16,4,4],[16,3,3,3],[6]]", NULL, "{\"transposed\":true}", 2 * 2 * 16 * 3 * 9 * 16);
  expect("aten::convolution_backward", gradients, NULL, "{\"output_mask\":[true,false,false]}", forward);
  refuse("aten::convolution", shapes, NULL, "{\"stride\":[2,2,2]}", FLOPS_UNKNOWN);
  refuse("aten::convolution", shapes, NULL, NULL, FLOPS_UNKNOWN);
  refuse("aten::convolution", shapes, NULL, "[0,0,0,[0,0],[0,0],[1,1],false]", FLOPS_UNKNOWN);
  refuse("aten::convolution", "[[2,8,1,1],[16,8,3,3]]", NULL, "[0,0,0,[1,1],[0,0],[1,1],false]", FLOPS_UNKNOWN);
  refuse("aten::convolution_backward", gradients, NULL, NULL, FLOPS_UNKNOWN);
  /* without values, by the size of the output; it may be transposed or not only where its channels fit both */
  expect("aten::convolution", shapes, "[2,16,4,4]", NULL, forward);
  expect("aten::_convolution", "[[2,16,4,4],[16,3,3,3]]", "[[2,6,10,10]]", NULL, 2 * 2 * 16 * 3 * 9 * 16);
  expect("aten::convolution", "[[1,4,8,8],[4,4,3,3]]", "[1,4,4,4]", NULL, 2 * 4 * 4 * 9 * 16);
  refuse("aten::convolution", "[[1,4,4,4],[4,4,3,3]]", "[1,4,8,8]", NULL, FLOPS_UNKNOWN);
  refuse("aten::convolution", shapes, "[2,15,4,4]", NULL, FLOPS_UNKNOWN);
  refuse("aten::convolution", "[[2,8,9,9],[16,0,3,3]]", "[2,16,4,4]", NULL, FLOPS_UNKNOWN);
  expect("aten::cudnn_convolution_backward_input", "[[],[2,16,4,4],[16,2,3,3]]", NULL, NULL, forward);
  expect("aten::cudnn_convolution_backward_weight", "[[],[2,16,4,4],[2,8,9,9]]", "[[16,2,3,3]]", NULL,
         2 * 2 * 16 * 8 * 9 * 16);
  expect("aten::miopen_convolution_backward_input", "[[],[2,16,4,4],[16,2,3,3]]", NULL, NULL, forward);
  expect("aten::miopen_convolution_backward_weight", "[[],[2,16,4,4],[2,8,9,9]]", "[[16,2,3,3]]", NULL,
         2 * 2 * 16 * 8 * 9 * 16);
  expect("aten::mkldnn_convolution_backward_input", "[[],[2,16,4,4],[16,2,3,3]]", NULL, NULL, forward);
  expect("aten::mkldnn_convolution_backward_weights", "[[],[2,16,4,4],[2,8,9,9]]", "[16,2,3,3]", NULL,
         2 * 2 * 16 * 8 * 9 * 16);
  refuse("aten::mkldnn_convolution_backward_weights", "[[],[2,16,4,4],[2,8,9,9]]", NULL, NULL, FLOPS_UNKNOWN);
}

static void test_attention(void) {
  const char *heads = "[[2,4,7,16],[2,2,9,16],[2,2,9,8]]"; /* queries of 4 heads share keys of 2 */
  const int64_t forward = 2 * 2 * 4 * 7 * 9 * (16 + 8), backward = 2 * 2 * 4 * 7 * 9 * (3 * 16 + 2 * 8);
  static const char *const forwards[] = {
      "aten::scaled_dot_product_attention",
      "aten::_scaled_dot_product_attention_math",
      "aten::_scaled_dot_product_attention_math_for_mps",
      "aten::_scaled_dot_product_cudnn_attention",
      "aten::_scaled_dot_product_efficient_attention",
      "aten::_scaled_dot_product_flash_attention",
      "aten::_scaled_dot_product_flash_attention_for_cpu",
      "aten::_scaled_dot_product_fused_attention_overrideable",
  };
  static const char *const backwards[] = {
      "aten::_scaled_dot_product_cudnn_attention_backward",
      "aten::_scaled_dot_product_efficient_attention_backward",
      "aten::_scaled_dot_product_flash_attention_backward",
      "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
      "aten::_scaled_dot_product_fused_attention_overrideable_backward",
  };
  for (unsigned i = 0; i < sizeof forwards / sizeof *forwards; i++) expect(forwards[i], heads, NULL, NULL, forward);
  for (unsigned i = 0; i < sizeof backwards / sizeof *backwards; i++)
    expect(backwards[i], "[[2,4,7,8],[2,4,7,16],[2,2,9,16],[2,2,9,8],[2,4,7,8]]", NULL, NULL, backward);
  /* sequences before heads */
  expect("aten::_flash_attention_forward", "[[2,7,4,16],[2,9,2,16],[2,9,2,8],[],[]]", NULL, NULL, forward);
  expect("aten::_efficient_attention_forward", "[[2,7,4,16],[2,9,2,16],[2,9,2,8],[],[],[]]", NULL, NULL, forward);
  expect("aten::_flash_attention_backward", "[[2,7,4,8],[2,7,4,16],[2,9,2,16],[2,9,2,8],[],[],[],[]]", NULL, NULL,
         backward);
  expect("aten::_efficient_attention_backward", "[[2,7,4,8],[2,7,4,16],[2,9,2,16],[2,9,2,8],[],[],[],[]]", NULL, NULL,
         backward);
  refuse("aten::_flash_attention_forward", "[[70,4,16],[90,2,16],[90,2,8],[3],[3]]", NULL, NULL, FLOPS_UNKNOWN);
  refuse("aten::scaled_dot_product_attention", "[[2,4,7,16],[2,2,9,15],[2,2,9,8]]", NULL, NULL, FLOPS_UNKNOWN);
  expect("aten::mkldnn_rnn_layer", "[[3,2,5],[28,5],[28,7],[28],[28],[2,7],[2,7]]", NULL, NULL,
         2 * 6 * (28 * 5 + 28 * 7));
  expect("aten::mkldnn_rnn_layer_backward", "[[3,2,5],[28,5],[28,7],[28],[28],[2,7],[2,7]]", NULL, NULL,
         4 * 6 * (28 * 5 + 28 * 7));
  expect("aten::_cudnn_rnn", "[[3,2,5],[[28,5],[28,7],[28],[28]],[],[],[1,2,7]]", NULL, NULL,
         2 * 6 * (28 * 5 + 28 * 7));
}

/* TensorFlow's, with the figures of its own tests where it has them. */
static void test_images(void) {
  const char *same = "{\"strides\":[1,2,2,1],\"padding\":\"SAME\",\"data_format\":\"NHWC\"}";
  expect("Conv2D", "[[2,9,9,3],[3,3,3,6]]", NULL, same, 2 * (2 * 5 * 5 * 6) * 27);
  expect("Conv2D", "[[2,9,9,3],[3,3,3,6]]", NULL, "{\"strides\":[1,2,2,1],\"padding\":\"VALID\"}",
         2 * (2 * 4 * 4 * 6) * 27);
  expect("Conv2D", "[[2,3,9,9],[3,3,3,6]]", NULL,
         "{\"data_format\":\"NCHW\",\"strides\":[1,1,2,2],\"padding\":\"SAME\"}", 2 * (2 * 5 * 5 * 6) * 27);
  expect("Conv2D", "[[2,6,6,3],[3,3,3,6]]", "2x3x3x6", NULL, 5832);
  expect("DepthwiseConv2dNative", "[[2,9,9,3],[3,3,3,2]]", NULL, same, 2 * (2 * 5 * 5 * 6) * 9);
  expect("Conv3D", "[[1,4,4,4,2],[2,2,2,2,3]]", NULL, "{\"strides\":[1,1,1,1,1],\"padding\":\"VALID\"}",
         2 * (27 * 3) * 8 * 2);
  expect("Dilation2D", "[[1,5,5,3],[3,3,3]]", NULL, "{\"strides\":[1,1,1,1],\"rates\":[1,1,1,1],\"padding\":\"VALID\"}",
         2 * (9 * 3) * 9);
  expect("Conv2DBackpropInput", "[[4],[3,3,3,6],[2,5,5,6]]", "[2,9,9,3]", same, 2 * (2 * 81 * 3) * (27 * 6) / (3 * 4));
  expect("Conv2DBackpropFilter", "[[2,9,9,3],[4],[2,5,5,6]]", "[3,3,3,6]", same, 2 * (2 * 81 * 3) * (27 * 6) / (3 * 4));
  /* Without attributes the gradient of the output tells, which is as large whatever the strides. */
  expect("Conv2DBackpropInputV2", "[[2,9,9,3],[3,3,3,6],[2,5,5,6]]", "[2,9,9,3]", NULL, 2 * (2 * 25 * 6) * 27);
  expect("Conv2DBackpropFilterV2", "[[2,9,9,3],[3,3,3,6],[2,5,5,6]]", "[3,3,3,6]", NULL, 2 * (2 * 25 * 6) * 27);
  for (int version = 1; version <= 2; version++) {
    const char *input = version == 1 ? "Conv3DBackpropInput" : "Conv3DBackpropInputV2",
               *filter = version == 1 ? "Conv3DBackpropFilter" : "Conv3DBackpropFilterV2";
    expect(input, "[[5],[2,2,2,3,6],[1,4,4,4,6]]", NULL, "{\"strides\":[1,2,2,2,1]}", 18432);
    expect(filter, "[[1,8,8,8,3],[5],[1,4,4,4,6]]", "[2,2,2,3,6]", NULL, 18432);
    refuse(filter, "[[1,8,8,8,3],[5],[1,4,4,4,6]]", NULL, NULL, FLOPS_UNKNOWN);
  }
  expect("DepthwiseConv2dNativeBackpropInput", "[[4],[3,3,8,2],[2,16,16,16]]", NULL, NULL, 147456);
  expect("DepthwiseConv2dNativeBackpropFilter", "[[2,16,16,8],[4],[2,16,16,16]]", "[3,3,8,2]", NULL, 147456);
  /* A bias, and the four of a normalisation. */
  expect("_FusedConv2D", "[[2,16,16,8],[3,3,8,4],[4]]", "[2,16,16,4]", NULL, 294912 + 2048);
  expect("_FusedConv2D", "[[2,16,16,8],[3,3,8,4],[4],[4],[4],[4]]", "[2,16,16,4]", NULL, 294912 + 4 * 2048);
  expect("_FusedConv3D", "[[1,4,4,4,2],[2,2,2,2,3],[3]]", "[1,3,3,3,3]", NULL, 2 * (27 * 3) * 8 * 2 + 27 * 3);
  expect("_FusedDepthwiseConv2dNative", "[[2,16,16,8],[3,3,8,2],[16]]", "[2,16,16,16]", NULL, 147456 + 8192);
  refuse("_FusedConv2D", "[[2,16,16,8],[3,3,8,4],[4]]", NULL, NULL, FLOPS_UNKNOWN);
  const char *pool = "{\"ksize\":[1,2,2,1],\"strides\":[1,2,2,1],\"padding\":\"VALID\"}";
  expect("AvgPool", "[[2,8,8,3]]", NULL, pool, 4 * (2 * 16 * 3));
  expect("MaxPool", "[[2,8,8,3]]", "2x4x4x3", pool, 4 * (2 * 16 * 3));
  expect("AvgPoolGrad", "[[4],[2,4,4,3]]", NULL, pool, 2 * 4 * (2 * 16 * 3));
  expect("MaxPoolGrad", "[[2,8,8,3],[2,4,4,3],[2,4,4,3]]", NULL, pool, 5 * (2 * 16 * 3));
  refuse("Conv2D", "[[2,9,9,3],[3,3,3,6]]", NULL, NULL, FLOPS_UNKNOWN);
  refuse("MaxPool", "[[2,8,8,3]]", NULL, NULL, FLOPS_UNKNOWN);
  refuse("Conv2DBackpropInput", "[[4],[3,3,3,6]]", "[2,9,9,3]", "{\"strides\":[0,0,0,0]}", FLOPS_UNKNOWN);
}

static void test_overflow(void) {
  refuse("aten::mm", "[[4611686018427387904,2],[2,1]]", NULL, NULL, FLOPS_OVERFLOW);
  refuse("aten::mm", "[[99999999999999999999,2],[2,1]]", NULL, NULL, FLOPS_OVERFLOW);
  refuse("aten::bmm", "[[3000000,3000000,3000000],[3000000,3000000,3000000]]", NULL, NULL, FLOPS_OVERFLOW);
  expect("aten::mm", "[[4611686018427387903,1],[1,1]]", NULL, NULL, INT64_MAX - 1);
  expect("aten::bmm", "[[0,3000000,3000000],[0,3000000,3000000]]", NULL, NULL, 0);
  expect("aten::bmm", "[[3000000,3000000,3000000],[3000000,3000000,0]]", NULL, NULL, 0);
  refuse("aten::_foreach_add_", "[[[9000000000000000000],[9000000000000000000]]]", NULL, NULL, FLOPS_OVERFLOW);
  refuse("aten::_scaled_dot_product_flash_attention",
         "[[1,1,1,9223372036854775807],[1,1,1,9223372036854775807],[1,1,1,1]]", NULL, NULL, FLOPS_OVERFLOW);
  refuse("MaxPoolGrad", "[[1],[1,1,1,9223372036854775807]]", NULL, "{\"ksize\":[1,9,9,1]}", FLOPS_OVERFLOW);
}

/* Any text: an answer, and the same when the text ends in the middle of a page that cannot be read is the sanitizer's
** to see: each text is copied to memory of its own length. */
static void test_any_text(void) {
  static const char letters[] = "[[[]]],,,\"\"{}:x0123456789 -nulltruFasSAMEVD.>abstridespk\\";
  struct flops_call *call = flops_call_create();
  int64_t flops;
  for (int round = 0; round < 300000; round++) {
    struct flops_text texts[3];
    for (int i = 0; i < 3; i++) {
      size_t length = check_random(24);
      char *copy = malloc(length ? length : 1);
      for (size_t k = 0; k < length; k++) copy[k] = letters[check_random(sizeof letters - 1)];
      texts[i] = (struct flops_text){copy, length};
    }
    enum flops_status status =
        flops_count(call, text(op_types[check_random(OP_TYPES)]), texts[0], texts[1], texts[2], &flops);
    check((unsigned)status <= FLOPS_OVERFLOW && flops >= 0, "status %d, %lld", status, (long long)flops);
    for (int i = 0; i < 3; i++) free((char *)texts[i].bytes);
  }
  char *deep = malloc(100001);
  memset(deep, '[', 100000);
  deep[100000] = 0;
  check(flops_count(call, text("aten::mm"), text(deep), text(deep), text(deep), &flops) == FLOPS_UNKNOWN, "deep lists");
  for (int i = 0; i < 99996; i += 4) memcpy(deep + 1 + i, "[1],", 4);
  memcpy(deep + 99997, "[1]", 4);
  check(flops_count(call, text("aten::add"), text(deep), text(NULL), text(NULL), &flops) == FLOPS_UNKNOWN,
        "many inputs");
  free(deep);
  flops_call_free(call);
}

int main(void) {
  test_plain_formulas();
  test_elementwise();
  test_products();
  test_convolutions();
  test_attention();
  test_images();
  test_overflow();
  test_any_text();
  for (unsigned i = 0; i < OP_TYPES; i++) check(has_example[i], "%s has no example", op_types[i]);
  return check_result();
}
