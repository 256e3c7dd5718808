/* cupti_refusals.c: see cupti_refusals.h. */
#include "cupti_refusals.h"

#include "cupti_api.h"

#include <stddef.h>

/* CUptiResult, as cupti_result.h of CUDA 13.5 has them. */
enum { OF_VIRTUAL_DEVICE = 40, OF_CONFIDENTIAL_COMPUTING, OF_MINING_DEVICE, OF_INSTANCE, OF_SLI, OF_WSL, OF_MPS = 47 };

const char *cupti_refusal_text(int result) {
  switch (result) {
    case CUPTI_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators profile: set its option NVreg_RestrictProfilingToAdminUsers=0, or "
             "give the container the capability CAP_SYS_ADMIN";
    case OF_VIRTUAL_DEVICE:
      return "the hypervisor does not let this virtual GPU (vGPU) be profiled: its administrator allows it with the "
             "vGPU's parameter enable_profiling=1";
    case OF_CONFIDENTIAL_COMPUTING:
      return "the GPU is in confidential computing mode, which allows no profiling: profile on a machine where that "
             "mode is off (nvidia-smi conf-compute -f)";
    case OF_MINING_DEVICE: return "the GPU is one for mining (CMP), which CUPTI does not support: use another GPU";
    case OF_INSTANCE:
      return "this CUPTI does not record an instance of a GPU (MIG): use one of a newer CUDA, or a whole GPU "
             "(nvidia-smi -mig 0)";
    case OF_SLI: return "CUPTI does not record GPUs that are linked by SLI: switch SLI off";
    case OF_WSL: return "CUPTI does not record under this WSL: use Linux itself, or a newer driver of Windows";
    case OF_MPS:
      return "the GPU is shared by MPS, under which CUPTI's hardware trace does not work: end MPS (echo quit | "
             "nvidia-cuda-mps-control)";
    default: return NULL;
  }
}
