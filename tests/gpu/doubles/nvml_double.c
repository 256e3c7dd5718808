/* nvml_double.c: stands for libnvidia-ml.so.1, and built with -DCUDA for the few functions of libcuda.so.1 by which the
** recorder finds the GPUs of a program.
**
** What there is, is said by NVML_DOUBLE, words parted by commas:
**   gpus=N          the machine has so many; GPU i has the UUID of sixteen bytes i + 1, power i + 100 W and so on
**   fail=F:CODE     the function nvmlF answers CODE
**   lost=N          the GPU of that number answers NVML_ERROR_GPU_IS_LOST from its third reading on
**   lost_as=CODE    that is what it answers instead (999: all of the time)
**   block=MS        nvmlDeviceGetUtilizationRates takes so long
**   mig             GPU 0 is an instance of MIG
**   context=N       the process has a context of its GPU N, and of no other; without it, that cannot be told
**   no_processes, no_fields   those functions find nothing, or are not there
** CUDA_VISIBLE_DEVICES is a list of numbers, as CUDA has it: the program sees those, in that order.
*/
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static long option(const char *name, long otherwise) {
  const char *text = getenv("NVML_DOUBLE"), *at = text;
  size_t length = strlen(name);
  for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (!strncmp(at, name, length) && (at[length] == '=' || at[length] == ',' || !at[length]))
      return at[length] == '=' ? strtol(at + length + 1, NULL, 10) : 1;
  return otherwise;
}

#ifdef CUDA

static int visible[16], visible_count, is_initialised;

/* As the driver does: it brings in the library of CUDA_INJECTION64_PATH, and is initialised only after that. */
EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  const char *path = getenv("CUDA_INJECTION64_PATH"), *list = getenv("CUDA_VISIBLE_DEVICES");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  int (*inject)(void) = NULL;
  if (library) *(void **)&inject = dlsym(library, "InitializeInjection");
  if (inject && !inject()) return 999;
  visible_count = 0;
  for (int i = 0; !list && i < option("gpus", 1); i++) visible[visible_count++] = i;
  for (char *end; list && *list && visible_count < 16; list = *end ? end + 1 : end)
    visible[visible_count++] = (int)strtol(list, &end, 10);
  if (!visible_count) return 100; /* CUDA_ERROR_NO_DEVICE */
  is_initialised = 1;
  return (int)(flags * 0);
}

EXPORT int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
  *count = visible_count;
  return is_initialised ? 0 : 3;
}
EXPORT int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal + 40; /* a number of its own */
  return 0;
}
EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  if (option("no_uuid", 0)) return 801;
  memset(uuid, visible[device - 40] + 1, 16);
  return 0;
}
EXPORT int cuDeviceGetPCIBusId(char *text, int size, int device);
int cuDeviceGetPCIBusId(char *text, int size, int device) {
  snprintf(text, (size_t)size, "0000:%02X:00.0", visible[device - 40] + 1);
  return 0;
}
EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) {
  *flags = 0;
  *is_active = option("context", -1) == device - 40;
  return option("context", -1) < 0 ? 801 : 0;
}

#else

static int answer(const char *function) {
  const char *text = getenv("NVML_DOUBLE"), *at = text ? strstr(text, "fail=") : NULL;
  size_t length = strlen(function);
  if (at && !strncmp(at + 5, function, length) && at[5 + length] == ':') return atoi(at + 6 + length);
  return 0;
}

/* How many readings have come to their end. */
EXPORT _Atomic int nvml_double_readings;

struct device {
  int number, is_instance;
};
static struct device devices[16], parent = {0, 0};

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void) { return answer("Init"); }

