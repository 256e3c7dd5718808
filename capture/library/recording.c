/* recording.c: the dump file and its writer thread (see recording.h). */
#include "recording.h"

#include "dump_ids.h"
#include "memory_callbacks.h"
#include "module_discovery.h"
#include "op_rows.h"
#include "process_counters.h"
#include "process_identity.h"
#include "sampling.h"
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  BUSY_WAIT_MS = 20,
  IDLE_WAIT_MS = 100,
  FRAME_AGE_MS = 400, /* with the wait and the write itself, an op is in the file half a second after its end */
  TICK_MS = 1000,
  DRAIN_LIMIT = 200000,
  FORK_WAIT_US = 20000,
  LAST_WORDS_BYTES = 16384, /* what was lost, the reasons for it, the end: they find room on a full disk, too */
};

enum {
  DIAGNOSTIC_SEVERITY,
  DIAGNOSTIC_REASON,
  DIAGNOSTIC_MESSAGE,
  DIAGNOSTIC_COUNT,
  DIAGNOSTIC_TABLE,
  DIAGNOSTIC_COLUMNS
};
static const struct row_column diagnostic_columns[DIAGNOSTIC_COLUMNS] = {
    {DUMP_diagnostics_severity, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_reason, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_message, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_count, DUMP_UNORDERED, false, false},
    {DUMP_diagnostics_table_name, DUMP_UNORDERED, false, false},
};

static struct recording {
  struct dump_writer *writer;
  struct op_rows rows;
  struct process_counters counters;
  struct row_buffer diagnostics;
  char path[4352];
  uint64_t oldest_ms; /* when the oldest row waiting in rows.ops or rows.memory came; 0: none waits */
  uint64_t next_tick_ms;
  bool is_blocked; /* the disk did not take definitions: ops are given up until it does */
  bool has_complained, has_told_stacks;
  uint64_t rows_lost, memory_rows_lost; /* rows of ops and memory_events that the disk did not take */
  uint64_t dropped_told, memory_dropped_told;
} recording;

static pthread_t thread;
static _Atomic bool has_thread;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake, progress;
static uint64_t flush_wanted, flush_done;
static bool stop_wanted, is_stopped;
static const struct dump_profile *final_profile;

static _Atomic int forks_waiting, writer_is_busy;
enum hurry { HURRY_NOT, HURRY_LOOK, HURRY_WRITE };
static _Atomic int hurry;

static uint64_t now_ms(void) { return clock_monotonic_ns() / 1000000; }

const char *recording_path(void) { return recording.path; }

/* ---- Writing. */

static void complain(const struct tfprof_error *error) {
  if (recording.has_complained) return;
  recording.has_complained = true;
  char text[2200];
  error_text(error, text, sizeof text);
  session_say(
      "cannot write: %s; what was written before is kept, the program goes on, and recording goes on when this has "
      "passed",
      text);
}

/* Threads, devices, frames and traces come first: ops and events of memory refer to their rows. They are never given
** up, for their row numbers are already in use. */
static bool write_definitions(void) {
  struct tfprof_error error;
  struct op_rows *rows = &recording.rows;
  bool is_written = row_buffer_write(&rows->threads, recording.writer, &error) == TFPROF_OK &&
                    row_buffer_write(&rows->memory.devices, recording.writer, &error) == TFPROF_OK &&
                    row_buffer_write(&rows->stacks.frames, recording.writer, &error) == TFPROF_OK &&
                    row_buffer_write(&rows->stacks.traces, recording.writer, &error) == TFPROF_OK &&
                    row_buffer_write(&rows->modules.nodes, recording.writer, &error) == TFPROF_OK &&
                    row_buffer_write(&rows->modules.changes, recording.writer, &error) == TFPROF_OK;
  if (!is_written) complain(&error);
  recording.is_blocked = !is_written;
  return is_written;
}

static void diagnose(const char *severity, const char *reason, int64_t count, const char *table, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));

static void diagnose_interval(const struct sampling_event *event) {
  if (event->interval > 1)
    diagnose("info", "capture_interval", event->interval, "ops",
             "from step %lld on ops are recorded in one step of %u: a step takes %.2f ms, %.3f ms of it for what is "
             "always recorded, and %.2f ms more with ops",
             (long long)event->step, event->interval, event->step_ns * 1e-6, event->always_ns * 1e-6,
             event->cost_ns * 1e-6);
  else
    diagnose("info", "capture_interval", event->interval, "ops", "from step %lld on %s", (long long)event->step,
             event->interval ? "the ops of every step are recorded" : "ops are not recorded");
}

