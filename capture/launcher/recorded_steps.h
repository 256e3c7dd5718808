/* recorded_steps.h: how many steps a recording has, and in how many of them ops were recorded, as the views count them.
**
** By the same rules as ext/derive/steps/steps.c: the program's own marks, those of its profiler, of JAX and Keras, its
** optimizers (steps/optimizer_steps.h), what NVTX marks, calls of compiled functions.
*/
#ifndef TFPROF_LAUNCHER_RECORDED_STEPS_H
#define TFPROF_LAUNCHER_RECORDED_STEPS_H

#include "dump/reader.h"
#include "steps/optimizer_steps.h"

#include <stdbool.h>

struct recorded_strings { /* the file's strings by id */
  char **texts;
  size_t count, room;
};

/* "" for what is none. */
const char *recorded_text(const struct recorded_strings *strings, int64_t id);

struct marked_step { /* of none of PyTorch's optimizers and loaders */
  int64_t start, end, name;
  uint32_t thread, row;
  uint32_t count; /* steps that it stands for */
  uint8_t kind, word;
};

struct detail_change { /* ops are recorded from then on, or are not */
  int64_t time;
  bool is_on;
};

struct counted_window { /* of the framework's own profiler; so many steps ended in it */
  int64_t start, end, count;
};

struct recorded_steps {
  const struct recorded_strings *strings;
  uint8_t *kinds; /* by string */
  struct training_mark *marks;
  struct marked_step *steps;
  struct detail_change *changes;
  struct counted_window *windows;
  size_t mark_count, mark_room, step_count, step_room, change_count, change_room, window_count, window_room;
  uint32_t rows; /* of ops, so far */
  bool has_failed; /* memory is short: nothing is counted */
  bool begins_late; /* steps had ended before */
  bool is_cut;      /* it began within a step, which ended then: */
  int64_t cut_ns;
};

struct step_counts {
  uint64_t steps, with_ops;
  bool knows_windows; /* so many of them lie in windows; else as many as the recorder has counted */
  uint64_t in_windows;
  char *in_part; /* free(): what is to be said where the program marks a few of its steps only; NULL */
  bool of_optimizer; /* they end with its steps */
};

void recorded_steps_begin(struct recorded_steps *steps, const struct recorded_strings *strings);
/* A frame of the table ops: names and categories (ids of strings) of its rows were decoded. */
void recorded_steps_add_ops(struct recorded_steps *steps, struct dump_cursor *cursor, const struct dump_frame *frame,
                            const int64_t *names, const int64_t *categories);
/* A row of the table counters. */
void recorded_steps_add_counter(struct recorded_steps *steps, const char *name, int64_t time_ns, double value);
void recorded_steps_add_window(struct recorded_steps *steps, struct counted_window window);
/* Once all frames of the file were added; frees. */
struct step_counts recorded_steps_end(struct recorded_steps *steps, const struct dump_file *file,
                                      struct dump_cursor *cursor);

#endif
