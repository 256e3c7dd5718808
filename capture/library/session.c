/* session.c: see session.h. */
#include "session.h"

#include "control.h"
#include "channel/thread_record.h"
#include "common/option_words.h"
#include "governor/limits.h"
#include "governor/sampling.h"
#include "governor/slow_steps.h"
#include "hangs/hang_watch.h"
#include "host/process_identity.h"
#include "recorder/clock.h"
#include "recorder/file_threads.h"
#include "recorder/last_call.h"
#include "recorder/moments.h"
#include "recorder/parts.h"
#include "recorder/recording.h"
#include "recorder/settings.h"
#include "recorder/triggers.h"
#include "run_peers.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All that an end or a flush waits for takes no longer, of which so much is left to the writer thread. A fork waits so
** long for that. */
enum { KEEP_BYTES = 256 << 20 };
#define USUAL_AFTER "2s"
enum { END_MS = 3000, WRITER_MS = 1000, REST_MS = 1000, CONTROL_REST_MS = 200 };

struct session_wishes session_wishes = {.of_sources.has_callbacks = true};
static char directory[4096];
static bool keeps; /* the last seconds, and writes them when something happens */
static bool is_loaded, has_begun; /* has_begun: nothing that begins is half done */

/* Of whoever loads, begins or arms. */
static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct fork_lock session_locks[] = {{.lock = &session_lock}, {.lock = &control_lock}, {0}};

/* ---- All sources. */

enum { SOURCES_MAXIMUM = 32 };
/* Those that need no framework. */
static const struct capture_source *standing_sources[SOURCES_MAXIMUM + 1];
static const struct capture_source *const no_sources[] = {NULL};
/* Those that have begun: none, those that need no framework, all. */
static const struct capture_source *const *_Atomic begun = no_sources;

static void list_sources(void) {
  size_t count = 0;
  for EACH_SOURCE(source, capture_sources) {
    assert(count < SOURCES_MAXIMUM);
    if (!source->needs_framework) standing_sources[count++] = source;
  }
}

static void enter_thread(struct capture_thread *thread) {
  for EACH_SOURCE(source, begun)
    if (source->enter_thread) source->enter_thread(thread);
}

static bool arm_sources(bool need_framework) {
  bool are_armed = true;
  for EACH_SOURCE(source, begun)
    if (source->arm && source->needs_framework == need_framework) are_armed &= source->arm(&session_wishes.of_sources);
  return are_armed;
}

static void disarm_sources(void) {
  const struct capture_source *const *list = begun;
  size_t count = 0;
  while (list[count]) count++;
  while (count--)
    if (list[count]->disarm) list[count]->disarm();
}

/* Until then, of the system's clock; what others take for it. */
static void fetch_from_sources(bool is_end, uint64_t end_ns) {
  const struct timespec until = moment_at(end_ns - WRITER_MS * UINT64_C(1000000));
  for EACH_SOURCE(source, begun)
    if (source->fetch) source->fetch(is_end, &until);
}

static void let_sources_sleep(void) {
  for EACH_SOURCE(source, begun)
    if (source->sleep) source->sleep(&session_wishes.of_sources);
}

static void stop_sources(void) {
  for EACH_SOURCE(source, begun)
    if (source->stop) source->stop();
}

/* ---- fork. */

static _Atomic bool has_visit; /* of a dormant program: there is a file */
static _Atomic uint64_t process_end_ns; /* when the process will have ended, at the latest; 0: it does not end yet */
static const char *why_not_recorded; /* of GATE_UNRECORDED */

/* What another thread had begun when it was left behind is not gone on with: a recording that was being armed or ended
** is none in the child. */
static void after_fork_in_child(bool is_whole) {
  gate_own();
  int seen = atomic_load(&gate_state);
  bool is_dormant = seen == GATE_DORMANT || seen == GATE_WOKEN || seen == GATE_ASLEEP || has_visit;
  bool has_recorded = seen != GATE_NONE && seen != GATE_INHERITED;
  recording_after_fork_in_child(is_whole && seen == GATE_RECORDING);
  control_after_fork_in_child();
  if (!has_recorded && is_whole) return;
  const char *why = has_begun ? NULL : "it was forked while the recording of its parent began";
  for EACH_SOURCE(source, capture_sources) {
    const char *its_reason = source->reset ? source->reset(is_whole) : NULL;
    if (!why) why = its_reason;
  }
  if (!has_recorded) return;
  if (seen == GATE_ENDED || seen == GATE_UNRECORDED || why) {
    stop_sources();
    if (seen == GATE_ENDED || seen == GATE_UNRECORDED) return;
    why_not_recorded = why;
    atomic_store(&gate_state, GATE_UNRECORDED);
    return;
  }
  atomic_store(&process_end_ns, 0);
  if (is_dormant) disarm_sources();
  has_visit = false;
  sampling_after_fork_in_child();
  atomic_store(&gate_state, is_dormant ? GATE_ASLEEP : GATE_INHERITED);
}

