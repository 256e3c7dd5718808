/* recording.c: reads the dumps of a run directory through the dump codec, for the closing summary.
**
** Of each file it takes the counts of the frames' headers and decodes only the names and categories of the ops, to find
** what marks steps and which of these had their ops recorded (recorded_steps.h), and the small tables `counters`, where
** the capture library says how far what it has of GPUs lags behind, and `diagnostics`, where it says which of its parts
** do not record and why.
*/
#include "base/list.h"
#include "recording.h"
#include "run_directory.h"

#include "dump/reader.h"
#include "schema/schema.h"
#include "steps/marked_calls.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum tfprof_status keep_string(void *context, uint32_t id, const char *text, uint32_t length) {
  struct recorded_strings *strings = context;
  if (!array_extend(strings->texts, strings->room, (size_t)id + 1)) return TFPROF_NO_MEMORY;
  if (text) strings->texts[id] = strndup(text, length);
  return TFPROF_OK;
}

static void free_strings(struct recorded_strings *strings) {
  for (size_t i = 0; i < strings->room; i++) free(strings->texts[i]);
  free(strings->texts);
}

static void add_note(struct process_recording *process, const char *reason, const char *message) {
  if (process->note_count == RECORDING_MAXIMUM_NOTES) return;
  struct recording_note *note = &process->notes[process->note_count++];
  snprintf(note->reason, sizeof note->reason, "%s", reason);
  snprintf(note->message, sizeof note->message, "%s", message);
}

/* One column of one frame, of integers or text ids; all 0 when it is not there or cannot be read. */
static void read_texts(struct dump_cursor *cursor, const struct dump_frame *frame, unsigned table, unsigned column,
                       int64_t *values, uint64_t *nulls) {
  memset(values, 0, frame->rows * sizeof *values);
  memset(nulls, 0, (frame->rows + 63) / 64 * sizeof *nulls);
  const struct dump_block *block = dump_frame_block(frame, schema_tables[table].columns[column].dump_id);
  if (!block || block->encoding == DUMP_REAL) return;
  if (dump_block_decode(cursor, frame, block, values, nulls, NULL) != TFPROF_OK)
    memset(values, 0, frame->rows * sizeof *values);
  for (uint32_t row = 0; row < frame->rows; row++) {
    if (nulls[row / 64] >> (row % 64) & 1) values[row] = 0;
  }
}

static void read_diagnostics(struct dump_cursor *cursor, const struct dump_frame *frame,
                             const struct recorded_strings *strings, struct process_recording *process) {
  size_t rows = frame->rows;
  int64_t *values = calloc(rows * 3, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls) {
    read_texts(cursor, frame, TABLE_diagnostics, COLUMN_diagnostics_severity, values, nulls);
    read_texts(cursor, frame, TABLE_diagnostics, COLUMN_diagnostics_reason, values + rows, nulls);
    read_texts(cursor, frame, TABLE_diagnostics, COLUMN_diagnostics_message, values + 2 * rows, nulls);
    for (size_t row = 0; row < rows; row++) {
      const char *severity = recorded_text(strings, values[row]);
      if (strcmp(severity, "warning") != 0 && strcmp(severity, "error") != 0) continue;
      add_note(process, recorded_text(strings, values[rows + row]), recorded_text(strings, values[2 * rows + row]));
    }
  }
  free(values);
  free(nulls);
}

/* Of several rows the first is what the file was written for; the others came before it was. */
static void read_trigger(struct dump_cursor *cursor, const struct dump_frame *frame,
                         const struct recorded_strings *strings, struct process_recording *process) {
  size_t rows = frame->rows;
  int64_t *values = calloc(rows * 5, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls && !process->trigger) {
    read_texts(cursor, frame, TABLE_triggers, COLUMN_triggers_kind, values, nulls);
    read_texts(cursor, frame, TABLE_triggers, COLUMN_triggers_message, values + rows, nulls);
    read_texts(cursor, frame, TABLE_triggers, COLUMN_triggers_time_ns, values + 2 * rows, nulls);
    read_texts(cursor, frame, TABLE_triggers, COLUMN_triggers_kept_from_ns, values + 3 * rows, nulls);
    read_texts(cursor, frame, TABLE_triggers, COLUMN_triggers_kept_to_ns, values + 4 * rows, nulls);
    int64_t time_ns = values[2 * rows], from_ns = values[3 * rows], to_ns = values[4 * rows];
    process->trigger_ns = time_ns;
    if (from_ns > 0 && time_ns > from_ns) process->kept_ns = time_ns - from_ns;
    if (to_ns > time_ns) process->kept_after_ns = to_ns - time_ns;
    const char *kind = recorded_text(strings, values[0]), *message = recorded_text(strings, values[rows]);
    if (asprintf(&process->trigger, "%s: %s", kind, message) < 0) process->trigger = NULL;
  }
  free(values);
  free(nulls);
}

