/* session.c: see session.h. */
#include "session.h"

#include "channel/thread_record.h"
#include "governor/limits.h"
#include "governor/sampling.h"
#include "host/process_identity.h"
#include "recorder/clock.h"
#include "recorder/parts.h"
#include "recorder/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FINISH_TIMEOUT_MS = 20000, FLUSH_TIMEOUT_MS = 2000 };

struct session_wishes session_wishes = {.of_sources.has_callbacks = true};
static char directory[4096];
static bool is_armed;

/* ---- All sources. */

static void enter_thread(struct capture_thread *thread) {
  for EACH_SOURCE(source, capture_sources)
    if (source->enter_thread) source->enter_thread(thread);
}

static bool arm_sources(void) {
  bool are_armed = true;
  for EACH_SOURCE(source, capture_sources)
    if (source->arm) are_armed &= source->arm(&session_wishes.of_sources);
  return are_armed;
}

static void disarm_sources(void) {
  size_t count = 0;
  while (capture_sources[count]) count++;
  while (count--)
    if (capture_sources[count]->disarm) capture_sources[count]->disarm();
}

static void stop_sources(void) {
  for EACH_SOURCE(source, capture_sources)
    if (source->stop) source->stop();
}

/* ---- fork. */

static const char *why_not_recorded; /* of GATE_UNRECORDED */

/* What another thread had begun when it was left behind is not gone on with: a recording that was being armed or ended
** is none in the child. */
static void after_fork_in_child(bool is_whole) {
  int seen = atomic_load(&gate_state);
  bool has_recorded = seen != GATE_NONE && seen != GATE_INHERITED;
  recording_after_fork_in_child(is_whole && seen == GATE_RECORDING);
  if (!has_recorded && is_whole) return;
  const char *why = is_armed ? NULL : "it was forked while the recording of its parent began";
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
  if (session_wishes.of_sources.has_callbacks) sampling_after_fork_in_child();
  atomic_store(&gate_state, GATE_INHERITED);
}

static void say_unrecorded(void) {
  capture_say("nothing is recorded of process %ld: %s; the program goes on", (long)getpid(), why_not_recorded);
}

/* ---- Begin. */

static bool is_set(const char *name, bool otherwise) {
  const char *text = getenv(name);
  return text && *text ? strcmp(text, "0") != 0 : otherwise;
}

static void read_sampling_options(struct sampling_options *asked) {
  const char *mode = getenv("TFPROF_OPS"), *overhead = getenv("TFPROF_OVERHEAD"), *steps = getenv("TFPROF_STEPS"),
             *size = getenv("TFPROF_MAX_SIZE"), *rate = getenv("TFPROF_MAX_RATE");
  *asked = (struct sampling_options){.mode = OPS_ALL, .overhead = 0.02, .last_step = -1};
  asked->seed = sampling_seed_of(process_identity_job());
  process_identity_set_seed(asked->seed);
  if (mode && !strcmp(mode, "sampled")) asked->mode = OPS_SAMPLED;
  if (mode && !strcmp(mode, "none")) asked->mode = OPS_NONE;
  if (overhead && *overhead) asked->overhead = strtod(overhead, NULL) / 100;
  if (size && *size) asked->max_bytes = strtoull(size, NULL, 10);
  limits_set(rate && *rate && asked->mode != OPS_ALL ? strtoull(rate, NULL, 10) : 0, asked->overhead);
  if (!steps || !*steps) return;
  char *end;
  asked->first_step = asked->last_step = strtoll(steps, &end, 10);
  if (*end == '-') asked->last_step = strtoll(end + 1, NULL, 10);
}

static bool start_recording(void) {
  struct process_identity identity;
  struct tfprof_error error;
  process_identity_get(&identity);
  if (recording_begin(directory, &identity.profile, capture_sources, &error) == TFPROF_OK) return true;
  char text[2200];
  error_text(&error, text, sizeof text);
  capture_say(
      "nothing is recorded of process %u: %s; the program goes on. Choose another directory with tfprof-capture -o DIR",
      identity.profile.pid, text);
  return false;
}

__attribute__((constructor)) static void library_loaded(void) { clock_begin(); }

bool session_load(void) {
  const char *path = getenv("TFPROF_RUN_DIRECTORY"), *mode = getenv("TFPROF_PYTHON_MODE"),
             *buffer = getenv("TFPROF_BUFFER_SIZE");
  if (!path || path[0] != '/' || strlen(path) >= sizeof directory) return false;
  memcpy(directory, path, strlen(path) + 1);
  capture_say_nothing(is_set("TFPROF_QUIET", false));
  session_wishes.of_sources.with_shapes = is_set("TFPROF_SHAPES", true);
  session_wishes.of_sources.with_stacks = !mode || strcmp(mode, "none") != 0;
  session_wishes.with_memory = is_set("TFPROF_MEMORY", true);
  session_wishes.buffer_bytes =
      buffer && *buffer ? strtoull(buffer, NULL, 10) : (uint64_t)CHUNK_COUNT * CHUNK_SIZE;
  for EACH_SOURCE(source, capture_sources)
    if (source->locks) forks_add(source->locks);
  if (!forks_watch((struct fork_watch){recording_before_fork, recording_after_fork_in_parent, after_fork_in_child}))
    return false;
  gate_set_child(start_recording, say_unrecorded);
  thread_tell_entry(enter_thread);
  process_identity_begin();
  read_sampling_options(&session_wishes.sampling);
  return true;
}

bool session_arm(void) {
  if (!gate_move(GATE_NONE, GATE_STARTING)) return false;
  if (!start_recording()) {
    atomic_store(&gate_state, GATE_ENDED);
    return false;
  }
  atomic_store(&gate_state, GATE_RECORDING);
  is_armed = arm_sources();
  if (!is_armed) session_finish();
  else if (session_wishes.of_sources.has_callbacks)
    sampling_begin(&session_wishes.sampling, capture_sources);
  return is_armed;
}

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
  bool are_armed = arm_sources(); /* before ops are recorded again */
  sampling_pause(false);
  return are_armed;
}

void session_flush(void) {
  if (atomic_load(&gate_state) == GATE_RECORDING) recording_flush(FLUSH_TIMEOUT_MS);
}

void session_finish(void) {
  if (!gate_move(GATE_RECORDING, GATE_ENDED)) return;
  sampling_end();
  disarm_sources();
  stop_sources();
  struct process_identity identity;
  process_identity_get(&identity); /* the rank may have become known since */
  recording_finish(&identity.profile, FINISH_TIMEOUT_MS);
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
