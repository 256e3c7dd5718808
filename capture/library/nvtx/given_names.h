/* given_names.h: what the program calls its threads, devices, contexts, streams and events, as rows of given_names.
**
** Rows of threads and devices have the name that was known when they were written, and are written once: what is named
** later is told here, and joined when it is read (ext/derive/names/lane_names.c).  On the writer thread only.
*/
#ifndef TFPROF_CAPTURE_GIVEN_NAMES_H
#define TFPROF_CAPTURE_GIVEN_NAMES_H

#include "recorder/recorder.h"

bool given_names_open(struct recorder *recorder);
/* Each second: those given since. */
void given_names_tick(struct recorder *recorder);

#endif
