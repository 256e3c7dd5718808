/* file_threads.h: all files of the recorder are opened, used and closed on threads that share no descriptor with the
** program.
**
** A descriptor is a number in a table, and all threads of a process share one.  Whatever we open there takes a number
** that the program may expect to be free or to get (0 to 2 where it has closed them), and any thread of the program may
** close it or dup2 over it between our look at it and our use, as some do with all that they know nothing of: our write
** would go into a file of the program's.  No look beforehand is early enough.  On Linux a thread may have a table of
** its own (close_range(2) with CLOSE_RANGE_UNSHARE, 5.9; no privilege is needed): what it opens has no number in the
** program, and nothing that the program does to its numbers reaches it.
**
** Such a table is emptied as it is made.  One that kept the program's files would hold pipes, sockets and deleted files
** open after the program has closed them; the POSIX locks of the program belong to its own table, and stay when the
** copies are closed.  Children that the program forks inherit nothing of it, and exec ends it.
**
** Nothing but our own system calls runs on these threads: libraries of the program (CUPTI, NVML) know their descriptors
** by the program's table.  The writer thread, which calls such libraries, has its files used here, too.  There are two
** threads, so that what may wait for a disk keeps nobody waiting who reads a line of /proc.
**
** Where a kernel or a sandbox refuses that (it is asked once in a process), the work is done on the calling thread, and
** file_open() puts descriptors where hardly anybody comes.  Users of a descriptor that is kept look at it before each
** use and after each write in any case (dump/descriptor.h): a process may have been restored by a tool that knows one
** table in a process only (CRIU).
*/
#ifndef TFPROF_CAPTURE_FILE_THREADS_H
#define TFPROF_CAPTURE_FILE_THREADS_H

#include <stdbool.h>

enum file_thread {
  FILE_THREAD_DISK,  /* of the dump: may take as long as a disk */
  FILE_THREAD_QUICK, /* /proc, /sys, /dev/shm */
  FILE_THREADS
};

/* Runs the work and waits for its end. false: it was not run, for want of a thread. What it leaves in errno is its own;
** that of the caller stays. */
bool file_thread_run(enum file_thread which, void (*work)(void *argument), void *argument);
/* The same, but waits for so long at most. Where it returns false the work may still be done, or be done later: the
** argument stays for good. */
bool file_thread_run_within(enum file_thread which, void (*work)(void *argument), void *argument, int milliseconds);

/* Within such work: open(2), close-on-exec and never 0 to 2. */
int file_open(const char *path, int flags, unsigned mode);
/* The same for both ends of a pipe, which do not block. */
bool file_open_pipe(int ends[2]);
/* Whether the table of such work is not the program's. */
bool file_threads_are_apart(void);

/* Ends both threads, which have nothing to do; what was open there is closed, and the next who has work starts them
** again. false: one had something to do. */
bool file_threads_rest(void);

/* For a thread of ours that has files of its own: from now on its table of descriptors is not the program's, and is
** empty. false: the system refuses. */
bool file_threads_take_table(void);

/* As the system has it; 0: there is none. */
long file_thread_number(enum file_thread which);

/* The threads are the parent's. */
void file_threads_after_fork_in_child(void);

#endif
