/* steps.c: the table steps, from what the program marked or from when its optimizers stepped.
**
** Marks.  Rows of category `user` named tfprof.step#N are steps that the program marked with tfprof.step(N) (origin
** user), and those named ProfilerStep#N such that the user's own profiler marked (origin profiler); name, number and
** span are taken as they are.  Of several threads with marks the one with the most counts, and of several marks of one
** number at one time one (one_mark.h), which a diagnostic tells.  One whose end is not known ends where the next one
** begins, and is no step where it is the last.  Who marks the end of an iteration begins one more step with the last
** mark, in which nothing happens: it is no step when no row begins in it on its thread though some did in the step
** before.  Where the recording left the ops of the last one out, only ranges are looked at.  Rows of category `user`
** with a number of their own (ops.marked_step), as the profilers of TensorFlow and JAX have them, and those that our
** recorder calls StepTraceAnnotation#N or keras.step#N, are steps likewise (origin user; keras where it or its callback
** marks each batch; keras.step#FIRST-LAST stands for several batches that ran in one call, steps_per_execution: each
** has an equal share of its time, which a diagnostic tells); those that a TPU has itself, named Steps, come first
** (origin device), as its work is told by these.
**
** Optimizers.  PyTorch emits a row `Optimizer.step#<class>.step` for each optimizer step, profiler or not.  Which of
** them end iterations is said by steps/optimizer_steps.h (origin optimizer, or batch where optimizers take turns from
** batch to batch, or none steps and nothing else marks steps), and which optimizer it was by ops.optimizer.  A step is
** the period from one end to the next: what the program does between the end and its first op of the next iteration,
** which is loading data as a rule, belongs to the iteration that waits for it.  Numbers count from 0, of a
** recording of a program that ran already from how many had ended (capture_steps_before), so that those of two such
** recordings go on.  What follows the last optimizer step is no step, nor is what a recording that began within one
** (capture_step_cut) has of it.
**
** NVTX.  Where there is neither mark nor optimizer, ranges that NVTX marked and that are called as the field calls its
** steps (step 3, Iteration_3, train_step, [pl][profile]run_training_batch; steps/step_words.h) are the steps (origin
** nvtx), their spans taken as they are.  Of several words, or threads, the one whose ranges cover most time, which what
** lies around others does.  The number is that in the name, or else the place among them.
**
** Marks or optimizers.  Marks are what the user says and win, those of tfprof.step() first.  The profiler's do not
** where the optimizers saw more than twice as many steps: then they cover a window only.
**
** Serving.  Of a server of models the batches that it makes of requests are the steps (origin serving), of all its
** threads, and the requests where it makes none (served_steps.h): they overlap, and what each caused contexts tell
** (connected_steps.c).
**
** Repetition.  Where there is none of these, and no optimizer, the calls of one compiled function are taken for them
** (repeated_calls.h; origin repetition): periods as of optimizers, of JAX from call to call, which a diagnostic tells.
** In a recording of ours they go before the batches of PyTorch's loaders.
**
** Windows.  What the recorder took between two steps to open or close one of the framework's own profiler is in neither
** of them (window_stops.h), but in steps.paused_ns.
**
** The first step has no end before it.  It begins as the second one does: if that begins with an outermost op A and
** has k of them, the first begins at the k-th last outermost A before its own end, so that setting up the model is
** left out. Where there is no such op it begins with the first op on the thread.  Outermost is what no other row that
** ends with these two steps is around: neither frames of Python count nor ranges around the whole loop.
*/
#include "derive/passes.h"
#include "derive/rows.h"
#include "derive/steps/one_mark.h"
#include "derive/steps/optimizer_marks.h"
#include "derive/steps/repeated_calls.h"
#include "derive/steps/sampling.h"
#include "derive/steps/served_steps.h"
#include "derive/steps/window_steps.h"
#include "derive/steps/window_stops.h"
#include "steps/marked_calls.h"
#include "steps/step_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AT_ONCE = 65536 /* steps that one mark stands for */, MOST_SPREAD = 1 << 24 /* steps in all */ };

/* Times of a damaged file may be further apart than 64 bits can say. */
static double distance(int64_t from, int64_t to) { return (double)to - (double)from; }

/* ---- finding marks ---- */

enum mark_kind {
  UNKNOWN,
  OTHER,
  USER_STEP,
  PROFILER_STEP,
  NUMBERED_STEP,
  KERAS_STEP,
  NVTX_STEP,
  DEVICE_STEP,
  OPTIMIZER_STEP,
  BATCH_STEP, /* of optimizers that take turns */
  SERVED_STEP,
  REPEATED_CALL,
  KIND_COUNT
};

