/* async_names.c: see async_names.h.
**
** Of the names that many pairs have, that which the fewest of all ops have is taken for asynchronous, and the pairs
** that have it are left out.  This is done NAMES times.  What is left then is explained by nothing.
*/
#include "derive/links/async_names.h"

#include <stdlib.h>

enum { NAMES = 3, SHARE = 4 /* of the ops at most have such names */ };

static int number_order(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

static uint32_t count_equal(const int64_t *values, uint32_t count, int64_t wanted) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) found += values[i] == wanted;
  return found;
}

/* Of the names that one of NAMES of the pairs have, or more, that which the fewest of all rows have; *fewest: how many
** these are, UINT32_MAX where there is no such name. */
static int64_t find_rare(const struct crossing_names *pairs, size_t count, int64_t *room, const int64_t *names,
                         uint32_t rows, uint32_t *fewest) {
  size_t listed = 0;
  int64_t rare = 0;
  *fewest = UINT32_MAX;
  for (size_t i = 0; i < count; i++) {
    room[listed++] = pairs[i].names[0];
    if (pairs[i].names[1] != pairs[i].names[0]) room[listed++] = pairs[i].names[1];
  }
  qsort(room, listed, sizeof *room, number_order);
  for (size_t first = 0, next; first < listed; first = next) {
    for (next = first; next < listed && room[next] == room[first]; next++) continue;
    if (NAMES * (next - first) < count) continue;
    uint32_t found = count_equal(names, rows, room[first]);
    if (found >= *fewest) continue;
    *fewest = found;
    rare = room[first];
  }
  return rare;
}

bool async_names_explain(struct crossing_names *pairs, size_t count, const int64_t *names, uint32_t rows,
                         int64_t *room) {
  uint32_t covered = 0;
  for (unsigned n = 0; n < NAMES && count; n++) {
    size_t left = 0;
    uint32_t found;
    int64_t name = find_rare(pairs, count, room, names, rows, &found);
    if (found > rows) return false;
    covered += found;
    for (size_t i = 0; i < count; i++)
      if (pairs[i].names[0] != name && pairs[i].names[1] != name) pairs[left++] = pairs[i];
    count = left;
  }
  return !count && covered <= rows / SHARE;
}
