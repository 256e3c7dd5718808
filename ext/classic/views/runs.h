/* runs.h: what the nodes of a profile ran in one step, by node and device, and what they did to the devices' memory. */
#ifndef TFPROF_CLASSIC_RUNS_H
#define TFPROF_CLASSIC_RUNS_H

#include "classic/views/classic.h"

/* The counter that a TensorFlow profile has for memory in use on a device. */
#define CLASSIC_MEMORY_COUNTER "allocator_bytes_in_use"

struct classic_run {
  uint32_t node, device; /* node: the model's node_count for a mark; device: number of its name, in their order */
  string_id mark;        /* of a capture: what the program marked, a step or a range; 0: it is a run of the node */
  uint32_t launcher;     /* of a capture: the run of the op that launched it; UINT32_MAX: none */
  bool is_scheduling;    /* on the device itself; else on a stream of it */
  uint32_t place;        /* row of the table that it comes from: their order in the source */
  int64_t start_ns, dur_ns;
};
static inline int64_t classic_run_end(const struct classic_run *run) {
  int64_t end;
  return __builtin_add_overflow(run->start_ns, run->dur_ns, &end) ? INT64_MAX : end;
}

/* One change of what a node holds of its device's memory. */
struct classic_allocation {
  uint32_t node;
  int64_t time_ns, bytes; /* bytes below 0: a release */
};

/* How much of a device's memory was in use. */
struct classic_memory_point {
  string_id device; /* as in the nodes of the model */
  int64_t time_ns, bytes;
  uint32_t place; /* their order in the source */
};

struct classic_runs {
  char **devices; /* names, ascending */
  uint32_t device_count;
  struct classic_run *runs; /* by node, then device, then as the source has them; marks come last */
  uint32_t count;
  uint32_t *first;                        /* of each node, of the marks, and one more */
  uint8_t *has_run;                       /* of each node: 1: in the step, be it where no runs come from: "/host:CPU" */
  struct classic_allocation *allocations; /* by node, then time */
  uint32_t allocation_count;
  struct classic_memory_point *points; /* by device, then time, then place */
  uint32_t point_count;
  struct classic_run *others; /* where two points meet: what ran meanwhile in other steps; not of captures */
  uint32_t other_count;
};

/* NULL: *error says why. */
struct classic_runs *classic_runs_create(const struct classic_model *model, int64_t step, struct tfprof_error *error);
void classic_runs_free(struct classic_runs *runs);

#endif
