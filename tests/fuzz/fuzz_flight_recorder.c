/* fuzz_flight_recorder.c: any bytes as a dump of PyTorch's Flight Recorder, pickle or JSON: open, read every column. */
#include "read_all.h"

#include "read/flight/flight_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct read_format *format = size && data[0] == '{' ? &read_format_flight_json : &read_format_flight;
  read_all_of(data, size, format->open);
  return 0;
}
