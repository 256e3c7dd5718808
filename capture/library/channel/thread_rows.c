/* thread_rows.c: see thread_rows.h. */
#include "thread_rows.h"

#include "recorder/small_file.h"
#include "thread_names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  THREAD_KIND,
  THREAD_NAME,
  THREAD_PID,
  THREAD_TID,
  THREAD_LOGICAL,
  THREAD_DEVICE,
  THREAD_STREAM,
  THREAD_CONTEXT,
  THREAD_PRIORITY,
  THREAD_COLUMNS
};
static const struct row_column thread_columns[THREAD_COLUMNS] = {
    {DUMP_threads_kind, DUMP_UNORDERED, false, false},
    {DUMP_threads_recorded_name, DUMP_UNORDERED, false, false},
    {DUMP_threads_pid, DUMP_UNORDERED, false, false},
    {DUMP_threads_tid, DUMP_UNORDERED, false, false},
    {DUMP_threads_logical_thread, DUMP_UNORDERED, false, false},
    {DUMP_threads_device_id, DUMP_UNORDERED, false, false},
    {DUMP_threads_stream, DUMP_UNORDERED, false, false},
    {DUMP_threads_context, DUMP_UNORDERED, false, false},
    {DUMP_threads_priority, DUMP_UNORDERED, false, false},
};

static const struct table_form threads_form = TABLE_FORM(threads, TABLE_DEFINITION, "threads", thread_columns, 64);

int64_t thread_row_plus_one[THREAD_MAXIMUM];
static struct row_buffer rows;
static struct key_map of_tids;        /* tid to row: of two threads that had one number, the later one; bounded */
static uint32_t pid, kind, of_stream; /* kinds: strings */

bool thread_rows_open(struct recorder *recorder) {
  memset(thread_row_plus_one, 0, sizeof thread_row_plus_one);
  pid = (uint32_t)getpid();
  kind = dump_writer_string(recorder->writer, "host", 4);
  of_stream = dump_writer_string(recorder->writer, "stream", 6);
  memset(&of_tids, 0, sizeof of_tids);
  return row_tables_add(&recorder->tables, &rows, &threads_form);
}

void thread_rows_close(void) { key_map_end(&of_tids); }

static uint32_t keep_text(struct recorder *recorder, const char *text, size_t length) {
  return texts_keep(&recorder->texts, recorder->writer, text, length);
}

/* What was noted, or the name that is Python's, or the one that the system has for it now, or when it began. */
static uint32_t name_of(struct recorder *recorder, uint32_t tid, const char *of_python, const char *given) {
  char path[64], name[THREAD_NAME_MAXIMUM];
  if (thread_name_noted(tid, name, sizeof name)) return keep_text(recorder, name, strlen(name));
  if (of_python[0]) return keep_text(recorder, of_python, strnlen(of_python, THREAD_NAME_MAXIMUM));
  if (thread_name_told(tid, name, sizeof name)) return keep_text(recorder, name, strlen(name));
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
  if (small_file_read(path, name, sizeof name)) return keep_text(recorder, name, strcspn(name, "\n"));
  return given ? keep_text(recorder, given, strnlen(given, THREAD_NAME_MAXIMUM)) : 0;
}

/* Of a row that no structure of a thread has yet: the thread was met by its number only. */
#define UNCLAIMED (1u << 31)

static int64_t add_host_thread(uint32_t tid, uint32_t name, uint32_t mark) {
  uint32_t row = row_add(&rows);
  if (row == UINT32_MAX) return -1;
  int64_t number = (int64_t)(rows.first_row + row);
  if (name) row_set(&rows, row, THREAD_NAME, name);
  row_set(&rows, row, THREAD_KIND, kind);
  row_set(&rows, row, THREAD_PID, pid);
  row_set(&rows, row, THREAD_TID, tid);
  row_set(&rows, row, THREAD_LOGICAL, thread_row_logical(number));
  key_map_bound(&of_tids); /* the rows of threads that live are with their structures */
  struct key_map_entry *entry = key_map_entry(&of_tids, 0, tid);
  if (!entry) return number;
  if (!entry->row_plus_one) key_map_added(&of_tids);
  entry->row_plus_one = (uint32_t)(number + 1) | mark;
  return number;
}

/* Its name is Python's, or the one that the system has for it now: threads are named after they have begun. */
int64_t thread_row_add(struct recorder *recorder, const struct capture_thread *thread) {
  struct key_map_entry *entry = key_map_entry(&of_tids, 0, thread->tid);
  int64_t number;
  if (entry && entry->row_plus_one & UNCLAIMED) {
    entry->row_plus_one &= ~UNCLAIMED;
    number = (int64_t)entry->row_plus_one - 1;
  } else {
    uint32_t name = name_of(recorder, thread->tid, thread->python_name, thread->name);
    number = add_host_thread(thread->tid, name, 0);
  }
  if (number >= 0) thread_row_plus_one[thread->number - 1] = number + 1;
  return number;
}

int64_t thread_row_of_tid(struct recorder *recorder, uint32_t tid) {
  struct key_map_entry *entry = key_map_entry(&of_tids, 0, tid);
  if (entry && entry->row_plus_one) return (int64_t)(entry->row_plus_one & ~UNCLAIMED) - 1;
  for (unsigned number = thread_count(); number; number--) {
    const struct capture_thread *thread = thread_of_number(number);
    if (thread && thread->tid == tid) return thread_row(recorder, thread);
  }
  return add_host_thread(tid, name_of(recorder, tid, "", NULL), UNCLAIMED);
}

int64_t thread_row_add_stream(struct recorder *recorder, const struct stream_lane *lane) {
  uint32_t row = row_add(&rows);
  if (row == UINT32_MAX) return -1;
  row_set(&rows, row, THREAD_KIND, of_stream);
  if (lane->name)
    row_set(&rows, row, THREAD_NAME, keep_text(recorder, lane->name, strlen(lane->name)));
  row_set(&rows, row, THREAD_PID, pid);
  row_set(&rows, row, THREAD_DEVICE, lane->device);
  row_set(&rows, row, THREAD_STREAM, lane->stream);
  row_set(&rows, row, THREAD_CONTEXT, lane->context);
  if (lane->has_priority) row_set(&rows, row, THREAD_PRIORITY, lane->priority);
  return (int64_t)(rows.first_row + row);
}

void thread_row_forget(const struct capture_thread *thread) { thread_row_plus_one[thread->number - 1] = 0; }
