/* step_phases.c: the table step_phases: what a training program was at, on the threads that have steps.
**
** What covers which time is found by phase_covers.c; here it is cut into pieces that do not overlap.  Where several
** things go on, one within the other, the innermost counts as a rule, but evaluation for all that lies in it.  What is
** left of steps whose ops were recorded is `other`; of other steps nothing is known of what is left.
**
** A model that runs for no backward pass is evaluation only where that is an exception.  Where half of the measured
** steps or more have it, it is what the program does in a step, as in inference and where a model makes the data:
** forward, unless ranges tell that a model was put into evaluation mode and back.  So steps.training_ns has it, too.
**
** What recording took of a step (steps.recording_ns) its pieces share by the records of ops that began in each, just
** before which it was paid.
**
** A micro-batch is one of the passes forward and backward since the last optimizer step ended: it ends where input or a
** forward pass follows a backward pass.  Of steps whose ops were not recorded only the backward passes are known for
** certain: they are divided into micro-batches as those of the steps are whose ops were recorded.  An epoch begins
** where a data loader begins anew after a backward pass.
*/
#include "derive/passes.h"
#include "derive/steps/recording_cost.h"
#include "derive/time/phase_covers.h"
#include "schema/framework_list.h"

#include <stdlib.h>
#include <string.h>

enum phase { INPUT, FORWARD, BACKWARD, OPTIMIZER, EVALUATION, OTHER, PHASES };
static const char *const phase_names[PHASES + 1] = {"input",      "forward", "backward", "optimizer",
                                                    "evaluation", "other",   NULL};
static const enum phase phase_of_cover[COVERS] = {OTHER, EVALUATION, OPTIMIZER, BACKWARD, BACKWARD,
                                                  INPUT, OPTIMIZER,  FORWARD,   OPTIMIZER};

struct piece {
  int64_t start, end;
  uint32_t step, lane, micro_batch, epoch; /* NO_ROW: none */
  uint32_t pass; /* backward passes since the last optimizer step that had ended when it began */
  uint8_t phase;
  bool is_recomputation, is_told;
  int64_t recorded, cost; /* records of ops that it paid for; what they took */
};

struct work {
  struct profile *profile;
  struct phase_events events;
  struct phase_covers covers; /* of the lane at hand */
  struct step_lookup lookup;  /* its steps */
  struct recording_cost recording;
  int64_t *step_starts, *step_ends, *recorded, *step_costs;
  double *weights;
  uint32_t *step_threads;
  uint32_t *steps, step_count; /* rows of steps by lane */
  uint32_t first_step;         /* in `steps`, of the next lane */
  struct piece *pieces;
  uint32_t piece_count, piece_capacity;
  string_id names[PHASES];
};

/* ---- pieces ---- */

static int by_time(const void *left, const void *right) {
  const struct phase_edge *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->is_start != b->is_start) return a->is_start ? 1 : -1;
  return a->cover != b->cover ? (a->cover < b->cover ? -1 : 1) : a->turn - b->turn;
}

static void add_piece(struct work *w, struct piece piece) {
  struct piece *last = w->piece_count ? &w->pieces[w->piece_count - 1] : NULL;
  if (piece.end <= piece.start) return;
  if (last && last->end == piece.start && last->step == piece.step && last->lane == piece.lane &&
      last->phase == piece.phase && last->micro_batch == piece.micro_batch && last->epoch == piece.epoch &&
      (last->pass == piece.pass || piece.micro_batch == NO_ROW) &&
      last->is_recomputation == piece.is_recomputation && last->is_told == piece.is_told) {
    last->end = piece.end;
    return;
  }
  struct piece *pieces = scratch_grow(w->pieces, w->piece_count, &w->piece_capacity, 1024, sizeof *pieces);
  if (pieces) (w->pieces = pieces)[w->piece_count++] = piece;
  else w->covers.has_memory = false;
}

struct sweep {
  uint32_t open[COVERS], told[COVERS];
  uint32_t micro_batch, epoch, pass;
  bool is_batch_done;     /* a backward pass has ended since the micro-batch began */
  bool has_pass_in_epoch; /* one has ended since the loader began */
};

