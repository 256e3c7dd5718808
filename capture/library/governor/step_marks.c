/* step_marks.c: see step_marks.h. */
#include "step_marks.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
  ROUNDS = 8,       /* that show a pattern */
  LEARN_MARKS = 17, /* an irregular series is taken for one without pattern, until KEPT_MARKS are there */
  SILENT_MARKS = 200,
};

enum step_mark step_mark_kind(const char *name) {
  if (name[0] == 'O' && !strncmp(name, "Optimizer.step#", 15)) return MARK_OPTIMIZER;
  if (name[0] == 'P' && !strncmp(name, "ProfilerStep#", 13)) return MARK_PROFILER;
  if (name[0] == 't' && !strncmp(name, "tfprof.step#", 12)) return MARK_USER;
  return MARK_NONE;
}

void step_marks_begin(struct step_marks *marks) {
  memset(marks, 0, sizeof *marks);
  marks->per_step = 1;
}

static void forget(struct step_marks *marks) {
  uint64_t steps = marks->steps;
  step_marks_begin(marks);
  marks->steps = marks->steps_before = steps;
}

/* What ended the steps does so no more: the program has gone over to another optimizer, or has begun to mark steps. */
static bool is_leader_gone(const struct step_marks *marks, enum step_mark kind) {
  bool is_better = kind == MARK_USER ? marks->leader && marks->leader->kind != MARK_USER
                                     : marks->leader && marks->leader->kind == MARK_NVTX && kind != MARK_NVTX;
  return marks->is_learnt && (is_better ||
                              marks->silence > SILENT_MARKS * (uint64_t)marks->per_step);
}

static struct mark_series *find_series(struct step_marks *marks, enum step_mark kind, uint32_t thread, uint32_t name) {
  if (kind != MARK_OPTIMIZER && kind != MARK_NVTX) name = 0;
  unsigned of_nvtx = 0;
  for (unsigned i = 0; i < marks->series_count; i++) {
    struct mark_series *series = &marks->series[i];
    of_nvtx += series->kind == MARK_NVTX;
    if (series->kind == kind && series->thread == thread && series->name == name) return series;
  }
  if (marks->series_count == SERIES_MAXIMUM || (kind == MARK_NVTX && of_nvtx == NVTX_SERIES_MAXIMUM)) return NULL;
  struct mark_series *series = &marks->series[marks->series_count];
  *series = (struct mark_series){.kind = kind, .thread = thread, .name = name, .first_ended = marks->series_count++};
  return series;
}

static struct mark_series *best_series(struct step_marks *marks) {
  struct mark_series *best[MARK_USER + 1] = {NULL};
  for (unsigned i = 0; i < marks->series_count; i++) {
    struct mark_series *series = &marks->series[i], **place = &best[series->kind];
    if (series->kind == MARK_NVTX) {
      if (!*place || series->covered > (*place)->covered) *place = series;
      continue;
    }
    /* One that is in the middle of a round has one mark more than the last of the round. */
    if (!*place || series->count + 1 >= (*place)->count) *place = series;
  }
  if (best[MARK_USER]) return best[MARK_USER];
  struct mark_series *profiler = best[MARK_PROFILER], *optimizer = best[MARK_OPTIMIZER];
  if (!profiler && !optimizer) return best[MARK_NVTX];
  return profiler && (!optimizer || profiler->count * 2 + 1 >= optimizer->count) ? profiler : optimizer;
}

/* ---- The pattern of a series. */

