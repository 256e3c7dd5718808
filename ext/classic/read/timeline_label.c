/* timeline_label.c: see timeline_label.h.  The executor of TensorFlow writes the label of what it runs itself (the
** memory in brackets, the name, the op and its inputs); labels of devices are names of kernels. */
#include "classic/read/timeline_label.h"

#include <ctype.h>
#include <string.h>

bool tf_find_call(const char *label, size_t length, struct tf_call *call) {
  const char *end = label + length, *op = length ? memmem(label, length, " = ", 3) : NULL;
  if (!op) return false;
  const char *at = op += 3;
  while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '>' || *at == '.')) at++;
  const char *last = at < end ? memrchr(at, ')', (size_t)(end - at)) : NULL;
  if (at == op || at == end || *at != '(' || !last) return false;
  *call = (struct tf_call){op, at, (size_t)(at - op), (size_t)(last + 1 - at)};
  return true;
}

static bool takes_prefix(const char **op, size_t *length, const char *prefix) {
  size_t of_prefix = strlen(prefix);
  if (*length <= of_prefix || memcmp(*op, prefix, of_prefix) != 0) return false;
  *op += of_prefix;
  *length -= of_prefix;
  return true;
}

static bool op_begins(const char *op, size_t length, const char *prefix) {
  return length >= strlen(prefix) && memcmp(op, prefix, strlen(prefix)) == 0;
}

size_t tf_plain_op(const char *op, size_t length, char plain[TF_PLAIN_OP]) {
  const char *of = op;
  size_t left = length, at = 0;
  bool is_conversion = op_begins(op, length, "_MklToTf") || op_begins(op, length, "_MklInputConversion");
  bool is_of_mkl = !is_conversion && (takes_prefix(&of, &left, "_MklNative") || takes_prefix(&of, &left, "_Mkl"));
  bool is_norm = op_begins(of, left, "FusedBatchNormV") || op_begins(of, left, "FusedBatchNormGrad");
  if (is_of_mkl && !is_norm && op_begins(of, left, "Fused")) plain[at++] = '_';
  if (left > TF_PLAIN_OP - at) left = TF_PLAIN_OP - at;
  memcpy(plain + at, of, left);
  return at + left;
}
