/* test_derive_phases.c: what step_phases makes of ranges and ops. */
#include "derive_test.h"

static const char adam[] = "Optimizer.step#Adam.step", zero[] = "Optimizer.zero_grad#Adam.zero_grad";
static const char loader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
static const char restart[] = "torch.utils.data.DataLoader.__iter__";
static const char accumulate[] = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
static const char node[] = "autograd::engine::evaluate_function: AddmmBackward0";

/* A range of the program. */
static void range(struct script *script, const char *name, int64_t start, int64_t finish) {
  script_row(script, "user", name, 0, start, finish);
}

/* An op; `sequence` -1: without gradients. */
static uint32_t op(struct script *script, const char *name, int64_t start, int64_t finish, int64_t sequence) {
  uint32_t row = script_row(script, "op", name, 0, start, finish);
  if (sequence >= 0) script->columns[COLUMN_ops_sequence_number][row] = sequence;
  return row;
}

/* A node of the backward pass on a thread, for the forward op that has this number on thread 0. */
static void backward(struct script *script, uint32_t thread, int64_t start, int64_t finish, int64_t sequence) {
  uint32_t row = script_row(script, "autograd", "AddmmBackward0", thread, start, finish);
  script->columns[COLUMN_ops_sequence_number][row] = sequence;
  script->columns[COLUMN_ops_forward_thread][row] = 1;
  script_row(script, "autograd", node, thread, start, finish);
}

/* "step phase[*] start end batch epoch, ..."; * is recomputation, - none. Only steps from `first_step` on. */
static void check_phases(struct script *script, const char *what, int64_t first_step, const char *expected) {
  enum { STEP, PHASE, AGAIN, START, END, BATCH, EPOCH, WANTED };
  static const unsigned wanted[WANTED] = {COLUMN_step_phases_step_id,  COLUMN_step_phases_phase,
                                          COLUMN_step_phases_is_recomputation, COLUMN_step_phases_start_ns,
                                          COLUMN_step_phases_end_ns,   COLUMN_step_phases_micro_batch,
                                          COLUMN_step_phases_epoch};
  uint32_t rows;
  char got[8192] = "";
  size_t length = 0;
  int64_t *values[WANTED];
  for (unsigned i = 0; i < WANTED; i++) values[i] = derived(&script->opened, TABLE_step_phases, wanted[i], &rows);
  for (uint32_t i = 0; i < rows && length < sizeof got; i++) {
    char step[24] = "-", batch[24] = "-", epoch[24] = "-";
    if (values[STEP][i] != NO_VALUE) snprintf(step, sizeof step, "%lld", (long long)values[STEP][i]);
    if (values[BATCH][i] != NO_VALUE) snprintf(batch, sizeof batch, "%lld", (long long)values[BATCH][i]);
    if (values[EPOCH][i] != NO_VALUE) snprintf(epoch, sizeof epoch, "%lld", (long long)values[EPOCH][i]);
    if (values[STEP][i] != NO_VALUE && values[STEP][i] < first_step) continue;
    length += (size_t)snprintf(got + length, sizeof got - length, "%s%s %s%s %lld %lld %s %s", length ? ", " : "", step,
                               text_of(&script->opened, values[PHASE][i]), values[AGAIN][i] == 1 ? "*" : "",
                               (long long)values[START][i], (long long)values[END][i], batch, epoch);
  }
  check(strcmp(got, expected) == 0, "%s: phases are\n  %s\ninstead of\n  %s", what, got, expected);
  for (unsigned i = 0; i < WANTED; i++) free(values[i]);
}

/* An iteration of 1000: a batch, a forward pass of two ops, a backward pass on a thread, clipping, the optimizer. */
static void iteration(struct script *script, int64_t at, int64_t number, uint32_t backward_thread) {
  range(script, loader, at + 10, at + 100);
  range(script, zero, at + 110, at + 120);
  op(script, "aten::copy_", at + 130, at + 140, number);
  op(script, "aten::linear", at + 150, at + 200, number);
  op(script, "aten::sum", at + 210, at + 250, number + 1);
  backward(script, backward_thread, at + 300, at + 350, number + 1);
  backward(script, backward_thread, at + 350, at + 400, number);
  script_row(script, "autograd", accumulate, backward_thread, at + 400, at + 410);
  op(script, "aten::norm", at + 450, at + 500, -1);
  op(script, "aten::_foreach_add_", at + 600, at + 690, -1);
  range(script, adam, at + 600, at + 700);
  op(script, "aten::item", at + 710, at + 720, number + 2);
}

