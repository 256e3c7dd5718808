/* kinds.c: see kinds.h. */
#include "derive/steps/kinds.h"

#include <stdbool.h>

enum { PERIODS = 2, LOOKED_AT = 9 };

/* The first ones may differ: not all of a model runs from the beginning. */
static bool has_period(const uint64_t *kinds, uint32_t count, uint32_t period) {
  uint32_t pairs = 0, differ = 0;
  for (uint32_t i = count >= 3 * period ? period : 0; i + period < count; i++) {
    if (!kinds[i] || !kinds[i + period]) continue;
    pairs++;
    differ += kinds[i] != kinds[i + period];
  }
  return pairs >= period && differ * (uint64_t)10 <= pairs;
}

/* The kind that most of the last ones at a place of the period have. */
static uint64_t kind_at(const uint64_t *kinds, uint32_t count, uint32_t period, uint32_t place) {
  uint64_t last[LOOKED_AT], best = 0;
  uint32_t used = 0, most = 0;
  for (uint32_t round = (count - 1 - place) / period + 1; round-- > 0 && used < LOOKED_AT;)
    if (kinds[place + round * period]) last[used++] = kinds[place + round * period];
  for (uint32_t i = 0; i < used; i++) {
    uint32_t same = 0;
    for (uint32_t k = 0; k < used; k++) same += last[k] == last[i];
    if (same <= most) continue;
    most = same;
    best = last[i];
  }
  return best;
}

uint32_t kinds_period(uint64_t *kinds, uint32_t count, uint32_t longest) {
  uint64_t at[LONGEST_PERIOD];
  uint32_t period = 1;
  while (period <= longest && count >= PERIODS * period && !has_period(kinds, count, period)) period++;
  if (period > longest || count < PERIODS * period) return 0;
  if (period == 1) return 1;
  for (uint32_t place = 0; place < period; place++) at[place] = kind_at(kinds, count, period, place);
  for (uint32_t i = 0; i < count; i++) {
    bool is_known = false;
    for (uint32_t place = 0; place < period && kinds[i]; place++) is_known |= kinds[i] == at[place];
    if (!is_known) kinds[i] = at[i % period];
  }
  return period;
}
