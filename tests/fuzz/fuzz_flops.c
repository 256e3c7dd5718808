/* fuzz_flops.c: any bytes as the arguments of flops(): op type, shapes of inputs and output, and attributes, parted by
** zero bytes; the same, and types of inputs after them, as a call whose bytes are counted, and that allocates. */
#include <stdlib.h>
#include <string.h>

#include "derive/flops/flops.h"
#include "derive/flops/held_tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct flops_call *call;
  struct flops_text texts[5] = {{0}};
  const char *at = (const char *)data, *end = at + size;
  int64_t flops, bytes;
  if (!call) call = flops_call_create();
  for (int i = 0; i < 5 && at && at < end; i++) {
    const char *stop = memchr(at, 0, (size_t)(end - at));
    texts[i] = (struct flops_text){at, (size_t)((stop ? stop : end) - at)};
    at = stop ? stop + 1 : NULL;
  }
  enum flops_status status = flops_count(call, texts[0], texts[1], texts[2], texts[3], &flops);
  if (status != FLOPS_KNOWN && flops != 0) abort();
  if (flops < 0) abort();
  struct moved_call moved = {.op_type = texts[0],
                             .input_shapes = texts[1],
                             .output_shapes = texts[2],
                             .input_values = texts[3],
                             .input_types = texts[4],
                             .flops = status == FLOPS_KNOWN ? flops : -1};
  if (moved_bytes_count(call, &moved, &bytes) && bytes < 0) abort();
  for (int64_t piece = 4; piece < INT64_MAX / 16; piece *= 16) {
    struct held_tensor tensor = {0};
    bool has_tensors;
    enum held held =
        held_tensor_find(call, &moved, (struct held_piece){piece, true}, true, true, &has_tensors, &tensor);
    if (held != HELD_UNKNOWN && !tensor.dtype && !tensor.has_shape) abort();
    for (uint32_t i = 0; i < tensor.dimensions; i++)
      if (tensor.sizes[i] < 1) abort();
  }
  return 0;
}
