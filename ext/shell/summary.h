/* summary.h: the command `summary`: a run on one screen. */
#ifndef TFPROF_SHELL_SUMMARY_H
#define TFPROF_SHELL_SUMMARY_H

#include "session.h"

/* The rows of the view run_summary, the findings that could save most, and what to type next. */
enum session_result summary_print(struct session *session);

#endif
