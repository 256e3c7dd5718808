/* entry_python.c: what the Python hooks call: goes on to the session and to the sources, and says what was proved of
** PyTorch and Python as parts (recorder/parts.h).
*/
#include "channel/thread_names.h"
#include "cuda/cuda_source.h"
#include "cuda/cupti_faults.h"
#include "governor/sampling.h"
#include "hangs/hang_watch.h"
#include "host/process_identity.h"
#include "jax/jit_calls.h"
#include "python/call_hooks.h"
#include "python/guarded_read.h"
#include "python/hook_problems.h"
#include "python/python_api.h"
#include "python/python_calls.h"
#include "python/python_code.h"
#include "python/python_frames.h"
#include "python/python_source.h"
#include "python/python_states.h"
#include "python/source_text.h"
#include "python/typed_sources.h"
#include "recorder/clock.h"
#include "recorder/parts.h"
#include "recorder/recording.h"
#include "recorder/settings.h"
#include "recorder/triggers.h"
#include "session.h"
#include "tensorflow/session_records.h"
#include "torch/memory_callbacks.h"
#include "torch/module_discovery.h"
#include "torch/module_facts.h"
#include "torch/module_rows.h"
#include "torch/module_sightings.h"
#include "torch/modules_source.h"
#include "torch/noted_ranges.h"
#include "torch/op_callbacks.h"
#include "torch/optimizer_objects.h"
#include "torch/phase_hooks.h"
#include "torch/profiler_windows.h"
#include "torch/thread_state.h"
#include "torch/torch_inputs.h"
#include "torch/torch_lock.h"
#include "windows/window_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#define ENTRY_POINT __attribute__((visibility("default")))

static char without_callbacks[256]; /* why PyTorch cannot be listened to; empty: it can */

/* They return 1 for yes and 0 for no. */

/* Before all else, of a program that was started without tfprof-capture: what is asked for (settings.h). */
ENTRY_POINT int tfprof_capture_tell_setting(const char *name, const char *value);
/* The library is loaded, before PyTorch: the clocks begin to be compared. */
ENTRY_POINT int tfprof_capture_load(void);
/* When this interpreter began (source_text.h). */
ENTRY_POINT void tfprof_capture_interpreter_began(int64_t realtime_ns, int64_t monotonic_ns);
/* Then: what descriptor 2 was when the interpreter started (parts.h). */
ENTRY_POINT void tfprof_capture_say_to(uint64_t device, uint64_t inode);
/* A framework other than PyTorch has been imported, which tells of its steps by the ranges below: what needs no PyTorch
** is recorded from now on. 0: it cannot be, and it has been said. */
ENTRY_POINT int tfprof_capture_begin_framework(const char *name, const char *version);
/* One of them runs the program's steps. */
ENTRY_POINT void tfprof_capture_lead_framework(const char *name);
/* PyTorch has been imported. 0: it cannot be listened to. */
ENTRY_POINT int tfprof_capture_begin(const char *torch_version);
/* Then: torch.profiler may watch in our place (profiler_windows.h), or may not: that is said here. */
ENTRY_POINT int tfprof_capture_begin_windows(const char *torch_version, int is_possible);
ENTRY_POINT int tfprof_capture_add_op(const char *name, uint64_t thread, int64_t start_ns, int64_t end_ns,
                                      int64_t sequence, unsigned forward_thread, int scope);
/* Proofs; each may be left out, and then that part is off. */
ENTRY_POINT int tfprof_capture_prove_tensors(const int64_t *samples, unsigned count);
ENTRY_POINT int tfprof_capture_watch_inputs(const void *tensor_a, const void *tensor_b);
ENTRY_POINT int tfprof_capture_prove_inputs(void);
/* Before and after a tensor of `bytes` at `address` is made and dropped. */
ENTRY_POINT int tfprof_capture_watch_memory(void);
ENTRY_POINT int tfprof_capture_prove_memory(const void *address, int64_t bytes);
/* With the GIL held (ctypes.PyDLL): */
ENTRY_POINT int tfprof_capture_find_python(unsigned version);
ENTRY_POINT unsigned long tfprof_capture_describe_stack(char *text, unsigned long size);
ENTRY_POINT int tfprof_capture_code_died(const void *code);
ENTRY_POINT void tfprof_capture_believe_stacks(int is_proved, const char *reason);
/* Which optimizer steps (optimizer_objects.h): called by a function that has the code `probe`. */
ENTRY_POINT int tfprof_capture_prove_optimizers(unsigned version, const void *probe, const void *expected,
                                                const void *code);
