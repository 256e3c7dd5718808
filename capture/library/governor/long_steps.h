/* long_steps.h: which of the steps that take long do so regularly, as those with an evaluation or a checkpoint in them.
**
** Steps that take about as long as each other, neither by the factor of a slow step more nor less, are a series. One is
** regular that comes as many steps after the last of its series as that did after the one before, give or take a tenth
** or two steps: the third of them is, at the earliest.
*/
#ifndef TFPROF_CAPTURE_LONG_STEPS_H
#define TFPROF_CAPTURE_LONG_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum { LONG_SERIES = 8 };

struct long_steps {
  struct {
    double took_ns;           /* as a rule; 0: there is no such series */
    int64_t number, interval; /* of the last; how many steps after the one before, 0: there was none */
  } series[LONG_SERIES];
};

void long_steps_begin(struct long_steps *steps);
/* The next that has taken long. Whether it is regular. */
bool long_steps_add(struct long_steps *steps, double factor, int64_t number, int64_t took_ns);

#endif