/* Which of the words for steps a name has, from 1 on; 0: none. */
static unsigned word_of(const char *name) { return step_word(name, strlen(name)); }

/* That our recorder wrote into the name; -1: none. */
static int64_t recorded_number(const char *name) {
  int64_t last, number = step_mark_number(name, step_of_annotation);
  return number >= 0 ? number : step_mark_numbers(name, step_of_keras, &last);
}

static enum mark_kind kind_of_name(const char *name) {
  if (step_mark_number(name, step_of_user) >= 0) return USER_STEP;
  if (step_mark_number(name, step_of_profiler) >= 0) return PROFILER_STEP;
  if (step_mark_number(name, step_of_annotation) >= 0) return NUMBERED_STEP;
  if (recorded_number(name) >= 0 || strcmp(name, "Profiled batch") == 0) return KERAS_STEP;
  if (strcmp(name, "Steps") == 0) return DEVICE_STEP;
  return word_of(name) ? NVTX_STEP : OTHER;
}

static bool is_of_nvtx(const struct segment *segment, uint32_t row) {
  int64_t range_kind;
  derive_integers(segment->columns[COLUMN_ops_range_kind], row, 1, &range_kind);
  return range_kind != NO_VALUE;
}

/* `lists` by kind. */
static enum tfprof_status find_step_marks(struct profile *profile, struct mark_list *lists,
                                          struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  struct pool *pool = store_pool(profile->store);
  string_id user = derive_known_text(profile, "user");
  uint32_t thread_count;
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &thread_count, error);
  uint8_t *kinds = scratch_allocate_zeroed((size_t)pool_count(pool) + 1, 1); /* enum mark_kind by name */
  if (!kinds) status = error_no_memory(error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    uint32_t row = segment->is_of_other_kind ? segment->rows : derive_find_text(categories, 0, user);
    for (; row < segment->rows && !status; row = derive_find_text(categories, row + 1, user)) {
      struct mark mark = {.row = (uint32_t)segment->first_row + row};
      derive_texts(segment->columns[COLUMN_ops_name], row, 1, &mark.name);
      if (!mark.name) continue;
      uint8_t *kind = &kinds[mark.name];
      if (*kind == UNKNOWN) *kind = (uint8_t)kind_of_name(pool_text(pool, mark.name));
      derive_integers(segment->columns[COLUMN_ops_marked_step], row, 1, &mark.number);
      bool is_numbered = mark.number != NO_VALUE;
      enum mark_kind found = (enum mark_kind)*kind;
      if (found == NVTX_STEP && !is_of_nvtx(segment, row)) found = OTHER;
      if (!is_numbered && (found == NUMBERED_STEP || found == KERAS_STEP)) {
        mark.number = recorded_number(pool_text(pool, mark.name));
        is_numbered = mark.number >= 0;
      }
      if (found == OTHER && is_numbered) found = NUMBERED_STEP;
      if (found == OTHER || ((found == KERAS_STEP || found == DEVICE_STEP) && !is_numbered)) continue;
      derive_references(segment->columns[COLUMN_ops_thread_id], row, 1, thread_count, &mark.thread);
      derive_integers(segment->columns[COLUMN_ops_start_ns], row, 1, &mark.start);
      derive_integers(segment->columns[COLUMN_ops_end_ns], row, 1, &mark.end);
      bool is_open = mark.end == NO_VALUE && found != NVTX_STEP;
      if (mark.thread == NO_ROW || mark.start == NO_VALUE || (mark.end < mark.start && !is_open)) continue;
      if (!mark_list_add(&lists[found], mark)) status = error_no_memory(error);
    }
    if (!status) status = derive_poll(profile, error);
  }
  scratch_free(kinds);
  return status;
}

/* ---- choosing ---- */