/* Optimizer.__init__ is called with these objects. */
ENTRY_POINT void tfprof_capture_optimizer_made(const void *optimizer, const void *parameters, const void *defaults);
/* Once stacks are believed (python_calls.h): a new reference, None where it cannot be made. */
ENTRY_POINT void *tfprof_capture_call_watcher(int number);
ENTRY_POINT int tfprof_capture_profile_thread(void);
/* What threading.Thread calls the calling thread, in UTF-8. */
ENTRY_POINT void tfprof_capture_name_thread(const char *name);
/* The same of a thread that was there before; before recording begins. */
ENTRY_POINT void tfprof_capture_note_thread(unsigned tid, const char *name);
/* What the program made its default process group with. */
ENTRY_POINT void tfprof_capture_set_rank(int rank, int world_size);
/* Hooks of functions (call_hooks.h), with the GIL held. `function` does nothing, and is called so often between these
** two. 0 of the first: this interpreter lacks what hooks need. */
ENTRY_POINT int tfprof_capture_watch_calls(void *function);
ENTRY_POINT int tfprof_capture_prove_calls(unsigned calls);
/* What is to take the function's place: itself, where it could be hooked there; a builtin function that calls it; or
** None. A new reference. `kind`: of phase_hooks.h. */
ENTRY_POINT void *tfprof_capture_hook_phase(void *function, unsigned kind, const char *name);
/* What functions of ours raised within the program's calls: a function of Python that gets the class of the exception
** and itself, or None, with the GIL held; and, from the hooks, such a problem as a text. */
ENTRY_POINT void tfprof_capture_tell_problems(void *reporter);
ENTRY_POINT void tfprof_capture_note_problem(const char *text);
/* Or functions of Python that are called before and after, and after it where it raised; None: there is none. */
ENTRY_POINT void *tfprof_capture_hook_call(void *function, void *first, void *last, void *raised);
/* The same, called with the arguments by name, too; where `changes`, a tuple that the first returns takes the place of
** all arguments. */
ENTRY_POINT void *tfprof_capture_hook_names(void *function, void *first, void *last, void *raised, int changes);
/* os.fork, where CPython counts the threads of the process after it, and warns of more than one: it finds none of ours
** (session_rest), where Python knows of no other. Only in its place. */
ENTRY_POINT void tfprof_capture_hook_fork(void *function);
/* What os.environ has of both by now; -1, 0: nothing. */
ENTRY_POINT void tfprof_capture_set_environment_rank(int rank, int world_size);
/* That the program does not end in order: by which exception, or with which status. Before its end. */
ENTRY_POINT void tfprof_capture_tell_failure(const char *what);
/* What is kept (--keep) is written, because of this kind of trigger, as triggers.kind has it; returns when it is. 0:
** nothing is kept, or it cannot be written. */
ENTRY_POINT int tfprof_capture_write_kept(const char *kind, const char *message);
/* Ranges that the hooks note (noted_ranges.h). */
ENTRY_POINT uint64_t tfprof_capture_begin_range(void);
ENTRY_POINT void tfprof_capture_end_range(const char *name, uint64_t start_ticks);
/* The same of one that may mark a step; `object`: which optimizer, or 0. 0: no step has ended with it; 2: one has, and
** before the next one begins the hooks are to ask what is to be done of windows (entry_windows.c); else 1. */
ENTRY_POINT int tfprof_capture_end_mark(const char *name, unsigned object, uint64_t start_ticks);
/* Steps that have ended so far, by whatever ends them. */
ENTRY_POINT uint64_t tfprof_capture_count_steps(void);
/* Calls of what jax.jit made (jit_calls.h), with the GIL held: functions of Python that say whether the calling thread
** is tracing, and that are told when a step has ended, and before one begins where windows ask for it; an object whose
** calls are noted. 0: they cannot be. */
ENTRY_POINT void tfprof_capture_begin_jit(void *is_traced, void *step_begins);
ENTRY_POINT int tfprof_capture_watch_jit(void *function, const char *name);
/* Runs of sessions of TensorFlow (session_records.h): whether one that begins now is to be traced, what is the same for
** its step, or -1; what was traced of it, of kind 0, or why not (`left_out`, kept); a graph (1), what the op log says
** (2). */
ENTRY_POINT int64_t tfprof_capture_session_step(void);
ENTRY_POINT void tfprof_capture_add_session(int kind, int64_t graph, int64_t step, uint64_t start_ticks,
                                            const char *bytes, uint64_t length, int is_ours, const char *left_out);
