/* recording.c: the dump file and its writer thread (see recording.h). */
#include "recording.h"

#include "clock_watch.h"
#include "doorbell.h"
#include "dump/directory.h"
#include "fatal_signals.h"
#include "file_threads.h"
#include "frame_ring.h"
#include "last_call.h"
#include "moments.h"
#include "own_threads.h"
#include "parts.h"
#include "pulse.h"
#include "recorder.h"
#include "small_file.h"
#include "trigger_files.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  FULL_SLOT_MS = 30, /* it wakes once in so long a time (pulse.h) while all detail is recorded, or much is; */
  BUSY_SLOT_MS = 40, /* while something is; */
  IDLE_SLOT_MS = 80, /* and while nothing is */
  MANY_ROWS = 10000, /* in a slot */
  FRAME_AGE_MS = 400, /* with the wait and the write itself, what happens is in the file half a second later */
  TICK_MS = 1000,
  DRAIN_LIMIT = 200000,
  FORK_WAIT_US = 20000,
  BEGIN_MS = 3000, /* that the program waits for a new file, on its own thread */
  STALL_MS = 1000, /* a writer thread that has done nothing for so long may wait for a disk that does not answer: */
  POLL_MS = 100,   /* it is looked at so often, */
  POLLS = 2,       /* and must be asleep so often, for the process may have been stopped */
  LAST_WORDS_BYTES = 16384, /* what was lost, the reasons for it, the end: they find room on a full disk, too */
};

static struct recorder recorder; /* of the writer thread, once there is one */
static char path[4352];
static struct recording_keep keep;
static struct frame_ring ring; /* where keep.ns is not 0 */
static bool is_cut_told;
static uint64_t oldest_ms; /* when the oldest row that waits came; 0: none does */
static uint64_t next_tick_ms;
static uint64_t parts_told; /* a bit for each source, by its place */
static const struct capture_source *const *_Atomic parts_wanted; /* of sources up to NULL; NULL: of none */

static pthread_t thread;
static _Atomic bool has_thread;
static _Atomic long thread_number; /* as the system has it */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress;
static uint64_t flush_wanted, flush_done;
static bool stop_wanted, is_stopped;
static bool rest_wanted, is_resting; /* the thread is to end, or has ended, with the file open */
static struct dump_profile final_profile; /* a copy: the writer comes to it after a timeout, too */
static char final_host[128];
static bool has_final_profile;

static _Atomic int forks_waiting, writer_is_busy;
static _Atomic uint64_t moved_ns; /* when the writer thread did something last; row_buffer_written_ns says more */
static _Atomic uint64_t given_up_ns; /* the same when nobody waited for it any longer */

static uint64_t now_ms(void) { return clock_monotonic_ns() / 1000000; }

static void note_move(void) { atomic_store_explicit(&moved_ns, moment_now_ns(), memory_order_relaxed); }

const char *recording_path(void) { return path; }

/* ---- What is done when. */

void recording_keep(const struct recording_keep *wanted) { keep = *wanted; }

int64_t recording_held_ns(void) { return keep.ns ? (int64_t)(keep.ns + keep.after_ns) : 0; }

static void write_everything(void) {
  oldest_ms = 0;
  recorder.is_urgent = false;
  recorder_write(&recorder);
}

static void diagnose_part(const struct capture_part *part) {
  static const char *const reasons[] = {"capture_off", "capture_degraded", "capture_ok"};
  char text[PART_TEXT_MAXIMUM];
  part_text(part, text, sizeof text);
  recorder_diagnose(&recorder, part->state == PART_DEGRADED ? "warning" : "info", reasons[part->state], 0, NULL, "%s",
                    text);
}

static void diagnose_parts_of(const struct capture_source *source) {
  unsigned place = 0;
  while (recorder.sources[place] != source) place++;
  assert(place < 64);
  if (parts_told >> place & 1) return;
  parts_told |= 1ull << place;
  for (unsigned i = 0; source->parts && source->parts[i]; i++) diagnose_part(source->parts[i]);
}

static void diagnose_parts(void) {
  const struct capture_source *const *wanted = atomic_exchange(&parts_wanted, NULL);
  if (!wanted) return;
  for EACH_SOURCE(source, wanted) diagnose_parts_of(source);
  row_buffer_write(&recorder.diagnostics, recorder.writer, NULL);
}

