/* python_samples.h: where Python was, at moments spread over the time in which ops are recorded, while no op ran.
**
** The writer thread looks at the stack of the thread that trains when it wakes, some thirty times a second, at moments
** that are drawn so that no rhythm of the program hides from them (pulse.h).  It takes no lock, nor the GIL, and the
** thread runs on meanwhile: its frames are read through guarded_read, which survives memory that is not there, and only
** a stack whose every frame is one (its code is a code object, and its instruction lies within that) down to the
** outermost is believed.
**
** Ops have their stacks already, so while one runs, on that thread or for its backward pass, nothing is kept.
*/
#ifndef TFPROF_CAPTURE_PYTHON_SAMPLES_H
#define TFPROF_CAPTURE_PYTHON_SAMPLES_H

#include "channel/thread_rows.h"
#include "governor/pulse.h"
#include "recorder/live_memory.h"
#include "stack_rows.h"

struct python_samples {
  struct row_buffer rows;
  struct live_memory codes; /* address of a code object to its copy (struct code_copy *) */
  uint64_t deaths_seen;     /* python_code.h */
  uint64_t covered_ns;      /* until then the looks so far stand for the time; 0: no ops were recorded */
};

bool python_samples_begin(struct python_samples *samples);
void python_samples_end(struct python_samples *samples);
struct sample_rows { /* that samples refer to */
  struct dump_writer *writer;
  struct stack_rows *stacks;
  struct thread_rows *threads;
};
/* Looks, where ops are recorded: it is the moment of that pulse, or a little later. Whether it did. */
bool python_samples_take(struct python_samples *samples, const struct sample_rows *rows, const struct pulse *pulse);

#endif
