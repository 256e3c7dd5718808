/* recording.c: the dump file and its writer thread (see recording.h). */
#include "recording.h"

#include "dump/directory.h"
#include "governor/byte_budget.h"
#include "governor/sampling.h"
#include "governor/writer_costs.h"
#include "host/host_processors.h"
#include "host/process_counters.h"
#include "host/process_identity.h"
#include "python/python_samples.h"
#include "python/typed_sources.h"
#include "recorder/diagnostic_rows.h"
#include "recorder/doorbell.h"
#include "recorder/parts.h"
#include "recorder/row_tables.h"
#include "torch/known_modules.h"
#include "torch/module_discovery.h"
#include "torch/op_rows.h"

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
  OPS_SLOT_MS = 30,  /* it wakes once in so long a time (pulse.h) while ops are recorded, or much is; */
  BUSY_SLOT_MS = 40, /* while something is, such as allocations; */
  IDLE_SLOT_MS = 80, /* and while nothing is */
  MANY_ROWS = 10000, /* in a slot */
  FRAME_AGE_MS = 400, /* with the wait and the write itself, an op is in the file half a second after its end */
  TICK_MS = 1000,
  DRAIN_LIMIT = 200000,
  FORK_WAIT_US = 20000,
  LAST_WORDS_BYTES = 16384, /* what was lost, the reasons for it, the end: they find room on a full disk, too */
};

static struct recording {
  struct dump_writer *writer;
  struct op_rows rows;
  struct process_counters counters;
  struct python_samples samples;
  struct row_buffer diagnostics;
  char path[4352];
  uint64_t oldest_ms; /* when the oldest row waiting in rows.ops or rows.memory came; 0: none waits */
  uint64_t next_tick_ms, began_ms;
  struct byte_budget budget;
  struct row_tables tables;
  bool has_complained, has_told_stacks;
  struct host_processors host;
  struct writer_costs costs;
  struct writer_use use;   /* since they were noted, */
  double noted_used_ns;    /* when this thread had used so much processor time, */
  uint64_t noted_ns;       /* and it was then; 0: not yet */
  uint64_t ops_written;    /* op_rows.op_count when ops were last written */
} recording;

static pthread_t thread;
static _Atomic bool has_thread;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress;
static uint64_t flush_wanted, flush_done;
static bool stop_wanted, is_stopped;
static struct process_identity final_identity; /* a copy: the writer comes to it after a timeout, too */
static bool has_final_identity;

static _Atomic int forks_waiting, writer_is_busy;

static uint64_t now_ms(void) { return clock_monotonic_ns() / 1000000; }

const char *recording_path(void) { return recording.path; }

/* ---- Writing. */

static void complain(const struct tfprof_error *error) {
  if (recording.has_complained) return;
  recording.has_complained = true;
  char text[2200];
  error_text(error, text, sizeof text);
  capture_say(
      "cannot write: %s; what was written before is kept, the program goes on, and recording goes on when this has "
      "passed",
      text);
}

static bool write_definitions(void) {
  struct tfprof_error error;
  stack_rows_complete(&recording.rows.stacks, recording.writer);
  bool is_written = row_tables_define(&recording.tables, &error);
  if (!is_written) complain(&error);
  return is_written;
}

static void write_rows(enum row_table table) {
  struct tfprof_error error;
  if (!row_tables_write(&recording.tables, table, &error)) complain(&error);
}

#define diagnose(...) diagnostic_rows_add(&recording.diagnostics, recording.writer, __VA_ARGS__)

static void diagnose_interval(const struct sampling_event *event) {
  if (event->interval > 1)
    diagnose("info", "capture_interval", event->interval, "ops",
             "from step %lld on ops are recorded in one step of %u (level %d%s): a step takes %.2f ms, %.3f ms of it "
             "for what is always recorded, and %.2f ms more with ops",
             (long long)event->step, event->interval, __builtin_ctz(event->interval),
             event->is_others ? ", as another rank needs" : "", event->step_ns * 1e-6, event->always_ns * 1e-6,
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
    if (event.op_ns > 0)
      process_counters_add(&recording.counters, recording.writer, time_ns, "capture_op_cost", "ns", event.op_ns);
    if (!event.is_new) continue;
    memory_rows_speak(&recording.rows.memory, event.interval != 0, time_ns);
    process_counters_add(&recording.counters, recording.writer, time_ns, "capture_ops_interval", "steps",
                         event.interval);
    diagnose_interval(&event);
  }
}