static void say_unrecorded(void) {
  capture_say("nothing is recorded of process %ld: %s; the program goes on", (long)getpid(), why_not_recorded);
}

/* ---- Begin. */

static bool is_set(const char *name, bool otherwise) {
  const char *text = setting(name);
  return text && *text ? strcmp(text, "0") != 0 : otherwise;
}

static void read_sampling_options(struct sampling_options *asked) {
  const char *mode = setting("TFPROF_OPS"), *overhead = setting("TFPROF_OVERHEAD"), *steps = setting("TFPROF_STEPS"),
             *size = setting("TFPROF_MAX_SIZE"), *rate = setting("TFPROF_MAX_RATE"),
             *gpu_rate = setting("TFPROF_MAX_GPU_RATE");
  *asked = (struct sampling_options){.mode = OPS_ALL, .overhead = 0.02, .last_step = -1};
  asked->seed = sampling_seed_of(process_identity_job());
  process_identity_set_seed(asked->seed);
  if (mode && !strcmp(mode, "sampled") && !session_wishes.of_sources.is_dormant) asked->mode = OPS_SAMPLED;
  if (mode && !strcmp(mode, "none")) asked->mode = OPS_NONE;
  if (overhead && *overhead) asked->overhead = strtod(overhead, NULL) / 100;
  if (size && *size && !keeps) asked->max_bytes = strtoull(size, NULL, 10);
  if (steps && *steps) {
    char *end;
    asked->first_step = asked->last_step = strtoll(steps, &end, 10);
    if (*end == '-') asked->last_step = strtoll(end + 1, NULL, 10);
  }
  limits_set(&(struct limits){.bytes_an_hour = rate && asked->mode != OPS_ALL ? strtoull(rate, NULL, 10) : 0,
                              .device_bytes_an_hour = gpu_rate ? strtoull(gpu_rate, NULL, 10) : 0,
                              .overhead = asked->overhead,
                              .is_sampled = asked->mode == OPS_SAMPLED && asked->last_step < 0});
}

static bool create_recording(const char *where, char *problem, size_t size) {
  struct process_identity identity;
  struct tfprof_error error;
  process_identity_get(&identity);
  if (recording_begin(where, &identity.profile, capture_sources, &error) == TFPROF_OK) return true;
  error_text(&error, problem, size);
  return false;
}

static bool start_recording(void) {
  char text[2200];
  if (create_recording(directory, text, sizeof text)) {
    if (keeps) control_begin();
    recording_tell_parts(begun); /* of a forked child, whose sources have begun */
    return true;
  }
  capture_say(
      "nothing is recorded of process %u: %s; the program goes on. Choose another directory with tfprof-capture -o DIR",
      (unsigned)getpid(), text);
  return false;
}

static struct asked_others ask_others(const struct kept_trigger *trigger, int timeout_ms) {
  return run_peers_ask(directory, trigger, timeout_ms);
}

/* With TFPROF_KEEP nothing is written before something happens. */
static void read_keep(void) {
  const char *time = setting("TFPROF_KEEP"), *size = setting("TFPROF_KEEP_SIZE"), *name = setting("TFPROF_SIGNAL"),
             *launcher = setting("TFPROF_LAUNCHER");
  if (session_wishes.of_sources.is_dormant) return;
  const char *after = setting("TFPROF_KEEP_AFTER"), *slow = setting("TFPROF_SLOW_STEP");
  struct recording_keep keep = {.ns = time ? option_time_ns(time) : 0,
                                .after_ns = option_time_ns(after && *after ? after : USUAL_AFTER),
                                .ask_others = ask_others,
                                .most_bytes = size && *size ? strtoull(size, NULL, 10) : KEEP_BYTES,
                                .signal_number = name ? option_signal(name) : 0,
                                .launcher = launcher ? (int)strtol(launcher, NULL, 10) : 0};
  keeps = keep.ns != 0;
  recording_keep(&keep);
  slow_steps_set(slow && *slow ? strtod(slow, NULL) : SLOW_STEP_FACTOR);
}

