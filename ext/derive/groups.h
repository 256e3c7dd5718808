/* groups.h: rows that agree in some values, numbered from 0 in the order in which they first appear.
**
** A key is those values as integers: texts by their ids, references by their rows, reals by their bits; what is not
** known is a value like any other.  Zeroed, but for `width`, there are none.
*/
#ifndef TFPROF_DERIVE_GROUPS_H
#define TFPROF_DERIVE_GROUPS_H

#include <math.h>
#include <string.h>

#include "base/hash_index.h"
#include "derive/rows.h"

struct groups {
  unsigned width; /* values of a key */
  int64_t *keys;  /* by number, `width` each */
  uint32_t count, capacity;
  struct hash_index index;
  uint32_t *followers; /* by number: which one came behind it last, and is looked at first */
  uint32_t last;
};

/* The number of a key, a new one if need be; NO_ROW: no memory. */
uint32_t groups_number(struct groups *groups, const int64_t *key);
/* The same of one that is known, which changes nothing; NO_ROW: it is not. */
uint32_t groups_find(const struct groups *groups, const int64_t *key);
void groups_free(struct groups *groups);

/* A real as a value of a key, NAN as NO_VALUE, and back; -0 and 0 are alike. */
static inline int64_t key_of_real(double real) {
  int64_t key;
  if (isnan(real)) return NO_VALUE;
  if (real == 0) real = 0; /* of -0 the bits are NO_VALUE */
  memcpy(&key, &real, sizeof key);
  return key;
}
static inline double real_of_key(int64_t key) {
  double real;
  if (key == NO_VALUE) return (double)NAN;
  memcpy(&real, &key, sizeof real);
  return real;
}

/* Sets a column of a made table to an expression of `i`, the number of the row, by way of an array of the name `kind`
** (integers, reals or references) that has room for `count`; goes by `status` and sets it and *error. */
#define SET_TOTALS(kind, profile, table, column, expression) \
  do { \
    for (uint32_t i = 0; i < count && !status; i++) kind[i] = (expression); \
    if (!status) status = derive_set_##kind(profile, table, column, kind, error); \
  } while (0)

/* A sum as a column of whole numbers has it, NO_VALUE for NAN. */
static inline int64_t whole_sum(double sum) {
  if (isnan(sum)) return NO_VALUE;
  if (fabs(sum) >= 0x1p63) return sum < 0 ? -INT64_MAX : INT64_MAX;
  return llround(sum);
}

#endif
