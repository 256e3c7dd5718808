/* cuda_driver.h: what is asked of the CUDA driver, found in the copy that the program has loaded: <cuda.h>.
**
** Nothing is loaded for it, and nothing initialised; until the program has done so all of them answer an error.
*/
#ifndef TFPROF_CAPTURE_CUDA_DRIVER_H
#define TFPROF_CAPTURE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cuda_attribute {
  CUDA_CLOCK_KHZ = 13,
  CUDA_MULTIPROCESSORS = 16,
  CUDA_PCI_BUS = 33,
  CUDA_PCI_DEVICE = 34,
  CUDA_MEMORY_CLOCK_KHZ = 36,
  CUDA_MEMORY_BUS_BITS = 37,
  CUDA_PCI_DOMAIN = 50,
  CUDA_CAPABILITY_MAJOR = 75,
  CUDA_CAPABILITY_MINOR = 76,
};

/* CUresult: those that are told apart. */
enum { CUDA_NOT_INITIALIZED = 3 };

struct cuda_driver {
  int (*DeviceGetCount)(int *count);
  int (*DeviceGet)(int *device, int ordinal);
  /* Of these some versions have none: NULL. */
  int (*DriverGetVersion)(int *version); /* of CUDA, that it is made for: 13010 is 13.1. It answers at any time */
  int (*DeviceGetName)(char *name, int length, int device);
  int (*DeviceGetAttribute)(int *value, enum cuda_attribute attribute, int device);
  int (*DeviceTotalMem)(size_t *bytes, int device);
  int (*DeviceGetPCIBusId)(char *text, int size, int device);
  int (*DeviceGetUuid)(uint8_t uuid[16], int device);         /* of the whole device */
  int (*DeviceGetInstanceUuid)(uint8_t uuid[16], int device); /* of an instance of MIG, where it is one */
  int (*PrimaryCtxGetState)(int device, unsigned *flags, int *is_active); /* of the context that the runtime makes */
  int (*StreamGetCtx)(void *stream, void **context);
};

/* Fills it in unless it is. false: the program has not loaded the driver. */
bool cuda_driver_find(struct cuda_driver *driver);

#endif
