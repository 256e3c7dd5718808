/* kernel_names.c: what the name of a kernel tells: its short form, its kind, and whether it computes on tensor cores.
**
** Each distinct name is looked at once.
**
**   short_name              without return type, namespaces' template arguments, template arguments and parameters:
**                           "void at::native::vectorized_elementwise_kernel<4, F, A>(int, F, A)" is
**                           at::native::vectorized_elementwise_kernel
**   kind                    communication for the kernels of NCCL, RCCL, HCCL, oneCCL and NVSHMEM, for the all-reduce
**                           kernels that vLLM and TensorRT bring along, and for those that a row of collectives names;
**                           else compute
**   uses_tensor_core        a part of the name is one of those by which NVIDIA's libraries tell (the list of PyProf's
**                           prof/tc.py, which the PyTorch TensorBoard plugin uses too), or of the families since then
**   tensor_core_eligible    the op that launched it is one that tensor cores can compute (the plugin's
**                           tensor_core.py); NULL without an op
*/
#include "derive/passes.h"
#include "derive/rows.h"

#include <stdlib.h>
#include <string.h>

static const char *const tensor_core_parts[] = {
    "h884", "s884", "h1688", "s1688", "hmma", "i8816", "16816", "dgrad_1x1_stride_2x2", "first_layer_wgrad_kernel",
    "conv1x1", "conv2d_c1_k1", "direct_group", "xmma_implicit_gemm", "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm", "xmma_gemm", "xmma_sparse_gemm", "c1688",
    /* Hopper and later, flash attention, and the matrix cores of AMD */
    "wgmma", "gmma", "tcgen05", "flash_fwd", "flash_bwd", "tensorop", "imma", "dmma", "nvjet_", "MFMA", "mfma"};

static const char *const communication_heads[] = {"nccl", "rccl", "hccl", "oneccl", "nvshmem"};
static const char *const communication_parts[] = {"ncclKernel", "ncclDevKernel", "ncclSymkDevKernel",
                                                  "cross_device_reduce_", "oneShotAllReduceKernel",
                                                  "twoShotAllReduceKernel", "allreduce_fusion_kernel"};

/* Forward ops, and backward ops of the same families by the names of PyTorch 1.x (MmBackward) and
** since (MmBackward0). */
static const char *const eligible_ops[] = {
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

static bool is_among(const char *text, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strstr(text, parts[i])) return true;
  }
  return false;
}
#define AMONG(text, parts) is_among(text, parts, sizeof parts / sizeof *parts)

static bool is_communication(const char *name) {
  for (size_t i = 0; i < sizeof communication_heads / sizeof *communication_heads; i++) {
    if (strncmp(name, communication_heads[i], strlen(communication_heads[i])) == 0) return true;
  }
  return AMONG(name, communication_parts);
}

static bool is_eligible(const char *op) {
  size_t length = strlen(op);
  if (length && op[length - 1] == '0' && strstr(op, "Backward0")) length--;
  for (size_t i = 0; i < sizeof eligible_ops / sizeof *eligible_ops; i++) {
    if (strlen(eligible_ops[i]) == length && memcmp(op, eligible_ops[i], length) == 0) return true;
  }
  return false;
}

/* Writes the short form, which is never longer than the name; returns its length. */
static size_t shorten(const char *name, char *to) {
  static const char anonymous[] = "(anonymous namespace)";
  size_t length = 0, depth = 0;
  if (strncmp(name, "void ", 5) == 0) name += 5;
  for (const char *p = name; *p; p++) {
    if (strncmp(p, anonymous, sizeof anonymous - 1) == 0) {
      if (!depth) {
        memcpy(to + length, anonymous, sizeof anonymous - 1);
        length += sizeof anonymous - 1;
      }
      p += sizeof anonymous - 2;
    } else if (*p == '<') {
      depth++;
    } else if (*p == '>') {
      depth -= depth > 0;
    } else if (*p == '(' && !depth && length) {
      break;
    } else if (!depth) {
      to[length++] = *p;
    }
  }
  while (length && to[length - 1] == ' ') length--;
  return length;
}

enum { IS_KNOWN = 1, IS_COMMUNICATION = 2, USES_TENSOR_CORE = 4 };

struct names {
  uint8_t *facts;    /* by string */
  string_id *shorts; /* by string, where IS_KNOWN */
  size_t count;
};

static enum tfprof_status look_at(struct profile *profile, struct names *names, string_id id,
                                  struct tfprof_error *error) {
  struct pool *pool = store_pool(profile->store);
  const char *name = pool_text(pool, id);
  char *shortened = scratch_allocate(pool_length(pool, id) + 1);
  if (!shortened) return error_no_memory(error);
  size_t length = shorten(name, shortened);
  names->facts[id] = IS_KNOWN | (is_communication(name) ? IS_COMMUNICATION : 0) |
                     (AMONG(name, tensor_core_parts) ? USES_TENSOR_CORE : 0);
  names->shorts[id] = id;
  enum tfprof_status status = length ? pool_intern(pool, shortened, length, &names->shorts[id]) : TFPROF_OK;
  scratch_free(shortened);
  if (status == TFPROF_NO_MEMORY) return error_no_memory(error);
  return status ? error_set(error, status, "too many different texts are open") : TFPROF_OK;
}