static const struct control_session own_control;

static bool load(void) {
  const char *path = setting("TFPROF_RUN_DIRECTORY"), *mode = setting("TFPROF_PYTHON_MODE"),
             *buffer = setting("TFPROF_BUFFER_SIZE"), *hang_after = setting("TFPROF_HANG_AFTER");
  if (!path || path[0] != '/' || strlen(path) >= sizeof directory) return false;
  memcpy(directory, path, strlen(path) + 1);
  capture_say_begin(is_set("TFPROF_QUIET", false), setting("TFPROF_STDERR"));
  session_wishes.of_sources.with_shapes = is_set("TFPROF_SHAPES", true);
  session_wishes.of_sources.with_stacks = !mode || strcmp(mode, "none") != 0;
  session_wishes.of_sources.with_source = is_set("TFPROF_SOURCE", true);
  session_wishes.with_memory = is_set("TFPROF_MEMORY", true);
  session_wishes.of_sources.is_dormant = is_set("TFPROF_DORMANT", false);
  session_wishes.buffer_bytes =
      buffer && *buffer ? strtoull(buffer, NULL, 10) : (uint64_t)CHUNK_COUNT * CHUNK_SIZE;
  hang_watch_set(hang_after && *hang_after ? strtod(hang_after, NULL) : HANG_AFTER_SECONDS,
                 is_set("TFPROF_HANG_C_STACKS", false));
  last_call_expect(setting("TFPROF_LAST_CALL"));
  read_keep();
  clock_begin();
  list_sources();
  forks_add(session_locks);
  for EACH_SOURCE(source, capture_sources)
    if (source->locks) forks_add(source->locks);
  if (!forks_watch((struct fork_watch){recording_before_fork, recording_after_fork_in_parent, after_fork_in_child}))
    return false;
  gate_own();
  gate_set_child(start_recording, say_unrecorded);
  gate_set_waking(control_begin);
  control_set_session(&own_control);
  thread_tell_entry(enter_thread);
  process_identity_begin(is_set("TFPROF_COMMAND", true), session_wishes.of_sources.with_source);
  read_sampling_options(&session_wishes.sampling);
  return true;
}

bool session_load(void) {
  pthread_mutex_lock(&session_lock);
  if (!is_loaded) is_loaded = load();
  bool is_done = is_loaded;
  pthread_mutex_unlock(&session_lock);
  return is_done;
}

/* Under the lock: these are what the next visit arms. */
static bool be_dormant(const struct capture_source *const *its_sources) {
  int seen = atomic_load(&gate_state);
  if (!is_loaded || has_visit || (seen != GATE_NONE && seen != GATE_DORMANT)) return false;
  if (!thread_records_begin(session_wishes.buffer_bytes)) {
    capture_say("nothing can be recorded: out of memory; the program goes on");
    return false;
  }
  begun = its_sources;
  has_begun = true;
  gate_move(GATE_NONE, GATE_DORMANT);
  sampling_sleep(&session_wishes.sampling, its_sources);
  let_sources_sleep();
  if (capture_current_thread) enter_thread(capture_current_thread);
  control_begin();
  return true;
}

/* Under the lock. */
static bool begin_recording(void) {
  if (!is_loaded || !gate_move(GATE_NONE, GATE_STARTING)) return is_loaded && gate_may_record();
  has_begun = false;
  if (!thread_records_begin(session_wishes.buffer_bytes)) {
    capture_say("nothing is recorded: out of memory or file descriptors; the program goes on");
    atomic_store(&gate_state, GATE_ENDED);
    return false;
  }
  if (!start_recording()) {
    atomic_store(&gate_state, GATE_ENDED);
    return false;
  }
  begun = standing_sources;
  atomic_store(&gate_state, GATE_RECORDING);
  arm_sources(false);
  has_begun = true;
  return true;
}

