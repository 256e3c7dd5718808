/* frame_ring.h: the last seconds of a recording, as finished frames, in memory that outlives the process
** (common/kept_place.h); with --keep they come here, and not into a file.
**
** Frames are told apart as the dump's writer says: those that others rest on stay, the others go by whole slots, each
** of some seconds, the oldest first, when their last frame is older than was asked for (of what is written some time
** after what it is written for: than both together), when all together take more than they may, or when the system has
** no more memory.  Which rows a slot begins with, so that what follows can be
** understood without what was before, is the recorder's affair (recording.c).
**
** The writer thread takes and lets go; another one may write out what there is at the same time: nothing is let go
** meanwhile.  Memory is that of the file system in /dev/shm; where there is none, an anonymous file of the process,
** which does not outlive it.
*/
#ifndef TFPROF_CAPTURE_FRAME_RING_H
#define TFPROF_CAPTURE_FRAME_RING_H

#include "common/kept_dump.h"
#include "dump/descriptor.h"
#include "dump/writer.h"

#include <pthread.h>
#include <stdatomic.h>

struct ring_slot {
  _Atomic uint64_t length; /* bytes of whole frames; 0: it is free */
  int64_t first_ns, last_ns; /* when it began, and its last frame came */
};

struct frame_ring {
  struct kept_head head;
  char path[128]; /* empty: the file has no name */
  struct descriptor file;
  uint64_t most_bytes; /* of all slots */
  int64_t held_ns;     /* how old what is kept may be */
  _Atomic uint64_t lasting_length;
  struct ring_slot slots[KEPT_SLOTS];
  unsigned current;
  bool has_slot; /* one has begun */
  bool is_cut;   /* less than was asked for could be kept: too much came */
  bool is_short_of_memory;
  pthread_mutex_t lock; /* of who lets go, or copies */
};

/* Makes the file; `head` says for whom, and for how long a time; what is to be there is written up to `after_ns` later.
** 0, or the errno that says why not. */
int frame_ring_open(struct frame_ring *ring, const struct kept_head *head, uint64_t after_ns, uint64_t most_bytes);
/* It is not known what comes later, so nothing is kept: the file goes. */
void frame_ring_close(struct frame_ring *ring, bool is_removed);
/* In a forked child, whose parent goes on with it. */
void frame_ring_forget(struct frame_ring *ring);

/* For struct dump_sink; the context is the ring. */
int frame_ring_take(void *context, const uint8_t *bytes, size_t length, bool is_lasting);
/* Whether the slot that is written holds as much as one should. */
bool frame_ring_wants_slot(const struct frame_ring *ring, int64_t now_ns);
/* From now on frames come into another one; what is too old goes. false: it cannot be, yet. */
bool frame_ring_begin_slot(struct frame_ring *ring, int64_t now_ns);
/* When the oldest slot that is kept began; 0: none has. */
int64_t frame_ring_oldest_ns(const struct frame_ring *ring);
uint64_t frame_ring_bytes(const struct frame_ring *ring);

/* Writes what there is as a new dump, in the run's directory, under the first name that is free, which `path` gets,
** with these triggers. On any thread; `reader` is a descriptor of the ring's file on that thread. 0, or an errno. */
int frame_ring_copy(struct frame_ring *ring, int reader, struct kept_trigger *triggers, unsigned count, char *path,
                    size_t size);
/* A descriptor of the ring's file for the calling thread, which may have a table of its own; -1, with errno: none. */
int frame_ring_open_reader(const struct frame_ring *ring);
/* What ends the process is noted in the file, from where it can be called by anybody. */
void frame_ring_note_end(struct frame_ring *ring, int reader, int signal_number);

#endif