static int top_cover(const struct sweep *sweep) {
  for (int i = 0; i < COVERS; i++) {
    if (sweep->open[i]) return i;
  }
  return COVERS;
}

/* The stretch in which the same covers are open, cut where steps begin and end. */
static void add_stretch(struct work *w, struct sweep *sweep, int64_t start, int64_t end) {
  int cover = top_cover(sweep);
  bool is_covered = cover < COVERS;
  bool is_told = is_covered && sweep->told[cover == COVER_RECOMPUTATION ? COVER_BACKWARD : cover];
  enum phase phase = is_covered ? phase_of_cover[cover] : OTHER;
  bool is_in_batch = phase == INPUT || phase == FORWARD || phase == BACKWARD;
  if ((phase == INPUT || phase == FORWARD) && sweep->is_batch_done) {
    sweep->micro_batch++;
    sweep->is_batch_done = false;
  }
  while (start < end) {
    uint32_t step = step_lookup_find(&w->lookup, start), place = w->lookup.hint;
    int64_t until = end;
    if (w->lookup.count && start < w->lookup.times[0]) place = UINT32_MAX;
    if (w->lookup.count && place + 1 < w->lookup.count && w->lookup.times[place + 1] < end)
      until = w->lookup.times[place + 1];
    if (is_covered || (step != NO_ROW && w->recorded[step] == 1)) {
      add_piece(w, (struct piece){.start = start,
                                  .end = until,
                                  .step = step,
                                  .lane = w->covers.lane,
                                  .micro_batch = is_in_batch ? sweep->micro_batch : NO_ROW,
                                  .epoch = sweep->epoch,
                                  .pass = sweep->pass,
                                  .phase = (uint8_t)phase,
                                  .is_recomputation = cover == COVER_RECOMPUTATION,
                                  .is_told = is_told});
    }
    start = until;
  }
}

static void take_turn(struct sweep *sweep, enum phase_turn turn) {
  if (turn == TURN_GRADIENTS_DONE) {
    sweep->is_batch_done = sweep->has_pass_in_epoch = true;
    sweep->pass++;
  }
  if (turn == TURN_OPTIMIZER_DONE) {
    sweep->micro_batch = sweep->pass = 0;
    sweep->is_batch_done = false;
  }
  if (turn == TURN_LOADER_BEGINS && !sweep->open[COVER_EVALUATION]) {
    if (sweep->epoch == NO_ROW) sweep->epoch = 0;
    else if (sweep->has_pass_in_epoch) sweep->epoch++;
    sweep->has_pass_in_epoch = false;
  }
}

/* The first and the last moment of the lane's steps bound what is left over. */
static enum tfprof_status cut_lane(struct work *w, struct tfprof_error *error) {
  struct sweep sweep = {.epoch = NO_ROW};
  int64_t since = w->lookup.count ? w->lookup.times[0] : INT64_MAX;
  if (w->covers.edge_count > 1) qsort(w->covers.edges, w->covers.edge_count, sizeof *w->covers.edges, by_time);
  if (w->covers.edge_count && w->covers.edges[0].time < since) since = w->covers.edges[0].time;
  for (uint32_t i = 0; i < w->covers.edge_count;) {
    int64_t time = w->covers.edges[i].time;
    add_stretch(w, &sweep, since, time);
    since = time;
    uint32_t first = i;
    for (; i < w->covers.edge_count && w->covers.edges[i].time == time; i++) {
      const struct phase_edge *edge = &w->covers.edges[i];
      sweep.open[edge->cover] += edge->is_start ? 1 : -1u;
      if (edge->is_told) sweep.told[edge->cover] += edge->is_start ? 1 : -1u;
    }
    for (uint32_t k = first; k < i; k++) take_turn(&sweep, (enum phase_turn)w->covers.edges[k].turn);
    if ((i & (ROWS_BLOCK - 1)) == 0) {
      enum tfprof_status status = derive_poll(w->profile, error);
      if (status) return status;
    }
  }
  if (w->covers.edge_count && w->lookup.count) add_stretch(w, &sweep, since, w->lookup.times[w->lookup.count - 1]);
  return w->covers.has_memory ? TFPROF_OK : error_no_memory(error);
}

static bool is_recorded(const struct work *w, const struct piece *piece) {
  return piece->step != NO_ROW && w->recorded[piece->step] == 1;
}

