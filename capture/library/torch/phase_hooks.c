/* phase_hooks.c: see phase_hooks.h. */
#include "phase_hooks.h"

#include "noted_ranges.h"
#include "python/python_api.h"

#include <stdlib.h>
#include <string.h>

static void begin_range(const struct call_hook *hook, const struct call_arguments *arguments,
                        struct call_begun *begun) {
  (void)hook;
  (void)arguments;
  begun->ticks = noted_range_begin();
}

static void end_range(const struct call_hook *hook, const struct call_arguments *arguments,
                      const struct call_begun *begun) {
  (void)arguments;
  noted_range_end(hook->name, begun->ticks);
}

/* ---- Modes. */

enum { NOT_NOTED, INTO_EVALUATION, INTO_TRAINING };
static _Thread_local bool is_within;
static bool is_evaluating;

static void begin_mode(const struct call_hook *hook, const struct call_arguments *arguments,
                       struct call_begun *begun) {
  (void)hook;
  void *mode = call_argument(arguments, 1, "mode");
  bool into_evaluation = mode == python_api.no;
  if (is_within || (into_evaluation ? false : !is_evaluating || (mode && mode != call_api.yes))) return;
  is_within = true;
  is_evaluating = into_evaluation;
  begun->kind = into_evaluation ? INTO_EVALUATION : INTO_TRAINING;
  begun->ticks = noted_range_begin();
}

static void end_mode(const struct call_hook *hook, const struct call_arguments *arguments,
                     const struct call_begun *begun) {
  (void)hook;
  (void)arguments;
  if (begun->kind == NOT_NOTED) return;
  is_within = false;
  noted_range_end(begun->kind == INTO_EVALUATION ? "torch.nn.Module.eval" : "torch.nn.Module.train", begun->ticks);
}

/* ---- Batches. */

static void watch_collating(void *fetcher) {
  static const struct call_hook collating = {
      .before = begin_range, .after = end_range, .name = "torch.utils.data.DataLoader.collate"};
  void *function = fetcher ? python_api.attribute(fetcher, "collate_fn") : NULL, *watched = NULL;
  if (function && function != python_api.none && !call_hook_is_object(function))
    watched = call_hook_object(function, &collating);
  if (!function || (watched && call_api.set_attribute(fetcher, "collate_fn", watched))) python_api.clear_error();
  if (function) python_api.decrement(function);
  if (watched) python_api.decrement(watched);
}

static void begin_fetch(const struct call_hook *hook, const struct call_arguments *arguments,
                        struct call_begun *begun) {
  watch_collating(call_argument(arguments, 0, "self"));
  begin_range(hook, arguments, begun);
}

const struct call_hook *phase_hook(enum phase_hook kind, const char *name) {
  struct call_hook *hook = calloc(1, sizeof *hook);
  char *copy = name ? strdup(name) : NULL;
  if (!hook || (name && !copy)) {
    free(hook);
    free(copy);
    return NULL;
  }
  hook->before = kind == PHASE_MODES ? begin_mode : kind == PHASE_FETCH ? begin_fetch : begin_range;
  hook->after = kind == PHASE_MODES ? end_mode : end_range;
  hook->name = copy;
  return hook;
}
