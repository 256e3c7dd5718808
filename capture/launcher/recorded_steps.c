/* recorded_steps.c: see recorded_steps.h. */
#include "recorded_steps.h"

#include "base/list.h"
#include "schema/schema.h"
#include "steps/marked_calls.h"
#include "steps/step_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AT_ONCE = 65536, FEWEST_CALLS = 3, FEWEST_ASKED_CALLS = 1, MARGIN_NS = 1000 }; /* as in ext/derive/steps */
enum {
  NOT_ASKED,
  NO_MARK,
  OF_USER,
  OF_PROFILER,
  OF_ANNOTATION,
  OF_KERAS,
  OF_NVTX,
  OF_CALLS,
  TRAINING /* and from here on, by enum training_mark_kind */
};

const char *recorded_text(const struct recorded_strings *strings, int64_t id) {
  return id > 0 && (uint64_t)id < strings->room && strings->texts[id] ? strings->texts[id] : "";
}

void recorded_steps_begin(struct recorded_steps *steps, const struct recorded_strings *strings) {
  *steps = (struct recorded_steps){.strings = strings, .kinds = calloc(strings->room + 1, 1)};
  steps->has_failed = !steps->kinds;
}

/* Room for one more item at the end; NULL: no memory. */
static void *add_item(struct recorded_steps *steps, void *list, size_t *count, size_t *room, size_t size) {
  void *item = list_next(list, count, room, size);
  steps->has_failed |= !item;
  return item;
}

static uint16_t dump_id(unsigned table, unsigned column) { return schema_tables[table].columns[column].dump_id; }

/* One column of a frame; what is not there, or cannot be read, is `otherwise`. */
static bool read_column(struct dump_cursor *cursor, const struct dump_frame *frame, uint16_t its_id, int64_t otherwise,
                        int64_t *values, uint64_t *nulls) {
  const struct dump_block *block = dump_frame_block(frame, its_id);
  memset(nulls, 0, (frame->rows + 63) / 64 * sizeof *nulls);
  bool is_read = block && block->encoding != DUMP_REAL &&
                 dump_block_decode(cursor, frame, block, values, nulls, NULL) == TFPROF_OK;
  for (uint32_t row = 0; row < frame->rows; row++)
    if (!is_read || nulls[row / 64] >> (row % 64) & 1) values[row] = otherwise;
  return is_read;
}

/* ---- Marks. */

static uint8_t kind_of_name(struct recorded_steps *steps, int64_t name) {
  uint8_t *kind = name > 0 && (uint64_t)name < steps->strings->room ? &steps->kinds[name] : NULL;
  if (!kind) return NO_MARK;
  if (*kind != NOT_ASKED) return *kind;
  const char *text = recorded_text(steps->strings, name);
  int training = training_mark_kind(text);
  int64_t last;
  if (training >= 0) *kind = (uint8_t)(TRAINING + training);
  else if (step_mark_number(text, step_of_user) >= 0) *kind = OF_USER;
  else if (step_mark_number(text, step_of_profiler) >= 0) *kind = OF_PROFILER;
  else if (step_mark_number(text, step_of_annotation) >= 0) *kind = OF_ANNOTATION;
  else if (step_mark_numbers(text, step_of_keras, &last) >= 0) *kind = OF_KERAS;
  else if (is_repeated_call(text)) *kind = OF_CALLS;
  else *kind = step_word(text, strlen(text)) ? OF_NVTX : NO_MARK;
  return *kind;
}

struct op_columns {
  int64_t *threads, *ends, *durations, *optimizers, *range_kinds;
};

