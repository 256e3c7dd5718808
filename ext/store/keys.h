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

/* The column has been required. */
enum tfprof_status keys_build(struct snapshot *snapshot, unsigned column, struct keys *keys,
                              struct tfprof_error *error);
void keys_clear(struct keys *keys);

#endif
