/* double_cuda.c: a libcuda.so.1 for tests: cuInit loads the library that CUDA_INJECTION64_PATH names and calls it, as
** NVIDIA's driver does, and two devices tell what they are.
*/
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* DOUBLE_DRIVER: 13000 is CUDA 13.0. */
ENTRY int cuDriverGetVersion(int *version);
ENTRY int cuDriverGetVersion(int *version) {
  const char *asked = getenv("DOUBLE_DRIVER");
  *version = asked ? atoi(asked) : 13000;
  return 0;
}

ENTRY int cuDeviceGetCount(int *count);
ENTRY int cuDeviceGetCount(int *count) {
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