/* Micro-batches of steps whose ops were not recorded. Where no step's were, the batches that were fetched tell, and
** where none was, each pass is one. */
static void number_unrecorded(struct work *w) {
  const struct piece *last = NULL;
  uint64_t passes = 0, batches = 0;
  bool has_input = false;
  for (uint32_t i = 0; i < w->piece_count; i++) {
    const struct piece *piece = &w->pieces[i];
    has_input |= piece->phase == INPUT && piece->step != NO_ROW;
    if (piece->phase != BACKWARD || !is_recorded(w, piece)) continue;
    bool is_same_step = last && last->step == piece->step && last->lane == piece->lane;
    passes += !is_same_step || last->pass != piece->pass;
    batches += !is_same_step || last->micro_batch != piece->micro_batch;
    last = piece;
  }
  if (!passes && has_input) return;
  if (!passes) passes = batches = 1;
  for (uint32_t i = 0; i < w->piece_count; i++) {
    struct piece *piece = &w->pieces[i];
    if (piece->micro_batch != NO_ROW && piece->step != NO_ROW && !is_recorded(w, piece))
      piece->micro_batch = (uint32_t)(piece->pass * batches / passes);
  }
}

/* The steps of the lane alone. */
static enum tfprof_status look_up_lane(struct work *w, struct tfprof_error *error) {
  uint32_t first = w->first_step, count;
  const uint32_t *lanes = w->events.lanes;
  while (first < w->step_count && lanes[w->step_threads[w->steps[first]]] < w->covers.lane) first++;
  for (count = 0; first + count < w->step_count; count++) {
    if (lanes[w->step_threads[w->steps[first + count]]] != w->covers.lane) break;
  }
  int64_t *times = scratch_allocate((2 * (size_t)count + 1) * sizeof *times);
  if (!times) return error_no_memory(error);
  for (uint32_t i = 0; i < count; i++) {
    times[i] = w->step_starts[w->steps[first + i]];
    times[count + i] = w->step_ends[w->steps[first + i]];
  }
  enum tfprof_status status = step_lookup_make(&w->lookup, times, times + count, count, error);
  for (uint32_t i = 0; i < w->lookup.count && !status; i++) {
    if (w->lookup.steps[i] != NO_ROW) w->lookup.steps[i] = w->steps[first + w->lookup.steps[i]];
  }
  w->first_step = first + count;
  scratch_free(times);
  return status;
}

/* ---- what recording took ---- */

/* The piece of a lane that a moment lies in; NO_ROW: none. */
static uint32_t find_piece(const struct work *w, uint32_t lane, int64_t time) {
  uint32_t low = 0, high = w->piece_count; /* the pieces before low begin no later */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct piece *piece = &w->pieces[middle];
    if (piece->lane < lane || (piece->lane == lane && piece->start <= time)) low = middle + 1; else high = middle;
  }
  if (!low || w->pieces[low - 1].lane != lane || w->pieces[low - 1].end <= time) return NO_ROW;
  return low - 1;
}

/* Which piece paid for each record of an op; step_counts[step] is how many its pieces paid for. */
static enum tfprof_status count_recorded(struct work *w, uint32_t step_rows, int64_t *step_counts,
                                         struct tfprof_error *error) {
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(w->profile, TABLE_ops, &block, &status, error);) {
    string_id categories[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK], steps[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_category, categories);
    block_references(&block, COLUMN_ops_thread_id, w->recording.thread_count, threads);
    block_references(&block, COLUMN_ops_step_id, step_rows, steps);
    block_integers(&block, COLUMN_ops_start_ns, starts);
    for (uint32_t i = 0; i < block.count; i++) {
      uint32_t step = steps[i], thread = step == NO_ROW ? NO_ROW : w->step_threads[step];
      if (thread == NO_ROW || starts[i] == NO_VALUE || !recording_is_op(&w->recording, categories[i])) continue;
      if (!recording_is_paid(&w->recording, threads[i], thread)) continue;
      int64_t before = starts[i] > w->step_starts[step] ? starts[i] - 1 : starts[i];
      uint32_t piece = find_piece(w, w->events.lanes[thread], before);
      if (piece == NO_ROW || w->pieces[piece].step != step) continue;
      w->pieces[piece].recorded++;
      step_counts[step]++;
    }
  }
  return status;
}

