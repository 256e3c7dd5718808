/* profile_proto.h: what the parts of the reader of ProfileProto share. */
#ifndef TFPROF_TENSORFLOW_PROFILE_PROTO_H
#define TFPROF_TENSORFLOW_PROFILE_PROTO_H

#include "classic/read/fields.h"
#include "classic/read/messages.h"

/* The entry {key=1, value=2} of a map. */
struct map_entry {
  struct wire_field key;
  struct wire_reader value; /* of a message */
  struct wire_field value_field;
};

static inline struct map_entry read_map_entry(const struct wire_reader *outer, const struct wire_field *field) {
  struct map_entry entry = {.key = {.type = WIRE_VARINT}, .value_field = {.type = WIRE_VARINT}};
  struct wire_reader reader = wire_enter(outer, field);
  struct wire_field part;
  entry.value = reader;
  entry.value.end = entry.value.at;
  while (wire_next(&reader, &part)) {
    if (part.number == MapEntry_key) entry.key = part;
    if (part.number != MapEntry_value) continue;
    entry.value_field = part;
    entry.value = wire_enter(&reader, &part);
  }
  return entry;
}

/* profile_execs.c: the entry of ProfileNode.execs in `field`, what the node cost in one step. */
bool tf_read_exec(struct tf_model *model, const struct wire_reader *outer, const struct wire_field *field,
                  uint32_t node);

#endif
