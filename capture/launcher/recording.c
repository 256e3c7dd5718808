/* recording.c: reads the dumps of a run directory through the dump codec, for the closing summary.
**
** Of each file it takes the counts of the frames' headers and decodes only the names, categories and threads of the
** ops, to count the steps of the optimizers and those of them whose ops were recorded, and the small table
** `diagnostics`, where the capture library says which of its parts do not record and why.
*/
#include "recording.h"
#include "run_directory.h"

#include "dump/reader.h"
#include "schema/schema.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAXIMUM_THREADS = 1 << 16 }; /* that can be told apart in a process */

struct strings { /* the file's strings by id */
  char **texts;
  size_t count, room;
};

static enum tfprof_status keep_string(void *context, uint32_t id, const char *text, uint32_t length) {
  struct strings *strings = context;
  if (id >= strings->room) {
    size_t room = strings->room ? strings->room : 256;
    while (room <= id) room *= 2;
    char **texts = realloc(strings->texts, room * sizeof *texts);
    if (!texts) return TFPROF_NO_MEMORY;
    memset(texts + strings->room, 0, (room - strings->room) * sizeof *texts);
    strings->texts = texts;
    strings->room = room;
  }
  if (text) strings->texts[id] = strndup(text, length);
  return TFPROF_OK;
}

static void free_strings(struct strings *strings) {
  for (size_t i = 0; i < strings->room; i++) free(strings->texts[i]);
  free(strings->texts);
}

static void add_note(struct process_recording *process, const char *reason, const char *message) {
  if (process->note_count == RECORDING_MAXIMUM_NOTES) return;
  struct recording_note *note = &process->notes[process->note_count++];
  snprintf(note->reason, sizeof note->reason, "%s", reason);
  snprintf(note->message, sizeof note->message, "%s", message);
}

/* One column of one frame of text ids; all 0 when it is not there or cannot be read. */
static void read_texts(struct dump_cursor *cursor, const struct dump_frame *frame, unsigned column, int64_t *values,
                       uint64_t *nulls) {
  memset(values, 0, frame->rows * sizeof *values);
  memset(nulls, 0, (frame->rows + 63) / 64 * sizeof *nulls);
  const struct dump_block *block = dump_frame_block(frame, schema_tables[TABLE_diagnostics].columns[column].dump_id);
  if (!block || block->encoding == DUMP_REAL) return;
  if (dump_block_decode(cursor, frame, block, values, nulls, NULL) != TFPROF_OK)
    memset(values, 0, frame->rows * sizeof *values);
  for (uint32_t row = 0; row < frame->rows; row++) {
    if (nulls[row / 64] >> (row % 64) & 1) values[row] = 0;
  }
}

static const char *recorded_text(const struct strings *strings, int64_t id) {
  return id > 0 && (uint64_t)id < strings->room && strings->texts[id] ? strings->texts[id] : "";
}

static void read_diagnostics(struct dump_cursor *cursor, const struct dump_frame *frame,
                             const struct strings *strings, struct process_recording *process) {
  size_t rows = frame->rows;
  int64_t *values = calloc(rows * 3, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls) {
    read_texts(cursor, frame, COLUMN_diagnostics_severity, values, nulls);
    read_texts(cursor, frame, COLUMN_diagnostics_reason, values + rows, nulls);
    read_texts(cursor, frame, COLUMN_diagnostics_message, values + 2 * rows, nulls);
    for (size_t row = 0; row < rows; row++) {
      const char *severity = recorded_text(strings, values[row]);
      if (strcmp(severity, "warning") != 0 && strcmp(severity, "error") != 0) continue;
      add_note(process, recorded_text(strings, values[rows + row]), recorded_text(strings, values[2 * rows + row]));
    }
  }
  free(values);
  free(nulls);
}

/* PyTorch marks each step of an optimizer with such a row; the table `steps` is derived from them. */
static bool is_optimizer_step(const char *name) {
  return strncmp(name, "Optimizer.step#", strlen("Optimizer.step#")) == 0;
}

/* What is counted while going through the ops. In a step that sampling leaves out a thread records ranges only. */
struct op_counts {
  const struct strings *strings;
  uint64_t *steps, *steps_with_ops; /* by id of the optimizer's name */
  uint64_t ranges;
  bool *has_ops;                    /* by thread: since its last step */
  size_t thread_room;
};

/* One column of whole numbers of a frame of ops. false: it is not there, or cannot be read. */
static bool read_column(struct dump_cursor *cursor, const struct dump_frame *frame, unsigned column, int64_t *values,
                        uint64_t *nulls) {
  const struct dump_block *block = dump_frame_block(frame, schema_tables[TABLE_ops].columns[column].dump_id);
  return block && block->encoding != DUMP_REAL &&
         dump_block_decode(cursor, frame, block, values, nulls, NULL) == TFPROF_OK;
}

static void count_op(struct op_counts *counts, int64_t name, int64_t category, int64_t thread) {
  bool is_known = thread >= 0 && (uint64_t)thread < counts->thread_room;
  if (strcmp(recorded_text(counts->strings, category), "user") != 0) {
    if (is_known) counts->has_ops[thread] = true;
    return;
  }
  counts->ranges++;
  if (is_optimizer_step(recorded_text(counts->strings, name))) {
    counts->steps[name]++;
    if (is_known && counts->has_ops[thread]) counts->steps_with_ops[name]++;
    if (is_known) counts->has_ops[thread] = false;
  }
}

