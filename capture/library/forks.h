/* forks.h: what happens around a fork.
**
** A fork leaves the child one thread, and every lock as it was: one that another thread had taken stays taken for ever.
** So the forking thread first waits until the writer thread is between two things, and takes the locks that the
** program's threads take in here, and PyTorch's of its callbacks.  It waits for none of them longer than a moment, for
** whoever has it may wait for something that the forking thread has. In the child they are made anew in any case.
*/
#ifndef TFPROF_CAPTURE_FORKS_H
#define TFPROF_CAPTURE_FORKS_H

#include <stdbool.h>

/* From now on; `in_child` is then called in each child, which has one thread and all locks free. `is_whole` is false
** when a lock could not be taken: what it guards may be half of something. false: no memory. */
bool forks_watch(void (*in_child)(bool is_whole));

#endif
