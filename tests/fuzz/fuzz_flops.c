/* fuzz_flops.c: any bytes as the arguments of flops(): op type, shapes of inputs and output, and attributes, parted by
** zero bytes. */
#include <stdlib.h>
#include <string.h>

#include "derive/flops/flops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct flops_call *call;
  struct flops_text texts[4] = {{0}};
  const char *at = (const char *)data, *end = at + size;
  int64_t flops;
  if (!call) call = flops_call_create();
  for (int i = 0; i < 4 && at && at < end; i++) {
    const char *stop = memchr(at, 0, (size_t)(end - at));
    texts[i] = (struct flops_text){at, (size_t)((stop ? stop : end) - at)};
    at = stop ? stop + 1 : NULL;
  }
  enum flops_status status = flops_count(call, texts[0], texts[1], texts[2], texts[3], &flops);
  if (status != FLOPS_KNOWN && flops != 0) abort();
  if (flops < 0) abort();
  return 0;
}
