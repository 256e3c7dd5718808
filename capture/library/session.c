/* session.c: the life of a recording (see session.h) and the entry points that the Python hook calls. */
#include "session.h"

#include "clock.h"
#include "forks.h"
#include "guarded_read.h"
#include "memory_callbacks.h"
#include "module_discovery.h"
#include "module_facts.h"
#include "module_rows.h"
#include "op_callbacks.h"
#include "process_identity.h"
#include "python_calls.h"
#include "python_code.h"
#include "python_frames.h"
#include "profiler_windows.h"
#include "recording.h"
#include "sampling.h"
#include "thread_names.h"
#include "torch_inputs.h"
#include "torch_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ENTRY_POINT __attribute__((visibility("default")))

enum { FINISH_TIMEOUT_MS = 20000, FLUSH_TIMEOUT_MS = 2000 };

struct session_part session_parts[PART_COUNT];
static const char *const part_names[PART_COUNT] = {"ops",   "shapes", "stacks", "modules",
                                                   "steps", "memory", "clock",  "counters"};
static _Atomic int state = SESSION_NONE;
static char directory[4096];
static struct sampling_options sampling_asked;
static char without_callbacks[256]; /* why PyTorch cannot be listened to; empty: it can */
static bool wants_shapes, wants_stacks, wants_memory, is_quiet;
static bool is_armed;

void session_part_text(int part, char *text, size_t size) {
  static const char *const words[] = {"off", "degraded", "ok"};
  const struct session_part *its = &session_parts[part];
  snprintf(text, size, "%s: %s%s%s", part_names[part], words[its->state], its->reason[0] ? ": " : "", its->reason);
}

void session_say(const char *format, ...) {
  if (is_quiet) return;
  char line[3072] = "tfprof: ";
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line + 8, sizeof line - 9, format, arguments);
  va_end(arguments);
  size_t used = 8 + (length < 0 ? 0 : (size_t)length < sizeof line - 9 ? (size_t)length : sizeof line - 10);
  line[used++] = '\n';
  if (write(STDERR_FILENO, line, used) < 0) return; /* nobody listens */
}

static void set_part(int part, enum part_state part_state, const char *reason) {
  session_parts[part].state = part_state;
  snprintf(session_parts[part].reason, sizeof session_parts[part].reason, "%s", reason);
}

/* ---- Begin. */

static bool start_recording(void) {
  struct process_identity identity;
  struct tfprof_error error;
  process_identity_get(&identity);
  if (recording_begin(directory, &identity.profile, &error) == TFPROF_OK) return true;
  char text[2200];
  error_text(&error, text, sizeof text);
  session_say(
      "nothing is recorded of process %u: %s; the program goes on. Choose another directory with tfprof-capture -o DIR",
      identity.profile.pid, text);
  return false;
}

/* ---- fork. */

/* What another thread had begun when it was left behind is not gone on with: a recording that was being armed or ended
** is none in the child.  Nor is there one where PyTorch's lock is not known: callbacks could not be changed there,
** ever. */
static void after_fork_in_child(bool is_whole) {
  int seen = atomic_load(&state);
  bool has_recorded = seen != SESSION_NONE && seen != SESSION_INHERITED;
  struct live_memory live = {0};
  recording_after_fork_in_child(is_whole && seen == SESSION_RECORDING, &live);
  if (has_recorded || !is_whole) memory_after_fork_in_child(&live);
  if (!has_recorded) return;
  capture_session++;
  thread_records_reset();
  module_queue_reset();
  module_discovery_reset();
  bool has_callbacks = !without_callbacks[0], goes_on = is_armed && seen != SESSION_ENDED;
  if (has_callbacks && !torch_lock) goes_on = false;
  if (!goes_on) memory_disarm();
  else if (has_callbacks) sampling_after_fork_in_child();
  atomic_store(&state, goes_on ? SESSION_INHERITED : SESSION_ENDED);
}

bool session_is_recording(void) {
  int seen = atomic_load_explicit(&state, memory_order_acquire);
  if (seen != SESSION_INHERITED) return seen == SESSION_RECORDING;
  if (!atomic_compare_exchange_strong(&state, &seen, SESSION_STARTING)) return false;
  bool is_started = start_recording();
  atomic_store(&state, is_started ? SESSION_RECORDING : SESSION_ENDED);
  return is_started;
}

bool session_is_running(void) { return atomic_load_explicit(&state, memory_order_acquire) == SESSION_RECORDING; }

/* ---- Entry points. They return 1 for yes and 0 for no. */