static void test_plain(void) {
  for (uint32_t thread = 0; thread < 2; thread++) {
    struct script script;
    script_begin(&script, 2);
    for (int64_t i = 0; i < 3; i++) iteration(&script, 1000 + 1000 * i, 10 * i, thread);
    script_end(&script, &window);
    check_phases(&script, thread ? "backward on a thread of its own" : "backward on the same thread", 2,
                 "2 other 2700 3010 - -, 2 input 3010 3100 0 -, 2 other 3100 3110 - -, 2 optimizer 3110 3120 - -, "
                 "2 other 3120 3150 - -, 2 forward 3150 3300 0 -, 2 backward 3300 3410 0 -, "
                 "2 optimizer 3410 3600 - -, 2 optimizer 3600 3700 - -"); /* clipping is told by ops alone */
    end(&script.opened);
  }
}

/* What Lightning does: all of the step is called by the optimizer. */
static void test_closure(void) {
  struct script script;
  script_begin(&script, 1);
  for (int64_t i = 0; i < 3; i++) {
    int64_t at = 1000 + 1000 * i;
    range(&script, loader, at + 10, at + 100);
    op(&script, "aten::linear", at + 150, at + 250, 5 * i);
    range(&script, zero, at + 260, at + 270);
    backward(&script, 0, at + 300, at + 400, 5 * i);
    op(&script, "aten::_foreach_add_", at + 450, at + 500, -1);
    range(&script, adam, at + 140, at + 600);
  }
  script_end(&script, &window);
  check_phases(&script, "a closure", 2,
               "2 other 2600 3010 - -, 2 input 3010 3100 0 -, 2 other 3100 3140 - -, 2 optimizer 3140 3150 - -, "
               "2 forward 3150 3260 0 -, 2 optimizer 3260 3270 - -, 2 forward 3270 3300 0 -, "
               "2 backward 3300 3400 0 -, 2 optimizer 3400 3600 - -");
  end(&script.opened);
}

/* Two micro-batches each; validation behind the second step, with marks of modes and without; then a new epoch. */
static void test_evaluation(void) {
  for (int has_marks = 0; has_marks < 2; has_marks++) {
    struct script script;
    script_begin(&script, 1);
    for (int64_t i = 0; i < 3; i++) {
      int64_t at = 1000 + 1000 * i;
      if (i == 0 || i == 2) range(&script, restart, at, at + 5);
      for (int64_t k = 0; k < 2; k++, at += 200) {
        range(&script, loader, at + 10, at + 50);
        op(&script, "aten::linear", at + 60, at + 90, 10 * i + k);
        backward(&script, 0, at + 100, at + 150, 10 * i + k);
        script_row(&script, "autograd", accumulate, 0, at + 150, at + 160);
      }
      range(&script, adam, at + 100, at + 150);
      if (i != 1) continue;
      at = 2560;
      if (has_marks) range(&script, "torch.nn.Module.eval", at, at + 5);
      range(&script, restart, at + 10, at + 20);
      for (int64_t k = 0; k < 3; k++) {
        range(&script, loader, at + 20 + 100 * k, at + 40 + 100 * k);
        if (k < 2) op(&script, "aten::linear", at + 50 + 100 * k, at + 100 + 100 * k, -1);
      }
      if (has_marks) range(&script, "torch.nn.Module.train", at + 300, at + 305);
    }
    script_end(&script, &window);
    check_phases(&script, has_marks ? "validation with marks" : "validation without marks", 2,
                 has_marks ? "- input 1000 1005 0 0, 2 other 2550 2560 - 0, "
                             "2 evaluation 2560 2860 - 0, 2 other 2860 3000 - 0, "
                             "2 input 3000 3005 0 1, 2 other 3005 3010 - 1, 2 input 3010 3050 0 1, "
                             "2 other 3050 3060 - 1, 2 forward 3060 3100 0 1, 2 backward 3100 3160 0 1, "
                             "2 other 3160 3210 - 1, 2 input 3210 3250 1 1, 2 other 3250 3260 - 1, "
                             "2 forward 3260 3300 1 1, 2 backward 3300 3360 1 1, 2 other 3360 3500 - 1, "
                             "2 optimizer 3500 3550 - 1"
                           : "- input 1000 1005 0 0, 2 other 2550 2570 - 0, "
                             "2 evaluation 2570 2760 - 0, 2 other 2760 2780 - 0, "
                             "2 input 2780 2800 0 0, 2 other 2800 3000 - 0, "
                             "2 input 3000 3005 0 1, 2 other 3005 3010 - 1, 2 input 3010 3050 0 1, "
                             "2 other 3050 3060 - 1, 2 forward 3060 3100 0 1, 2 backward 3100 3160 0 1, "
                             "2 other 3160 3210 - 1, 2 input 3210 3250 1 1, 2 other 3250 3260 - 1, "
                             "2 forward 3260 3300 1 1, 2 backward 3300 3360 1 1, 2 other 3360 3500 - 1, "
                             "2 optimizer 3500 3550 - 1");
    end(&script.opened);
  }
}

