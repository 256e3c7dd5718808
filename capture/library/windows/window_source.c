/* window_source.c: see window_source.h.
**
** What is open is known to whoever has the GIL; the writer thread looks at what is atomic alone.  A window that is over
** is handed to the writer thread by a list that it takes as a whole.
*/
#include "window_source.h"

#include "channel/thread_rows.h"
#include "governor/byte_budget.h"
#include "governor/limits.h"
#include "governor/sampling.h"
#include "host/process_counters.h"
#include "python/python_api.h"
#include "python/python_thread.h"
#include "recorder/clock.h"
#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "kept_windows.h"
#include "window_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  WINDOW_FILE,
  WINDOW_FRAMEWORK,
  WINDOW_THREAD,
  WINDOW_START,
  WINDOW_END,
  WINDOW_OPENING,
  WINDOW_CLOSING,
  WINDOW_FIRST_STEP,
  WINDOW_STEP_COUNT,
  WINDOW_BYTES,
  WINDOW_PROGRAMS,
  WINDOW_ENDING,
  WINDOW_ERROR,
  WINDOW_START_REALTIME,
  WINDOW_END_REALTIME,
  WINDOW_HANDLE,
  WINDOW_SETTLED,
  WINDOW_COLUMNS
};
static const struct row_column window_columns[WINDOW_COLUMNS] = {
    {DUMP_profiler_windows_file, DUMP_UNORDERED, false, false},
    {DUMP_profiler_windows_framework, DUMP_UNORDERED, false, true},
    {DUMP_profiler_windows_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_profiler_windows_start_ns, DUMP_ASCENDING, false, true},
    {DUMP_profiler_windows_end_ns, DUMP_ASCENDING, false, true},
    {DUMP_profiler_windows_opening_ns, DUMP_UNORDERED, false, true},
    {DUMP_profiler_windows_closing_ns, DUMP_UNORDERED, false, true},
    {DUMP_profiler_windows_first_step, DUMP_UNORDERED, false, true},
    {DUMP_profiler_windows_step_count, DUMP_UNORDERED, false, false},
    {DUMP_profiler_windows_bytes, DUMP_UNORDERED, false, false},
    {DUMP_profiler_windows_has_programs, DUMP_UNORDERED, false, true},
    {DUMP_profiler_windows_ending, DUMP_UNORDERED, false, true},
    {DUMP_profiler_windows_error, DUMP_UNORDERED, false, false},
    {DUMP_profiler_windows_start_realtime_ns, DUMP_ASCENDING, false, true},
    {DUMP_profiler_windows_end_realtime_ns, DUMP_ASCENDING, false, true},
    {DUMP_profiler_windows_thread_handle, DUMP_UNORDERED, false, true},
    {DUMP_profiler_windows_is_settled, DUMP_UNORDERED, false, true},
};
static const struct table_form form =
    TABLE_FORM(profiler_windows, TABLE_ROWS, "windows of the framework's profiler", window_columns, 64);

enum { MOST_WINDOWS = 4000, MOST_REFUSALS = 3 }; /* readers take 4,096 */
enum { CLOCK_TRIES = 4, CLOCK_APART_NS = 50000 };
static const uint64_t LONGEST_NS = 5000000000u, LONGEST_CHOSEN_NS = 30000000000u, FETCH_NS = 2000000000u,
                      MARK_NS = 50000 /* after the end of a step's mark it is noted here, at most */,
                      PATIENCE_NS = 100000000u; /* the next step may begin, before which it is closed */

/* One that is open or over; or, without a framework, what is to be said. */
struct window {
  struct window *next;
  uint32_t tid;
  uint64_t handle;
  int64_t start_ns, end_ns, opening_ns, closing_ns, start_realtime_ns, end_realtime_ns, first_step, step_count;
  char framework[16], ending[16], error[160], reason[40];
  bool has_programs, is_settled;
  char *directory, *bytes;
  size_t size;
};

static _Atomic(struct window *) over; /* the last one first */

/* With the GIL. */
static struct {
  void *close;
  struct window_plan plan;
  enum window_act wanted;
  bool is_closing; /* as planned */
  bool is_chosen, is_told_full;
  bool is_settled; /* all work has been waited for, since what is to be done was asked */
  struct window now;
  uint64_t programs_ns; /* when a window with the programs was closed last */
  uint64_t began_ns;    /* opening or closing */
  uint64_t asked_ns;    /* what is to be done was, and the program waits since then; 0: it was not */
  uint64_t stopped_ns;  /* the program waits since then for what began */
  double began_thread_ns;
  long waits;
} state;

