/* match.h: finding rows by a number that they share, and rows that lie inside others in time.
**
** Sources give each call into a driver a number (correlation) that what it launched carries too, and each op one that
** its calls carry.  Such numbers count up.  Where they are dense an array is indexed by them; else where they are
** spread evenly enough they are put into buckets of close numbers, so that looking for one after the other stays in the
** cache; else into a hash table.  Of several rows with one number the first is found.
**
** That table is of its own (base/hash_index.h): a number lies beside its row, and to look for one misses the cache
** once.
*/
#ifndef TFPROF_DERIVE_MATCH_H
#define TFPROF_DERIVE_MATCH_H

#include "derive/rows.h"

struct match_entry { uint32_t low, row; }; /* low: of the number less the base */
struct match_slot { int64_t key; uint32_t row; }; /* row + 1; 0: free */

struct match {
  enum { MATCH_NOTHING, MATCH_ARRAY, MATCH_BUCKETS, MATCH_TABLE } form;
  int64_t base;                /* the least number */
  uint64_t range;              /* of the array, or of buckets */
  uint32_t *rows;              /* MATCH_ARRAY: row + 1 */
  uint32_t *first_of_bucket;   /* MATCH_BUCKETS: by number less base >> shift, and one more */
  struct match_entry *entries;
  struct match_slot *slots;    /* MATCH_TABLE */
  unsigned shift;              /* of the product of a number and the multiplier: a slot */
};

/* From all rows of a column. Rows with NULL or 0 (which sources write for "none") are left out. Free with match_free,
** also after a failure. */
enum tfprof_status match_make(struct match *match, const struct profile *profile, unsigned table, unsigned column,
                              struct tfprof_error *error);
void match_free(struct match *match);

uint32_t match_search(const struct match *match, int64_t key);
/* The row or NO_ROW. */
static inline uint32_t match_find(const struct match *match, int64_t key) {
  if (match->form == MATCH_ARRAY) {
    uint64_t at = (uint64_t)key - (uint64_t)match->base;
    return at < match->range ? match->rows[at] - 1 : NO_ROW; /* 0 - 1 is NO_ROW */
  }
  return match_search(match, key);
}

/* A moment or a span on a lane. */
struct lane_span {
  int64_t start, end;
  uint32_t lane, row;
};
/* By lane, then start, then the later end first, then row: what encloses comes before what it encloses. A merge sort of
** the runs that are there already, after one by lane where they are many: linear for rows in order, never worse than
** n log n. */
enum tfprof_status lane_span_sort(struct lane_span *spans, size_t count, struct tfprof_error *error);

#endif
