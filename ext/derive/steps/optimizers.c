/* optimizers.c: ops.optimizer, which optimizer it is that steps, in traces that do not tell.
**
** PyTorch marks a step of an optimizer by a range that names its class.  Our recorder tells the object (then nothing is
** done here); other profilers do not, and two Adams of a GAN look alike.  What they do tells them apart, never how long
** it takes:
**
** 1. Rounds.  Parameters that a backward pass has given gradients are updated once: steps between which no op ran
**    whose result has a gradient are those of different optimizers, the first of its class, the second and so on.  So
**    it is with an optimizer for each parameter, which steps within the backward pass, too.  Where ops are left out in
**    most steps, as in captures, the passes tell (torch.autograd.backward); where no op has a gradient, any op does.
** 2. Kinds.  Before a step of one optimizer as many parameters get a gradient as before its others (AccumulateGrad),
**    in the last of its backward passes.  Of these there are fewer at the end of an epoch, and more where a step was
**    left out.  Where steps of one class are of several kinds that come again and again in one order (discriminator,
**    generator, ...; five times the critic, generator; kinds.h), each kind is an optimizer.  Kinds that come in no
**    order say nothing: experts and layers that are left out by chance.  Where all steps are of one kind, the names of
**    the ops of the backward pass may tell two optimizers that take turns.  An optimizer that made its state in the
**    first of all steps, and from then on runs the same ops in each, is one, whatever kinds there are.
** 3. Turns.  Where all steps look alike, as those of two networks of one shape do, alike_steps.h may tell.  Where it
**    does not, the optimizer is not known and stays NULL: whoever counts takes all of a class for one, and says so.  In
**    recordings of our own that are older than the column all of a class are one.
** 4. Threads.  Steps that alternate between threads are those of one optimizer; threads that work at the same time
**    have their own.
**
** Numbers count from 1 on in the order of the first steps.
*/
#include "base/hash.h"
#include "derive/passes.h"
#include "derive/rows.h"
#include "derive/steps/alike_steps.h"
#include "derive/steps/kinds.h"

#include <stdlib.h>
#include <string.h>

enum { TURNS = 2 };

struct optimizer_mark {
  int64_t start, end;
  uint32_t row, thread;
  string_id name;
  int64_t last_forward;        /* when the last op with a gradient begins, after which the last backward pass does */
  int64_t work_start;          /* of its thread's first op since that thread's mark before; NO_VALUE: none */
  uint64_t backward;           /* a sum over the names of the backward ops before it */
  uint64_t kind;               /* 0: not known */
  uint64_t optimizer;          /* a hash that stands for it */
  uint32_t accumulated, passes;
  bool has_gradients, has_ops;         /* since the mark before, within it too; before it alone */
  bool has_own_gradients, has_own_ops; /* the same of its own thread */
  struct step_signs signs;
};

struct marks {
  struct optimizer_mark *items; /* by end */
  uint32_t count, capacity;
  uint32_t *by_thread; /* their places, by thread and end */
  bool has_gradients, has_ops, has_passes, has_threads;
  bool has_inside;
  bool are_apart;    /* threads work at the same time */
  bool is_last_pass; /* only what the last backward pass of each round did is looked at */
  struct module_gaps gaps;
  uint32_t *ran_before; /* by name: 1 + the place of the mark before which a module ran last; 0: none yet */
  bool is_unknown;      /* steps look alike */
};

static uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ (b + HASH_FACTOR_1 + (a << 6) + (a >> 2))) * HASH_FACTOR_2;
  return hash ^ hash >> 29;
}

/* ---- Finding them. */

/* What a name says. */
enum { NOT_ASKED, NOTHING, OPTIMIZER, BACKWARD_PASS, ZERO_GRAD, LOADER, MODULE, MAKES, ENGINE, ACCUMULATES };

