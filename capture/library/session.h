/* session.h: the life of a recording in one process.
**
** load: what was asked for is read, forks are watched.  begin: the file is created, the writer thread starts, and the
** sources (sources.c) begin that need no framework.  arm: those that do begin, too.  Each happens once, whoever asks
** for it first: the Python hooks (entry_python.c), or CUDA's driver (entry_injection.c), which may come long before
** PyTorch, after it, or alone.  A forked child inherits all of it but the file and the thread (gate.h).  finish:
** everything is written, the file closed in order.  Nothing here ever ends the program; what cannot be done is said
** (parts.h).
**
** A dormant program (TFPROF_DORMANT) is loaded and proved as others are, but nothing is recorded, and there is no file,
** until somebody asks (control.h): then it is for some steps or a time, and after that it is dormant again.  Each of
** these visits makes a file of its own. All of it happens on the control thread but for the moments at which it begins
** and ends (sampling.h).
*/
#ifndef TFPROF_CAPTURE_SESSION_H
#define TFPROF_CAPTURE_SESSION_H

#include "governor/sampling_plan.h"
#include "recorder/source.h"

/* What was asked for, as tfprof-capture has checked it, and what the framework makes possible: told before arm. */
struct session_wishes {
  struct source_wishes of_sources;
  struct sampling_options sampling;
  uint64_t buffer_bytes; /* for records that wait for the writer thread */
  bool with_memory;
};
extern struct session_wishes session_wishes;

/* false: the program was not started by tfprof-capture. */
bool session_load(void);
/* What needs no framework is recorded from now on, or is already. false: it cannot be, or has ended. */
bool session_begin(void);
/* The framework is there, and its sources know it. false: it cannot begin, or has, and it has been said. */
bool session_arm(void);
bool session_is_armed(void);
/* The sources are told that the CUDA driver is there. */
void session_driver_found(void);
/* On one thread: nothing of ours is called by the program, and is again. */
bool session_pause(bool is_paused);
/* The process ends: from now on all that is waited for takes some seconds together, whoever waits. false: nothing is
** recorded of it. */
bool session_begin_end(void);
/* Milliseconds of them; 0: none, or nothing comes into the file any more. */
int session_time_left(void);
/* The threads that write end, and begin anew; those for files where the file can be opened again. true: the writer has
** ended. In a forked child there is nothing to go on with. */
bool session_rest(void);
void session_go_on(void);
void session_flush(void);
void session_finish(void);
/* "shapes: off: why"; NULL: there are no more parts. */
const char *session_part(unsigned number);

#endif