static int by_thread_and_start(const void *left, const void *right) {
  const struct mark *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

struct activity { /* rows that begin on a thread between two times */
  bool has_ranges, has_ops;
};

static inline void note_activity(struct activity *activity, const struct mark *mark, uint32_t row, int64_t start,
                                 bool is_range) {
  if (row == mark->row || start < mark->start || start >= mark->end) return;
  if (is_range) activity->has_ranges = true;
  else activity->has_ops = true;
}

/* Marks whose end is not known end where the next one begins, as steps follow one another; the last one is no step. */
static void end_open_marks(struct mark_list *list) {
  for (uint32_t i = 0; i + 1 < list->count; i++)
    if (list->items[i].end == NO_VALUE) list->items[i].end = list->items[i + 1].start;
  if (list->count && list->items[list->count - 1].end == NO_VALUE) list->count--;
}

/* Takes the last mark away when nothing happened in it. */
static enum tfprof_status drop_empty_last(struct profile *profile, struct mark_list *list, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  struct activity in_last = {.has_ops = false}, in_other = {.has_ops = false};
  if (list->count < 2) return TFPROF_OK;
  const struct mark *last = &list->items[list->count - 1], *other = last - 1;
  string_id user = derive_known_text(profile, "user");
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      uint32_t threads[ROWS_BLOCK];
      string_id categories[ROWS_BLOCK];
      int64_t starts[ROWS_BLOCK], earliest, latest;
      derive_integers(segment->columns[COLUMN_ops_start_ns], first, count, starts);
      if (derive_range(starts, count, &earliest, &latest) && (latest < other->start || earliest > last->end)) continue;
      derive_references(segment->columns[COLUMN_ops_thread_id], first, count, NO_ROW, threads);
      derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      for (uint32_t i = 0; i < count; i++) {
        if (threads[i] != last->thread || starts[i] == NO_VALUE) continue;
        uint32_t row = (uint32_t)segment->first_row + first + i;
        note_activity(&in_last, last, row, starts[i], categories[i] == user);
        note_activity(&in_other, other, row, starts[i], categories[i] == user);
      }
    }
    enum tfprof_status status = derive_poll(profile, error);
    if (status || in_last.has_ops || in_last.has_ranges) return status;
  }
  struct sampling sampling;
  enum tfprof_status status = sampling_load(&sampling, profile, error);
  if (status) return status;
  bool has_all = !sampling.recorded.count || sampling_covers(&sampling, last->start, last->end);
  if (in_other.has_ranges || (has_all && in_other.has_ops)) list->count--;
  sampling_free(&sampling);
  return TFPROF_OK;
}

/* ---- where the first step begins ---- */

struct outermost {
  int64_t start, end;
  uint32_t row;
  string_id name;
};

static int by_begin(const void *left, const void *right) {
  const struct outermost *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  if (a->end != b->end) return a->end > b->end ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

/* Keeps those that no other one is around. */
static uint32_t keep_outermost(struct outermost *rows, uint32_t count) {
  uint32_t kept = 0;
  if (count) qsort(rows, count, sizeof *rows, by_begin);
  for (uint32_t i = 0; i < count; i++)
    if (!kept || rows[i].end > rows[kept - 1].end || rows[i].start >= rows[kept - 1].end) rows[kept++] = rows[i];
  return kept;
}

/* The outermost rows of a thread that end by `limit`, by their beginning. The caller frees *found. */
static enum tfprof_status find_outermost(struct profile *profile, uint32_t thread, int64_t limit,
                                         struct outermost **found, uint32_t *found_count, struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  string_id python = derive_known_text(profile, "python");
  uint32_t used = 0, capacity = 0;
  struct outermost *rows = NULL;
  for (size_t s = 0; s < ops->segment_count; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *start = segment->columns[COLUMN_ops_start_ns];
    if (start->form == COLUMN_ARRAY && start->base > limit) continue; /* most segments: all of it is later */
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first);
      uint32_t threads[ROWS_BLOCK];
      int64_t starts[ROWS_BLOCK], ends[ROWS_BLOCK], earliest, latest;
      string_id names[ROWS_BLOCK], categories[ROWS_BLOCK];
      derive_integers(segment->columns[COLUMN_ops_end_ns], first, count, ends);
      if (derive_range(ends, count, &earliest, &latest) && earliest > limit) continue;
      derive_references(segment->columns[COLUMN_ops_thread_id], first, count, NO_ROW, threads);
      derive_texts(segment->columns[COLUMN_ops_category], first, count, categories);
      derive_integers(segment->columns[COLUMN_ops_start_ns], first, count, starts);
      derive_texts(segment->columns[COLUMN_ops_name], first, count, names);
      for (uint32_t i = 0; i < count; i++) {
        if (threads[i] != thread || categories[i] == python || starts[i] == NO_VALUE || ends[i] > limit) continue;
        if (used == capacity) {
          uint32_t larger = capacity ? capacity * 2 : 1024;
          struct outermost *grown = scratch_resize(rows, (size_t)larger * sizeof *rows);
          if (!grown) {
            scratch_free(rows);
            return error_no_memory(error);
          }
          rows = grown;
          capacity = larger;
        }
        rows[used++] = (struct outermost){starts[i], ends[i], (uint32_t)segment->first_row + first + i, names[i]};
      }
      enum tfprof_status status = derive_poll(profile, error);
      if (status) {
        scratch_free(rows);
        return status;
      }
    }
  }
  *found = rows;
  *found_count = keep_outermost(rows, used);
  return TFPROF_OK;
}

