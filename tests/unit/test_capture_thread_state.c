/* test_capture_thread_state.c: a state of callbacks that changes nothing goes no further, every other one does; and so
** does every one where PyTorch's objects are not as expected.  The PyTorch below is made up. */
#include "torch/thread_state.h"

#include "stopping_check.h"
#include "torch/torch_api.h"

#include <stdlib.h>

void set_state(const struct callback_state *state)
    __asm__("_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE");

static struct callback_state now = {.is_enabled = true};
static uint64_t entries[4];
static unsigned sets;
static bool has_other_layout;

static const struct callback_state *get(void) { return &now; }
static void set(const struct callback_state *state) {
  now = *state;
  sets++;
}
static void enable(bool is_enabled) { now.is_enabled = is_enabled; }

static uint64_t add_callback(struct torch_callback callback) {
  (void)callback;
  if (has_other_layout) return 1;
  now.begin = (uintptr_t)entries;
  now.end = (uintptr_t)&entries[1];
  now.room_end = (uintptr_t)&entries[4];
  return 1;
}
static void remove_callback(uint64_t handle) {
  check(handle == 1, "handle %llu", (unsigned long long)handle);
  now.end = now.begin;
}

static void expect(const char *what, struct callback_state state, bool is_set) {
  unsigned before = sets;
  set_state(&state);
  check((sets != before) == is_set, "%s: %s", what, is_set ? "is left out" : "goes on to PyTorch");
}

int main(void) {
  const struct callback_state empty = {.is_enabled = true}, disabled = {.is_enabled = false},
                              full = {(uintptr_t)entries, (uintptr_t)&entries[2], (uintptr_t)&entries[2], true},
                              emptied = {(uintptr_t)entries, (uintptr_t)entries, (uintptr_t)&entries[2], true};
  thread_state = (struct thread_state_functions){get, set, enable};
  torch.add_thread_callback = add_callback;
  torch.remove_callback = remove_callback;
  expect("what is not proved", empty, true);
  has_other_layout = true;
  check(!thread_state_prove(), "another layout is proved");
  expect("another layout", empty, true);
  has_other_layout = false;
  now = full;
  check(!thread_state_prove(), "proved beside callbacks of the program's own");
  now = empty;
  check(thread_state_prove(), "not proved");
  check(now.begin == now.end && now.is_enabled, "the proof leaves something behind");
  expect("the same", empty, false);
  expect("the same, which had callbacks once", emptied, false);
  expect("callbacks of the thread", full, true);
  expect("others", full, true);
  expect("none any more", empty, true);
  expect("switched off", disabled, true);
  expect("switched off, still", disabled, false);
  expect("switched on", empty, true);
  return 0;
}
