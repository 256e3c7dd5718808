/* page_reply.h: the page itself, as it is served: the same as a report's, without anything of a run. */
#ifndef TFPROF_SERVE_PAGE_REPLY_H
#define TFPROF_SERVE_PAGE_REPLY_H

#include <stddef.h>

#include "base/error.h"

/* To be freed by the caller. */
enum tfprof_status page_reply_make(unsigned char **bytes, size_t *length, struct tfprof_error *error);
/* What the page may do, for the header Content-Security-Policy; to be freed with free(). NULL: no memory. */
char *page_reply_policy(void);

#endif
