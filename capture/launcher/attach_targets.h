/* attach_targets.h: who --attach names: processes, ranks, programs of a run, profiler servers. */
#ifndef TFPROF_LAUNCHER_ATTACH_TARGETS_H
#define TFPROF_LAUNCHER_ATTACH_TARGETS_H

#include "asked.h"
#include "late_attach.h"
#include "profiler_servers.h"
#include "run_directory.h"

/* Where targets are recorded into that have no run of their own, and what makes them listen. */
struct attach_late {
  const struct capture_options *options;
  struct late_parts parts;
  struct run_directory directory; /* opened: its path is not empty */
  int status;                     /* of opening it */
  bool is_told;                   /* a program has been told of it, and may record there later */
};

/* Who was named: who can be recorded, and how many cannot. */
struct attach_wanted {
  struct asked_list processes;
  struct profiler_servers *servers; /* NULL: none was named */
  struct attach_late *late;
  size_t failed;
};

/* Finds those that the words of --attach name, and says who cannot be recorded. */
void attach_targets_find(const char *words, struct attach_wanted *wanted);
void attach_targets_free(struct attach_wanted *wanted);
/* The run that targets without one are recorded into is made, once. false: late->status says what was said. */
bool attach_late_open(struct attach_late *late);

#endif
