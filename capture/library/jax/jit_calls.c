/* jit_calls.c: see jit_calls.h. */
#include "jit_calls.h"

#include "base/address_map.h"
#include "python/call_hooks.h"
#include "python/python_api.h"
#include "recorder/clock.h"
#include "torch/noted_ranges.h"
#include "windows/window_source.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_FUNCTIONS = 1 << 19,
  ASKED_CALLS = 16, /* of a function: whether they are traced is asked each time, */
  ASKED_TIMES = 4,  /* and later where one takes so many times as long as the shortest */
  ALL_CALLS = 1024, /* of a function that have ranges in any case */
};
static const uint64_t RARE_NS = 1000000; /* so much from call to call, and all have */

struct jit_function {
  uint64_t calls, began_ns, shortest_ticks;
  uint32_t within; /* threads that call it now */
  bool is_step, is_gone;
  char name[];
};

struct watched {
  uintptr_t address; /* of the object */
  struct jit_function *function;
};
static struct address_map functions; /* of struct watched; never shrinks */
static vectorcall *original;
static void *asks_traced, *tells_begin;
static _Thread_local bool is_within __attribute__((tls_model("initial-exec")));

void jit_calls_begin(void *is_traced, void *step_begins) {
  asks_traced = is_traced;
  tells_begin = step_begins;
  python_api.increment(is_traced);
  python_api.increment(step_begins);
}

/* NULL: its calls are not watched. */
static struct jit_function *function_of(const void *object) {
  const struct watched *watched = address_map_find(&functions, sizeof *watched, (uintptr_t)object);
  return watched ? watched->function : NULL;
}

/* Calls it without arguments. 1: the result is True; -1: it raised, and the error stays set only if it is what a
** handler of a signal raised. */
static int ask(void *callable) {
  void *arguments = python_api.new_tuple(0);
  void *result = arguments ? python_api.call(callable, arguments) : NULL;
  int answer = result ? result == call_api.yes : -1;
  if (result) python_api.decrement(result);
  else call_hooks_report();
  if (arguments) python_api.decrement(arguments);
  return answer;
}

/* Whether the call, which has just ended, has a range. -1: an error is set. */
static int counts(struct jit_function *of, uint64_t taken_ticks) {
  bool is_asked = of->calls < ASKED_CALLS || taken_ticks > ASKED_TIMES * of->shortest_ticks;
  int is_traced = is_asked ? ask(asks_traced) : 0;
  if (is_traced) return is_traced < 0 && call_api.error() ? -1 : is_traced < 0;
  if (!of->calls || taken_ticks < of->shortest_ticks) of->shortest_ticks = taken_ticks;
  if (!of->calls++) of->began_ns = clock_monotonic_ns();
  return of->is_step || of->calls <= ALL_CALLS || clock_monotonic_ns() - of->began_ns >= of->calls * RARE_NS;
}

static void *called(void *object, void *const *arguments, size_t count, void *names) {
  struct jit_function *of = is_within ? NULL : function_of(object);
  if (of && of->is_step && windows_is_wanted()) {
    ask(tells_begin);
    if (call_api.error()) return NULL; /* a handler of a signal has raised, as if just before the call */
  }
  uint64_t start_ticks = of ? noted_range_begin() : 0;
  if (!start_ticks) return original(object, arguments, count, names);
  is_within = true;
  of->within++;
  void *result = original(object, arguments, count, names);
  of->within--;
  is_within = false;
  int has_range = result ? counts(of, clock_ticks() - start_ticks) : 0;
  if (has_range > 0 && noted_mark_end(of->name, 0, start_ticks)) {
    of->is_step = true;
    windows_step_ended();
  }
  if (of->is_gone && !of->within) free(of);
  if (!result || !call_api.error()) return result;
  python_api.decrement(result); /* a handler of a signal has raised, as if just after the call */
  return NULL;
}

bool jit_calls_watch(void *function, const char *name) {
  vectorcall **slot = asks_traced ? call_slot(function) : NULL;
  if (!slot || (*slot != called && original && *slot != original)) return false;
  size_t length = strlen(name);
  struct jit_function *of = calloc(1, sizeof *of + length + sizeof "PjitFunction()");
  bool is_new = true, has_room = of && (functions.count < MOST_FUNCTIONS || function_of(function));
  struct watched *watched =
      has_room ? address_map_put(&functions, sizeof *watched, (uintptr_t)function, &is_new) : NULL;
  if (!watched) {
    free(of);
    return false;
  }
  sprintf(of->name, "PjitFunction(%s)", name);
  struct jit_function *before = watched->function;
  watched->function = of;
  if (before && before->within) before->is_gone = true;
  else free(before);
  if (*slot != called) original = *slot;
  *slot = called;
  return true;
}
