/* texts.h: what stands in the names and texts of an XSpace: ops, copies, launches.
**
** Facts of these forms: xla/tsl/profiler/utils/tf_op_utils.cc (names of ops),
** xla/backends/profiler/gpu/cupti_collector.cc (details of kernels and copies).  All are total over any bytes.
*/
#ifndef TFPROF_XPLANE_TEXTS_H
#define TFPROF_XPLANE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_part {
  const char *bytes; /* within the text that was looked at */
  size_t length;
};

enum op_kind { OP_NONE, OP_COPY, OP_DATASET, OP_TENSORFLOW, OP_JAX };
/* "conv1/Conv2D:Conv2D" is the op conv1/Conv2D of type Conv2D, "jit(f)/mul:mul" JAX's jit(f)/mul, Iterator::... a
** dataset, MEMCPYHToD a copy; anything else is no op. The type of a dataset or copy is empty. */
enum op_kind xplane_op_name(const char *text, size_t length, struct text_part *name, struct text_part *type);
/* The outermost of "a#k=v#::b#k=v#" without what stands behind '#'. */
struct text_part xplane_outermost(const char *text, size_t length);
/* The last part of "a::b". */
struct text_part xplane_innermost(const char *text, size_t length);

#define DETAIL_NONE INT64_MIN
/* Of a kernel, copy or fill: numbers, DETAIL_NONE where one is not told. */
struct xplane_details {
  int64_t registers, static_shared, dynamic_shared, grid[3], block[3], bytes, is_async, destination;
  double occupancy; /* percent; below 0: not told */
  struct text_part source_memory, target_memory, memory;
};
/* "regs:32 static_shared:0 dynamic_shared:16384 grid:1,1,1 block:64,1,1 occ_pct:100",
** "kind_src:pageable kind_dst:device size:4 dest:0 async:1", "kind:device num_bytes:4 async:1"; older files have a line
** for each instead. A part that is not NAME:VALUE makes all of it unknown: false. */
bool xplane_details_read(const char *text, size_t length, struct xplane_details *details);

/* "14" of "Stream #14(Compute)", "202" of "Host Threads/202", by what stands before it. False: there is none. */
bool xplane_number_behind(const char *text, const char *before, int64_t *number);
/* 0 of GPU_0_bfc; -1: it is no allocator of a GPU. */
int32_t xplane_gpu_of_allocator(const char *text, size_t length);
/* The name of a DataType of TensorFlow, such as float32; NULL: unknown. */
const char *xplane_data_type(int64_t number);

/* The modules around an op of JAX by its name, outermost first, with dots between them, into `modules`, which has room
** for as many bytes as the name; returns their length. jit(step)/transpose(jvp(Encoder))/Dense_0/dot_general lies in
** Encoder.Dense_0. *is_backward: it is transposed, as all that a backward pass does is. False: it is no such name. */
bool xplane_modules(const char *name, size_t length, char *modules, size_t *modules_length, bool *is_backward);
/* The same of an op of TensorFlow: Keras' layers and other name scopes.
** StatefulPartitionedCall/gradient_tape/net/dense_1/MatMul/MatMul_1 lies in net.dense_1, as the MatMul that it is the
** gradient of. *modules_length is 0 where it lies in none. */
void xplane_scopes(const char *name, size_t length, char *modules, size_t *modules_length, bool *is_backward);

#endif
