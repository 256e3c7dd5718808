/* window_stops.h: when the recorder kept the program from its steps, to open or to close a window of the framework's
** own profiler (profiler_windows).
**
** It does so between two steps, as it counts them, on the thread that runs them.  Steps that reach from one end to the
** next would hold that time: they are parted there, so that it is in neither (window_stops_part), and the next one
** tells it as steps.paused_ns.  What lies within a step all the same, as where the program starts a profiler of its own
** in the middle of one, is a part of steps.recording_ns.
*/
#ifndef TFPROF_DERIVE_WINDOW_STOPS_H
#define TFPROF_DERIVE_WINDOW_STOPS_H

#include "derive/rows.h"

struct step { /* of those that are being made */
  int64_t number, start, end;
  uint32_t thread;
  string_id name;
};

struct window_stop {
  int64_t start, end;
  uint32_t thread; /* NO_ROW: not known */
};

/* By their starts; none overlaps another. */
struct window_stops {
  struct window_stop *items;
  uint32_t count;
};

/* Needs WINDOW_STEPS_READ (window_steps.h) and WINDOW_STOPS_READ. Free with window_stops_free, also after a failure. */
enum tfprof_status window_stops_load(struct window_stops *stops, struct profile *profile, struct tfprof_error *error);
static inline void window_stops_free(struct window_stops *stops) { scratch_free(stops->items); }
#define WINDOW_STOPS_READ                                             \
  {TABLE_profiler_windows, COLUMN_profiler_windows_closing_ns},       \
      {TABLE_profiler_windows, COLUMN_profiler_windows_thread_id},    \
      {TABLE_profiler_windows, COLUMN_profiler_windows_ending}

/* Of steps that reach from one end to the next, in order; each begins with a call, or ends with one. */
void window_stops_part(const struct window_stops *stops, struct step *steps, uint32_t count, bool begin_with_calls);
/* paused[step]: how much of the stops lies before it and behind all steps before it. Steps by their starts. */
void window_stops_before(const struct window_stops *stops, const struct step *steps, uint32_t count, int64_t *paused);
/* within[step]: how long those take that begin and end in it. `order`: rows of steps by their starts. */
void window_stops_within(const struct window_stops *stops, const uint32_t *order, const int64_t *starts,
                         const int64_t *ends, const uint32_t *threads, uint32_t count, int64_t *within);

#endif
