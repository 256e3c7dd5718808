/* hang_watch.c: when a process hangs (see hang_watch.h). */
#include "hang_watch.h"

#include "channel/thread_record.h"
#include "governor/sampling.h"
#include "c_stacks.h"
#include "flight_recorder.h"
#include "hang_rows.h"
#include "host/thread_waits.h"
#include "python/python_peek.h"
#include "recorder/clock.h"
#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "recorder/triggers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  USUAL_STEPS = 5,
  LONGEST_SLEEP_NS = 1000000000, /* of the writer thread: what is longer the process was stopped for */
  LOOK_NS = 100000000,           /* for so long it is seen which threads have a processor */
  ANSWER_NS = 1000000000,        /* that PyTorch may take to tell of its collectives */
  WORKING_PART = 10,             /* what was recorded in the last tenth of the time counts as work that goes on */
};

struct capture_part hangs_part = {.name = "hangs"};
static int64_t least_ns;
static bool with_c_stacks;
static char failure[80]; /* by what the program ends; empty: in order, as far as is known */

static struct {
  enum { STEPS_GO_ON, IS_LOOKED_AT, IS_TOLD } state;
  uint64_t steps; /* that had ended */
  uint64_t seen_ns, still_ns; /* when it was looked last; for how long no step has ended, as far as the process ran */
  uint64_t written, active_ns; /* what threads have written, and when that grew last; 0: it has not */
  int64_t limit_ns;
  bool is_ready, is_said; /* on stderr */
  struct hang hang;
} watch;

void hang_watch_set(double seconds, bool c_stacks) {
  least_ns = (int64_t)(seconds * 1e9);
  with_c_stacks = c_stacks;
  part_set(&hangs_part, seconds > 0 ? PART_OK : PART_OFF, seconds > 0 ? "" : "asked with --hang-after 0");
}

void hang_watch_lacks_threads(const char *reason) {
  char text[200];
  if (!least_ns) return;
  snprintf(text, sizeof text, "of Python only the threads that record are known: %.140s", reason);
  part_set(&hangs_part, PART_DEGRADED, text);
}

void hang_watch_tell_failure(const char *what) { snprintf(failure, sizeof failure, "%s", what); }

static bool hangs_open(struct recorder *recorder) {
  memset(&watch, 0, sizeof watch);
  return hang_rows_open(recorder);
}

static uint64_t written_so_far(void) {
  uint64_t sum = 0;
  for (enum written what = 0; what < WRITTEN_KINDS; what++) sum += threads_written(what);
  return sum;
}

/* Whether something still comes, from when on it matters. */
static void note_activity(uint64_t now_ns) {
  if (watch.still_ns < LONGEST_SLEEP_NS && (int64_t)watch.still_ns < least_ns / 2) return;
  uint64_t written = written_so_far();
  if (watch.written && written != watch.written) watch.active_ns = now_ns;
  watch.written = written;
}

static void say_once(void) {
  if (watch.is_said) return;
  watch.is_said = true;
  capture_say("process %ld has ended no step for %.0f s: what its threads do is in %s, and SELECT * FROM hang_summary "
              "tells it of all processes",
              (long)getpid(), (double)watch.still_ns * 1e-9, recording_path());
}

static void tell_hang(struct recorder *recorder, const struct step_pace *pace, uint64_t now_ns) {
  struct hang *hang = &watch.hang;
  hang->start_ns = pace->ended_ns;
  hang->noticed_ns = (int64_t)now_ns;
  hang->step_number = pace->number;
  hang->usual_ns = pace->usual_ns;
  hang->limit_ns = watch.limit_ns;
  hang->is_working = watch.active_ns && now_ns - watch.active_ns < (uint64_t)watch.limit_ns / WORKING_PART;
  hang->with_c_stacks = with_c_stacks && !hang->is_working && c_stacks_begin();
  hang_rows_tell(recorder, hang);
  if (hang->with_c_stacks) c_stacks_end();
  recorder->is_urgent = true;
  struct kept_trigger facts = {.kind = NULL};
  snprintf(facts.message, sizeof facts.message, "no step has ended for %.0f s", (double)watch.still_ns * 1e-9);
  trigger_note(TRIGGER_HANG, &facts, 0);
  if (!hang->is_working) say_once();
}

