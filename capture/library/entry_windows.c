/* entry_windows.c: what the Python hooks call where sessions of the framework's own profiler are opened and closed
** (_tfprof_profilers.py): goes on to windows/window_source.h. All with the GIL held.
*/
#include "windows/window_source.h"

#define ENTRY_POINT __attribute__((visibility("default")))

/* There is a session; a function that closes what is open. */
ENTRY_POINT void tfprof_capture_windows_begin(void *close);
/* What is to be done now, as a step has ended: enum window_act, and WINDOW_IS_CHOSEN where the steps were asked for,
** WINDOW_IS_FIRST where the file has none yet. */
enum { WINDOW_IS_CHOSEN = 4, WINDOW_IS_FIRST = 8 };
ENTRY_POINT int tfprof_capture_windows_wanted(void);
/* A step has ended by a range of PyTorch's. 1: before the next one begins the hooks are to ask what is to be done. */
ENTRY_POINT int tfprof_capture_step_has_ended(void);
/* The work that the program has handed on has been waited for, before either of these. */
ENTRY_POINT void tfprof_capture_window_settled(void);
/* Around the opening of a session, and then its closing. */
ENTRY_POINT void tfprof_capture_window_opening(const char *framework, int begins_at_end);
ENTRY_POINT void tfprof_capture_window_opened(int is_on);
ENTRY_POINT int tfprof_capture_window_closing(const char *ending);
ENTRY_POINT int tfprof_capture_window_is_closing(void);
ENTRY_POINT void tfprof_capture_window_closed(const char *bytes, unsigned long size, const char *directory,
                                              int has_programs, const char *error);
ENTRY_POINT void tfprof_capture_window_tell(const char *reason, const char *message);

void tfprof_capture_windows_begin(void *close) { windows_begin(close); }

int tfprof_capture_windows_wanted(void) {
  bool is_chosen, is_first;
  enum window_act wanted = windows_wanted(&is_chosen, &is_first);
  return (int)wanted | (is_chosen ? WINDOW_IS_CHOSEN : 0) | (is_first ? WINDOW_IS_FIRST : 0);
}

int tfprof_capture_step_has_ended(void) { return windows_step_ended(); }

void tfprof_capture_window_settled(void) { windows_settled(); }

void tfprof_capture_window_opening(const char *framework, int begins_at_end) {
  windows_opening(framework, begins_at_end != 0);
}

void tfprof_capture_window_opened(int is_on) { windows_opened(is_on != 0); }

int tfprof_capture_window_closing(const char *ending) { return windows_closing(ending); }

int tfprof_capture_window_is_closing(void) { return windows_are_closing(); }

void tfprof_capture_window_closed(const char *bytes, unsigned long size, const char *directory, int has_programs,
                                  const char *error) {
  windows_closed(&(struct window_result){.bytes = bytes,
                                         .directory = directory,
                                         .size = size,
                                         .has_programs = has_programs != 0,
                                         .error = error});
}

void tfprof_capture_window_tell(const char *reason, const char *message) { windows_tell(reason, message); }
