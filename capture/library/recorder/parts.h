/* parts.h: what is recorded and how well, and what is said to the user.
**
** Nothing that is recorded ever ends the program; what cannot be recorded is said once: in the diagnostics of the file,
** by `tfprof-capture --check`, and what the user should know at once on stderr. Each source names its parts (source.h).
*/
#ifndef TFPROF_CAPTURE_PARTS_H
#define TFPROF_CAPTURE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum part_state { PART_OFF, PART_DEGRADED, PART_OK };
struct capture_part {
  const char *name;
  enum part_state state;
  char reason[256];
};
void part_set(struct capture_part *part, enum part_state state, const char *reason);
enum { PART_TEXT_MAXIMUM = 288 };
/* "shapes: off: why" */
void part_text(const struct capture_part *part, char *text, size_t size);

/* One line on stderr, "tfprof: ...".
**
** A program that has closed descriptor 2, or was started so, has a file of its own there sooner or later, in which a
** line of ours would be damage.  So 2 is written to only while it is the file that it was when the program began. */
void capture_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* `launched_with`: DEVICE:INODE of the stderr of tfprof-capture, the only one then; NULL: what 2 is now. */
void capture_say_begin(bool is_quiet, const char *launched_with);
/* What it was when the program began is known; both 0: nothing. */
void capture_say_to(uint64_t device, uint64_t inode);

#endif