/* 1 for ops that tensor cores can compute, by row. */
static enum tfprof_status find_eligible_ops(struct profile *profile, uint8_t **eligible, struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_ops, &rows, error);
  if (status) return status;
  uint8_t *known = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* by string: 1 no, 2 yes */
  uint8_t *found = scratch_allocate_zeroed((size_t)rows + 1, 1);
  if (!known || !found) {
    scratch_free(known);
    scratch_free(found);
    return error_no_memory(error);
  }
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id ids[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_name, ids);
    for (uint32_t i = 0; i < block.count; i++) {
      if (!ids[i]) continue;
      if (!known[ids[i]]) known[ids[i]] = is_eligible(pool_text(pool, ids[i])) ? 2 : 1;
      found[block.row + i] = known[ids[i]] == 2;
    }
  }
  scratch_free(known);
  *eligible = found;
  return status;
}

struct results {
  string_id *shorts, *kinds;
  int64_t *uses, *eligible;
};

static enum tfprof_status fill(struct profile *profile, struct names *names, struct results *r, const uint8_t *eligible,
                               struct tfprof_error *error) {
  uint32_t op_count;
  string_id compute, communication;
  enum tfprof_status status = derive_text(profile, "compute", &compute, error);
  if (!status) status = derive_text(profile, "communication", &communication, error);
  if (!status) status = derive_row_count(profile, TABLE_ops, &op_count, error);
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_kernels, &block, &status, error);) {
    string_id ids[ROWS_BLOCK];
    uint32_t ops[ROWS_BLOCK];
    block_texts(&block, COLUMN_kernels_name, ids);
    block_references(&block, COLUMN_kernels_op_id, op_count, ops);
    for (uint32_t i = 0; i < block.count && !status; i++) {
      uint64_t row = block.row + i;
      r->eligible[row] = ops[i] == NO_ROW ? NO_VALUE : eligible[ops[i]];
      if (!ids[i]) continue;
      if (!names->facts[ids[i]]) status = look_at(profile, names, ids[i], error);
      r->shorts[row] = names->shorts[ids[i]];
      r->kinds[row] = names->facts[ids[i]] & IS_COMMUNICATION ? communication : compute;
      r->uses[row] = (names->facts[ids[i]] & USES_TENSOR_CORE) != 0;
    }
  }
  uint32_t *named = NULL, collective_count = 0;
  if (!status) status = derive_row_count(profile, TABLE_collectives, &collective_count, error);
  if (!status) status = derive_all_references(profile, TABLE_collectives, COLUMN_collectives_kernel_id, &named, error);
  for (uint32_t i = 0; i < collective_count && !status; i++) {
    if (named[i] != NO_ROW) r->kinds[named[i]] = communication;
  }
  scratch_free(named);
  return status;
}

static enum tfprof_status run_kernel_names(struct profile *profile, struct tfprof_error *error) {
  uint32_t rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_kernels, &rows, error);
  if (status || !rows) return status;
  uint8_t *eligible = NULL;
  size_t texts = (size_t)pool_count(store_pool(profile->store)) + 1;
  struct names names = {.facts = scratch_allocate_zeroed(texts, 1),
                        .shorts = scratch_allocate_zeroed(texts, sizeof *names.shorts),
                        .count = texts};
  struct results r = {scratch_allocate_zeroed(rows, sizeof *r.shorts), scratch_allocate_zeroed(rows, sizeof *r.kinds),
                      scratch_allocate(rows * sizeof *r.uses), scratch_allocate(rows * sizeof *r.eligible)};
  if (!names.facts || !names.shorts || !r.shorts || !r.kinds || !r.uses || !r.eligible) status = error_no_memory(error);
  for (uint32_t i = 0; i < rows && !status; i++) r.uses[i] = r.eligible[i] = NO_VALUE;
  if (!status) status = find_eligible_ops(profile, &eligible, error);
  if (!status) status = fill(profile, &names, &r, eligible, error);
  if (!status) status = derive_set_texts(profile, TABLE_kernels, COLUMN_kernels_short_name, r.shorts, error);
  if (!status) status = derive_set_texts(profile, TABLE_kernels, COLUMN_kernels_kind, r.kinds, error);
  if (!status) status = derive_set_integers(profile, TABLE_kernels, COLUMN_kernels_uses_tensor_core, r.uses, error);
  if (!status) {
    status = derive_set_integers(profile, TABLE_kernels, COLUMN_kernels_tensor_core_eligible, r.eligible, error);
  }
  scratch_free(eligible);
  scratch_free(names.facts);
  scratch_free(names.shorts);
  scratch_free(r.shorts);
  scratch_free(r.kinds);
  scratch_free(r.uses);
  scratch_free(r.eligible);
  return status;
}

const struct derive_pass derive_kernel_names = {
    .name = "kernel names",
    .summary = "Short name, kind and use of tensor cores from the names of kernels and ops, each looked at once.",
    .makes_table = -1,
    .reads = {{TABLE_kernels, COLUMN_kernels_name},
              {TABLE_kernels, COLUMN_kernels_op_id},
              {TABLE_ops, COLUMN_ops_name},
              {TABLE_collectives, COLUMN_collectives_kernel_id}},
    .writes = {{TABLE_kernels, COLUMN_kernels_short_name},
               {TABLE_kernels, COLUMN_kernels_kind},
               {TABLE_kernels, COLUMN_kernels_uses_tensor_core},
               {TABLE_kernels, COLUMN_kernels_tensor_core_eligible}},
    .run = run_kernel_names,
    .is_alone = true,
};