/* What later rows rest on. */
static void write_before_ops(void) {
  if (recording.tables.is_blocked) return;
  add_sampling();
  if (write_definitions()) write_rows(ROWS_OF_COUNTERS);
}

/* Processor time of the calling thread. */
static double used_ns(void) {
  struct timespec used;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) ? 0 : (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

/* What was done since then was for that many ops, among rows of all kinds. */
static void note_use(double begin_ns, uint64_t ops, uint64_t rows) {
  recording.use.ops_used_ns += (used_ns() - begin_ns) * (double)ops / (double)rows;
}

static void write_everything(void) {
  double begin_ns = used_ns();
  uint32_t rows = recording.rows.ops.rows;
  recording.oldest_ms = 0;
  memory_rows_written(&recording.rows.memory);
  write_before_ops();
  write_rows(ROWS_OF_OPS);
  if (rows) note_use(begin_ns, recording.rows.op_count - recording.ops_written, rows);
  recording.ops_written = recording.rows.op_count;
  for (int table = ROWS_OF_OPS + 1; table < ROW_TABLES; table++) write_rows((enum row_table)table);
}

/* What has a whole frame; the rest waits for more. */
static void write_what_is_full(void *context) {
  struct op_rows *rows = &recording.rows;
  (void)context;
  write_before_ops();
  if (rows->ops.rows >= DUMP_FRAME_ROWS) {
    write_rows(ROWS_OF_OPS);
    recording.ops_written = rows->op_count;
  }
  if (rows->memory.events.rows >= DUMP_FRAME_ROWS) write_rows(ROWS_OF_MEMORY);
  if (rows->calls.rows.rows >= DUMP_FRAME_ROWS) write_rows(ROWS_OF_CALLS);
  if (!rows->ops.rows && !rows->memory.events.rows) recording.oldest_ms = 0;
}

static void diagnose_parts(void) {
  static const char *const reasons[] = {"capture_off", "capture_degraded", "capture_ok"};
  for (int part = 0; part < PART_COUNT; part++) {
    const struct capture_part *state = &capture_parts[part];
    char text[sizeof state->reason + 32];
    part_text(part, text, sizeof text);
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
      {losses.no_room_for_memory, "warning",
       "allocations and releases were lost because the writer thread could not keep up", "memory_events"},
      {recording.rows.memory.summed, "info",
       "pieces of memory have no row of their own: they are summed up in memory_totals", "allocations"},
      {losses.unknown_memory, "info", "releases have no row: what they release was not seen to be allocated",
       "memory_events"},
      {recording.rows.calls.no_room, "info",
       "calls of modules have no row because those around them were not seen or memory was short", "module_calls"},
      {losses.cut, "info",
       "ops have no input shapes or only the inner part of their stack, which is too long to be kept", "ops"},
      {recording.rows.texts_refused, "info",
       "names or lists of input shapes were left out because there are too many different ones", "ops"},
      {dump_writer_strings_refused(recording.writer), "warning",
       "texts were left out, which read as NULL, because they are too long, too many, or memory was short", NULL},
      {known_models_refused() + module_discovery_lost(), "warning",
       "models have no names because the program makes ever other ones, faster than they can be looked at", "nodes"},
      {module_queue_refused(), "error", "modules and parameters were lost because the disk did not take those before",
       "nodes"},
      {losses.still_open, "info", "ops and ranges were still running when the recording ended: they have no row",
       "ops"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (kinds[i].count)
      diagnose(kinds[i].severity, "capture_dropped", (int64_t)kinds[i].count, kinds[i].table, "%s", kinds[i].message);
  for (enum row_table table = 0; table < ROW_TABLES; table++)
    if (recording.tables.lost[table])
      diagnose("error", "capture_dropped", (int64_t)recording.tables.lost[table], row_table_name(table),
               "%s were lost because the disk did not take them", row_table_contents(table));
}

static void diagnose_sampling(void) { /* statistics need some steps with ops after the warm-up */
  uint64_t steps, recorded;
  if (capture_parts[PART_OPS].state == PART_OFF || !sampling_lacks_steps(&steps, &recorded)) return;
  diagnose("warning", "capture_degraded", (int64_t)recorded, "ops",
           "ops: degraded: of %llu steps only %llu after the warm-up were recorded with their ops",
           (unsigned long long)steps, (unsigned long long)recorded);
}

static void write_dropped(bool is_end) {
  struct op_losses losses;
  op_rows_losses(&recording.rows, &losses);
  const uint64_t others[ROW_TABLES] = {
      [ROWS_OF_OPS] = losses.no_room + losses.too_deep + losses.no_thread,
      [ROWS_OF_MEMORY] = losses.no_room_for_memory,
      [ROWS_OF_NODES] = module_queue_refused(),
      [ROWS_OF_CALLS] = recording.rows.calls.no_room,
  };
  row_tables_tell(&recording.tables, others, is_end);
}

static void thin_memory(const char *reason, const char *why) {
  if (recording.rows.memory.is_thinned) return;
  memory_rows_thin(&recording.rows.memory);
  diagnose("info", reason, 0, "memory_events",
           "%s: from here on allocations and releases have rows where ops are recorded, where memory is held for "
           "longer, and where most is in use; the others are summed up in memory_totals", why);
}

/* What this thread takes from the program. */
static void keep_to_overhead(uint64_t now_ns) {
  struct writer_use *use = &recording.use;
  double used = used_ns();
  host_processors_read(&recording.host, now_ns);
  use->passed_ns = recording.noted_ns ? (double)(now_ns - recording.noted_ns) : 0;
  use->used_ns = used - recording.noted_used_ns;
  use->idle_processors = recording.host.idle;
  bool is_too_much = writer_costs_note(&recording.costs, use);
  sampling_note_writer(recording.costs.always, recording.costs.op_ns);
  if (is_too_much && recording.budget.hour > 0)
    thin_memory("capture_thinned", "no processor is free for the recorder's thread, which takes more than a quarter of "
                                   "what --overhead allows for what it always records");
  *use = (struct writer_use){0};
  recording.noted_used_ns = used;
  recording.noted_ns = now_ns;
}

/* How fast the file grows. */
static void keep_to_budget(void) {
  struct byte_budget *budget = &recording.budget;
  unsigned levels = budget->levels;
  double seconds = (double)(now_ms() - recording.began_ms) / 1000;
  if (!byte_budget_note(budget, seconds, dump_writer_bytes_written(recording.writer))) return;
  char why[96];
  snprintf(why, sizeof why, "the file grows faster than --max-rate, %.1f MB an hour", budget->hour / 1e6);
  thin_memory("capture_thinned", why);
  if (budget->levels == levels) return;
  sampling_note_rate(budget->levels);
  diagnose("info", "capture_thinned", budget->levels, "ops",
           "%s: ops are recorded in one step of %u of those that --overhead allows", why, 1u << budget->levels);
}

/* The file is as large as it may be. */
static void keep_to_size(void) {
  if (sampling_note_bytes(dump_writer_bytes_written(recording.writer))) return;
  diagnose("warning", "capture_full", 0, "ops",
           "the file has reached --max-size: from here on only steps, ranges, counters, and of memory what is live, "
           "peaks and sums are recorded");
  thin_memory("capture_thinned", "the file has reached --max-size");
}

/* Each second. */
static void tick(bool is_end) {
  struct clock_reading reading;
  struct tfprof_error error;
  clock_read(&reading);
  clock_map_steer(&recording.rows.clock, &reading);
  if (recording.tables.is_blocked) write_definitions();
  const struct dump_clock clock = {reading.monotonic_ns, reading.realtime_ns, 0, reading.uncertainty_ns};
  if (dump_writer_clock(recording.writer, &clock, &error) != TFPROF_OK) complain(&error);
  struct dump_profile news;
  if (process_identity_take_rank(&news) && dump_writer_profile(recording.writer, &news, &error) != TFPROF_OK)
    complain(&error);
  keep_to_overhead(clock_monotonic_ns());
  process_counters_measure(&recording.counters, &recording.host, recording.writer);
  add_sampling();
  write_rows(ROWS_OF_COUNTERS);
  keep_to_budget();
  keep_to_size();
  memory_rows_tick(&recording.rows.memory, reading.monotonic_ns, byte_budget_patience(&recording.budget), is_end);
  if (is_end) write_everything();
  if (recording.rows.stacks.is_full && !recording.has_told_stacks) {
    recording.has_told_stacks = true;
    diagnose("warning", "capture_stacks_full", 0, "code_traces",
             "there are more different stacks than are kept: of further ones only the innermost line is");
  }
  if (!recording.tables.is_blocked) row_buffer_write(&recording.diagnostics, recording.writer, NULL);
  write_dropped(false);
  chunk_pool_trim();
}

static uint64_t drain(void) {
  module_rows_drain(&recording.rows.modules);
  double begin_ns = used_ns();
  uint64_t before = recording.rows.op_count;
  uint64_t count = op_rows_drain(&recording.rows, DRAIN_LIMIT, write_what_is_full, NULL);
  uint64_t ops = recording.rows.op_count - before;
  recording.use.ops += ops;
  if (ops) note_use(begin_ns, ops, count > ops ? count : ops);
  module_discovery_tick();
  typed_sources_tick();
  if (row_tables_wait(&recording.tables) && !recording.oldest_ms) recording.oldest_ms = now_ms();
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

enum wake { WAKE_AT_PULSE, WAKE_TO_LOOK, WAKE_TO_WRITE };

/* Sleeps until there may be work; WAKE_TO_WRITE: everything has to be written now. */
static enum wake wait_for_work(uint64_t until_ns, uint64_t *flush, bool *stop) {
  const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
  enum wake wake = WAKE_TO_LOOK;
  pthread_mutex_lock(&guard);
  while (!stop_wanted && flush_wanted == flush_done && !doorbell_has_rung() && wake == WAKE_TO_LOOK)
    if (!doorbell_wait(&guard, &until)) wake = WAKE_AT_PULSE;
  *flush = flush_wanted;
  *stop = stop_wanted;
  if (doorbell_take() || stop_wanted || flush_wanted != flush_done) wake = WAKE_TO_WRITE;
  pthread_mutex_unlock(&guard);
  return wake;
}

static void close_file(void) {
  struct tfprof_error error;
  /* Twice: ops that ended on another thread than the one that began them wait for the second. */
  for (int i = 0; i < 2; i++) drain_everything();
  op_rows_finish(&recording.rows, write_what_is_full, NULL);
  drain_everything();
  tick(true);
  row_tables_finish(&recording.tables);
  dump_writer_keep_room(recording.writer, 0);
  write_dropped(true);
  diagnose_losses();
  diagnose_sampling();
  row_buffer_write(&recording.diagnostics, recording.writer, NULL);
  if (has_final_identity) dump_writer_profile(recording.writer, &final_identity.profile, NULL);
  if (dump_writer_close(recording.writer, &error) != TFPROF_OK) complain(&error);
  recording.writer = NULL;
}

static void release_recording(void) {
  op_rows_end(&recording.rows);
  process_counters_end(&recording.counters);
  python_samples_end(&recording.samples);
  row_buffer_end(&recording.diagnostics);
}

static void name_tables(void) {
  struct op_rows *rows = &recording.rows;
  struct row_buffer *const by_table[ROW_TABLES] = {/* enum row_table */
      &rows->threads.rows, &rows->memory.devices, &rows->stacks.frames, &rows->stacks.traces,
      &rows->modules.nodes, &rows->modules.changes, &recording.counters.rows, &rows->ops,
      &rows->memory.events, &recording.samples.rows, &rows->calls.rows, &rows->memory.totals};
  recording.tables.writer = recording.writer;
  memcpy(recording.tables.buffers, by_table, sizeof by_table);
}

static void look_at_python(const struct pulse *pulse) {
  double begin_ns = used_ns();
  struct op_rows *rows = &recording.rows;
  const struct sample_rows of_samples = {recording.writer, &rows->stacks, &rows->threads};
  if (python_samples_take(&recording.samples, &of_samples, pulse)) note_use(begin_ns, 1, 1);
}

static void *write_recording(void *argument) {
  (void)argument;
  prctl(PR_SET_NAME, "tfprof-writer");
  clock_map_start(&recording.rows.clock);
  become_busy();
  tick(false);
  diagnose_parts();
  row_buffer_write(&recording.diagnostics, recording.writer, NULL);
  dump_writer_keep_room(recording.writer, LAST_WORDS_BYTES);
  become_idle();
  recording.next_tick_ms = now_ms() + TICK_MS;
  uint64_t slot_ms = OPS_SLOT_MS;
  for (bool stop = false; !stop;) {
    uint64_t flush, count = 0;
    const struct pulse pulse = pulse_after(clock_monotonic_ns(), slot_ms * 1000000);
    enum wake wake = wait_for_work(pulse.at_ns, &flush, &stop);
    become_busy();
    if (stop) {
      close_file();
    } else if (wake == WAKE_TO_WRITE) {
      for (int i = 0; i < 2; i++) drain_everything();
    } else {
      if (wake == WAKE_AT_PULSE) look_at_python(&pulse);
      count = drain();
      uint64_t now = now_ms();
      bool is_old = recording.oldest_ms && now - recording.oldest_ms >= FRAME_AGE_MS &&
                    !stack_rows_are_awaited(&recording.rows.stacks);
      bool has_grown = memory_rows_have_grown(&recording.rows.memory);
      if (has_grown) memory_rows_settle(&recording.rows.memory);
      if (is_old || has_grown) write_everything();
      if (now >= recording.next_tick_ms) {
        tick(false);
        recording.next_tick_ms = now + TICK_MS;
      }
    }
    become_idle();
    slot_ms = gate_wants_full() || count >= MANY_ROWS ? OPS_SLOT_MS
              : count || recording.oldest_ms         ? BUSY_SLOT_MS
                                                     : IDLE_SLOT_MS;
    pthread_mutex_lock(&guard);
    if (wake == WAKE_TO_WRITE) flush_done = flush;
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
  pthread_cond_init(&progress, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&guard, NULL);
  doorbell_begin();
  flush_wanted = flush_done = 0;
  stop_wanted = is_stopped = false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all,
                  &before); /* the new thread inherits the mask: the program's signals are for the program's threads */
  bool is_started = pthread_create(&thread, NULL, write_recording, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  has_thread = is_started;
  if (!is_started) doorbell_end();
  return is_started;
}

enum tfprof_status recording_begin(const char *directory, const struct dump_profile *profile, uint64_t bytes_an_hour,
                                   double overhead, struct tfprof_error *error) {
  memset(&recording, 0, sizeof recording);
  recording.began_ms = now_ms();
  byte_budget_begin(&recording.budget, bytes_an_hour);
  writer_costs_begin(&recording.costs, overhead);
  host_processors_begin(&recording.host, "");
  char host[128];
  snprintf(host, sizeof host, "%s", profile->host && profile->host[0] ? profile->host : "localhost");
  for (char *letter = host; *letter; letter++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *letter)) *letter = '_';
  enum tfprof_status status = dump_directory_open(directory, NULL, error);
  if (status) return status;
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
      python_samples_begin(&recording.samples) &&
      diagnostic_rows_begin(&recording.diagnostics);
  name_tables();
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
  doorbell_ring_with_guard();
  while (flush_done < mine && !is_stopped)
    if (pthread_cond_timedwait(&progress, &guard, &until)) break;
  pthread_mutex_unlock(&guard);
}

void recording_finish(const struct process_identity *identity, int timeout_ms) {
  if (!has_thread) return;
  struct timespec until;
  deadline(&until, timeout_ms);
  pthread_mutex_lock(&guard);
  has_final_identity = identity != NULL;
  if (identity) {
    final_identity = *identity;
    final_identity.profile.host = final_identity.host;
  }
  stop_wanted = true;
  doorbell_ring_with_guard();
  while (!is_stopped)
    if (pthread_cond_timedwait(&progress, &guard, &until)) break;
  bool is_done = is_stopped;
  pthread_mutex_unlock(&guard);
  has_thread = false;
  doorbell_end();
  if (!is_done) {
    capture_say(
        "the last data could not be written within %d s: %s has no proper end, all but the last second is there",
        timeout_ms / 1000, recording.path);
    pthread_detach(thread);
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
    struct live_memory *of_parent = &recording.rows.memory.pools[POOL_CPU].live;
    *live = *of_parent;
    *of_parent = (struct live_memory){0};
    dump_writer_abandon(recording.writer);
    release_recording();
  }
  memset(&recording, 0, sizeof recording);
  has_thread = false;
  doorbell_end();
  atomic_store(&forks_waiting, 0);
  atomic_store(&writer_is_busy, 0);
}
