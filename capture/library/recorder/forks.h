/* forks.h: what happens around a fork.
**
** A fork leaves the child one thread, and every lock as it was: one that another thread had taken stays taken for ever.
** So the forking thread first waits until the writer thread is between two things, and takes the locks that the
** program's threads take in here, and those of others that sources name.  It waits for none of them longer than a
** moment, and for all of them no longer than two, for whoever has one may wait for something that the forking thread
** has. In the child they are made anew in any case.  Of several threads that fork at once one follows the other: each
** has the locks for as long as its fork takes, in a large process much longer than that moment.
*/
#ifndef TFPROF_CAPTURE_FORKS_H
#define TFPROF_CAPTURE_FORKS_H

#include <pthread.h>
#include <stdbool.h>

/* On the forking thread, around the locks; and then in each child, which has one thread and all locks free. `is_whole`
** is false when a lock could not be taken: what it guards may be half of something. */
struct fork_watch {
  void (*before)(void);
  void (*in_parent)(void);
  void (*in_child)(bool is_whole);
};
/* From now on. false: no memory. */
bool forks_watch(struct fork_watch watch);

/* One of them, or where it is found, NULL as long as it is not. */
struct fork_lock {
  pthread_mutex_t *lock;
  pthread_mutex_t *const *found;
};
/* Locks, up to one that is {0}; they are kept, and added once. They are taken in the order in which they were added:
** who has one takes only those behind it. */
void forks_add(const struct fork_lock *locks);

#endif