static int find(int number, int is_instance, void **device) {
  if (number < 0 || number >= option("gpus", 1)) return 6;
  devices[number] = (struct device){number, is_instance};
  *device = &devices[number];
  return 0;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  unsigned first;
  int is_instance = !strncmp(uuid, "MIG-", 4);
  char wanted[64], *at = wanted;
  if (answer("DeviceGetHandleByUUID")) return answer("DeviceGetHandleByUUID");
  if (sscanf(uuid + 4, "%2x", &first) != 1) return 2;
  for (int i = 0; i < 16; i++) at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", first);
  if (strcmp(uuid + 4, wanted)) return 2;
  if (is_instance != (option("mig", 0) && first == 1)) return 6;
  return find((int)first - 1, is_instance, device);
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
  unsigned number;
  if (answer("DeviceGetHandleByPciBusId")) return answer("DeviceGetHandleByPciBusId");
  return sscanf(bus, "0000:%2X:00.0", &number) == 1 ? find((int)number - 1, 0, device) : 2;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *device, void **whole);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *device, void **whole) {
  *whole = &parent;
  return ((struct device *)device)->is_instance ? 0 : 2;
}

static int lost(const struct device *device, int begins_reading) {
  static int readings;
  if (option("lost", -1) != device->number) return 0;
  readings += begins_reading;
  return readings > 2 ? (int)option("lost_as", 15) : 0;
}

EXPORT int nvmlDeviceGetUtilizationRates(struct device *device, unsigned rates[2]);
int nvmlDeviceGetUtilizationRates(struct device *device, unsigned rates[2]) {
  if (option("block", 0)) usleep((unsigned)option("block", 0) * 1000);
  if (lost(device, 1)) return lost(device, 0);
  if (device->is_instance) return 3;
  rates[0] = 50 + (unsigned)device->number;
  rates[1] = 25;
  return answer("DeviceGetUtilizationRates");
}

EXPORT int nvmlDeviceGetMemoryInfo(struct device *device, unsigned long long memory[3]);
int nvmlDeviceGetMemoryInfo(struct device *device, unsigned long long memory[3]) {
  if (lost(device, 0)) return lost(device, 0);
  memory[0] = 80ull << 30; /* total, free, used */
  memory[1] = 60ull << 30;
  memory[2] = (20ull << 30) + (unsigned)device->number;
  return answer("DeviceGetMemoryInfo");
}

EXPORT int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts) {
  if (device->is_instance) return 3;
  *milliwatts = (100 + (unsigned)device->number) * 1000;
  return answer("DeviceGetPowerUsage");
}

EXPORT int nvmlDeviceGetClockInfo(struct device *device, int clock, unsigned *megahertz);
int nvmlDeviceGetClockInfo(struct device *device, int clock, unsigned *megahertz) {
  (void)device;
  *megahertz = clock == 1 ? 1980 : clock == 2 ? 2619 : 0;
  return answer("DeviceGetClockInfo");
}

EXPORT int nvmlDeviceGetTemperature(struct device *device, int sensor, unsigned *degrees);
int nvmlDeviceGetTemperature(struct device *device, int sensor, unsigned *degrees) {
  (void)device;
  *degrees = sensor ? 0 : 61;
  return answer("DeviceGetTemperature");
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, unsigned long long *bits);
int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, unsigned long long *bits) {
  (void)device;
  *bits = 1 | 4; /* nothing runs; the power cap */
  return answer("DeviceGetCurrentClocksThrottleReasons");
}

struct field {
  unsigned id, scope;
  long long time, latency;
  int type, result;
  unsigned long long value;
};
EXPORT int nvmlDeviceGetFieldValues(struct device *device, int count, struct field *fields);
int nvmlDeviceGetFieldValues(struct device *device, int count, struct field *fields) {
  (void)device;
  for (int i = 0; i < count; i++) {
    fields[i].result = option("no_fields", 0) ? 3 : 0;
    fields[i].type = fields[i].id == 197 ? 3 : 1;
    fields[i].value = fields[i].id == 197 ? 1ull << 40 : 12345;
  }
  nvml_double_readings++; /* it is asked for last */
  return answer("DeviceGetFieldValues");
}

struct process {
  unsigned pid;
  unsigned long long bytes;
  unsigned instances[2];
};
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *count, struct process *processes);
int nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *count, struct process *processes) {
  if (*count < 2) return 7;
  processes[0] = (struct process){.pid = 1, .bytes = 7};
  processes[1] = (struct process){.pid = (unsigned)getpid(), .bytes = (3ull << 30) + (unsigned)device->number};
  *count = option("no_processes", 0) ? 1 : 2;
  return answer("DeviceGetComputeRunningProcesses");
}

#endif
