/* tensor_core_kernels.h: which kernels compute on tensor cores, by their names. */
#ifndef TFPROF_DERIVE_TENSOR_CORE_KERNELS_H
#define TFPROF_DERIVE_TENSOR_CORE_KERNELS_H

enum tensor_core_use { WITHOUT_TENSOR_CORES, WITH_TENSOR_CORES, TENSOR_CORES_UNKNOWN };

/* Of a kernel's full name. TENSOR_CORES_UNKNOWN: it is one of Triton, whose names are those of Python functions. */
enum tensor_core_use tensor_core_use_of(const char *kernel);

#endif
