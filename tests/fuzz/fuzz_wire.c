/* fuzz_wire.c: any bytes as a protobuf message, read at every level with every getter. */
#include "base/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sum; /* so that no read is optimised away */

static void read_message(struct wire_reader *reader) {
  struct wire_field field;
  const uint8_t *before = reader->at;
  while (wire_next(reader, &field)) {
    if (reader->at <= before || reader->at > reader->end || field.number == 0) abort();
    before = reader->at;
    size_t length;
    const char *text = wire_text(&field, &length);
    for (size_t i = 0; i < length; i++) sum += (uint8_t)text[i];
    sum += wire_uint64(&field) + (uint64_t)wire_sint64(&field) + (uint64_t)wire_int32(&field) + wire_bool(&field);
    sum += wire_double(&field) > 1 || wire_float(&field) > 1;
    for (int type = WIRE_VARINT; type <= WIRE_FIXED32; type++) {
      uint64_t value;
      struct wire_packed list = wire_unpack(&field, (enum wire_type)type);
      while (wire_packed_next(&list, &value)) sum += value;
    }
    struct wire_reader child = wire_enter(reader, &field);
    read_message(&child);
  }
  if (!reader->wrong && reader->at != reader->end) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 4096) size = 4096; /* each level reads everything below it again */
  struct wire_reader reader = wire_open(data, size);
  read_message(&reader);
  return 0;
}
