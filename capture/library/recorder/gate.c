/* gate.c: see gate.h. */
#include "gate.h"

_Atomic int gate_state = GATE_NONE;
_Atomic int gate_detail = DETAIL_ALWAYS;
static bool (*start_child)(void);
static void (*refuse_child)(void);

void gate_set_child(bool (*start)(void), void (*refuse)(void)) {
  start_child = start;
  refuse_child = refuse;
}

bool gate_move(enum gate_state from, enum gate_state to) {
  int expected = (int)from;
  return atomic_compare_exchange_strong(&gate_state, &expected, (int)to);
}

bool gate_may_record(void) {
  int seen = atomic_load_explicit(&gate_state, memory_order_acquire);
  if (seen == GATE_UNRECORDED && gate_move(GATE_UNRECORDED, GATE_ENDED)) refuse_child();
  if (seen != GATE_INHERITED) return seen == GATE_RECORDING;
  if (!gate_move(GATE_INHERITED, GATE_STARTING)) return false;
  bool is_started = start_child();
  atomic_store(&gate_state, is_started ? GATE_RECORDING : GATE_ENDED);
  return is_started;
}
