/* test_derive_steps.c: steps from all kinds of marks, and what their time went to. */
#include "derive_test.h"

#include "steps/optimizer_steps.h"

static void check_steps(struct script *script, const char *what, const char *expected) {
  uint32_t rows;
  char got[4096] = "";
  size_t length = 0;
  static const unsigned wanted[] = {COLUMN_steps_origin, COLUMN_steps_number,    COLUMN_steps_start_ns,
                                    COLUMN_steps_end_ns, COLUMN_steps_is_warmup, COLUMN_steps_ops_recorded};
  int64_t *values[6], *durations, *names;
  for (unsigned i = 0; i < 6; i++) values[i] = derived(&script->opened, TABLE_steps, wanted[i], &rows);
  durations = derived(&script->opened, TABLE_steps, COLUMN_steps_dur_ns, NULL);
  names = derived(&script->opened, TABLE_steps, COLUMN_steps_name, NULL);
  for (uint32_t i = 0; i < rows && length < sizeof got; i++) {
    length += (size_t)snprintf(got + length, sizeof got - length, "%s%s %lld %lld %lld %lld %lld", i ? ", " : "",
                               text_of(&script->opened, values[0][i]), (long long)values[1][i], (long long)values[2][i],
                               (long long)values[3][i], (long long)values[4][i], (long long)values[5][i]);
    check(durations[i] == values[3][i] - values[2][i], "%s: dur_ns of step %u", what, i);
    check(strncmp(text_of(&script->opened, names[i]), "step ", 5) == 0 ||
              strncmp(text_of(&script->opened, names[i]), "ProfilerStep#", 13) == 0,
          "%s: name of step %u", what, i);
  }
  check(strcmp(got, expected) == 0, "%s: steps are\n  %s\ninstead of\n  %s", what, got, expected);
  for (unsigned i = 0; i < 6; i++) free(values[i]);
  free(durations);
  free(names);
}

