/* sessions.h: what TensorFlow told of the runs of its sessions, and the rows that come of it.
**
** The recorder of a program with sessions has some runs traced, and names each RunMetadata, graph and op log in the
** table session_records.  Of those of one graph the reader of TensorFlow's files makes a profile (nodes, their costs
** by step, ops, memory), which becomes part of the recording's (guests.h).
*/
#ifndef TFPROF_DUMP_SESSIONS_H
#define TFPROF_DUMP_SESSIONS_H

#include "read/dump/guests.h"

/* Takes in the records that the frames [first, end) of the dump tell of. A part that is missing or cannot be read is a
** diagnostic. Not for copies, which have the rows. */
enum tfprof_status dump_sessions_take(struct profile *profile, size_t first, size_t end, struct tfprof_error *error);

#endif