/* One of gc.callbacks, with the GIL held. `about`: a dictionary. */
ENTRY_POINT void tfprof_capture_collected(const wchar_t *phase, void *about);
ENTRY_POINT void tfprof_capture_no_calls(const char *reason);
/* Once stacks are found, modules: what module_discovery.h and module_facts.h need; the code object to be looked for,
** and what is then seen of the caller's stack; whether that was right. */
ENTRY_POINT void tfprof_capture_find_modules(void *work, void *get_objects, void *module_class, void *tensor_class,
                                             void *lazy_class, void *no_overrides, const void *code);
ENTRY_POINT void tfprof_capture_mute_tracing(void *tracing_state, void *set_tracing_state);
ENTRY_POINT unsigned tfprof_capture_describe_modules(uint64_t *modules, uint64_t *calls, unsigned room);
ENTRY_POINT void tfprof_capture_believe_modules(int is_proved, int tells_calls, const char *reason);
/* A thread of the program has begun: from the first one on there is one that looks at the stacks of the others. */
ENTRY_POINT void tfprof_capture_begin_looking(void);
/* What module_facts.h tells of a module and what is below, or of a model: a new reference. None where that cannot be
** told; NULL is no object, and ctypes would end the process. */
ENTRY_POINT void *tfprof_capture_module_tree(void *module);
ENTRY_POINT void *tfprof_capture_model_tree(unsigned model);
/* Appends what has not been told yet to a list. */
ENTRY_POINT void tfprof_capture_module_news(void *list, int is_last_time);
ENTRY_POINT void tfprof_capture_modules_again(unsigned milliseconds);
/* Without the GIL: around what tells modules (module_discovery.h). */
ENTRY_POINT int tfprof_capture_begin_telling(unsigned milliseconds);
ENTRY_POINT void tfprof_capture_end_telling(void);
/* A module (its number not 0) or a parameter; then what it is like (module_rows.h). 0: no memory. */
ENTRY_POINT int tfprof_capture_tell_node(unsigned module, int64_t parent, int64_t depth, const char *name,
                                         const char *type);
ENTRY_POINT int tfprof_capture_tell_change(int64_t row, unsigned module, int64_t parameters, int64_t bytes,
                                           int64_t trainable, int64_t address, const char *kind, const char *shape,
                                           const char *dtype, const char *device, const char *attributes);
