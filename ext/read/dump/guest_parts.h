/* guest_parts.h: files beside a dump that a part reads which a build may leave out (parts.def). */
#ifndef TFPROF_DUMP_GUEST_PARTS_H
#define TFPROF_DUMP_GUEST_PARTS_H

#include "read/dump/source.h"

struct dump_guest_part {
  unsigned table; /* of the dump: a row names a file, or a part of one */
  /* Takes in what the frames [first, end) of the dump name, whose rows have been numbered: it becomes part of the
  ** dump's profile (guests.h). What is missing or cannot be read is a diagnostic. */
  enum tfprof_status (*take)(struct profile *profile, size_t first, size_t end, struct tfprof_error *error);
};

/* Lets the parts take what frames name. What no part of this build takes is a diagnostic. Not for copies, which have
** the rows. */
enum tfprof_status dump_guest_parts_take(struct profile *profile, size_t first, size_t end,
                                         struct tfprof_error *error);

#endif
