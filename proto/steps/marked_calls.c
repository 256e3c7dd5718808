/* marked_calls.c: see marked_calls.h. */
#include "steps/marked_calls.h"

#include <stdlib.h>

enum { FEWEST_BESIDE = 8 };

static int by_function_and_start(const void *left, const void *right) {
  const struct step_call *a = left, *b = right;
  if (a->function != b->function) return a->function < b->function ? -1 : 1;
  return (a->start > b->start) - (a->start < b->start);
}

struct marked_calls marked_calls_count(const struct marked_step_span *spans, size_t span_count,
                                       struct step_call *calls, size_t call_count) {
  struct marked_calls best = {.within = 0};
  uint32_t most = 0; /* marks with a call */
  if (call_count) qsort(calls, call_count, sizeof *calls, by_function_and_start);
  for (size_t first = 0, end; first < call_count; first = end) {
    struct marked_calls counts = {.function = calls[first].function};
    uint32_t marks = 0;
    size_t span = 0, last = SIZE_MAX;
    for (end = first; end < call_count && calls[end].function == counts.function; end++) {
      while (span < span_count && spans[span].end <= calls[end].start) span++;
      bool is_within = span < span_count && spans[span].start <= calls[end].start;
      marks += is_within && span != last;
      if (is_within) last = span;
      counts.within += is_within;
      counts.beside += !is_within;
    }
    if (marks <= most) continue;
    most = marks;
    best = counts;
  }
  return best;
}

bool marked_calls_are_few(const struct marked_calls *calls) {
  return calls->within && calls->beside > calls->within && calls->beside >= FEWEST_BESIDE;
}
