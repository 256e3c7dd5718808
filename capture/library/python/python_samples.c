/* python_samples.c: see python_samples.h. */
#include "python_samples.h"

#include "channel/thread_rows.h"
#include "governor/sampling.h"
#include "guarded_read.h"
#include "host/thread_waits.h"
#include "python_calls.h"
#include "python_code.h"
#include "python_frames.h"
#include "recorder/clock.h"
#include "recorder/gate.h"
#include "recorder/live_memory.h"
#include "stack_rows.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_THREAD, SAMPLE_TIME, SAMPLE_PERIOD, SAMPLE_TRACE, SAMPLE_WAIT, SAMPLE_COLUMNS };
static const struct row_column columns[SAMPLE_COLUMNS] = {
    {DUMP_python_samples_thread_id, DUMP_UNORDERED, false, true},
    {DUMP_python_samples_time_ns, DUMP_ASCENDING, false, true},
    {DUMP_python_samples_period_ns, DUMP_UNORDERED, false, true},
    {DUMP_python_samples_code_trace_id, DUMP_UNORDERED, false, true},
    {DUMP_python_samples_waits_for, DUMP_UNORDERED, false, false},
};

enum {
  LONGEST_PERIOD_NS = 100000000, /* one that comes later stands for no more: the machine was busy */
  THREADS_AT_ONCE = 8, /* where no thread is known to end the steps */
  MOST_TRIES = 4, /* at a stack that changes while it is read */
  PAGE = 4096,
  CODES_MAXIMUM = 1 << 16,
};

static const struct table_form samples_form =
    TABLE_FORM(python_samples, TABLE_ROWS, "samples of Python", columns, 256);

static struct row_buffer rows;
static struct live_memory codes; /* address of a code object to its copy (struct code_copy *) */
static uint64_t deaths_seen;     /* python_code.h */
static uint64_t covered_ns;      /* until then the looks so far stand for the time; 0: no ops were recorded */

bool python_samples_open(struct recorder *recorder) {
  codes = (struct live_memory){0};
  deaths_seen = covered_ns = 0;
  return row_tables_add(&recorder->tables, &rows, &samples_form);
}

static void forget_codes(void) {
  for (size_t i = 0; codes.pieces && i <= codes.mask; i++)
    if (codes.pieces[i].address) code_copy_free((struct code_copy *)(intptr_t)codes.pieces[i].bytes);
  live_memory_end(&codes);
}

void python_samples_close(void) { forget_codes(); }

/* ---- Reading what another thread may be changing. */

/* Frames lie close to each other: memory is read by pages, each once for a sample. */
static struct {
  uintptr_t page; /* 0: none */
  uint8_t bytes[PAGE];
} cached;

static bool fetch(uintptr_t address, void *copy, size_t bytes) {
  for (uint8_t *out = copy; bytes;) {
    uintptr_t page = address & ~(uintptr_t)(PAGE - 1);
    size_t piece = PAGE - (address - page) < bytes ? PAGE - (address - page) : bytes;
    if (!page) return false;
    if (cached.page != page) {
      cached.page = 0;
      if (!guarded_read((const void *)page, cached.bytes, PAGE)) return false;
      cached.page = page;
    }
    memcpy(out, cached.bytes + (address - page), piece);
    out += piece;
    address += piece;
    bytes -= piece;
  }
  return true;
}

static bool fetch_word(uintptr_t address, uintptr_t *word) { return fetch(address, word, sizeof *word); }

struct place {
  uintptr_t code, instruction;
};

static bool is_code(uintptr_t object) {
  static uintptr_t code_type;
  if (!code_type) code_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
  uint64_t type;
  return object && guarded_word((const uint8_t *)object + OBJECT_TYPE, &type) && type == code_type;
}

/* Whether a frame may stand there: within the code, as far as that can be told. */
static bool is_instruction(const struct place *place) {
  enum { LONGEST_CODE = 1 << 24 };
  if (python_layout.code_instructions < 0) return (int64_t)place->instruction >= -1;
  uintptr_t first = place->code + (uintptr_t)python_layout.code_instructions;
  return place->instruction + 2 >= first && place->instruction - first + 2 < LONGEST_CODE;
}

