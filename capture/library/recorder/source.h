/* source.h: a source of the recorder: how it begins and ends on the program's threads, and what the writer thread does
** for it.
**
** sources.c lists them in their order, and is the only place that does: in it everything below is called, but for
** disarm.  A source is constant; its state is its files'. All members but `name` may be NULL. None may end or block the
** program.
*/
#ifndef TFPROF_CAPTURE_SOURCE_H
#define TFPROF_CAPTURE_SOURCE_H

#include "forks.h"
#include "gate.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct capture_thread; /* channel/thread_record.h */
struct channel_item;   /* channel/channel_reader.h */
struct capture_part;   /* parts.h */
struct clock_reading;  /* clock.h */
struct pulse;          /* pulse.h */
struct recorder;       /* recorder.h */

struct source_wishes {
  bool with_shapes, with_stacks, with_source;
  bool has_callbacks; /* the framework can be listened to */
  bool is_dormant;    /* it is armed when somebody asks, on another thread */
};

/* What recording has taken from the program's threads so far. */
struct source_cost {
  uint64_t full;                             /* records that only DETAIL_FULL makes, */
  double records_ns;                         /* for them; part of: */
  double full_ns, thread_full_ns, always_ns; /* for what only DETAIL_FULL has; of that on one thread; for all else */
};

struct capture_source {
  const char *name;
  struct capture_part *const *parts; /* of what it records, each said of its own; NULL ends them */
  const struct fork_lock *locks; /* taken around a fork, in the order of the list; {0} ends them */
  bool needs_framework; /* begins when PyTorch has been imported; the others with the first that anything does */

  /* ---- On the program's threads. */

  /* On a thread that records for the first time, and if it did so before the source began when that is noticed: what
  ** is known of it. */
  void (*enter_thread)(struct capture_thread *thread);
  /* The gate is open: it begins. false: it was refused what it needs. */
  bool (*arm)(const struct source_wishes *wishes);
  /* Of a dormant program, once: nothing is recorded before it is armed, and again after it was disarmed. What is to be
  ** known then all the same (steps that end, what a later file begins with) is seen from now on. */
  void (*sleep)(const struct source_wishes *wishes);
  /* The CUDA driver is there: called once it has begun, by the thread that initialises the driver, which is within it.
  ** In a forked child again. */
  void (*driver_found)(void);
  /* Nothing new begins; what runs may still tell its end. Undone by arm. In reverse order. */
  void (*disarm)(void);
  /* What others hold for it is fetched, so that it can be written: what is complete, and at the end, after disarm, all.
  ** Returns when that is done or, since others may hang, at that moment of CLOCK_MONOTONIC. */
  void (*fetch)(bool is_end, const struct timespec *until);
  /* Under the governor's lock, within callbacks, too. false: it stays as it was. */
  bool (*set_detail)(enum detail detail);
  /* Another step begins at that moment, after set_detail was called where the detail changes; not before it is known
  ** what the steps are. Under the governor's lock. */
  void (*step_begins)(bool has_ops, uint64_t ticks);
  /* Adds what the source has taken to *cost. thread_full_ns is what it took of the thread with this number. Under the
  ** governor's lock. */
  void (*cost)(uint32_t thread, struct source_cost *cost);
  /* At the end, after disarm, and in a forked child that is not recorded: nobody is asked for anything any more. */
  void (*stop)(void);
  /* In a forked child, which has one thread and all locks free: what the parent knew is not known. `is_whole`: no lock
  ** was held, so that nothing is half of something. Why the child cannot be recorded; NULL: it can. */
  const char *(*reset)(bool is_whole);

  /* ---- On the writer thread. */

  /* Before it begins, on the thread that begins it: the tables (row_tables.h) of a new file, and constant texts. What
  ** is there already is that of the process which forked this one, and may be half of something: it is forgotten, and
  ** not freed. false: no memory. */
  bool (*open)(struct recorder *recorder);
  /* At a moment that is drawn by chance, before anything else: who looks at the program. */
  void (*pulse)(struct recorder *recorder, const struct pulse *pulse);
  /* What has come since, as rows; about `limit` at most. How many. */
  uint64_t (*drain)(struct recorder *recorder, uint64_t limit);
  /* What threads have written (channel_reader.h): of these kinds, a bit for each; an item of one in its order. */
  uint32_t items;
  void (*item)(struct recorder *recorder, const struct channel_item *item);
  /* All items of a thread have come, and the next are of another one. */
  void (*thread_over)(struct recorder *recorder, const struct capture_thread *thread);
  /* Rows are about to be written: what they rest on. */
  void (*complete)(struct recorder *recorder);
  /* Each second, and at the end, when all has been drained. */
  void (*tick)(struct recorder *recorder, const struct clock_reading *now, bool is_end);
  /* What came before may be let go from here on (frame_ring.h): rows that say what holds are written again. */
  void (*restate)(struct recorder *recorder);
  /* Tells by recorder_lost() what has no row, so far. */
  void (*losses)(struct recorder *recorder);
  /* Frees what open made, but for the tables. `in_child`: in a forked child, whose parent goes on with the file. */
  void (*close)(bool in_child);
};

/* Up to NULL. */
extern const struct capture_source *const capture_sources[];
#define EACH_SOURCE(source, list) \
  (const struct capture_source *const *at_##source = (list), *source; ((source) = *at_##source); at_##source++)

#endif
