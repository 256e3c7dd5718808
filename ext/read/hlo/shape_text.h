/* shape_text.h: shapes of XLA as HLO writes them: f32[16,128]{1,0}, (s32[], f32[8]{0}).
**
** Of a layout the order of dimensions is written, from the one that lies closest together on; tiles and memory spaces,
** which TPUs have, are not.
**
**   Shape    element_type=2 dimensions=3 tuple_shapes=4 layout=5 is_dynamic_dimension=6; Layout: minor_to_major=1
*/
#ifndef TFPROF_HLO_SHAPE_TEXT_H
#define TFPROF_HLO_SHAPE_TEXT_H

#include "base/wire.h"
#include "read/rows/text_buffer.h"
#include "read/xplane/texts.h"

/* Adds the text of a Shape, to a depth of WIRE_MAXIMUM_DEPTH messages. */
void hlo_shape_print(struct text_buffer *text, struct wire_reader shape);
/* The number type of an array; empty for others. */
struct text_part hlo_shape_type(struct wire_reader shape);
/* A type by its name, as PrimitiveType numbers it; 0: there is none. */
unsigned hlo_type_number(struct text_part name);

#endif
