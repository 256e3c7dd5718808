/* rank_of_name.h: the rank that the name of a trace tells where the trace itself does not. */
#ifndef TFPROF_RANK_OF_NAME_H
#define TFPROF_RANK_OF_NAME_H

#include <stdint.h>

/* -1: the path tells none. Looks at the names of files beside it where ranks are told by several numbers. */
int64_t rank_of_name(const char *path);

#endif