/* The library is loaded, before PyTorch: the clocks begin to be compared. */
ENTRY_POINT int tfprof_capture_load(void);
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
/* Once stacks are believed (python_calls.h). */
ENTRY_POINT void *tfprof_capture_call_watcher(int number);
ENTRY_POINT int tfprof_capture_profile_thread(void);
/* What threading.Thread calls the calling thread, in UTF-8. */
ENTRY_POINT void tfprof_capture_name_thread(const char *name);
/* The same of a thread that was there before; before recording begins. */
ENTRY_POINT void tfprof_capture_note_thread(unsigned tid, const char *name);
/* What the program made its default process group with. */
ENTRY_POINT void tfprof_capture_set_rank(int rank, int world_size);
ENTRY_POINT void tfprof_capture_no_calls(const char *reason);
/* Modules: what the hook's function for them is called with (module_discovery.h); the code object to be looked for, and
** what is then seen of the caller's stack; whether that was right. */
ENTRY_POINT int tfprof_capture_find_modules(void *work, void *get_objects, void *start_thread, const void *code);
/* What module_facts.h needs, and what it tells of a module: a new reference. */
ENTRY_POINT int tfprof_capture_prepare_facts(void *reference_class, void *died, void *lazy_class);
ENTRY_POINT void *tfprof_capture_module_facts(void *reference);
ENTRY_POINT unsigned tfprof_capture_describe_modules(uint64_t *modules, unsigned room);
ENTRY_POINT void tfprof_capture_believe_modules(int is_proved, const char *reason);
/* A module (address not 0) or a parameter; then what it is like (module_rows.h). 0: no memory. */
ENTRY_POINT int tfprof_capture_tell_node(uint64_t address, uint64_t object_type, int64_t parent, int64_t depth,
                                         const char *name, const char *type);
ENTRY_POINT int tfprof_capture_tell_change(int64_t row, int64_t parameters, int64_t bytes, int64_t trainable,
                                           const char *kind, const char *shape, const char *dtype, const char *device,
                                           const char *attributes);
ENTRY_POINT void tfprof_capture_module_changed(uint64_t address, uint64_t type, uint64_t new_type);
ENTRY_POINT void tfprof_capture_module_died(uint64_t address, uint64_t type);
ENTRY_POINT void tfprof_capture_modules_again(unsigned milliseconds);
/* Appends the modules that are not known yet to a list. */
ENTRY_POINT void tfprof_capture_unknown_modules(void *list);
/* How long an op takes here, before recording begins: with 1 callbacks that do nothing are registered, with 0 they go,
** and how many ops they saw is returned. Then: what those ops took without them, and with them. */
ENTRY_POINT int tfprof_capture_calibrate(int is_on);
ENTRY_POINT void tfprof_capture_calibrated(int64_t ops, int64_t plain_ns, int64_t called_ns);
/* Recording begins. 0: it cannot, and it has been said. */
ENTRY_POINT int tfprof_capture_arm(void);
/* While recording. 0: ops are not recorded; 1: they are; 2: callbacks that do nothing, to measure what PyTorch takes
** for calling any. */
ENTRY_POINT int tfprof_capture_switch(int mode);
/* To measure what recording takes: 1 takes away all that is called by the program, 0 brings it back. On one thread. */
ENTRY_POINT int tfprof_capture_pause(int is_paused);
/* Between these two every op is recorded, whatever the switch says. They may be nested, and called on any thread. */
ENTRY_POINT void tfprof_capture_begin_window(void);
ENTRY_POINT void tfprof_capture_end_window(void);
ENTRY_POINT void tfprof_capture_flush(void);
ENTRY_POINT void tfprof_capture_finish(void);
ENTRY_POINT const char *tfprof_capture_path(void);
/* "ops: ok", "shapes: off: why" ...: how each part is recorded. NULL: there are no more parts. */
ENTRY_POINT const char *tfprof_capture_part(int number);

static bool is_set(const char *name, bool otherwise) {
  const char *text = getenv(name);
  return text && *text ? strcmp(text, "0") != 0 : otherwise;
}

static uint64_t buffer_bytes(void) {
  const char *text = getenv("TFPROF_BUFFER_SIZE");
  return text && *text ? strtoull(text, NULL, 10) : (uint64_t)CHUNK_COUNT * CHUNK_SIZE;
}