/* Whether the code is that of a generator or a coroutine: something always calls it, but while it is not running its
** frame has no caller. */
static bool is_suspendable(uintptr_t code) {
  enum { GENERATOR = 0x20, COROUTINE = 0x80, ITERABLE_COROUTINE = 0x100, ASYNC_GENERATOR = 0x200 };
  int32_t flags;
  if (!fetch(code + (uintptr_t)python_layout.code_flags, &flags, sizeof flags)) return false;
  return flags & (GENERATOR | COROUTINE | ITERABLE_COROUTINE | ASYNC_GENERATOR);
}

/* The stack of a thread from the innermost frame outwards; 0: there is none, or it was changing. One that seems to have
** a generator as its outermost frame was: this yielded while it was read. */
static unsigned copy_stack(uintptr_t state, struct place *stack, unsigned room) {
  uintptr_t frame;
  cached.page = 0;
  if (python_layout.thread_cframe >= 0 && !fetch_word(state + (uintptr_t)python_layout.thread_cframe, &state)) return 0;
  if (!state || !fetch_word(state + (uintptr_t)python_layout.current_frame, &frame)) return 0;
  unsigned depth = 0;
  for (unsigned steps = 0; frame && depth < room && steps < 2 * room; steps++) {
    uint8_t owner = 0;
    struct place place;
    uintptr_t previous;
    if (!fetch_word(frame + (uintptr_t)python_layout.frame_code, &place.code) ||
        !fetch_word(frame + (uintptr_t)python_layout.frame_previous, &previous) ||
        (python_layout.frame_owner >= 0 && !fetch(frame + (uintptr_t)python_layout.frame_owner, &owner, 1)))
      return 0;
    if (python_layout.code_instructions < 0) {
      int32_t index;
      if (!fetch(frame + (uintptr_t)python_layout.frame_instruction, &index, sizeof index)) return 0;
      place.instruction = (uintptr_t)(intptr_t)index;
    } else if (!fetch_word(frame + (uintptr_t)python_layout.frame_instruction, &place.instruction)) {
      return 0;
    }
    place.code &= ~(uintptr_t)STACK_REFERENCE_TAG;
    if (python_layout.frame_owner < 0 || owner < FRAME_OF_C_STACK) {
      if (!place.code || !is_instruction(&place)) return 0;
      stack[depth++] = place;
    }
    frame = previous;
  }
  return frame || (depth && is_suspendable(stack[depth - 1].code)) ? 0 : depth;
}

/* ---- Code objects. */

static struct code_copy *find_code(uintptr_t address) {
  int64_t copy = live_memory_take(&codes, address, NULL);
  if (copy) live_memory_put(&codes, address, copy, 0);
  return (struct code_copy *)(intptr_t)copy;
}

static struct code_copy *copy_code(struct recorder *recorder, uintptr_t address) {
  static struct {
    struct code_item item;
    uint8_t bytes[SCRATCH_SIZE];
  } buffer;
  struct python_code code;
  if (!is_code(address) ||
      !python_copy_code(guarded_read, (const uint8_t *)address, buffer.bytes, sizeof buffer.bytes, &code))
    return NULL;
  buffer.item = (struct code_item){.first_line = code.first_line,
                                   .file_length = code.file_length,
                                   .function_length = code.function_length,
                                   .table_length = code.table_length};
  struct code_copy *copy = code_copy_make(recorder, &buffer.item);
  if (copy) live_memory_put(&codes, address, (int64_t)(intptr_t)copy, 0);
  return copy;
}

/* What was copied of those that died meanwhile is forgotten. */
static void notice_deaths(void) {
  uintptr_t code;
  while (python_code_next_death(&deaths_seen, &code)) {
    if (!code) forget_codes();
    code_copy_free((struct code_copy *)(intptr_t)(code ? live_memory_take(&codes, code, NULL) : 0));
  }
  if (codes.count > CODES_MAXIMUM) forget_codes();
}