/* `second` is NULL when there is only one step. */
static enum tfprof_status find_first_start(struct profile *profile, const struct mark *first, const struct mark *second,
                                           int64_t *start, struct tfprof_error *error) {
  struct outermost *rows = NULL;
  uint32_t count, i, seen = 0, wanted = 0;
  int64_t limit = second ? second->end : first->end;
  enum tfprof_status status = find_outermost(profile, first->thread, limit, &rows, &count, error);
  if (status) return status;
  *start = count && rows[0].start < first->start ? rows[0].start : first->start;
  for (i = 0; i < count && rows[i].start < first->end;) i++;
  if (second && i < count && rows[i].start < second->end) {
    string_id name = rows[i].name; /* what the second step begins with */
    for (uint32_t k = i; k < count && rows[k].start < second->end; k++) wanted += rows[k].name == name;
    while (i-- > 0 && seen < wanted) {
      if (rows[i].name != name || rows[i].start >= first->start) continue;
      *start = rows[i].start;
      seen++;
    }
  }
  scratch_free(rows);
  return TFPROF_OK;
}

/* ---- where a recording begins within a step ---- */

static enum tfprof_status name_step(struct profile *profile, struct step *step, int64_t number,
                                    struct tfprof_error *error) {
  char name[40];
  step->number = number;
  snprintf(name, sizeof name, "step %lld", (long long)number);
  return derive_text(profile, name, &step->name, error);
}

/* What a step is: its mark; from one mark to the end of the next; from a call to the next one's beginning. */
enum shape { AS_MARKED, FROM_END_TO_END, FROM_CALL_TO_CALL };

/* One that began within a step has whole ones from its end on. Of those that are not marked the numbers are those that
** the recorder counted. */
static enum tfprof_status leave_out_cut(struct profile *profile, enum shape shape, struct step *steps, uint32_t *count,
                                        struct tfprof_error *error) {
  enum { MARGIN_NS = 1000 }; /* the same moment, of several notes */
  int64_t until_ns, before;
  enum tfprof_status status = sampling_cut_until(profile, &until_ns, &before, error);
  if (status || until_ns < INT64_MIN + MARGIN_NS || until_ns > INT64_MAX - MARGIN_NS) return status;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < *count && !status; i++) {
    struct step step = steps[i];
    bool is_whole = shape != FROM_END_TO_END ? step.start >= until_ns - MARGIN_NS : step.end > until_ns + MARGIN_NS;
    if (!is_whole) continue;
    if (step.start < until_ns) step.start = until_ns;
    if (shape != AS_MARKED) status = name_step(profile, &step, before + kept, error);
    steps[kept++] = step;
  }
  *count = kept;
  return status;
}

/* ---- the last part of a recording ---- */

/* What goes on when it begins is no whole step, and the others have the numbers that they have in the whole. */
static enum tfprof_status number_kept(struct profile *profile, struct step *steps, uint32_t *count,
                                      struct tfprof_error *error) {
  int64_t from_ns, before;
  enum tfprof_status status = sampling_kept_from(profile, &from_ns, &before, error);
  if (status || from_ns == NO_VALUE || !*count) return status;
  uint32_t ended = 0;
  while (ended < *count && steps[ended].end <= from_ns) ended++;
  if (before && ended >= before) return TFPROF_OK; /* they are all there */
  uint32_t left_out = ended < *count && *count > 1 ? ended + 1 : 0;
  for (uint32_t i = left_out; i < *count && !status; i++) {
    struct step *step = &steps[i - left_out];
    *step = steps[i];
    status = name_step(profile, step, before + (int64_t)i - ended, error);
  }
  *count -= left_out;
  return status;
}

/* ---- making the table ---- */

/* How many steps of the program had ended before the recording began. */
static enum tfprof_status count_before(const struct profile *profile, int64_t *before, struct tfprof_error *error) {
  struct sampling sampling;
  enum tfprof_status status = sampling_load(&sampling, profile, error);
  if (status) return status;
  double steps = sampling_steps_before(&sampling);
  *before = steps < 1e15 ? (int64_t)steps : 0;
  sampling_free(&sampling);
  return TFPROF_OK;
}

