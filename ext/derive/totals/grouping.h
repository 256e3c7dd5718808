/* grouping.h: the rows of a table added up by what they have in common, stretches of rows side by side.
**
** Each stretch has groups of its own (groups.h), with an item for each; then the stretches are joined in the order of
** their rows.  So groups are numbered in the order in which they first appear, and what is added up is added in the
** same order however many threads there are and however the table lies in segments.
*/
#ifndef TFPROF_DERIVE_GROUPING_H
#define TFPROF_DERIVE_GROUPING_H

#include "derive/groups.h"

struct grouped {
  struct groups groups;
  void *items; /* by number of the group */
  uint32_t capacity;
};

struct grouping {
  const struct profile *profile;
  unsigned table;
  unsigned width;   /* values of a key */
  size_t item_size; /* bytes; 0: it is only wanted which rows are alike */
  const void *context;
  uint32_t *numbers; /* by row, NULL: nobody asks; `add` writes those of its rows, which become those of all */
  /* Adds the rows of a block to items. False: no memory. May not change what it shares with other stretches. */
  bool (*add)(const struct grouping *grouping, struct grouped *to, const struct row_block *block);
  /* Adds another item of the same group, of later rows; NULL where there are none. */
  void (*join)(const struct grouping *grouping, void *item, const void *later);
};

/* The number of a key, with room for its item, which begins as a copy of `first` where the key is new; NO_ROW: no
** memory. */
uint32_t grouping_number(const struct grouping *grouping, struct grouped *to, const int64_t *key, const void *first);
/* Free with grouped_free(), also after a failure. */
enum tfprof_status grouping_run(const struct grouping *grouping, struct grouped *all, struct tfprof_error *error);
void grouped_free(struct grouped *grouped);

#endif
