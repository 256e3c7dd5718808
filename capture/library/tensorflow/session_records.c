/* session_records.c: see session_records.h. */
#include "session_records.h"

#include "base/wire.h"
#include "channel/thread_record.h"
#include "channel/thread_rows.h"
#include "dump/descriptor.h"
#include "governor/sampling.h"
#include "recorder/clock.h"
#include "recorder/file_threads.h"
#include "recorder/gate.h"
#include "recorder/recorder.h"
#include "recorder/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAITING_MAXIMUM = 128 << 20, NODE_NS = 1800 /* what tracing takes for a node that runs, at first */ };

enum { FILE_NAME, KIND, GRAPH, THREAD, START, DURATION, STEP, PLACE, BYTES, LEFT_OUT, REALTIME, COLUMNS };
static const struct row_column columns[COLUMNS] = {
    {DUMP_session_records_file, DUMP_UNORDERED, false, false},
    {DUMP_session_records_kind, DUMP_UNORDERED, false, true},
    {DUMP_session_records_graph, DUMP_UNORDERED, false, true},
    {DUMP_session_records_thread_id, DUMP_UNORDERED, false, false},
    {DUMP_session_records_start_ns, DUMP_UNORDERED, false, false},
    {DUMP_session_records_dur_ns, DUMP_UNORDERED, false, false},
    {DUMP_session_records_step_group, DUMP_UNORDERED, false, false},
    {DUMP_session_records_byte_offset, DUMP_UNORDERED, false, false},
    {DUMP_session_records_bytes, DUMP_UNORDERED, false, false},
    {DUMP_session_records_left_out, DUMP_UNORDERED, false, false},
    {DUMP_session_records_start_realtime_ns, DUMP_UNORDERED, false, false},
};
static const struct table_form form = TABLE_FORM(session_records, TABLE_ROWS, "records of sessions", columns, 64);
static struct row_buffer rows;

struct waiting {
  struct waiting *next;
  struct session_record is;
  uint32_t thread;        /* its number; 0: not known */
  int64_t realtime_ahead; /* of clock_monotonic_ns() */
  uint8_t bytes[];
};

/* Held for as long as it takes to look at the list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *first, **last = &first;
static size_t waiting_bytes;
static uint64_t refused, left_out_runs;
static _Atomic bool is_wanted; /* ops are recorded */
static struct source_cost taken; /* thread_full_ns: of all threads */

/* On the thread for files. */
static struct {
  struct descriptor descriptor;
  char path[4096];
  uint64_t length;
  bool is_open, has_failed;
} file;

/* ---- On the program's threads. */

int64_t session_records_step(void) {
  return gate_is_open() && atomic_load_explicit(&is_wanted, memory_order_relaxed) ? (int64_t)sampling_step_ends() : -1;
}

static bool sessions_set_detail(enum detail detail) {
  atomic_store_explicit(&is_wanted, detail == DETAIL_FULL, memory_order_relaxed);
  return true;
}

static int64_t realtime_ahead_now(void) {
  struct timespec real;
  int64_t before = (int64_t)clock_monotonic_ns();
  clock_gettime(CLOCK_REALTIME, &real);
  int64_t after = (int64_t)clock_monotonic_ns();
  return (int64_t)real.tv_sec * 1000000000 + real.tv_nsec - (before + (after - before) / 2);
}

/* In a RunMetadata the statistics of a step have devices, and these have what ran. */
enum { RunMetadata_step_stats = 1, DeviceStepStats_node_stats = 2 };
static uint64_t count_nodes(const void *bytes, size_t length) {
  uint64_t count = 0;
  struct wire_reader message = wire_open(bytes, length);
  for (struct wire_field stats; wire_next(&message, &stats);) {
    if (stats.number != RunMetadata_step_stats) continue;
    struct wire_reader devices = wire_enter(&message, &stats);
    for (struct wire_field device; wire_next(&devices, &device);) {
      struct wire_reader nodes = wire_enter(&devices, &device);
      for (struct wire_field node; wire_next(&nodes, &node);) count += node.number == DeviceStepStats_node_stats;
    }
  }
  return count;
}

void session_records_add(const struct session_record *record) {
  if (!gate_is_open()) return;
  struct capture_thread *thread = capture_current_thread ? capture_current_thread : thread_enter(REFUSED_OP);
  struct waiting *waiting = record->length < WAITING_MAXIMUM ? malloc(sizeof *waiting + record->length) : NULL;
  if (waiting) {
    *waiting = (struct waiting){
        .is = *record, .thread = thread ? thread->number : 0, .realtime_ahead = realtime_ahead_now()};
    if (record->length) memcpy(waiting->bytes, record->bytes, record->length);
  }
  uint64_t nodes = record->is_ours ? count_nodes(record->bytes, record->length) : 0;
  pthread_mutex_lock(&lock);
  taken.full += nodes;
  taken.full_ns += (double)nodes * NODE_NS;
  bool has_room = waiting && waiting_bytes + record->length <= WAITING_MAXIMUM;
  if (has_room) {
    waiting_bytes += record->length;
    *last = waiting;
    last = &waiting->next;
  } else {
    refused++;
  }
  pthread_mutex_unlock(&lock);
  if (!has_room) free(waiting);
}

/* What runs take on TensorFlow's threads keeps the one that ends the step waiting: all of it is of that thread. */
static void sessions_cost(uint32_t thread, struct source_cost *cost) {
  (void)thread;
  pthread_mutex_lock(&lock);
  cost->full += taken.full;
  cost->records_ns += taken.full_ns;
  cost->full_ns += taken.full_ns;
  cost->thread_full_ns += taken.full_ns;
  pthread_mutex_unlock(&lock);
}