bool session_begin(void) {
  pthread_mutex_lock(&session_lock);
  if (session_wishes.of_sources.is_dormant) {
    bool is_dormant = atomic_load(&gate_state) == GATE_NONE ? be_dormant(standing_sources) : true;
    pthread_mutex_unlock(&session_lock);
    return is_dormant;
  }
  bool is_new = atomic_load(&gate_state) == GATE_NONE, is_going_on = begin_recording();
  if (is_new && is_going_on) {
    recording_tell_parts(standing_sources);
    sampling_begin(&session_wishes.sampling, standing_sources);
  }
  pthread_mutex_unlock(&session_lock);
  return is_going_on;
}

/* A program may end without Python's end: by exit() in native code, or where Python is embedded. PyTorch's static
** objects are gone when the library's destructor runs, but not yet where what was registered after them is called. */
static void end_before_framework(void) {
  static bool is_registered;
  if (!is_registered) is_registered = atexit(session_finish) == 0;
}

/* Under the lock. */
static bool arm_framework(void) {
  if (session_is_armed()) return false;
  if (session_wishes.of_sources.is_dormant) {
    end_before_framework();
    return be_dormant(capture_sources);
  }
  bool is_new = atomic_load(&gate_state) == GATE_NONE;
  if (!begin_recording()) return false;
  has_begun = false;
  begun = capture_sources;
  bool is_armed = arm_sources(true);
  has_begun = is_armed || !is_new;
  recording_tell_parts(capture_sources);
  end_before_framework();
  if (!has_begun) session_finish();
  if (!is_armed) return false;
  /* This thread may have recorded before; others find out by themselves. */
  if (capture_current_thread) enter_thread(capture_current_thread);
  if (session_wishes.of_sources.has_callbacks) sampling_begin(&session_wishes.sampling, capture_sources);
  return true;
}

bool session_arm(void) {
  pthread_mutex_lock(&session_lock);
  bool is_armed = arm_framework();
  pthread_mutex_unlock(&session_lock);
  return is_armed;
}

static _Atomic bool is_driver_there, is_driver_told;

static void tell_driver(void) {
  is_driver_told = true;
  for EACH_SOURCE(source, begun)
    if (source->driver_found) source->driver_found();
}

void session_driver_found(void) {
  is_driver_there = true;
  if (!session_wishes.of_sources.is_dormant) tell_driver();
}

static uint64_t ends_at(void) {
  uint64_t end_ns = atomic_load(&process_end_ns);
  return end_ns ? end_ns : moment_now_ns() + END_MS * UINT64_C(1000000);
}

static int milliseconds_until(uint64_t end_ns) {
  uint64_t now_ns = moment_now_ns();
  return now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) : 0;
}

/* ---- Visits. */

/* The file is there, and recording begins with the next step from that moment of CLOCK_MONOTONIC on; it ends after so
** many steps (0: when it is ended). `where` NULL: in the run's directory. false: it cannot begin, and `problem` says
** why. */
static bool begin_visit(const char *where, uint64_t begin_ns, uint64_t steps, char *problem, size_t size) {
  pthread_mutex_lock(&session_lock);
  bool is_free = !has_visit && !atomic_load(&process_end_ns) && atomic_load(&gate_state) == GATE_DORMANT;
  bool has_file = is_free && create_recording(where ? where : directory, problem, size);
  if (has_file) {
    has_visit = true;
    sampling_await_visit(begin_ns, steps);
    arm_sources(false);
    arm_sources(true);
    recording_tell_parts(begun);
    if (is_driver_there && !is_driver_told) tell_driver();
    gate_move(GATE_DORMANT, GATE_WOKEN);
  }
  pthread_mutex_unlock(&session_lock);
  if (!is_free) snprintf(problem, size, "it is being recorded already, or ends");
  return has_file;
}

/* Under the lock: nothing more is recorded; returns when all that was is in the file, and the program is dormant. */
static void end_visit(void) {
  if (!has_visit) return;
  uint64_t end_ns = ends_at();
  sampling_end_visit();
  disarm_sources();
  fetch_from_sources(false, end_ns);
  struct process_identity identity;
  process_identity_get(&identity);
  recording_finish(&identity.profile, milliseconds_until(end_ns));
  has_visit = false;
}

static void end_visit_of_control(void) {
  pthread_mutex_lock(&session_lock);
  end_visit();
  pthread_mutex_unlock(&session_lock);
}

static bool keeps_now(void) { return keeps; }

