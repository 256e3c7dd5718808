/* cuda_driver.c: see cuda_driver.h. */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <string.h>

bool cuda_driver_find(struct cuda_driver *driver) {
  if (driver->DeviceGetCount) return true;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *symbol;
  if (!library) return false;
    /* ISO C has no conversion of an object's pointer to a function's; POSIX has. */
#define FIND(function, name) \
  symbol = dlsym(library, name); \
  memcpy(&driver->function, &symbol, sizeof symbol)
  FIND(DriverGetVersion, "cuDriverGetVersion");
  FIND(DeviceGetName, "cuDeviceGetName");
  FIND(DeviceGetAttribute, "cuDeviceGetAttribute");
  FIND(DeviceTotalMem, "cuDeviceTotalMem_v2");
  FIND(DeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  FIND(PrimaryCtxGetState, "cuDevicePrimaryCtxGetState");
  FIND(DeviceGetUuid, "cuDeviceGetUuid");
  FIND(DeviceGetInstanceUuid, "cuDeviceGetUuid_v2");
  FIND(StreamGetCtx, "cuStreamGetCtx");
  FIND(DeviceGet, "cuDeviceGet");
  FIND(DeviceGetCount, "cuDeviceGetCount");
#undef FIND
  dlclose(library); /* the program has it */
  if (!driver->DeviceGet) driver->DeviceGetCount = NULL;
  return driver->DeviceGetCount != NULL;
}