static void add_mark(struct recorded_steps *steps, uint8_t kind, int64_t name, const struct op_columns *of,
                     uint32_t row) {
  int64_t end = of->ends[row], start = (int64_t)((uint64_t)end - (uint64_t)of->durations[row]);
  if (of->threads[row] < 0 || of->durations[row] < 0 || (kind == OF_NVTX && of->range_kinds[row] < 0)) return;
  if (kind < TRAINING) {
    struct marked_step *step =
        add_item(steps, &steps->steps, &steps->step_count, &steps->step_room, sizeof *step);
    const char *text = recorded_text(steps->strings, name);
    uint8_t word = kind == OF_NVTX ? (uint8_t)step_word(text, strlen(text)) : 0;
    int64_t last, first = step_mark_numbers(text, step_of_keras, &last);
    uint32_t batches = first >= 0 && last - first < MOST_AT_ONCE ? (uint32_t)(last - first) + 1 : 1;
    uint32_t thread = (uint32_t)of->threads[row];
    if (step) *step = (struct marked_step){start, end, name, thread, steps->rows + row, batches, kind, word};
    return;
  }
  struct training_mark *mark = add_item(steps, &steps->marks, &steps->mark_count, &steps->mark_room, sizeof *mark);
  if (!mark) return;
  uint64_t object = (uint64_t)(of->optimizers[row] > 0 ? of->optimizers[row] : -1 - name);
  *mark = (struct training_mark){start, end, object, (uint32_t)of->threads[row], steps->rows + row,
                                 (uint8_t)(kind - TRAINING), false};
}

static bool is_of_user(const struct recorded_steps *steps, int64_t category) {
  return !strcmp(recorded_text(steps->strings, category), "user");
}

void recorded_steps_add_ops(struct recorded_steps *steps, struct dump_cursor *cursor, const struct dump_frame *frame,
                            const int64_t *names, const int64_t *categories) {
  uint32_t rows = frame->rows, first = 0;
  if (steps->has_failed) return;
  while (first < rows && (kind_of_name(steps, names[first]) == NO_MARK || !is_of_user(steps, categories[first])))
    first++;
  if (first < rows) {
    int64_t *values = calloc((size_t)rows * 5, sizeof *values);
    uint64_t *nulls = calloc((rows + 63) / 64, sizeof *nulls);
    struct op_columns of = {values, values + rows, values + 2 * (size_t)rows, values + 3 * (size_t)rows,
                            values + 4 * (size_t)rows};
    bool is_read = values && nulls &&
                   read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_thread_id), -1, of.threads, nulls) &&
                   read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_end_ns), -1, of.ends, nulls) &&
                   read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_dur_ns), -1, of.durations, nulls);
    if (is_read) {
      read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_optimizer), 0, of.optimizers, nulls);
      read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_range_kind), -1, of.range_kinds, nulls);
    }
    for (uint32_t row = first; is_read && row < rows; row++) {
      uint8_t kind = kind_of_name(steps, names[row]);
      if (kind != NO_MARK && is_of_user(steps, categories[row])) add_mark(steps, kind, names[row], &of, row);
    }
    free(values);
    free(nulls);
  }
  steps->rows += rows;
}

void recorded_steps_add_counter(struct recorded_steps *steps, const char *name, int64_t time_ns, double value) {
  steps->begins_late |= !strcmp(name, "capture_steps_before") && value > 0;
  if (!strcmp(name, "capture_step_cut")) {
    steps->is_cut = true;
    steps->cut_ns = time_ns;
  }
  if (strcmp(name, "capture_ops_recorded")) return;
  struct detail_change *change =
      add_item(steps, &steps->changes, &steps->change_count, &steps->change_room, sizeof *change);
  if (change) *change = (struct detail_change){time_ns, value != 0};
}

void recorded_steps_add_window(struct recorded_steps *steps, struct counted_window window) {
  struct counted_window *added =
      add_item(steps, &steps->windows, &steps->window_count, &steps->window_room, sizeof *added);
  if (added) *added = window;
}

/* ---- Whether ops were recorded in a step. */

static int changes_by_time(const void *left, const void *right) {
  const struct detail_change *a = left, *b = right;
  return a->time < b->time ? -1 : a->time > b->time;
}

static bool has_ops(const struct recorded_steps *steps, int64_t start, int64_t end) {
  size_t low = 0, high = steps->change_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (steps->changes[middle].time <= start) low = middle + 1; else high = middle;
  }
  if (!low || !steps->changes[low - 1].is_on) return false;
  for (; low < steps->change_count && steps->changes[low].time < end; low++)
    if (!steps->changes[low].is_on) return false;
  return true;
}

/* ---- Steps that are marked. */

