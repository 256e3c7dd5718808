/* thread_rows.c: see thread_rows.h. */
#include "thread_rows.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREAD_KIND, THREAD_NAME, THREAD_PID, THREAD_TID, THREAD_LOGICAL, THREAD_COLUMNS };
static const struct row_column thread_columns[THREAD_COLUMNS] = {
    {DUMP_threads_kind, DUMP_UNORDERED, false, false},
    {DUMP_threads_name, DUMP_UNORDERED, false, false},
    {DUMP_threads_pid, DUMP_UNORDERED, false, false},
    {DUMP_threads_tid, DUMP_UNORDERED, false, false},
    {DUMP_threads_logical_thread, DUMP_UNORDERED, false, false},
};

static const struct table_form threads_form = TABLE_FORM(threads, TABLE_DEFINITION, "threads", thread_columns, 64);

int64_t thread_row_plus_one[THREAD_MAXIMUM];
static struct row_buffer rows;
static uint32_t pid, kind; /* kind: a string */

bool thread_rows_open(struct recorder *recorder) {
  memset(thread_row_plus_one, 0, sizeof thread_row_plus_one);
  pid = (uint32_t)getpid();
  kind = dump_writer_string(recorder->writer, "host", 4);
  return row_tables_add(&recorder->tables, &rows, &threads_form);
}

/* Its name is Python's, or the one that the system has for it now: threads are named after they have begun. */
int64_t thread_row_add(struct recorder *recorder, const struct capture_thread *thread) {
  uint32_t row = row_add(&rows);
  if (row == UINT32_MAX) return -1;
  const char *given = thread->python_name[0] ? thread->python_name : thread->name;
  char path[64], name[32];
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", thread->tid);
  int descriptor = thread->python_name[0] ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = descriptor < 0 ? -1 : read(descriptor, name, sizeof name - 1);
  if (descriptor >= 0) close(descriptor);
  if (length > 0 && name[length - 1] == '\n') length--;
  uint32_t string = length > 0 ? dump_writer_string(recorder->writer, name, (size_t)length)
                               : dump_writer_string(recorder->writer, given, strnlen(given, THREAD_NAME_MAXIMUM));
  if (string) row_set(&rows, row, THREAD_NAME, string);
  row_set(&rows, row, THREAD_KIND, kind);
  row_set(&rows, row, THREAD_PID, pid);
  row_set(&rows, row, THREAD_TID, thread->tid);
  int64_t number = (int64_t)(rows.first_row + row);
  row_set(&rows, row, THREAD_LOGICAL, thread_row_logical(number));
  thread_row_plus_one[thread->number - 1] = number + 1;
  return number;
}

void thread_row_forget(const struct capture_thread *thread) {
  thread_row_plus_one[thread->number - 1] = 0;
}