/* Steps from one end to the next. `first_mark`: when the range that ends the first one begins, and with `has_start`
** this step. */
static enum tfprof_status steps_of_ends(struct profile *profile, const struct step_end *ends, uint32_t count,
                                        int64_t first_mark, bool has_start, struct step *steps,
                                        struct tfprof_error *error) {
  int64_t before = 0;
  const struct mark first = {.start = first_mark, .end = ends[0].end, .thread = ends[0].thread};
  const struct mark second = {.start = ends[count > 1].end, .end = ends[count > 1].end};
  int64_t start = first_mark;
  enum tfprof_status status = count_before(profile, &before, error);
  if (!status && !has_start) status = find_first_start(profile, &first, count > 1 ? &second : NULL, &start, error);
  for (uint32_t i = 0; i < count && !status; i++) {
    char name[32];
    snprintf(name, sizeof name, "step %lld", (long long)before + i);
    steps[i] = (struct step){.number = before + i, .start = start, .end = ends[i].end, .thread = ends[i].thread};
    status = derive_text(profile, name, &steps[i].name, error);
    start = ends[i].end;
  }
  return status;
}

static bool has_numbers(enum mark_kind kind) {
  return kind == NUMBERED_STEP || kind == KERAS_STEP || kind == DEVICE_STEP || kind == SERVED_STEP;
}

/* Marks that stand for several batches become as many, each with an equal share of the time. */
static enum tfprof_status spread_batches(struct profile *profile, struct mark_list *list, struct tfprof_error *error) {
  struct mark_list spread = {.count = 0};
  uint32_t executions = 0, batches = 0;
  bool has_memory = true;
  for (uint32_t i = 0; i < list->count && has_memory; i++) {
    struct mark mark = list->items[i];
    int64_t last = mark.number, start = mark.start;
    if (step_mark_numbers(pool_text(store_pool(profile->store), mark.name), step_of_keras, &last) < 0 ||
        last - mark.number >= MOST_AT_ONCE || spread.count >= MOST_SPREAD)
      last = mark.number;
    double share = distance(start, list->items[i].end) / (double)(last - mark.number + 1);
    if (last > mark.number) {
      executions++;
      batches += (uint32_t)(last - mark.number) + 1;
    }
    for (int64_t first = mark.number; mark.number <= last && has_memory; mark.number++) {
      double its_end = share * (double)(mark.number - first + 1);
      mark.end = mark.number == last ? list->items[i].end : start + (int64_t)its_end;
      has_memory = mark_list_add(&spread, mark);
      mark.start = mark.end;
    }
  }
  if (has_memory && executions) {
    struct mark_list before = *list;
    *list = spread;
    spread = before;
    profile_diagnose_once(profile, "info", "batches_at_once",
                          "%u batches ran in %u calls (steps_per_execution): each has an equal share of the time of "
                          "its call", batches, executions);
  }
  scratch_free(spread.items);
  return has_memory ? TFPROF_OK : error_no_memory(error);
}

static enum tfprof_status steps_of_marks(struct profile *profile, const struct mark_list *list, enum mark_kind kind,
                                         struct step *steps, struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (uint32_t i = 0; i < list->count && !status; i++) {
    const struct mark *mark = &list->items[i];
    const char *text = pool_text(store_pool(profile->store), mark->name);
    int64_t number = has_numbers(kind)    ? mark->number
                     : kind == USER_STEP ? step_mark_number(text, step_of_user)
                                         : step_mark_number(text, step_of_profiler);
    steps[i] = (struct step){number, mark->start, mark->end, mark->thread, mark->name};
    if (!has_numbers(kind)) continue;
    char name[256];
    int length = recorded_number(text) >= 0 ? (int)strcspn(text, "#") : 200;
    snprintf(name, sizeof name, "%.*s %lld", length, text, (long long)number);
    status = derive_text(profile, name, &steps[i].name, error);
  }
  return status;
}

/* The marks that are steps. */
static enum mark_kind choose_marks(const struct mark_list *lists, const struct optimizer_steps *of_optimizers) {
  if (lists[USER_STEP].count) return USER_STEP;
  uint32_t of_profiler = lists[PROFILER_STEP].count;
  bool has_optimizers = of_optimizers->optimizers != 0;
  if (of_profiler && (!has_optimizers || (uint64_t)of_profiler * 2 >= of_optimizers->count)) return PROFILER_STEP;
  if (lists[DEVICE_STEP].count) return DEVICE_STEP;
  if (lists[NUMBERED_STEP].count) return NUMBERED_STEP;
  if (lists[KERAS_STEP].count) return KERAS_STEP;
  if (has_optimizers) return of_optimizers->by_batches ? BATCH_STEP : OPTIMIZER_STEP;
  if (lists[NVTX_STEP].count) return NVTX_STEP;
  if (of_optimizers->count) return BATCH_STEP;
  return lists[SERVED_STEP].count ? SERVED_STEP : REPEATED_CALL;
}

