/* noted_ranges.c: see noted_ranges.h. A range is written when it ends, and refers to nothing before: so there is none
** that is open, and nothing to be kept when the tables of its thread are emptied meanwhile. */
#include "noted_ranges.h"

#include "channel/thread_record.h"
#include "python/python_frames.h"
#include "recorder/clock.h"
#include "governor/sampling.h"
#include "recorder/gate.h"
#include "base/hash.h"
#include "recorder/source.h"

#include <string.h>

static _Atomic bool is_armed;
static bool counts_steps; /* of a dormant program: what ends them is noted while nothing is recorded, too */
static bool records_stacks, is_wanted;

void noted_ranges_arm(bool with_stacks) {
  records_stacks = with_stacks && python_layout.version != 0;
  is_wanted = true;
  atomic_store_explicit(&is_armed, true, memory_order_release);
}

void noted_ranges_disarm(void) {
  if (!counts_steps || !is_wanted) atomic_store_explicit(&is_armed, false, memory_order_relaxed);
}

uint64_t noted_range_begin(void) {
  return atomic_load_explicit(&is_armed, memory_order_acquire) ? clock_ticks() : 0;
}

/* Fills name and node. Tables that fill up meanwhile are emptied: what was asked for before counts no more. */
static bool describe_range(struct capture_thread *thread, const char *name, struct op_item *item) {
  const uint8_t *frame = records_stacks ? python_current_frame() : NULL;
  uint32_t length = name_length(name);
  for (unsigned attempt = 0; attempt < 2; attempt++) {
    uint32_t forgets = thread->changes.forgets;
    item->node = frame ? python_stack_node(thread, frame, false) : 0;
    item->head.id = thread_intern_name(thread, hash_bytes(name, length), name, length);
    if (forgets == thread->changes.forgets) return item->head.id != 0;
  }
  return false;
}

static _Atomic uint64_t passes;

uint64_t noted_pass_begin(void) {
  atomic_fetch_add_explicit(&passes, 1, memory_order_relaxed);
  return noted_range_begin();
}

uint64_t noted_passes(void) { return atomic_load_explicit(&passes, memory_order_relaxed); }

/* While nothing is recorded, steps are counted all the same. */
static bool end_unrecorded(const struct capture_thread *thread, const char *name, uint32_t object,
                           uint64_t start_ticks, uint64_t end_ticks) {
  enum step_mark mark = step_mark_kind(name);
  uint32_t mark_name = object ? object : step_mark_name(mark, name);
  if (mark == MARK_NONE || !gate_counts_steps()) return false;
  return sampling_mark_ended(mark, thread->number, mark_name, start_ticks, end_ticks);
}

bool noted_mark_end(const char *name, uint32_t object, uint64_t start_ticks) {
  uint64_t end_ticks = clock_ticks();
  if (!start_ticks || !atomic_load_explicit(&is_armed, memory_order_acquire) || !gate_is_ours()) return false;
  struct capture_thread *thread = capture_current_thread;
  if (!thread && !(thread = thread_enter(REFUSED_OP))) return false;
  if (!thread_is_of_recording(thread) && !thread_renew(thread))
    return end_unrecorded(thread, name, object, start_ticks, end_ticks);
  struct op_item range = {.head = {ITEM_OP, SCOPE_USER, sizeof range / 16, 0},
                          .start_ticks = start_ticks,
                          .end_ticks = end_ticks,
                          .sequence = -1,
                          .forward_thread = object,
                          .owner = (uint16_t)thread->number};
  struct op_item *item = describe_range(thread, name, &range) ? thread_reserve(thread, sizeof *item) : NULL;
  if (!item) {
    atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
    return false;
  }
  *item = range;
  thread_commit(thread, sizeof *item);
  enum step_mark mark = step_mark_kind(name);
  uint32_t mark_name = object ? object : step_mark_name(mark, name);
  return mark != MARK_NONE && sampling_mark_ended(mark, thread->number, mark_name, start_ticks, end_ticks);
}

void noted_range_end(const char *name, uint64_t start_ticks) { noted_mark_end(name, 0, start_ticks); }

/* Where PyTorch is there the source of ops arms, and does so again. */
static bool marks_arm(const struct source_wishes *wishes) {
  (void)wishes;
  if (is_wanted) atomic_store_explicit(&is_armed, true, memory_order_release);
  return true;
}

static void marks_sleep(const struct source_wishes *wishes) { counts_steps = wishes->is_dormant; }

const struct capture_source marks_source = {
    .name = "marks", .sleep = marks_sleep, .arm = marks_arm, .disarm = noted_ranges_disarm};
