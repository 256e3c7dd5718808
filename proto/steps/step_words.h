/* step_words.h: what programs and the field call their steps. */
#ifndef TFPROF_PROTO_STEP_WORDS_H
#define TFPROF_PROTO_STEP_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { STEP_WORDS = 12 }; /* one more than there are */

/* Which of the words for steps a range of NVTX is called by, from 1 on; 0: none. "step 12", "Iteration_3",
** "[pl][profile]run_training_batch", "train_step": with or without a number behind. */
unsigned step_word(const char *text, size_t length);

/* The prefixes of the marks that tfprof.step() and torch.profiler's step() set, and N of a name that is such a prefix
** and N; -1: it is no such name. */
extern const char step_of_user[], step_of_profiler[];
int64_t step_mark_number(const char *name, const char *prefix);

#endif