/* When ops began and ceased to be recorded: derive reads there which steps have all of theirs. */
static void add_sampling(void) {
  struct sampling_event event;
  while (sampling_take_event(&event)) {
    int64_t time_ns = clock_map_ns(&recording.rows.clock, event.ticks);
    process_counters_add(&recording.counters, recording.writer, time_ns, "capture_ops_recorded", "ratio", event.is_on);
    if (!event.is_new) continue;
    process_counters_add(&recording.counters, recording.writer, time_ns, "capture_ops_interval", "steps",
                         event.interval);
    diagnose_interval(&event);
  }
}

static void write_counters(void) {
  struct tfprof_error error;
  struct row_buffer *rows = &recording.counters.rows;
  if (row_buffer_write(rows, recording.writer, &error) == TFPROF_OK) return;
  complain(&error);
  rows->rows = 0;
}

/* What later rows rest on. */
static void write_before_ops(void) {
  if (recording.is_blocked) return;
  add_sampling();
  if (write_definitions() && recording.counters.rows.rows) write_counters();
}

static void write_rows(struct row_buffer *rows, uint64_t *lost) {
  struct tfprof_error error;
  if (!recording.is_blocked) {
    if (row_buffer_write(rows, recording.writer, &error) == TFPROF_OK) return;
    complain(&error);
  }
  *lost += rows->rows;
  rows->rows = 0;
}

static void write_everything(void) {
  recording.oldest_ms = 0;
  memory_rows_written(&recording.rows.memory);
  write_before_ops();
  write_rows(&recording.rows.ops, &recording.rows_lost);
  write_rows(&recording.rows.memory.events, &recording.memory_rows_lost);
}

/* What has a whole frame; the rest waits for more. */
static void write_what_is_full(void *context) {
  struct op_rows *rows = &recording.rows;
  (void)context;
  write_before_ops();
  if (rows->ops.rows >= DUMP_FRAME_ROWS) write_rows(&rows->ops, &recording.rows_lost);
  if (rows->memory.events.rows >= DUMP_FRAME_ROWS) write_rows(&rows->memory.events, &recording.memory_rows_lost);
  if (!rows->ops.rows && !rows->memory.events.rows) recording.oldest_ms = 0;
}

static void diagnose(const char *severity, const char *reason, int64_t count, const char *table, const char *format,
                     ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  struct row_buffer *rows = &recording.diagnostics;
  struct dump_writer *writer = recording.writer;
  uint32_t row = row_add(rows);
  if (row == UINT32_MAX) return;
  row_set(rows, row, DIAGNOSTIC_SEVERITY, dump_writer_string(writer, severity, strlen(severity)));
  row_set(rows, row, DIAGNOSTIC_REASON, dump_writer_string(writer, reason, strlen(reason)));
  row_set(rows, row, DIAGNOSTIC_MESSAGE, dump_writer_string(writer, message, strlen(message)));
  if (count) row_set(rows, row, DIAGNOSTIC_COUNT, count);
  if (table) row_set(rows, row, DIAGNOSTIC_TABLE, dump_writer_string(writer, table, strlen(table)));
}

static void diagnose_parts(void) {
  static const char *const reasons[] = {"capture_off", "capture_degraded", "capture_ok"};
  for (int part = 0; part < PART_COUNT; part++) {
    const struct session_part *state = &session_parts[part];
    char text[sizeof state->reason + 32];
    session_part_text(part, text, sizeof text);
    diagnose(state->state == PART_DEGRADED ? "warning" : "info", reasons[state->state], 0, NULL, "%s", text);
  }
}

