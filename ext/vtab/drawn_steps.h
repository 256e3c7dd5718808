/* drawn_steps.h: what the recorded steps of a connection say of the others, for sample_error().
**
** The numbers are those of the view _sampled_steps, which says what they mean.  They are read once for each state of
** the store, when an error is first asked for.
*/
#ifndef TFPROF_DRAWN_STEPS_H
#define TFPROF_DRAWN_STEPS_H

#include "vtab/connection.h"

struct drawn_step {
  int64_t id;
  double weight, lead_ns;
  double step_count, spread_factor, lead_factor, unseen_ratio; /* the same in all steps of a profile */
  bool has_error; /* its factors are known */
};

/* Reads them where what is open has changed. An SQLite code: not SQLITE_OK is an interrupt or no memory. */
int drawn_steps_read(struct connection *connection);
/* The step of this id, or NULL: it says nothing of others, as all steps of a whole recording.  Good until the next
** drawn_steps_read(). */
const struct drawn_step *drawn_steps_find(const struct connection *connection, int64_t id);
void drawn_steps_free(struct connection *connection);

#endif
