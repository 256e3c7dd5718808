/* ancestors.h: what a row has from the rows around it, told by the row number of each one's parent (NO_ROW: none).
**
** Where parents come after their children, as in a recording, which writes rows as they end, each row is a step from
** one whose answer is known; in any other order all is still linear. Blocks of rows are worked on side by side.
*/
#ifndef TFPROF_DERIVE_ANCESTORS_H
#define TFPROF_DERIVE_ANCESTORS_H

#include "derive/rows.h"

/* ops.parent_id by row number, scratch memory of the caller's. Ways up that lead round in a circle, as only a damaged
** file has them, are cut. */
enum tfprof_status derive_all_op_parents(const struct profile *profile, uint32_t **parents, struct tfprof_error *error);
/* Whether that is needed: false when the parents were derived, which makes no circles. */
bool derive_may_have_circles(const struct profile *profile);

/* Gives each row whose value is NO_ROW that of its nearest ancestor that has one; NO_ROW stays where none has. Values
** must be below NO_ROW - 1. */
void derive_inherit(const uint32_t *parents, uint32_t *values, uint32_t rows);

/* What `depths` holds of rows that derive_number_depths() is to number. */
#define UNKNOWN_DEPTH (NO_ROW - 1)
/* How many ancestors each of these rows has; others keep what they hold, and are not the parent of any. */
void derive_number_depths(const uint32_t *parents, uint32_t *depths, uint32_t rows);

#endif
