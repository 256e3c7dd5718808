/* session_records.h: what TensorFlow tells of runs of its sessions (RunMetadata), and their graphs, in a file beside
** the dump.
**
** Python asks whether the step that goes on is recorded with its ops, lets TensorFlow trace the run if so, and hands
** over the message that came of it as it is; the same with the graph and what the op log says of it.  The writer thread
** appends them to HOST-PID.sessions, one behind the other, and names each by a row of session_records.  What waits for
** it takes WAITING_MAXIMUM bytes at most.
*/
#ifndef TFPROF_CAPTURE_SESSION_RECORDS_H
#define TFPROF_CAPTURE_SESSION_RECORDS_H

#include "recorder/source.h"

#include <stddef.h>
#include <stdint.h>

extern const struct capture_source sessions_source;

/* Whether ops are recorded now: what is the same for all of the step that goes on; -1: they are not. */
int64_t session_records_step(void);

struct session_record {
  const char *kind, *left_out; /* constant texts; left_out: why a run has no bytes, or NULL */
  int64_t graph, step;         /* which graph it is of, from 1 on; of a run, what session_records_step() said */
  uint64_t start_ticks, end_ticks; /* of a run; 0: neither */
  bool is_ours;                    /* it was traced for the recording alone */
  const void *bytes;               /* copied */
  size_t length;
};
/* Of the calling thread. */
void session_records_add(const struct session_record *record);

#endif
