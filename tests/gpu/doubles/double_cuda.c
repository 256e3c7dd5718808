/* double_cuda.c: a libcuda.so.1 for tests: cuInit loads the library that CUDA_INJECTION64_PATH names and calls it, as
** NVIDIA's driver does, and two devices tell what they are. A kernel that is launched is one for the double of CUPTI;
** what a launch takes is told by DOUBLE_LAUNCH_NS, by DOUBLE_CALL_NS what it takes more where calls are recorded, by
** DOUBLE_KERNEL_NS where kernels are. All other work is done, and not recorded.  With DOUBLE_INIT_HANGS=1 cuInit never
** returns, nor does what waits for it.  What double_cuda_at_end points to is called when the next call of
** cuDriverGetVersion ends, as CUPTI calls back.
*/
#include "double_cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRY __attribute__((visibility("default")))
enum { DEVICES = 2, NOT_INITIALIZED = 3, INVALID_VALUE = 1, NO_DEVICE = 100 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic int is_initialised;
static pid_t initialised_by;

static void initialise(void) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
  int (*inject)(void) = NULL;
  if (library) *(void **)&inject = dlsym(library, "InitializeInjection");
  if (inject && !inject()) fprintf(stderr, "InitializeInjection refused\n");
  while (getenv("DOUBLE_INIT_HANGS")) pause();
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  initialised_by = getpid();
  is_initialised = !visible || (*visible && *visible != '-');
}

ENTRY int cuInit(unsigned flags);
ENTRY int cuInit(unsigned flags) {
  (void)flags;
  pthread_once(&once, initialise);
  if (initialised_by != getpid()) return NOT_INITIALIZED; /* a forked child cannot go on */
  return is_initialised ? 0 : NO_DEVICE;
}

static _Atomic(const struct double_cupti *) recorder;

static const struct double_cupti *look_for_recorder(void) {
  static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
  for (unsigned i = 0; i < sizeof names / sizeof *names && !recorder; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    if (library) recorder = dlsym(library, "double_cupti");
  }
  return recorder;
}

/* CUPTI records the call where it was asked to. */
static void record_call(void) {
  const struct double_cupti *cupti = look_for_recorder();
  if (!cupti || !cupti->is_on(CUPTI_DRIVER, DOUBLE_DRIVER_GET_VERSION)) return;
  uint64_t now = cupti->now();
  const struct cupti_call call = {.kind = CUPTI_DRIVER,
                                  .function = DOUBLE_DRIVER_GET_VERSION,
                                  .start = now,
                                  .end = now + 100,
                                  .process = (uint32_t)getpid(),
                                  .thread = (uint32_t)syscall(SYS_gettid),
                                  .correlation = cupti->next_correlation()};
  cupti->put(&call, sizeof call);
}

ENTRY int (*_Atomic double_cuda_at_end)(void);

/* DOUBLE_DRIVER: 13000 is CUDA 13.0. */
ENTRY int cuDriverGetVersion(int *version);
ENTRY int cuDriverGetVersion(int *version) {
  record_call();
  const char *asked = getenv("DOUBLE_DRIVER");
  *version = asked ? atoi(asked) : 13000;
  int (*at_end)(void) = atomic_exchange(&double_cuda_at_end, NULL);
  if (at_end) at_end();
  return 0;
}

ENTRY int cuDeviceGetCount(int *count);
ENTRY int cuDeviceGetCount(int *count) {
  while (getenv("DOUBLE_INIT_HANGS")) pause();
  *count = DEVICES;
  return is_initialised ? 0 : NOT_INITIALIZED;
}

ENTRY int cuDeviceGet(int *device, int ordinal);
ENTRY int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < DEVICES ? 0 : INVALID_VALUE;
}

ENTRY int cuDeviceGetName(char *name, int length, int device);
ENTRY int cuDeviceGetName(char *name, int length, int device) {
  snprintf(name, (size_t)length, "NVIDIA Double %d", device);
  return 0;
}

ENTRY int cuDeviceTotalMem_v2(size_t *bytes, int device);
ENTRY int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = (size_t)(80 + device) << 30;
  return 0;
}

ENTRY int cuDeviceGetUuid(unsigned char *uuid, int device);
ENTRY int cuDeviceGetUuid(unsigned char *uuid, int device) {
  memset(uuid, 0xa0 + device, 16);
  return 0;
}

ENTRY int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
ENTRY int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  memset(uuid, (getenv("DOUBLE_MIG") ? 0xb0 : 0xa0) + device, 16);
  return 0;
}

/* All streams are of one context; those below 5 are none. */
ENTRY int cuStreamGetCtx(void *stream, void **context);
ENTRY int cuStreamGetCtx(void *stream, void **context) {
  *context = &once;
  return (size_t)stream < 5 ? INVALID_VALUE : 0;
}