static uint8_t name_says(const struct pool *pool, uint8_t *said, string_id name) {
  static const char engine[] = "autograd::engine::evaluate_function", optimizer[] = "Optimizer.step#",
                    zero_grad[] = "Optimizer.zero_grad#", module[] = "nn.Module: ", loader[] = "enumerate(Data",
                    *const makers[] = {"aten::zeros_like", "aten::ones_like", "aten::full_like", "aten::clone",
                                       "aten::zeros",      "aten::full"};
  if (said[name] != NOT_ASKED) return said[name];
  const char *text = name ? pool_text(pool, name) : "";
  uint8_t says = NOTHING;
  if (!strncmp(text, optimizer, sizeof optimizer - 1)) says = OPTIMIZER;
  else if (!strcmp(text, "torch.autograd.backward")) says = BACKWARD_PASS;
  else if (!strncmp(text, engine, sizeof engine - 1)) says = strstr(text, "AccumulateGrad") ? ACCUMULATES : ENGINE;
  else if (!strncmp(text, zero_grad, sizeof zero_grad - 1)) says = ZERO_GRAD;
  else if (!strncmp(text, module, sizeof module - 1)) says = MODULE;
  else if (!strncmp(text, loader, sizeof loader - 1)) says = LOADER;
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
    if (!strcmp(text, makers[i])) says = MAKES;
  return said[name] = says;
}

static int by_end(const void *left, const void *right) {
  const struct optimizer_mark *a = left, *b = right;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static enum tfprof_status find_marks(struct profile *profile, uint8_t *said, struct marks *marks,
                                     struct tfprof_error *error) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  const struct pool *pool = store_pool(profile->store);
  string_id user = derive_known_text(profile, "user");
  uint32_t threads;
  enum tfprof_status status = derive_row_count(profile, TABLE_threads, &threads, error);
  for (size_t s = 0; s < ops->segment_count && !status; s++) {
    const struct segment *segment = ops->segments[s];
    const struct column *categories = segment->columns[COLUMN_ops_category];
    uint32_t row = derive_find_text(categories, 0, user);
    for (; row < segment->rows; row = derive_find_text(categories, row + 1, user)) {
      struct optimizer_mark mark = {
          .row = (uint32_t)segment->first_row + row, .last_forward = NO_VALUE, .work_start = NO_VALUE};
      derive_texts(segment->columns[COLUMN_ops_name], row, 1, &mark.name);
      if (name_says(pool, said, mark.name) != OPTIMIZER) continue;
      derive_references(segment->columns[COLUMN_ops_thread_id], row, 1, threads, &mark.thread);
      derive_integers(segment->columns[COLUMN_ops_start_ns], row, 1, &mark.start);
      derive_integers(segment->columns[COLUMN_ops_end_ns], row, 1, &mark.end);
      if (mark.thread == NO_ROW || mark.start == NO_VALUE || mark.end < mark.start) continue;
      struct optimizer_mark *items =
          scratch_grow(marks->items, marks->count, &marks->capacity, 256, sizeof *items);
      if (!items) return error_no_memory(error);
      marks->items = items;
      marks->items[marks->count++] = mark;
    }
    if (!status) status = derive_poll(profile, error);
  }
  if (!status && marks->count) qsort(marks->items, marks->count, sizeof *marks->items, by_end);
  return status;
}

struct thread_place {
  uint32_t thread, place;
};

static int by_thread(const void *left, const void *right) {
  const struct thread_place *a = left, *b = right;
  if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static bool order_by_thread(struct marks *marks) {
  struct thread_place *places = scratch_allocate(marks->count * sizeof *places);
  marks->by_thread = scratch_allocate(marks->count * sizeof *marks->by_thread);
  if (places && marks->by_thread) {
    for (uint32_t i = 0; i < marks->count; i++) places[i] = (struct thread_place){marks->items[i].thread, i};
    qsort(places, marks->count, sizeof *places, by_thread);
    for (uint32_t i = 0; i < marks->count; i++) {
      bool is_next = i && places[i].thread == places[i - 1].thread;
      marks->has_threads |= i && !is_next;
      marks->by_thread[i] = places[i].place;
    }
  }
  bool is_done = places && marks->by_thread;
  scratch_free(places);
  return is_done;
}

/* ---- What lies between them. */

/* The first mark that ends after a time; NULL: none. */
static struct optimizer_mark *mark_after(const struct marks *marks, int64_t time) {
  uint32_t low = 0, high = marks->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (marks->items[middle].end <= time) low = middle + 1; else high = middle;
  }
  return low < marks->count ? &marks->items[low] : NULL;
}

/* The same among those of a thread. */
static struct optimizer_mark *mark_on_thread_after(const struct marks *marks, uint32_t thread, int64_t time) {
  uint32_t low = 0, high = marks->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const struct optimizer_mark *mark = &marks->items[marks->by_thread[middle]];
    if (mark->thread < thread || (mark->thread == thread && mark->end <= time)) low = middle + 1; else high = middle;
  }
  struct optimizer_mark *mark = low < marks->count ? &marks->items[marks->by_thread[low]] : NULL;
  return mark && mark->thread == thread ? mark : NULL;
}