static void write_clock(const struct clock_reading *reading) {
  struct tfprof_error error;
  const struct dump_clock clock = {reading->monotonic_ns, reading->realtime_ns, 0, reading->uncertainty_ns};
  if (dump_writer_clock(recorder.writer, &clock, &error) != TFPROF_OK) recorder_complain(&recorder, &error);
}

/* Each second. */
static void tick(bool is_end) {
  struct clock_reading reading;
  clock_watch_tick(&recorder);
  clock_read(&reading);
  clock_map_steer(&recorder.clock, &reading);
  write_clock(&reading);
  for EACH_SOURCE(source, recorder.sources)
    if (source->tick) source->tick(&recorder, &reading, is_end);
  recorder_write_context(&recorder);
  if (is_end) write_everything();
  if (!recorder.tables.is_blocked) row_buffer_write(&recorder.diagnostics, recorder.writer, NULL);
  recorder_tell_losses(&recorder, false);
}

/* ---- What is kept. */

static void tell_kept(void) {
  uint64_t unwritten = triggers_take_unwritten(), unasked = triggers_take_unasked();
  if (unwritten)
    recorder_diagnose(&recorder, "info", "capture_not_written", (int64_t)unwritten, "triggers",
                      "so often the last seconds could have been written and were not, since they had been shortly "
                      "before, here or for another process of the run, or %d times in all", WRITTEN_MAXIMUM);
  if (unasked)
    recorder_diagnose(&recorder, "info", "capture_not_asked", (int64_t)unasked, "triggers",
                      "so often another process of the run could not be asked for its last seconds");
  if (is_cut_told || !ring.is_cut) return;
  is_cut_told = true;
  recorder_diagnose(&recorder, "warning", "capture_kept_less", 0, NULL,
                    "less than the %.1f s of --keep are kept: %s", (double)keep.ns * 1e-9,
                    ring.is_short_of_memory ? "the system has no more memory for it (/dev/shm)"
                                            : "more came than --keep-size allows");
}

/* From here on what was before may be let go: all that waits is written before. */
static void begin_slot(void) {
  struct clock_reading reading;
  write_everything();
  clock_read(&reading);
  if (!frame_ring_begin_slot(&ring, (int64_t)clock_monotonic_ns())) return;
  write_clock(&reading);
  for EACH_SOURCE(source, recorder.sources)
    if (source->restate) source->restate(&recorder);
  recorder_write_context(&recorder);
  tell_kept();
  row_buffer_write(&recorder.diagnostics, recorder.writer, NULL);
}

static uint64_t drain(void) {
  note_move();
  double begin_ns = clock_thread_ns();
  uint64_t full_rows = recorder.full_rows, device_records = recorder.device_records, count = 0, of_devices;
  for EACH_SOURCE(source, recorder.sources)
    if (source->drain) count += source->drain(&recorder, DRAIN_LIMIT);
  full_rows = recorder.full_rows - full_rows;
  recorder_note_use(&recorder, begin_ns, full_rows, recorder.device_records - device_records, count);
  if (!row_tables_waiting(&recorder.tables, &of_devices)) oldest_ms = 0;
  else if (!oldest_ms) oldest_ms = now_ms();
  return count;
}

