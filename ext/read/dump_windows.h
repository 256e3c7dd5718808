/* dump_windows.h: windows in which the framework's own profiler was on, and the rows of what it wrote.
**
** The recorder of a TensorFlow or JAX program opens a session of the framework's profiler for some steps now and then,
** and names the file of each window in the table profiler_windows.  Those files become part of the recording's profile:
** each is read by its own reader (XPlane) into a store apart, and its rows follow the rows that the dump has so far.
*/
#ifndef TFPROF_DUMP_WINDOWS_H
#define TFPROF_DUMP_WINDOWS_H

#include "read/dump_source.h"

/* Takes in the windows that the frames [first, end) of the dump tell of, whose rows have been numbered: their rows get
** the next numbers.  A file that is missing or cannot be read is a diagnostic.  Not for copies, which have the rows. */
enum tfprof_status dump_windows_take(struct profile *profile, size_t first, size_t end, struct tfprof_error *error);
size_t dump_windows_count(const struct dump_source *source);
/* How many frames of the dump come before the rows of a window. */
size_t dump_window_frames(const struct dump_source *source, size_t window);
/* Adds the segments of the table that are the window's. */
enum tfprof_status dump_windows_add(struct profile *profile, size_t window, unsigned table, struct tfprof_error *error);
/* As source->load of a segment that dump_windows_add() has added. */
enum tfprof_status dump_windows_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                     unsigned count, struct column **out, struct tfprof_error *error);
/* The column profiler_windows.is_read of a segment of the dump. */
struct column *dump_windows_are_read(const struct dump_source *source, const struct segment *segment);
/* As source->adopt. */
void dump_windows_adopt(struct dump_source *source, const string_id *map);
void dump_windows_free(struct dump_source *source);

#endif
