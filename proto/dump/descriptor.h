/* descriptor.h: a descriptor that is kept in a process whose other parts may close or replace any.
**
** A program in which we are guests may close descriptors that it knows nothing of, as daemons do, and the number then
** soon stands for a file of its own.  So we keep beside the number which file it was opened on, and look at that before
** each use.
*/
#ifndef TFPROF_DUMP_DESCRIPTOR_H
#define TFPROF_DUMP_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

struct descriptor {
  int number; /* -1: none */
  dev_t device;
  ino_t inode;
  int access; /* O_RDONLY ...: another one of the same file is another's */
};

/* Takes over what open(2) has returned. false, with errno: it is none, or cannot be examined and has been closed. */
bool descriptor_take(struct descriptor *descriptor, int number);
/* The number still stands for the file that it stood for. */
bool descriptor_is_ours(const struct descriptor *descriptor);
/* close(2), where it is still ours; it is none from then on. false, with errno: the file may be incomplete. */
bool descriptor_close(struct descriptor *descriptor);

#endif
