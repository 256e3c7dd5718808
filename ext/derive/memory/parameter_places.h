/* parameter_places.h: where in memory the parameters of a model lie, as a capture has seen them.
**
** A change of a parameter (node_changes) says where its memory began when it was seen: the piece that was live there at
** that time holds it.  Several parameters may lie in one piece; which of them it is, is not told then.
*/
#ifndef TFPROF_DERIVE_PARAMETER_PLACES_H
#define TFPROF_DERIVE_PARAMETER_PLACES_H

#include "derive/rows.h"

struct parameter_place {
  int64_t address, time;
  uint32_t node;
};

struct parameter_places {
  struct parameter_place *places; /* by address and time */
  uint32_t count;
  uint32_t *others; /* by place: the first behind it that is of another node, or at another address */
  int64_t *changes; /* by place: by how much more pieces that were held to the end have it than the one before */
};

/* Needs node_id, time_ns, param_bytes and recorded_address of node_changes. */
enum tfprof_status parameter_places_read(struct parameter_places *places, const struct profile *profile,
                                         struct tfprof_error *error);
void parameter_places_free(struct parameter_places *places);
/* By node: it was found in a piece that was held to the end; scratch memory of the caller's. NULL: no memory. */
bool *parameter_places_held(const struct parameter_places *places, uint32_t nodes);
/* Whether a parameter was seen in the piece of memory; *node is it, NO_ROW: there are several. NO_VALUE: before the
** recording, never. `is_to_the_end`: the piece was held until after the last step. */
bool parameter_places_find(const struct parameter_places *places, int64_t address, int64_t allocated, int64_t released,
                           bool is_to_the_end, uint32_t *node);

#endif