static int by_thread_and_start(const void *left, const void *right) {
  const struct marked_step *a = left, *b = right;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->kind == OF_CALLS && a->name != b->name) return a->name < b->name ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* Of those of a kind, which are sorted, those that count are put to the front: of the thread that has most of them, or
** of NVTX of the thread and word that cover most time. How many. */
static size_t keep_one_series(struct marked_step *steps, size_t count) {
  size_t best = 0, kept = 0;
  double most = -1;
  uint8_t word = 0;
  for (size_t first = 0, end; first < count; first = end) {
    double covered[STEP_WORDS] = {0};
    for (end = first; end < count && steps[end].thread == steps[first].thread; end++)
      covered[steps[end].word] += steps[end].kind == OF_NVTX ? (double)(steps[end].end - steps[end].start) : 1;
    for (unsigned i = 0; i < STEP_WORDS; i++) {
      if (covered[i] <= most || covered[i] <= 0) continue;
      most = covered[i];
      best = first;
      word = (uint8_t)i;
    }
  }
  uint32_t thread = count ? steps[best].thread : 0;
  for (size_t i = best; i < count && steps[i].thread == thread; i++) {
    if (steps[i].word != word) continue;
    if (steps[i].kind == OF_NVTX && kept && steps[i].start < steps[kept - 1].end) continue; /* within another */
    steps[kept++] = steps[i];
  }
  return kept;
}

/* Whether rows begin in it on its thread: ranges, or others. */
struct activity {
  bool has_ranges, has_ops;
};

static void note_activity(struct activity *activity, const struct marked_step *step, uint32_t row, int64_t start,
                          bool is_range) {
  if (row == step->row || start < step->start || start >= step->end) return;
  if (is_range) activity->has_ranges = true;
  else activity->has_ops = true;
}

/* Whether nothing happens in the last of the marks, though it does in the one before: drop_empty_last of steps.c. */
static bool is_last_empty(const struct recorded_steps *steps, const struct dump_file *file, struct dump_cursor *cursor,
                          const struct marked_step *other) {
  const struct marked_step *last = other + 1;
  struct activity in_last = {false, false}, in_other = {false, false};
  uint32_t first_row = 0;
  for (size_t i = 0; i < file->frame_count; i++) {
    const struct dump_frame *frame = &file->frames[i];
    if (schema_table_of_dump_id(frame->table_dump_id) != TABLE_ops) continue;
    size_t rows = frame->rows;
    const struct dump_block *block = dump_frame_block(frame, dump_id(TABLE_ops, COLUMN_ops_end_ns));
    bool is_before = block && block->maximum < other->start;
    int64_t *values = is_before ? NULL : calloc(rows * 4, sizeof *values);
    uint64_t *nulls = is_before ? NULL : calloc((rows + 63) / 64, sizeof *nulls);
    bool is_read = values && nulls &&
                   read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_thread_id), -1, values, nulls) &&
                   read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_end_ns), 0, values + rows, nulls) &&
                   read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_dur_ns), 0, values + 2 * rows, nulls) &&
                   read_column(cursor, frame, dump_id(TABLE_ops, COLUMN_ops_category), 0, values + 3 * rows, nulls);
    for (uint32_t row = 0; is_read && row < rows; row++) {
      if (values[row] != last->thread) continue;
      int64_t start = (int64_t)((uint64_t)values[rows + row] - (uint64_t)values[2 * rows + row]);
      bool is_range = is_of_user(steps, values[3 * rows + row]);
      note_activity(&in_last, last, first_row + row, start, is_range);
      note_activity(&in_other, other, first_row + row, start, is_range);
    }
    free(values);
    free(nulls);
    first_row += frame->rows;
  }
  if (in_last.has_ops || in_last.has_ranges) return false;
  bool has_all = !steps->change_count || has_ops(steps, last->start, last->end);
  return in_other.has_ranges || (has_all && in_other.has_ops);
}

/* Whether what ends then is a whole step, or what begins then: see leave_out_cut of steps.c. */
static bool ends_whole(const struct recorded_steps *steps, int64_t end) {
  return !steps->is_cut || (double)end - (double)steps->cut_ns > MARGIN_NS;
}
static bool begins_whole(const struct recorded_steps *steps, int64_t start) {
  return !steps->is_cut || (double)start - (double)steps->cut_ns >= -MARGIN_NS;
}

