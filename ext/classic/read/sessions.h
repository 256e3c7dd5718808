/* sessions.h: what TensorFlow told of the runs of its sessions, and the rows that come of it.
**
** The recorder of a program with sessions has some runs traced, and names each RunMetadata, graph and op log in the
** table session_records.  Of those of one graph the reader of TensorFlow's files makes a profile (nodes, their costs
** by step, ops, memory), which becomes part of the recording's (guests.h).
*/
#ifndef TFPROF_CLASSIC_SESSIONS_H
#define TFPROF_CLASSIC_SESSIONS_H

#include "read/dump/guest_parts.h"
#include "read/dump/guests.h"

extern const struct dump_guest_part classic_guests;

#endif
