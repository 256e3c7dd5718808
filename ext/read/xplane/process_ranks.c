/* process_ranks.c: ranks of the processes of a job of JAX, by their numbers (process_numbers.c).
**
** A program of one process has number 0, too, and another release might number otherwise.  So the numbers are ranks
** only where the profiles of a run have 0, 1 to n - 1, all of them, and at least two.
*/
#include <stdlib.h>

#include "read/xplane/source.h"
#include "read/xplane/xplane.h"

void xplane_rank_processes(struct store *store, uint32_t run_number) {
  const size_t all = store_profile_count(store);
  bool *is_there = calloc(XPLANE_MOST_PROCESSES, sizeof *is_there), is_known = is_there != NULL;
  int64_t highest = 0, count = 0;
  for (size_t i = 0; i < all && is_known; i++) {
    const struct profile *profile = store_profile_at(store, i);
    int64_t number = profile->run_number == run_number ? xplane_process_number(profile) : -1;
    if (number < 0) continue;
    count += !is_there[number];
    is_there[number] = true;
    if (number > highest) highest = number;
  }
  free(is_there);
  if (!is_known || count < 2 || highest != count - 1) return;
  for (size_t i = 0; i < all; i++) {
    struct profile *profile = store_profile_at(store, i);
    int64_t number = profile->run_number == run_number ? xplane_process_number(profile) : -1;
    if (number >= 0) profile->rank = number;
  }
}
