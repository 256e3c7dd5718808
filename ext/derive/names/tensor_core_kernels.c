/* tensor_core_kernels.c: see tensor_core_kernels.h.
**
** A part of the name says so:
**   of NVIDIA's libraries     the list of PyProf's prof/tc.py, which XProf and the PyTorch TensorBoard plugin use too,
**                             and the families since then: the shape of the instruction (s16816gemm, i16832, d884),
**                             implicit products of xmma, nvjet
**   templates of CUTLASS      2: OpClassTensorOp, MmaTensorOp; 3: a main loop of warp groups or of Blackwell's units
**                             (Sm90...Gmma..., Sm100...Umma...), or the instruction (cute::SM80_16x8x16_...)
**   products                  FlashAttention 2 and 3, fused attention of cuDNN and xFormers, DeepGEMM, Marlin,
**                             FlashInfer's prefill and MLA
**   of AMD                    MFMA, also as Tensile (Cijk_..._MI16x16x1) and Composable Kernel (xdl) name it, WMMA,
**                             ck_tile's and AITER's fused attention and products
** but none that says to multiply number by number (ffma, simt, UniversalFMA): volta_sgemm and ampere_sgemm say neither.
*/
#include "derive/names/tensor_core_kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char *const tensor_core_parts[] = {
    "h884", "s884", "h1688", "s1688", "hmma", "i8816", "i16832", "16816", "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel", "conv1x1", "conv2d_c1_k1", "direct_group", "xmma_implicit_gemm", "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm", "xmma_gemm", "xmma_sparse_gemm", "c1688",
    /* Ampere's convolutions, names of CUTLASS as CUDA mangles them */
    "xmma_fprop_implicit_gemm", "xmma_dgrad_implicit_gemm", "xmma_wgrad_implicit_gemm", "MmaTensorOp",
    "OpClassTensorOp", "d884", "16832", "16864", "tensorop", "imma", "dmma", "qmma", "nvjet_",
    /* Hopper and later, and CUTLASS 3 */
    "wgmma", "gmma", "Gmma", "GMMA", "tcgen05", "umma", "Umma", "UMMA", "MainloopSm80", "MainloopSm90", "MainloopSm100",
    "MainloopSm103", "MainloopSm120", "cute::SM70_8x8x4", "cute::SM75_16x8x8", "cute::SM80_16x8", "cute::SM80_8x8",
    "cute::SM89_16x8", "cute::SM90_16x8", "cute::SM90_64x", "cute::SM100_", "cute::SM120_",
    /* attention and other products */
    "flash_fwd", "flash_bwd", "FlashAttnFwd", "FlashAttnBwd", "flash_attn_", "sdpa_sm", "fmha_cutlassF_f16_",
    "fmha_cutlassF_bf16_", "fmha_cutlassB_f16_", "fmha_cutlassB_bf16_", "deep_gemm::", "marlin::Marlin", "Marlin<",
    "BatchPrefillWith", "SinglePrefillWith", "BatchMLAPaged", "flash_mla",
    /* of AMD */
    "MFMA", "mfma", "_MI16x16x", "_MI32x32x", "_MI4x4x", "_xdl", "Xdl", "_wmma", "Wmma", "WMMA", "ck_tile::Fmha",
    "ck_tile::Gemm", "ck_tile::BlockFmha", "ck_tile::UniversalGemm", "ck_tile::FlatmmKernel", "aiter::fmha_",
    "aiter::mha_"};

/* Of the families above, those that multiply number by number. */
static const char *const plain_parts[] = {"_ffma_", "_simt_", "OpClassSimt", "UniversalFMA", "MmaSimt"};

static bool names_any(const char *text, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strstr(text, parts[i])) return true;
  }
  return false;
}
#define AMONG(text, parts) names_any(text, parts, sizeof parts / sizeof *parts)

/* Those that torch.compile and XLA make say so; else a name of Python, without types: _attn_fwd, fused_moe_kernel. */
static bool is_of_triton(const char *name) {
  static const char tail[] = "_kernel";
  size_t length = strlen(name), size = sizeof tail - 1;
  if (strncmp(name, "triton_", strlen("triton_")) == 0 || strncmp(name, "gemm_fusion_dot", 15) == 0) return true;
  if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length) return false;
  return name[0] == '_' || (length > size && strcmp(name + length - size, tail) == 0);
}

enum tensor_core_use tensor_core_use_of(const char *kernel) {
  if (AMONG(kernel, tensor_core_parts)) return AMONG(kernel, plain_parts) ? WITHOUT_TENSOR_CORES : WITH_TENSOR_CORES;
  return is_of_triton(kernel) ? TENSOR_CORES_UNKNOWN : WITHOUT_TENSOR_CORES;
}