/* As tfprof-capture has checked them. */
static void read_sampling_options(void) {
  const char *mode = getenv("TFPROF_OPS"), *overhead = getenv("TFPROF_OVERHEAD"), *steps = getenv("TFPROF_STEPS"),
             *size = getenv("TFPROF_MAX_SIZE");
  sampling_asked = (struct sampling_options){.mode = OPS_ALL, .overhead = 0.02, .last_step = -1};
  if (mode && !strcmp(mode, "sampled")) sampling_asked.mode = OPS_SAMPLED;
  if (mode && !strcmp(mode, "none")) sampling_asked.mode = OPS_NONE;
  if (overhead && *overhead) sampling_asked.overhead = strtod(overhead, NULL) / 100;
  if (size && *size) sampling_asked.max_bytes = strtoull(size, NULL, 10);
  if (!steps || !*steps) return;
  char *end;
  sampling_asked.first_step = sampling_asked.last_step = strtoll(steps, &end, 10);
  if (*end == '-') sampling_asked.last_step = strtoll(end + 1, NULL, 10);
}

__attribute__((constructor)) static void library_loaded(void) { clock_begin(); }

int tfprof_capture_load(void) {
  const char *path = getenv("TFPROF_RUN_DIRECTORY");
  if (!path || path[0] != '/' || strlen(path) >= sizeof directory) return 0;
  memcpy(directory, path, strlen(path) + 1);
  is_quiet = is_set("TFPROF_QUIET", false);
  wants_shapes = is_set("TFPROF_SHAPES", true);
  const char *mode = getenv("TFPROF_PYTHON_MODE");
  wants_stacks = !mode || strcmp(mode, "none") != 0;
  wants_memory = is_set("TFPROF_MEMORY", true);
  if (!forks_watch(after_fork_in_child)) return 0;
  if (wants_memory) memory_begin();
  read_sampling_options();
  process_identity_begin();
  return 1;
}

int tfprof_capture_begin(const char *torch_version) {
  char reason[256];
  process_identity_set_framework(torch_version);
  bool is_memory_found = torch_memory_find(reason, sizeof reason);
  set_part(PART_MEMORY, wants_memory ? PART_DEGRADED : PART_OFF,
           !wants_memory ? "asked with --no-memory" : is_memory_found ? "it was not proved" : reason);
  set_part(PART_SHAPES, PART_OFF, wants_shapes ? "they were not proved" : "asked with --no-shapes");
  set_part(PART_MODULES, PART_OFF,
           wants_stacks ? "they are told by stacks, which were not proved" : "asked with --python=none");
  set_part(PART_STACKS, PART_OFF, wants_stacks ? "they were not proved" : "asked with --python=none");
  if (!guarded_read_begin() || !thread_records_begin(buffer_bytes())) {
    session_say("nothing is recorded: out of memory or file descriptors; the program goes on");
    return 0;
  }
  if (!torch_find(reason, sizeof reason) || !torch_self_test(reason, sizeof reason)) {
    snprintf(without_callbacks, sizeof without_callbacks, "%s", reason);
    return 0;
  }
  bool has_lock = torch_lock_find();
  if (!has_lock && torch_layout.has_details)
    snprintf(reason, sizeof reason, "forked processes are not recorded: PyTorch's lock of its callbacks was not found");
  set_part(PART_OPS, torch_layout.has_details && has_lock ? PART_OK : PART_DEGRADED, reason);
  if (sampling_asked.mode == OPS_NONE) set_part(PART_OPS, PART_OFF, "asked with --ops=none");
  set_part(PART_STEPS, PART_OK, "");
  set_part(PART_COUNTERS, PART_OK, "");
  set_part(PART_CLOCK, PART_OK, clock_source());
  return 1;
}

int tfprof_capture_begin_windows(const char *torch_version, int is_possible) {
  process_identity_set_framework(torch_version);
  if (!without_callbacks[0]) snprintf(without_callbacks, sizeof without_callbacks, "it cannot be listened to");
  if (!is_possible || !thread_records_begin(buffer_bytes())) {
    session_say("the ops of PyTorch %s cannot be recorded: %s; the program goes on", process_identity_framework(),
                without_callbacks);
    return 0;
  }
  char text[sizeof session_parts[0].reason];
  snprintf(text, sizeof text, "torch.profiler records three steps in fifty: %.180s", without_callbacks);
  set_part(PART_OPS, PART_DEGRADED, text);
  static const char missing[] = "not recorded through torch.profiler";
  set_part(PART_SHAPES, PART_OFF, missing);
  set_part(PART_STACKS, PART_OFF, missing);
  set_part(PART_MODULES, PART_OFF, missing);
  set_part(PART_MEMORY, PART_OFF, missing);
  set_part(PART_STEPS, PART_OK, "");
  set_part(PART_COUNTERS, PART_OK, "");
  clock_is_counter = false; /* the profiler's times are nanoseconds */
  set_part(PART_CLOCK, PART_OK, "clock_gettime");
  return 1;
}

