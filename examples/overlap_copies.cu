/* overlap_copies.cu: a CUDA program as many are: batches come to the GPU, kernels work on them, a sum goes back.
**
**   nvcc -O2 -o overlap_copies examples/overlap_copies.cu && tfprof-capture -o run -- ./overlap_copies
**
** It does the same work in four ways, each a range of NVTX with one for each batch in it: from pageable memory; from
** pinned memory; from pinned memory on two streams, so that copies and kernels overlap; and with the many small kernels
** of the end of each batch launched as one CUDA graph. examples/README.md has the questions to ask of it.
*/
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH (1 << 20) /* numbers */
#define SMALL_KERNELS 20
#define STREAMS 2

#define CHECK(call)                                                                                     \
  do {                                                                                                  \
    cudaError_t result_ = (call);                                                                       \
    if (result_ != cudaSuccess) {                                                                       \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(result_));       \
      exit(1);                                                                                          \
    }                                                                                                   \
  } while (0)

__global__ void scale(float *values, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

/* Adds all values to *sum. */
__global__ void add_up(const float *values, float *sum, int count) {
  __shared__ float parts[256];
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += values[i];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, parts[0]);
}

struct lane {
  cudaStream_t stream;
  float *values, *sum, *answer; /* on the device; answer: pinned */
  cudaGraphExec_t graph;        /* NULL: none */
};

static void launch_small(struct lane *lane) {
  for (int i = 0; i < SMALL_KERNELS; i++) scale<<<1, 256, 0, lane->stream>>>(lane->values, 1.0f, 256);
}

/* What launch_small does, recorded once. */
static void make_graph(struct lane *lane) {
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(lane->stream, cudaStreamCaptureModeThreadLocal));
  launch_small(lane);
  CHECK(cudaStreamEndCapture(lane->stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&lane->graph, graph, 0));
  CHECK(cudaGraphDestroy(graph));
}

static void begin_lane(struct lane *lane) {
  memset(lane, 0, sizeof *lane);
  CHECK(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc((void **)&lane->values, BATCH * sizeof(float)));
  CHECK(cudaMalloc((void **)&lane->sum, sizeof(float)));
  CHECK(cudaMallocHost((void **)&lane->answer, sizeof(float)));
}

static void end_lane(struct lane *lane) {
  if (lane->graph) CHECK(cudaGraphExecDestroy(lane->graph));
  CHECK(cudaFreeHost(lane->answer));
  CHECK(cudaFree(lane->sum));
  CHECK(cudaFree(lane->values));
  CHECK(cudaStreamDestroy(lane->stream));
}

static void begin_batch(struct lane *lane, const float *batch) {
  CHECK(cudaMemcpyAsync(lane->values, batch, BATCH * sizeof(float), cudaMemcpyHostToDevice, lane->stream));
  CHECK(cudaMemsetAsync(lane->sum, 0, sizeof(float), lane->stream));
  scale<<<BATCH / 256, 256, 0, lane->stream>>>(lane->values, 2.0f, BATCH);
  add_up<<<256, 256, 0, lane->stream>>>(lane->values, lane->sum, BATCH);
  if (lane->graph) CHECK(cudaGraphLaunch(lane->graph, lane->stream));
  else launch_small(lane);
  CHECK(cudaMemcpyAsync(lane->answer, lane->sum, sizeof(float), cudaMemcpyDeviceToHost, lane->stream));
  CHECK(cudaGetLastError());
}

static double answer_of(struct lane *lane) {
  CHECK(cudaStreamSynchronize(lane->stream));
  return *lane->answer;
}

/* So many batches; every answer is BATCH times two. */
static void run(const char *name, const float *batch, int batches, int lanes_used, int uses_graph) {
  struct lane lanes[STREAMS];
  double sum = 0;
  for (int i = 0; i < lanes_used; i++) begin_lane(&lanes[i]);
  for (int i = 0; i < lanes_used && uses_graph; i++) make_graph(&lanes[i]);
  nvtxRangePushA(name);
  for (int number = 0; number < batches + lanes_used; number++) {
    char step[32];
    struct lane *lane = &lanes[number % lanes_used];
    snprintf(step, sizeof step, "batch %d", number);
    nvtxRangePushA(step);
    if (number >= lanes_used) sum += answer_of(lane);
    if (number < batches) begin_batch(lane, batch);
    nvtxRangePop();
  }
  nvtxRangePop();
  for (int i = 0; i < lanes_used; i++) end_lane(&lanes[i]);
  printf("%-20s %d batches, sum %.0f\n", name, batches, sum);
  if (sum != 2.0 * BATCH * batches) exit(1);
}

int main(int argc, char **argv) {
  int batches = argc > 1 ? atoi(argv[1]) : 50, devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
    fputs("overlap_copies: there is no CUDA device here\n", stderr);
    return 2;
  }
  float *pageable = (float *)malloc(BATCH * sizeof(float)), *pinned;
  CHECK(cudaMallocHost((void **)&pinned, BATCH * sizeof(float)));
  for (int i = 0; i < BATCH; i++) pageable[i] = pinned[i] = 1;
  run("pageable", pageable, batches, 1, 0);
  run("pinned", pinned, batches, 1, 0);
  run("two streams", pinned, batches, STREAMS, 0);
  run("two streams, graph", pinned, batches, STREAMS, 1);
  CHECK(cudaFreeHost(pinned));
  free(pageable);
  return 0;
}
