/* fatal_signals.h: the signals that make the last seconds be written (triggers.h): those that end the program, and one
** that the user names.
**
** A handler is put where the program has none, or in front of its own, which then comes as it would have: the signal is
** sent on with what it was sent with, or the faulting instruction runs again, once the former action is back.  So the
** program ends by the same signal, and faulthandler, PyTorch's own and those of C++ do what they do.  SIGTERM and the
** user's are looked at only where nobody else does: of others the program decides whether it ends.
**
** Handlers run on an alternate stack where the thread has one; the thread that begins gets one where it has none, so
** that an overflow of its stack is seen.  On other threads an overflow ends the process without any handler, and what
** it has kept is written by tfprof-capture.  Python shows handlers that it does not know as None (signal.getsignal);
** one that the program sets takes the place of ours.
*/
#ifndef TFPROF_CAPTURE_FATAL_SIGNALS_H
#define TFPROF_CAPTURE_FATAL_SIGNALS_H

/* `user_signal`: the number of the one that the user names; 0: none. */
void fatal_signals_begin(int user_signal);
/* What was there before is there again, where it is still ours. */
void fatal_signals_end(void);

#endif
