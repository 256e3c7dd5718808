/* window_source.h: source "windows": the ops of TensorFlow and JAX, which their own profilers tell, in some steps.
**
** Where a step ends, on the thread that ends it and with the GIL, window_plan.h says whether a session of the
** framework's profiler is to be opened or closed.  The hooks (capture/python/_tfprof_profilers.py) do so before the
** next step begins, of steps that are calls just before it, since what they ask a device for may go on after their end.
** They tell here before and after, so that the row of the window has the clocks.  What the session handed over is
** written by the writer thread beside the dump, as HOST-PID.N.xplane.pb: under another name first, so that who sees the
** row finds it whole (window_files.h).
**
** A window that stays open for too long, because no step ends, is closed by a thread of ours that takes the GIL; so is
** one that is open when a visit (session.h) ends.
**
** All but the source's own functions are called with the GIL held.
*/
#ifndef TFPROF_CAPTURE_WINDOW_SOURCE_H
#define TFPROF_CAPTURE_WINDOW_SOURCE_H

#include "recorder/source.h"
#include "window_plan.h"

#include <stddef.h>

extern const struct capture_source windows_source;

/* There is a session that can be opened. `close`: a function of Python, kept for ever, that closes what is open. */
void windows_begin(void *close);
/* A step has ended on the calling thread: whether something is to be done before the next one begins. */
bool windows_step_ended(void);
bool windows_is_wanted(void);
/* What that is, told once; *is_chosen: the steps were asked for; *is_first: the file has no window yet. */
enum window_act windows_wanted(bool *is_chosen, bool *is_first);

/* The work of the program has been waited for, since that was told: no step is slow by it. */
void windows_settled(void);
/* A session is about to be opened. `begins_at_end`: the first step in it begins where the one before has ended. */
void windows_opening(const char *framework, bool begins_at_end);
/* It is on, or could not be opened. */
void windows_opened(bool is_on);
/* One is about to be closed: `ending` as in profiler_windows. false: none is open, as far as is known here. */
bool windows_closing(const char *ending);
/* Whether that has begun and has not ended: what the session has told is still to come (windows_closed). */
bool windows_are_closing(void);
/* What a session has told. */
struct window_result {
  const char *bytes, *directory; /* the XSpace, or where TensorFlow has written it; NULL */
  size_t size;
  bool has_programs;
  const char *error; /* NULL: it has told all */
};
void windows_closed(const struct window_result *result);
/* A row of diagnostics. */
void windows_tell(const char *reason, const char *message);

#endif
