/* gate.c: see gate.h. */
#include "gate.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

_Atomic int gate_state = GATE_NONE;
_Atomic int gate_detail = DETAIL_ALWAYS;
static bool mark_of_all = true; /* where the kernel cannot leave a page empty, before Linux 4.14 */
static bool *own_mark = &mark_of_all;
const volatile bool *gate_mark = &mark_of_all;
static pid_t owner;
static bool (*start_child)(void);
static void (*refuse_child)(void), (*wake_child)(void);

void gate_set_child(bool (*start)(void), void (*refuse)(void)) {
  start_child = start;
  refuse_child = refuse;
}

void gate_set_waking(void (*wake)(void)) { wake_child = wake; }

bool gate_counts_steps(void) {
  if (!gate_is_ours()) return false;
  int seen = atomic_load_explicit(&gate_state, memory_order_acquire);
  if (seen == GATE_ASLEEP && gate_move(GATE_ASLEEP, GATE_DORMANT)) wake_child();
  return seen == GATE_RECORDING || seen == GATE_DORMANT || seen == GATE_WOKEN || seen == GATE_ASLEEP;
}

static bool *new_mark(void) {
  void *page = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return &mark_of_all;
  if (!madvise(page, (size_t)getpagesize(), MADV_WIPEONFORK)) return page;
  munmap(page, (size_t)getpagesize());
  return &mark_of_all;
}

void gate_own(void) {
  if (!owner) gate_mark = own_mark = new_mark();
  owner = getpid();
  *own_mark = true;
}

bool gate_is_of_process(void) { return gate_is_ours() && owner == getpid(); }

bool gate_move(enum gate_state from, enum gate_state to) {
  int expected = (int)from;
  return atomic_compare_exchange_strong(&gate_state, &expected, (int)to);
}

bool gate_may_record(void) {
  if (!gate_is_ours()) return false;
  int seen = atomic_load_explicit(&gate_state, memory_order_acquire);
  if (seen == GATE_UNRECORDED && gate_move(GATE_UNRECORDED, GATE_ENDED)) refuse_child();
  if (seen != GATE_INHERITED) return seen == GATE_RECORDING;
  if (!gate_move(GATE_INHERITED, GATE_STARTING)) return false;
  bool is_started = start_child();
  atomic_store(&gate_state, is_started ? GATE_RECORDING : GATE_ENDED);
  return is_started;
}
