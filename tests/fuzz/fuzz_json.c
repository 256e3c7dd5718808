/* fuzz_json.c: any bytes as a trace in JSON: open it in chunks, read every column, attributes included; and recognise
** it.
**
** The last byte of the input says how long the chunks are, so that cuts fall everywhere. Two sizes of chunk must agree
** on the number of rows.
*/
#include "read_all.h"

#include "read/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t chunk_bytes;

static enum tfprof_status open_in_chunks(struct store *store, uint32_t run, const struct read_bundle *bundle,
                                         struct tfprof_error *error) {
  return json_open_in_chunks(store, run, bundle->files[0].path, chunk_bytes, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chunk_bytes = size ? (size_t)data[size - 1] * 4 + 1 : 1;
  uint64_t rows = read_all_of(data, size, open_in_chunks);
  chunk_bytes = 1 << 20;
  if (rows != read_all_of(data, size, open_in_chunks)) abort();
  struct recognised found = json_reader.probe("", data, size < 4096 ? size : 4096);
  if (found.format && (found.certainty <= 0 || found.certainty > 90)) abort();
  return 0;
}
