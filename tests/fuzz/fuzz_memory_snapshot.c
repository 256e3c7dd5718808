/* fuzz_memory_snapshot.c: any bytes as a pickled snapshot of CUDA memory: open it, read every column. */
#include "read_all.h"

#include "read/pickle/memory_snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_all_of(data, size, read_format_memory_snapshot.open);
  return 0;
}