/* Once stacks are found: text that lies in no file (typed_sources.h). */
ENTRY_POINT void tfprof_capture_find_sources(void *work);
ENTRY_POINT unsigned long tfprof_capture_wanted_source(char *name, unsigned long size);
ENTRY_POINT void tfprof_capture_tell_source(const char *name, const char *text, int cell);
/* How long an op takes here, before recording begins: with 1 callbacks that do nothing are registered, with 0 they go,
** and how many ops they saw is returned. Then: what those ops took without them, and with them. */
ENTRY_POINT int tfprof_capture_calibrate(int is_on);
ENTRY_POINT void tfprof_capture_calibrated(int64_t ops, int64_t plain_ns, int64_t called_ns);
/* `who`, another profiler in this process, is about to listen to CUDA (1), and nobody but us does any more (0). */
ENTRY_POINT void tfprof_capture_step_aside(int is_aside, const char *who);
/* Recording begins. 0: it cannot, and it has been said. */
ENTRY_POINT int tfprof_capture_arm(void);
/* While recording. 0: ops are not recorded; 1: they are; 2: callbacks that do nothing, to measure what PyTorch takes
** for calling any. */
ENTRY_POINT int tfprof_capture_switch(int mode);
/* Whether what happens now is recorded, or begins to be with that (of a forked child). */
ENTRY_POINT int tfprof_capture_is_recording(void);
/* To measure what recording takes: 1 takes away all that is called by the program, 0 brings it back. On one thread. */
ENTRY_POINT int tfprof_capture_pause(int is_paused);
/* Between these two every op is recorded, whatever the switch says. They may be nested, and called on any thread. */
ENTRY_POINT void tfprof_capture_begin_window(void);
ENTRY_POINT void tfprof_capture_end_window(void);
/* The process ends (session.h). 0: nothing is recorded of it. Then: how many milliseconds that may take. */
ENTRY_POINT int tfprof_capture_begin_end(void);
ENTRY_POINT int tfprof_capture_time_left(void);
ENTRY_POINT void tfprof_capture_flush(void);
ENTRY_POINT void tfprof_capture_finish(void);
ENTRY_POINT const char *tfprof_capture_path(void);
/* "ops: ok", "shapes: off: why" ...: how each part is recorded. NULL: there are no more parts. */
ENTRY_POINT const char *tfprof_capture_part(int number);
/* What is wrong with this version of CUPTI, one after the other; NULL: no more (cuda/cupti_faults.h). */
ENTRY_POINT const char *tfprof_capture_cupti_fault(unsigned version, unsigned number);

int tfprof_capture_tell_setting(const char *name, const char *value) { return setting_tell(name, value); }

int tfprof_capture_load(void) {
  if (!session_load()) return 0;
  if (session_wishes.with_memory) memory_begin();
  return 1;
}

void tfprof_capture_interpreter_began(int64_t realtime_ns, int64_t monotonic_ns) {
  static bool is_told; /* an import of PyTorch that fails may be tried again */
  if (!is_told) source_text_begin(realtime_ns, monotonic_ns);
  is_told = true;
}

void tfprof_capture_say_to(uint64_t device, uint64_t inode) { capture_say_to(device, inode); }

static void go_without_callbacks(const char *why) {
  snprintf(without_callbacks, sizeof without_callbacks, "%s", why);
  session_wishes.of_sources.has_callbacks = false;
}

int tfprof_capture_begin_framework(const char *name, const char *version) {
  process_identity_add_framework(name, version);
  if (!session_begin()) return 0;
  if (!session_is_armed()) noted_ranges_arm(false);
  return 1;
}

void tfprof_capture_lead_framework(const char *name) { process_identity_lead_framework(name); }

int tfprof_capture_begin(const char *torch_version) {
  bool with_shapes = session_wishes.of_sources.with_shapes, with_stacks = session_wishes.of_sources.with_stacks,
       with_source = session_wishes.of_sources.with_source;
  char reason[256];
  process_identity_add_framework("pytorch", torch_version);
  bool is_memory_found = torch_memory_find(NULL, reason, sizeof reason);
  part_set(&memory_part, session_wishes.with_memory ? PART_DEGRADED : PART_OFF,
           !session_wishes.with_memory ? "asked with --no-memory" : is_memory_found ? "it was not proved" : reason);
  part_set(&shapes_part, PART_OFF, with_shapes ? "they were not proved" : "asked with --no-shapes");
  part_set(&modules_part, PART_OFF,
           with_stacks ? "they are told by stacks, which were not proved" : "asked with --python=none");
  part_set(&stacks_part, PART_OFF, with_stacks ? "they were not proved" : "asked with --python=none");
  part_set(&source_text_part, with_source && with_stacks ? PART_OK : PART_OFF,
           !with_source ? "asked with --no-source" : !with_stacks ? "asked with --python=none" : "");
  source_text_want(with_source);
  if (!guarded_read_begin() || !thread_records_begin(session_wishes.buffer_bytes)) {
    capture_say("nothing is recorded: out of memory or file descriptors; the program goes on");
    return 0;
  }
  if (!torch_find(reason, sizeof reason) || !torch_self_test(reason, sizeof reason)) {
    go_without_callbacks(reason);
    return 0;
  }
  /* Where it fails backward passes take as long as PyTorch makes them take. */
  session_wishes.sampling.off_share = thread_state_prove() ? 0 : RANGES_SHARE;
  bool has_lock = torch_lock_find();
  if (!has_lock && torch_layout.has_details)
    snprintf(reason, sizeof reason, "forked processes are not recorded: PyTorch's lock of its callbacks was not found");
  part_set(&ops_part, torch_layout.has_details && has_lock ? PART_OK : PART_DEGRADED, reason);
  if (session_wishes.sampling.mode == OPS_NONE) part_set(&ops_part, PART_OFF, "asked with --ops=none");
  part_set(&steps_part, PART_OK, "");
  return 1;
}

