/* optimizer_steps.c: see optimizer_steps.h. */
#include "optimizer_steps.h"

#include <stdlib.h>
#include <string.h>

int training_mark_kind(const char *name) {
  static const char optimizer[] = "Optimizer.step#", loader[] = "enumerate(DataLoader)#",
                    pipe[] = "enumerate(DataPipe)#";
  if (!strncmp(name, optimizer, sizeof optimizer - 1)) return STEP_OF_OPTIMIZER;
  if (!strncmp(name, loader, sizeof loader - 1) || !strncmp(name, pipe, sizeof pipe - 1)) return STEP_BATCH;
  if (!strcmp(name, "torch.utils.data.DataLoader.__iter__")) return STEP_EPOCH;
  return strcmp(name, "torch.amp.GradScaler.update") ? -1 : STEP_SCALER;
}

/* An optimizer. */
struct stepper {
  uint64_t object;
  int64_t first_end, last_end;
  uint32_t count;
};

struct room {
  struct stepper *steppers;
  struct step_end *ends;
  uint64_t *chosen;
  uint32_t *threads;
};

size_t optimizer_steps_room(uint32_t count) {
  return (size_t)count * (sizeof(struct stepper) + sizeof(struct step_end) + sizeof(uint64_t) + sizeof(uint32_t));
}

/* In the order of alignment. */
static struct room divide_room(void *room, uint32_t count) {
  struct room parts = {.steppers = room};
  parts.chosen = (uint64_t *)(void *)(parts.steppers + count);
  parts.ends = (struct step_end *)(void *)(parts.chosen + count);
  parts.threads = (uint32_t *)(void *)(parts.ends + count);
  return parts;
}

/* ---- Orders. */

static int64_t time_of(const struct training_mark *mark) {
  return mark->kind == STEP_BATCH || mark->kind == STEP_EPOCH ? mark->start : mark->end;
}

static int marks_by_time(const void *left, const void *right) {
  const struct training_mark *a = left, *b = right;
  int64_t at = time_of(a), bt = time_of(b);
  if (at != bt) return at < bt ? -1 : 1;
  return a->row < b->row ? -1 : a->row > b->row;
}

static int by_object_and_time(const void *left, const void *right) {
  const struct training_mark *a = left, *b = right;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->kind == STEP_OF_OPTIMIZER && a->object != b->object) return a->object < b->object ? -1 : 1;
  return marks_by_time(left, right);
}

static int by_first_end(const void *left, const void *right) {
  const struct stepper *a = left, *b = right;
  if (a->first_end != b->first_end) return a->first_end < b->first_end ? -1 : 1;
  return a->object < b->object ? -1 : a->object > b->object;
}

