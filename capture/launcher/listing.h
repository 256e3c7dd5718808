/* listing.h: tfprof-capture --list: what can be attached to, and what is recorded already. */
#ifndef TFPROF_LAUNCHER_LISTING_H
#define TFPROF_LAUNCHER_LISTING_H

/* A table on stdout. `whom`: NULL, or run:DIR: those of that run that can be attached to. The exit status: 1: there is
** none of that run. */
int listing_show(const char *whom);

#endif