/* Divides what a step paid among pieces of it that follow each other. */
static void share_cost(struct work *w, uint32_t first, uint32_t count, int64_t step_count, int64_t *room) {
  struct piece *pieces = &w->pieces[first];
  int64_t *counts = room, *times = room + count, *taken = room + 2 * (size_t)count, begun = 0;
  for (uint32_t i = 0; i < count; i++) {
    counts[i] = pieces[i].recorded;
    times[i] = derive_difference(pieces[i].end, pieces[i].start);
    begun += counts[i];
  }
  int64_t total = w->step_costs[pieces->step];
  if (total == NO_VALUE || !begun) return;
  if (begun < step_count) total = (int64_t)((double)total * ((double)begun / (double)step_count));
  recording_share(total, counts, times, count, taken);
  for (uint32_t i = 0; i < count; i++) pieces[i].cost = taken[i];
}

static enum tfprof_status find_costs(struct work *w, uint32_t step_rows, struct tfprof_error *error) {
  enum tfprof_status status = recording_cost_load(&w->recording, w->profile, error);
  if (status || w->recording.of_op == 0) return status;
  int64_t *step_counts = scratch_allocate_zeroed((size_t)step_rows + 1, sizeof *step_counts);
  int64_t *room = scratch_allocate(3 * ((size_t)w->piece_count + 1) * sizeof *room);
  status = step_counts && room ? count_recorded(w, step_rows, step_counts, error) : error_no_memory(error);
  for (uint32_t i = 0, next; i < w->piece_count && !status; i = next) {
    uint32_t step = w->pieces[i].step;
    for (next = i + 1; next < w->piece_count && w->pieces[next].step == step; next++) continue;
    if (step != NO_ROW) share_cost(w, i, next - i, step_counts[step], room);
  }
  scratch_free(step_counts);
  scratch_free(room);
  return status;
}

/* ---- rows ---- */

#define FILL(name, type, expression) \
  static void fill_##name(const void *context, uint32_t first, uint32_t count, void *out) { \
    const struct work *w = context; \
    const struct piece *pieces = w->pieces + first; \
    type *values = out; \
    for (uint32_t i = 0; i < count; i++) values[i] = (expression); \
  }
FILL(step, uint32_t, pieces[i].step)
FILL(phase, string_id, w->names[pieces[i].phase])
FILL(recomputation, int64_t, pieces[i].is_recomputation)
FILL(micro_batch, int64_t, pieces[i].micro_batch == NO_ROW ? NO_VALUE : pieces[i].micro_batch)
FILL(epoch, int64_t, pieces[i].epoch == NO_ROW ? NO_VALUE : pieces[i].epoch)
FILL(thread, uint32_t, w->events.threads[pieces[i].lane])
FILL(start, int64_t, pieces[i].start)
FILL(duration, int64_t, derive_difference(pieces[i].end, pieces[i].start))
FILL(net, int64_t, derive_difference(pieces[i].end, pieces[i].start) - pieces[i].cost)
#undef FILL

static bool is_seen_evaluation(const struct piece *piece) { return piece->phase == EVALUATION && !piece->is_told; }

/* What ops alone tell to be evaluation is none where it is the rule. */
static enum tfprof_status name_usual_evaluation(struct work *w, uint32_t rows, struct tfprof_error *error) {
  int64_t *warmup = NULL;
  uint8_t *has_evaluation = scratch_allocate_zeroed((size_t)rows + 1, 1);
  enum tfprof_status status = has_evaluation ? TFPROF_OK : error_no_memory(error);
  uint32_t measured = 0, evaluated = 0;
  if (!status) status = derive_all_integers(w->profile, TABLE_steps, COLUMN_steps_is_warmup, &warmup, error);
  for (uint32_t i = 0; i < w->piece_count && !status; i++) {
    const struct piece *piece = &w->pieces[i];
    if (piece->step != NO_ROW && is_seen_evaluation(piece)) has_evaluation[piece->step] = 1;
  }
  for (uint32_t i = 0; i < rows && !status; i++) {
    if (warmup[i] || w->recorded[i] != 1) continue;
    measured++;
    evaluated += has_evaluation[i];
  }
  bool is_usual = evaluated && (uint64_t)evaluated * 2 >= measured;
  for (uint32_t i = 0; i < w->piece_count && is_usual; i++)
    if (is_seen_evaluation(&w->pieces[i])) w->pieces[i].phase = FORWARD;
  scratch_free(has_evaluation);
  scratch_free(warmup);
  return status;
}