int tfprof_capture_add_op(const char *name, uint64_t thread, int64_t start_ns, int64_t end_ns, int64_t sequence,
                          unsigned forward_thread, int scope) {
  if (!session_is_recording()) return 0;
  return profiler_windows_add(
      &(struct profiler_op){name, thread, start_ns, end_ns, sequence, forward_thread, (uint8_t)scope});
}

int tfprof_capture_prove_tensors(const int64_t *samples, unsigned count) {
  char reason[256];
  if (!wants_shapes) return 0;
  bool is_proved = torch_inputs_prove_tensors(samples, count, reason, sizeof reason);
  if (!is_proved) set_part(PART_SHAPES, PART_OFF, reason);
  return is_proved;
}

int tfprof_capture_watch_inputs(const void *tensor_a, const void *tensor_b) {
  return torch_inputs_watch(tensor_a, tensor_b);
}

int tfprof_capture_prove_inputs(void) {
  char reason[256] = "";
  bool is_proved = torch_inputs_prove_ops(reason, sizeof reason);
  set_part(PART_SHAPES, is_proved ? PART_OK : PART_OFF, reason);
  return is_proved;
}

int tfprof_capture_watch_memory(void) {
  if (!wants_memory || !torch_memory.allocate) return 0;
  memory_watch();
  return 1;
}

int tfprof_capture_prove_memory(const void *address, int64_t bytes) {
  char reason[256] = "";
  bool is_proved = memory_prove((uintptr_t)address, bytes, reason, sizeof reason);
  set_part(PART_MEMORY, is_proved ? PART_OK : PART_DEGRADED, reason);
  return is_proved;
}

int tfprof_capture_find_python(unsigned version) {
  char reason[256];
  if (!guarded_read_begin()) return 0;
  if (python_find(version, reason, sizeof reason) && python_watch_code(reason, sizeof reason)) return 1;
  set_part(PART_STACKS, PART_OFF, reason);
  return 0;
}

unsigned long tfprof_capture_describe_stack(char *text, unsigned long size) {
  return python_describe_stack(text, size);
}

int tfprof_capture_code_died(const void *code) { return python_code_died(code); }

void tfprof_capture_believe_stacks(int is_proved, const char *reason) {
  python_believe(is_proved);
  set_part(PART_STACKS, is_proved ? PART_OK : PART_OFF, reason);
}

void *tfprof_capture_call_watcher(int number) { return python_call_watcher(number); }

void tfprof_capture_name_thread(const char *name) { thread_name_set(name); }

void tfprof_capture_note_thread(unsigned tid, const char *name) { thread_name_note(tid, name); }

void tfprof_capture_set_rank(int rank, int world_size) { process_identity_set_rank(rank, world_size); }

int tfprof_capture_profile_thread(void) { return python_calls_profile_thread(); }

void tfprof_capture_no_calls(const char *reason) {
  char text[200];
  if (session_parts[PART_STACKS].state == PART_OFF) return; /* the reason is there already */
  snprintf(text, sizeof text, "calls are not recorded: %s", reason);
  set_part(PART_STACKS, PART_DEGRADED, text);
}

int tfprof_capture_find_modules(void *work, void *get_objects, void *start_thread, const void *code) {
  if (!module_discovery_begin(work, get_objects, start_thread)) return 0;
  python_module_code = (uintptr_t)code;
  return 1;
}

unsigned tfprof_capture_describe_modules(uint64_t *modules, unsigned room) {
  return python_describe_modules(modules, room);
}

void tfprof_capture_believe_modules(int is_proved, const char *reason) {
  if (!is_proved) python_module_code = 0;
  set_part(PART_MODULES, is_proved ? PART_OK : PART_OFF, reason);
}

int tfprof_capture_prepare_facts(void *reference_class, void *died, void *lazy_class) {
  return module_facts_begin(reference_class, died, lazy_class);
}

void *tfprof_capture_module_facts(void *reference) { return module_facts(reference); }

int tfprof_capture_tell_node(uint64_t address, uint64_t object_type, int64_t parent, int64_t depth, const char *name,
                             const char *type) {
  return module_tell(&(struct module_node){address, object_type, parent, depth, name, type});
}

int tfprof_capture_tell_change(int64_t row, int64_t parameters, int64_t bytes, int64_t trainable, const char *kind,
                               const char *shape, const char *dtype, const char *device, const char *attributes) {
  return module_tell_change(
      &(struct module_change){row, kind, shape, dtype, device, attributes, parameters, bytes, trainable});
}