/* What is counted while going through the ops. */
static void count_ops(struct dump_cursor *cursor, const struct dump_frame *frame, struct recorded_steps *steps,
                      uint64_t *ranges) {
  size_t rows = frame->rows;
  int64_t *values = calloc(rows * 2, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls) {
    read_texts(cursor, frame, TABLE_ops, COLUMN_ops_name, values, nulls);
    read_texts(cursor, frame, TABLE_ops, COLUMN_ops_category, values + rows, nulls);
    for (size_t row = 0; row < rows; row++)
      *ranges += !strcmp(recorded_text(steps->strings, values[rows + row]), "user");
    recorded_steps_add_ops(steps, cursor, frame, values, values + rows);
  }
  free(values);
  free(nulls);
}

static void note_last_op(const struct dump_frame *frame, int64_t *last_ns) {
  uint16_t start = schema_tables[TABLE_ops].columns[COLUMN_ops_start_ns].dump_id;
  const struct dump_block *block = dump_frame_block(frame, start);
  if (block && block->maximum > *last_ns) *last_ns = block->maximum;
}

/* Windows of the framework's own profiler: their steps, and their files. */
static void count_windows(struct dump_cursor *cursor, const struct dump_frame *frame, struct recorded_steps *steps,
                          struct process_recording *process) {
  size_t rows = frame->rows;
  int64_t *values = calloc(rows * 5, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls) {
    read_texts(cursor, frame, TABLE_profiler_windows, COLUMN_profiler_windows_step_count, values, nulls);
    read_texts(cursor, frame, TABLE_profiler_windows, COLUMN_profiler_windows_bytes, values + rows, nulls);
    read_texts(cursor, frame, TABLE_profiler_windows, COLUMN_profiler_windows_start_ns, values + 2 * rows, nulls);
    read_texts(cursor, frame, TABLE_profiler_windows, COLUMN_profiler_windows_end_ns, values + 3 * rows, nulls);
    read_texts(cursor, frame, TABLE_profiler_windows, COLUMN_profiler_windows_opening_ns, values + 4 * rows, nulls);
    for (size_t row = 0; row < rows; row++) {
      if (values[rows + row] <= 0) continue; /* it has no file */
      process->bytes += (uint64_t)values[rows + row];
      if (values[row] <= 0) continue;
      process->window_steps += (uint64_t)values[row];
      uint64_t start = (uint64_t)values[2 * rows + row] - (uint64_t)values[4 * rows + row];
      recorded_steps_add_window(steps, (struct counted_window){(int64_t)start, values[3 * rows + row], values[row]});
    }
  }
  free(values);
  free(nulls);
}

/* What there is of sessions of TensorFlow. */
static void count_sessions(struct dump_cursor *cursor, const struct dump_frame *frame,
                           const struct recorded_strings *strings, struct process_recording *process) {
  size_t rows = frame->rows;
  int64_t *values = calloc(rows * 2, sizeof *values);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls) {
    read_texts(cursor, frame, TABLE_session_records, COLUMN_session_records_kind, values, nulls);
    read_texts(cursor, frame, TABLE_session_records, COLUMN_session_records_bytes, values + rows, nulls);
    for (size_t row = 0; row < rows; row++) {
      if (values[rows + row] <= 0) continue; /* it was left out */
      process->bytes += (uint64_t)values[rows + row];
      process->session_runs += !strcmp(recorded_text(strings, values[row]), "run");
    }
  }
  free(values);
  free(nulls);
}

