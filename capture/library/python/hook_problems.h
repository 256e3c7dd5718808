/* hook_problems.h: exceptions of the Python hooks: none of them reaches the program, each is a row of diagnostics. */
#ifndef TFPROF_CAPTURE_HOOK_PROBLEMS_H
#define TFPROF_CAPTURE_HOOK_PROBLEMS_H

#include "recorder/source.h"

/* One more, with the GIL held; the first eight of a process are told. */
void hook_problem_tell(const char *text);

extern const struct capture_source hook_problems_source;

#endif
