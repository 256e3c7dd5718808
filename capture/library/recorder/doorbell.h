/* doorbell.h: wakes the writer thread, from where nothing may block: within whatever is recorded.
**
** It is rung without a lock, for the allocator that calls may be anybody's. A ring that comes between the writer's look
** and its sleep is not heard, and it sleeps as long as it would have.
*/
#ifndef TFPROF_CAPTURE_DOORBELL_H
#define TFPROF_CAPTURE_DOORBELL_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* There is more than usual: it is read, and written if memory has grown by much since it last was. Does not wait. */
void doorbell_ring_to_look(void);

/* ---- For the writer thread and who begins and ends it. */

/* Somebody listens from now on, and is quiet. */
void doorbell_begin(void);
void doorbell_end(void);
/* With `guard`, which is held: the listener looks at once. */
void doorbell_ring_with_guard(void);
bool doorbell_has_rung(void);
/* Gives `guard` up until it rings; false: that was not until then. */
bool doorbell_wait(pthread_mutex_t *guard, const struct timespec *until);
/* Quiet again. */
void doorbell_take(void);

#endif