static void diagnose_losses(void) {
  struct op_losses losses;
  op_rows_losses(&recording.rows, &losses);
  const struct {
    uint64_t count;
    const char *severity, *message, *table;
  } kinds[] = {
      {losses.no_room, "warning", "ops were lost because the writer thread could not keep up", "ops"},
      {losses.too_deep, "warning", "ops were lost because too many others were open on their thread", "ops"},
      {losses.no_thread, "warning", "ops were lost because too many threads ran ops at the same time", "ops"},
      {recording.rows_lost, "error", "ops were lost because the disk did not take them", "ops"},
      {losses.no_room_for_memory, "warning",
       "allocations and releases were lost because the writer thread could not keep up", "memory_events"},
      {losses.unknown_memory, "info", "releases have no row: what they release was not seen to be allocated",
       "memory_events"},
      {recording.memory_rows_lost, "error", "allocations and releases were lost because the disk did not take them",
       "memory_events"},
      {losses.cut, "info",
       "ops have no input shapes or only the inner part of their stack, which is too long to be kept", "ops"},
      {recording.rows.texts_refused, "info",
       "names or lists of input shapes were left out because there are too many different ones", "ops"},
      {dump_writer_strings_refused(recording.writer), "warning",
       "texts were left out, which read as NULL, because they are too long, too many, or memory was short", NULL},
      {losses.still_open, "info", "ops and ranges were still running when the recording ended: they have no row",
       "ops"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (kinds[i].count)
      diagnose(kinds[i].severity, "capture_dropped", (int64_t)kinds[i].count, kinds[i].table, "%s", kinds[i].message);
}

/* On a full disk it takes of the room for the last words, and is told only when the count has doubled. */
static void tell_dropped(uint16_t table, uint64_t dropped, bool is_full, uint64_t *told) {
  if (dropped == *told || (is_full && dropped / 2 < *told)) return;
  if (dump_writer_dropped(recording.writer, table, dropped, NULL) == TFPROF_OK) *told = dropped;
}

/* Statistics need some steps with ops after the warm-up. */
static void diagnose_sampling(void) {
  uint64_t steps, recorded;
  if (session_parts[PART_OPS].state == PART_OFF || !sampling_lacks_steps(&steps, &recorded)) return;
  diagnose("warning", "capture_degraded", (int64_t)recorded, "ops",
           "ops: degraded: of %llu steps only %llu after the warm-up were recorded with their ops",
           (unsigned long long)steps, (unsigned long long)recorded);
}

static void write_dropped(bool is_end) {
  struct op_losses losses;
  op_rows_losses(&recording.rows, &losses);
  tell_dropped(DUMP_TABLE_ops, losses.no_room + losses.too_deep + losses.no_thread + recording.rows_lost,
               recording.rows_lost && !is_end, &recording.dropped_told);
  tell_dropped(DUMP_TABLE_memory_events, losses.no_room_for_memory + recording.memory_rows_lost,
               recording.memory_rows_lost && !is_end, &recording.memory_dropped_told);
}

/* Each second. */
static void tick(void) {
  struct clock_reading reading;
  struct tfprof_error error;
  clock_read(&reading);
  clock_map_steer(&recording.rows.clock, &reading);
  if (recording.is_blocked) write_definitions();
  const struct dump_clock clock = {reading.monotonic_ns, reading.realtime_ns, 0, reading.uncertainty_ns};
  if (dump_writer_clock(recording.writer, &clock, &error) != TFPROF_OK) complain(&error);
  if (process_identity_has_changed()) {
    struct process_identity identity;
    process_identity_get(&identity);
    if (dump_writer_profile(recording.writer, &identity.profile, &error) != TFPROF_OK) complain(&error);
  }
  process_counters_measure(&recording.counters, recording.writer);
  add_sampling();
  write_counters();
  if (!sampling_note_bytes(dump_writer_bytes_written(recording.writer))) {
    memory_disarm();
    diagnose("warning", "capture_full", 0, "ops",
             "the file has reached --max-size: from here on only steps, ranges and counters are recorded");
  }
  if (recording.rows.stacks.is_full && !recording.has_told_stacks) {
    recording.has_told_stacks = true;
    diagnose("warning", "capture_stacks_full", 0, "code_traces",
             "there are more different stacks than are kept: of further ones only the innermost line is");
  }
  if (!recording.is_blocked) row_buffer_write(&recording.diagnostics, recording.writer, NULL);
  write_dropped(false);
  chunk_pool_trim();
}

static uint64_t drain(void) {
  module_rows_drain(&recording.rows.modules);
  uint64_t count = op_rows_drain(&recording.rows, DRAIN_LIMIT, write_what_is_full, NULL);
  module_discovery_tick();
  const struct op_rows *rows = &recording.rows;
  const struct module_rows *modules = &rows->modules;
  bool is_waiting = rows->ops.rows || modules->nodes.rows || modules->changes.rows || rows->memory.events.rows;
  if (is_waiting && !recording.oldest_ms) recording.oldest_ms = now_ms();
  return count;
}

static void drain_everything(void) {
  while (drain() >= DRAIN_LIMIT) continue;
  write_everything();
}

/* ---- The thread. */

/* Structures are touched only between these two: a fork in between would give the child half of them. */
static void become_busy(void) {
  for (;;) {
    atomic_store(&writer_is_busy, 1);
    if (!atomic_load(&forks_waiting)) return;
    atomic_store(&writer_is_busy, 0);
    usleep(200);
  }
}
static void become_idle(void) { atomic_store(&writer_is_busy, 0); }

/* Sleeps until there may be work; true: everything has to be written now. */
static bool wait_for_work(int milliseconds, uint64_t *flush, bool *stop) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += milliseconds * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&guard);
  while (!stop_wanted && flush_wanted == flush_done && !atomic_load(&hurry))
    if (pthread_cond_timedwait(&wake, &guard, &until)) break;
  *flush = flush_wanted;
  *stop = stop_wanted;
  bool is_wanted = atomic_exchange(&hurry, HURRY_NOT) == HURRY_WRITE || stop_wanted || flush_wanted != flush_done;
  pthread_mutex_unlock(&guard);
  return is_wanted;
}