/* Rows are in the order of time: the last one holds. */
static void note_counter(struct process_recording *process, const char *name, int64_t time_ns, double value) {
  if (!(value >= 0 && value < 1e18)) return;
  if (!strcmp(name, "capture_ops_recorded")) process->has_begun = true;
  if (!strcmp(name, "capture_steps_before") && !process->has_begun) process->begins_late = true;
  if (!strcmp(name, "cupti_behind")) process->gpu_ns = (int64_t)((uint64_t)time_ns - (uint64_t)value);
  if (!strcmp(name, "cupti_held")) process->gpu_held = (uint64_t)value;
}

static void read_counters(struct dump_cursor *cursor, const struct dump_frame *frame, struct recorded_steps *steps,
                          struct process_recording *process) {
  size_t rows = frame->rows;
  uint16_t value = schema_tables[TABLE_counters].columns[COLUMN_counters_value].dump_id;
  const struct dump_block *block = dump_frame_block(frame, value);
  int64_t *values = calloc(rows * 3, sizeof *values);
  double *reals = (double *)(void *)(values ? values + 2 * rows : NULL);
  uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
  if (values && nulls && block && block->encoding == DUMP_REAL) {
    read_texts(cursor, frame, TABLE_counters, COLUMN_counters_name, values, nulls);
    read_texts(cursor, frame, TABLE_counters, COLUMN_counters_time_ns, values + rows, nulls);
    memset(nulls, 0, (rows + 63) / 64 * sizeof *nulls);
    bool is_read = dump_block_decode(cursor, frame, block, reals, nulls, NULL) == TFPROF_OK;
    for (size_t row = 0; is_read && row < rows; row++) {
      const char *name = recorded_text(steps->strings, values[row]);
      recorded_steps_add_counter(steps, name, values[rows + row], reals[row]);
      note_counter(process, name, values[rows + row], reals[row]);
    }
  }
  free(values);
  free(nulls);
}

static void read_frames(struct dump_file *file, struct process_recording *process) {
  struct recorded_strings strings = {0};
  struct recorded_steps steps = {.strings = &strings};
  struct dump_cursor *cursor = NULL;
  bool can_count = dump_cursor_open(file, &cursor, NULL) == TFPROF_OK &&
                   dump_file_strings(file, keep_string, &strings, NULL) == TFPROF_OK;
  if (can_count) recorded_steps_begin(&steps, &strings);
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    int table = schema_table_of_dump_id(frame->table_dump_id);
    if (table == TABLE_kernels) {
      process->kernels += frame->rows;
    } else if (table == TABLE_ops) {
      process->ops += frame->rows;
      note_last_op(frame, &process->last_ns);
      if (can_count) count_ops(cursor, frame, &steps, &process->ranges);
    } else if (table == TABLE_counters && can_count) {
      read_counters(cursor, frame, &steps, process);
    } else if (table == TABLE_profiler_windows && can_count) {
      count_windows(cursor, frame, &steps, process);
    } else if (table == TABLE_session_records && can_count) {
      count_sessions(cursor, frame, &strings, process);
    } else if (table == TABLE_triggers && can_count) {
      read_trigger(cursor, frame, &strings, process);
    } else if (table == TABLE_diagnostics && can_count) {
      read_diagnostics(cursor, frame, &strings, process);
    }
  }
  if (can_count) process->steps = recorded_steps_end(&steps, file, cursor);
  /* One that was going on as a recording by time ended is in its last window, and no step of it. */
  if (process->steps.steps && process->window_steps > process->steps.steps)
    process->window_steps = process->steps.steps;
  if (process->steps.knows_windows) process->window_steps = process->steps.in_windows;
  if (process->steps.in_part) add_note(process, STEPS_MARKED_IN_PART, process->steps.in_part);
  free(process->steps.in_part);
  process->steps.in_part = NULL;
  /* What went on when the last part of a recording begins is no step (ext/derive/steps/steps.c). */
  if (file->is_last_part && process->begins_late && process->steps.of_optimizer && process->steps.steps > 1)
    process->steps.steps--;
  if (cursor) dump_cursor_close(cursor);
  free_strings(&strings);
}