int tfprof_capture_begin_windows(const char *torch_version, int is_possible) {
  process_identity_add_framework("pytorch", torch_version);
  if (!without_callbacks[0]) go_without_callbacks("it cannot be listened to");
  bool is_late = atomic_load(&gate_state) != GATE_NONE; /* times of another clock are in the file already */
  if (!is_possible || is_late || !thread_records_begin(session_wishes.buffer_bytes)) {
    capture_say("the ops of PyTorch %s cannot be recorded: %s; the program goes on",
                process_identity_framework_version(), without_callbacks);
    return 0;
  }
  char text[sizeof ops_part.reason];
  snprintf(text, sizeof text, "torch.profiler records three steps in fifty: %.180s", without_callbacks);
  part_set(&ops_part, PART_DEGRADED, text);
  static const char missing[] = "not recorded through torch.profiler";
  part_set(&shapes_part, PART_OFF, missing);
  part_set(&stacks_part, PART_OFF, missing);
  part_set(&source_text_part, PART_OFF, missing);
  part_set(&modules_part, PART_OFF, missing);
  part_set(&memory_part, PART_OFF, missing);
  part_set(&steps_part, PART_OK, "");
  clock_is_counter = false; /* the profiler's times are nanoseconds */
  return 1;
}

int tfprof_capture_add_op(const char *name, uint64_t thread, int64_t start_ns, int64_t end_ns, int64_t sequence,
                          unsigned forward_thread, int scope) {
  if (!gate_may_record()) return 0;
  return profiler_windows_add(
      &(struct profiler_op){name, thread, start_ns, end_ns, sequence, forward_thread, (uint8_t)scope});
}

int tfprof_capture_prove_tensors(const int64_t *samples, unsigned count) {
  char reason[256];
  if (!session_wishes.of_sources.with_shapes) return 0;
  bool is_proved = torch_inputs_prove_tensors(samples, count, reason, sizeof reason);
  if (!is_proved) part_set(&shapes_part, PART_OFF, reason);
  return is_proved;
}

int tfprof_capture_watch_inputs(const void *tensor_a, const void *tensor_b) {
  return torch_inputs_watch(tensor_a, tensor_b);
}

int tfprof_capture_prove_inputs(void) {
  char reason[256] = "";
  bool is_proved = torch_inputs_prove_ops(reason, sizeof reason);
  if (is_proved && !input_layout.storage)
    part_set(&shapes_part, PART_DEGRADED,
             "where parameters lie in memory is not known: this PyTorch's storages are laid out in another way");
  else
    part_set(&shapes_part, is_proved ? PART_OK : PART_OFF, reason);
  return is_proved;
}

int tfprof_capture_watch_memory(void) {
  if (!session_wishes.with_memory || !torch_memory.allocate) return 0;
  memory_watch();
  return 1;
}

int tfprof_capture_prove_memory(const void *address, int64_t bytes) {
  char reason[256] = "";
  bool is_proved = memory_prove((uintptr_t)address, bytes, reason, sizeof reason);
  part_set(&memory_part, is_proved ? PART_OK : PART_DEGRADED, reason);
  return is_proved;
}

