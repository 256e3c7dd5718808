/* pulse.c: see pulse.h. */
#include "pulse.h"

#include "base/hash.h"

static struct pulse of_slot(uint64_t number, uint64_t slot_ns) {
  uint64_t begin = number * slot_ns, hash = hash_step(hash_step(slot_ns, number), number);
  return (struct pulse){begin, begin + slot_ns, begin + hash % slot_ns};
}

struct pulse pulse_after(uint64_t now_ns, uint64_t slot_ns) {
  struct pulse pulse = of_slot(now_ns / slot_ns, slot_ns);
  return pulse.at_ns > now_ns ? pulse : of_slot(now_ns / slot_ns + 1, slot_ns);
}
