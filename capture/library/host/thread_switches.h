/* thread_switches.h: source "switches": how often the thread that the program began with gave up its processor, and how
** long it waited for one while it could have run; measured each second. Most programs train on that thread.
**
**   main_thread_voluntary_switches     count   times that it gave up its processor to wait, so far
**   main_thread_involuntary_switches   count   times that it was made to, so far
**   main_thread_wait_s                 s       time that it could have run, and no processor was free for it, so far
*/
#ifndef TFPROF_CAPTURE_THREAD_SWITCHES_H
#define TFPROF_CAPTURE_THREAD_SWITCHES_H

#include "recorder/source.h"

extern const struct capture_source switches_source;

/* For how many nanoseconds a thread of this process has waited for a processor, and has had one, so far; -1: not
** known. */
double thread_wait_ns(long tid);
double thread_run_ns(long tid);

#endif
