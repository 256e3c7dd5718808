/* listing.h: tfprof-capture --list: what can be attached to, and what is recorded already. */
#ifndef TFPROF_LAUNCHER_LISTING_H
#define TFPROF_LAUNCHER_LISTING_H

/* A table on stdout. The exit status. */
int listing_show(void);

#endif