struct seen_row {
  int64_t start, sequence, forward_thread;
  uint32_t row, thread, outermost;
  string_id name;
  uint8_t says;
  bool is_autograd;
};

static bool is_backward(const struct seen_row *op) {
  return op->is_autograd || op->forward_thread > 0 || op->says == ENGINE || op->says == ACCUMULATES;
}

static void note_backward(struct optimizer_mark *mark, const struct seen_row *op) {
  if (op->outermost != op->row || !is_backward(op)) return;
  mark->accumulated += op->says == ACCUMULATES;
  mark->backward += mixed(op->name, 2);
}

static void note_op(struct marks *marks, struct optimizer_mark *mark, const struct seen_row *op) {
  bool is_outermost = op->outermost == op->row, is_inside = op->thread == mark->thread && op->start >= mark->start;
  if (is_inside) mark->signs.has_ops = marks->has_inside = true;
  if (is_inside) mark->signs.made += op->says == MAKES;
  if (is_inside) mark->signs.work += mixed(op->name, 4);
  note_backward(mark, op);
  if (!is_outermost || is_backward(op)) return;
  bool has_gradient = op->sequence != NO_VALUE && op->sequence >= 0;
  if (has_gradient) mark->has_gradients = marks->has_gradients = true;
  if (has_gradient && op->start > mark->last_forward) mark->last_forward = op->start;
  if (!is_inside) mark->has_ops = marks->has_ops = true;
  struct optimizer_mark *own = marks->has_threads ? mark_on_thread_after(marks, op->thread, op->start) : NULL;
  if (!own) return;
  if (own->work_start == NO_VALUE || op->start < own->work_start) own->work_start = op->start;
  own->has_own_gradients |= has_gradient;
  own->has_own_ops |= op->start < own->start;
}

/* What is no op. */
static void note_sign(struct marks *marks, struct optimizer_mark *mark, uint8_t says, string_id name, uint32_t thread) {
  uint32_t place = (uint32_t)(mark - marks->items), *ran_before = &marks->ran_before[name];
  if (says == BACKWARD_PASS) mark->passes++;
  if (says == BACKWARD_PASS) marks->has_passes = true;
  if (says == ZERO_GRAD) mark->signs.zeroed++;
  if (says == LOADER) mark->signs.batches += thread == mark->thread;
  if (says != MODULE) return;
  if (*ran_before) module_gaps_add(&marks->gaps, *ran_before - 1, place);
  *ran_before = place + 1;
}

static enum tfprof_status look_between(struct profile *profile, uint8_t *said, struct marks *marks,
                                       struct tfprof_error *error) {
  const struct pool *pool = store_pool(profile->store);
  string_id user = derive_known_text(profile, "user"), python = derive_known_text(profile, "python"),
            module = derive_known_text(profile, "module"), autograd = derive_known_text(profile, "autograd");
  enum tfprof_status status = TFPROF_OK;
  for (struct row_block block = {0}; derive_next_block(profile, TABLE_ops, &block, &status, error);) {
    string_id names[ROWS_BLOCK], categories[ROWS_BLOCK];
    uint32_t threads[ROWS_BLOCK], outermost[ROWS_BLOCK];
    int64_t starts[ROWS_BLOCK], sequences[ROWS_BLOCK], forward_threads[ROWS_BLOCK];
    block_texts(&block, COLUMN_ops_name, names);
    block_texts(&block, COLUMN_ops_category, categories);
    block_references(&block, COLUMN_ops_thread_id, NO_ROW, threads);
    block_references(&block, COLUMN_ops_outermost_id, NO_ROW, outermost);
    block_integers(&block, COLUMN_ops_start_ns, starts);
    block_integers(&block, COLUMN_ops_sequence_number, sequences);
    block_integers(&block, COLUMN_ops_forward_thread, forward_threads);
    for (uint32_t i = 0; i < block.count; i++) {
      if (starts[i] == NO_VALUE || categories[i] == python) continue;
      uint8_t says = name_says(pool, said, names[i]);
      bool is_op = categories[i] != user && categories[i] != module;
      if (!is_op && says != BACKWARD_PASS && says != ZERO_GRAD && says != MODULE) continue;
      struct optimizer_mark *mark = mark_after(marks, starts[i]);
      if (!mark) continue;
      if ((!is_op || says == LOADER) && !marks->is_last_pass) note_sign(marks, mark, says, names[i], threads[i]);
      if (!is_op) continue;
      const struct seen_row op = {starts[i],  sequences[i], forward_threads[i], (uint32_t)block.row + i,
                                  threads[i], outermost[i], names[i],           says,
                                  categories[i] == autograd};
      if (!marks->is_last_pass) note_op(marks, mark, &op);
      else if (op.start > mark->last_forward) note_backward(mark, &op);
    }
  }
  return status;
}