int tfprof_capture_find_python(unsigned version) {
  char reason[256] = "this Python lacks a function";
  if (!guarded_read_begin()) return 0;
  if (python_api_find() && python_find(version, reason, sizeof reason) && python_watch_code(reason, sizeof reason))
    return 1;
  part_set(&stacks_part, PART_OFF, reason);
  return 0;
}

unsigned long tfprof_capture_describe_stack(char *text, unsigned long size) {
  return python_describe_stack(text, size);
}

int tfprof_capture_code_died(const void *code) { return python_code_died(code); }

void tfprof_capture_believe_stacks(int is_proved, const char *reason) {
  char of_threads[160];
  python_believe(is_proved);
  if (is_proved && !python_states_prove(of_threads, sizeof of_threads)) hang_watch_lacks_threads(of_threads);
  part_set(&stacks_part, is_proved ? PART_OK : PART_OFF, reason);
}

int tfprof_capture_prove_optimizers(unsigned version, const void *probe, const void *expected, const void *code) {
  char reason[256];
  bool is_found = python_layout_to_prove() || (guarded_read_begin() && python_find(version, reason, sizeof reason));
  return is_found && optimizer_objects_prove((uintptr_t)probe, (uintptr_t)expected, (uintptr_t)code);
}

void tfprof_capture_optimizer_made(const void *optimizer, const void *parameters, const void *defaults) {
  (void)parameters, (void)defaults;
  optimizer_objects_made((uintptr_t)optimizer);
}

void *tfprof_capture_call_watcher(int number) { return python_call_watcher(number); }

void tfprof_capture_name_thread(const char *name) { thread_name_set(name); }

void tfprof_capture_note_thread(unsigned tid, const char *name) { thread_name_note(tid, name); }

void tfprof_capture_set_rank(int rank, int world_size) { process_identity_set_rank(rank, world_size); }

int tfprof_capture_watch_calls(void *function) {
  if (!call_hooks_find()) return 0;
  call_hooks_watch(function);
  return 1;
}

int tfprof_capture_prove_calls(unsigned calls) { return call_hooks_prove(calls); }

static void *hook_function(void *function, const struct call_hook *hook) {
  void *result = !hook ? python_api.none : call_hook_place(function, hook) ? function : NULL;
  if (!result && (result = call_hook_object(function, hook))) return result;
  if (!result) result = python_api.none;
  python_api.increment(result);
  return result;
}

void *tfprof_capture_hook_phase(void *function, unsigned kind, const char *name) {
  return hook_function(function, kind < PHASE_COUNT ? phase_hook((enum phase_hook)kind, name) : NULL);
}

static void *keep(void *object) {
  if (object == python_api.none) return NULL;
  python_api.increment(object);
  return object;
}

static void *hook_call(void *function, struct call_hook is) {
  struct call_hook *hook = calloc(1, sizeof *hook);
  if (hook) {
    *hook = is;
    hook->after = call_hook_last;
    hook->first = keep(is.first);
    hook->last = keep(is.last);
    hook->raised = keep(is.raised);
  }
  return hook_function(function, hook);
}

void *tfprof_capture_hook_call(void *function, void *first, void *last, void *raised) {
  return hook_call(function,
                   (struct call_hook){.before = call_hook_first, .first = first, .last = last, .raised = raised});
}

void *tfprof_capture_hook_names(void *function, void *first, void *last, void *raised, int changes) {
  return hook_call(function, (struct call_hook){.before = changes ? call_hook_change : call_hook_first,
                                                .first = first,
                                                .last = last,
                                                .raised = raised,
                                                .takes_names = true});
}

static void rest_before_fork(const struct call_hook *hook, const struct call_arguments *arguments,
                             struct call_begun *begun) {
  (void)hook;
  (void)arguments;
  void *state = python_api.first_thread(python_api.interpreter());
  bool is_alone = state && !python_api.next_thread(state); /* else the warning is right */
  begun->kind = is_alone && session_rest();
}

