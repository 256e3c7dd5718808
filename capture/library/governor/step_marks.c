/* step_marks.c: see step_marks.h. */
#include "step_marks.h"

#include "base/hash.h"
#include "steps/optimizer_steps.h"
#include "steps/step_words.h"

#include <stddef.h>
#include <string.h>

enum { SILENT_MARKS = 200, GONE_MARKS = 2 };

enum step_mark step_mark_kind(const char *name) {
  if (!strchr("OtePkS", name[0])) return MARK_NONE;
  if (!strncmp(name, step_of_profiler, strlen(step_of_profiler))) return MARK_PROFILER;
  if (!strncmp(name, step_of_user, strlen(step_of_user))) return MARK_USER;
  if (!strncmp(name, step_of_keras, strlen(step_of_keras))) return MARK_FRAMEWORK;
  if (!strncmp(name, step_of_annotation, strlen(step_of_annotation))) return MARK_FRAMEWORK;
  if (is_repeated_call(name)) return MARK_CALL;
  switch (training_mark_kind(name)) {
    case STEP_OF_OPTIMIZER: return MARK_OPTIMIZER;
    case STEP_BATCH: return MARK_BATCH;
    case STEP_SCALER: return MARK_SCALER;
    default: return MARK_NONE;
  }
}

/* Of a framework, in the last byte, which of two it is, and above that how many steps it stands for. */
enum { FRAMEWORK_BITS = 8, MOST_AT_ONCE = 65536 };

uint32_t step_mark_name(enum step_mark kind, const char *name) {
  if (kind == MARK_FRAMEWORK) {
    int64_t last, first = step_mark_numbers(name, step_of_keras, &last);
    uint32_t several = first >= 0 && last - first < MOST_AT_ONCE ? (uint32_t)(last - first) + 1 : 1;
    return several << FRAMEWORK_BITS | (uint8_t)name[0];
  }
  return kind == MARK_CALL ? (uint32_t)hash_bytes(name, (uint32_t)strlen(name)) | 1 : 0;
}

void step_marks_begin(struct step_marks *marks) {
  memset(marks, 0, sizeof *marks);
  marks->updates = 1; /* one that comes before any step of an optimizer is of a step that was skipped */
}

static void forget(struct step_marks *marks) {
  uint64_t steps = marks->steps, in_calls = marks->in_calls;
  step_marks_begin(marks);
  marks->steps = marks->steps_before = steps;
  marks->in_calls = in_calls;
  for (int i = 0; i < STEP_COUNTS; i++) marks->in_calls_then[i] = in_calls;
}

void step_marks_count_from(struct step_marks *marks, enum step_count which) {
  for (unsigned i = 0; i < marks->series_count; i++) marks->series[i].count_then[which] = marks->series[i].count;
  marks->batches_then[which] = marks->batches;
  marks->skipped_then[which] = marks->skipped;
  marks->in_calls_then[which] = marks->in_calls;
}

uint64_t step_marks_counted(const struct step_marks *marks, enum step_count which) {
  uint64_t in_calls = marks->in_calls - marks->in_calls_then[which];
  if (marks->by_batches) return marks->batches - marks->batches_then[which] + in_calls;
  uint64_t of_leader = marks->leader ? marks->leader->count - marks->leader->count_then[which] : 0;
  return of_leader + marks->skipped - marks->skipped_then[which] + in_calls;
}

/* What ended the steps does so no more, or the program has begun to mark them. */
static bool is_leader_gone(const struct step_marks *marks, enum step_mark kind) {
  if (!marks->leader || !marks->is_learnt) return false;
  enum step_mark leader = marks->leader->kind;
  bool is_better = kind == MARK_USER ? leader != MARK_USER : leader < MARK_OPTIMIZER && kind > leader;
  return is_better || marks->silence > SILENT_MARKS;
}

/* ---- Series. */