/* ---- Threads that work at the same time. */

static bool threads_overlap(const struct marks *marks) {
  uint32_t pairs = 0, overlaps = 0;
  for (uint32_t i = 1; i < marks->count && marks->has_threads; i++) {
    const struct optimizer_mark *mark = &marks->items[i], *before = mark - 1;
    if (mark->thread == before->thread || mark->work_start == NO_VALUE) continue;
    pairs++;
    overlaps += mark->work_start < before->end;
  }
  return overlaps * (uint64_t)10 > pairs;
}

/* ---- Rounds. */

static bool begins_round(const struct marks *marks, const struct optimizer_mark *mark) {
  if (marks->are_apart && marks->has_gradients) return mark->has_own_gradients;
  if (marks->are_apart) return !marks->has_ops || mark->has_own_ops;
  if (marks->has_passes) return mark->passes != 0;
  bool is_recorded = !marks->has_inside || mark->signs.has_ops || mark->has_ops;
  if (!is_recorded) return true; /* one of the steps whose ops were left out */
  return marks->has_gradients ? mark->has_gradients : !marks->has_ops || mark->has_ops;
}

/* Of a round: how many steps each class has had in it. */
struct turn {
  string_id name;
  uint32_t count;
};

/* Steps of one class and place in their rounds get one hash. `places` are those of the marks to look at, by end. */
static bool find_rounds(struct marks *marks, const uint32_t *places, uint32_t count, uint64_t thread) {
  struct turn *turns = NULL;
  uint32_t turn_count = 0, capacity = 0, accumulated = 0, first = 0;
  uint64_t backward = 0;
  int64_t last_forward = NO_VALUE;
  for (uint32_t i = 0; i <= count; i++) {
    struct optimizer_mark *mark = i < count ? &marks->items[places[i]] : NULL;
    if (i && (!mark || begins_round(marks, mark))) {
      for (uint32_t k = first; k < i; k++) {
        struct optimizer_mark *one = &marks->items[places[k]];
        one->accumulated = accumulated;
        one->backward = backward;
        one->last_forward = last_forward;
        one->kind = accumulated ? mixed(accumulated, 3) | 1 : 0;
      }
      first = i;
      turn_count = accumulated = 0;
      backward = 0;
      last_forward = NO_VALUE;
    }
    if (!mark) break;
    if (mark->last_forward > last_forward) last_forward = mark->last_forward;
    accumulated += mark->accumulated;
    backward += mark->backward;
    uint32_t turn = 0;
    while (turn < turn_count && turns[turn].name != mark->name) turn++;
    if (turn == turn_count) {
      struct turn *grown = scratch_grow(turns, turn_count, &capacity, 16, sizeof *grown);
      if (!grown) {
        scratch_free(turns);
        return false;
      }
      turns = grown;
      turns[turn_count++] = (struct turn){mark->name, 0};
    }
    mark->optimizer = mixed(mixed(mark->name, turns[turn].count++), thread);
  }
  scratch_free(turns);
  return true;
}

/* ---- Kinds. */

/* One hash for each kind, where kinds come in an order. */
static void tell_kinds_apart(struct optimizer_mark **marks, uint32_t count, uint64_t *kinds, uint32_t longest) {
  if (kinds_period(kinds, count, longest) < 2) return;
  for (uint32_t i = 0; i < count; i++) marks[i]->optimizer = mixed(marks[i]->optimizer, kinds[i]);
}

static int by_optimizer(const void *left, const void *right) {
  const struct optimizer_mark *a = *(struct optimizer_mark *const *)left, *b = *(struct optimizer_mark *const *)right;
  if (a->optimizer != b->optimizer) return a->optimizer < b->optimizer ? -1 : 1;
  return by_end(a, b);
}

