/* training_time.c: steps.training_ns, the duration of a step as the program has it unrecorded, without evaluation that
** comes only now and then; where the host runs ahead of its devices their pace (step_paces.c) instead of the duration.
**
** Validation after every thousandth step makes that step ten times as long and says nothing of the others.  Where half
** of the measured steps or more have evaluation in them, as rollouts in reinforcement learning, it is what the program
** does in a step, and counts.
*/
#include "derive/passes.h"
#include "derive/rows.h"

/* How much evaluation lies in each step. */
static enum tfprof_status add_evaluations(const struct profile *profile, int64_t *evaluations, uint32_t step_count,
                                          struct tfprof_error *error) {
  const struct profile_table *phases = &profile->tables[TABLE_step_phases];
  string_id evaluation = derive_known_text(profile, "evaluation");
  for (size_t s = 0; s < phases->segment_count; s++) {
    const struct segment *segment = phases->segments[s];
    for (uint32_t first = 0; first < segment->rows; first += ROWS_BLOCK) {
      uint32_t count = derive_block_rows(segment, first), steps[ROWS_BLOCK];
      string_id names[ROWS_BLOCK];
      int64_t durations[ROWS_BLOCK];
      derive_references(segment->columns[COLUMN_step_phases_step_id], first, count, step_count, steps);
      derive_texts(segment->columns[COLUMN_step_phases_phase], first, count, names);
      derive_integers(segment->columns[COLUMN_step_phases_net_ns], first, count, durations);
      for (uint32_t i = 0; i < count; i++) {
        int64_t *sum = steps[i] == NO_ROW ? NULL : &evaluations[steps[i]];
        if (!sum || names[i] != evaluation || durations[i] < 0) continue;
        if (__builtin_add_overflow(*sum, durations[i], sum)) *sum = INT64_MAX;
      }
    }
    enum tfprof_status status = derive_poll(profile, error);
    if (status) return status;
  }
  return TFPROF_OK;
}

static enum tfprof_status run_training_time(struct profile *profile, struct tfprof_error *error) {
  int64_t *durations = NULL, *warmup = NULL, *paces = NULL;
  uint32_t count, measured = 0, evaluated = 0;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &count, error);
  if (status || !count) return status;
  int64_t *evaluations = scratch_allocate_zeroed(count, sizeof *evaluations);
  if (!evaluations) status = error_no_memory(error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_net_ns, &durations, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_pace_ns, &paces, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_is_warmup, &warmup, error);
  if (!status) status = add_evaluations(profile, evaluations, count, error);
  for (uint32_t i = 0; i < count && !status; i++) {
    measured += warmup[i] == 0;
    evaluated += warmup[i] == 0 && evaluations[i] > 0;
  }
  for (uint32_t i = 0; i < count && !status; i++)
    if (paces[i] != NO_VALUE) durations[i] = paces[i];
  bool is_rare = (uint64_t)evaluated * 2 < measured;
  for (uint32_t i = 0; i < count && !status && is_rare; i++) {
    if (durations[i] != NO_VALUE && evaluations[i] <= durations[i]) durations[i] -= evaluations[i];
  }
  if (!status) status = derive_set_integers(profile, TABLE_steps, COLUMN_steps_training_ns, durations, error);
  scratch_free(evaluations);
  scratch_free(durations);
  scratch_free(warmup);
  scratch_free(paces);
  return status;
}

const struct derive_pass derive_training_time = {
    .name = "training time",
    .summary = "Durations of steps without recording, or their paces, without evaluation where few steps have any.",
    .makes_table = -1,
    .reads = {{TABLE_steps, COLUMN_steps_net_ns},
              {TABLE_steps, COLUMN_steps_pace_ns},
              {TABLE_steps, COLUMN_steps_is_warmup},
              {TABLE_step_phases, COLUMN_step_phases_step_id},
              {TABLE_step_phases, COLUMN_step_phases_phase},
              {TABLE_step_phases, COLUMN_step_phases_net_ns}},
    .writes = {{TABLE_steps, COLUMN_steps_training_ns}},
    .run = run_training_time,
};
