/* plain_totals.h: totals that are told by a list: which columns of a table its rows share, and which are added up.
*/
#ifndef TFPROF_DERIVE_PLAIN_TOTALS_H
#define TFPROF_DERIVE_PLAIN_TOTALS_H

#include "derive/rows.h"

enum plain_sum {
  PLAIN_SHARED,      /* what the rows of a total have in common */
  PLAIN_TOTAL,       /* the row of `via` that they belong to, which they have in common, too; `from` is not looked at */
  PLAIN_BIN,         /* the least of what rows have in common whose durations are about the same (plain_bins) */
  PLAIN_IS_KNOWN,    /* whether they have a value there, 1 or 0, which they have in common */
  PLAIN_IS_POSITIVE, /* whether it is above 0, the same */
  PLAIN_REFERRED,    /* the column `other` of the row that it refers to, the same */
  PLAIN_ROWS,        /* how many they are; `from` is not looked at */
  PLAIN_FIRST,       /* the first of them, a reference; the same */
  PLAIN_KNOWN,       /* how many have a value there */
  PLAIN_SUM,         /* the sum, NULL of nothing that is known */
  PLAIN_LATER,       /* the same of how much more it is than the column `other`, of the row that `by` refers to */
  PLAIN_LEAST,       /* the least integer, and NULL, the same */
  PLAIN_MOST,
  PLAIN_DEVIATION    /* the standard deviation (by n - 1) of integers; NULL where fewer than two are known */
};

struct plain_column {
  uint16_t column, from; /* of the totals, of the table */
  uint16_t sum;          /* enum plain_sum */
  uint16_t other, by; /* `by` 0: of the same row */
};

enum { PLAIN_MAXIMUM_COLUMNS = 16 };

struct plain_totals {
  unsigned table, of;
  const struct plain_totals *via; /* other totals of the same table, for PLAIN_TOTAL: what these share is known */
  unsigned column_count;
  struct plain_column columns[PLAIN_MAXIMUM_COLUMNS];
};

/* Where bins of durations begin: at 0, 1 ns, 1 µs, and each of the others at 5/4 of the one before. */
enum { PLAIN_BINS = 166 };
void plain_bins(int64_t bins[PLAIN_BINS]);

/* Makes the table, as a pass does. */
enum tfprof_status plain_totals_run(struct profile *profile, const struct plain_totals *totals,
                                    struct tfprof_error *error);

/* How lists are written: a column `to` of the totals, and one of their table. */
#define SHARED(totals, from, column) {COLUMN_##totals##_##column, COLUMN_##from##_##column, PLAIN_SHARED, 0, 0}
#define TOTAL(totals, to) {COLUMN_##totals##_##to, 0, PLAIN_TOTAL, 0, 0}
#define BIN(totals, from) {COLUMN_##totals##_from_ns, COLUMN_##from, PLAIN_BIN, 0, 0}
#define IS(kind, totals, to, from) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_IS_##kind, 0, 0}
#define REFERRED(totals, to, from, other) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_REFERRED, COLUMN_##other, 0}
#define ROWS(totals) {COLUMN_##totals##_count, 0, PLAIN_ROWS, 0, 0}
#define FIRST(totals, to) {COLUMN_##totals##_##to, 0, PLAIN_FIRST, 0, 0}
#define KNOWN(totals, to, from) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_KNOWN, 0, 0}
#define SUM(totals, to, from) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_SUM, 0, 0}
#define LATER(totals, to, from, other) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_LATER, COLUMN_##other, 0}
#define LATER_THAN_OF(totals, to, from, by, other) \
  {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_LATER, COLUMN_##other, COLUMN_##by}
#define LEAST(totals, to, from) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_LEAST, 0, 0}
#define MOST(totals, to, from) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_MOST, 0, 0}
#define DEVIATION(totals, to, from) {COLUMN_##totals##_##to, COLUMN_##from, PLAIN_DEVIATION, 0, 0}
/* And what their pass reads. */
#define READ(table, column) {TABLE_##table, COLUMN_##table##_##column}

#endif