static struct step_counts count_marked(const struct recorded_steps *steps, const struct marked_step *marked,
                                       size_t count) {
  struct step_counts counts = {.steps = 0};
  for (size_t i = 0; i < count; i++) {
    if (!begins_whole(steps, marked[i].start)) continue;
    counts.steps += marked[i].count;
    if (has_ops(steps, marked[i].start, marked[i].end)) counts.with_ops += marked[i].count;
  }
  return counts;
}

/* What is to be said of calls that lie in none of those that are marked, which are in order. */
static void count_beside(const struct recorded_steps *steps, const struct marked_step *marked, size_t count,
                         struct step_counts *counts) {
  struct marked_step_span *spans = count ? malloc(count * sizeof *spans) : NULL;
  struct step_call *calls = spans ? malloc((steps->step_count + 1) * sizeof *calls) : NULL;
  size_t call_count = 0;
  for (size_t i = 0; i < count && calls; i++)
    spans[i] = (struct marked_step_span){marked[i].start, marked[i].end};
  for (size_t i = 0; i < steps->step_count && calls; i++) {
    const struct marked_step *call = &steps->steps[i];
    if (call->kind == OF_CALLS && call->thread == marked[0].thread)
      calls[call_count++] = (struct step_call){call->start, (uint64_t)call->name};
  }
  if (calls) {
    struct marked_calls found = marked_calls_count(spans, count, calls, call_count);
    if (marked_calls_are_few(&found) &&
        asprintf(&counts->in_part, STEPS_MARKED_IN_PART_TEXT, found.beside, found.beside + found.within,
                 recorded_text(steps->strings, (int64_t)found.function)) < 0)
      counts->in_part = NULL;
  }
  free(spans);
  free(calls);
}

static int by_length(const void *left, const void *right) {
  const struct marked_step *a = left, *b = right;
  int64_t of_a = a->end - a->start, of_b = b->end - b->start;
  return of_a < of_b ? -1 : of_a > of_b;
}

static size_t calls_before(const struct marked_step *calls, size_t count, int64_t time) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (calls[middle].start < time) low = middle + 1; else high = middle;
  }
  return low;
}

/* How many of the steps, which are in order, lie in windows: as many begin in one as ended in it, or else end in it,
** too (ext/derive/steps/window_steps.c). */
static uint64_t count_in_windows(const struct recorded_steps *steps, const struct marked_step *marked, size_t count) {
  uint64_t in_windows = 0;
  for (size_t i = 0; i < steps->window_count; i++) {
    const struct counted_window *window = &steps->windows[i];
    size_t end = calls_before(marked, count, window->end), first = calls_before(marked, count, window->start);
    uint64_t within = end - first;
    if (end > first && within < (uint64_t)window->count && marked[end - 1].end > window->end) within--;
    in_windows += within < (uint64_t)window->count ? within : (uint64_t)window->count;
  }
  return in_windows;
}

/* In how many windows there are as many of the calls, which are in order, as steps ended in it. */
static size_t count_agreeing(const struct recorded_steps *steps, const struct marked_step *calls, size_t count) {
  size_t agreeing = 0;
  for (size_t i = 0; i < steps->window_count; i++) {
    const struct counted_window *window = &steps->windows[i];
    size_t within = calls_before(calls, count, window->end) - calls_before(calls, count, window->start);
    agreeing += (int64_t)within == window->count;
  }
  return agreeing;
}