static void test_steps(void) {
  struct script script;
  const char *adam = "Optimizer.step#Adam.step", *sgd = "Optimizer.step#SGD.step";

  script_begin(&script, 1);
  script_end(&script, &from_start);
  check_steps(&script, "no rows", "");
  end(&script.opened);

  script_begin(&script, 1);
  script_row(&script, "op", "aten::mm", 0, 10, 20);
  script_end(&script, &from_start);
  check_steps(&script, "no marks", "");
  end(&script.opened);

  /* Setting up, then four iterations that begin with two aten::randn each; then an evaluation. */
  script_begin(&script, 2);
  script_row(&script, "op", "aten::uniform_", 0, 10, 20);
  script_row(&script, "op", "aten::randn", 0, 30, 40);
  script_row(&script, "op", "aten::uniform_", 0, 50, 60);
  for (int64_t i = 0; i < 4; i++) {
    script_row(&script, "op", "aten::randn", 0, 110 + 100 * i, 120 + 100 * i);
    script_row(&script, "op", "aten::randn", 0, 122 + 100 * i, 130 + 100 * i);
    script_row(&script, "op", "aten::mm", 0, 130 + 100 * i, 150 + 100 * i);
    if (i != 2) script_row(&script, "op", "aten::add", 0, 160 + 100 * i, 170 + 100 * i);
    script_row(&script, "user", adam, 0, 160 + 100 * i, 190 + 100 * i);
  }
  script_row(&script, "op", "aten::mm", 0, 600, 700);
  script_end(&script, &from_start);
  check_steps(&script, "optimizer",
              "optimizer 0 110 190 1 1, optimizer 1 190 290 1 1, optimizer 2 290 390 0 1, optimizer 3 390 490 0 1");
  int64_t *steps = derived(&script.opened, TABLE_ops, COLUMN_ops_step_id, NULL);
  check(steps[0] == NO_VALUE && steps[1] == NO_VALUE && steps[3] == 0 && steps[7] == 0 && steps[8] == 1 &&
            steps[script.count - 2] == 3 && steps[script.count - 1] == NO_VALUE,
        "steps of ops: %lld %lld %lld", (long long)steps[3], (long long)steps[7], (long long)steps[8]);
  free(steps);
  end(&script.opened);

  /* The first step begins as the second one does, within Python frames and ranges around the loop, too. */
  script_begin(&script, 1);
  script_row(&script, "python", "train.py(1): <module>", 0, 5, 1000);
  script_row(&script, "user", "training", 0, 6, 900);
  script_row(&script, "op", "aten::uniform_", 0, 10, 20);
  for (int64_t i = 0; i < 3; i++) {
    script_row(&script, "python", "train.py(9): step", 0, 108 + 100 * i, 195 + 100 * i);
    script_row(&script, "op", "aten::randn", 0, 110 + 100 * i, 150 + 100 * i);
    script_row(&script, "op", "aten::empty", 0, 110 + 100 * i, 120 + 100 * i);
    script_row(&script, "user", adam, 0, 160 + 100 * i, 190 + 100 * i);
  }
  script_end(&script, &window);
  check_steps(&script, "within frames",
              "optimizer 0 110 190 0 1, optimizer 1 190 290 0 1, optimizer 2 290 390 0 1");
  end(&script.opened);

  /* Only every fourth step is recorded after the first three: warm-up must leave half of what was recorded. */
  script_begin(&script, 1);
  for (int64_t i = 0; i < 8; i++) {
    if (i < 3 || i == 6) script_row(&script, "op", "aten::mm", 0, 10 + 100 * i, 20 + 100 * i);
    if (i < 3 || i == 6) script_row(&script, "op", "aten::add_", 0, 81 + 100 * i, 89 + 100 * i);
    script_row(&script, "user", adam, 0, 80 + 100 * i, 90 + 100 * i);
  }
  script_end(&script, &from_start);
  check_steps(&script, "sampled",
              "optimizer 0 10 90 1 1, optimizer 1 90 190 1 1, optimizer 2 190 290 0 1, optimizer 3 290 390 0 0, "
              "optimizer 4 390 490 0 0, optimizer 5 490 590 0 0, optimizer 6 590 690 0 1, optimizer 7 690 790 0 0");
  end(&script.opened);

  /* Marks of a profiler win, on the thread that has most of them; a window of another profiler has no warm-up. */
  for (int is_window = 0; is_window < 2; is_window++) {
    script_begin(&script, 2);
    script_row(&script, "user", "ProfilerStep#9", 1, 0, 900);
    script_row(&script, "user", "ProfilerStep#x", 0, 0, 900);
    for (int64_t i = 0; i < 3; i++) {
      script_row(&script, "op", "aten::mm", 0, 110 + 100 * i, 120 + 100 * i);
      script_row(&script, "user", adam, 0, 180 + 100 * i, 190 + 100 * i);
      char name[32];
      snprintf(name, sizeof name, "ProfilerStep#%d", (int)i + 5);
      script_row(&script, "user", name, 0, 100 + 100 * i, 195 + 100 * i);
    }
    script_end(&script, is_window ? &window : &from_start);
    check_steps(&script, "marks", is_window ? "profiler 5 100 195 0 1, profiler 6 200 295 0 1, profiler 7 300 395 0 1"
                                            : "profiler 5 100 195 1 1, profiler 6 200 295 0 1, profiler 7 300 395 0 1");
    end(&script.opened);
  }

  /* What is marked after the last iteration is no step. Where ops were left out, that there are none says nothing. */
  for (int is_sampled = 0; is_sampled < 2; is_sampled++) {
    for (int has_ranges = 0; has_ranges < 2; has_ranges++) {
      script_begin(&script, 2);
      for (int64_t i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        if (i < 3) script_row(&script, "op", "aten::mm", 0, 110 + 100 * i, 120 + 100 * i);
        if (i < 3 && has_ranges) script_row(&script, "user", adam, 0, 180 + 100 * i, 190 + 100 * i);
        script_row(&script, "user", name, 0, 100 + 100 * i, 195 + 100 * i);
      }
      script_row(&script, "op", "aten::mm", 1, 410, 420); /* elsewhere */
      script_row(&script, "op", "aten::mm", 0, 500, 510); /* later */
      if (is_sampled) {
        column(&script.opened, TABLE_counters, COLUMN_counters_name, 1)[0] =
            text(&script.opened, "capture_ops_recorded");
        column(&script.opened, TABLE_counters, COLUMN_counters_time_ns, 1)[0] = 0;
        column(&script.opened, TABLE_counters, COLUMN_counters_value, 1)[0] = 0;
      }
      script_end(&script, &window);
      check_steps(&script, "nothing after the last",
                  !is_sampled  ? "profiler 0 100 195 0 1, profiler 1 200 295 0 1, profiler 2 300 395 0 1"
                  : has_ranges ? "profiler 0 100 195 0 0, profiler 1 200 295 0 0, profiler 2 300 395 0 0"
                               : "profiler 0 100 195 0 0, profiler 1 200 295 0 0, profiler 2 300 395 0 0, "
                                 "profiler 3 400 495 0 0");
      end(&script.opened);
    }
  }

  /* Two optimizers of one class in each iteration: a step ends after the second. */
  script_begin(&script, 1);
  for (int64_t i = 0; i < 12; i++) {
    script_row(&script, "op", "aten::mm", 0, 1010 + 1000 * i, 1700 + 1000 * i);
    script_row(&script, "user", adam, 0, 1800 + 1000 * i, 1850 + 1000 * i);
    script_row(&script, "user", adam, 0, 1860 + 1000 * i + i % 3, 1910 + 1000 * i + i % 3);
  }
  script_end(&script, &from_start);
  uint32_t rows;
  int64_t *ends = derived(&script.opened, TABLE_steps, COLUMN_steps_end_ns, &rows);
  check(rows == 12 && ends[0] == 1910 && ends[11] == 12910 + 11 % 3, "two of a class: %u steps", rows);
  free(ends);
  end(&script.opened);

  /* Two optimizers, equally regular: the last of the iteration. One of them far less often: the other. */
  for (int is_rare = 0; is_rare < 2; is_rare++) {
    script_begin(&script, 1);
    for (int64_t i = 0; i < 12; i++) {
      script_row(&script, "op", "aten::mm", 0, 1010 + 1000 * i, 1300 + 1000 * i);
      script_row(&script, "user", adam, 0, 1400 + 1000 * i + i % 4, 1450 + 1000 * i + i % 4);
      if (!is_rare || i % 6 == 5) script_row(&script, "user", sgd, 0, 1900 + 1000 * i, 1950 + 1000 * i + i % 3);
    }
    script_end(&script, &from_start);
    ends = derived(&script.opened, TABLE_steps, COLUMN_steps_end_ns, &rows);
    check(rows == 12 && ends[0] == (is_rare ? 1450 : 1950), "two optimizers: %u steps, the first until %lld", rows,
          (long long)(rows ? ends[0] : -1));
    free(ends);
    end(&script.opened);
  }

  /* The marks cover a window only. */
  script_begin(&script, 1);
  for (int64_t i = 0; i < 20; i++) {
    script_row(&script, "op", "aten::mm", 0, 1010 + 1000 * i, 1300 + 1000 * i);
    script_row(&script, "user", adam, 0, 1900 + 1000 * i, 1950 + 1000 * i);
    const char *mark = i == 18 ? "ProfilerStep#18" : "ProfilerStep#19";
    if (i > 17) script_row(&script, "user", mark, 0, 1000 + 1000 * i, 1960 + 1000 * i);
  }
  script_end(&script, &from_start);
  ends = derived(&script.opened, TABLE_steps, COLUMN_steps_end_ns, &rows);
  check(rows == 20, "marks of a window: %u steps", rows);
  free(ends);
  end(&script.opened);
}

