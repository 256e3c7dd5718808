/* sources.c: all sources, in their order (see recorder/source.h): who has the lock of one takes only those of the ones
** behind it, and what the writer thread does for one may rest on what it has done for those before it.
*/
#include "channel/channel_reader.h"
#include "cuda/cuda_source.h"
#include "governor/limits.h"
#include "hangs/hang_watch.h"
#include "host/nvml_source.h"
#include "host/process_counters.h"
#include "host/process_identity.h"
#include "host/thread_switches.h"
#include "nvtx/nvtx_source.h"
#include "python/hook_problems.h"
#include "python/python_source.h"
#include "recorder/source.h"
#include "tensorflow/session_records.h"
#include "torch/memory_callbacks.h"
#include "torch/modules_source.h"
#include "torch/noted_ranges.h"
#include "torch/op_callbacks.h"
#include "windows/window_source.h"

const struct capture_source *const capture_sources[] = {
    &channels_source,     &identity_source, &counters_source, &switches_source,
    &gpu_counters_source, &governor_source, &nvtx_source,     &cuda_source,
    &marks_source,        &ops_source,      &memory_source,   &modules_source,
    &python_source,       &windows_source,  &sessions_source, &hangs_source,
    &hook_problems_source,
    NULL,
};
