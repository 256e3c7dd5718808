/* recording.h: one dump file and the thread that writes it.
**
** The writer thread reads the threads' chunks every 30 ms (less often while no ops are recorded), writes a frame
** whenever 4096 ops are there or the oldest is half a second old, and each second a reading of the clocks, the process
** counters and the counts of what was lost. It blocks all signals and never runs Python.
*/
#ifndef TFPROF_CAPTURE_RECORDING_H
#define TFPROF_CAPTURE_RECORDING_H

#include "dump/writer.h"
#include "host/process_identity.h"
#include "recorder/live_memory.h"

/* Creates DIRECTORY/HOST-PID.tfprof (-2, -3, ... when that exists) and starts the thread. `bytes_an_hour`: how fast the
** file may grow (byte_budget.h); 0: as it does, and nothing is thinned. `overhead`: what is allowed. */
enum tfprof_status recording_begin(const char *directory, const struct dump_profile *profile, uint64_t bytes_an_hour,
                                   double overhead, struct tfprof_error *error);
/* Returns when everything recorded before the call is in the file, or after `timeout_ms`. */
void recording_flush(int timeout_ms);
/* Writes everything, closes the file in order, ends the thread. `identity` (or NULL): what is known only now; it is
** copied, but for the texts that process_identity.h keeps. After the timeout the thread goes on by itself. */
void recording_finish(const struct process_identity *identity, int timeout_ms);
/* Around a fork: the parent waits a moment until the writer thread is between two things, so that the child inherits
** whole structures. */
void recording_before_fork(void);
void recording_after_fork_in_parent(void);
/* `is_whole`: the recording was neither beginning nor ending. What memory was known to be live is moved to `live`. */
void recording_after_fork_in_child(bool is_whole, struct live_memory *live);
/* The file of this process, for messages. */
const char *recording_path(void);

#endif