/* What ends steps, of events in order: letters are optimizers, '.' a loader that is asked for a batch, '!' one on
** another thread, ',' one after which nothing runs, '(' a loader that begins anew, '^' an update of the gradient
** scaler. */
static void test_rule(void) {
  static const struct {
    const char *events;
    uint32_t count, skipped, last; /* the event that ends the last step */
    bool by_batches;
  } cases[] = {
      {"aaaa", 4, 0, 3, false},
      {".a.a.a", 3, 0, 5, false},
      {".abcd.abcd.abcd", 3, 0, 14, false},      /* a parameter each */
      {"ababab", 3, 0, 5, false},                /* a GAN */
      {"abababa", 3, 0, 5, false},               /* that ended in the middle of an iteration */
      {"aaaabaaaabaaaab", 12, 0, 13, false},     /* four steps of the critic, as PyTorch counts */
      {".aaaab.aaaab.aaaab", 12, 0, 16, false},
      {"aaabaaab", 6, 0, 6, false},
      {".a.b.a.b.a.b", 6, 0, 11, true},          /* they take turns */
      {"!a!b!a!b!a!b", 3, 0, 11, false},         /* a loader that runs ahead says nothing */
      {".ab...ab...ab", 3, 0, 12, false},        /* an evaluation in between */
      {"..a..a..a", 3, 0, 8, false},             /* gradients of two batches are added up */
      {"aaaabbbbbcc", 11, 0, 10, false},         /* one after the other */
      {"ababab" "cdcdcdcd", 7, 0, 13, false},
      {"a^a^^a^", 4, 1, 5, false},               /* a step was skipped */
      {"^^a^a^", 4, 2, 4, false},
      {"ab^ab^^ab^", 4, 1, 8, false},
      {"a^b^a^b^a^b^", 3, 0, 10, false},         /* an update for each optimizer */
      {"^.!", 0, 0, 0, false},
      {"(....", 3, 0, 3, true},                  /* no optimizer: the last call says that there are no more */
      {"!!....", 3, 0, 4, true},
      {"(...(...", 4, 0, 6, true},
      {"(.(.(.(.", 3, 0, 5, true},               /* next(iter(loader)) */
      {"..,..,", 4, 0, 4, true},                 /* where nothing tells of epochs */
      {"", 0, 0, 0, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct training_mark marks[32];
    uint32_t count = (uint32_t)strlen(cases[i].events);
    for (uint32_t k = 0; k < count; k++) {
      char event = cases[i].events[count - 1 - k]; /* in any order */
      int64_t time = 10 * (int64_t)(count - 1 - k);
      marks[k] = (struct training_mark){time, time + 5, (uint64_t)event, event == '!', count - 1 - k,
                                        event == '^'           ? STEP_SCALER
                                        : event == '('         ? STEP_EPOCH
                                        : strchr(".!,", event) ? STEP_BATCH
                                                               : STEP_OF_OPTIMIZER,
                                        event == ','};
    }
    void *room = malloc(optimizer_steps_room(count) + 1);
    struct optimizer_steps steps;
    optimizer_steps_find(marks, count, room, &steps);
    uint32_t last = steps.count ? steps.ends[steps.count - 1].row : 0;
    check(steps.count == cases[i].count && steps.skipped == cases[i].skipped && last == cases[i].last &&
              steps.by_batches == cases[i].by_batches,
          "%s: %u steps, %u skipped, the last ended by %u, by batches %d", cases[i].events, steps.count, steps.skipped,
          last, steps.by_batches);
    for (uint32_t k = 1; k < steps.count; k++) check(steps.ends[k].end > steps.ends[k - 1].end, "ends out of order");
    free(room);
  }
}

static int64_t now;

static void work(struct script *script, const char *category, const char *name, uint32_t thread, int64_t sequence) {
  int64_t start = now + below(50);
  now = start + 1 + below(200); /* as busy as machines are */
  uint32_t row = script_row(script, category, name, thread, start, now);
  script->columns[COLUMN_ops_sequence_number][row] = sequence;
}

/* A forward and a backward pass, after which `parameters` have gradients, and `optimizers` that step. */
static void train(struct script *script, uint32_t thread, const char *backward, int parameters, int optimizers) {
  work(script, "op", "aten::addmm", thread, 7);
  work(script, "autograd", backward, thread, 7);
  for (int i = 0; i < parameters; i++)
    work(script, "op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", thread, NO_VALUE);
  for (int i = 0; i < optimizers; i++) {
    int64_t start = now + 5;
    work(script, "op", "aten::add_", thread, NO_VALUE);
    script_row(script, "user", "Optimizer.step#Adam.step", thread, start - 5, now += 5);
  }
}

/* Traces that do not tell which optimizer steps: by what steps do, however long they take. */
static void test_optimizers(void) {
  enum {
    GAN, MANY, CRITIC, REMAINDER, FROZEN, RANDOM, TURNS, THREADS, BESIDE, ACCUMULATION,
    SKIPPED, ALIKE, STATE, ONE_STATE, SEARCHES, MODULES, ONE_MODULE, BATCHES, ZEROED, /* two steps of train() each */
    CASES
  };
  static const struct {
    const char *name;
    uint32_t steps, optimizers;
  } expected[CASES] = {[GAN] = {"a GAN", 20, 2},
                       [MANY] = {"an optimizer for each of 12 parameters", 20, 12},
                       [CRITIC] = {"five steps of a critic", 100, 2},
                       [REMAINDER] = {"fewer batches at the end of an epoch", 20, 0},
                       [SKIPPED] = {"a step left out again and again", 40, 1},
                       [FROZEN] = {"networks of as many parameters", 20, 2},
                       [RANDOM] = {"layers left out by chance", 20, 1},
                       [TURNS] = {"optimizers that take turns", 20, 2},
                       [THREADS] = {"a thread after the other", 20, 0}, /* 0: not told */
                       [BESIDE] = {"threads beside each other", 20, 2},
                       [ACCUMULATION] = {"gradients of two batches", 20, 0},
                       [ALIKE] = {"networks that look alike", 40, 0},
                       [STATE] = {"networks that look alike, from the first step on", 20, 2},
                       [ONE_STATE] = {"two updates a batch, from the first step on", 40, 1},
                       [SEARCHES] = {"steps that search, less and less", 40, 0},
                       [MODULES] = {"networks that look alike, by their modules", 20, 2},
                       [ONE_MODULE] = {"two updates of one module", 40, 1},
                       [BATCHES] = {"three networks that look alike, with each batch", 20, 3},
                       [ZEROED] = {"networks that look alike, set to zero together", 20, 2}};
  for (int kind = 0; kind < CASES; kind++) {
    struct script script;
    script_begin(&script, 2);
    now = 1000;
    for (int i = 0; i < 20; i++) {
      bool is_odd = i % 2;
      if (kind == GAN || kind == FROZEN) train(&script, 0, "AddmmBackward0", 4, 1);
      if (kind == GAN) train(&script, 0, "AddmmBackward0", 8, 1);
      if (kind == FROZEN) train(&script, 0, "TanhBackward0", 4, 1);
      if (kind == MANY) train(&script, 0, "AddmmBackward0", 12, 12);
      for (int k = 0; kind == CRITIC && k < 6; k++) train(&script, 0, "AddmmBackward0", k < 5 ? 4 : 8, 1);
      for (int k = 0; kind == REMAINDER && k < (is_odd ? 1 : 3); k++) train(&script, 0, "AddmmBackward0", 4, 0);
      if (kind == REMAINDER) train(&script, 0, "AddmmBackward0", 4, 1);
      if (kind == RANDOM) train(&script, 0, "AddmmBackward0", 2 + (int)below(6), 1);
      if (kind == TURNS) work(&script, "user", "enumerate(DataLoader)#_Iter.__next__", 0, NO_VALUE);
      if (kind == TURNS) train(&script, 0, "AddmmBackward0", is_odd ? 4 : 8, 1);
      if (kind == THREADS) train(&script, is_odd, "AddmmBackward0", 4, 1);
      if (kind == ACCUMULATION) train(&script, 0, "AddmmBackward0", 4, 0);
      if (kind == ACCUMULATION) train(&script, 0, "AddmmBackward0", 4, 1);
      for (int k = 0; kind >= SKIPPED && k < (kind == BATCHES ? 3 : 2); k++) {
        bool has_batch = k == 0 && (kind == BATCHES || kind == ONE_STATE);
        if (has_batch) work(&script, "input", "enumerate(DataLoader)#_Iter.__next__", 0, NO_VALUE);
        for (int zeroed = 0; kind == ZEROED && k == 0 && zeroed < 2; zeroed++)
          work(&script, "user", "Optimizer.zero_grad#Adam.zero_grad", 0, NO_VALUE);
        if (kind == MODULES) work(&script, "module", k ? "nn.Module: Linear_1" : "nn.Module: Linear_0", 0, NO_VALUE);
        if (kind == ONE_MODULE) work(&script, "module", "nn.Module: Linear_0", 0, NO_VALUE);
        train(&script, 0, "AddmmBackward0", 4 + 4 * (kind == SKIPPED && k), 0); /* as if hidden by what follows */
        int64_t start = now;
        bool makes_state = i == 0 && (kind == STATE || ((kind == ONE_STATE || kind == SKIPPED) && k == 0));
        work(&script, "op", makes_state ? "aten::zeros_like" : "aten::add_", 0, NO_VALUE);
        for (int left = 9 - i; kind == SEARCHES && left > 0; left--) work(&script, "op", "aten::clone", 0, NO_VALUE);
        script_row(&script, "user", "Optimizer.step#Adam.step", 0, start, now += 5);
      }
      int64_t began = now;
      if (kind == BESIDE) train(&script, 0, "AddmmBackward0", 4, 1);
      int64_t ended = now;
      now = began + 3;
      if (kind == BESIDE) train(&script, 1, "AddmmBackward0", 4, 1);
      now = ended > now ? ended : now;
    }
    script_end(&script, &window);
    uint32_t rows;
    int64_t *ends = derived(&script.opened, TABLE_steps, COLUMN_steps_end_ns, &rows), most = 0;
    int64_t *optimizers = derived(&script.opened, TABLE_ops, COLUMN_ops_optimizer, NULL);
    for (uint32_t i = 0; i < script.count; i++) most = optimizers[i] > most ? optimizers[i] : most;
    check(rows == expected[kind].steps && most == expected[kind].optimizers, "%s: %u steps, %lld optimizers",
          expected[kind].name, rows, (long long)most);
    free(ends);
    free(optimizers);
    end(&script.opened);
  }
}

/* Rows of host_steps: "step op input wait outside ops calls small small_ns". */
static void check_host_steps(struct script *script, const char *what, const char *expected) {
  static const unsigned wanted[] = {
      COLUMN_host_steps_step_id,  COLUMN_host_steps_op_ns,      COLUMN_host_steps_input_ns,
      COLUMN_host_steps_wait_ns,  COLUMN_host_steps_outside_ns, COLUMN_host_steps_op_count,
      COLUMN_host_steps_call_count, COLUMN_host_steps_small_call_count, COLUMN_host_steps_small_call_ns};
  enum { COUNT = sizeof wanted / sizeof *wanted };
  int64_t *values[COUNT];
  uint32_t rows;
  char got[2048] = "";
  size_t length = 0;
  for (unsigned i = 0; i < COUNT; i++) values[i] = derived(&script->opened, TABLE_host_steps, wanted[i], &rows);
  for (uint32_t row = 0; row < rows; row++) {
    for (unsigned i = 0; i < COUNT && length < sizeof got - 32; i++) {
      const char *before = i ? " " : row ? ", " : "";
      if (values[i][row] == NO_VALUE) length += (size_t)snprintf(got + length, sizeof got - length, "%s-", before);
      else length += (size_t)snprintf(got + length, sizeof got - length, "%s%lld", before, (long long)values[i][row]);
    }
  }
  check(strcmp(got, expected) == 0, "%s: host_steps are\n  %s\ninstead of\n  %s", what, got, expected);
  for (unsigned i = 0; i < COUNT; i++) free(values[i]);
}

/* Times are in microseconds, which the limit of small calls is about. */
static void host_row(struct script *script, const char *category, const char *name, uint32_t thread, int64_t start,
                     int64_t finish) {
  script_row(script, category, name, thread, start * 1000, finish * 1000);
}

static void test_host_steps(void) {
  static const char loader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  struct script script;

  script_begin(&script, 1);
  script_row(&script, "op", "aten::mm", 0, 10, 20);
  script_end(&script, &window);
  check_host_steps(&script, "no steps", "");
  end(&script.opened);

  /* Steps on thread 0; 1 runs the backward pass, 2 an exchange with other ranks, 3 something else. */
  script_begin(&script, 4);
  host_row(&script, "user", "ProfilerStep#1", 0, 0, 1000);
  host_row(&script, "user", loader, 0, 0, 100);       /* 60 besides the op in it */
  host_row(&script, "op", "aten::stack", 0, 20, 60);
  host_row(&script, "user", "my range", 0, 100, 400); /* no op, but those in it are called */
  host_row(&script, "op", "aten::linear", 0, 100, 200);
  host_row(&script, "op", "aten::addmm", 0, 110, 190);
  host_row(&script, "op", "aten::add", 0, 250, 260);
  host_row(&script, "autograd", "MmBackward0", 1, 400, 500);
  host_row(&script, "op", "aten::mm", 1, 410, 490);
  host_row(&script, "user", "gloo:all_reduce", 2, 450, 700); /* 200 behind the backward pass */
  host_row(&script, "op", "aten::randn", 3, 0, 1000);
  host_row(&script, "op", "aten::late", 0, 950, 1100); /* 50 in the first step; what it called counts in the second */
  host_row(&script, "user", "ProfilerStep#2", 0, 1000, 2000);
  host_row(&script, "op", "aten::inside", 0, 1000, 1050);
  host_row(&script, "op", "aten::relu", 0, 1200, 1219);
  int64_t *names = column(&script.opened, TABLE_api_calls, COLUMN_api_calls_name, 3);
  int64_t *threads = column(&script.opened, TABLE_api_calls, COLUMN_api_calls_thread_id, 3);
  int64_t *starts = column(&script.opened, TABLE_api_calls, COLUMN_api_calls_start_ns, 3);
  int64_t *ends = column(&script.opened, TABLE_api_calls, COLUMN_api_calls_end_ns, 3);
  for (unsigned i = 0; i < 3; i++) { /* one that launches, one that waits, one that waits on another thread */
    names[i] = text(&script.opened, i ? "cudaDeviceSynchronize" : "cudaLaunchKernel");
    threads[i] = i == 2 ? 3 : 0;
    starts[i] = 1500000 + 100000 * i;
    ends[i] = starts[i] + 70000;
  }
  script_end(&script, &window);
  check_host_steps(&script, "parts",
                   "0 300000 60000 200000 440000 8 4 1 10000, 1 69000 0 70000 861000 2 1 1 19000");
  end(&script.opened);
}

int main(void) {
  test_steps();
  test_rule();
  test_optimizers();
  test_host_steps();
  return check_result();
}
