/* activity_buffers.h: the memory that CUPTI writes its records into, until the writer thread has read it.
**
** CUPTI asks for a buffer when it has a record and no room, on whatever thread launches or completes work, and gives it
** back when it is full or was asked to (cuptiActivityFlushAll).  All of them together take no more than a limit.
**
** Their size follows how much is recorded: a buffer in which a record is not complete is not given back when it is
** asked for, and one of a device that is never idle always has such a record (a kernel that has been launched, and has
** not ended).  What it holds is in no file until it is full, and is lost when the program is killed.  They begin with
** 32 KiB, some 130 launches; where one is full within FAST_NS the next ones are larger, and where it takes longer than
** SLOW_NS smaller.  They are of 32 KiB as well where three quarters of the limit are taken: each thread and context of
** the program has one, however little it does.  Where the limit is reached one of any size is lent that is free.
**
** Of a buffer that comes back nearly empty, as when somebody flushes often, the records are copied out, so that the
** limit is one of what was recorded, and not of how often it was fetched.  A buffer is made when it is first asked for
** and kept.  Where there is no room it gets one whose records are counted and not kept: older versions of CUPTI do not
** bear to get none, newer ones count the same by themselves.  Given back, a buffer waits for the writer thread, which
** is woken when half of the limit waits.
*/
#ifndef TFPROF_CAPTURE_ACTIVITY_BUFFERS_H
#define TFPROF_CAPTURE_ACTIVITY_BUFFERS_H

#include "cupti_api.h"

#include <pthread.h>

enum { ACTIVITY_BUFFERS_LEAST = 2 << 20 };

enum activity_buffer_kind { BUFFER_SMALL, BUFFER_MIDDLE, BUFFER_LARGE, BUFFER_DISCARDED, BUFFER_COPY };
struct activity_buffer {
  struct activity_buffer *next;
  uint8_t *bytes;
  size_t size, used;
  uint64_t lent_ns; /* when */
  unsigned session; /* in which it was lent: numbers of calls in those of others are others */
  enum activity_buffer_kind kind;
  bool is_written_off; /* another one may have it: it need not come back */
};

/* So many bytes at most, and ACTIVITY_BUFFERS_LEAST at least; `api` is kept. */
void activity_buffers_begin(const struct cupti_api *api, uint64_t limit);
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
/* What has not been read. */
struct activity_arrears {
  uint64_t since_ns; /* all that was recorded before has been */
  unsigned held;     /* buffers that CUPTI has had for so long that they were asked for, and not given back */
};
struct activity_arrears activity_buffers_arrears(uint64_t now_ns);
/* CUPTI begins: what it was lent before need not come back, and counts for no limit until it does. Before anything is
** recorded, on any thread. */
void activity_buffers_begin_session(void);
/* How many buffers with records CUPTI has now, and how many it was lent in earlier sessions and never gave back. On any
** thread. */
unsigned activity_buffers_lent(void);
unsigned activity_buffers_written_off(void);
/* How many buffers with records have come back. On any thread. */
uint64_t activity_buffers_heard(void);
/* A hash of what stands in those that CUPTI has now, the ones that were lent last first, and where they are; never 0.
** On any thread. */
uint64_t activity_buffers_content(void);
/* The thread that gave one back last, never asked for one and does not fetch (`tid` does): CUPTI's own; 0: none has. */
long activity_buffers_worker(void);
void activity_buffers_fetcher(long tid);

#endif
