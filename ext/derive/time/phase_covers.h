/* phase_covers.h: which stretches of a lane's time belong to a forward pass, to a backward pass, to the optimizer and
** so on, as phase_events.h and the steps tell. They may lie within each other.
*/
#ifndef TFPROF_DERIVE_PHASE_COVERS_H
#define TFPROF_DERIVE_PHASE_COVERS_H

#include "derive/time/phase_events.h"
#include "derive/steps/step_lookup.h"

/* Where several cover the same moment the first in this list counts. */
enum phase_cover {
  COVER_SAVE, /* a checkpoint is written */
  COVER_EVALUATION,
  COVER_OPTIMIZER_IN_BACKWARD, /* parameters are updated as soon as their gradients are there */
  COVER_RECOMPUTATION,
  COVER_BACKWARD,
  COVER_INPUT,
  COVER_ZERO_GRAD,
  COVER_FORWARD,
  COVER_OPTIMIZER,
  COVERS
};

/* What else happens where a cover begins or ends. */
enum phase_turn { TURN_NONE, TURN_LOADER_BEGINS, TURN_GRADIENTS_DONE, TURN_OPTIMIZER_DONE };

/* Where a cover begins or ends. */
struct phase_edge {
  int64_t time;
  uint8_t cover, turn;
  bool is_start, is_told; /* by ranges, not by ops */
};

struct pass { /* of the optimizer, or backward */
  int64_t start, end;
  bool accumulates; /* into .grad, as backward() does */
  bool is_told;
};

struct pass_list { /* in the order of time; none overlaps another */
  struct pass *items;
  uint32_t count, capacity;
};

struct phase_covers {
  const struct phase_events *events;
  /* Of the lane at hand. */
  uint32_t lane;
  size_t first, end;          /* of its events */
  struct step_lookup *lookup; /* its steps */
  size_t first_link, first_recomputation; /* of the events; lanes come in their order */
  struct pass_list backward, optimizer;
  struct phase_edge *edges; /* in no order */
  uint32_t edge_count, edge_capacity;
  bool has_memory; /* to be set before the first lane; false: it was not enough */
};

/* Fills `edges` for the lane at hand. */
void phase_covers_find(struct phase_covers *covers);
void phase_covers_free(struct phase_covers *covers);

#endif