/* Forward ops that a node of the backward pass runs again, and derivatives of derivatives, which are none. */
static void test_recomputation(void) {
  for (int is_checkpoint = 0; is_checkpoint < 2; is_checkpoint++) {
    struct script script;
    script_begin(&script, 1);
    for (int64_t i = 0; i < 2; i++) {
      int64_t at = 1000 + 1000 * i;
      op(&script, "aten::linear", at + 100, at + 200, 10 * i);
      op(&script, "aten::addmm", at + 310, at + 340, 10 * i + 1);
      op(&script, is_checkpoint ? "aten::linear" : "aten::mm", at + 305, at + 345, 10 * i + 1);
      op(&script, "aten::relu", at + 350, at + 360, 10 * i + 2);
      op(&script, "aten::mm", at + 370, at + 390, is_checkpoint ? -1 : 10 * i + 3);
      backward(&script, 0, at + 300, at + 400, 10 * i);
      range(&script, adam, at + 500, at + 600);
    }
    script_end(&script, &window);
    check_phases(&script, is_checkpoint ? "a checkpoint" : "derivatives of derivatives", 1,
                 is_checkpoint ? "1 other 1600 2100 - -, 1 forward 2100 2300 0 -, 1 backward 2300 2305 0 -, "
                                 "1 backward* 2305 2360 0 -, 1 backward 2360 2400 0 -, 1 other 2400 2500 - -, "
                                 "1 optimizer 2500 2600 - -"
                               : "1 other 1600 2100 - -, 1 forward 2100 2300 0 -, 1 backward 2300 2400 0 -, "
                                 "1 other 2400 2500 - -, 1 optimizer 2500 2600 - -");
    end(&script.opened);
  }
}

/* Steps whose ops were left out: ranges tell, and of what is left nothing is known. */
static void test_sampled(void) {
  struct script script;
  script_begin(&script, 1);
  for (int64_t i = 0; i < 3; i++) {
    int64_t at = 1000 + 1000 * i;
    range(&script, loader, at + 10, at + 100);
    range(&script, "torch.autograd.backward", at + 300, at + 400);
    range(&script, adam, at + (i == 2 ? 200 : 500), at + 600);
  }
  column(&script.opened, TABLE_counters, COLUMN_counters_name, 1)[0] = text(&script.opened, "capture_ops_recorded");
  column(&script.opened, TABLE_counters, COLUMN_counters_time_ns, 1)[0] = 0;
  column(&script.opened, TABLE_counters, COLUMN_counters_value, 1)[0] = 0;
  script_end(&script, &window);
  check_phases(&script, "without ops", 1,
               "1 input 2010 2100 0 -, 1 backward 2300 2400 0 -, 1 optimizer 2500 2600 - -, 2 input 3010 3100 0 -, "
               "2 forward 3200 3300 0 -, 2 backward 3300 3400 0 -, 2 optimizer 3400 3600 - -");
  end(&script.opened);
}

/* A model that is never trained, and a program of another framework. */
static void test_without_training(void) {
  struct script script;
  /* Without gradients it is evaluation only where that is an exception. */
  for (int64_t without = 1; without <= 2; without++) {
    script_begin(&script, 1);
    for (int64_t i = 0; i < 3; i++) {
      char name[32];
      snprintf(name, sizeof name, "tfprof.step#%d", (int)i);
      op(&script, "aten::linear", 1100 + 1000 * i, 1200 + 1000 * i, i >= without ? 7 : -1);
      op(&script, "aten::mm", 1300 + 1000 * i, 1400 + 1000 * i, i >= without ? 8 : -1);
      range(&script, name, 1000 + 1000 * i, 1900 + 1000 * i);
    }
    script_end(&script, &window);
    check_phases(&script, "inference", 0,
                 without == 1 ? "0 other 1000 1100 - -, 0 evaluation 1100 1400 - -, 0 other 1400 1900 - -, "
                                "1 other 2000 2100 - -, 1 forward 2100 2400 0 -, 1 other 2400 2900 - -, "
                                "2 other 3000 3100 - -, 2 forward 3100 3400 0 -, 2 other 3400 3900 - -"
                              : "0 other 1000 1100 - -, 0 forward 1100 1400 - -, 0 other 1400 1900 - -, "
                                "1 other 2000 2100 - -, 1 forward 2100 2400 - -, 1 other 2400 2900 - -, "
                                "2 other 3000 3100 - -, 2 forward 3100 3400 0 -, 2 other 3400 3900 - -");
    end(&script.opened);
  }

  script_begin(&script, 1);
  for (int64_t i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "tfprof.step#%d", (int)i);
    op(&script, "MatMul", 1100 + 1000 * i, 1200 + 1000 * i, -1);
    range(&script, name, 1000 + 1000 * i, 1900 + 1000 * i);
  }
  script_end(&script, &window);
  check_phases(&script, "nothing known", 0, "");
  end(&script.opened);
}

int main(void) {
  test_plain();
  test_closure();
  test_evaluation();
  test_recomputation();
  test_sampled();
  test_without_training();
  return check_result();
}
