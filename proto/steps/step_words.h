/* step_words.h: what programs and the field call their steps. */
#ifndef TFPROF_PROTO_STEP_WORDS_H
#define TFPROF_PROTO_STEP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STEP_WORDS = 12 }; /* one more than there are */

/* Which of the words for steps a range of NVTX is called by, from 1 on; 0: none. "step 12", "Iteration_3",
** "[pl][profile]run_training_batch", "train_step": with or without a number behind. */
unsigned step_word(const char *text, size_t length);

/* The prefixes of the marks that tfprof.step(), torch.profiler's step(), JAX's StepTraceAnnotation and the batches of
** Keras set, the latter two as the recorder writes them; and N of a name that is such a prefix and N; -1: it is no such
** name. */
extern const char step_of_user[], step_of_profiler[], step_of_annotation[], step_of_keras[];
int64_t step_mark_number(const char *name, const char *prefix);
/* The same of a mark that stands for several steps that ran at once, PREFIX FIRST-LAST: *last is the number of the last
** of them, the first where there is only one. */
int64_t step_mark_numbers(const char *name, const char *prefix, int64_t *last);

/* Whether a range is a call of a compiled function or of a session, which may be steps where nothing marks these:
** PjitFunction(NAME) of JAX, tf.function(NAME) as the recorder writes it and EagerLocalExecute: __inference_NAME as
** TensorFlow does, SessionRun and what follows. */
bool is_repeated_call(const char *name);

#endif
