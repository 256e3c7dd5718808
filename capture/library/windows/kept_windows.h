/* kept_windows.h: files of windows of a recording that keeps its last seconds (--keep): they go again unless these are
** written.
**
** A window's file is made beside the dump, whose last seconds may name it.  It goes when it is older than what can be
** written, or at the end, if nothing was written since it was made.  On the writer thread.
*/
#ifndef TFPROF_CAPTURE_KEPT_WINDOWS_H
#define TFPROF_CAPTURE_KEPT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

void kept_windows_begin(void);
/* Another one, of that name beside that dump. */
void kept_windows_add(const char *dump, const char *name, int64_t now_ns);
void kept_windows_look(int64_t now_ns, bool is_end);

#endif