static void drain_everything(void) {
  while (drain() >= DRAIN_LIMIT) continue;
  write_everything();
  if (keep.ns) tell_kept();
  if (!recorder.tables.is_blocked) row_buffer_write(&recorder.diagnostics, recorder.writer, NULL);
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

void recording_let_fork(void) {
  if (!atomic_load_explicit(&forks_waiting, memory_order_relaxed)) return;
  become_idle();
  become_busy();
}

enum wake { WAKE_AT_PULSE, WAKE_TO_LOOK, WAKE_TO_WRITE };

/* Whether the thread ends now, between two things. */
static bool rest(void) {
  pthread_mutex_lock(&guard);
  is_resting = rest_wanted && !stop_wanted;
  if (is_resting) pthread_cond_broadcast(&progress);
  pthread_mutex_unlock(&guard);
  return is_resting;
}

/* Sleeps until there may be work; WAKE_TO_WRITE: everything has to be written now. */
static enum wake wait_for_work(uint64_t until_ns, uint64_t *flush, bool *stop) {
  const struct timespec until = clock_deadline(until_ns);
  enum wake wake = WAKE_TO_LOOK;
  pthread_mutex_lock(&guard);
  while (!stop_wanted && !rest_wanted && flush_wanted == flush_done && !doorbell_has_rung() && wake == WAKE_TO_LOOK)
    if (!doorbell_wait(&guard, &until)) wake = WAKE_AT_PULSE;
  *flush = flush_wanted;
  *stop = stop_wanted;
  doorbell_take();
  if (stop_wanted || flush_wanted != flush_done) wake = WAKE_TO_WRITE;
  pthread_mutex_unlock(&guard);
  return wake;
}

static void close_file(void) {
  struct tfprof_error error;
  triggers_say();
  /* Twice: what ended on another thread than the one that began it waits for the second. */
  for (int i = 0; i < 2; i++) drain_everything();
  diagnose_parts();
  tick(true);
  row_tables_finish(&recorder.tables);
  dump_writer_keep_room(recorder.writer, 0);
  recorder_tell_losses(&recorder, true);
  row_buffer_write(&recorder.diagnostics, recorder.writer, NULL);
  if (has_final_profile) dump_writer_profile(recorder.writer, &final_profile, NULL);
  if (dump_writer_close(recorder.writer, &error) != TFPROF_OK) recorder_complain(&recorder, &error);
  recorder.writer = NULL;
}

static void begin_file(void) {
  parts_told = 0;
  tick(false);
  diagnose_parts();
  dump_writer_keep_room(recorder.writer, LAST_WORDS_BYTES);
  next_tick_ms = now_ms() + TICK_MS;
}

/* What is done between two sleeps, where neither the end nor everything is asked for. How much came. */
static uint64_t look(enum wake wake, const struct pulse *pulse) {
  for EACH_SOURCE(source, recorder.sources)
    if (source->pulse && wake == WAKE_AT_PULSE) source->pulse(&recorder, pulse);
  diagnose_parts();
  uint64_t count = drain(), now = now_ms();
  triggers_say();
  if (keep.ns && frame_ring_wants_slot(&ring, (int64_t)clock_monotonic_ns())) begin_slot();
  bool is_old = oldest_ms && now - oldest_ms >= FRAME_AGE_MS && !recorder.is_held;
  if (is_old || recorder.is_urgent || last_call_has_come()) write_everything();
  if (now >= next_tick_ms) {
    tick(false);
    next_tick_ms = now + TICK_MS;
  }
  return count;
}

/* `file_is_open`: NULL of the first thread that writes this file. */
static void *write_recording(void *file_is_open) {
  prctl(PR_SET_NAME, "tfprof-writer");
  atomic_store(&thread_number, syscall(SYS_gettid));
  if (!file_is_open) {
    clock_map_start(&recorder.clock);
    clock_watch_begin();
    become_busy();
    begin_file();
    become_idle();
  }
  uint64_t slot_ms = FULL_SLOT_MS;
  for (bool stop = false; !stop && !rest();) {
    uint64_t flush, count = 0;
    const struct pulse pulse = pulse_after(clock_monotonic_ns(), slot_ms * 1000000);
    enum wake wake = wait_for_work(pulse.at_ns, &flush, &stop);
    note_move();
    become_busy();
    if (stop) close_file();
    else if (wake != WAKE_TO_WRITE) count = look(wake, &pulse);
    else
      for (int i = 0; i < 2; i++) drain_everything();
    become_idle();
    note_move();
    slot_ms = gate_wants_full() || count >= MANY_ROWS ? FULL_SLOT_MS : count || oldest_ms ? BUSY_SLOT_MS : IDLE_SLOT_MS;
    pthread_mutex_lock(&guard);
    if (wake == WAKE_TO_WRITE) flush_done = flush;
    is_stopped = stop;
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&guard);
  }
  return NULL;
}

/* Once in a process: others may be waiting while its thread rests. */
static void make_conditions(void) {
  static pid_t made_in;
  if (made_in == getpid()) return;
  made_in = getpid();
  moment_condition(&progress);
  pthread_mutex_init(&guard, NULL);
  flush_wanted = flush_done = 0;
}