static void tell_end(struct recorder *recorder, uint64_t now_ns, const char *how) {
  recorder_diagnose(recorder, "info", "capture_hang_over", 0, "hangs",
                    "no step ended for %.1f s, until %s", (double)((int64_t)now_ns - watch.hang.start_ns) * 1e-9, how);
}

static void begin_again(const struct step_pace *pace) {
  watch.state = STEPS_GO_ON;
  watch.steps = pace->steps;
  watch.still_ns = watch.written = watch.active_ns = 0;
}

static bool has_looked_long(uint64_t now_ns) {
  int64_t passed_ns = (int64_t)now_ns - watch.hang.looked_ns;
  return passed_ns >= LOOK_NS && (flight_recorder_has_answered() || passed_ns >= ANSWER_NS);
}

/* What the loader is asked for, before somebody hangs who has its lock. */
static void get_ready(struct recorder *recorder) {
  watch.is_ready = true;
  thread_waits_prepare();
  python_peek_prepare();
  const char *reason = with_c_stacks ? c_stacks_prepare() : NULL;
  if (!reason) return;
  with_c_stacks = false;
  recorder_diagnose(recorder, "warning", "capture_no_c_stacks", 0, "hang_threads", "%s", reason);
}

static void hangs_pulse(struct recorder *recorder, const struct pulse *pulse) {
  struct step_pace pace;
  (void)pulse;
  if (!least_ns) return;
  uint64_t now_ns = clock_monotonic_ns(), passed_ns = watch.seen_ns ? now_ns - watch.seen_ns : 0;
  watch.seen_ns = now_ns;
  sampling_pace(&pace);
  if (pace.steps && !watch.is_ready) get_ready(recorder);
  if (!pace.steps || pace.is_paused || pace.steps != watch.steps) {
    if (watch.state == IS_TOLD) tell_end(recorder, now_ns, "the next one");
    begin_again(&pace);
    return;
  }
  watch.still_ns += passed_ns < LONGEST_SLEEP_NS ? passed_ns : LONGEST_SLEEP_NS;
  if (watch.state == IS_TOLD) return;
  note_activity(now_ns);
  watch.limit_ns = pace.usual_ns * USUAL_STEPS > least_ns ? pace.usual_ns * USUAL_STEPS : least_ns;
  if (watch.state == STEPS_GO_ON && (int64_t)watch.still_ns >= watch.limit_ns) {
    hang_rows_look();
    flight_recorder_ask();
    watch.hang.looked_ns = (int64_t)now_ns;
    watch.state = IS_LOOKED_AT;
  } else if (watch.state == IS_LOOKED_AT && has_looked_long(now_ns)) {
    tell_hang(recorder, &pace, now_ns);
    watch.state = IS_TOLD;
  }
}

static const char *hangs_reset(bool is_whole) {
  (void)is_whole;
  failure[0] = 0;
  flight_recorder_reset();
  return NULL;
}

static void hangs_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  struct step_pace pace;
  if (is_end && failure[0])
    recorder_diagnose(recorder, "info", "capture_program_failed", 0, "hangs", "the program was ended by %s", failure);
  if (!is_end || !least_ns) return;
  sampling_pace(&pace);
  if (watch.state == IS_TOLD)
    tell_end(recorder, (uint64_t)now->monotonic_ns, pace.steps == watch.steps ? "the process ended" : "the next one");
  if (!pace.steps)
    recorder_diagnose(recorder, "info", "capture_not_watched", 0, "hangs",
                      "nobody looked whether the process hangs: it has ended no step");
}

const struct capture_source hangs_source = {
    .name = "hangs",
    .parts = (struct capture_part *const[]){&hangs_part, NULL},
    .reset = hangs_reset,
    .open = hangs_open,
    .pulse = hangs_pulse,
    .tick = hangs_tick,
};