static struct mark_series *find_series(struct step_marks *marks, enum step_mark kind, uint32_t thread, uint32_t name) {
  if (kind == MARK_OPTIMIZER) thread = 0;
  else if (kind != MARK_NVTX && kind != MARK_CALL && kind != MARK_FRAMEWORK) name = 0;
  uint32_t place = (name * 0x9e3779b1u ^ thread * 0x85ebca6bu ^ (uint32_t)kind * 0xc2b2ae35u) >> 7;
  for (; marks->places[place % SERIES_PLACES]; place++) {
    struct mark_series *series = &marks->series[marks->places[place % SERIES_PLACES] - 1];
    if (series->kind == kind && series->thread == thread && series->name == name) return series;
  }
  bool is_limited = kind == MARK_NVTX || kind == MARK_CALL;
  unsigned of_kind = 0, most = kind == MARK_NVTX ? NVTX_SERIES_MAXIMUM : CALL_SERIES_MAXIMUM;
  for (unsigned i = 0; is_limited && i < marks->series_count; i++) of_kind += marks->series[i].kind == kind;
  if (marks->series_count == SERIES_MAXIMUM || (is_limited && of_kind == most)) return NULL;
  struct mark_series *series = &marks->series[marks->series_count];
  *series = (struct mark_series){.kind = kind, .thread = thread, .name = name, .first_ended = marks->series_count++};
  marks->places[place % SERIES_PLACES] = (uint16_t)marks->series_count;
  marks->optimizer_count += kind == MARK_OPTIMIZER;
  return series;
}

/* Whether a series is better than the best one of its kind. */
static bool is_better(const struct mark_series *series, const struct mark_series *best) {
  if (!best) return true;
  if (series->kind == MARK_NVTX || series->kind == MARK_CALL) return series->covered > best->covered;
  /* One that is in the middle of a round has one mark more than the last of the round. */
  if (series->first_ended > best->first_ended) return series->count + 1 >= best->count;
  return series->count > best->count + 1;
}

static struct mark_series *best_series(const struct step_marks *marks) {
  struct mark_series *const *best = marks->best;
  if (best[MARK_USER]) return best[MARK_USER];
  struct mark_series *profiler = best[MARK_PROFILER], *optimizer = best[MARK_OPTIMIZER];
  if (profiler && (!optimizer || profiler->count * 2 + 1 >= optimizer->count)) return profiler;
  if (best[MARK_FRAMEWORK]) return best[MARK_FRAMEWORK];
  if (optimizer) return optimizer;
  return best[MARK_NVTX] ? best[MARK_NVTX] : best[MARK_CALL];
}

/* How many steps there are by what the leader, batches and the scaler tell. */
static uint64_t count_steps(const struct step_marks *marks) {
  return marks->steps_before + (marks->by_batches ? marks->batches : marks->leader->count + marks->skipped);
}

static bool is_of_optimizers(const struct step_marks *marks) {
  return !marks->leader || marks->leader->kind == MARK_OPTIMIZER;
}

/* ---- Marks that are none of a series. */

static unsigned begin_batch(struct step_marks *marks, uint32_t thread) {
  bool is_marking = thread < MARKING_THREADS && marks->marking[thread / 64] >> thread % 64 & 1;
  if (!is_marking || !marks->in_batch) return 0;
  marks->in_batch = 0;
  marks->batches++;
  if (!marks->by_batches || !is_of_optimizers(marks)) return 0;
  marks->steps = count_steps(marks);
  return STEP_HAS_ENDED;
}

static unsigned update_scaler(struct step_marks *marks) {
  uint32_t per_step = marks->optimizer_count > 1 ? marks->updates_per_step : 1;
  marks->all_updates++;
  if (!per_step || marks->by_batches || !is_of_optimizers(marks) || ++marks->updates < 2 * per_step) return 0;
  marks->updates = per_step;
  marks->skipped++;
  marks->steps++;
  return STEP_HAS_ENDED;
}

/* ---- Optimizers. */

