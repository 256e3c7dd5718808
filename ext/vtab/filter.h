/* filter.h: one constraint of a query with its value, evaluated on the column arrays row by row.
**
** Numbers become closed intervals or sets, whatever the type of the value, so that a row costs two comparisons.  Texts
** become string ids, or a memo: one answer for each distinct string, found out when the string first turns up.
**
** A text that a row has may have come into the pool after the filter was prepared, with a column that was loaded since,
** by whomever.  So a text that was not found is looked up again when a row is compared with it and the pool has grown.
**
** A filter is prepared anew for every xFilter and keeps its memory, so that the inner side of a join allocates nothing.
*/
#ifndef TFPROF_FILTER_H
#define TFPROF_FILTER_H

#include "vtab/plan.h"
#include "vtab/reader.h"

enum filter_kind {
  FILTER_EVERYTHING, /* leaves the decision to SQLite */
  FILTER_NOTHING,
  FILTER_NULL,
  FILTER_NOT_NULL,
  FILTER_INTEGER_RANGE, FILTER_INTEGER_NOT, FILTER_INTEGER_SET,
  FILTER_REAL_RANGE, FILTER_REAL_NOT, FILTER_REAL_SET,
  FILTER_TEXT_EQUAL, FILTER_TEXT_NOT, FILTER_TEXT_MEMO,
};

/* Copies of texts. */
struct text_list {
  char *bytes;
  size_t used, capacity;
  struct text_item { size_t offset; uint32_t length; } *items;
  size_t count, item_capacity;
};

struct filter {
  uint8_t kind;       /* enum filter_kind */
  uint8_t operator;   /* enum term_operator */
  bool null_matches;  /* IS NOT value */
  uint16_t column, slot;
  struct pool *pool;
  union {
    struct { int64_t minimum, maximum; };
    struct { double real_minimum, real_maximum; };
    string_id text; /* 0: not found yet; see filter_text() */
  };
  /* FILTER_INTEGER_SET: a hash table with `mask + 1` places; FILTER_REAL_SET */
  int64_t *integers;
  size_t integer_count, integer_capacity;
  int64_t *places;
  size_t place_count;
  bool has_minimum_integer; /* INT64_MIN marks a free place */
  double *reals;
  size_t real_count, real_capacity;
  /* texts of IN, or the one to compare with */
  struct text_list texts;
  uint32_t pool_count_seen;  /* FILTER_TEXT_EQUAL and _NOT: when `text` was looked up in vain */
  /* FILTER_TEXT_MEMO */
  uint8_t *memo;             /* by string id: 0 not known yet, 1 no, 2 yes */
  uint32_t memo_size;
  sqlite3_value *pattern;
  sqlite3_stmt *statement;   /* LIKE, GLOB, REGEXP */
};

/* Takes the value of xFilter. db is where LIKE and the like are looked up. SQLITE_OK, SQLITE_NOMEM, or what
** sqlite3_vtab_in_first says. */
int filter_prepare(struct filter *filter, const struct table_spec *spec, const struct plan_term *term,
                   sqlite3_value *value, struct pool *pool);
void filter_clear(struct filter *filter);

/* Whether no value passes, nor NULL. */
static inline bool filter_is_impossible(const struct filter *filter) {
  return filter->kind == FILTER_NOTHING && !filter->null_matches;
}

/* The id of the text of a FILTER_TEXT_EQUAL or _NOT; 0: no text of the pool, and so of no row that is loaded. */
string_id filter_find_text(struct filter *filter);
static inline string_id filter_text(struct filter *filter) {
  return filter->text ? filter->text : filter_find_text(filter);
}

/* filter_scan.c: a row from `row` on before which none matches, at most `rows`; it may itself be none that does. Quick
** where a filter is an interval or a text, and most rows are outside of it. */
uint32_t filter_first(struct filter *filter, const struct column_reader *reader, uint32_t row, uint32_t rows);

/* Slow part of filter_matches. */
int filter_memo_answer(struct filter *filter, sqlite3 *db, string_id id);
bool filter_set_has(const struct filter *filter, int64_t value);
bool filter_reals_have(const struct filter *filter, double value);

/* 0: no, 1: yes, -1: the connection's error */
static inline int filter_matches(struct filter *filter, sqlite3 *db, const struct column_reader *reader, uint32_t row) {
  if (filter->kind == FILTER_EVERYTHING) return 1;
  bool is_null = reader_is_null(reader, row);
  if (!is_null && reader->value_kind == VALUE_TEXT) is_null = reader_integer(reader, row) == 0;
  if (!is_null && reader->value_kind == VALUE_REAL) {
    double value = reader_real(reader, row);
    is_null = value != value;
  }
  if (is_null) return filter->kind == FILTER_NULL || filter->null_matches;
  switch ((enum filter_kind)filter->kind) {
    case FILTER_EVERYTHING:
    case FILTER_NOT_NULL: return 1;
    case FILTER_NOTHING:
    case FILTER_NULL: return 0;
    case FILTER_INTEGER_RANGE: {
      int64_t value = reader_integer(reader, row);
      return value >= filter->minimum && value <= filter->maximum;
    }
    case FILTER_INTEGER_NOT: return reader_integer(reader, row) != filter->minimum;
    case FILTER_INTEGER_SET: return filter_set_has(filter, reader_integer(reader, row));
    case FILTER_REAL_RANGE: {
      double value = reader_real(reader, row);
      return value >= filter->real_minimum && value <= filter->real_maximum;
    }
    case FILTER_REAL_NOT: return reader_real(reader, row) != filter->real_minimum;
    case FILTER_REAL_SET: return filter_reals_have(filter, reader_real(reader, row));
    case FILTER_TEXT_EQUAL: return (string_id)reader_integer(reader, row) == filter_text(filter);
    case FILTER_TEXT_NOT: return (string_id)reader_integer(reader, row) != filter_text(filter);
    case FILTER_TEXT_MEMO: break;
  }
  string_id id = (string_id)reader_integer(reader, row);
  if (id < filter->memo_size && filter->memo[id]) return filter->memo[id] - 1;
  return filter_memo_answer(filter, db, id);
}

#endif
