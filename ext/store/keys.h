/* keys.h: the values of one column of a snapshot as integers that sort as SQL would have them. */
#ifndef TFPROF_STORE_KEYS_H
#define TFPROF_STORE_KEYS_H

#include "store/private.h"

struct keys { /* one for each position */
  struct key_space space;
  uint32_t *narrow; /* unless space.is_wide */
  uint64_t *wide;
  uint64_t *null_bits; /* with `wide`, where there are NULLs */
  bool is_ascending;   /* as they stand, NULLs first */
};

/* How many keys a narrow array may have: the NULL and the values. */
static inline uint64_t keys_size(const struct keys *keys) { return keys->space.is_empty ? 1 : keys->space.range + 2; }
/* The value key at a position that is not NULL. */
static inline uint64_t keys_at(const struct keys *keys, uint64_t position) {
  return keys->wide ? keys->wide[position] : keys->narrow[position] - 1u;
}
static inline bool keys_is_null(const struct keys *keys, uint64_t position) {
  if (keys->narrow) return keys->narrow[position] == 0;
  return keys->null_bits && keys->null_bits[position >> 6] >> (position & 63) & 1;
}

/* The column has been required. */
enum tfprof_status keys_build(struct snapshot *snapshot, unsigned column, struct keys *keys,
                              struct tfprof_error *error);
void keys_clear(struct keys *keys);

#endif
