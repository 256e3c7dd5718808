/* fuzz_memory_timeline.c: any bytes as a raw memory timeline: open it, read every column. */
#include "read_all.h"

#include "read/json/memory_timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_all_of(data, size, read_format_memory_timeline.open);
  return 0;
}