/* Keeps those of one word on one thread, in their order. */
static void keep_one_word(const struct profile *profile, struct mark_list *list) {
  const struct pool *pool = store_pool(profile->store);
  double best = -1;
  uint32_t thread = 0, kept = 0;
  unsigned word = 0;
  if (list->count) qsort(list->items, list->count, sizeof *list->items, by_thread_and_start);
  for (uint32_t first = 0, end; first < list->count; first = end) {
    double covered[STEP_WORDS] = {0};
    for (end = first; end < list->count && list->items[end].thread == list->items[first].thread; end++)
      covered[word_of(pool_text(pool, list->items[end].name))] +=
          distance(list->items[end].start, list->items[end].end);
    for (unsigned i = 1; i < STEP_WORDS; i++) {
      if (covered[i] <= best || covered[i] <= 0) continue;
      best = covered[i];
      word = i;
      thread = list->items[first].thread;
    }
  }
  for (uint32_t i = 0; i < list->count; i++) {
    const struct mark *mark = &list->items[i];
    if (mark->thread != thread || word_of(pool_text(pool, mark->name)) != word) continue;
    if (kept && mark->start < list->items[kept - 1].end) continue; /* one within another of the same name */
    list->items[kept++] = *mark;
  }
  list->count = kept;
}

/* The number at the end of the name; without one `otherwise`. */
static int64_t number_at_end(const char *name, int64_t otherwise) {
  size_t length = strlen(name), first = length;
  int64_t number = 0;
  while (first && isdigit((unsigned char)name[first - 1])) first--;
  for (size_t i = first; i < length; i++) {
    if (number > INT64_MAX / 10 - 1) return otherwise;
    number = number * 10 + (name[i] - '0');
  }
  return first < length ? number : otherwise;
}

static void steps_of_nvtx(const struct profile *profile, const struct mark_list *list, struct step *steps) {
  for (uint32_t i = 0; i < list->count; i++) {
    const struct mark *mark = &list->items[i];
    int64_t number = number_at_end(pool_text(store_pool(profile->store), mark->name), i);
    steps[i] = (struct step){number, mark->start, mark->end, mark->thread, mark->name};
  }
}

/* Steps are without what the recorder took to open and close windows. */
static enum tfprof_status leave_out_stops(struct profile *profile, struct step *steps, uint32_t count, enum shape shape,
                                          struct tfprof_error *error) {
  struct window_stops stops;
  if (!window_steps_are_told(profile) || !count) return TFPROF_OK;
  enum tfprof_status status = window_stops_load(&stops, profile, error);
  int64_t *paused = status ? NULL : scratch_allocate(count * sizeof *paused);
  if (!status && !paused) status = error_no_memory(error);
  if (!status) {
    if (shape != AS_MARKED) window_stops_part(&stops, steps, count, shape == FROM_CALL_TO_CALL);
    window_stops_before(&stops, steps, count, paused);
    status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_paused_ns, paused, error);
  }
  scratch_free(paused);
  window_stops_free(&stops);
  return status;
}

static enum tfprof_status set_steps(struct profile *profile, struct step *steps, uint32_t count,
                                    const char *origin_name, enum shape shape, struct tfprof_error *error) {
  int64_t *numbers = scratch_allocate(4 * (size_t)count * sizeof *numbers);
  uint32_t *names = scratch_allocate(3 * (size_t)count * sizeof *names);
  enum tfprof_status status = numbers && names ? TFPROF_OK : error_no_memory(error);
  string_id origin = 0;
  if (!status) status = derive_text(profile, origin_name, &origin, error);
  if (!status) status = derive_make_table(profile, TABLE_steps, count, error);
  if (!status) status = leave_out_stops(profile, steps, count, shape, error);
  if (!status) {
    int64_t *starts = numbers + count, *ends = starts + count, *durations = ends + count;
    uint32_t *threads = names + count, *origins = threads + count;
    for (uint32_t i = 0; i < count; i++) {
      numbers[i] = steps[i].number;
      starts[i] = steps[i].start;
      ends[i] = steps[i].end;
      durations[i] = (int64_t)((uint64_t)ends[i] - (uint64_t)starts[i]);
      names[i] = steps[i].name;
      threads[i] = steps[i].thread;
      origins[i] = origin;
    }
    status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_number, numbers, error);
    if (!status) status = derive_set_texts(profile, TABLE_steps, COLUMN_steps_name, names, error);
    if (!status) status = derive_set_texts(profile, TABLE_steps, COLUMN_steps_origin, origins, error);
    if (!status) status = derive_set_references(profile, TABLE_steps, COLUMN_steps_thread_id, threads, error);
    if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_start_ns, starts, error);
    if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_end_ns, ends, error);
    if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_dur_ns, durations, error);
  }
  scratch_free(numbers);
  scratch_free(names);
  return status;
}

