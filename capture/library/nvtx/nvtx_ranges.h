/* nvtx_ranges.h: the path of a range and of a mark, on the program's threads.
**
** Ranges that are pushed and popped lie on a stack of their thread; those that are started are in one table for the
** process, whose place and use are their id.  Nothing is written before one ends.  No lock, no memory and no system
** call but with a thread's first range.
*/
#ifndef TFPROF_CAPTURE_NVTX_RANGES_H
#define TFPROF_CAPTURE_NVTX_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum nvtx_kind { NVTX_PUSHED, NVTX_STARTED, NVTX_MARKED };

/* The scope of an ITEM_RANGE: kind; which sort of value (enum nvtx_value); a colour is there; all is recorded in this
** step (source.h), so that short ranges have rows, too. */
enum { NVTX_SCOPE_KIND = 3, NVTX_SCOPE_VALUE = 2 /* shift */, NVTX_SCOPE_COLOR = 0x20, NVTX_SCOPE_FULL = 0x40 };

enum { NVTX_OPEN_MAXIMUM = 256, NVTX_STACKS = 4096, NVTX_STARTED_MAXIMUM = 65536 };

/* What is said of a range when it begins. */
struct nvtx_event {
  uint32_t text, color, category;
  uint16_t domain;
  uint8_t value_sort; /* enum nvtx_value */
  bool has_color;
  uint64_t value;
  const char *json; /* or NULL */
  uint32_t json_length;
};

void nvtx_ranges_arm(void);
void nvtx_ranges_disarm(void);
void nvtx_ranges_set_full(bool is_full);

/* How many are around it in its domain; NVTX_NOT_TRACKED. */
int nvtx_push(const struct nvtx_event *event);
/* The same of the one that ends; `late` (or NULL): what is said only now. */
int nvtx_pop(unsigned domain, const struct nvtx_event *late);
uint64_t nvtx_start(const struct nvtx_event *event);
void nvtx_end(uint64_t id, const struct nvtx_event *late);
void nvtx_mark(const struct nvtx_event *event);

/* In a forked child: the ranges of other threads are not known. */
void nvtx_ranges_reset(void);

/* What had no room, or no partner. */
extern struct nvtx_faults {
  _Atomic uint64_t lost, too_deep, too_many_started, pops_without_push, ends_without_start, threads;
} nvtx_faults;

/* For the writer thread at the end: what is still open. `kind` and what lies in `ranges` as in an item. */
struct nvtx_open {
  uint64_t start_ticks, value;
  uint32_t text, color, category, payload;
  uint16_t domain, thread; /* number of the thread that began it; 0: not known */
  uint8_t scope;
};
/* Gives all that are open. */
void nvtx_ranges_open(void (*take)(void *context, const struct nvtx_open *open), void *context);

#endif
