/* answers.h: what is answered to the questions of a page. */
#ifndef TFPROF_SERVE_ANSWERS_H
#define TFPROF_SERVE_ANSWERS_H

#include "serve/job.h"
#include "serve/served_run.h"

/* Fills in the answer, whatever becomes of it: an error is one, too. Interrupted, it says so (job->is_unwanted is the
** worker's). */
void answer_job(struct served_run *run, struct job *job);
/* An answer of a line of text. */
void answer_text(struct job *job, unsigned status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
