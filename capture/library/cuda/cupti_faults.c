/* cupti_faults.c: see cupti_faults.h. */
#include "cupti_faults.h"

#include <stddef.h>

static const struct {
  uint32_t since, until; /* the first one that has it no longer */
  unsigned effects;
  const char *text;
} faults[] = {
    {0, 130001, FAULT_OF_SWITCHING,
     "it may hang the program where it is told to record kernels no longer (mended in CUDA 13.0 Update 1): kernels are "
     "recorded in every step, whatever that takes"},
    {22, 24, 0, "that of CUDA 12.4 may record no kernels at all (mended in CUDA 12.5 Update 1)"},
    {130000, 130001, 0, "it has no record of cudaDeviceSynchronize (mended in CUDA 13.0 Update 1)"},
    {0, 130101, FAULT_OF_GRAPHS,
     "it may give kernels of CUDA graphs to other launches once it was switched off and on again, as for "
     "torch.profiler (mended in CUDA 13.1 Update 1): those that are have no call, op and line"},
    {0, 130401, FAULT_OF_GROWTH,
     "its own thread takes more and more of a processor in runs of many hours (mended in CUDA 13.4 Update 1): that is "
     "watched"},
    {0, UINT32_MAX, 0,
     "each time that it is told again what clock to keep time by, as torch.profiler does in each window, the first "
     "kernels afterwards have times of its own clock, one more each time (pytorch/pytorch#192021): these are brought "
     "over"},
    {0, UINT32_MAX, 0,
     "after some 25 million records of a CUDA graph's work it may tell times of 0: such rows have none, and are "
     "counted"},
    {0, 130401, 0,
     "a kernel of a module that was loaded in the place of another may have the other's name, as with Triton and "
     "torch.compile (mended in CUDA 13.4 Update 1)"},
};
enum { FAULTS = sizeof faults / sizeof *faults };

unsigned cupti_faults_of(uint32_t version) {
  unsigned effects = 0;
  for (unsigned i = 0; i < FAULTS; i++)
    if (version >= faults[i].since && version < faults[i].until) effects |= faults[i].effects;
  return effects;
}

const char *cupti_fault_text(uint32_t version, unsigned number) {
  for (unsigned i = 0; i < FAULTS; i++)
    if (version >= faults[i].since && version < faults[i].until && !number--) return faults[i].text;
  return NULL;
}