/* The row of the trace; -1: it cannot be told. */
static int64_t trace_of(struct recorder *recorder, const struct place *stack,
                        unsigned depth) {
  int64_t trace = -1;
  for (unsigned i = 0; i < depth; i++)
    if (!find_code(stack[i].code) && !copy_code(recorder, stack[i].code)) return -1;
  uint64_t deaths = deaths_seen;
  notice_deaths();
  if (deaths != deaths_seen) return -1; /* one of them may have been copied while it died */
  while (depth--) {
    const struct code_copy *code = find_code(stack[depth].code);
    uint32_t offset = python_code_offset(stack[depth].code, stack[depth].instruction);
    trace = code ? stack_trace_row(recorder, trace, code, offset) : -1;
    if (trace < 0) return -1;
  }
  return trace;
}

/* ---- Threads. */

/* On a thread of autograd, for one that waits for it. */
static bool runs_backward_elsewhere(unsigned count, const struct capture_thread *but) {
  for (unsigned number = 1; number <= count; number++) {
    const struct capture_thread *thread = thread_of_number(number);
    bool is_backward = false;
    if (thread && thread != but && thread_state_of(thread) == THREAD_RUNNING &&
        thread_runs_op(thread, &is_backward) && is_backward)
      return true;
  }
  return false;
}

static void sample(struct recorder *recorder, const struct capture_thread *thread,
                   unsigned count, int64_t now, int64_t period) {
  static struct place stack[STACK_MAXIMUM];
  bool is_backward;
  if (thread_runs_op(thread, &is_backward) || runs_backward_elsewhere(count, thread)) return;
  int64_t ran_ns = thread_ran_ns(thread->tid);
  const char *wait = thread_waits_for(thread->tid);
  unsigned depth = 0;
  for (unsigned tries = 0; tries < MOST_TRIES && !depth; tries++)
    depth = copy_stack((uintptr_t)thread->python_state, stack, STACK_MAXIMUM);
  if (!depth || thread_runs_op(thread, &is_backward)) return;
  /* Where it has run since, the stack is another than the one that it waited in. */
  bool has_run = ran_ns < 0 || thread_ran_ns(thread->tid) != ran_ns;
  if (has_run && ran_ns >= 0) wait = NULL;
  else if (!has_run && !wait) wait = "processor";
  int64_t trace = trace_of(recorder, stack, depth), its_row = thread_row(recorder, thread);
  uint32_t row = trace < 0 || its_row < 0 ? UINT32_MAX : row_add(&rows);
  if (row == UINT32_MAX) return;
  row_put(&rows, row, SAMPLE_THREAD, its_row);
  row_put(&rows, row, SAMPLE_TIME, now);
  row_put(&rows, row, SAMPLE_PERIOD, period);
  row_put(&rows, row, SAMPLE_TRACE, trace);
  if (wait) row_set(&rows, row, SAMPLE_WAIT, dump_writer_string(recorder->writer, wait, strlen(wait)));
}

void python_samples_take(struct recorder *recorder, const struct pulse *pulse) {
  if (!python_layout.version || !gate_wants_full()) {
    covered_ns = 0;
    return;
  }
  if (pulse->begin_ns < covered_ns) return;
  double begin_ns = clock_thread_ns();
  /* It stands for the slots since the last look, where it comes late, too; of several looks the first for its own. */
  uint64_t now = clock_monotonic_ns(), slot = pulse->end_ns - pulse->begin_ns, end = (now / slot + 1) * slot;
  uint64_t passed = end - (covered_ns ? covered_ns : end - slot);
  int64_t period = passed < LONGEST_PERIOD_NS ? (int64_t)passed : LONGEST_PERIOD_NS;
  notice_deaths();
  unsigned steps_end_on = sampling_step_thread(), count = thread_count(), taken = 0;
  for (unsigned number = 1; number <= count && taken < THREADS_AT_ONCE; number++) {
    const struct capture_thread *thread = thread_of_number(number);
    if (!thread || (steps_end_on && number != steps_end_on)) continue;
    if (thread_state_of(thread) != THREAD_RUNNING || !thread->python_state) continue;
    sample(recorder, thread, count, (int64_t)now, period);
    taken++;
  }
  covered_ns = end;
  recorder_note_use(recorder, begin_ns, 1, 0, 1);
}