static void close_file(void) {
  struct tfprof_error error;
  /* Twice: ops that ended on another thread than the one that began them wait for the second. */
  for (int i = 0; i < 2; i++) drain_everything();
  op_rows_finish(&recording.rows, write_what_is_full, NULL);
  drain_everything();
  tick();
  dump_writer_keep_room(recording.writer, 0);
  write_dropped(true);
  diagnose_losses();
  diagnose_sampling();
  row_buffer_write(&recording.diagnostics, recording.writer, NULL);
  if (final_profile) dump_writer_profile(recording.writer, final_profile, NULL);
  if (dump_writer_close(recording.writer, &error) != TFPROF_OK) complain(&error);
  recording.writer = NULL;
}

static void release_recording(void) {
  op_rows_end(&recording.rows);
  process_counters_end(&recording.counters);
  row_buffer_end(&recording.diagnostics);
}

static void *write_recording(void *argument) {
  (void)argument;
  prctl(PR_SET_NAME, "tfprof-writer");
  become_busy();
  tick();
  diagnose_parts();
  row_buffer_write(&recording.diagnostics, recording.writer, NULL);
  dump_writer_keep_room(recording.writer, LAST_WORDS_BYTES);
  become_idle();
  recording.next_tick_ms = now_ms() + TICK_MS;
  int wait_ms = BUSY_WAIT_MS;
  for (bool stop = false; !stop;) {
    uint64_t flush, count = 0;
    bool is_wanted = wait_for_work(wait_ms, &flush, &stop);
    become_busy();
    if (stop) {
      close_file();
    } else if (is_wanted) {
      for (int i = 0; i < 2; i++) drain_everything();
    } else {
      count = drain();
      uint64_t now = now_ms();
      bool is_old = recording.oldest_ms && now - recording.oldest_ms >= FRAME_AGE_MS;
      if (is_old || memory_rows_have_grown(&recording.rows.memory)) write_everything();
      if (now >= recording.next_tick_ms) {
        tick();
        recording.next_tick_ms = now + TICK_MS;
      }
    }
    become_idle();
    wait_ms = count || recording.oldest_ms ? BUSY_WAIT_MS : wait_ms * 2 < IDLE_WAIT_MS ? wait_ms * 2 : IDLE_WAIT_MS;
    pthread_mutex_lock(&guard);
    if (is_wanted) flush_done = flush;
    is_stopped = stop;
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&guard);
  }
  return NULL;
}

static bool start_thread(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&wake, &attributes);
  pthread_cond_init(&progress, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&guard, NULL);
  flush_wanted = flush_done = 0;
  stop_wanted = is_stopped = false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all,
                  &before); /* the new thread inherits the mask: the program's signals are for the program's threads */
  bool is_started = pthread_create(&thread, NULL, write_recording, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  has_thread = is_started;
  return is_started;
}