/* false: only those that are still written are wanted, and this one is not. */
static bool read_process(struct process_recording *process, bool is_alive_wanted) {
  struct dump_file *file;
  struct tfprof_error error;
  if (dump_file_open(process->path, &file, &error) != TFPROF_OK) {
    process->problem = strdup(error.message);
    return !is_alive_wanted;
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  process->pid = file->profile.pid;
  process->start_ticks = file->profile.process_start_ticks;
  process->is_alive = !file->is_closed && file->profile.pid && file->profile.host &&
                      strcmp(file->profile.host, host) == 0 && kill((pid_t)file->profile.pid, 0) == 0;
  if (is_alive_wanted && !process->is_alive) {
    dump_file_close(file);
    return false;
  }
  process->rank = file->profile.rank;
  process->command = file->profile.command ? strdup(file->profile.command) : NULL;
  const char *framework = file->profile.framework, *version = file->profile.framework_version;
  if (framework && *framework && asprintf(&process->framework, "%s %s", framework, version ? version : "") < 0)
    process->framework = NULL;
  process->bytes = file->file_bytes;
  process->is_closed = file->is_closed;
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
  return true;
}

static int by_ops(const void *a, const void *b) {
  const struct process_recording *x = a, *y = b;
  if (x->ops != y->ops) return x->ops < y->ops ? 1 : -1;
  return strcmp(x->path, y->path);
}

/* Takes the path over. false: no memory. */
static bool add_file(struct recording *recording, char *path, bool is_alive_wanted) {
  size_t count = recording->process_count;
  if (!path || !array_room(recording->processes, count, recording->process_capacity)) {
    free(path);
    return false;
  }
  struct process_recording *processes = recording->processes;
  processes[count] = (struct process_recording){.path = path};
  if (!read_process(&processes[count], is_alive_wanted)) {
    free(processes[count].problem);
    free(path);
    return true;
  }
  recording->process_count++;
  recording->ops += processes[count].ops;
  recording->ranges += processes[count].ranges;
  recording->kernels += processes[count].kernels;
  recording->window_steps += processes[count].window_steps;
  recording->session_runs += processes[count].session_runs;
  recording->dropped += processes[count].dropped;
  recording->bytes += processes[count].bytes;
  return true;
}

static bool is_same_process(const struct process_recording *a, const struct process_recording *b) {
  return a == b || (a->start_ticks && a->start_ticks == b->start_ticks && a->pid == b->pid);
}

/* Steps of one process in several files are added up; of several processes those of the one with most. */
static void conclude(struct recording *recording) {
  struct process_recording *all = recording->processes;
  size_t count = recording->process_count;
  if (count) qsort(all, count, sizeof *all, by_ops);
  for (size_t i = 0; i < count; i++) {
    struct step_counts steps = all[i].steps;
    size_t first = 0;
    while (!is_same_process(&all[first], &all[i])) first++;
    if (first < i) continue;
    recording->distinct_count++;
    for (size_t k = i + 1; k < count; k++) {
      if (!is_same_process(&all[i], &all[k])) continue;
      steps.steps += all[k].steps.steps;
      steps.with_ops += all[k].steps.with_ops;
    }
    if (steps.steps > recording->steps.steps) recording->steps = steps;
  }
}

static bool read_directory(const char *directory, bool is_alive_wanted, struct recording *recording) {
  memset(recording, 0, sizeof *recording);
  DIR *stream = opendir(directory);
  if (!stream) return false;
  bool is_complete = true;
  for (struct dirent *entry; is_complete && (entry = readdir(stream));) {
    char *path;
    if (!run_directory_is_dump(entry->d_name)) continue;
    if (asprintf(&path, "%s/%s", directory, entry->d_name) < 0) path = NULL;
    is_complete = add_file(recording, path, is_alive_wanted);
  }
  closedir(stream);
  conclude(recording);
  return is_complete;
}

bool recording_read(const char *directory, struct recording *recording) {
  return read_directory(directory, false, recording);
}

bool recording_read_alive(const char *directory, struct recording *recording) {
  return read_directory(directory, true, recording);
}

bool recording_read_files(const char *const *paths, size_t count, struct recording *recording) {
  memset(recording, 0, sizeof *recording);
  bool is_complete = true;
  for (size_t i = 0; i < count && is_complete; i++) is_complete = add_file(recording, strdup(paths[i]), false);
  conclude(recording);
  return is_complete;
}

void recording_free(struct recording *recording) {
  for (size_t i = 0; i < recording->process_count; i++) {
    free(recording->processes[i].path);
    free(recording->processes[i].problem);
    free(recording->processes[i].command);
    free(recording->processes[i].framework);
    free(recording->processes[i].trigger);
  }
  free(recording->processes);
  memset(recording, 0, sizeof *recording);
}
