/* session.h: the life of a recording in one process.
**
** begin: PyTorch is found, the proofs are made.  arm: the file is created, the writer thread starts, ops are recorded.
** A forked child inherits all of it but the file and the thread: it gets its own with its first op or allocation, so
** that one which only goes on to another program leaves no file.  finish: everything is written, the file closed in
** order.  Nothing here ever ends the program; what cannot be done is said once on stderr and in the diagnostics.
*/
#ifndef TFPROF_CAPTURE_SESSION_H
#define TFPROF_CAPTURE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum session_state {
  SESSION_NONE,
  SESSION_RECORDING,
  SESSION_INHERITED, /* forked, without an op or allocation since */
  SESSION_STARTING,  /* by another thread of the child */
  SESSION_ENDED,
};

/* Whether ops of this thread are to be recorded; starts the recording of a forked child. */
bool session_is_recording(void);
/* The same without starting one. */
bool session_is_running(void);

enum {
  PART_OPS,
  PART_SHAPES,
  PART_STACKS,
  PART_MODULES,
  PART_STEPS,
  PART_MEMORY,
  PART_CLOCK,
  PART_COUNTERS,
  PART_COUNT
};
enum part_state { PART_OFF, PART_DEGRADED, PART_OK };
struct session_part {
  enum part_state state;
  char reason[256];
};
extern struct session_part session_parts[PART_COUNT];
/* "shapes: off: why" */
void session_part_text(int part, char *text, size_t size);

/* One line on stderr, "tfprof: ...", unless TFPROF_QUIET=1. */
void session_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
