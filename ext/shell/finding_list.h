/* finding_list.h: the rows of the view `advise`, laid out for people. */
#ifndef TFPROF_SHELL_FINDING_LIST_H
#define TFPROF_SHELL_FINDING_LIST_H

#include "session.h"

/* Findings in the order of the view: all where the condition is empty, else those of " WHERE ...". */
enum session_result finding_list_print(struct session *session, const char *condition);

#endif
