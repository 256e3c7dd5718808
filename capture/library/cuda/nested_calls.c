/* nested_calls.c: see nested_calls.h. */
#include "nested_calls.h"

#include <string.h>

enum { WAITING_BITS = 10, WAITING = 1 << WAITING_BITS, OUTER = 1 << 12 };

static struct {
  struct cupti_call call; /* of kind 0: none */
  bool is_old;
} waiting[WAITING]; /* by thread */

/* Calls of the runtime that came last, by number. */
static struct outer_call {
  uint64_t start, end;
  uint32_t thread, correlation;
} outer_calls[OUTER];

void nested_calls_begin(void) {
  memset(waiting, 0, sizeof waiting);
  memset(outer_calls, 0, sizeof outer_calls);
}

static bool is_same(const struct cupti_call *one, const struct cupti_call *other) {
  return one->correlation == other->correlation && one->thread == other->thread;
}

static bool lies_within(const struct cupti_call *inner, uint64_t start, uint64_t end) {
  return inner->start >= start && inner->end <= end;
}

static bool has_outer(const struct cupti_call *record) {
  const struct outer_call *outer = &outer_calls[record->correlation % OUTER];
  return outer->correlation == record->correlation && outer->thread == record->thread &&
         lies_within(record, outer->start, outer->end);
}

enum offered_call nested_calls_offer(const struct cupti_call *record, struct cupti_call *due, struct cupti_call *part) {
  unsigned place = record->thread * 0x9e3779b9u >> (32 - WAITING_BITS);
  struct cupti_call *last = &waiting[place].call;
  bool is_driver = record->kind == CUPTI_DRIVER;
  due->kind = part->kind = 0;
  if (!record->correlation) return CALL_IS_READ;
  if (last->kind && is_same(last, record)) {
    if (lies_within(record, last->start, last->end) && is_driver) return CALL_IS_A_PART;
    if (lies_within(last, record->start, record->end)) {
      *part = *last;
      last->kind = 0;
    }
  }
  if (last->kind && (is_driver || last->thread == record->thread)) {
    *due = *last;
    last->kind = 0;
  }
  if (!is_driver) {
    outer_calls[record->correlation % OUTER] =
        (struct outer_call){record->start, record->end, record->thread, record->correlation};
    return CALL_IS_READ;
  }
  if (has_outer(record)) return CALL_IS_A_PART;
  *last = *record;
  waiting[place].is_old = false;
  return CALL_WAITS;
}

bool nested_calls_take(unsigned *at, bool is_all, struct cupti_call *due) {
  for (; *at < WAITING; ++*at) {
    if (!waiting[*at].call.kind) continue;
    bool is_due = is_all || waiting[*at].is_old;
    waiting[*at].is_old = true;
    if (!is_due) continue;
    *due = waiting[*at].call;
    waiting[(*at)++].call.kind = 0;
    return true;
  }
  return false;
}