static bool write_kept(char *path, size_t path_size, char *problem, size_t problem_size) {
  enum { PATIENCE_MS = 5000 };
  return trigger_write(TRIGGER_ASKED, "asked for by tfprof-capture --attach", PATIENCE_MS, path, path_size, problem,
                       problem_size);
}

/* Of a process that has recorded nothing, such as the launcher of the ranks, there is nothing to write. */
static void note_met(const struct control_message *met) {
  enum { PATIENCE_MS = 2000 };
  struct kept_trigger trigger;
  bool is_ours = run_peers_read(directory, met, &trigger);
  if (is_ours && thread_count()) trigger_note(TRIGGER_OTHER_PROCESS, &trigger, PATIENCE_MS);
}

static const struct control_session own_control = {begin_visit, end_visit_of_control, directory,
                                                   keeps_now,   write_kept,           note_met};

bool session_is_armed(void) { return begun == capture_sources; }

/* ---- While it lasts, and the end. */

bool session_pause(bool is_paused) {
  static bool was_paused;
  if (!session_wishes.of_sources.has_callbacks || atomic_load(&gate_state) != GATE_RECORDING) return false;
  if (was_paused == is_paused) return true;
  was_paused = is_paused;
  if (is_paused) {
    sampling_pause(true);
    disarm_sources();
    return true;
  }
  bool are_standing = arm_sources(false), are_armed = arm_sources(true); /* before ops are recorded again */
  sampling_pause(false);
  return are_standing && are_armed;
}

/* Of this process. */
static bool is_recording(void) { return atomic_load(&gate_state) == GATE_RECORDING && gate_is_of_process(); }

bool session_begin_end(void) {
  if (!is_recording()) {
    if (session_wishes.of_sources.is_dormant) session_finish();
    return false;
  }
  uint64_t none = 0;
  atomic_compare_exchange_strong(&process_end_ns, &none, ends_at());
  return true;
}

int session_time_left(void) { return recording_stands_still() ? 0 : milliseconds_until(ends_at()); }

bool session_rest(void) {
  static bool was_late; /* a disk that does not answer: forks wait for it once */
  if (session_wishes.of_sources.is_dormant)
    return gate_is_of_process() && control_rest(CONTROL_REST_MS) && file_threads_rest();
  if (was_late || !is_recording() || (keeps && !control_rest(CONTROL_REST_MS))) return false;
  was_late = !recording_rest(REST_MS);
  if (was_late) {
    if (keeps) control_go_on();
    return false;
  }
  sampling_rest();
  if (recording_may_close()) file_threads_rest(); /* else they are counted, and CPython warns */
  return true;
}

void session_go_on(void) {
  if (session_wishes.of_sources.is_dormant) control_go_on();
  else recording_go_on();
  if (keeps) control_go_on();
}

void session_flush(void) {
  if (!is_recording()) return;
  uint64_t end_ns = ends_at();
  fetch_from_sources(false, end_ns);
  recording_flush(milliseconds_until(end_ns));
}

/* The control thread may be in the middle of a visit. */
static void end_dormant(uint64_t end_ns) {
  if (!is_loaded || !gate_is_of_process()) return;
  atomic_store(&process_end_ns, end_ns);
  control_end();
  pthread_mutex_lock(&session_lock);
  end_visit();
  if (atomic_exchange(&gate_state, GATE_ENDED) != GATE_ENDED) stop_sources();
  pthread_mutex_unlock(&session_lock);
}

void session_finish(void) {
  uint64_t end_ns = ends_at();
  if (session_wishes.of_sources.is_dormant) {
    end_dormant(end_ns);
    return;
  }
  if (!is_recording() || !gate_move(GATE_RECORDING, GATE_ENDED)) return;
  if (keeps) control_end();
  sampling_end();
  disarm_sources();
  fetch_from_sources(true, end_ns);
  stop_sources();
  struct process_identity identity;
  process_identity_get(&identity); /* the rank may have become known since */
  recording_finish(&identity.profile, milliseconds_until(end_ns));
}

const char *session_part(unsigned number) {
  static char text[PART_TEXT_MAXIMUM];
  for EACH_SOURCE(source, capture_sources) {
    for (unsigned i = 0; source->parts && source->parts[i]; i++) {
      if (number--) continue;
      part_text(source->parts[i], text, sizeof text);
      return text;
    }
  }
  return NULL;
}

__attribute__((destructor)) static void library_unloaded(void) { session_finish(); }
