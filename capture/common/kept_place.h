/* kept_place.h: where a process that is recorded with --keep has its last seconds, and how they lie there: in a file of
** its own in memory, which outlives it however it ends.
**
** The file is PID-STARTTIME.kept in /dev/shm/tfprof-UID, a directory that only its user may look into.  It begins with
** a head that says whose it is.  Behind it lie the file header and the frames of a dump (FORMAT.md), one after the
** other, in two kinds of areas: those that others rest on in the first, for good, and all others in slots, each of
** which holds some seconds.  A slot that is let go is given back to the system, and reads as zeros.  So an area ends
** where no frame begins, and the slots are in the order of the sequence numbers that they begin with.  The file is
** sparse: it takes as much memory as there are frames.
*/
#ifndef TFPROF_CAPTURE_KEPT_PLACE_H
#define TFPROF_CAPTURE_KEPT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEPT_SUFFIX ".kept"

enum {
  KEPT_HEAD_BYTES = 8192,
  KEPT_SLOTS = 16,
  KEPT_NAME_BYTES = 160, /* of the dump without its end */
  KEPT_LEAST_SPAN = 1 << 20,
};
#define KEPT_MOST_SPAN ((uint64_t)4 << 30)

struct kept_head {
  char magic[8];
  uint64_t process, start_time; /* as control_start_time() has it */
  uint64_t process_namespace;   /* in which that is its number */
  uint64_t launcher, launcher_start_time;
  uint64_t span;    /* bytes of an area */
  uint64_t keep_ns; /* what was asked for */
  int32_t ended_by; /* a signal that is about to end it, for which all this was written; 0: none */
  uint32_t unused;
  char run_directory[4096], name[KEPT_NAME_BYTES];
};

static inline uint64_t kept_lasting_offset(void) { return KEPT_HEAD_BYTES; }
static inline uint64_t kept_slot_offset(const struct kept_head *head, unsigned slot) {
  return KEPT_HEAD_BYTES + head->span * (slot + (uint64_t)1);
}

/* "/dev/shm/tfprof-UID" */
void kept_place(char *place, size_t size, uid_t user);
/* The number of the namespace that the numbers of processes are of; 0: the system does not tell. */
uint64_t kept_process_namespace(void);
void kept_head_begin(struct kept_head *head);
/* false: it is none of ours. */
bool kept_head_read(int file, struct kept_head *head);

#endif
