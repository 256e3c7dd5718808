/* framework_names.c: see framework_names.h.
**
** Marks of a program and of a framework are the same kind of event (TraceMe), and nothing in the file tells them apart
** but their names.  A framework's are known: what its Python code marks, which is little, and what its C++ code marks
** on threads of Python, mostly called by class and function.  A name that is missing here is taken for a mark of the
** program: it stands in `ranges`, and the time in it counts as outside ops only as far as no op lies around or inside
** it.
*/
#include "read/xplane/framework_names.h"

#include <ctype.h>
#include <string.h>

/* A name that begins so. */
static const char *const beginnings[] = {
    /* of JAX */
    "PjitFunction(", "DevicePut", "ParseArguments", "np.asarray(jax.", "pickle_util.", "backend_compile",
    "trace_to_jaxpr", "lower_", "shard_args", "batched_", "Batched", "copy_to_host_async", "ExecuteReplicated.",
    "JaxCompile", "jax.", "jaxlib.", "PyArray", "PyClient", "PyLoadedExecutable", "IFRT", "Ifrt", "PmapFunction",
    "BlockHost", "block_until_ready", "create_pjit_jaxpr", "_create_pjit_jaxpr", "infer_params",
    /* of XLA and its clients */
    "PjRt", "Pjrt", "PJRT_", "TfrtCpu", "TfrtGpu", "CommonPjRt", "StreamExecutor", "LocalClient", "LocalExecutable",
    "Handle input", "Wait for ", "Allocate", "Thunk", "Threadpool", "XLA ", "Xla", "xla_", "Hlo", "HLO ", "end: ",
    "Await", "BufferFromHost", "CopyTo", "TransferTo", "TransferFrom", "Linearize", "Delinearize", "Dispatch", "Tpu",
    "D2D ", "D2H ", "H2D ", "Rendezvous", "Nccl", "nccl", "RunBackend", "CompileSingle", "CompileTo", "CompileAndLoad",
    /* of TensorFlow */
    "TFE_", "TF_", "Eager", "FunctionRun", "SessionRun", "RunGraph", "ExecutorDone", "convert_to_tensor", "tf.",
    "ValidateInput", "Prefetch", "MapAndBatch", "ParallelMap", "ParallelInterleave", "Grpc", "RecvTensor", "SendTensor",
    "ProcessFunctionLibrary", "PartitionedCall", "WaitForNotification", "InstantiateFunction", "ConvertGraph",
    "OptimizeGraph", "Grappler", "TraceContext", "_Send", "_Recv", "RunCallable", "MakeCallable",
    /* of its batch schedulers and servers */
    "BatchingSessionRun", "ProcessBatch", "ScheduleWith", "ScheduleOutputTask", "MergeInputTensors",
    "ConcatInputTensors", "SplitOutputTensors", "TfrtModelRun", "ServingModelRun", "BrainSessionRun"};

/* Namespaces of C++ that begin with a small letter. */
static const char *const namespaces[] = {"absl::", "grpc::", "ifrt::", "jax::",        "mlir::", "pjrt::", "se::",
                                         "std::",  "tfrt::", "tsl::",  "tensorflow::", "xla::",  "stream_executor::"};

static bool has_beginning(const char *text, size_t length, const char *beginning) {
  size_t size = strlen(beginning);
  return length >= size && memcmp(text, beginning, size) == 0;
}

/* "KernelAndDeviceFunc::Run", "xla::...": classes of C++ begin with a large letter. */
static bool is_function_of_class(const char *text, size_t length) {
  for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
    if (has_beginning(text, length, namespaces[i])) return true;
  }
  return length && isupper((unsigned char)text[0]) && memmem(text, length, "::", 2);
}

bool xplane_is_framework_name(const char *text, size_t length) {
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
    if (has_beginning(text, length, beginnings[i])) return true;
  }
  return is_function_of_class(text, length);
}

bool xplane_is_framework_thread(const char *name) {
  static const char *const pools[] = {"tf_",   "tsl_", "TSL",  "pjrt", "PjRt", "XLA",           "xla",
                                      "Eigen", "grpc", "Grpc", "cuda", "Tpu",  "event_engine",  "CUPTI",
                                      "tpu",   "jax_cpu",      "default-exec", "resolver-exec", "timer_manager"};
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
    if (has_beginning(name, strlen(name), pools[i])) return true;
  }
  return false;
}
