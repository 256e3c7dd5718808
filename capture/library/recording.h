/* recording.h: one dump file and the thread that writes it.
**
** The writer thread reads the threads' chunks every 20 ms (less often while nothing happens), writes a frame whenever
** 4096 ops are there or the oldest is half a second old, and each second a reading of the clocks, the process counters
** and the counts of what was lost. It blocks all signals and never runs Python.
*/
#ifndef TFPROF_CAPTURE_RECORDING_H
#define TFPROF_CAPTURE_RECORDING_H

#include "dump/writer.h"
#include "live_memory.h"

/* Creates DIRECTORY/HOST-PID.tfprof (-2, -3, ... when that exists) and starts the thread. */
enum tfprof_status recording_begin(const char *directory, const struct dump_profile *profile,
                                   struct tfprof_error *error);
/* Returns when everything recorded before the call is in the file, or after `timeout_ms`. */
void recording_flush(int timeout_ms);
/* Everything recorded before the call is soon in the file. Does not wait; may be called where nothing may block. */
void recording_hurry(void);
/* The same if memory has grown by much since it was last written. */
void recording_look(void);
/* Writes everything, closes the file in order, ends the thread. `profile` (or NULL): fields that are known only now. */
void recording_finish(const struct dump_profile *profile, int timeout_ms);
/* Around a fork: the parent waits a moment until the writer thread is between two things, so that the child inherits
** whole structures. */
void recording_before_fork(void);
void recording_after_fork_in_parent(void);
/* `is_whole`: the recording was neither beginning nor ending. What memory was known to be live is moved to `live`. */
void recording_after_fork_in_child(bool is_whole, struct live_memory *live);
/* The file of this process, for messages. */
const char *recording_path(void);

#endif
