/* private.h: what the files of ext/store share with each other and with nobody else. */
#ifndef TFPROF_STORE_PRIVATE_H
#define TFPROF_STORE_PRIVATE_H

#include "store/snapshot.h"
#include "store/store.h"

#include <assert.h>
#include <string.h>
#include <time.h>

struct run {
  uint32_t number;
  bool is_published;
  string_id path, format; /* format 0: ask the profiles */
  string_id location, real_location; /* as in struct profile */
};

/* Whether it was told of a column while that was loaded, not of a profile or a file. */
bool diagnostic_is_of_column(const struct diagnostic *diagnostic);

struct profile_list {
  struct profile **items; /* ascending by number */
  size_t count, capacity;
};

struct store {
  uint32_t references;
  struct pool *pool;
  const struct derive_pass *const *passes;
  unsigned pass_count;
  struct store_hooks hooks;
  struct run *runs; /* ascending by number */
  size_t run_count, run_capacity;
  struct profile_list profiles; /* published */
  struct profile_list pending;  /* of runs that are not published yet */
  uint32_t last_run, last_profile;
  uint64_t generation;
  uint64_t diagnostic_changes; /* rises whenever a diagnostic is added */
  struct snapshot *cache[TABLE_count];
  struct file_index *file_index; /* file_index.c; NULL: not made */
  const char *progress_what;
  struct timespec progress_began, progress_told;
};

/* What the versions of a profile share; the last one calls source->free_profile. */
struct profile_shared {
  uint32_t references;
};

/* What the segments of all versions that stand for the same rows share. */
struct segment_shared {
  uint32_t references;
};

/* ---- file_index.c ---- */
/* Whenever profiles come, go or are read from other files. */
void store_forget_files(struct store *store);

/* ---- store.c ---- */
/* Makes the profile one of the run's that are not published yet, with the next number. On failure it is the
** caller's. */
enum tfprof_status store_add_pending(struct store *store, uint32_t run_number, struct profile *profile,
                                     struct tfprof_error *error);

/* ---- profile.c ---- */
struct profile *profile_retain(struct profile *profile);
void profile_release(struct profile *profile);
/* One that belongs to no list of the store; takes over source_data, also on failure (NULL: no memory). */
struct profile *profile_create(struct store *store, uint32_t number, uint32_t run_number,
                               const struct profile_source *source, void *source_data);
/* A new version with the same raw rows; NULL: no memory. */
struct profile *profile_clone(struct profile *old);
/* Settles which columns are raw and which tables are to be made, once the source has added its segments. */
void profile_seal(struct profile *profile);
/* The same of one table. */
void profile_seal_table(struct profile *profile, unsigned table);
/* Frees the segments of a table from index `count` on. */
void profile_cut_segments(struct profile *profile, unsigned table, size_t count);
/* Gaps left out; of a deferred table as many as the source said. */
uint64_t profile_table_rows(const struct profile *profile, unsigned table);
/* Whether a diagnostic says that the file cannot be read, and taking back that it does. */
bool profile_has_file_trouble(const struct profile *profile);
void profile_forget_file_trouble(struct profile *profile);
/* Takes back what was told while the table was listed, which did not succeed: all from index `count` on. */
void profile_cut_diagnostics(struct profile *profile, size_t count);

/* ---- passes.c ---- */
static inline bool pass_set_has(const struct pass_set *set, unsigned pass) {
  assert(pass < 64 * PASS_SET_WORDS);
  return set->words[pass >> 6] >> (pass & 63) & 1;
}
/* These three where passes run side by side: other threads look at the set without a lock. */
static inline void pass_set_add(struct pass_set *set, unsigned pass) {
  assert(pass < 64 * PASS_SET_WORDS);
  __atomic_fetch_or(&set->words[pass >> 6], (uint64_t)1 << (pass & 63), __ATOMIC_RELAXED);
}
static inline void pass_set_remove(struct pass_set *set, unsigned pass) {
  assert(pass < 64 * PASS_SET_WORDS);
  __atomic_fetch_and(&set->words[pass >> 6], ~((uint64_t)1 << (pass & 63)), __ATOMIC_RELAXED);
}
static inline bool pass_set_is_empty(const struct pass_set *set) {
  uint64_t all = 0;
  for (unsigned i = 0; i < PASS_SET_WORDS; i++) all |= __atomic_load_n(&set->words[i], __ATOMIC_RELAXED);
  return all == 0;
}
enum tfprof_status profile_ensure_table(struct profile *profile, unsigned table, struct tfprof_error *error);
/* segment NULL: all of them. */
enum tfprof_status profile_ensure_columns(struct profile *profile, unsigned table, struct segment *segment,
                                          const struct column_set *columns, struct tfprof_error *error);