/* 1 where ranges tell of the phase in every step, else the weight of the step. */
static enum tfprof_status set_weights(struct work *w, struct tfprof_error *error) {
  const struct profile_table *table = &w->profile->tables[TABLE_step_phases];
  for (size_t s = 0; s < table->segment_count; s++) {
    struct segment *segment = table->segments[s];
    double *values = scratch_allocate(((size_t)segment->rows + 1) * sizeof *values);
    struct column *column = NULL;
    for (uint32_t i = 0; values && i < segment->rows; i++) {
      const struct piece *piece = &w->pieces[segment->first_row + i];
      values[i] = piece->is_told || piece->step == NO_ROW ? 1 : w->weights[piece->step];
    }
    if (values) column = column_from_reals(values, NULL, segment->rows);
    scratch_free(values);
    if (segment_set_column(segment, COLUMN_step_phases_sample_weight, column)) return error_no_memory(error);
  }
  return TFPROF_OK;
}

static enum tfprof_status make_rows(struct work *w, struct tfprof_error *error) {
  static const struct made_column columns[] = {
      {COLUMN_step_phases_step_id, MADE_REFERENCES, fill_step, 0, 0},
      {COLUMN_step_phases_phase, MADE_TEXTS, fill_phase, 0, 0},
      {COLUMN_step_phases_is_recomputation, MADE_INTEGERS, fill_recomputation, 0, 0},
      {COLUMN_step_phases_micro_batch, MADE_INTEGERS, fill_micro_batch, 0, 0},
      {COLUMN_step_phases_epoch, MADE_INTEGERS, fill_epoch, 0, 0},
      {COLUMN_step_phases_thread_id, MADE_REFERENCES, fill_thread, 0, 0},
      {COLUMN_step_phases_start_ns, MADE_INTEGERS, fill_start, 0, 0},
      {COLUMN_step_phases_dur_ns, MADE_INTEGERS, fill_duration, 0, 0},
      {COLUMN_step_phases_net_ns, MADE_INTEGERS, fill_net, 0, 0},
      {COLUMN_step_phases_end_ns, MADE_SUM, NULL, COLUMN_step_phases_start_ns, COLUMN_step_phases_dur_ns}};
  enum tfprof_status status = TFPROF_OK;
  for (unsigned i = 0; i < PHASES && !status; i++)
    status = derive_text(w->profile, phase_names[i], &w->names[i], error);
  if (!status) status = derive_make_table(w->profile, TABLE_step_phases, w->piece_count, error);
  if (!status)
    status = derive_fill_table(w->profile, TABLE_step_phases, columns, sizeof columns / sizeof *columns, w, error);
  if (!status) status = set_weights(w, error);
  return status;
}

/* Fills w->steps: a counting sort by lane. */
static enum tfprof_status order_steps(struct work *w, uint32_t rows, struct tfprof_error *error) {
  uint32_t *places = scratch_allocate_zeroed((size_t)w->events.lane_count + 1, sizeof *places);
  w->steps = scratch_allocate(((size_t)rows + 1) * sizeof *w->steps);
  if (!places || !w->steps) {
    scratch_free(places);
    return error_no_memory(error);
  }
  for (uint32_t i = 0; i < rows; i++) {
    if (w->step_threads[i] != NO_ROW) places[w->events.lanes[w->step_threads[i]] + 1]++;
  }
  for (uint32_t lane = 0; lane < w->events.lane_count; lane++) places[lane + 1] += places[lane];
  w->step_count = places[w->events.lane_count];
  for (uint32_t i = 0; i < rows; i++) {
    if (w->step_threads[i] != NO_ROW) w->steps[places[w->events.lanes[w->step_threads[i]]]++] = i;
  }
  scratch_free(places);
  return TFPROF_OK;
}