static void count_ops(struct dump_cursor *cursor, const struct dump_frame *frame, struct op_counts *counts) {
  size_t rows = frame->rows;
  int64_t *values = calloc(rows * 3, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls && read_column(cursor, frame, COLUMN_ops_name, values, nulls) &&
      read_column(cursor, frame, COLUMN_ops_category, values + rows, nulls) &&
      read_column(cursor, frame, COLUMN_ops_thread_id, values + 2 * rows, nulls)) {
    for (size_t row = 0; row < rows; row++) count_op(counts, values[row], values[rows + row], values[2 * rows + row]);
  }
  free(values);
  free(nulls);
}

static int64_t last_start(const struct dump_frame *frame) {
  const struct dump_block *block =
      dump_frame_block(frame, schema_tables[TABLE_ops].columns[COLUMN_ops_start_ns].dump_id);
  return block ? block->maximum : 0;
}

static void read_frames(struct dump_file *file, struct process_recording *process) {
  struct strings strings = {0};
  struct dump_cursor *cursor = NULL;
  struct op_counts counts = {.strings = &strings, .thread_room = MAXIMUM_THREADS};
  if (dump_cursor_open(file, &cursor, NULL) == TFPROF_OK &&
      dump_file_strings(file, keep_string, &strings, NULL) == TFPROF_OK) {
    counts.steps = calloc(strings.room + 1, sizeof *counts.steps);
    counts.steps_with_ops = calloc(strings.room + 1, sizeof *counts.steps_with_ops);
    counts.has_ops = calloc(MAXIMUM_THREADS, sizeof *counts.has_ops);
  }
  bool can_count = counts.steps && counts.steps_with_ops && counts.has_ops;
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    int table = schema_table_of_dump_id(frame->table_dump_id);
    if (table == TABLE_kernels) process->kernels += frame->rows;
    if (table == TABLE_ops) {
      process->ops += frame->rows;
      int64_t last_ns = last_start(frame);
      if (last_ns > process->last_ns) process->last_ns = last_ns;
      if (can_count) count_ops(cursor, frame, &counts);
    } else if (table == TABLE_diagnostics && can_count) {
      read_diagnostics(cursor, frame, &strings, process);
    }
  }
  for (size_t id = 0; can_count && id < strings.room; id++) {
    if (counts.steps[id] <= process->steps) continue;
    process->steps = counts.steps[id];
    process->steps_with_ops = counts.steps_with_ops[id];
  }
  process->ranges = counts.ranges;
  free(counts.steps);
  free(counts.steps_with_ops);
  free(counts.has_ops);
  if (cursor) dump_cursor_close(cursor);
  free_strings(&strings);
}

static void read_process(struct process_recording *process) {
  struct dump_file *file;
  struct tfprof_error error;
  if (dump_file_open(process->path, &file, &error) != TFPROF_OK) {
    process->problem = strdup(error.message);
    return;
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  process->pid = file->profile.pid;
  process->rank = file->profile.rank;
  process->command = file->profile.command ? strdup(file->profile.command) : NULL;
  process->bytes = file->file_bytes;
  process->is_closed = file->is_closed;
  process->is_alive = !file->is_closed && file->profile.pid && file->profile.host &&
                      strcmp(file->profile.host, host) == 0 && kill((pid_t)file->profile.pid, 0) == 0;
  read_frames(file, process);
  for (size_t i = 0; i < file->clock_count; i++) {
    if (file->clocks[i].monotonic_ns > process->last_ns) process->last_ns = file->clocks[i].monotonic_ns;
  }
  for (size_t i = 0; i < file->problem_count; i++) {
    const struct dump_problem *problem = &file->problems[i];
    if (strcmp(problem->reason, "dropped_rows") == 0) process->dropped += problem->count;
    /* A torn end is what a killed program leaves; the summary says so in its own words. */
    else if (strcmp(problem->severity, "error") == 0)
      add_note(process, problem->reason, problem->message);
  }
  dump_file_close(file);
}

static int by_ops(const void *a, const void *b) {
  const struct process_recording *x = a, *y = b;
  if (x->ops != y->ops) return x->ops < y->ops ? 1 : -1;
  return strcmp(x->path, y->path);
}

bool recording_read(const char *directory, struct recording *recording) {
  memset(recording, 0, sizeof *recording);
  DIR *stream = opendir(directory);
  if (!stream) return false;
  bool is_complete = true;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (!run_directory_is_recording(entry->d_name)) continue;
    size_t count = recording->process_count;
    struct process_recording *processes = realloc(recording->processes, (count + 1) * sizeof *processes);
    size_t size = strlen(directory) + strlen(entry->d_name) + 2;
    char *path = malloc(size);
    if (processes) recording->processes = processes;
    if (!processes || !path) {
      free(path);
      is_complete = false;
      break;
    }
    snprintf(path, size, "%s/%s", directory, entry->d_name);
    processes[count] = (struct process_recording){.path = path};
    recording->process_count++;
    read_process(&processes[count]);
    recording->ops += processes[count].ops;
    recording->ranges += processes[count].ranges;
    recording->kernels += processes[count].kernels;
    if (processes[count].steps > recording->steps) {
      recording->steps = processes[count].steps;
      recording->steps_with_ops = processes[count].steps_with_ops;
    }
    recording->dropped += processes[count].dropped;
    recording->bytes += processes[count].bytes;
  }
  closedir(stream);
  if (recording->process_count)
    qsort(recording->processes, recording->process_count, sizeof *recording->processes, by_ops);
  return is_complete;
}

void recording_free(struct recording *recording) {
  for (size_t i = 0; i < recording->process_count; i++) {
    free(recording->processes[i].path);
    free(recording->processes[i].problem);
    free(recording->processes[i].command);
  }
  free(recording->processes);
  memset(recording, 0, sizeof *recording);
}
