/* thread_state.c: see thread_state.h. */
#include "thread_state.h"

#include "torch_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct thread_state_functions thread_state;
static _Atomic bool is_proved;

static void find_functions(void) {
  if (thread_state.set) return;
  void *library = torch_open_loaded("/libtorch_cpu.so", NULL, NULL);
  const struct {
    void *target;
    const char *symbol;
  } wanted[] = {
      {&thread_state.get, "_ZN2at24get_record_function_tls_Ev"},
      {&thread_state.set, "_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE"},
      {&thread_state.enable, "_ZN2at20enableRecordFunctionEb"},
  };
  for (size_t i = 0; library && i < sizeof wanted / sizeof wanted[0]; i++) {
    void *address = dlsym(library, wanted[i].symbol);
    memcpy(wanted[i].target, &address, sizeof address);
  }
}
static pthread_once_t find_once = PTHREAD_ONCE_INIT;

static inline bool is_empty(const struct callback_state *state) { return state->begin == state->end; }

__attribute__((visibility("default"), used)) void thread_state_set(const struct callback_state *state)
    __asm__("_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE");

void thread_state_set(const struct callback_state *state) {
  if (__builtin_expect(atomic_load_explicit(&is_proved, memory_order_relaxed), 1)) {
    const struct callback_state *now = thread_state.get();
    if (is_empty(state) && is_empty(now) && state->is_enabled == now->is_enabled) return;
  } else {
    pthread_once(&find_once, find_functions);
  }
  if (thread_state.set) thread_state.set(state);
}

static void call_never(void **context, const uint8_t *object) {
  (void)object;
  *context = NULL;
}
TORCH_START_CALLBACK(call_never)

bool thread_state_prove(void) {
  pthread_once(&find_once, find_functions);
  if (!thread_state.get || !thread_state.set || !thread_state.enable) return false;
  const struct callback_state *state = thread_state.get();
  if (!is_empty(state) || state->is_enabled != 1) return false; /* the program uses them: nothing can be tried out */
  uint64_t handle = torch.add_thread_callback(
      (struct torch_callback){.start = (void *)call_never_entry, .sampling_probability = 1});
  bool has_list = state->begin && state->end > state->begin && state->room_end >= state->end;
  torch.remove_callback(handle);
  bool is_emptied = is_empty(state);
  thread_state.enable(false);
  bool has_switch = state->is_enabled == 0;
  thread_state.enable(true);
  atomic_store(&is_proved, has_list && is_emptied && has_switch && state->is_enabled == 1);
  return is_proved;
}
