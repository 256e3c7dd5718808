/* fuzz_xplane.c: any bytes as an XSpace: open it, read every column. */
#include "read_all.h"

#include "read/xplane/xplane.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_all_of(data, size, read_format_xplane.open);
  return 0;
}
