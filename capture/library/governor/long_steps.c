/* long_steps.c: see long_steps.h. */
#include "long_steps.h"

#include <string.h>

#define KEPT 0.75 /* the part of what is known already in what a series takes */
enum { APART = 10, STEPS_APART = 2 };

void long_steps_begin(struct long_steps *steps) { memset(steps, 0, sizeof *steps); }

/* The one that takes about as long; LONG_SERIES: none does. */
static unsigned find_series(const struct long_steps *steps, double factor, double took_ns) {
  unsigned nearest = LONG_SERIES;
  double least = factor;
  for (unsigned i = 0; i < LONG_SERIES; i++) {
    double its_ns = steps->series[i].took_ns;
    if (its_ns <= 0) continue;
    double times = took_ns > its_ns ? took_ns / its_ns : its_ns / took_ns;
    if (times >= least) continue;
    least = times;
    nearest = i;
  }
  return nearest;
}

/* One that is free, else the one of which none has come for longest. */
static unsigned new_series(const struct long_steps *steps) {
  unsigned oldest = 0;
  for (unsigned i = 0; i < LONG_SERIES; i++) {
    if (steps->series[i].took_ns <= 0) return i;
    if (steps->series[i].number < steps->series[oldest].number) oldest = i;
  }
  return oldest;
}

static bool is_about(int64_t interval, int64_t usual) {
  int64_t apart = interval > usual ? interval - usual : usual - interval;
  return usual > 0 && (apart <= STEPS_APART || apart <= usual / APART);
}

bool long_steps_add(struct long_steps *steps, double factor, int64_t number, int64_t took_ns) {
  unsigned place = find_series(steps, factor, (double)took_ns);
  bool is_new = place == LONG_SERIES;
  if (is_new) place = new_series(steps);
  int64_t interval = is_new ? 0 : number - steps->series[place].number;
  bool is_regular = !is_new && is_about(interval, steps->series[place].interval);
  double before_ns = is_new ? (double)took_ns : steps->series[place].took_ns;
  steps->series[place].took_ns = KEPT * before_ns + (1 - KEPT) * (double)took_ns;
  steps->series[place].number = number;
  steps->series[place].interval = interval;
  return is_regular;
}