static void go_on_after_fork(const struct call_hook *hook, const struct call_arguments *arguments,
                             const struct call_begun *begun) {
  (void)hook;
  (void)arguments;
  if (begun->kind) session_go_on();
}

void tfprof_capture_hook_fork(void *function) {
  static const struct call_hook resting = {.before = rest_before_fork, .after = go_on_after_fork};
  call_hook_place(function, &resting);
}

int tfprof_capture_write_kept(const char *kind, const char *message) {
  enum { PATIENCE_MS = 3000 };
  char path[4400], problem[200];
  enum trigger_kind its_kind = trigger_kind_of(kind);
  if (its_kind == TRIGGER_KINDS) return 0;
  return trigger_write(its_kind, message, PATIENCE_MS, path, sizeof path, problem, sizeof problem);
}

void tfprof_capture_tell_failure(const char *what) { hang_watch_tell_failure(what); }

void tfprof_capture_set_environment_rank(int rank, int world_size) {
  process_identity_set_environment_rank(rank, world_size);
}

uint64_t tfprof_capture_begin_range(void) { return noted_range_begin(); }

void tfprof_capture_end_range(const char *name, uint64_t start_ticks) { noted_range_end(name, start_ticks); }

int tfprof_capture_end_mark(const char *name, unsigned object, uint64_t start_ticks) {
  return noted_mark_end(name, object, start_ticks) ? 1 + windows_step_ended() : 0;
}

uint64_t tfprof_capture_count_steps(void) { return sampling_steps(); }

void tfprof_capture_tell_problems(void *reporter) {
  if (call_hooks_find()) call_hooks_report_to(reporter);
}

void tfprof_capture_note_problem(const char *text) { hook_problem_tell(text); }

int64_t tfprof_capture_session_step(void) { return session_records_step(); }

void tfprof_capture_add_session(int kind, int64_t graph, int64_t step, uint64_t start_ticks, const char *bytes,
                                uint64_t length, int is_ours, const char *left_out) {
  static const char *const kinds[] = {"run", "graph", "op_log"};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  if (kind < 0 || kind >= KINDS) return;
  session_records_add(&(struct session_record){.kind = kinds[kind],
                                               .left_out = left_out,
                                               .graph = graph,
                                               .step = step,
                                               .start_ticks = start_ticks,
                                               .end_ticks = clock_ticks(),
                                               .is_ours = is_ours != 0,
                                               .bytes = bytes,
                                               .length = bytes ? length : 0});
}

void tfprof_capture_begin_jit(void *is_traced, void *step_begins) {
  if (call_hooks_find()) jit_calls_begin(is_traced, step_begins);
}

int tfprof_capture_watch_jit(void *function, const char *name) { return jit_calls_watch(function, name); }

void tfprof_capture_collected(const wchar_t *phase, void *about) {
  enum { FULL_COLLECTION = 2 };
  static uint64_t began; /* one at a time */
  static bool has_functions;
  if (!has_functions && !(has_functions = python_api_find())) return;
  void *generation = python_api.item(about, "generation");
  if (!generation || (uintptr_t)python_api.address(generation) != FULL_COLLECTION) return;
  if (!wcscmp(phase, L"start")) began = noted_range_begin();
  else noted_range_end("gc.collect", began);
}

int tfprof_capture_profile_thread(void) { return python_calls_profile_thread(); }

void tfprof_capture_no_calls(const char *reason) {
  char text[200];
  if (stacks_part.state == PART_OFF) return; /* the reason is there already */
  snprintf(text, sizeof text, "calls are not recorded: %s", reason);
  part_set(&stacks_part, PART_DEGRADED, text);
}

void tfprof_capture_find_modules(void *work, void *get_objects, void *module_class, void *tensor_class,
                                 void *lazy_class, void *no_overrides, const void *code) {
  module_facts_begin(&(struct module_classes){module_class, tensor_class, lazy_class, no_overrides});
  module_discovery_begin(work, get_objects);
  module_sightings_begin();
  python_module_code = (uintptr_t)code;
}