static bool start_thread(bool file_is_open) {
  make_conditions();
  doorbell_begin();
  note_move();
  given_up_ns = 0;
  stop_wanted = is_stopped = rest_wanted = is_resting = false;
  has_thread = own_thread_start(&thread, write_recording, file_is_open ? &recorder : NULL);
  if (!has_thread) doorbell_end();
  return has_thread;
}

static bool run_for_disk(void (*work)(void *argument), void *argument) {
  return file_thread_run(FILE_THREAD_DISK, work, argument);
}

static const struct dump_host host_of_dump = {run_for_disk, file_open, file_threads_are_apart};

/* A file that is to be created, by whoever waits for it no longer than BEGIN_MS: of two who are through with it the
** later one frees it. */
struct wished_file {
  char directory[4096], host[128], path[sizeof path];
  struct dump_profile profile;
  struct dump_writer *writer;
  enum tfprof_status status;
  struct tfprof_error error;
  _Atomic bool is_left; /* by one of the two */
};

/* HOST-PID */
static void name_of_file(const char *host, uint32_t process, char *name, size_t size) {
  snprintf(name, size - 12, "%s", host && host[0] ? host : "localhost");
  for (char *letter = name; *letter; letter++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *letter)) *letter = '_';
  size_t length = strlen(name);
  snprintf(name + length, size - length, "-%u", process);
}

/* Of a name that is not taken yet. */
static void create_file(struct wished_file *wish) {
  char name[sizeof wish->host + 16];
  name_of_file(wish->host, wish->profile.pid, name, sizeof name);
  wish->status = dump_directory_open(wish->directory, NULL, &wish->error);
  if (wish->status) return;
  for (int attempt = 1; attempt <= 1000; attempt++) {
    char suffix[16] = "";
    if (attempt > 1) snprintf(suffix, sizeof suffix, "-%d", attempt);
    snprintf(wish->path, sizeof wish->path, "%s/%s%s.tfprof", wish->directory, name, suffix);
    struct stat there;
    if (!lstat(wish->path, &there)) continue;
    wish->status = dump_writer_create_as_guest(wish->path, &host_of_dump, &wish->profile, &wish->writer, &wish->error);
    if (wish->status == TFPROF_OK || lstat(wish->path, &there)) break;
  }
}

static void create_wished_file(void *argument) {
  struct wished_file *wish = argument;
  create_file(wish);
  if (!atomic_exchange(&wish->is_left, true)) return;
  if (wish->writer) { /* nobody waits for it any more */
    dump_writer_close(wish->writer, NULL);
    unlink(wish->path);
  }
  free(wish);
}

static enum tfprof_status create_in_time(const char *directory, const struct dump_profile *profile,
                                    struct dump_writer **writer, struct tfprof_error *error) {
  struct wished_file *wish = calloc(1, sizeof *wish);
  if (!wish) return error_no_memory(error);
  snprintf(wish->directory, sizeof wish->directory, "%s", directory);
  snprintf(wish->host, sizeof wish->host, "%s", profile->host ? profile->host : "");
  wish->profile = *profile;
  wish->profile.host = wish->host;
  bool is_done = file_thread_run_within(FILE_THREAD_DISK, create_wished_file, wish, BEGIN_MS);
  if (!is_done && !atomic_exchange(&wish->is_left, true))
    return error_set(error, TFPROF_IO, "the disk has not answered for %d s, or no thread can be started",
                     BEGIN_MS / 1000);
  enum tfprof_status status = wish->status;
  *writer = wish->writer;
  if (error) *error = wish->error;
  memcpy(path, wish->path, sizeof path);
  free(wish);
  return status;
}