static enum tfprof_status load_steps(struct work *w, uint32_t rows, struct tfprof_error *error) {
  struct profile *profile = w->profile;
  enum tfprof_status status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_start_ns, &w->step_starts, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_end_ns, &w->step_ends, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_ops_recorded, &w->recorded, error);
  if (!status) status = derive_all_integers(profile, TABLE_steps, COLUMN_steps_recording_ns, &w->step_costs, error);
  if (!status)
    status = derive_all_references(profile, TABLE_steps, COLUMN_steps_thread_id, &w->step_threads, error);
  if (!status) status = order_steps(w, rows, error);
  w->weights = scratch_allocate(((size_t)rows + 1) * sizeof *w->weights);
  if (!status && !w->weights) status = error_no_memory(error);
  for (uint32_t i = 0; i < rows && !status; i++) w->weights[i] = 1;
  const struct profile_table *steps = &profile->tables[TABLE_steps];
  for (size_t s = 0; s < steps->segment_count && !status; s++) {
    const struct segment *segment = steps->segments[s];
    const struct column *column = segment->columns[COLUMN_steps_sample_weight];
    for (uint32_t i = 0; i < segment->rows; i++) {
      double weight = column_is_null(column, i) ? 0 : column_real(column, i);
      if (weight > 0) w->weights[segment->first_row + i] = weight;
    }
  }
  return status;
}

static enum tfprof_status run_step_phases(struct profile *profile, struct tfprof_error *error) {
  struct work w = {.profile = profile, .covers = {.has_memory = true}};
  w.covers.events = &w.events;
  w.covers.lookup = &w.lookup;
  const char *framework = pool_text(store_pool(profile->store), profile->framework);
  if (framework && !framework_is_listed(framework, "pytorch")) return TFPROF_OK; /* whose ops say none of this */
  uint32_t step_rows;
  enum tfprof_status status = derive_row_count(profile, TABLE_steps, &step_rows, error);
  if (status || !step_rows) return status;
  status = phase_events_find(&w.events, profile, error);
  if (!status && w.events.count) {
    status = load_steps(&w, step_rows, error);
    for (size_t first = 0; first < w.events.count && !status; first = w.covers.end) {
      w.covers.lane = w.events.spans[first].lane;
      w.covers.first = w.covers.end = first;
      while (w.covers.end < w.events.count && w.events.spans[w.covers.end].lane == w.covers.lane) w.covers.end++;
      status = look_up_lane(&w, error);
      if (!status) phase_covers_find(&w.covers);
      if (!status) status = w.covers.has_memory ? cut_lane(&w, error) : error_no_memory(error);
      step_lookup_free(&w.lookup);
    }
    if (!status) number_unrecorded(&w);
    if (!status) status = name_usual_evaluation(&w, step_rows, error);
    if (!status && w.piece_count) status = find_costs(&w, step_rows, error);
    if (!status && w.piece_count) status = make_rows(&w, error);
  }
  phase_events_free(&w.events);
  scratch_free(w.step_starts);
  scratch_free(w.step_ends);
  scratch_free(w.recorded);
  scratch_free(w.step_costs);
  recording_cost_free(&w.recording);
  scratch_free(w.step_threads);
  scratch_free(w.steps);
  scratch_free(w.weights);
  phase_covers_free(&w.covers);
  scratch_free(w.pieces);
  return status;
}

const struct derive_pass derive_step_phases = {
    .name = "step phases",
    .summary = "Input, forward, backward, optimizer and evaluation, from ranges, gradient mode and forward ops.",
    .makes_table = TABLE_step_phases,
    .reads = {PHASE_EVENTS_READ,
              {TABLE_steps, COLUMN_steps_start_ns},
              {TABLE_steps, COLUMN_steps_end_ns},
              {TABLE_steps, COLUMN_steps_ops_recorded},
              {TABLE_steps, COLUMN_steps_is_warmup},
              {TABLE_steps, COLUMN_steps_recording_ns},
              {TABLE_ops, COLUMN_ops_step_id},
              RECORDING_COST_READ,
              {TABLE_steps, COLUMN_steps_sample_weight}},
    .run = run_step_phases,
    .texts = phase_names,
};
