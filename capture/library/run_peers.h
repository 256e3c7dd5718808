/* run_peers.h: the other processes of a run on this machine that keep their last seconds (--keep), so that what all of
** them did is there when one meets something: which rank was late, and who waited for it.
**
** They are found where they keep them (common/kept_place.h), by the run directory, and told at their sockets
** (common/control_message.h) what was met, and when; each writes what it has kept some time after that, as the one that
** asks does.  Nobody waits for them, and whoever has ended meanwhile is left out.
*/
#ifndef TFPROF_CAPTURE_RUN_PEERS_H
#define TFPROF_CAPTURE_RUN_PEERS_H

#include "recorder/triggers.h"

struct control_message;

/* All of the run in that directory, but this process. On the thread of triggers.c, which has a table of descriptors of
** its own. Takes no memory and no lock. */
struct asked_others run_peers_ask(const char *run_directory, const struct kept_trigger *trigger, int timeout_ms);
/* What one has been told; false: it is of another run, or makes no sense. */
bool run_peers_read(const char *run_directory, const struct control_message *met, struct kept_trigger *trigger);

#endif
