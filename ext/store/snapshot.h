/* snapshot.h: all rows of one table over several profiles at one moment, and indexes on them: what cursors read. */
#ifndef TFPROF_SNAPSHOT_H
#define TFPROF_SNAPSHOT_H

#include "store/segment.h"

struct store;

struct index;
struct snapshot {
  uint32_t references; /* cursors; 0: only the store's cache has it */
  uint16_t table;
  struct store *store; /* retained while `references` is not 0 */
  uint64_t rows;
  size_t segment_count;
  struct segment **segments; /* ascending by profile number, then row number; their profiles are retained */
  uint64_t *positions;       /* segment_count + 1: first position of each segment, then `rows` */
  struct index *indexes;     /* private */
  struct snapshot_private *private_state;
};

/* All rows of a table in the profiles that `selection` names (see selection.c): NULL or "": all; a profile number
** ("3"); a path, a name or a glob of profiles, or of the runs they were opened with. Several profiles may match; when
** none does that is TFPROF_USAGE with what there is. Runs the pass that makes the table where needed. Snapshots are
** cached until the store changes. */
enum tfprof_status store_snapshot(struct store *store, unsigned table, const char *selection,
                                  struct snapshot **result, struct tfprof_error *error);
struct snapshot *snapshot_retain(struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

/* Makes the columns readable in all segments (loads, derives), or in one segment (index). After success
** segment->columns[c] is not NULL (but for id and profile_id, which need no loading). */
enum tfprof_status snapshot_require(struct snapshot *snapshot, const struct column_set *columns,
                                    struct tfprof_error *error);
enum tfprof_status snapshot_require_segment(struct snapshot *snapshot, size_t segment, const struct column_set *columns,
                                            struct tfprof_error *error);

/* The segment that holds a position, starting the search at *hint (a segment index that is updated). */
static inline const struct segment *snapshot_segment(const struct snapshot *s, uint64_t position, size_t *hint,
                                                     uint32_t *row) {
  size_t i = *hint;
  if (i >= s->segment_count || position < s->positions[i] || position >= s->positions[i + 1]) {
    size_t low = 0, high = s->segment_count;
    while (high - low > 1) {
      size_t middle = low + (high - low) / 2;
      if (s->positions[middle] <= position) low = middle;
      else high = middle;
    }
    i = *hint = low;
  }
  *row = (uint32_t)(position - s->positions[i]);
  return s->segments[i];
}

/* ---- indexes: built on first use, kept with the snapshot; their columns are required first by these functions ---- */

/* Positions take 32 bits in them: of more rows there are none, and these functions return TFPROF_LIMIT. */
#define SNAPSHOT_MAXIMUM_INDEXED_ROWS UINT32_MAX

/* positions[0 ... rows-1] ordered by the columns' values ascending as SQLite orders them (NULL first, numbers, text
** by memcmp), ties by position. At most ORDER_MAXIMUM_COLUMNS. Interruptible. */
enum { ORDER_MAXIMUM_COLUMNS = 6 };
enum tfprof_status snapshot_order(struct snapshot *snapshot, const uint16_t *columns, unsigned count,
                                  const uint32_t **positions, struct tfprof_error *error);
/* Positions whose value of `column` (as SQL sees it, integers and text) equals `value`: a slice of snapshot_order's
** array of that one column. For references, text and numbers that lie close together this is a lookup in constant
** time. VALUE_NULL finds the rows that are NULL. */
enum tfprof_status snapshot_equal(struct snapshot *snapshot, unsigned column, struct value value,
                                  const uint32_t **positions, uint64_t *count, struct tfprof_error *error);
/* The half-open slice of snapshot_order(column) with minimum <= value <= maximum (NULLs never). */
enum tfprof_status snapshot_range(struct snapshot *snapshot, unsigned column, int64_t minimum, int64_t maximum,
                                  const uint32_t **positions, uint64_t *count, struct tfprof_error *error);
/* The position of an id, or -1: constant time. */
int64_t snapshot_find_id(const struct snapshot *snapshot, int64_t id);

#endif