static int by_value(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static double quantile(double *values, unsigned count, double share) {
  qsort(values, count, sizeof *values, by_value);
  return values[(unsigned)((count - 1) * share)];
}

/* The 80th percentile of how far periods are from the median of their group, period i in group i % groups. */
static double deviation(const double *periods, unsigned count, unsigned groups) {
  double room[KEPT_MARKS], deviations[KEPT_MARKS];
  for (unsigned group = 0; group < groups; group++) {
    unsigned used = 0;
    for (unsigned i = group; i < count; i += groups) room[used++] = periods[i];
    double middle = quantile(room, used, 0.5);
    for (unsigned i = group; i < count; i += groups)
      deviations[i] = periods[i] > middle ? periods[i] - middle : middle - periods[i];
  }
  return quantile(deviations, count, 0.8);
}

/* The counter may have gone back in between. */
static double ticks_between(uint64_t begin, uint64_t end) { return (double)(int64_t)(end - begin); }

/* How many marks make a step, and after which the longest pause comes: as find_pattern of ext/derive/steps/steps.c.
** false: more marks are needed. */
static bool find_pattern(struct step_marks *marks) {
  const struct mark_series *series = marks->leader;
  unsigned kept = series->count < KEPT_MARKS ? (unsigned)series->count : KEPT_MARKS, count = kept - 1;
  double periods[KEPT_MARKS] = {0}, room[KEPT_MARKS] = {0};
  marks->per_step = 1;
  marks->phase = 0;
  if (series->kind != MARK_OPTIMIZER) return true;
  for (unsigned i = 0; i < count; i++)
    room[i] = periods[i] = ticks_between(series->marks[i].end, series->marks[i + 1].end);
  double all = deviation(periods, count, 1);
  if (all <= quantile(room, count, 0.5) / 8) return true;
  for (unsigned m = 2; m <= PATTERN_MAXIMUM && count >= ROUNDS * m; m++) {
    if (deviation(periods, count, m) > all / 4) continue;
    double longest = -1;
    marks->per_step = m;
    for (unsigned phase = 0; phase < m; phase++) {
      unsigned used = 0;
      for (unsigned i = phase; i < count; i += m)
        room[used++] = ticks_between(series->marks[i].end, series->marks[i + 1].start);
      double pause = quantile(room, used, 0.5);
      if (pause > longest) {
        longest = pause;
        marks->phase = phase;
      }
    }
    return true;
  }
  return kept >= LEARN_MARKS;
}

/* How many steps the marks of the leader have ended. */
static uint64_t rounds(const struct step_marks *marks) {
  return (marks->leader->count + marks->per_step - 1 - marks->phase) / marks->per_step;
}

static void learn(struct step_marks *marks) {
  uint64_t count = marks->leader->count;
  if (count < WARMUP_STEPS + FIRST_STEPS || !find_pattern(marks)) return;
  marks->is_learnt = rounds(marks) >= WARMUP_STEPS + FIRST_STEPS;
  marks->steps = marks->steps_before + rounds(marks);
}

unsigned step_marks_add(struct step_marks *marks, enum step_mark kind, uint32_t thread, uint32_t name,
                        uint64_t start_ticks, uint64_t end_ticks) {
  unsigned what = 0;
  if (is_leader_gone(marks, kind)) {
    forget(marks);
    what |= STEPS_ARE_FORGOTTEN;
  }
  struct mark_series *series = find_series(marks, kind, thread, name);
  if (!series) return what;
  if (series->count < KEPT_MARKS) series->marks[series->count] = (struct mark){start_ticks, end_ticks};
  series->count++;
  if (end_ticks > start_ticks) series->covered += end_ticks - start_ticks;
  if (!marks->is_learnt) marks->leader = best_series(marks);
  bool is_leader = series == marks->leader, was_learnt = marks->is_learnt;
  marks->silence = is_leader ? 0 : marks->silence + (kind != MARK_NVTX || marks->leader->kind == MARK_NVTX);
  if (is_leader && (series->count - 1) % marks->per_step == marks->phase) {
    marks->steps = marks->steps_before + rounds(marks);
    what |= STEP_HAS_ENDED;
  }
  if (!marks->is_learnt || (is_leader && series->count == KEPT_MARKS)) learn(marks);
  return marks->is_learnt && !was_learnt ? what | STEPS_ARE_LEARNT : what;
}