/* ---- On the writer thread. */

static void open_sessions_file(void) {
  size_t length = strlen(recording_path()), ending = strlen(".tfprof");
  if (length < ending || length + 4 > sizeof file.path) {
    file.has_failed = true;
    return;
  }
  snprintf(file.path, sizeof file.path, "%.*s.sessions", (int)(length - ending), recording_path());
  int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW;
  file.is_open = descriptor_take(&file.descriptor, file_open(file.path, flags, 0600));
  file.has_failed = !file.is_open;
  file.length = 0;
}

static void append_to_file(void *argument) {
  struct waiting *waiting = argument;
  if (!file.is_open && !file.has_failed) open_sessions_file();
  for (size_t done = 0; done < waiting->is.length && !file.has_failed;) {
    ssize_t got = descriptor_is_ours(&file.descriptor)
                      ? write(file.descriptor.number, waiting->bytes + done, waiting->is.length - done)
                      : -1;
    if (got > 0) done += (size_t)got;
    else file.has_failed = got == 0 || errno != EINTR;
  }
}

static void close_sessions_file(void *unused) {
  (void)unused;
  if (file.is_open) descriptor_close(&file.descriptor);
  file.is_open = false;
}

static void add_session_row(struct recorder *recorder, const struct waiting *waiting, bool has_bytes) {
  const struct session_record *is = &waiting->is;
  struct dump_writer *writer = recorder->writer;
  const char *slash = strrchr(file.path, '/'), *name = slash ? slash + 1 : file.path;
  struct capture_thread *thread = waiting->thread ? thread_of_number(waiting->thread) : NULL;
  int64_t thread_is = thread ? thread_row(recorder, thread) : -1;
  uint32_t row = row_add(&rows);
  if (row == UINT32_MAX) {
    refused++;
    return;
  }
  row_put(&rows, row, KIND, dump_writer_string(writer, is->kind, strlen(is->kind)));
  row_put(&rows, row, GRAPH, is->graph);
  if (thread_is >= 0) row_set(&rows, row, THREAD, thread_is);
  if (is->start_ticks) {
    const struct clock_map *map = &recorder->clock;
    int64_t start = clock_map_ns(map, clock_map_place(map, is->start_ticks));
    int64_t end = clock_map_ns(map, clock_map_place(map, is->end_ticks));
    row_set(&rows, row, START, start);
    row_set(&rows, row, DURATION, clock_span_ns(start, end));
    row_set(&rows, row, REALTIME, start + waiting->realtime_ahead);
    row_set(&rows, row, STEP, is->step);
  }
  const char *left_out = is->left_out ? is->left_out : has_bytes ? NULL : "it could not be written";
  if (left_out) {
    row_set(&rows, row, LEFT_OUT, dump_writer_string(writer, left_out, strlen(left_out)));
    left_out_runs += is->start_ticks != 0;
    return;
  }
  row_set(&rows, row, FILE_NAME, dump_writer_string(writer, name, strlen(name)));
  row_set(&rows, row, PLACE, (int64_t)(file.length - is->length));
  row_set(&rows, row, BYTES, (int64_t)is->length);
}

static bool sessions_open(struct recorder *recorder) {
  memset(&file, 0, sizeof file);
  return row_tables_add(&recorder->tables, &rows, &form);
}

/* One at a time: what is written is in memory no more. */
static struct waiting *take_first(void) {
  pthread_mutex_lock(&lock);
  struct waiting *waiting = first;
  if (waiting && !(first = waiting->next)) last = &first;
  if (waiting) waiting_bytes -= waiting->is.length;
  pthread_mutex_unlock(&lock);
  return waiting;
}

static uint64_t sessions_drain(struct recorder *recorder, uint64_t limit) {
  uint64_t count = 0;
  for (struct waiting *waiting; count < limit && (waiting = take_first()); count++) {
    bool has_bytes = waiting->is.length && file_thread_run(FILE_THREAD_DISK, append_to_file, waiting) &&
                     !file.has_failed;
    if (has_bytes) {
      file.length += waiting->is.length;
      recorder->bytes_beside += waiting->is.length;
    }
    add_session_row(recorder, waiting, has_bytes);
    free(waiting);
  }
  return count;
}

static void sessions_losses(struct recorder *recorder) {
  pthread_mutex_lock(&lock);
  uint64_t count = refused;
  pthread_mutex_unlock(&lock);
  recorder_lost(recorder, (struct loss){count, "warning",
                                        "runs of sessions have no ops, since too many waited to be written",
                                        "session_records", &rows});
  recorder_lost(recorder, (struct loss){left_out_runs, "warning",
                                        "runs of sessions have no ops, nor have their steps: "
                                        "session_records.left_out says why",
                                        "session_records", NULL});
}

static void sessions_close(bool in_child) {
  if (!in_child) file_thread_run(FILE_THREAD_DISK, close_sessions_file, NULL);
}

static const char *sessions_reset(bool is_whole) {
  (void)is_whole;
  pthread_mutex_init(&lock, NULL);
  first = NULL; /* the parent's, perhaps half of something */
  last = &first;
  waiting_bytes = 0;
  refused = left_out_runs = 0;
  memset(&taken, 0, sizeof taken);
  return NULL;
}

const struct capture_source sessions_source = {
    .name = "sessions",
    .locks = (const struct fork_lock[]){{.lock = &lock}, {0}},
    .set_detail = sessions_set_detail,
    .cost = sessions_cost,
    .reset = sessions_reset,
    .open = sessions_open,
    .drain = sessions_drain,
    .losses = sessions_losses,
    .close = sessions_close,
};
