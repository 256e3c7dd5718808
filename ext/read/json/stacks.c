/* stacks.c: call stacks to code_traces and code_frames.
**
** The autograd profiler writes a stack as "file(line): function;..." with the innermost frame first
** (torch/csrc/profiler/util.cpp, and torch/profiler's python tracer for "Call stack" of verbose traces); built-in
** functions have no file.  Traces share their outer frames: a trace is a frame on top of another trace.
*/
#include "base/hash.h"
#include "read/json/trace.h"
#include "read/rows/stacks.h"

#include <string.h>

static string_id intern_text(struct trace *trace, const char *text, size_t length) {
  string_id id = 0;
  if (length == 0) return 0;
  enum tfprof_status status =
      pool_intern_mended(trace->pool, text, length, &id, &trace->problems[PROBLEM_NOT_UTF8].count);
  if (status) trace_fail(trace, status);
  return id;
}

/* "file.py(123): function" or any other text. */
static uint32_t frame_intern(struct trace *trace, const char *text, size_t length) {
  struct frame_key_text frame = {0, 0, 0};
  const char *mark = memmem(text, length, "): ", 3);
  const char *open = mark ? memrchr(text, '(', (size_t)(mark - text)) : NULL;
  bool is_place = open && open > text && mark > open + 1 && mark - open <= 11;
  int64_t line = 0;
  for (const char *p = open ? open + 1 : NULL; is_place && p < mark; p++) {
    if (*p < '0' || *p > '9') is_place = false;
    else line = line * 10 + (*p - '0');
  }
  if (is_place) {
    frame.file = intern_text(trace, text, (size_t)(open - text));
    frame.line = line;
    frame.function = intern_text(trace, mark + 3, length - (size_t)(mark + 3 - text));
  } else {
    frame.function = intern_text(trace, text, length);
  }
  uint32_t before = trace->frames.count;
  uint32_t row = row_map_number(&trace->frames, (struct row_key){{frame.file, frame.function, (uint64_t)frame.line}});
  if (row == before) {
    struct frame_key_text *item = list_add(&trace->frame_texts);
    if (item) *item = frame;
    else row = INTERN_NONE;
  }
  if (row == INTERN_NONE) trace_fail(trace, TFPROF_NO_MEMORY);
  return row;
}

static uint64_t hash_frame(uint64_t below, const char *text, size_t length) {
  return hash_fnv1a(hash_fnv1a_value(HASH_FNV1A_START, below), text, length);
}

uint32_t stack_push(struct trace *trace, uint32_t parent, const char *text, size_t length) {
  assert(trace->stack_hashes.count == trace->stacks.count);
  uint32_t frame = frame_intern(trace, text, length);
  if (frame == INTERN_NONE) return 0;
  uint32_t before = trace->stacks.count, stack = stacks_push(&trace->stacks, parent, frame);
  if (stack == before + 1) {
    uint64_t *hash = list_add(&trace->stack_hashes);
    if (hash) *hash = hash_frame(parent ? trace->stack_hashes.items[parent - 1] : 0, text, length);
    else stack = 0;
  }
  if (!stack) trace_fail(trace, TFPROF_NO_MEMORY);
  return stack;
}

uint32_t stack_intern(struct trace *trace, const char *text, size_t length) {
  uint32_t parent = 0;
  const char *end = text + length;
  while (end > text) { /* from the outermost frame, which is the last */
    const char *start = memrchr(text, ';', (size_t)(end - text));
    start = start ? start + 1 : text;
    if (end > start) {
      parent = stack_push(trace, parent, start, (size_t)(end - start));
      if (!parent) return 0;
    }
    end = start > text ? start - 1 : text;
  }
  return parent;
}