static const char *const repetition[] = {
    "info", "steps_by_repetition",
    "no step is marked: the calls of one compiled function stand for steps; mark them with tfprof.step() in a "
    "recording, jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace(..., step_num=i, _r=1)",
    NULL};

/* The calls that stand for steps: each ends one. */
static enum tfprof_status steps_of_calls(struct profile *profile, const struct mark_list *list, bool has_start,
                                         struct step *steps, struct tfprof_error *error) {
  struct step_end *ends = scratch_allocate(list->count * sizeof *ends);
  if (!ends) return error_no_memory(error);
  for (uint32_t i = 0; i < list->count; i++)
    ends[i] = (struct step_end){list->items[i].end, list->items[i].thread, list->items[i].row};
  enum tfprof_status status =
      steps_of_ends(profile, ends, list->count, list->items[0].start, has_start, steps, error);
  scratch_free(ends);
  return status;
}

/* Of a recording in which the program marks a few of its steps only. */
static enum tfprof_status tell_marked_in_part(struct profile *profile, const struct mark_list *marks,
                                              struct tfprof_error *error) {
  struct mark_list list = {.count = 0};
  if (!marks->count || strcmp(profile_origin(profile), "tfprof") != 0) return TFPROF_OK;
  enum tfprof_status status = list_repeated_calls(profile, &list, error);
  struct marked_step_span *spans = scratch_allocate(marks->count * sizeof *spans);
  struct step_call *calls = scratch_allocate(((size_t)list.count + 1) * sizeof *calls);
  uint32_t count = 0;
  if (!status && (!spans || !calls)) status = error_no_memory(error);
  for (uint32_t i = 0; i < marks->count && !status; i++)
    spans[i] = (struct marked_step_span){marks->items[i].start, marks->items[i].end};
  for (uint32_t i = 0; i < list.count && !status; i++)
    if (list.items[i].thread == marks->items[0].thread)
      calls[count++] = (struct step_call){list.items[i].start, list.items[i].name};
  if (!status) {
    struct marked_calls found = marked_calls_count(spans, marks->count, calls, count);
    if (marked_calls_are_few(&found))
      profile_diagnose_once(profile, "warning", STEPS_MARKED_IN_PART, STEPS_MARKED_IN_PART_TEXT, found.beside,
                            found.beside + found.within,
                            pool_text(store_pool(profile->store), (string_id)found.function));
  }
  scratch_free(spans);
  scratch_free(calls);
  scratch_free(list.items);
  return status;
}

static enum tfprof_status find_calls_of_steps(struct profile *profile, struct mark_list *list, bool *last_until_next,
                                              struct tfprof_error *error) {
  int64_t before = 0;
  enum tfprof_status status = count_before(profile, &before, error);
  uint32_t fewest = before ? FEWEST_ASKED_CALLS : FEWEST_CALLS;
  return status ? status : find_repeated_calls(profile, fewest, list, last_until_next, error);
}

