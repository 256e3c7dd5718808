/* step_lookup.h: which step a moment lies in.
**
** Steps of one thread follow each other, but a source may have steps of several threads, overlapping or one within the
** other.  A moment then belongs to the step that began last of all that contain it (of two that began together, the
** one with the higher row number); the end of a step is not part of it.  The lookup is a list of moments from which on
** another step (or none) applies, so that any arrangement of steps costs one binary search, and rows in the order of
** time almost nothing.
*/
#ifndef TFPROF_DERIVE_STEP_LOOKUP_H
#define TFPROF_DERIVE_STEP_LOOKUP_H

#include "derive/rows.h"

struct step_lookup {
  int64_t *times;  /* ascending */
  uint32_t *steps; /* from times[i] to times[i + 1]; NO_ROW: none */
  uint32_t count;
  uint32_t hint;
};

/* From the steps of a profile; needs steps.start_ns and end_ns. Steps without one of them are left out. Free with
** step_lookup_free, also after a failure. */
enum tfprof_status step_lookup_of_profile(struct step_lookup *lookup, const struct profile *profile,
                                          struct tfprof_error *error);
/* The same of any spans: numbers of steps are places in these arrays. */
enum tfprof_status step_lookup_make(struct step_lookup *lookup, const int64_t *starts, const int64_t *ends,
                                    uint32_t count, struct tfprof_error *error);
void step_lookup_free(struct step_lookup *lookup);

uint32_t step_lookup_search(struct step_lookup *lookup, int64_t time);

/* The row of the step or NO_ROW. */
static inline uint32_t step_lookup_find(struct step_lookup *lookup, int64_t time) {
  uint32_t hint = lookup->hint;
  if (lookup->count && time >= lookup->times[hint] && (hint + 1 == lookup->count || time < lookup->times[hint + 1])) {
    return lookup->steps[hint];
  }
  return step_lookup_search(lookup, time);
}

/* Whether all moments from `first` to `last` lie in one step (or in none): then *step is its row (or NO_ROW). */
static inline bool step_lookup_is_one(struct step_lookup *lookup, int64_t first, int64_t last, uint32_t *step) {
  *step = step_lookup_find(lookup, first);
  if (lookup->count == 0 || last < lookup->times[0]) return true;
  if (first < lookup->times[0]) return false;
  return lookup->hint + 1 == lookup->count || last < lookup->times[lookup->hint + 1];
}

#endif
