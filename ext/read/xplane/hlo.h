/* hlo.h: the programs that XLA compiled, as the plane /host:metadata holds them.
**
** Events name an instruction (hlo_op) of a program (program_id, or hlo_module alone).  Read once, before the
** first events are.
**
**   XEventMetadata    name=2, "module(program id)"; stats=5, of which "Hlo Proto" is an HloProto, as it is or by gzip
*/
#ifndef TFPROF_XPLANE_HLO_H
#define TFPROF_XPLANE_HLO_H

#include "read/hlo/instruction_rows.h"
#include "read/xplane/index.h"

/* Texts go into the profile's pool. `rows`: of the instructions, as they are numbered in `programs`; NULL. */
enum tfprof_status hlo_programs_read(struct hlo_programs *programs, struct hlo_rows *rows,
                                     const struct xplane_index *index, struct profile *profile,
                                     struct tfprof_error *error);
bool hlo_is_in_plane(const struct xplane_plane *plane);

#endif
