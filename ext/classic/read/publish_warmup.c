/* publish_warmup.c: steps.is_warmup of sessions.
**
** The first steps are left out that are no work of the program's loop, three and half of all at most:
**
**   an initializer's run   it runs an assignment of a variable's first value, which TensorFlow names VARIABLE/Assign,
**                          and no later step is like it
**   a first run            no earlier step is like it, and it took more than twice as long as the median of the later
**                          ones that are: a session places, optimises and compiles a graph when it first runs it
**
** A step is like another one when it runs more than half of the nodes of that, so that an evaluation tells nothing of a
** step of training, nor one network of another.
*/
#include <stdlib.h>
#include <string.h>

#include "classic/read/publish.h"

enum { MOST = 3 /* as in derive/steps/step_marks.c */, BLOCK = 1024 };

struct first_steps {
  const struct profile *profile;
  uint32_t step_count, node_count, most; /* most: how many may be warm-up */
  uint8_t *runs_of;                      /* by node: bit i is set when first step i runs it */
  uint32_t *shared[MOST];                /* by step: how many of the nodes of first step i it runs */
  bool assigns[MOST];                    /* runs a VARIABLE/Assign */
  int64_t *lengths;                      /* scratch: durations of like steps */
};

static bool is_first_assignment(const struct tf_model *model, string_id name) {
  static const char ending[] = "/Assign";
  const char *text = name ? pool_text(model->pool, name) : "";
  size_t length = strlen(text), end = sizeof ending - 1;
  return length > end && strcmp(text + length - end, ending) == 0;
}

/* Goes through node_steps once for the nodes of the first steps, and once for who else runs them. */
static void compare_steps(struct first_steps *first, const struct tf_model *model) {
  const struct column *nodes = tf_column_of(first->profile, TABLE_node_steps, COLUMN_node_steps_node_id);
  const struct column *steps = tf_column_of(first->profile, TABLE_node_steps, COLUMN_node_steps_step_id);
  const struct column *names = tf_column_of(first->profile, TABLE_nodes, COLUMN_nodes_name);
  int64_t node[BLOCK], step[BLOCK];
  uint64_t nulls[BLOCK / 64];
  for (int pass = 0; nodes && steps && pass < 2; pass++) {
    for (uint32_t at = 0; at < steps->rows; at += BLOCK) {
      uint32_t count = steps->rows - at < BLOCK ? steps->rows - at : BLOCK;
      column_read(nodes, at, count, node, nulls);
      column_read(steps, at, count, step, nulls);
      for (uint32_t i = 0; i < count; i++) {
        if (node[i] < 0 || node[i] >= first->node_count || step[i] < 0 || step[i] >= first->step_count) continue;
        if (pass == 1) {
          for (uint32_t k = 0; k < first->most; k++) first->shared[k][step[i]] += first->runs_of[node[i]] >> k & 1;
        } else if (step[i] < first->most) {
          first->runs_of[node[i]] |= (uint8_t)(1 << step[i]);
          first->assigns[step[i]] |= is_first_assignment(model, (string_id)tf_value_at(names, node[i]));
        }
      }
    }
  }
}

static int compare_lengths(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

static bool is_warmup(const struct first_steps *first, uint32_t step) {
  const struct column *durations = tf_column_of(first->profile, TABLE_steps, COLUMN_steps_dur_ns);
  const uint32_t *shared = first->shared[step];
  int64_t length = tf_value_at(durations, step);
  uint32_t known = 0, alike = 0;
  for (uint32_t i = 0; i < first->step_count; i++) {
    if (i == step || shared[i] <= shared[step] / 2) continue;
    if (i < step) return false;
    int64_t other = tf_value_at(durations, i);
    alike++;
    if (other != ROW_NULL) first->lengths[known++] = other;
  }
  if (!alike) return first->assigns[step];
  if (!known || length == ROW_NULL) return false;
  qsort(first->lengths, known, sizeof *first->lengths, compare_lengths);
  return length / 2 > first->lengths[known / 2];
}

bool tf_publish_warmup(struct tf_model *model, struct profile *profile) {
  struct profile_table *steps = &profile->tables[TABLE_steps];
  if (!steps->segment_count) return true;
  struct first_steps first = {profile, steps->segments[0]->rows, (uint32_t)profile->tables[TABLE_nodes].rows, 0, NULL,
                              {NULL}, {false}, NULL};
  first.most = first.step_count / 2 < MOST ? first.step_count / 2 : MOST;
  int64_t *values = calloc(first.step_count, sizeof *values);
  first.runs_of = calloc((size_t)first.node_count + 1, 1);
  first.lengths = malloc(first.step_count * sizeof *first.lengths);
  bool ok = values && first.runs_of && first.lengths;
  for (uint32_t i = 0; i < first.most && ok; i++)
    ok = (first.shared[i] = calloc(first.step_count, sizeof *first.shared[i])) != NULL;
  if (ok && first.most) compare_steps(&first, model);
  for (uint32_t i = 0; ok && i < first.most && is_warmup(&first, i); i++) values[i] = 1;
  struct eager_rows rows = {steps->segments[0], first.step_count, NULL, &model->status, model->error};
  if (ok) ok = eager_rows_take(&rows, COLUMN_steps_is_warmup, pack_values(values, first.step_count, false));
  else tf_no_memory(model);
  for (uint32_t i = 0; i < MOST; i++) free(first.shared[i]);
  free(first.runs_of);
  free(first.lengths);
  free(values);
  return ok;
}