/* ---- Work. */

static pthread_once_t found_once = PTHREAD_ONCE_INIT;
static uint64_t launch_ns, call_ns, kernel_ns;

static uint64_t told_ns(const char *name) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : 0;
}

static void find_times(void) {
  launch_ns = told_ns("DOUBLE_LAUNCH_NS");
  call_ns = told_ns("DOUBLE_CALL_NS");
  kernel_ns = told_ns("DOUBLE_KERNEL_NS");
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const struct double_cupti *find_recorder(void) {
  static _Atomic unsigned looks;
  return recorder || looks++ % 256 ? recorder : look_for_recorder();
}

ENTRY int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters,
                         void **extra) {
  pthread_once(&found_once, find_times);
  const struct double_cupti *cupti = find_recorder();
  bool has_call = cupti && cupti->is_on(CUPTI_DRIVER, DOUBLE_DRIVER_LAUNCH);
  bool has_kernel = cupti && cupti->is_on(CUPTI_CONCURRENT_KERNEL, 0);
  uint64_t begin = now_ns(), end = begin + launch_ns + (has_call ? call_ns : 0) + (has_kernel ? kernel_ns : 0);
  uint64_t start = cupti ? cupti->now() : 0;
  while (now_ns() < end) continue;
  struct cupti_call call = {.kind = CUPTI_DRIVER,
                            .function = DOUBLE_DRIVER_LAUNCH,
                            .start = start,
                            .end = cupti ? cupti->now() : 0,
                            .process = (uint32_t)getpid(),
                            .thread = (uint32_t)syscall(SYS_gettid),
                            .correlation = cupti ? cupti->next_correlation() : 0};
  struct cupti_kernel kernel = {.kind = CUPTI_CONCURRENT_KERNEL,
                                .start = call.end + 2000,
                                .end = call.end + 3000,
                                .context = 1,
                                .stream = 7 + (uint32_t)(size_t)stream,
                                .grid = {(int32_t)grid_x, (int32_t)grid_y, (int32_t)grid_z},
                                .block = {(int32_t)block_x, (int32_t)block_y, (int32_t)block_z},
                                .correlation = call.correlation,
                                .name = "empty"};
  if (has_call) cupti->put(&call, sizeof call);
  if (has_kernel) cupti->put(&kernel, sizeof kernel);
  return 0;
}

/* Handles are small numbers, or none. */
static int give(void **handle, size_t number) {
  *handle = (void *)number;
  return 0;
}
ENTRY int cuDevicePrimaryCtxRetain(void **handle, int device) { return give(handle, (size_t)device + 1); }
ENTRY int cuModuleLoadData(void **handle, const char *image) {
  return strstr(image, ".entry") ? give(handle, 1) : INVALID_VALUE;
}
ENTRY int cuModuleGetFunction(void **handle, void *module, const char *name) {
  return module && *name ? give(handle, 1) : INVALID_VALUE;
}
ENTRY int cuStreamCreate(void **handle, unsigned flags) {
  static _Atomic unsigned streams;
  return give(handle, ++streams);
}
ENTRY int cuEventCreate(void **handle, unsigned flags) { return give(handle, 1); }
ENTRY int cuStreamEndCapture(void *stream, void **handle) { return give(handle, 1); }
ENTRY int cuGraphInstantiateWithFlags(void **handle, void *graph, unsigned long long flags) { return give(handle, 1); }
ENTRY int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  *address = 0x7000000;
  return 0;
}
ENTRY int cuCtxSetCurrent(void *of) { return 0; }
ENTRY int cuStreamSynchronize(void *stream) { return 0; }
ENTRY int cuMemFree_v2(uint64_t address) { return 0; }
ENTRY int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) { return 0; }
ENTRY int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) { return 0; }
ENTRY int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) { return 0; }
ENTRY int cuEventRecord(void *event, void *stream) { return 0; }
ENTRY int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { return 0; }
ENTRY int cuStreamBeginCapture_v2(void *stream, int mode) { return 0; }
ENTRY int cuGraphLaunch(void *runnable, void *stream) { return 0; }

/* ---- Devices. */

/* Of an H100: 132 multiprocessors at 1.98 GHz, 5120 bits at 2.619 GHz, capability 9.0. */
ENTRY int cuDeviceGetAttribute(int *value, int attribute, int device);
ENTRY int cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const struct {
    int attribute, value;
  } known[] = {{13, 1980000}, {16, 132}, {33, 0x1b}, {34, 0}, {36, 2619000}, {37, 5120}, {50, 0}, {75, 9}, {76, 0}};
  (void)device;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].attribute == attribute) {
      *value = known[i].value;
      return 0;
    }
  return INVALID_VALUE;
}