static bool find_kinds(struct marks *marks) {
  struct optimizer_mark **order = scratch_allocate(marks->count * sizeof *order);
  struct step_signs *signs = scratch_allocate(marks->count * sizeof *signs);
  uint64_t *kinds = scratch_allocate(marks->count * sizeof *kinds);
  bool is_done = order && signs && kinds;
  for (uint32_t i = 0; is_done && i < marks->count; i++) order[i] = &marks->items[i];
  if (is_done) qsort(order, marks->count, sizeof *order, by_optimizer);
  for (uint32_t first = 0, end; is_done && first < marks->count; first = end) {
    for (end = first; end < marks->count && order[end]->optimizer == order[first]->optimizer; end++) {
      kinds[end - first] = order[end]->kind;
      signs[end - first] = order[end]->signs;
    }
    uint32_t count = end - first;
    if (are_of_one_optimizer(signs, count)) continue;
    if (kinds_period(kinds, count, 1) != 1) {
      tell_kinds_apart(order + first, count, kinds, LONGEST_PERIOD);
      continue;
    }
    for (uint32_t i = first; i < end; i++) kinds[i - first] = order[i]->backward;
    tell_kinds_apart(order + first, count, kinds, TURNS);
  }
  scratch_free(order);
  scratch_free(signs);
  scratch_free(kinds);
  return is_done;
}

/* ---- Turns. */

/* Where nothing told those of a class apart. Kinds that come in no order are of one optimizer, as said above. */
static bool find_turns(struct marks *marks) {
  struct step_signs *signs = scratch_allocate(marks->count * sizeof *signs);
  if (!signs) return false;
  bool in_batches, is_one_class = marks->count > 1, are_alike = true;
  for (uint32_t i = 0; i < marks->count; i++) {
    is_one_class &= marks->items[i].optimizer == marks->items[0].optimizer;
    are_alike &= marks->items[i].kind == marks->items[0].kind;
    signs[i] = marks->items[i].signs;
  }
  uint32_t optimizers = is_one_class ? alike_optimizers(signs, marks->count, &marks->gaps, &in_batches) : 1;
  for (uint32_t i = 0, turn = 0; i < marks->count && optimizers > 1; i++, turn++) {
    if (turn == optimizers || (in_batches && signs[i].batches)) turn = 0;
    marks->items[i].optimizer = mixed(marks->items[i].optimizer, turn + 1);
  }
  marks->is_unknown = !optimizers && are_alike;
  scratch_free(signs);
  return true;
}

/* ---- Numbers. */

static int by_row(const void *left, const void *right) {
  const struct row_value *a = left, *b = right;
  return a->row < b->row ? -1 : a->row > b->row;
}

struct first_step {
  struct optimizer_mark **marks;
  uint32_t count;
};

static int by_first_step(const void *left, const void *right) {
  const struct first_step *a = left, *b = right;
  return by_end(a->marks[0], b->marks[0]);
}

static enum tfprof_status number_optimizers(struct profile *profile, struct marks *marks, struct tfprof_error *error) {
  struct optimizer_mark **order = scratch_allocate(marks->count * sizeof *order);
  struct first_step *firsts = scratch_allocate(marks->count * sizeof *firsts);
  struct row_value *values = scratch_allocate(marks->count * sizeof *values);
  enum tfprof_status status = order && firsts && values ? TFPROF_OK : error_no_memory(error);
  uint32_t optimizers = 0, used = 0;
  for (uint32_t i = 0; i < marks->count && !status; i++) order[i] = &marks->items[i];
  if (!status) qsort(order, marks->count, sizeof *order, by_optimizer);
  for (uint32_t first = 0, end; first < marks->count && !status; first = end) {
    for (end = first; end < marks->count && order[end]->optimizer == order[first]->optimizer;) end++;
    firsts[optimizers++] = (struct first_step){order + first, end - first};
  }
  if (!status) qsort(firsts, optimizers, sizeof *firsts, by_first_step);
  for (uint32_t number = 0; number < optimizers && !status; number++)
    for (uint32_t i = 0; i < firsts[number].count; i++)
      values[used++] = (struct row_value){firsts[number].marks[i]->row, number + 1};
  if (!status) qsort(values, used, sizeof *values, by_row);
  if (!status) status = derive_set_few_references(profile, TABLE_ops, COLUMN_ops_optimizer, values, used, error);
  scratch_free(order);
  scratch_free(firsts);
  scratch_free(values);
  return status;
}

/* ---- The pass. */

static bool find_all_rounds(struct marks *marks) {
  uint32_t *places = scratch_allocate(marks->count * sizeof *places);
  bool is_done = places != NULL, are_apart = marks->are_apart;
  for (uint32_t i = 0; is_done && i < marks->count; i++) places[i] = are_apart ? marks->by_thread[i] : i;
  for (uint32_t first = 0, end; is_done && first < marks->count; first = end) {
    uint32_t thread = marks->items[places[first]].thread;
    for (end = first + 1; end < marks->count && !(are_apart && marks->items[places[end]].thread != thread);) end++;
    is_done = find_rounds(marks, places + first, end - first, are_apart ? thread : 0);
  }
  scratch_free(places);
  return is_done;
}

