/* segment.h: rows of one table of one profile, as columns; how rows are called; and one value as SQL sees it.
**
** Row numbers count the rows of a table within its profile, from 0 and without a gap, and never change.  Ids are what
** SQL sees: profile number << 36 | row number; profile and run numbers count from 1 and are never used again. Positions
** count the rows of a snapshot (snapshot.h), from 0; they mean nothing outside it.
*/
#ifndef TFPROF_SEGMENT_H
#define TFPROF_SEGMENT_H

#include "base/error.h"
#include "schema/schema.h"
#include "store/column.h"
#include "store/pool.h"

struct profile;

enum { ID_ROW_BITS = 36 };
static inline int64_t id_make(uint32_t profile_number, uint64_t row) {
  return (int64_t)((uint64_t)profile_number << ID_ROW_BITS | row);
}
static inline uint32_t id_profile(int64_t id) { return (uint32_t)((uint64_t)id >> ID_ROW_BITS); }
static inline uint64_t id_row(int64_t id) { return (uint64_t)id & (((uint64_t)1 << ID_ROW_BITS) - 1); }

/* Times of a profile's clock and durations lie within this (the year 2116), so that sums of two of them and an offset
** stay in 64 bits. A reader takes others for damage: NULL, with a diagnostic. */
#define STORE_TIME_LIMIT (((int64_t)1 << 62) - 1)

/* A set of columns of one table. */
struct column_set {
  uint64_t words[2];
};
static inline void column_set_add(struct column_set *set, unsigned column) {
  set->words[column >> 6] |= (uint64_t)1 << (column & 63);
}
static inline void column_set_remove(struct column_set *set, unsigned column) {
  set->words[column / 64] &= ~((uint64_t)1 << column % 64);
}
static inline bool column_set_has(const struct column_set *set, unsigned column) {
  return set->words[column >> 6] >> (column & 63) & 1;
}

struct segment {
  uint16_t table;
  uint32_t rows;      /* at most 2^31 */
  uint64_t first_row; /* row number of the first */
  struct profile *profile;
  void *source_data;                              /* what the source needs to load it; freed by source->free_segment */
  struct column *columns[SCHEMA_MAXIMUM_COLUMNS]; /* NULL: not loaded yet; id and profile_id: always (segment_value) */
  struct column_set is_raw;       /* columns that the source has in any segment of the table, or of those of the same
                                  ** kind: these are never derived */
  bool is_of_other_kind;          /* the source has it from a file of another format than the rest of the table */
  struct column_set is_unsettled; /* raw columns that may read otherwise with more rows: not shared over a refresh */
  struct column_set is_told;      /* raw columns whose troubles are among the diagnostics already */
  struct segment_shared *shared;  /* the store's own */
};
/* Whether a column may be one of the segment: as many rows, and real numbers only where the specification has them. */
static inline bool segment_may_have(const struct segment *segment, unsigned column, const struct column *value) {
  bool is_real = schema_tables[segment->table].columns[column].type == TYPE_REAL;
  return value->rows == segment->rows && (value->form == COLUMN_ABSENT || value->is_real == is_real);
}

/* Takes over the reference to `value`; NULL is TFPROF_NO_MEMORY. */
enum tfprof_status segment_set_column(struct segment *segment, unsigned column, struct column *value);

/* One value as SQL sees it: ids for id, profile_id and references, epoch ns for times (clock offset added), text as
** pool id. */
struct value {
  enum { VALUE_NULL, VALUE_INTEGER, VALUE_REAL, VALUE_TEXT } kind;
  union {
    int64_t integer;
    double real;
    string_id text;
  };
};
/* The column must have been required. */
struct value segment_value(const struct segment *segment, unsigned column, uint32_t row);

/* As profile_diagnose, while `column` of a segment is loaded (offset -1: none). Loading it once more does not tell it
** again, and what is said alike of several segments or places becomes one row of diagnostics with the sum of the
** counts and the first place: the message should name the column, not the rows. */
void segment_diagnose(struct segment *segment, unsigned column, const char *severity, const char *reason, int64_t count,
                      int64_t offset, const char *format, ...) __attribute__((format(printf, 7, 8)));
/* The file cannot be read as `reason` says (as profile_tell_file), and so the column is NULL in the segment; it is
** loaded anew once a refresh finds the file again. */
void segment_lose(struct segment *segment, unsigned column, const struct tfprof_error *reason);

#endif