enum tfprof_status recording_begin(const char *directory, const struct dump_profile *profile,
                                   struct tfprof_error *error) {
  memset(&recording, 0, sizeof recording);
  char host[128];
  snprintf(host, sizeof host, "%s", profile->host && profile->host[0] ? profile->host : "localhost");
  for (char *letter = host; *letter; letter++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *letter)) *letter = '_';
  enum tfprof_status status = TFPROF_IO;
  for (int attempt = 1; attempt <= 1000; attempt++) {
    char suffix[16] = "";
    if (attempt > 1) snprintf(suffix, sizeof suffix, "-%d", attempt);
    snprintf(recording.path, sizeof recording.path, "%s/%s-%u%s.tfprof", directory, host, profile->pid, suffix);
    struct stat there;
    if (!lstat(recording.path, &there)) continue;
    status = dump_writer_create(recording.path, false, profile, &recording.writer, error);
    if (status == TFPROF_OK || lstat(recording.path, &there)) break;
  }
  if (status != TFPROF_OK) return status;
  bool is_ready =
      op_rows_begin(&recording.rows, recording.writer) && process_counters_begin(&recording.counters) &&
      row_buffer_begin(&recording.diagnostics, DUMP_TABLE_diagnostics, diagnostic_columns, DIAGNOSTIC_COLUMNS, 64);
  if (is_ready && start_thread()) return TFPROF_OK;
  release_recording();
  dump_writer_close(recording.writer, NULL);
  recording.writer = NULL;
  return is_ready ? error_set(error, TFPROF_IO, "the writer thread cannot be started: %s", strerror(errno))
                  : error_no_memory(error);
}

/* ---- From other threads. */

static void deadline(struct timespec *until, int milliseconds) {
  clock_gettime(CLOCK_MONOTONIC, until);
  until->tv_sec += milliseconds / 1000;
  until->tv_nsec += milliseconds % 1000 * 1000000L;
  until->tv_sec += until->tv_nsec / 1000000000;
  until->tv_nsec %= 1000000000;
}

void recording_flush(int timeout_ms) {
  if (!has_thread) return;
  struct timespec until;
  deadline(&until, timeout_ms);
  pthread_mutex_lock(&guard);
  uint64_t mine = ++flush_wanted;
  pthread_cond_signal(&wake);
  while (flush_done < mine && !is_stopped)
    if (pthread_cond_timedwait(&progress, &guard, &until)) break;
  pthread_mutex_unlock(&guard);
}

/* Without the lock: the allocator that calls may be anybody's. A signal that comes between the writer's look and its
** sleep is missed, and it sleeps as long as it would have. */
static void wake_up(enum hurry how) {
  if (!has_thread) return;
  int now = atomic_load(&hurry);
  while (now < (int)how && !atomic_compare_exchange_weak(&hurry, &now, how)) continue;
  pthread_cond_signal(&wake);
}
void recording_hurry(void) { wake_up(HURRY_WRITE); }
void recording_look(void) { wake_up(HURRY_LOOK); }

void recording_finish(const struct dump_profile *profile, int timeout_ms) {
  if (!has_thread) return;
  struct timespec until;
  deadline(&until, timeout_ms);
  pthread_mutex_lock(&guard);
  final_profile = profile;
  stop_wanted = true;
  pthread_cond_signal(&wake);
  while (!is_stopped)
    if (pthread_cond_timedwait(&progress, &guard, &until)) break;
  bool is_done = is_stopped;
  pthread_mutex_unlock(&guard);
  has_thread = false;
  if (!is_done) {
    session_say(
        "the last data could not be written within %d s: %s has no proper end, all but the last second is there",
        timeout_ms / 1000, recording.path);
    return;
  }
  pthread_join(thread, NULL);
  release_recording();
}

void recording_before_fork(void) {
  atomic_fetch_add(&forks_waiting, 1);
  for (int waited = 0; atomic_load(&writer_is_busy) && waited < FORK_WAIT_US; waited += 100) usleep(100);
}

void recording_after_fork_in_parent(void) { atomic_fetch_sub(&forks_waiting, 1); }

/* The child has no writer thread, and the file is the parent's. If the thread was caught in the middle of something
** after all, what it held stays allocated in the child: untouched memory costs nothing. */
void recording_after_fork_in_child(bool is_whole, struct live_memory *live) {
  if (is_whole && recording.writer && !atomic_load(&writer_is_busy)) {
    *live = recording.rows.memory.live;
    recording.rows.memory.live = (struct live_memory){0};
    dump_writer_abandon(recording.writer);
    release_recording();
  }
  memset(&recording, 0, sizeof recording);
  has_thread = false;
  atomic_store(&hurry, HURRY_NOT);
  atomic_store(&forks_waiting, 0);
  atomic_store(&writer_is_busy, 0);
}