void tfprof_capture_module_died(uint64_t address, uint64_t type) {
  module_died(address, type);
  python_object_died((const void *)(uintptr_t)address);
}

void tfprof_capture_module_changed(uint64_t address, uint64_t type, uint64_t new_type) {
  module_changed(address, type, new_type);
  python_object_died((const void *)(uintptr_t)address); /* the threads look at it again */
}

void tfprof_capture_modules_again(unsigned milliseconds) { module_discovery_again(milliseconds); }

void tfprof_capture_unknown_modules(void *list) { module_discovery_now(list); }

/* What recording an op takes in a real step, where caches are cold and ours and PyTorch's tables with them, is so many
** times what calling a callback that does nothing takes in a loop: measured, see tests/bench/capture.py. A change of
** memory takes one part in so many of that. */
#define OP_FACTOR 1.8
#define MEMORY_PART 16

int tfprof_capture_calibrate(int is_on) {
  if (without_callbacks[0] || atomic_load(&state) != SESSION_NONE) return 0;
  callbacks_prepare(wants_shapes, false);
  if (is_on) return ops_arm_empty();
  ops_disarm_empty();
  return (int)ops_counted_empty();
}

void tfprof_capture_calibrated(int64_t ops, int64_t plain_ns, int64_t called_ns) {
  double op_ns = ops > 0 ? (double)(called_ns - plain_ns) / (double)ops * OP_FACTOR : 0;
  /* What is beyond these bounds was disturbed. */
  if (op_ns < 50 || op_ns > 5000) op_ns = 0;
  sampling_set_costs(op_ns, op_ns / MEMORY_PART);
}

int tfprof_capture_arm(void) {
  int expected = SESSION_NONE;
  if (!atomic_compare_exchange_strong(&state, &expected, SESSION_STARTING)) return 0;
  guarded_read_end();
  if (!start_recording()) {
    atomic_store(&state, SESSION_ENDED);
    return 0;
  }
  atomic_store(&state, SESSION_RECORDING);
  if (session_parts[PART_MEMORY].state == PART_OK)
    memory_arm(wants_stacks);
  else
    memory_disarm();
  is_armed = without_callbacks[0];
  if (is_armed) return 1;
  callbacks_prepare(wants_shapes, wants_stacks);
  is_armed = ranges_arm();
  if (is_armed) {
    sampling_begin(&sampling_asked);
    return 1;
  }
  session_say("the ops of PyTorch %s cannot be recorded: it refused the callbacks; the program goes on",
              process_identity_framework());
  tfprof_capture_finish();
  return 0;
}

int tfprof_capture_pause(int is_paused) {
  if (without_callbacks[0] || atomic_load(&state) != SESSION_RECORDING) return 0;
  static bool was_paused;
  if (was_paused == (is_paused != 0)) return 1;
  was_paused = is_paused;
  bool has_memory = session_parts[PART_MEMORY].state == PART_OK;
  sampling_pause(is_paused);
  if (is_paused) {
    ranges_disarm();
    if (has_memory) memory_disarm();
    return 1;
  }
  if (has_memory) memory_arm(wants_stacks);
  return ranges_arm();
}

int tfprof_capture_switch(int mode) {
  return !without_callbacks[0] && session_is_recording() && sampling_switch(mode);
}
void tfprof_capture_begin_window(void) {
  if (!without_callbacks[0]) sampling_window(1);
}
void tfprof_capture_end_window(void) {
  if (!without_callbacks[0]) sampling_window(-1);
}

void tfprof_capture_flush(void) {
  if (atomic_load(&state) == SESSION_RECORDING) recording_flush(FLUSH_TIMEOUT_MS);
}

void tfprof_capture_finish(void) {
  int expected = SESSION_RECORDING;
  if (!atomic_compare_exchange_strong(&state, &expected, SESSION_ENDED)) return;
  sampling_end();
  ranges_disarm();
  memory_disarm();
  module_discovery_stop();
  struct process_identity identity;
  process_identity_get(&identity); /* the rank may have become known since */
  recording_finish(&identity.profile, FINISH_TIMEOUT_MS);
}

const char *tfprof_capture_path(void) { return recording_path(); }

const char *tfprof_capture_part(int number) {
  static char text[sizeof session_parts[0].reason + 32];
  if (number < 0 || number >= PART_COUNT) return NULL;
  session_part_text(number, text, sizeof text);
  return text;
}

__attribute__((destructor)) static void library_unloaded(void) { tfprof_capture_finish(); }