static _Atomic bool is_open, is_late; /* is_late: a thread is on its way that closes it, or one closes it */
static _Atomic bool is_untold;        /* one was open, and has not been handed over */
static _Atomic uint64_t open_ns;      /* since when; */
static _Atomic uint64_t longest_ns;   /* and for how long it may be */

/* Of the writer thread: */
static struct row_buffer rows;
static struct byte_budget budget;
static uint64_t budget_began_ns, bytes_written;
static unsigned numbers, refusals;
static char place[512]; /* around the directories of windows of TensorFlow; empty: there was none */
static _Atomic unsigned fewer_levels;
static _Atomic bool is_full, is_empty; /* is_empty: no window of the file has been opened */

/* ---- What it takes. */

static long waits_of_thread(void) {
  struct rusage usage = {0};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

static void begin_cost(void) {
  state.waits = waits_of_thread();
  state.began_thread_ns = clock_thread_ns();
  state.began_ns = clock_monotonic_ns();
}

/* Since when the program has waited for what begins now: since it was asked for, if it was. */
static uint64_t take_asked(bool is_planned) {
  uint64_t asked_ns = state.asked_ns;
  state.asked_ns = 0;
  return is_planned && asked_ns && asked_ns < state.began_ns ? asked_ns : state.began_ns;
}

/* Processor time of a thread that waited for nothing: others may have kept it from running. */
static double cost_until(uint64_t now_ns) {
  double thread_ns = clock_thread_ns() - state.began_thread_ns;
  return waits_of_thread() == state.waits ? thread_ns : (double)(now_ns - state.began_ns);
}

/* On the thread that runs the steps: none of them is slow by that. */
static void leave_out(uint64_t since_ns, uint64_t now_ns) {
  if (since_ns && now_ns > since_ns) sampling_leave_out(now_ns - since_ns);
}

/* ---- Steps. */

void windows_begin(void *close) {
  if (!python_api_find()) return;
  python_api.increment(close);
  state.close = close;
}

static struct window_step step_now(const struct sampling_now *now) {
  return (struct window_step){.now_ns = clock_monotonic_ns(),
                              .steps = now->steps,
                              .overhead = now->overhead,
                              .seed = now->seed,
                              .wants_ops = now->wants_ops && gate_is_open() && !atomic_load(&is_full),
                              .is_chosen = now->is_chosen,
                              .fewer_levels = atomic_load(&fewer_levels)};
}

bool windows_step_ended(void) {
  struct sampling_now now;
  if (!state.close) return false;
  state.asked_ns = 0; /* what was asked for before it has been done, or was interrupted */
  state.is_closing = false;
  sampling_look(&now);
  struct window_step step = step_now(&now);
  double age_ns = state.plan.has_begun ? 0 : process_age_ns();
  state.wanted = window_plan_step(&state.plan, &step, age_ns);
  state.is_chosen = step.is_chosen;
  if (state.wanted == WINDOW_CLOSE && !atomic_load(&is_open)) state.wanted = WINDOW_NOTHING; /* it is being closed */
  return state.wanted != WINDOW_NOTHING;
}

bool windows_is_wanted(void) { return state.wanted != WINDOW_NOTHING; }

enum window_act windows_wanted(bool *is_chosen, bool *is_first) {
  enum window_act wanted = state.wanted;
  state.wanted = WINDOW_NOTHING;
  state.is_closing = wanted == WINDOW_CLOSE;
  state.asked_ns = wanted != WINDOW_NOTHING ? clock_monotonic_ns() : 0; /* asked for nothing, it waits for nothing */
  state.is_settled = false;
  *is_chosen = state.is_chosen;
  /* What is kept must have the programs that its ops are of, which one window in half of its time has. */
  uint64_t held_ns = (uint64_t)recording_held_ns();
  *is_first = atomic_load(&is_empty) || (held_ns && clock_monotonic_ns() - state.programs_ns > held_ns / 2);
  return wanted;
}

/* ---- A window. */

void windows_settled(void) {
  uint64_t now_ns = clock_monotonic_ns();
  leave_out(state.asked_ns, now_ns);
  if (state.asked_ns) state.asked_ns = now_ns;
  state.is_settled = true;
}

void windows_opening(const char *framework, bool begins_at_end) {
  begin_cost();
  state.stopped_ns = take_asked(true);
  uint64_t part_ns = (uint64_t)(window_plan_expected_ns(&state.plan, false) / WINDOW_STEPS / 4);
  uint64_t since_mark_ns = part_ns && part_ns < MARK_NS ? part_ns : MARK_NS;
  bool is_at_end = begins_at_end && state.plan.last_ns > since_mark_ns;
  uint64_t since_ns = is_at_end ? state.plan.last_ns - since_mark_ns : state.stopped_ns;
  state.now = (struct window){.opening_ns = (int64_t)since_ns, .is_settled = state.is_settled};
  state.is_settled = false;
  snprintf(state.now.framework, sizeof state.now.framework, "%s", framework);
}

/* Both clocks at one moment: what passes between them, such as the time without a processor, would move all ops of the
** window. */
static void read_clocks(struct clock_reading *reading) {
  for (int i = 0; i < CLOCK_TRIES; i++) {
    clock_read(reading);
    if (reading->uncertainty_ns < CLOCK_APART_NS) return;
  }
}

void windows_opened(bool is_on) {
  struct window *window = &state.now;
  struct clock_reading reading;
  read_clocks(&reading);
  uint64_t now_ns = (uint64_t)reading.monotonic_ns;
  leave_out(state.stopped_ns, now_ns);
  state.stopped_ns = 0; /* what is refused the next time has begun nothing */
  if (!is_on) {
    window_plan_failed(&state.plan, now_ns);
    return;
  }
  window->start_realtime_ns = reading.realtime_ns;
  window->start_ns = reading.monotonic_ns;
  struct sampling_now now;
  sampling_look(&now);
  window->opening_ns = window->start_ns - window->opening_ns;
  window->tid = capture_current_thread ? capture_current_thread->tid : (uint32_t)syscall(SYS_gettid);
  window->handle = (uint64_t)pthread_self();
  window->first_step = (int64_t)now.steps;
  uint64_t least = state.is_chosen ? LONGEST_CHOSEN_NS : LONGEST_NS;
  uint64_t usual = (uint64_t)(4 * window_plan_expected_ns(&state.plan, state.is_chosen));
  window_plan_opened(&state.plan, now_ns, now.steps, cost_until(now_ns));
  atomic_store(&longest_ns, usual > least ? usual : least);
  atomic_store(&open_ns, now_ns);
  atomic_store(&is_untold, true);
  atomic_store(&is_open, true);
  atomic_store(&is_empty, false);
  sampling_hold(true);
}

bool windows_closing(const char *ending) {
  struct window *window = &state.now;
  if (!atomic_exchange(&is_open, false)) return false;
  sampling_hold(false);
  struct sampling_now now;
  sampling_look(&now);
  window->step_count = (int64_t)now.in_window;
  bool is_planned = state.wanted == WINDOW_CLOSE || state.is_closing;
  snprintf(window->ending, sizeof window->ending, "%s", is_planned ? "steps" : ending);
  struct clock_reading reading;
  read_clocks(&reading);
  begin_cost();
  state.stopped_ns = take_asked(is_planned);
  window->end_ns = (int64_t)state.stopped_ns;
  window->end_realtime_ns = reading.realtime_ns - (reading.monotonic_ns - window->end_ns);
  return true;
}

bool windows_are_closing(void) { return atomic_load(&is_untold) && !atomic_load(&is_open); }

static void hand_over(struct window *window) {
  struct window *last = atomic_load(&over);
  do window->next = last;
  while (!atomic_compare_exchange_weak(&over, &last, window));
}

static void free_window(struct window *window) {
  free(window->directory);
  free(window->bytes);
  free(window);
}

void windows_closed(const struct window_result *result) {
  uint64_t now_ns = clock_monotonic_ns();
  struct sampling_now now;
  sampling_look(&now);
  struct window *window = malloc(sizeof *window);
  bool has_bytes = result->bytes && result->size;
  if (window) *window = state.now;
  if (window && has_bytes && (window->bytes = malloc(result->size))) {
    memcpy(window->bytes, result->bytes, result->size);
    window->size = result->size;
  }
  if (window && result->directory) window->directory = strdup(result->directory);
  if (window) {
    window->has_programs = result->has_programs;
    if (result->error) snprintf(window->error, sizeof window->error, "%s", result->error);
    bool is_told = !result->error && (window->bytes || window->directory);
    if (!is_told) snprintf(window->ending, sizeof window->ending, "error");
  }
  now_ns = clock_monotonic_ns();
  leave_out(state.stopped_ns, now_ns);
  state.stopped_ns = 0;
  if (window) window->closing_ns = (int64_t)(now_ns - (uint64_t)window->end_ns);
  window_plan_closed(&state.plan, now_ns, now.steps, cost_until(now_ns), (double)result->size, result->has_programs);
  if (result->has_programs) state.programs_ns = now_ns;
  uint64_t passed_ns = now_ns - state.plan.began_ns;
  if (passed_ns) sampling_note_windows(state.plan.spent_ns / (double)passed_ns);
  struct window_step step = step_now(&now);
  bool may_follow = window && !strcmp(window->ending, "steps") && step.is_chosen;
  state.wanted = may_follow ? window_plan_again(&state.plan, &step) : WINDOW_NOTHING;
  if (window) hand_over(window);
  atomic_store(&is_untold, false);
}

void windows_tell(const char *reason, const char *message) {
  struct window *said = calloc(1, sizeof *said);
  if (!said) return;
  snprintf(said->reason, sizeof said->reason, "%s", reason);
  snprintf(said->error, sizeof said->error, "%s", message);
  hand_over(said);
}

/* ---- One that is open for too long. */

static void close_late(void) {
  void *arguments = python_api.new_tuple(0);
  void *result = arguments ? python_api.call(state.close, arguments) : NULL;
  if (result) python_api.decrement(result);
  else python_api.clear_error();
  if (arguments) python_api.decrement(arguments);
  atomic_store(&is_late, false);
}

static void ask_to_close(void) {
  if (!atomic_exchange(&is_late, true) && !python_thread_start(close_late)) atomic_store(&is_late, false);
}

/* Who ends a visit, or the process goes over to another program, has what is open in the file. */
static void windows_fetch(bool is_end, const struct timespec *until) {
  uint64_t now_ns = moment_now_ns(), end_ns = now_ns + FETCH_NS;
  uint64_t until_ns = (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec;
  if (until_ns < end_ns) end_ns = until_ns;
  bool is_asked = false;
  if (is_end) return;
  while ((atomic_load(&is_untold) || atomic_load(&is_late)) && moment_now_ns() < end_ns) {
    if (!is_asked && atomic_load(&is_open) && moment_now_ns() - now_ns > PATIENCE_NS) {
      ask_to_close();
      is_asked = true;
    }
    usleep(500);
  }
}

/* ---- On the writer thread. */

static bool windows_open(struct recorder *recorder) {
  atomic_store(&over, NULL); /* of a visit that is over, or of the process that forked this one: is forgotten */
  byte_budget_begin(&budget, limits_bytes_an_hour());
  budget_began_ns = clock_monotonic_ns();
  bytes_written = 0;
  numbers = refusals = 0;
  atomic_store(&fewer_levels, 0);
  atomic_store(&is_full, false);
  atomic_store(&is_empty, true);
  kept_windows_begin();
  return row_tables_add(&recorder->tables, &rows, &form);
}

static uint32_t own_text(const struct recorder *recorder, const char *text) {
  return dump_writer_string(recorder->writer, text, strlen(text));
}

static void add_row(struct recorder *recorder, const struct window *window, const struct window_file *file) {
  int64_t thread = thread_row_of_tid(recorder, window->tid);
  const char *error = window->error[0] ? window->error : file->error;
  const char *ending = error[0] ? "error" : window->ending;
  uint32_t row = row_add(&rows);
  if (row == UINT32_MAX) return;
  if (file->name[0]) row_set(&rows, row, WINDOW_FILE, own_text(recorder, file->name));
  if (file->name[0]) row_set(&rows, row, WINDOW_BYTES, (int64_t)file->written);
  if (thread >= 0) row_set(&rows, row, WINDOW_THREAD, thread);
  row_set(&rows, row, WINDOW_STEP_COUNT, window->step_count);
  if (error[0]) row_set(&rows, row, WINDOW_ERROR, texts_keep(&recorder->texts, recorder->writer, error, strlen(error)));
  row_put(&rows, row, WINDOW_FRAMEWORK, own_text(recorder, window->framework));
  row_put(&rows, row, WINDOW_START, window->start_ns);
  row_put(&rows, row, WINDOW_END, window->end_ns);
  row_put(&rows, row, WINDOW_OPENING, window->opening_ns);
  row_put(&rows, row, WINDOW_CLOSING, window->closing_ns);
  row_put(&rows, row, WINDOW_FIRST_STEP, window->first_step);
  row_put(&rows, row, WINDOW_PROGRAMS, window->has_programs);
  row_put(&rows, row, WINDOW_ENDING, own_text(recorder, ending));
  row_put(&rows, row, WINDOW_START_REALTIME, window->start_realtime_ns);
  row_put(&rows, row, WINDOW_END_REALTIME, window->end_realtime_ns);
  row_put(&rows, row, WINDOW_HANDLE, (int64_t)window->handle);
  row_put(&rows, row, WINDOW_SETTLED, window->is_settled);
}

static void note_size(struct recorder *recorder, const struct window_file *file) {
  bytes_written += file->written;
  refusals = file->error[0] ? refusals + 1 : 0;
  byte_budget_note(&budget, (double)(clock_monotonic_ns() - budget_began_ns) * 1e-9, bytes_written);
  atomic_store(&fewer_levels, budget.levels);
  bool are_too_many = numbers >= MOST_WINDOWS && !recording_held_ns(); /* what is kept has the last ones */
  const char *why = refusals >= MOST_REFUSALS ? "their files could not be written"
                    : limits_is_full()        ? "the recording has reached --max-size"
                    : are_too_many            ? "there are as many as a recording may have"
                                              : NULL;
  if (!why || atomic_exchange(&is_full, true)) return;
  recorder_diagnose(recorder, "warning", "profiler_windows_over", 0, "profiler_windows",
                    "no more windows of the framework's profiler are opened: %s%s%s", why,
                    file->error[0] ? ", the last: " : "", file->error);
}

static void take_window(struct recorder *recorder, struct window *window) {
  if (!window->framework[0]) {
    recorder_diagnose(recorder, "info", window->reason, 1, "profiler_windows", "%s", window->error);
    return;
  }
  struct window_file file = {.dump = recording_path(),
                             .number = numbers++,
                             .bytes = window->bytes,
                             .size = window->size,
                             .directory = window->directory};
  bool has_file = window->bytes || window->directory;
  if (has_file) window_file_write(&file);
  if (file.name[0]) kept_windows_add(file.dump, file.name, (int64_t)clock_monotonic_ns());
  const char *slash = window->directory ? strrchr(window->directory, '/') : NULL;
  if (slash) snprintf(place, sizeof place, "%.*s", (int)(slash - window->directory), window->directory);
  add_row(recorder, window, &file);
  note_size(recorder, &file);
}

static uint64_t windows_drain(struct recorder *recorder, uint64_t limit) {
  (void)limit;
  struct window *list = atomic_exchange(&over, NULL), *first = NULL;
  uint64_t taken = 0;
  while (list) { /* the first one first */
    struct window *next = list->next;
    list->next = first;
    first = list;
    list = next;
  }
  for (; first; taken++) {
    struct window *next = first->next;
    take_window(recorder, first);
    free_window(first);
    first = next;
  }
  return taken;
}

static void windows_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  (void)recorder;
  if (is_end && place[0]) window_place_remove(place);
  if (is_end) place[0] = 0;
  kept_windows_look(now->monotonic_ns, is_end);
  if (is_end || !atomic_load(&is_open)) return;
  uint64_t since = atomic_load(&open_ns), longest = atomic_load(&longest_ns);
  if ((uint64_t)now->monotonic_ns > since && (uint64_t)now->monotonic_ns - since > longest) ask_to_close();
}

/* The parent goes on with what is open. */
static const char *windows_reset(bool is_whole) {
  (void)is_whole;
  window_plan_begin(&state.plan);
  state.wanted = WINDOW_NOTHING;
  state.asked_ns = state.stopped_ns = 0;
  place[0] = 0; /* the parent's */
  atomic_store(&over, NULL);
  atomic_store(&is_open, false);
  atomic_store(&is_late, false);
  atomic_store(&is_untold, false);
  return NULL;
}

const struct capture_source windows_source = {
    .name = "windows",
    .fetch = windows_fetch,
    .reset = windows_reset,
    .open = windows_open,
    .drain = windows_drain,
    .tick = windows_tick,
};