/* What the last backward pass of each round did takes the place of what all of them did, unless ops with gradients
** that come after it hide where it begins. */
static enum tfprof_status look_at_last_passes(struct profile *profile, uint8_t *said, struct marks *marks,
                                              struct tfprof_error *error) {
  struct optimizer_mark *all = scratch_allocate(marks->count * sizeof *all);
  if (!all) return error_no_memory(error);
  memcpy(all, marks->items, marks->count * sizeof *all);
  for (uint32_t i = 0; i < marks->count; i++) {
    marks->items[i].accumulated = 0;
    marks->items[i].backward = 0;
  }
  marks->is_last_pass = true;
  enum tfprof_status status = look_between(profile, said, marks, error);
  if (!status && !find_all_rounds(marks)) status = error_no_memory(error);
  bool is_hidden = false;
  for (uint32_t i = 0; i < marks->count; i++) is_hidden |= all[i].accumulated && !marks->items[i].accumulated;
  if (is_hidden) memcpy(marks->items, all, marks->count * sizeof *all);
  scratch_free(all);
  return status;
}

static enum tfprof_status find_optimizers(struct profile *profile, uint8_t *said, struct marks *marks,
                                          struct tfprof_error *error) {
  marks->are_apart = threads_overlap(marks);
  if (!find_all_rounds(marks)) return error_no_memory(error);
  bool are_equal = true;
  for (uint32_t i = 1; i < marks->count; i++)
    are_equal &= marks->items[i].accumulated == marks->items[0].accumulated &&
                 marks->items[i].backward == marks->items[0].backward;
  enum tfprof_status status = are_equal ? TFPROF_OK : look_at_last_passes(profile, said, marks, error);
  if (status) return status;
  return find_kinds(marks) && find_turns(marks) ? TFPROF_OK : error_no_memory(error);
}

static enum tfprof_status run_optimizers(struct profile *profile, struct tfprof_error *error) {
  struct marks marks = {.items = NULL};
  size_t names = (size_t)pool_count(store_pool(profile->store)) + 1;
  uint8_t *said = scratch_allocate_zeroed(names, 1);
  marks.ran_before = scratch_allocate_zeroed(names, sizeof *marks.ran_before);
  enum tfprof_status status =
      said && marks.ran_before ? find_marks(profile, said, &marks, error) : error_no_memory(error);
  if (!status && marks.count && !order_by_thread(&marks)) status = error_no_memory(error);
  if (!status && marks.count > 1) status = look_between(profile, said, &marks, error);
  if (!status && marks.count) status = find_optimizers(profile, said, &marks, error);
  bool is_told = !marks.is_unknown || strcmp(profile_origin(profile), "tfprof") == 0;
  if (!status && marks.count && is_told) status = number_optimizers(profile, &marks, error);
  scratch_free(said);
  scratch_free(marks.ran_before);
  scratch_free(marks.items);
  scratch_free(marks.by_thread);
  return status;
}

/* The recorder tells them. */
static bool are_told(const struct profile *profile) {
  const struct profile_table *ops = &profile->tables[TABLE_ops];
  for (size_t i = 0; i < ops->segment_count; i++) {
    if (column_set_has(&ops->segments[i]->is_raw, COLUMN_ops_optimizer)) return true;
  }
  return false;
}

const struct derive_pass derive_optimizers = {
    .name = "optimizers",
    .summary = "Which optimizer steps, by rounds between backward passes and by what the steps have in common.",
    .makes_table = -1,
    .reads = {{TABLE_ops, COLUMN_ops_name},
              {TABLE_ops, COLUMN_ops_category},
              {TABLE_ops, COLUMN_ops_thread_id},
              {TABLE_ops, COLUMN_ops_start_ns},
              {TABLE_ops, COLUMN_ops_end_ns},
              {TABLE_ops, COLUMN_ops_outermost_id},
              {TABLE_ops, COLUMN_ops_sequence_number},
              {TABLE_ops, COLUMN_ops_forward_thread}},
    .writes = {{TABLE_ops, COLUMN_ops_optimizer}},
    .run = run_optimizers,
    .is_idle = are_told,
};
