/* fuzz_pprof.c: any bytes as a memory profile in pprof's format: open it, read every column. */
#include "read_all.h"

#include "read/pprof/pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_all_of(data, size, read_format_pprof.open);
  return 0;
}