static enum tfprof_status run_steps(struct profile *profile, struct tfprof_error *error) {
  static const char *const origins[KIND_COUNT] = {
      [USER_STEP] = "user",   [PROFILER_STEP] = "profiler", [NUMBERED_STEP] = "user",       [KERAS_STEP] = "keras",
      [NVTX_STEP] = "nvtx",   [DEVICE_STEP] = "device",     [OPTIMIZER_STEP] = "optimizer", [BATCH_STEP] = "batch",
      [REPEATED_CALL] = "repetition", [SERVED_STEP] = "serving"};
  struct mark_list lists[KIND_COUNT] = {{.count = 0}};
  uint32_t repeated[KIND_COUNT] = {0};
  struct optimizer_marks optimizers = {.room = NULL};
  struct step *steps = NULL;
  if (!profile->tables[TABLE_steps].is_made) return TFPROF_OK; /* the source knows its steps */
  enum tfprof_status status = find_step_marks(profile, lists, error);
  if (!status) status = find_served_steps(profile, &lists[SERVED_STEP], error);
  if (!status) status = optimizer_marks_find(profile, &optimizers, error);
  if (!status) {
    for (int kind = USER_STEP; kind < OPTIMIZER_STEP; kind++) {
      if (kind == NVTX_STEP) keep_one_word(profile, &lists[kind]);
      else if (!status && !marks_keep_one(&lists[kind], kind == DEVICE_STEP, &repeated[kind]))
        status = error_no_memory(error);
      end_open_marks(&lists[kind]);
    }
  }
  if (!status) {
    enum mark_kind kind = choose_marks(lists, &optimizers.steps);
    if (kind == USER_STEP || kind == PROFILER_STEP) status = drop_empty_last(profile, &lists[kind], error);
    bool has_start = false;
    if (!status && kind == KERAS_STEP) status = spread_batches(profile, &lists[kind], error);
    bool is_loader = kind == BATCH_STEP && !optimizers.steps.optimizers && !strcmp(profile_origin(profile), "tfprof");
    if (!status && (kind == REPEATED_CALL || is_loader))
      status = find_calls_of_steps(profile, &lists[REPEATED_CALL], &has_start, error);
    if (is_loader && lists[REPEATED_CALL].count) kind = REPEATED_CALL;
    bool is_of_optimizers = kind == OPTIMIZER_STEP || kind == BATCH_STEP;
    uint32_t count = is_of_optimizers ? optimizers.steps.count : lists[kind].count;
    steps = scratch_allocate(((size_t)count + 1) * sizeof *steps);
    if (status || !steps) {
      if (!status) status = error_no_memory(error);
    } else if (kind == NVTX_STEP) {
      steps_of_nvtx(profile, &lists[kind], steps);
    } else if (is_of_optimizers) {
      const struct optimizer_steps *found = &optimizers.steps;
      status = steps_of_ends(profile, found->ends, count, found->first_start, !found->optimizers, steps, error);
    } else if (kind == REPEATED_CALL && count) {
      status = steps_of_calls(profile, &lists[kind], has_start, steps, error);
    } else {
      status = steps_of_marks(profile, &lists[kind], kind, steps, error);
    }
    bool are_counted = is_of_optimizers || kind == REPEATED_CALL;
    enum shape shape = !are_counted ? AS_MARKED : has_start ? FROM_CALL_TO_CALL : FROM_END_TO_END;
    if (!status && are_counted) status = number_kept(profile, steps, &count, error);
    if (!status) status = leave_out_cut(profile, shape, steps, &count, error);
    if (!status && count) status = set_steps(profile, steps, count, origins[kind], shape, error);
    if (!status && is_of_optimizers) optimizer_marks_diagnose(profile, &optimizers);
    if (!status && kind == NUMBERED_STEP) status = tell_marked_in_part(profile, &lists[kind], error);
    if (!status && repeated[kind])
      profile_diagnose_once(profile, "warning", "repeated_step_marks",
                            "%u marks of steps have the number of another one at the same time (copies, such as of a "
                            "file merged with itself, cut ones, ones within it, ones on another thread or of another "
                            "rank): a number counts once at a time", repeated[kind]);
    if (!status && count && kind == REPEATED_CALL)
      profile_diagnose_once(profile, repetition[0], repetition[1], "%s", repetition[2]);
  }
  optimizer_marks_free(&optimizers);
  scratch_free(steps);
  for (int kind = 0; kind < KIND_COUNT; kind++) scratch_free(lists[kind].items);
  return status;
}

const struct derive_pass derive_steps = {
    .name = "steps",
    .summary =
        "Steps as the program or the user's profiler marked them, else those of the optimizer that steps most often.",
    .makes_table = TABLE_steps,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_marked_step},
              {TABLE_ops, COLUMN_ops_optimizer},
              {TABLE_ops, COLUMN_ops_called_program},
              {TABLE_ops, COLUMN_ops_range_kind},
              {TABLE_ops, COLUMN_ops_model_name},
              {TABLE_counters, COLUMN_counters_name},
              {TABLE_counters, COLUMN_counters_time_ns},
              {TABLE_counters, COLUMN_counters_value},
              {TABLE_triggers, COLUMN_triggers_kind},
              WINDOW_STEPS_READ,
              WINDOW_STOPS_READ},
    .writes = {{TABLE_steps, COLUMN_steps_number},
               {TABLE_steps, COLUMN_steps_name},
               {TABLE_steps, COLUMN_steps_origin},
               {TABLE_steps, COLUMN_steps_thread_id},
               {TABLE_steps, COLUMN_steps_start_ns},
               {TABLE_steps, COLUMN_steps_end_ns},
               {TABLE_steps, COLUMN_steps_dur_ns},
               {TABLE_steps, COLUMN_steps_paused_ns}},
    .run = run_steps,
    .has_diagnostics = true,
    .texts = repetition,
    .is_alone = true,
};
