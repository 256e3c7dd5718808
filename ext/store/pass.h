/* pass.h: a derive pass: what computes columns from others, or rows from those of other tables. ext/derive has them. */
#ifndef TFPROF_PASS_H
#define TFPROF_PASS_H

#include "base/error.h"

struct profile;
struct segment;

/* A set of derive passes, by their place in the list. */
enum { DERIVE_MAXIMUM_PASSES = 256, PASS_SET_WORDS = DERIVE_MAXIMUM_PASSES / 64 };
struct pass_set {
  uint64_t words[PASS_SET_WORDS];
};

struct table_column {
  uint16_t table, column;
};
enum { DERIVE_MAXIMUM_COLUMNS = 40 };
struct derive_pass {
  const char *name;    /* for error messages and progress */
  const char *summary; /* one sentence: the algorithm and its source */
  int makes_table;     /* TABLE_x whose rows this pass makes where the source has none, else -1 */
  struct table_column reads[DERIVE_MAXIMUM_COLUMNS];  /* ends at the first {0,0}: TABLE 0 column 0 is never read */
  struct table_column writes[DERIVE_MAXIMUM_COLUMNS]; /* columns written where the source has none; {0,0} ends */
  enum tfprof_status (*run)(struct profile *profile, struct tfprof_error *error);
  /* The same for one segment of the one table it writes to, or NULL. It needs `reads_here` in that segment only, where
  ** run() needs them in all. */
  enum tfprof_status (*run_segment)(struct profile *profile, struct segment *segment, struct tfprof_error *error);
  struct table_column reads_here[DERIVE_MAXIMUM_COLUMNS]; /* of the table it writes to; {0,0} ends */
  bool is_alone; /* run() makes texts, diagnostics with other texts than `texts`, or retains columns, so that no other
                 ** pass may run meanwhile */
  bool has_diagnostics; /* run() may tell something, and so runs before diagnostics are read */
  const char *const *texts; /* that run() needs in the pool: they are put there before; NULL ends, may be NULL */
  /* Whether what is in memory already shows that run() would find nothing to do: then nothing is read for it, and it is
  ** not called. May be NULL. */
  bool (*is_idle)(const struct profile *profile);
};
/* Before run(): every table it reads, writes or makes from is made, and every column of `reads` is loaded in every
** segment of the profile, absent columns included. run() sets every column of `writes` with segment_set_column (a
** column that the source has is kept: segment_set_column ignores it; one not set becomes absent), or adds the made
** table's segments with profile_add_segment and sets all their columns. Where the source has rows of that table
** (tables[].is_made is false) it must add none. When run() fails what it added to a made table is taken back, and it
** is run again when asked for again. Where several passes write a column the first one of the list does. Passes must
** form no cycle. Who asks for one segment of many gets it from run_segment(), where the pass has that; who asks for
** another one as well, all from run(), for then all rows are likely to be read. */

#endif
