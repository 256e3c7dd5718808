/* sample_error.c: how surely recorded steps speak for all.
**
** Of several profiles, which know nothing of each other, the errors are added by their squares.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "func/functions.h"
#include "vtab/drawn_steps.h"

SQLITE_EXTENSION_INIT3

/* What the rows of a step come to. */
struct step_part {
  int64_t step_id;
  double x;
};

/* Rows come step by step for the most part, so that a part is one of a step of its own mostly: only where parts have
** doubled since are those of a step put together. */
struct sample_parts {
  struct step_part *items; /* sqlite3_malloc64 */
  size_t count, capacity;
  int64_t other_step_id; /* the last step that speaks for none */
  bool has_other, has_value;
};

static int compare_parts(const void *left, const void *right) {
  const struct step_part *a = left, *b = right;
  return (a->step_id > b->step_id) - (a->step_id < b->step_id);
}

/* Ascending by step, one part for each. */
static void join_parts(struct sample_parts *parts) {
  size_t count = 0;
  if (parts->count) qsort(parts->items, parts->count, sizeof *parts->items, compare_parts);
  for (size_t i = 0; i < parts->count; i++) {
    if (count && parts->items[count - 1].step_id == parts->items[i].step_id) {
      parts->items[count - 1].x += parts->items[i].x;
    } else {
      parts->items[count++] = parts->items[i];
    }
  }
  parts->count = count;
}

static bool add_part(struct sample_parts *parts, int64_t step_id, double x) {
  if (parts->count && parts->items[parts->count - 1].step_id == step_id) {
    parts->items[parts->count - 1].x += x;
    return true;
  }
  if (parts->count == parts->capacity) {
    join_parts(parts);
    if (2 * parts->count > parts->capacity || !parts->capacity) {
      size_t capacity = parts->capacity ? 2 * parts->capacity : 16;
      struct step_part *larger = sqlite3_realloc64(parts->items, capacity * sizeof *larger);
      if (!larger) return false;
      parts->items = larger;
      parts->capacity = capacity;
    }
  }
  parts->items[parts->count++] = (struct step_part){step_id, x};
  return true;
}

/* Whether the step speaks for others; false, too, with an error set. */
static bool is_drawn(sqlite3_context *context, struct sample_parts *parts, int64_t step_id) {
  struct connection *connection = sqlite3_user_data(context);
  if (parts->count && parts->items[parts->count - 1].step_id == step_id) return true;
  if (parts->has_other && parts->other_step_id == step_id) return false;
  int result = drawn_steps_read(connection);
  if (result) {
    sqlite3_result_error_code(context, result);
    return false;
  }
  if (drawn_steps_find(connection, step_id)) return true;
  parts->has_other = true;
  parts->other_step_id = step_id;
  return false;
}

static void sample_error_step(sqlite3_context *context, int count, sqlite3_value **values) {
  struct sample_parts *parts = sqlite3_aggregate_context(context, sizeof *parts);
  (void)count;
  if (!parts) {
    sqlite3_result_error_nomem(context);
    return;
  }
  int type = sqlite3_value_numeric_type(values[0]);
  if (type == SQLITE_NULL) return;
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    sqlite3_result_error(context, "input to sample_error() is not numeric", -1);
    return;
  }
  parts->has_value = true;
  if (sqlite3_value_type(values[1]) == SQLITE_NULL) return;
  int64_t step_id = sqlite3_value_int64(values[1]);
  if (!is_drawn(context, parts, step_id)) return;
  if (!add_part(parts, step_id, sqlite3_value_double(values[0]))) sqlite3_result_error_nomem(context);
}

/* The square of the error of what the parts from `first` on are that are of one profile; *end is behind them. NAN: it
** cannot be told. */
static double square_of_profile(const struct connection *connection, const struct sample_parts *parts, size_t first,
                                size_t *end) {
  double sum = 0, squares = 0, products = 0;
  const struct drawn_step *last = NULL;
  size_t i = first;
  for (; i < parts->count; i++) {
    if (id_profile(parts->items[i].step_id) != id_profile(parts->items[first].step_id)) break;
    const struct drawn_step *drawn = drawn_steps_find(connection, parts->items[i].step_id);
    if (!drawn) continue; /* what is open has changed meanwhile */
    double x = parts->items[i].x, weighed = x * drawn->weight;
    sum += weighed;
    squares += weighed * x;
    products += weighed * drawn->lead_ns;
    last = drawn;
  }
  *end = i;
  if (!last || !last->has_error || !(last->step_count > 0)) return (double)NAN;
  double spread = squares - sum * sum / last->step_count;
  if (spread < squares * 1e-12) spread = 0; /* all alike: what is left is rounding */
  double square = last->spread_factor * spread - last->lead_factor * products * products;
  double unseen = last->unseen_ratio * sum;
  return (square > 0 ? square : 0) + unseen * unseen;
}

static void sample_error_final(sqlite3_context *context) {
  struct sample_parts *parts = sqlite3_aggregate_context(context, 0);
  if (!parts || !parts->has_value) return;
  join_parts(parts);
  double square = 0;
  for (size_t i = 0; i < parts->count;) square += square_of_profile(sqlite3_user_data(context), parts, i, &i);
  if (!isnan(square)) sqlite3_result_double(context, sqrt(square));
  sqlite3_free(parts->items);
  memset(parts, 0, sizeof *parts);
}

const struct function_spec sample_error_functions[] = {
    {.name = "sample_error",
     .argument_count = 2,
     .is_volatile = true,
     .step = sample_error_step,
     .final = sample_error_final,
     .text = {"x, step_id",
              "The error of sum(x * weight) over the rows of recorded steps as an estimate of the sum over all steps.",
              "step_id is the step of the row, as in steps. The weight of each step and all else is as in the view "
              "_sampled_steps, which says what it means. Rows of a step are added up, and those where x is 0 may be "
              "left out. Twice the result on either side is the 95 % interval. 0 where all steps were recorded, and "
              "for rows without a step. NULL where x has no value, and where too few steps were recorded to tell. "
              "Errors of several profiles are added by their squares.",
              "SELECT sample_error(self_ns, step_id) FROM ops"}},
    {0},
};
