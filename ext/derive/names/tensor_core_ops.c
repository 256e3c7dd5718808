/* tensor_core_ops.c: see tensor_core_ops.h. */
#include "derive/names/tensor_core_ops.h"

#include <stddef.h>
#include <string.h>

/* Forward ops, and backward ops of the same families by the names of PyTorch 1.x (MmBackward) and
** since (MmBackward0). */
static const char *const torch_ops[] = {
    "aten::_convolution", "aten::_convolution_nogroup", "aten::conv1d", "aten::conv2d", "aten::conv3d",
    "aten::conv_tbc", "aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d",
    "aten::convolution", "aten::cudnn_convolution", "aten::cudnn_convolution_transpose", "aten::prelu", "aten::addmm",
    "aten::addmm_", "aten::addmv", "aten::addr", "aten::matmul", "aten::mm", "aten::mv", "aten::linear",
    "aten::addbmm", "aten::baddbmm", "aten::bmm", "aten::chain_matmul", "aten::linalg_multi_dot",
    "aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_gru_cell", "aten::lstm_cell", "aten::gru_cell",
    "aten::rnn_tanh_cell", "aten::rnn_relu_cell", "aten::cudnn_convolution_backward",
    "aten::cudnn_convolution_backward_weight", "aten::cudnn_convolution_backward_input",
    "aten::cudnn_convolution_transpose_backward", "aten::cudnn_convolution_transpose_backward_weight",
    "aten::cudnn_convolution_transpose_backward_input", "aten::convolution_backward", "aten::_scaled_mm",
    "CudnnConvolutionBackward", "CudnnConvolutionTransposeBackward", "BmmBackward", "MmBackward", "AddmvBackward",
    "MvBackward", "AddmmBackward", "AddbmmBackward", "ConvolutionBackward"};

/* How names of TensorFlow's nodes end, and what may stand anywhere in them. A MatMul without a scope is one as well,
** which XProf leaves out. */
static const char *const tensorflow_ends[] = {
    "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D", "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput", "/MatMul", "FusedMatMul",
    "/CudnnRNN", "XlaDot", "XlaDotV2"};
static const char *const tensorflow_parts[] = {"BatchMatMul", "CudnnRNNV", "CudnnRNNForward", "CudnnRNNBackprop"};
/* jit(f)/dot_general, also with parameters behind it */
static const char *const jax_parts[] = {"/dot_general", "/conv_general_dilated"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool has_end(const char *text, size_t length, const char *end) {
  size_t size = strlen(end);
  return length >= size && memcmp(text + length - size, end, size) == 0;
}

static bool has_any_part(const char *text, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strstr(text, parts[i])) return true;
  }
  return false;
}

static bool is_of_torch(const char *op, size_t length) {
  if (length && op[length - 1] == '0' && strstr(op, "Backward0")) length--;
  for (size_t i = 0; i < COUNT(torch_ops); i++) {
    if (strlen(torch_ops[i]) == length && memcmp(op, torch_ops[i], length) == 0) return true;
  }
  return false;
}

bool tensor_core_can_run(const char *op) {
  size_t length = strlen(op);
  if (is_of_torch(op, length) || strcmp(op, "MatMul") == 0) return true;
  if (strncmp(op, "aten::", 6) == 0) return false;
  for (size_t i = 0; i < COUNT(tensorflow_ends); i++) {
    if (has_end(op, length, tensorflow_ends[i])) return true;
  }
  return has_any_part(op, tensorflow_parts, COUNT(tensorflow_parts)) ||
         has_any_part(op, jax_parts, COUNT(jax_parts));
}

bool tensor_core_can_contract(const char *equation) {
  const char *arrow = strstr(equation, "->");
  if (!arrow || strstr(arrow + 2, "->")) return false;
  size_t commas = 0;
  for (const char *at = equation; at < arrow; at++) commas += *at == ',';
  return commas == 1;
}