void tfprof_capture_mute_tracing(void *tracing_state, void *set_tracing_state) {
  module_facts_mute(tracing_state, set_tracing_state);
}

unsigned tfprof_capture_describe_modules(uint64_t *modules, uint64_t *calls, unsigned room) {
  return python_describe_modules(modules, calls, room);
}

void tfprof_capture_believe_modules(int is_proved, int tells_calls, const char *reason) {
  if (!is_proved) python_module_code = 0;
  python_tells_calls = is_proved && tells_calls;
  part_set(&modules_part, is_proved ? PART_OK : PART_OFF, reason);
}

void tfprof_capture_step_aside(int is_aside, const char *who) { cuda_source_step_aside(is_aside, who); }

void tfprof_capture_begin_looking(void) { module_discovery_begin_looking(); }

void *tfprof_capture_module_tree(void *module) { return module_facts_tree(module); }

void *tfprof_capture_model_tree(unsigned model) { return module_facts_model(model); }

void tfprof_capture_module_news(void *list, int is_last_time) { module_discovery_take(list, is_last_time); }

void tfprof_capture_modules_again(unsigned milliseconds) { module_discovery_again(milliseconds); }

int tfprof_capture_begin_telling(unsigned milliseconds) { return module_telling_begin(milliseconds); }

void tfprof_capture_end_telling(void) { module_telling_end(); }

int tfprof_capture_tell_node(unsigned module, int64_t parent, int64_t depth, const char *name, const char *type) {
  return module_tell(&(struct module_node){module, parent, depth, name, type});
}

int tfprof_capture_tell_change(int64_t row, unsigned module, int64_t parameters, int64_t bytes, int64_t trainable,
                               int64_t address, const char *kind, const char *shape, const char *dtype,
                               const char *device, const char *attributes) {
  return module_tell_change(&(struct module_change){row, kind, shape, dtype, device, attributes, parameters, bytes,
                                                    trainable, address, module});
}

void tfprof_capture_find_sources(void *work) { typed_sources_begin(work); }

unsigned long tfprof_capture_wanted_source(char *name, unsigned long size) {
  return typed_sources_wanted(name, size);
}

void tfprof_capture_tell_source(const char *name, const char *text, int cell) {
  typed_sources_tell(name, text, cell);
}

int tfprof_capture_calibrate(int is_on) {
  if (without_callbacks[0] || session_is_armed()) return 0;
  callbacks_prepare(session_wishes.of_sources.with_shapes, false);
  if (is_on) return ops_arm_empty();
  ops_disarm_empty();
  return (int)ops_counted_empty();
}

void tfprof_capture_calibrated(int64_t ops, int64_t plain_ns, int64_t called_ns) {
  memory_set_cost(ops_set_cost(ops > 0 ? (double)(called_ns - plain_ns) / (double)ops : 0));
}

int tfprof_capture_arm(void) {
  guarded_read_end();
  return session_arm();
}

int tfprof_capture_pause(int is_paused) { return session_pause(is_paused != 0); }

int tfprof_capture_switch(int mode) {
  return !without_callbacks[0] && gate_may_record() && sampling_switch(mode);
}
int tfprof_capture_is_recording(void) {
  int state = atomic_load(&gate_state);
  return gate_is_ours() && (state == GATE_RECORDING || state == GATE_INHERITED || state == GATE_STARTING);
}
void tfprof_capture_begin_window(void) {
  if (!without_callbacks[0]) sampling_window(1);
}
void tfprof_capture_end_window(void) {
  if (!without_callbacks[0]) sampling_window(-1);
}

int tfprof_capture_begin_end(void) { return session_begin_end(); }

int tfprof_capture_time_left(void) { return session_time_left(); }

void tfprof_capture_flush(void) { session_flush(); }

void tfprof_capture_finish(void) { session_finish(); }

const char *tfprof_capture_path(void) { return recording_path(); }

const char *tfprof_capture_cupti_fault(unsigned version, unsigned number) { return cupti_fault_text(version, number); }

const char *tfprof_capture_part(int number) { return session_part((unsigned)number); }