/* A ring, and a writer for it. */
static enum tfprof_status create_kept(const char *directory, const struct dump_profile *profile,
                                      struct dump_writer **writer, struct tfprof_error *error) {
  static const struct dump_sink sink = {&ring, frame_ring_take};
  static struct kept_head head; /* large for a stack */
  kept_head_begin(&head);
  head.process = (uint64_t)getpid();
  head.process_namespace = kept_process_namespace();
  head.launcher = (uint64_t)keep.launcher;
  head.keep_ns = keep.ns;
  snprintf(head.run_directory, sizeof head.run_directory, "%s", directory);
  name_of_file(profile->host, profile->pid, head.name, sizeof head.name);
  snprintf(path, sizeof path, "%s/%s.tfprof", directory, head.name);
  is_cut_told = false;
  int reason = frame_ring_open(&ring, &head, keep.after_ns, keep.most_bytes);
  if (reason)
    return error_set(error, TFPROF_IO, "the last seconds cannot be kept in memory: %s", strerror(reason));
  if (!ring.path[0])
    capture_say("what is kept of process %ld is lost where it is killed by SIGKILL: no file can be made in /dev/shm",
                (long)getpid());
  enum tfprof_status status = dump_writer_create_for(&sink, profile, writer, error);
  if (!status && !frame_ring_begin_slot(&ring, (int64_t)clock_monotonic_ns()))
    status = error_set(error, TFPROF_IO, "the last seconds cannot be kept in memory");
  if (status) frame_ring_close(&ring, true);
  return status;
}

static void end_kept(void) {
  if (keep.ns) frame_ring_close(&ring, true);
}

/* The thread that writes what is kept, and what makes it do so. */
static bool watch_for_triggers(void) {
  if (!keep.ns) return true;
  const struct trigger_wishes wishes = {(int64_t)keep.after_ns, keep.ask_others, recording_flush};
  if (!triggers_begin(&ring, &wishes)) return false;
  fatal_signals_begin(keep.signal_number);
  return true;
}

enum tfprof_status recording_begin(const char *directory, const struct dump_profile *profile,
                                   const struct capture_source *const *sources, struct tfprof_error *error) {
  struct dump_writer *writer = NULL;
  oldest_ms = 0;
  enum tfprof_status status = keep.ns ? create_kept(directory, profile, &writer, error)
                                      : create_in_time(directory, profile, &writer, error);
  if (status != TFPROF_OK) return status;
  bool is_ready = recorder_open(&recorder, sources, writer);
  if (is_ready && start_thread(false)) {
    if (watch_for_triggers()) return TFPROF_OK;
    capture_say("nothing that is kept of process %ld is written: no thread can be started", (long)getpid());
    return TFPROF_OK;
  }
  int reason = errno;
  recorder_close(&recorder, false);
  dump_writer_close(writer, NULL);
  end_kept();
  return is_ready ? error_set(error, TFPROF_IO, "the writer thread cannot be started: %s", strerror(reason))
                  : error_no_memory(error);
}

/* ---- From other threads. */

static uint64_t last_move_ns(void) {
  uint64_t looked_ns = atomic_load(&moved_ns), written_ns = atomic_load(&row_buffer_written_ns);
  return looked_ns > written_ns ? looked_ns : written_ns;
}

/* proc(5): whether a thread runs, or would if a processor were free. false: it sleeps, or that is not known. */
static bool thread_may_run(long number) {
  char file[64], text[128];
  snprintf(file, sizeof file, "/proc/self/task/%ld/stat", number);
  if (!number || !small_file_read(file, text, sizeof text)) return false;
  const char *name_end = strrchr(text, ')');
  return name_end && !strncmp(name_end, ") R", 3);
}

/* A disk that does not answer lets both threads sleep: the writer thread, and the one that writes for it. On a machine
** that is busy, one of the two has work and gets no processor. */
static bool writer_may_run(void) {
  return thread_may_run(atomic_load(&thread_number)) || thread_may_run(file_thread_number(FILE_THREAD_DISK));
}

/* With `guard`: until the writer thread has done what was asked for before flush `mine`, has ended or stands still, or
** the time is over. Whether it stands still. */
static bool wait_for_writer(uint64_t mine, int milliseconds) {
  uint64_t now_ns = moment_now_ns(), end_ns = now_ns + (uint64_t)milliseconds * 1000000;
  for (int asleep = 0; flush_done < mine && !is_stopped && now_ns < end_ns;) {
    uint64_t last_ns = last_move_ns();
    bool is_still = now_ns > last_ns + STALL_MS * UINT64_C(1000000) && !writer_may_run();
    asleep = is_still ? asleep + 1 : 0;
    if (is_still && (asleep > POLLS || last_ns == given_up_ns)) {
      given_up_ns = last_ns;
      return true;
    }
    uint64_t until_ns = now_ns + POLL_MS * UINT64_C(1000000) < end_ns ? now_ns + POLL_MS * UINT64_C(1000000) : end_ns;
    const struct timespec until = moment_at(until_ns);
    pthread_cond_timedwait(&progress, &guard, &until);
    now_ns = moment_now_ns();
  }
  return false;
}

