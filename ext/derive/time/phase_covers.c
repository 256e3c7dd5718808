/* phase_covers.c: see phase_covers.h.
**
** Ranges, which are recorded in every step, tell of input (PyTorch's data loaders), of the optimizer (Optimizer.step
** and zero_grad), and in a capture of backward passes, of models put into evaluation mode and of data loaders that
** begin anew.  Where no range tells of backward passes, their ops do: those that no other op or range of the thread
** parts are one pass.
**
** A forward pass ends where a backward pass begins.  It began with the earliest op that this backward pass
** differentiates, or with the first op of a model after the batch was fetched, whichever comes first: a part of the
** model that is frozen, or a teacher's, is as much of it as the rest.  Without a data loader only what ran with
** gradients is: what ran before without is data that the program made with its model (evaluation).  A pass that
** Optimizer.step calls as a closure is no part of the optimizer; where its ops were not recorded the time from the
** beginning of Optimizer.step to the backward pass counts for it.
**
** Evaluation is a model that runs for no backward pass: from where it was put into evaluation mode to where it was put
** back, or to the last batch fetched before the forward pass, provided that it is put back or batches are fetched
** meanwhile, or its ops are seen; without such marks from the first op of the model, and the batch fetched for it, to
** the last.  In a program without any backward pass a model that runs with gradients is in its forward pass all the
** same.
**
** What ops without gradients do between the backward pass and the optimizer, such as clipping, is the optimizer's.
*/
#include "derive/time/phase_covers.h"

#include <string.h>

static enum phase_kind kind_of_phase_event(const struct phase_covers *w, size_t event) {
  return (enum phase_kind)(w->events->kinds[event] & PHASE_KIND_BITS);
}
static bool is_batch(enum phase_kind kind) { return kind == PHASE_INPUT || kind == PHASE_LOADER; }
static int64_t start_of(const struct phase_covers *w, size_t event) { return w->events->spans[event].start; }
static int64_t end_of(const struct phase_covers *w, size_t event) { return w->events->spans[event].end; }

static void add_pass(struct phase_covers *w, struct pass_list *list, struct pass pass) {
  struct pass *items = scratch_grow(list->items, list->count, &list->capacity, 64, sizeof *items);
  if (items) (list->items = items)[list->count++] = pass;
  else w->has_memory = false;
}

static void add_edge(struct phase_covers *w, struct phase_edge edge) {
  struct phase_edge *edges = scratch_grow(w->edges, w->edge_count, &w->edge_capacity, 256, sizeof *edges);
  if (edges) (w->edges = edges)[w->edge_count++] = edge;
  else w->has_memory = false;
}

static void cover_with_turns(struct phase_covers *w, enum phase_cover cover, int64_t start, int64_t end, bool is_told,
                             enum phase_turn at_start, enum phase_turn at_end) {
  if (end <= start) return;
  add_edge(w, (struct phase_edge){start, (uint8_t)cover, (uint8_t)at_start, true, is_told});
  add_edge(w, (struct phase_edge){end, (uint8_t)cover, (uint8_t)at_end, false, is_told});
}
static void cover(struct phase_covers *w, enum phase_cover cover, int64_t start, int64_t end, bool is_told) {
  cover_with_turns(w, cover, start, end, is_told, TURN_NONE, TURN_NONE);
}

/* ---- backward passes and optimizer steps of a lane ---- */

/* Those that lie in no other of their kind. */
static void find_ranges(struct phase_covers *w) {
  for (size_t i = w->first; i < w->end; i++) {
    enum phase_kind kind = kind_of_phase_event(w, i);
    if (kind != PHASE_BACKWARD && kind != PHASE_GRADIENT && kind != PHASE_OPTIMIZER) continue;
    struct pass_list *list = kind == PHASE_OPTIMIZER ? &w->optimizer : &w->backward;
    if (list->count && start_of(w, i) < list->items[list->count - 1].end) continue;
    add_pass(w, list, (struct pass){start_of(w, i), end_of(w, i), kind == PHASE_BACKWARD, true});
  }
}