/* ---- verify.c ---- */
/* Finds out all that there is to tell of the profile; at most once for a version. */
enum tfprof_status profile_verify(struct profile *profile, struct tfprof_error *error);

/* ---- catalogue.c ---- */
/* Adds to *list a profile that holds one segment for each run, profile or diagnostic (of the files' reading) in
** question. The caller releases it. */
enum tfprof_status catalogue_of_runs(struct store *store, struct profile *const *profiles, size_t count,
                                     struct profile **result, struct tfprof_error *error);
enum tfprof_status catalogue_of_profiles(struct store *store, struct profile *const *profiles, size_t count,
                                         struct profile **result, struct tfprof_error *error);
enum tfprof_status catalogue_of_diagnostics(struct profile *profile, struct profile **result,
                                            struct tfprof_error *error);

/* ---- selection.c ---- */
/* The selected profiles, not retained; the caller frees *selected. */
enum tfprof_status store_select(const struct store *store, const char *text, struct profile ***selected,
                                size_t *count, struct tfprof_error *error);
/* ---- location.c ---- */
/* Where a path leads, as two texts of the pool. */
enum tfprof_status location_intern(struct pool *pool, const char *path, string_id *location, string_id *real_location);

/* ---- snapshot.c ---- */
struct snapshot_group { /* the rows of one profile within a snapshot */
  uint32_t number;
  bool is_dense; /* row numbers are 0, 1, 2, ... without a gap */
  size_t first_segment, segment_count;
  uint64_t first_position, rows;
};

struct snapshot_private {
  char *selection;
  bool is_cached;
  uint64_t diagnostic_changes; /* of the store, when this was made */
  struct snapshot *next;       /* in the cache */
  struct profile **profiles;   /* retained */
  size_t profile_count;
  struct snapshot_group *groups; /* ascending by number */
  size_t group_count;
  struct column_set ready; /* columns that all segments have */
};
void store_drop_cache(struct store *store);
void snapshot_free(struct snapshot *snapshot); /* that nobody uses, and no cache has */
void snapshot_uncache(struct snapshot *snapshot);
const struct snapshot_group *snapshot_find_group(const struct snapshot *snapshot, uint32_t number);

/* ---- order.c, lookup.c ---- */
enum { INTERRUPT_ROWS = 1 << 16 };

/* How the values of one column become integers that sort as SQL would have it: value keys, from 0. Arrays of keys
** are narrow where they can be: 32 bits, value key + 1, and 0 for NULL. Else they are wide, with the value keys
** themselves and a bitmap of NULLs. */
struct key_space {
  enum { KEY_INTEGER, KEY_REAL, KEY_TEXT, KEY_REFERENCE, KEY_ASCENDING } kind;
  bool is_wide;
  bool is_empty; /* there are only NULLs */
  uint64_t null_count;
  uint64_t range;     /* the largest value key */
  int64_t minimum;    /* KEY_INTEGER, KEY_REAL: what becomes value key 0; of reals their sortable bits */
  string_id first_id; /* KEY_TEXT: dense[id - first_id] is the value key + 1, 0 for texts that do not occur */
  uint32_t *dense;
  size_t dense_count;
  uint64_t
      *group_base; /* KEY_REFERENCE: group_count + 1 entries; the value key of row r in group g is group_base[g] + r */
};
void key_space_clear(struct key_space *space);
/* A double's bits as an integer that compares as the double does; -0.0 as 0.0. */
static inline int64_t sortable_bits(double real) {
  int64_t bits;
  if (real == 0) real = 0;
  memcpy(&bits, &real, sizeof bits);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

struct order {
  struct order *next;
  uint16_t columns[ORDER_MAXIMUM_COLUMNS];
  unsigned column_count;
  uint32_t *positions;
  /* The rest only of the order of a single column. */
  uint64_t null_count;
  struct key_space space;
  /* For lookups, made with the first of them: where the rows of value keys b << shift ... begin in `positions`, for
  ** bucket_count buckets and one entry more. With shift 0 a bucket is one value. */
  uint32_t *starts;
  uint64_t bucket_count;
  unsigned shift, searches;
};

struct index {
  struct order *orders;
  struct order *single[SCHEMA_MAXIMUM_COLUMNS];
};

void order_free(struct order *order);
/* The order of a single column, made when it is not there yet. */
enum tfprof_status order_of_column(struct snapshot *snapshot, unsigned column, struct order **order,
                                   struct tfprof_error *error);

/* True every INTERRUPT_ROWS rows when the user wants to stop. */
static inline bool interrupted_at(struct store *store, uint64_t row) {
  return (row & (INTERRUPT_ROWS - 1)) == 0 && store_interrupted(store);
}

static inline enum tfprof_status error_interrupted(struct tfprof_error *error) {
  return error_set(error, TFPROF_INTERRUPTED, "interrupted");
}

#endif
