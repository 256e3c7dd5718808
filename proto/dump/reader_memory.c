/* reader_memory.c: what a reader has found so far, and what was wrong: the ground on which scanning, accepting frames
** and reading the index stand. */
#include "base/list.h"
#include "dump/reader_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reader_table *reader_table_of(struct dump_file *file, uint16_t table_dump_id) {
  struct reader_table **page = &file->private_state->table_pages[table_dump_id >> 8];
  if (!*page) *page = calloc(256, sizeof **page);
  return *page ? *page + (table_dump_id & 255) : NULL;
}

/* ---- Problems ---- */

int reader_problem(struct dump_file *file, const char *severity, const char *reason, uint16_t table, uint64_t count,
                   uint64_t offset, const char *format, ...) {
  struct dump_reader_private *state = file->private_state;
  if (!array_room(file->problems, file->problem_count, state->problem_capacity)) {
    return DUMP_NO_PROBLEM;
  }
  if (file->problem_count >= DUMP_MAXIMUM_PROBLEMS) { /* the last one counts the rest */
    struct dump_problem *last = &file->problems[DUMP_MAXIMUM_PROBLEMS - 1];
    state->problems_left_out++;
    *last = (struct dump_problem){.severity = "error",
                                  .reason = "more_problems",
                                  .count = state->problems_left_out + 1,
                                  .offset = offset};
    snprintf(last->message, sizeof last->message, "the file has more problems than can be listed");
    return DUMP_NO_PROBLEM;
  }
  struct dump_problem *problem = &file->problems[file->problem_count];
  *problem = (struct dump_problem){.severity = severity,
                                   .reason = reason,
                                   .count = count,
                                   .offset = offset,
                                   .table_dump_id = table};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem->message, sizeof problem->message, format, arguments);
  va_end(arguments);
  return (int)file->problem_count++;
}

enum tfprof_status reader_read(int fd, const char *path, uint64_t offset, size_t length, uint8_t *to,
                               struct tfprof_error *error) {
  size_t done = 0;
  while (done < length) {
    ssize_t count = pread(fd, to + done, length - done, (off_t)(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error_io(error, path, "cannot read");
    if (count == 0) return error_at(error, TFPROF_IO, path, offset, "the file was cut since it was opened");
    done += (size_t)count;
  }
  return TFPROF_OK;
}

void reader_free_tables(struct dump_reader_private *state) {
  for (unsigned i = 0; i < 256; i++) {
    free(state->table_pages[i]);
    state->table_pages[i] = NULL;
  }
  while (state->chunks) {
    struct reader_chunk *before = state->chunks->before;
    free(state->chunks);
    state->chunks = before;
  }
}

void reader_forget_frames(struct dump_file *file, size_t problems_to_keep) {
  struct dump_reader_private *state = file->private_state;
  reader_free_tables(state);
  file->problem_count = problems_to_keep;
  state->problems_left_out = 0;
  file->frame_count = file->clock_count = 0;
  state->string_frames = 0;
  state->next_string = 1;
  state->next_sequence = state->row_count = state->string_count = 0;
}