/* Where no range tells of them. */
static void find_backward_of_ops(struct phase_covers *w) {
  struct pass pass = {.end = INT64_MIN};
  bool is_open = false, is_parted = false;
  for (size_t i = w->first; i < w->end; i++) {
    enum phase_kind kind = kind_of_phase_event(w, i);
    if (kind != PHASE_BACKWARD_OP) {
      is_parted |= start_of(w, i) >= pass.end;
      continue;
    }
    if (is_open && is_parted) add_pass(w, &w->backward, pass);
    if (!is_open || is_parted) pass = (struct pass){.start = start_of(w, i), .end = end_of(w, i)};
    if (end_of(w, i) > pass.end) pass.end = end_of(w, i);
    pass.accumulates |= (w->events->kinds[i] & ACCUMULATES) != 0;
    is_open = true;
    is_parted = false;
  }
  if (is_open) add_pass(w, &w->backward, pass);
}

/* The first of a list that ends after a moment. */
static uint32_t first_after(const struct pass_list *list, int64_t time) {
  uint32_t low = 0, high = list->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (list->items[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

static bool lies_in(const struct pass_list *list, int64_t start, int64_t end) {
  uint32_t i = first_after(list, start);
  return i < list->count && list->items[i].start <= start && list->items[i].end >= end;
}

static bool overlaps(const struct pass_list *list, int64_t start, int64_t end) {
  uint32_t i = first_after(list, start);
  return i < list->count && list->items[i].start < end;
}

/* ---- what happens before a backward pass ---- */

/* A stretch between passes: events from `first` on that begin in start ... end. */
struct window {
  int64_t start, end;
  int64_t differentiated; /* when the first op of it that the backward pass behind it differentiates began */
  int64_t closure;        /* when the optimizer step around the end began, or NO_VALUE */
  size_t first, limit;
  bool is_before_backward, is_before_optimizer;
};

/* Calls of ops that lie in no range of their own; `place` is where to go on from, at first window->first. */
static bool next_op(const struct phase_covers *w, const struct window *window, size_t *place, int64_t *until,
                    size_t *op) {
  while (*place < window->limit) {
    size_t i = (*place)++;
    enum phase_kind kind = kind_of_phase_event(w, i);
    if (kind == PHASE_OP && start_of(w, i) >= *until) {
      *op = i;
      return true;
    }
    bool has_own = is_batch(kind) || kind == PHASE_ZERO_GRAD || kind == PHASE_SAVE;
    if (has_own && end_of(w, i) > *until) *until = end_of(w, i);
  }
  return false;
}

/* What the ranges of a window say. */
struct marks {
  int64_t batch, batch_end;    /* the last batch fetched that may be the forward pass's; NO_VALUE: none */
  int64_t evaluation, training; /* modes that a model was put into */
  uint32_t batches_in_evaluation;
  bool has_ops;
};

static struct marks find_window_marks(const struct phase_covers *w, const struct window *window) {
  struct marks marks = {NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE, 0, false};
  int64_t training_until = INT64_MIN;
  bool follows_loader = false;
  for (size_t i = window->first; i < window->limit; i++) {
    enum phase_kind kind = kind_of_phase_event(w, i);
    int64_t start = start_of(w, i);
    if (kind == PHASE_OP) marks.has_ops = true;
    if (is_batch(kind) && start < window->differentiated) {
      if (!follows_loader) marks.batch = start;
      marks.batch_end = end_of(w, i);
      marks.batches_in_evaluation += marks.evaluation != NO_VALUE && kind == PHASE_INPUT;
      follows_loader = kind == PHASE_LOADER;
    }
    /* Who freezes some layers puts them into evaluation mode within train(). */
    if (kind == PHASE_EVAL && marks.evaluation == NO_VALUE && start >= training_until) marks.evaluation = start;
    if (kind == PHASE_TRAIN) {
      if (end_of(w, i) > training_until) training_until = end_of(w, i);
      if (marks.evaluation != NO_VALUE) marks.training = start;
    }
  }
  return marks;
}

/* The last op of a model that begins in from ... to: its end, or NO_VALUE. *first: when the first one began. */
static int64_t find_model(const struct phase_covers *w, const struct window *window, int64_t from, int64_t to,
                          int64_t *first) {
  size_t place = window->first, op;
  int64_t until = INT64_MIN, last = NO_VALUE;
  *first = NO_VALUE;
  while (next_op(w, window, &place, &until, &op) && start_of(w, op) < to) {
    if (start_of(w, op) < from || !(w->events->kinds[op] & RUNS_MODEL)) continue;
    if (*first == NO_VALUE) *first = start_of(w, op);
    last = end_of(w, op);
  }
  return last;
}

/* When the forward pass that ends with the window began; INT64_MAX: it is not known. */
static int64_t find_forward(const struct phase_covers *w, const struct window *window, int64_t from, bool has_batch) {
  size_t place = window->first, op;
  int64_t until = INT64_MIN, model = INT64_MAX, gradient = INT64_MAX, suffix = INT64_MAX;
  while (next_op(w, window, &place, &until, &op)) {
    uint8_t kind = w->events->kinds[op];
    int64_t start = start_of(w, op);
    if (start < from) continue;
    bool with_gradient = kind & WITH_GRADIENT, runs_model = kind & RUNS_MODEL;
    if (runs_model && model == INT64_MAX && (has_batch || with_gradient)) model = start;
    if (with_gradient && gradient == INT64_MAX) gradient = start;
    if (runs_model && start < window->differentiated) {
      if (!with_gradient) suffix = INT64_MAX;
      else if (suffix == INT64_MAX) suffix = start;
    }
  }
  int64_t differentiated = window->differentiated < from ? from : window->differentiated;
  if (differentiated == INT64_MAX) return model != INT64_MAX || !window->is_before_backward ? model : gradient;
  int64_t earlier = has_batch ? model : suffix;
  return earlier < differentiated ? earlier : differentiated;
}

/* From the first op of the model to the last, and before it from where its data loader began, or its batch was
** fetched. */
static void cover_evaluation_of_ops(struct phase_covers *w, const struct window *window, int64_t until) {
  int64_t first, last = find_model(w, window, window->start, until, &first), batch = NO_VALUE, loader = NO_VALUE;
  if (last == NO_VALUE) return;
  for (size_t i = window->first; i < window->limit && start_of(w, i) < first; i++) {
    if (kind_of_phase_event(w, i) == PHASE_INPUT) batch = start_of(w, i);
    if (kind_of_phase_event(w, i) == PHASE_LOADER) loader = start_of(w, i);
  }
  int64_t from = loader != NO_VALUE ? loader : batch != NO_VALUE ? batch : first;
  cover(w, COVER_EVALUATION, from, last < until ? last : until, false);
}

static int64_t least(int64_t value, int64_t other) { return other != NO_VALUE && other < value ? other : value; }

static void cover_window(struct phase_covers *w, const struct window *window) {
  struct marks marks = find_window_marks(w, window);
  int64_t evaluated_until = window->start, first;
  bool is_evaluated = false;
  if (marks.evaluation != NO_VALUE) {
    bool is_last = !window->is_before_backward && !window->is_before_optimizer;
    int64_t after = marks.batch != NO_VALUE && marks.batch > marks.evaluation && !is_last ? marks.batch : NO_VALUE;
    int64_t last = marks.has_ops ? find_model(w, window, marks.evaluation, window->differentiated, &first) : NO_VALUE;
    bool is_told = marks.training != NO_VALUE || marks.batches_in_evaluation > !is_last;
    bool is_seen = last != NO_VALUE && (after == NO_VALUE || last <= after);
    int64_t end = least(least(window->end, marks.training), after);
    if (!is_told && is_seen) end = last;
    /* Behind all passes a model stays in evaluation mode. */
    if (end == INT64_MAX) end = last > marks.batch_end ? last : marks.batch_end;
    if ((is_told || is_seen) && end > marks.evaluation) {
      cover(w, COVER_EVALUATION, marks.evaluation, end, is_told);
      evaluated_until = end;
      is_evaluated = true;
    }
  }
  int64_t forward = INT64_MAX;
  bool has_batch = marks.batch_end != NO_VALUE && marks.batch_end > evaluated_until;
  if (marks.has_ops && (window->is_before_backward || window->is_before_optimizer)) {
    forward = find_forward(w, window, has_batch ? marks.batch_end : evaluated_until, has_batch || is_evaluated);
    bool is_told = window->is_before_backward && window->closure != NO_VALUE; /* as where ops were not recorded */
    cover(w, COVER_FORWARD, forward, window->end, is_told);
  } else if (window->is_before_backward && window->closure != NO_VALUE) {
    cover(w, COVER_FORWARD, window->closure > window->start ? window->closure : window->start, window->end, true);
  }
  if (marks.has_ops && !is_evaluated) cover_evaluation_of_ops(w, window, least(window->end, forward));
}

/* A lane without passes: each run of ops of a model, with gradients or without, is a piece of its own; so is what lies
** in different steps, or behind another batch. */
static void cover_without_passes(struct phase_covers *w) {
  struct window all = {.start = INT64_MIN, .end = INT64_MAX, .first = w->first, .limit = w->end};
  size_t place = w->first, op, before = w->first;
  int64_t until = INT64_MIN, start = NO_VALUE, end = NO_VALUE;
  bool with_gradient = false;
  uint32_t step = NO_ROW;
  while (next_op(w, &all, &place, &until, &op)) {
    if (!(w->events->kinds[op] & RUNS_MODEL)) continue;
    bool is_parted = start == NO_VALUE || with_gradient != ((w->events->kinds[op] & WITH_GRADIENT) != 0);
    uint32_t its_step = step_lookup_find(w->lookup, start_of(w, op));
    for (; before < op && !is_parted; before++) is_parted = is_batch(kind_of_phase_event(w, before));
    if (is_parted || its_step != step) {
      if (start != NO_VALUE) cover(w, with_gradient ? COVER_FORWARD : COVER_EVALUATION, start, end, false);
      start = start_of(w, op);
      with_gradient = w->events->kinds[op] & WITH_GRADIENT;
      step = its_step;
      before = op;
    }
    end = end_of(w, op);
  }
  if (start != NO_VALUE) cover(w, with_gradient ? COVER_FORWARD : COVER_EVALUATION, start, end, false);
}

/* ---- all that covers a lane ---- */

/* Ops without gradients behind a backward pass, up to the optimizer step (NULL: the program has none). Where they come
** next, from the end of the backward pass on. */
static void cover_update(struct phase_covers *w, const struct pass *backward, const struct pass *optimizer) {
  struct lane_span key = {.start = backward->end};
  size_t low = w->first, high = w->end;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (start_of(w, middle) < key.start) low = middle + 1;
    else high = middle;
  }
  struct window behind = {.first = low, .limit = w->end};
  size_t place = low, op;
  int64_t until = INT64_MIN, first = NO_VALUE, last = NO_VALUE, limit = optimizer ? optimizer->start : INT64_MAX;
  bool is_next = true;
  for (size_t i = low; i < w->end && start_of(w, i) < limit; i++) {
    enum phase_kind kind = kind_of_phase_event(w, i);
    if (is_batch(kind) || kind == PHASE_BACKWARD_OP || kind == PHASE_EVAL) limit = start_of(w, i);
  }
  while (next_op(w, &behind, &place, &until, &op) && start_of(w, op) < limit) {
    uint8_t kind = w->events->kinds[op];
    if (kind & RUNS_MODEL || (!optimizer && kind & WITH_GRADIENT)) break;
    if (kind & WITH_GRADIENT) {
      is_next = false;
      continue;
    }
    if (first == NO_VALUE) first = is_next ? backward->end : start_of(w, op);
    last = end_of(w, op);
  }
  if (first != NO_VALUE) cover(w, COVER_OPTIMIZER, first, optimizer ? optimizer->start : last, false);
}

static void cover_ranges(struct phase_covers *w) {
  for (size_t i = w->first; i < w->end; i++) {
    int64_t start = start_of(w, i), end = end_of(w, i);
    switch (kind_of_phase_event(w, i)) {
      case PHASE_INPUT: cover(w, COVER_INPUT, start, end, true); break;
      case PHASE_LOADER:
        cover_with_turns(w, COVER_INPUT, start, end, true, TURN_LOADER_BEGINS, TURN_NONE);
        break;
      case PHASE_ZERO_GRAD: cover(w, COVER_ZERO_GRAD, start, end, true); break;
      case PHASE_SAVE: cover(w, COVER_SAVE, start, end, true); break;
      default: break;
    }
  }
  for (uint32_t i = 0; i < w->optimizer.count; i++) {
    const struct pass *pass = &w->optimizer.items[i];
    if (lies_in(&w->backward, pass->start, pass->end))
      cover(w, COVER_OPTIMIZER_IN_BACKWARD, pass->start, pass->end, true);
    else
      cover_with_turns(w, COVER_OPTIMIZER, pass->start, pass->end, true, TURN_NONE, TURN_OPTIMIZER_DONE);
  }
  for (uint32_t i = 0; i < w->backward.count; i++) {
    const struct pass *pass = &w->backward.items[i];
    cover_with_turns(w, COVER_BACKWARD, pass->start, pass->end, pass->is_told, TURN_NONE,
                     pass->accumulates ? TURN_GRADIENTS_DONE : TURN_NONE);
  }
  for (size_t *i = &w->first_recomputation; *i < w->events->recomputation_count; ++*i) {
    const struct lane_span *span = &w->events->recomputations[*i];
    if (span->lane > w->lane) break;
    cover(w, COVER_RECOMPUTATION, span->start, span->end, false);
  }
}

/* The earliest op in each window that its backward pass differentiates; `windows` by backward pass. */
static void find_differentiated(struct phase_covers *w, struct window *windows) {
  for (size_t *i = &w->first_link; *i < w->events->link_count; ++*i) {
    const struct phase_link *link = &w->events->links[*i];
    if (link->lane > w->lane) break;
    if (link->lane < w->lane) continue;
    uint32_t pass = first_after(&w->backward, link->start);
    if (pass == w->backward.count || w->backward.items[pass].start > link->start) continue;
    struct window *window = &windows[pass];
    if (link->forward_start < window->start || link->forward_start >= window->differentiated) continue;
    if (link->forward_start < window->end) window->differentiated = link->forward_start;
  }
}

/* Windows before all backward passes, and before optimizer steps that none precedes. */
static void cover_windows(struct phase_covers *w) {
  uint32_t count = w->backward.count, next_optimizer = 0;
  struct window *windows = scratch_allocate_zeroed((size_t)count + 1, sizeof *windows);
  if (!windows) {
    w->has_memory = false;
    return;
  }
  int64_t previous = INT64_MIN;
  size_t event = w->first;
  for (uint32_t i = 0; i <= count; i++) {
    const struct pass *backward = i < count ? &w->backward.items[i] : NULL;
    int64_t limit = backward ? backward->start : INT64_MAX;
    bool has_pass = i > 0; /* since the last optimizer step */
    struct window *window = &windows[i];
    *window = (struct window){.closure = NO_VALUE};
    while (next_optimizer < w->optimizer.count && w->optimizer.items[next_optimizer].start <= limit) {
      const struct pass *optimizer = &w->optimizer.items[next_optimizer];
      if (optimizer->end > limit) { /* it goes on around the backward pass */
        window->closure = optimizer->start;
        break;
      }
      next_optimizer++;
      if (optimizer->end <= previous) continue;
      if (!has_pass) {
        struct window before = {.start = previous, .end = optimizer->start, .differentiated = INT64_MAX,
                                .closure = NO_VALUE, .is_before_optimizer = true};
        while (event < w->end && start_of(w, event) < previous) event++;
        before.first = event;
        while (event < w->end && start_of(w, event) < optimizer->start) event++;
        before.limit = event;
        cover_window(w, &before);
      }
      has_pass = false;
      previous = optimizer->end;
    }
    while (event < w->end && start_of(w, event) < previous) event++;
    window->start = previous;
    window->end = limit;
    window->differentiated = INT64_MAX;
    window->first = event;
    while (event < w->end && start_of(w, event) < limit) event++;
    window->limit = event;
    window->is_before_backward = backward != NULL;
    if (backward && backward->end > previous) previous = backward->end;
  }
  find_differentiated(w, windows);
  for (uint32_t i = 0; i <= count; i++) cover_window(w, &windows[i]);
  scratch_free(windows);
}

void phase_covers_find(struct phase_covers *covers) {
  covers->backward.count = covers->optimizer.count = covers->edge_count = 0;
  find_ranges(covers);
  if (!covers->backward.count) find_backward_of_ops(covers);
  cover_ranges(covers);
  if (!covers->backward.count && !covers->optimizer.count) {
    cover_without_passes(covers);
    return;
  }
  cover_windows(covers);
  for (uint32_t i = 0; i < covers->backward.count; i++) {
    const struct pass *backward = &covers->backward.items[i];
    uint32_t next = first_after(&covers->optimizer, backward->end);
    const struct pass *optimizer = next < covers->optimizer.count ? &covers->optimizer.items[next] : NULL;
    if (optimizer && optimizer->start < backward->end) continue; /* it called the pass */
    if (!backward->accumulates || (!optimizer && covers->optimizer.count)) continue;
    if (optimizer && overlaps(&covers->backward, backward->end, optimizer->start)) continue;
    cover_update(covers, backward, optimizer);
  }
}

void phase_covers_free(struct phase_covers *covers) {
  scratch_free(covers->backward.items);
  scratch_free(covers->optimizer.items);
  scratch_free(covers->edges);
}
