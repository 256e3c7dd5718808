/* writer_costs.c: see writer_costs.h. */
#include "writer_costs.h"

#define ALLOWED_PART 0.25
#define SAVED_SECONDS 20 /* that are brought in at the beginning, and are the most that is saved */
#define MOST_AT_ONCE 4   /* times what comes in: the beginning of a program is no measure */
#define MANY_RECORDS 500 /* that tell what one takes */
#define MOST_OF_ONE 1000 /* nanoseconds; beyond it was disturbed, or everything was new */
#define MOST_OF_DEVICE 200    /* the same of a record of a device, */
#define MANY_OF_DEVICES 20000 /* which is told by so many: of few it is what writing takes by itself */

void writer_costs_begin(struct writer_costs *costs, double overhead) {
  double allowed = overhead * ALLOWED_PART;
  *costs = (struct writer_costs){.allowed = allowed, .credit = allowed * SAVED_SECONDS};
}

static double smaller(double left, double right) { return left < right ? left : right; }

static double competing(double idle_processors) {
  return idle_processors < 0 ? 1 : 1 - smaller(idle_processors, 1);
}

static void learn(double *known, double now) { *known = *known > 0 ? (*known + now) / 2 : now; }

static void learn_price(struct record_price *price, double used_ns, uint64_t records, double many, double most) {
  price->records_ns += used_ns;
  price->records += (double)records;
  if (price->records < many) return;
  learn(&price->ns, smaller(price->records_ns / price->records, most));
  price->records_ns = price->records = 0;
}

bool writer_costs_note(struct writer_costs *costs, const struct writer_use *use) {
  if (use->passed_ns <= 0) return false;
  double counts = competing(use->idle_processors);
  learn(&costs->always, (use->used_ns - use->full_ns - use->device_ns) / use->passed_ns * counts);
  learn_price(&costs->of_op, use->full_ns * counts, use->records, MANY_RECORDS, MOST_OF_ONE);
  learn_price(&costs->of_device, use->device_ns * counts, use->device_records, MANY_OF_DEVICES, MOST_OF_DEVICE);
  double taken = smaller(costs->always, costs->allowed * MOST_AT_ONCE);
  costs->credit += (costs->allowed - taken) * use->passed_ns * 1e-9;
  costs->credit = smaller(costs->credit, costs->allowed * SAVED_SECONDS);
  if (costs->is_too_much || costs->credit >= 0) return false;
  return costs->is_too_much = true;
}
