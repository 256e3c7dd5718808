/* launch_budget.c: see launch_budget.h. */
#include "launch_budget.h"

#define LAUNCH_PART 0.75
#define MUCH_LESS 0.7   /* of what is allowed */
#define KEPT 0.5        /* of what was before */
#define LEAST_ON_NS 2e6 /* that says something */

void launch_budget_begin(struct launch_budget *budget, double overhead) {
  *budget = (struct launch_budget){.allowed = overhead * LAUNCH_PART, .exposed = 1, .patience = UNDER_SECONDS};
}

static void add_use(struct launch_budget *budget, const struct launch_use *use, const struct launch_prices *prices) {
  if (use->judged) budget->exposed = (double)use->exposed / (double)use->judged;
  double of_host = (double)use->works * prices->work_ns + (double)use->calls * prices->call_ns;
  double of_writer = (double)(use->works + use->calls) * prices->writer_ns;
  if (use->on_ns > 0) {
    budget->used_ns *= KEPT;
    budget->works *= KEPT;
    budget->on_ns = budget->on_ns * KEPT + use->on_ns;
  }
  budget->used_ns += of_host * budget->exposed + of_writer;
  budget->works += (double)use->works * budget->exposed;
  if (budget->on_ns < LEAST_ON_NS) return;
  budget->share = budget->used_ns / budget->on_ns;
  budget->dearest_share = budget->share + budget->works * (DEAREST_NS - prices->work_ns) / budget->on_ns;
}

bool launch_budget_note(struct launch_budget *budget, const struct launch_use *use, const struct launch_prices *prices,
                        bool may_thin) {
  add_use(budget, use, prices);
  if (budget->allowed <= 0) return false;
  budget->over = budget->share > budget->allowed ? budget->over + 1 : 0;
  budget->under = budget->share < budget->allowed * MUCH_LESS ? budget->under + 1 : 0;
  if (!budget->is_thinned && launch_budget_is_over(budget) && may_thin) return budget->is_thinned = true;
  if (!budget->is_thinned || budget->under < budget->patience) return false;
  budget->is_thinned = false;
  budget->patience = budget->patience * 2 < UNDER_SECONDS_MAXIMUM ? budget->patience * 2 : UNDER_SECONDS_MAXIMUM;
  return true;
}
