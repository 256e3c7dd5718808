/* source.h: what a source of the recorder is to the session: how it begins and ends on the program's threads.
**
** sources.c lists them in their order, and is the only place that does. A source is constant; its state is its files'.
** All members but `name` may be NULL. None may end or block the program.
*/
#ifndef TFPROF_CAPTURE_SOURCE_H
#define TFPROF_CAPTURE_SOURCE_H

#include "forks.h"
#include "gate.h"

#include <stdbool.h>

struct capture_thread; /* channel/thread_record.h */

struct source_wishes {
  bool with_shapes, with_stacks;
  bool has_callbacks; /* PyTorch can be listened to */
};

struct capture_source {
  const char *name;
  const struct fork_lock *locks; /* taken around a fork, in the order of the list; {0} ends them */
  /* On a thread that records for the first time: what is known of it. */
  void (*enter_thread)(struct capture_thread *thread);
  /* The gate is open: it begins. false: it was refused what it needs. */
  bool (*arm)(const struct source_wishes *wishes);
  /* Nothing new begins; what runs may still tell its end. Undone by arm. In reverse order. */
  void (*disarm)(void);
  /* Under the governor's lock, within callbacks, too. false: it stays as it was. */
  bool (*set_detail)(enum detail detail);
  /* At the end, after disarm: nobody is asked for anything any more. */
  void (*stop)(void);
  /* In a forked child, which has one thread and all locks free: what the parent knew is not known. */
  void (*reset)(void);
};

/* Up to NULL. */
extern const struct capture_source *const capture_sources[];

#endif
