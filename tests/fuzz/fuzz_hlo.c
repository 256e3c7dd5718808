/* fuzz_hlo.c: any bytes as a module of XLA, as text where they begin so, else as a message: open it, read every
** column.
*/
#include "read_all.h"

#include "read/hlo/hlo.h"
#include "read/hlo/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool is_text = hlo_text_begins((const char *)data, size);
  read_all_of(data, size, is_text ? read_format_hlo_text.open : read_format_hlo.open);
  return 0;
}
