/* cuda_listener.h: listening to CUDA through CUPTI: begins, fetches what was recorded, steps aside for others, ends.
**
** Everything that may wait for a device is done on a thread of our own, tfprof-cuda, which fetches twice a second what
** is complete: who wants more waits for it until a moment and no longer, so that a device that hangs hangs nobody.
** CUPTI is neither finalised nor left at the end: other threads of the program may be in it.
**
** Nobody tells when another one takes CUPTI: listening_check.h finds out, and it is begun anew.
**
** It has one listener.  Where that is somebody else (nsys, DCGM, a debugger; torch.profiler, once it was used) it is
** said who, and the rest is recorded; every other second it is tried whether that one has left.  Before a profiler of
** the program's own begins to listen we step aside, once every buffer is back (they are given to whoever is registered
** then), and leave CUPTI as we found it.  We come back when it has ended: torch.profiler stays CUPTI's subscriber then,
** which does not keep us from recording activities.  Where it is to finalise CUPTI at its end (TEARDOWN_CUPTI) we come
** back when it has: it does that in the next call of the driver, and calls of CUPTI at that moment may hang the
** program; so the thread calls the driver itself, and looks afterwards.  Nor is CUPTI called while another one begins.
*/
#ifndef TFPROF_CAPTURE_CUDA_LISTENER_H
#define TFPROF_CAPTURE_CUDA_LISTENER_H

#include "cuda_kinds.h"
#include "cupti_api.h"
#include "device_clock.h"
#include "launch_times.h"
#include "recorder/forks.h"
#include "recorder/parts.h"

extern const struct fork_lock cuda_listener_locks[];

/* By the thread that initialises the driver, within that: begins unless it has. */
void cuda_listener_begin(unsigned traces, uint64_t buffer_bytes);
/* NULL: it has not begun. */
const struct cupti_api *cuda_listener_api(void);
/* How it is recorded now; true: that has changed since this was last called. */
bool cuda_listener_take_part(struct capture_part *now);

/* What is recorded of work now; what was launched before is. On any thread. For how many nanoseconds that switched. */
uint64_t cuda_listener_record(enum cuda_recording wish);
/* What is complete is fetched; `is_all`: what is not, too, and nothing more is recorded. Returns when that is done, or
** at that moment of CLOCK_MONOTONIC. */
void cuda_listener_fetch(bool is_all, const struct timespec *until);
/* Another one in this process, `who`, wants to listen, and no longer does. */
void cuda_listener_step_aside(bool is_aside, const char *who);

/* Whether that thread has not come back from what it was asked for: driver or CUPTI hang. */
bool cuda_listener_is_stuck(void);
/* Takes the next reading of CUPTI's clock, for the writer thread. false: there is none. */
bool cuda_listener_take_reading(struct device_reading *reading);
/* Records have times of a clock that is not known. CUPTI is told again to keep time by ours, where that can help. */
void cuda_listener_note_other_clock(void);
/* The call of listening_check.h was read among the records. */
void cuda_listener_note_call(void);
/* Whether kernels were asked for; and calls, too. */
bool cuda_listener_records_kernels(void);
bool cuda_listener_records_launches(void);
/* How often kinds of work were switched on, by whatever they had been switched off. */
unsigned cuda_listener_sessions(void);
/* How many buffers CUPTI did not give back when it had been asked for all of them, or another one took. */
unsigned cuda_listener_kept_back(void);
/* Takes the next change of what is recorded of work, for the writer thread. false: there is none. */
bool cuda_listener_take_switch(struct record_switch *change);
/* In a forked child. */
void cuda_listener_reset(void);

#endif
