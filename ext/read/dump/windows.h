/* windows.h: windows in which the framework's own profiler was on, and the rows of what it wrote.
**
** The recorder of a TensorFlow or JAX program opens a session of the framework's profiler for some steps now and then,
** and names the file of each window in the table profiler_windows.  Those files become part of the recording's profile
** (guests.h), read by their own reader (XPlane).
*/
#ifndef TFPROF_DUMP_WINDOWS_H
#define TFPROF_DUMP_WINDOWS_H

#include "read/dump/source.h"

/* Takes in the windows that the frames [first, end) of the dump tell of, whose rows have been numbered: their rows get
** the next numbers.  A file that is missing or cannot be read is a diagnostic.  Not for copies, which have the rows. */
enum tfprof_status dump_windows_take(struct profile *profile, size_t first, size_t end, struct tfprof_error *error);
/* The column profiler_windows.is_read of a segment of the dump. */
struct column *dump_windows_are_read(const struct dump_source *source, const struct segment *segment);
void dump_windows_free(struct dump_source *source);

#endif