/* Of calls, which are sorted: those of the function that agrees with most windows, then whose median call times the
** number of calls is largest, as in ext/derive/steps/repeated_calls.c. How many. */
static size_t keep_one_function(const struct recorded_steps *steps, struct marked_step *calls, size_t count) {
  size_t best = 0, best_count = 0, most_agreeing = 0, fewest = steps->begins_late ? FEWEST_ASKED_CALLS : FEWEST_CALLS;
  double most = 0;
  for (size_t first = 0, end; first < count; first = end) {
    size_t kept = first;
    for (end = first; end < count && calls[end].thread == calls[first].thread && calls[end].name == calls[first].name;
         end++) {
      if (kept > first && calls[end].start < calls[kept - 1].end) continue; /* within another of its name */
      calls[kept++] = calls[end];
    }
    if (kept - first < fewest) continue;
    size_t agreeing = count_agreeing(steps, calls + first, kept - first);
    qsort(calls + first, kept - first, sizeof *calls, by_length);
    const struct marked_step *middle = &calls[first + (kept - first) / 2];
    double covered = (double)(kept - first) * (double)(middle->end - middle->start);
    if (agreeing < most_agreeing || (agreeing == most_agreeing && covered <= most)) continue;
    most_agreeing = agreeing;
    most = covered;
    best = first;
    best_count = kept - first;
  }
  memmove(calls, calls + best, best_count * sizeof *calls);
  return best_count;
}

/* Those of a kind among the sorted ones: where they are, and how many count. */
static struct marked_step *find_kind(struct recorded_steps *steps, uint8_t kind, size_t *count) {
  size_t first = 0, end;
  while (first < steps->step_count && steps->steps[first].kind < kind) first++;
  for (end = first; end < steps->step_count && steps->steps[end].kind == kind;) end++;
  *count = end == first        ? 0
           : kind == OF_CALLS ? keep_one_function(steps, steps->steps + first, end - first)
                              : keep_one_series(steps->steps + first, end - first);
  return end > first ? steps->steps + first : NULL;
}

static struct step_counts choose(struct recorded_steps *steps, const struct dump_file *file, struct dump_cursor *cursor,
                                 const struct optimizer_steps *of_optimizers) {
  size_t count;
  struct marked_step *marked = find_kind(steps, OF_USER, &count);
  if (!count) {
    marked = find_kind(steps, OF_PROFILER, &count);
    if (of_optimizers->optimizers && count * 2 < of_optimizers->count) count = 0;
  }
  if (count) {
    if (count > 1 && is_last_empty(steps, file, cursor, &marked[count - 2])) count--;
    return count_marked(steps, marked, count);
  }
  marked = find_kind(steps, OF_ANNOTATION, &count);
  if (count) {
    struct step_counts counts = count_marked(steps, marked, count);
    counts.knows_windows = true;
    counts.in_windows = count_in_windows(steps, marked, count);
    count_beside(steps, marked, count, &counts);
    return counts;
  }
  marked = find_kind(steps, OF_KERAS, &count);
  if (count) return count_marked(steps, marked, count);
  if (!of_optimizers->optimizers) {
    marked = find_kind(steps, OF_NVTX, &count);
    if (!count) marked = find_kind(steps, OF_CALLS, &count);
    if (count || !of_optimizers->count) return count_marked(steps, marked, count);
  }
  struct step_counts counts = {.of_optimizer = !of_optimizers->by_batches};
  int64_t start = of_optimizers->first_start; /* or before, as where recording began */
  for (uint32_t i = 0; i < of_optimizers->count; i++) {
    int64_t end = of_optimizers->ends[i].end;
    bool is_whole = ends_whole(steps, end);
    counts.steps += is_whole;
    counts.with_ops += is_whole && has_ops(steps, start, end);
    start = end;
  }
  return counts;
}

struct step_counts recorded_steps_end(struct recorded_steps *steps, const struct dump_file *file,
                                      struct dump_cursor *cursor) {
  struct step_counts counts = {0};
  struct optimizer_steps of_optimizers = {.count = 0};
  void *room = steps->mark_count ? malloc(optimizer_steps_room((uint32_t)steps->mark_count)) : NULL;
  if (!steps->has_failed && (room || !steps->mark_count)) {
    if (room) optimizer_steps_find(steps->marks, (uint32_t)steps->mark_count, room, &of_optimizers);
    if (steps->step_count) qsort(steps->steps, steps->step_count, sizeof *steps->steps, by_thread_and_start);
    if (steps->change_count) qsort(steps->changes, steps->change_count, sizeof *steps->changes, changes_by_time);
    counts = choose(steps, file, cursor, &of_optimizers);
  }
  free(room);
  free(steps->kinds);
  free(steps->marks);
  free(steps->steps);
  free(steps->changes);
  free(steps->windows);
  *steps = (struct recorded_steps){.strings = steps->strings};
  return counts;
}
