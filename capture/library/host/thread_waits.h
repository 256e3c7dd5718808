/* thread_waits.h: what a thread of the process waits for at a moment.
**
** The kernel tells of a thread that sleeps in which system call it does (/proc/self/task/TID/syscall), and of a number
** of a file what that is.  A thread that runs, or could run if a processor were free, waits for nothing: that one is in
** thread_switches.h.
**
**   lock             a lock of the program or of a library, or anything else that another thread gives
**   GIL              Python's own lock, which another thread holds: only one of them runs Python at a time
**   sleep            a time that the program gave
**   process          the end of another process, or its beginning
**   file             a file or disk: fsync, reading, writing, opening; memory that is a file's
**   pipe             what another process or thread writes into a pipe or terminal, or takes out of it
**   connection       a socket: what somebody else sends or takes, a connection
**   events           one of several files, sockets, times (poll, select, epoll)
**   something else   any other system call that takes its time
*/
#ifndef TFPROF_CAPTURE_THREAD_WAITS_H
#define TFPROF_CAPTURE_THREAD_WAITS_H

#include <stdint.h>

/* A word of the list above; NULL: it waits for nothing, or the kernel does not tell. */
const char *thread_waits_for(long tid);
/* The same, and the name of the system call that it waits in; NULL: in none, or in one that has no name here. */
const char *thread_waits_in(long tid, const char **name);
/* So that no later look needs the loader, whose lock may be held. */
void thread_waits_prepare(void);
/* For how many nanoseconds it has run so far; -1: not known. It runs, if that grows from one look to the next. */
int64_t thread_ran_ns(long tid);

#endif
