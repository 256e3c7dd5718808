/* python_source.c: see python_source.h. */
#include "python_source.h"

#include "guarded_read.h"
#include "python_layout.h"
#include "python_peek.h"
#include "python_samples.h"
#include "python_thread.h"
#include "python_worker.h"
#include "source_text.h"
#include "stack_nodes.h"
#include "stack_rows.h"
#include "typed_sources.h"

#include <string.h>

enum { PATH_SHOWN = 300 };

static bool has_told_full;
static uint64_t left_out_told;

static void python_enter_thread(struct capture_thread *thread) {
  thread->python_state = python_thread_state ? python_thread_state() : NULL;
}

static const char * python_reset(bool is_whole) {
  (void)is_whole;
  guarded_read_after_fork_in_child();
  python_threads_reset();
  python_worker_reset();
  typed_sources_reset();
  return NULL;
}

static void python_stop(void) {
  typed_sources_stop();
  python_threads_stop();
}

static bool python_open(struct recorder *recorder) {
  const char *file;
  has_told_full = false;
  left_out_told = source_lines_left_out(&file);
  stack_nodes_open();
  python_peek_open();
  return stack_rows_open(recorder) && python_samples_open(recorder);
}

static uint64_t python_drain(struct recorder *recorder, uint64_t limit) {
  (void)limit;
  typed_sources_tick();
  recorder->is_held = stack_rows_are_awaited();
  return 0;
}

/* As soon as there are any, for the program may be killed; then as they double, and at the end. */
static void tell_left_out(struct recorder *recorder, bool is_end) {
  const char *file;
  uint64_t count = source_lines_left_out(&file);
  if (count == left_out_told || (!is_end && count < 2 * left_out_told)) return;
  bool is_long = file && strlen(file) > PATH_SHOWN; /* of a long one not a part of its folders */
  if (is_long) file = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
  recorder_diagnose(recorder, "info", "capture_source_changed", (int64_t)(count - left_out_told), "code_frames",
                    "the text of lines is left out because their files may have been changed since the program began: "
                    "of %s and others",
                    file ? file : "a file");
  left_out_told = count;
}

static void python_tick(struct recorder *recorder, const struct clock_reading *now, bool is_end) {
  source_text_tick(now->realtime_ns, now->monotonic_ns);
  tell_left_out(recorder, is_end);
  if (!stack_rows_are_full() || has_told_full) return;
  has_told_full = true;
  recorder_diagnose(recorder, "warning", "capture_stacks_full", 0, "code_traces",
                    "there are more different stacks than are kept: of further ones only the innermost line is");
}

static void python_close(bool in_child) {
  (void)in_child;
  stack_nodes_close();
  stack_rows_close();
  python_peek_close();
}

struct capture_part stacks_part = {.name = "stacks"}, source_text_part = {.name = "source"};

const struct capture_source python_source = {
    .name = "python",
    .needs_framework = true,
    .parts = (struct capture_part *const[]){&stacks_part, &source_text_part, NULL},
    .locks = (const struct fork_lock[]){{.lock = &typed_sources_lock},
                                        {.lock = &python_worker_lock},
                                        {.lock = &python_threads_lock},
                                        {0}},
    .enter_thread = python_enter_thread,
    .stop = python_stop,
    .reset = python_reset,
    .open = python_open,
    .pulse = python_samples_take,
    .drain = python_drain,
    .items = STACK_ITEMS,
    .item = stack_nodes_item,
    .thread_over = stack_nodes_thread_over,
    .complete = stack_rows_complete,
    .tick = python_tick,
    .close = python_close,
};