static int objects_by_number(const void *left, const void *right) {
  const uint64_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

static int threads_by_number(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

/* ---- Which optimizers count. */

/* Of those in the order of their first steps the one that ends iterations. One that lacks the last round alone, in
** which the program ended, has as many steps as the others. */
static const struct stepper *most_frequent(const struct stepper *steppers, uint32_t count) {
  const struct stepper *best = steppers;
  for (uint32_t i = 1; i < count; i++) {
    const struct stepper *one = &steppers[i];
    bool lacks_last = one->count + 1 == best->count && one->last_end < best->last_end;
    if (one->count >= best->count || lacks_last) best = one;
  }
  return best;
}

/* Whether several optimizers are there at the same time; steps->chosen objects are in room->chosen then, ascending. */
static bool choose_optimizers(struct training_mark *marks, uint32_t mark_count, const struct room *room,
                              struct optimizer_steps *steps) {
  uint32_t count = 0;
  bool take_turns = false;
  qsort(marks, mark_count, sizeof *marks, by_object_and_time);
  for (uint32_t i = 0; i < mark_count && marks[i].kind == STEP_OF_OPTIMIZER; i++) {
    struct stepper *last = count ? &room->steppers[count - 1] : NULL;
    if (!last || last->object != marks[i].object) {
      last = &room->steppers[count++];
      *last = (struct stepper){marks[i].object, marks[i].end, marks[i].end, 0};
    }
    last->last_end = marks[i].end;
    last->count++;
    steps->all_marks++;
  }
  steps->optimizers = count;
  qsort(room->steppers, count, sizeof *room->steppers, by_first_end);
  for (uint32_t first = 0, end; first < count; first = end) { /* those that are there at the same time */
    int64_t last_end = room->steppers[first].last_end;
    for (end = first + 1; end < count && room->steppers[end].first_end <= last_end; end++)
      if (room->steppers[end].last_end > last_end) last_end = room->steppers[end].last_end;
    take_turns |= end > first + 1;
    room->chosen[steps->chosen++] = most_frequent(room->steppers + first, end - first)->object;
  }
  qsort(room->chosen, steps->chosen, sizeof *room->chosen, objects_by_number);
  return take_turns;
}

static bool is_chosen(const struct room *room, const struct optimizer_steps *steps, const struct training_mark *mark) {
  return mark->kind == STEP_OF_OPTIMIZER &&
         bsearch(&mark->object, room->chosen, steps->chosen, sizeof mark->object, objects_by_number) != NULL;
}

/* ---- Ends. */

static void add_end(struct optimizer_steps *steps, const struct training_mark *mark, int64_t end) {
  if (!steps->count) steps->first_start = mark->start;
  steps->ends[steps->count++] = (struct step_end){end, mark->thread, mark->row};
}

/* In how many batches optimizers stepped; `into`, which may be NULL, gets an end of each: where the loader is asked for
** the next. */
static uint32_t count_batches(const struct training_mark *marks, uint32_t count, struct room *room,
                               struct optimizer_steps *into) {
  uint32_t threads = 0, batches = 0;
  const struct training_mark *last = NULL;
  for (uint32_t i = 0; i < count; i++)
    if (marks[i].kind == STEP_OF_OPTIMIZER) room->threads[threads++] = marks[i].thread;
  qsort(room->threads, threads, sizeof *room->threads, threads_by_number);
  bool has_loader = false;
  for (uint32_t i = 0; i < count; i++) {
    const struct training_mark *mark = &marks[i];
    if (mark->kind == STEP_OF_OPTIMIZER) last = mark;
    if (mark->kind != STEP_BATCH) continue;
    if (!bsearch(&mark->thread, room->threads, threads, sizeof mark->thread, threads_by_number)) continue;
    has_loader = true;
    if (!last) continue;
    batches++;
    if (into) add_end(into, last, mark->start);
    last = NULL;
  }
  if (last && has_loader) {
    batches++;
    if (into) add_end(into, last, last->end);
  }
  return has_loader ? batches : 0;
}

/* The thread that asks loaders most often; NO_THREAD: none does. */
enum { NO_THREAD = UINT32_MAX };

static uint32_t thread_of_batches(const struct training_mark *marks, uint32_t count, const struct room *room) {
  uint32_t threads = 0, best = NO_THREAD, most = 0;
  for (uint32_t i = 0; i < count; i++)
    if (marks[i].kind == STEP_BATCH) room->threads[threads++] = marks[i].thread;
  if (threads) qsort(room->threads, threads, sizeof *room->threads, threads_by_number);
  for (uint32_t first = 0, end; first < threads; first = end) {
    for (end = first + 1; end < threads && room->threads[end] == room->threads[first];) end++;
    if (end - first <= most) continue;
    most = end - first;
    best = room->threads[first];
  }
  return best;
}

/* Steps of a program whose optimizers, if there are any, nothing tells of. */
static void end_with_batches(const struct training_mark *marks, uint32_t count, const struct room *room,
                             struct optimizer_steps *steps) {
  uint32_t thread = thread_of_batches(marks, count, room), in_epoch = 0;
  const struct training_mark *last = NULL;
  bool begins_anew = false;
  for (uint32_t i = 0; i < count; i++) {
    const struct training_mark *mark = &marks[i];
    if (mark->thread != thread) continue;
    if (mark->kind == STEP_EPOCH) begins_anew = true;
    if (mark->kind != STEP_BATCH) continue;
    bool is_end = begins_anew && in_epoch > 1; /* of an epoch; its only call gave a batch */
    if (last && !last->is_idle && !is_end) add_end(steps, last, mark->start);
    in_epoch = begins_anew ? 1 : in_epoch + 1;
    begins_anew = false;
    last = mark;
  }
  steps->by_batches = steps->count != 0;
}

/* The least number of updates of the scaler from one step to the next: how many an iteration has. */
static uint32_t updates_per_step(const struct training_mark *marks, uint32_t count, const struct room *room,
                                 const struct optimizer_steps *steps) {
  uint32_t least = UINT32_MAX, updates = 0;
  bool has_begun = false;
  if (steps->optimizers == steps->chosen) return 1;
  for (uint32_t i = 0; i < count; i++) {
    updates += marks[i].kind == STEP_SCALER;
    if (!is_chosen(room, steps, &marks[i])) continue;
    if (has_begun && updates && updates < least) least = updates;
    has_begun = true;
    updates = 0;
  }
  return least == UINT32_MAX ? 1 : least;
}

static void end_with_optimizers(const struct training_mark *marks, uint32_t count, const struct room *room,
                                struct optimizer_steps *steps) {
  uint32_t per_step = updates_per_step(marks, count, room, steps), updates = per_step;
  for (uint32_t i = 0; i < count; i++) {
    const struct training_mark *mark = &marks[i];
    if (is_chosen(room, steps, mark)) {
      add_end(steps, mark, mark->end);
      updates = 0;
    } else if (mark->kind == STEP_SCALER && ++updates >= 2 * per_step) {
      add_end(steps, mark, mark->end);
      steps->skipped++;
      updates = per_step;
    }
  }
}

void optimizer_steps_find(struct training_mark *marks, uint32_t count, void *its_room, struct optimizer_steps *steps) {
  struct room room = divide_room(its_room, count);
  *steps = (struct optimizer_steps){.ends = room.ends};
  if (!count) return;
  bool take_turns = choose_optimizers(marks, count, &room, steps);
  qsort(marks, count, sizeof *marks, marks_by_time);
  if (!steps->optimizers) {
    end_with_batches(marks, count, &room, steps);
    return;
  }
  end_with_optimizers(marks, count, &room, steps);
  if (!take_turns) return;
  steps->batches = count_batches(marks, count, &room, NULL);
  if ((uint64_t)steps->batches * 2 < (uint64_t)steps->count * 3) return;
  steps->count = steps->skipped = 0;
  steps->by_batches = true;
  count_batches(marks, count, &room, steps);
}
