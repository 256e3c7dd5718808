/* recording.h: one dump file and the thread that writes it.
**
** The writer thread lets the sources make rows every 30 ms (less often while little is recorded), writes a frame
** whenever 4096 rows of a table are there or the oldest is half a second old, and each second a reading of the clocks
** and the counts of what was lost. It blocks all signals and never runs Python.
*/
#ifndef TFPROF_CAPTURE_RECORDING_H
#define TFPROF_CAPTURE_RECORDING_H

#include "dump/writer.h"

#include <stdbool.h>

struct capture_source;

struct asked_others; /* triggers.h */
struct kept_trigger; /* common/kept_dump.h */

/* What is recorded is kept in memory, the last of it, and written when something happens (frame_ring.h, triggers.h).
** Before the first recording begins. `signal_number`: that of the user; 0: none. */
struct recording_keep {
  uint64_t ns, most_bytes; /* ns 0: nothing is kept, all is written */
  uint64_t after_ns;       /* what follows for so long is written, too */
  struct asked_others (*ask_others)(const struct kept_trigger *trigger, int timeout_ms);
  int signal_number;
  int launcher; /* the number of the process that has tfprof-capture */
};
void recording_keep(const struct recording_keep *wanted);
/* How old what is kept may be; 0: all is written. */
int64_t recording_held_ns(void);

/* Creates DIRECTORY/HOST-PID.tfprof (-2, -3, ... when that exists), for these sources, and starts the thread. Returns
** after some seconds where the disk does not answer. The host of `profile` is copied, its other texts are kept. */
enum tfprof_status recording_begin(const char *directory, const struct dump_profile *profile,
                                   const struct capture_source *const *sources, struct tfprof_error *error);
/* These sources have begun, and their parts (parts.h) are what they are: those whose parts the file does not have yet
** are told in it soon. The list is kept. */
void recording_tell_parts(const struct capture_source *const *sources);
/* Returns when everything recorded before the call is in the file, after `timeout_ms`, or when the writer thread has
** done nothing for a second, since the disk does not answer. */
void recording_flush(int timeout_ms);
/* Writes everything, closes the file in order, ends the thread. `profile` (or NULL): what is known only now; its host
** is copied, its other texts are kept. It waits as recording_flush() does; after that the thread goes on by itself. */
void recording_finish(const struct dump_profile *profile, int timeout_ms);
/* The writer thread has done nothing for long, and nobody waits for it any more. */
bool recording_stands_still(void);
/* Ends the thread, between two things, and begins it anew: in between the process has one thread less. false: it did
** not end within `timeout_ms`, and goes on. A forked child has nothing to go on with. */
bool recording_rest(int timeout_ms);
void recording_go_on(void);
/* While it rests: the file may be closed, for it can be opened again by its name. */
bool recording_may_close(void);
/* On the writer thread, between two things that it does in a row: a thread that waits to fork goes first. */
void recording_let_fork(void);
/* Around a fork: the parent waits a moment until the writer thread is between two things, so that the child inherits
** whole structures. */
void recording_before_fork(void);
void recording_after_fork_in_parent(void);
/* `is_whole`: the recording was neither beginning nor ending. */
void recording_after_fork_in_child(bool is_whole);
/* The file of this process, for messages. */
const char *recording_path(void);

#endif
