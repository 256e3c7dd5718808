/* activity_buffers.h: the memory that CUPTI writes its records into, until the writer thread has read it.
**
** CUPTI asks for a buffer when it has a record and no room, on whatever thread launches or completes work, and gives it
** back when it is full or was asked to (cuptiActivityFlushAll).  There are so many of 1 MiB, made when they are first
** asked for and kept.  Where none is free it gets a small one whose records are counted and not kept: older versions
** of CUPTI do not bear to get none, newer ones count the same by themselves.  Given back, a buffer waits for the writer
** thread, which is woken when half of them wait.
*/
#ifndef TFPROF_CAPTURE_ACTIVITY_BUFFERS_H
#define TFPROF_CAPTURE_ACTIVITY_BUFFERS_H

#include "cupti_api.h"

#include <pthread.h>

enum { ACTIVITY_BUFFER_BYTES = 1024 * 1024, ACTIVITY_BUFFERS_MAXIMUM = 1024 };

struct activity_buffer {
  struct activity_buffer *next;
  uint8_t *bytes;
  size_t used;
  bool is_discarded; /* a small one, whose records are not kept */
};

/* So many at most; `api` is kept. */
void activity_buffers_begin(const struct cupti_api *api, unsigned count);
/* CUPTI's callbacks. */
void activity_buffers_request(uint8_t **bytes, size_t *size, size_t *records);
void activity_buffers_complete(void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t used);
/* Taken around a fork, and by the callbacks: nothing of CUPTI's may be called with it. */
extern pthread_mutex_t activity_buffers_lock;
/* In a forked child: what there is belongs to the parent. */
void activity_buffers_reset(void);

/* ---- For the writer thread. */

/* The buffer that waits for longest, NULL: none does. */
struct activity_buffer *activity_buffers_take(void);
/* It has been read. */
void activity_buffers_return(struct activity_buffer *buffer);

/* What CUPTI has not recorded, and what was not kept for want of a buffer. */
struct activity_losses {
  uint64_t dropped, discarded;
};
struct activity_losses activity_buffers_losses(void);

#endif