/* The leader has stepped. */
static void note_leader(struct step_marks *marks) {
  if (marks->most_since > marks->most_between) marks->most_between = marks->most_since;
  marks->most_since = 0;
  if (marks->all_updates && (!marks->updates_per_step || marks->all_updates < marks->updates_per_step))
    marks->updates_per_step = marks->all_updates;
  marks->updates = marks->all_updates = 0;
}

/* Another one has, and from now on that one ends the steps if the leader is gone. */
static void note_other(struct step_marks *marks, struct mark_series *series) {
  if (series->turn != marks->leader->count) series->since = 0;
  series->turn = marks->leader->count;
  if (++series->since > marks->most_since) marks->most_since = series->since;
  if (!marks->is_learnt || marks->by_batches || series->since <= marks->most_between + GONE_MARKS) return;
  marks->steps_before = marks->steps + series->since - series->count; /* its steps since then were steps */
  for (int i = 0; i < STEP_COUNTS; i++) {
    series->count_then[i] = series->count - series->since - step_marks_counted(marks, (enum step_count)i);
    marks->skipped_then[i] = 0;
  }
  marks->skipped = 0;
  marks->most_since = 0;
  marks->leader = series;
}

static void learn(struct step_marks *marks) {
  const struct mark_series *leader = marks->leader;
  if (leader->count + marks->skipped < WARMUP_STEPS + FIRST_STEPS) return;
  marks->is_learnt = true;
  bool take_turns = leader->kind == MARK_OPTIMIZER && marks->optimizer_count > 1;
  if (take_turns && marks->batches * 2 >= leader->count * 3) {
    marks->by_batches = true;
    marks->steps = count_steps(marks);
  }
}

unsigned step_marks_add(struct step_marks *marks, enum step_mark kind, uint32_t thread, uint32_t name,
                        uint64_t start_ticks, uint64_t end_ticks) {
  unsigned what = 0;
  if (kind == MARK_BATCH) return begin_batch(marks, thread);
  if (kind == MARK_SCALER) return update_scaler(marks);
  uint32_t several = kind == MARK_FRAMEWORK ? name >> FRAMEWORK_BITS : 1;
  if (kind == MARK_FRAMEWORK) name &= (1u << FRAMEWORK_BITS) - 1;
  if (is_leader_gone(marks, kind)) {
    forget(marks);
    what |= STEPS_ARE_FORGOTTEN;
  }
  struct mark_series *series = find_series(marks, kind, thread, name);
  if (!series) return what;
  series->count++;
  if (end_ticks > start_ticks) series->covered += end_ticks - start_ticks;
  if (kind == MARK_OPTIMIZER) {
    if (thread < MARKING_THREADS) marks->marking[thread / 64] |= (uint64_t)1 << thread % 64;
    marks->in_batch++;
  }
  struct mark_series *before = marks->leader;
  if ((!marks->is_learnt || !marks->best[kind]) && is_better(series, marks->best[kind])) marks->best[kind] = series;
  if (!marks->is_learnt) marks->leader = best_series(marks);
  if (marks->leader->kind == MARK_OPTIMIZER && kind == MARK_OPTIMIZER && series != marks->leader)
    note_other(marks, series);
  bool is_leader = series == marks->leader, was_learnt = marks->is_learnt;
  if (is_leader) marks->silence = 0;
  else if (marks->leader->kind != MARK_OPTIMIZER || kind != MARK_OPTIMIZER)
    marks->silence += (series == marks->best[kind] || kind == MARK_CALL) &&
                      (kind >= MARK_OPTIMIZER || marks->leader->kind <= kind);
  if (is_leader) {
    if (kind == MARK_OPTIMIZER && before == series) note_leader(marks);
    else if (kind == MARK_OPTIMIZER) marks->updates = marks->all_updates = 0;
    if (!marks->by_batches) {
      marks->steps = count_steps(marks);
      marks->at_once = several;
      if (several > 1) marks->in_calls += several - 1;
      what |= STEP_HAS_ENDED;
    }
  }
  if (!marks->is_learnt) learn(marks);
  return marks->is_learnt && !was_learnt ? what | STEPS_ARE_LEARNT : what;
}