void recording_tell_parts(const struct capture_source *const *sources) {
  atomic_store(&parts_wanted, sources);
  doorbell_ring_to_look();
}

void recording_flush(int timeout_ms) {
  if (!has_thread || !gate_is_of_process()) return;
  pthread_mutex_lock(&guard);
  uint64_t mine = ++flush_wanted;
  doorbell_ring_with_guard();
  wait_for_writer(mine, timeout_ms);
  pthread_mutex_unlock(&guard);
}

bool recording_stands_still(void) { return given_up_ns && given_up_ns == last_move_ns(); }

void recording_finish(const struct dump_profile *profile, int timeout_ms) {
  if (!has_thread || !gate_is_of_process()) return;
  if (keep.ns) {
    fatal_signals_end();
    triggers_end(timeout_ms);
  }
  pthread_mutex_lock(&guard);
  has_final_profile = profile != NULL;
  if (profile) {
    final_profile = *profile;
    snprintf(final_host, sizeof final_host, "%s", profile->host ? profile->host : "");
    final_profile.host = final_host;
  }
  stop_wanted = true;
  doorbell_ring_with_guard();
  bool stands_still = wait_for_writer(UINT64_MAX, timeout_ms);
  bool is_done = is_stopped;
  pthread_mutex_unlock(&guard);
  has_thread = false;
  doorbell_end();
  if (!is_done) {
    capture_say("the last data could not be written: the disk %s; %s has no proper end, and what came last is missing",
                stands_still ? "does not answer" : "is too slow for the seconds that the end may take", path);
    pthread_detach(thread);
    return;
  }
  pthread_join(thread, NULL);
  recorder_close(&recorder, false);
  end_kept();
}

bool recording_rest(int timeout_ms) {
  if (!has_thread || !triggers_rest(timeout_ms)) return false;
  const struct timespec until = clock_deadline(clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000);
  pthread_mutex_lock(&guard);
  rest_wanted = true;
  doorbell_ring_with_guard();
  while (!is_resting && !is_stopped)
    if (pthread_cond_timedwait(&progress, &guard, &until)) break;
  bool has_ended = is_resting;
  rest_wanted = has_ended;
  pthread_mutex_unlock(&guard);
  if (!has_ended) {
    triggers_go_on();
    return false;
  }
  pthread_join(thread, NULL);
  own_thread_wait_until_gone(thread_number);
  has_thread = false;
  doorbell_end();
  return true;
}

bool recording_may_close(void) { return keep.ns ? ring.path[0] : dump_writer_is_named(recorder.writer); }

void recording_go_on(void) {
  if (!is_resting) return;
  triggers_go_on();
  if (!start_thread(true))
    capture_say("nothing more is recorded of process %ld: its writer thread cannot start again; the program goes on",
                (long)getpid());
}

void recording_before_fork(void) {
  atomic_fetch_add(&forks_waiting, 1);
  for (int waited = 0; atomic_load(&writer_is_busy) && waited < FORK_WAIT_US; waited += 100) usleep(100);
}

void recording_after_fork_in_parent(void) { atomic_fetch_sub(&forks_waiting, 1); }

/* The child has no writer thread, and the file is the parent's. If the thread was caught in the middle of something
** after all, what it held stays allocated in the child: untouched memory costs nothing. */
void recording_after_fork_in_child(bool is_whole) {
  file_threads_after_fork_in_child();
  triggers_after_fork_in_child();
  frame_ring_forget(&ring);
  if (is_whole && recorder.writer && !atomic_load(&writer_is_busy)) {
    dump_writer_abandon(recorder.writer);
    recorder_close(&recorder, true);
  }
  memset(&recorder, 0, sizeof recorder);
  path[0] = 0;
  has_thread = false;
  rest_wanted = is_resting = false;
  doorbell_end();
  atomic_store(&forks_waiting, 0);
  atomic_store(&writer_is_busy, 0);
}
