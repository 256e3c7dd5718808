/* byte_budget.c: see byte_budget.h. */
#include "byte_budget.h"

static const double HOUR_SECONDS = 3600;

void byte_budget_begin(struct byte_budget *budget, uint64_t bytes_an_hour) {
  *budget = (struct byte_budget){.hour = (double)bytes_an_hour, .credit = (double)bytes_an_hour};
}

/* More than comes in is written; at once where much more is, or where nothing is left. */
static bool is_to_give_up(const struct byte_budget *budget, double pace, double rate) {
  if (budget->credit > budget->hour / 2 || pace <= rate) return false;
  return budget->credit < 0 || pace > 4 * rate || budget->seconds - budget->changed >= PATIENCE_SECONDS;
}

static bool review(struct byte_budget *budget) {
  double passed = budget->seconds - budget->reviewed, rate = budget->hour / HOUR_SECONDS;
  if (passed < REVIEW_SECONDS) return false;
  double pace = (double)(budget->written - budget->written_then) / passed;
  unsigned before = budget->levels;
  if (is_to_give_up(budget, pace, rate)) {
    if (budget->levels < RATE_LEVELS_MAXIMUM) budget->levels++;
  } else if (budget->levels && budget->credit > budget->hour / 4 && pace < rate * 0.4 &&
             budget->seconds - budget->changed >= PATIENCE_SECONDS) {
    budget->levels--;
  }
  budget->reviewed = budget->seconds;
  budget->written_then = budget->written;
  if (budget->levels != before) budget->changed = budget->seconds;
  return budget->levels != before;
}

bool byte_budget_note(struct byte_budget *budget, double seconds, uint64_t written) {
  if (budget->hour <= 0) return false;
  budget->credit += (seconds - budget->seconds) * budget->hour / HOUR_SECONDS - (double)(written - budget->written);
  if (budget->credit > budget->hour) budget->credit = budget->hour;
  budget->seconds = seconds;
  budget->written = written;
  if (budget->is_thinned) return review(budget);
  if (budget->credit > budget->hour / 2) return false;
  budget->is_thinned = true;
  budget->reviewed = budget->changed = seconds;
  budget->written_then = written;
  return true;
}

unsigned byte_budget_patience(const struct byte_budget *budget) {
  if (budget->hour <= 0 || budget->credit > budget->hour / 4) return 1;
  return budget->credit > 0 ? 10 : 60;
}
