/* store.h: profiles in memory, as tables made of columns.  No SQLite, no file formats.
**
** The parts, from the outside in:
**
**   store      everything one database connection has open; reference-counted, used by one thread at a time.
**   run        what one tfprof_open() added: a file, a directory, a glob.
**   profile    one process or rank (one file).  Its rows come from a `source` (a reader) on demand.
**   segment    an immutable run of rows of one table of one profile; its columns are loaded or derived on first use.
**   snapshot   all segments of one table over the profiles a query selects, at one moment; what cursors read.
**              Permutations and lookup indexes hang on it.  A cursor retains it; opening, closing or refreshing
**              profiles makes later queries get another one.
**
** Row numbers count the rows of a table within its profile, from 0 and without a gap, and never change.  Ids are what
** SQL sees: profile number << 36 | row number; profile and run numbers count from 1 and are never used again. Positions
** count the rows of a snapshot, from 0; they mean nothing outside it.
**
** Lazy: a source may say which rows a table has when the table is first asked for (source->list), and nothing is
** decoded or derived until snapshot_require() names a column.  A derive pass (ext/derive) declares what it reads and
** writes; the store runs passes in the right order, once per profile version.
**
** Versions: a struct profile never changes its rows once it is published.  A refresh that finds new rows makes
** another struct profile of the same number, which shares the columns that the source had loaded, and puts it in the
** place of the old one; what was derived is left behind.  Snapshots hold on to the version that they were made of,
** so that a cursor goes on reading (and deriving) what it began with, whatever is opened, closed or refreshed
** meanwhile.
**
** The tables runs, profiles and diagnostics are made by the store itself, with small segments of their own.  Their
** ids: runs.id is the run number, profiles.id (and profile_id everywhere) the profile number.  Rows of diagnostics
** that a file itself holds keep their row numbers; those that reading the file added begin at row
** DIAGNOSTIC_FIRST_ROW.
*/
#ifndef TFPROF_STORE_H
#define TFPROF_STORE_H

#include "base/error.h"
#include "schema/schema.h"
#include "store/column.h"
#include "store/pool.h"

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

/* A set of derive passes, by their place in the list. */
enum { DERIVE_MAXIMUM_PASSES = 256, PASS_SET_WORDS = DERIVE_MAXIMUM_PASSES / 64 };
struct pass_set {
  uint64_t words[PASS_SET_WORDS];
};

struct store;
struct profile;

#define DIAGNOSTIC_FIRST_ROW ((uint64_t)1 << 35)

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

/* A reader's side of an open profile. All functions may be NULL except load and free_profile. A source is used by
** one thread at a time. */
struct profile_source {
  const char *format; /* profiles.format */
  /* Adds the segments of a table that was deferred (profile_defer_table), once for a version, when it is first asked
  ** for: never while a pass runs, so it may make texts. Segments of other tables that are still deferred may be added
  ** as well where they come out of the same work; these are listed then. What cannot be used is told with
  ** profile_diagnose and what is good is listed. TFPROF_NOT_FOUND, TFPROF_REPLACED and TFPROF_IO, the file being gone,
  ** another one or cut, become a diagnostic, and the table is empty until a refresh finds the file again. After any
  ** failure what was added is taken back, and it is asked again with the next question. With `refresh` it lists the
  ** rows of this version (profile->source_mark), though there may be more by now. */
  enum tfprof_status (*list)(struct profile *profile, unsigned table, struct tfprof_error *error);
  /* Loads the given raw columns of a segment: out[i] is columns[i]'s array (a new reference), absent if this segment
  ** has no such column (NULL means the same). May use threads of its own (store/parallel.h). What cannot be used is
  ** NULL and told with segment_diagnose; columns that cannot be read because the file is gone or another one are NULL
  ** and told with segment_lose. Where other raw columns come out of the same work they may be put into
  ** segment->columns where that is still NULL. References must lie below the number of rows that the source has of
  ** their table, and those of code_traces to their parents below their own row. */
  enum tfprof_status (*load)(struct profile *profile, struct segment *segment, const uint16_t *columns, unsigned count,
                             struct column **out, struct tfprof_error *error);
  /* Adds segments for rows that appeared since. *changed says whether anything did. TFPROF_REPLACED: the file is
  ** another recording now; any other failure: it cannot be read at present. `profile` is a new version that
  ** begins as a copy of the last one and is thrown away when nothing changed or the function failed; source_data of
  ** profile and segments is shared by all versions, so what belongs to a version is kept in profile->source_mark. A
  ** last segment that is not full may be replaced by a longer one: profile_remove_last_segment. */
  enum tfprof_status (*refresh)(struct profile *profile, bool *changed, struct tfprof_error *error);
  /* Whether it can be seen at a glance that a refresh would find nothing. NULL: it cannot. */
  bool (*is_same)(const struct profile *profile);
  /* Reads everything once, adding a diagnostic for whatever cannot be used. Called before the diagnostics table is
  ** read; profile_load_all is enough for most. */
  enum tfprof_status (*verify)(struct profile *profile, struct tfprof_error *error);
  /* The first and the last moment of the profile in its own clock; start > end: it has none. Without it the store
  ** looks at all TIME columns. */
  enum tfprof_status (*span)(struct profile *profile, int64_t *start_ns, int64_t *end_ns, struct tfprof_error *error);
  /* Exchanges every string id that source_data holds: map[id] is the same text's in the pool of another store, which
  ** the profile is about to become one of (store_adopt). Without it source_data may hold none. */
  void (*adopt)(struct profile *profile, const string_id *map);
  void (*free_segment)(void *source_data);
  void (*free_profile)(struct profile *profile);
};

struct diagnostic {
  string_id severity, reason, message, file;
  int64_t count;
  int64_t offset; /* -1: none */
  int table;      /* -1: none */
  uint64_t key;   /* the store's own: where it came from */
  uint64_t place; /* the store's own: among others, while they are sorted */
};

/* What may be the id of a process, else -1: dumps have 32 bits for it, and no system has more. */
static inline int64_t process_id(int64_t number) { return number >= 0 && number <= UINT32_MAX ? number : -1; }

struct profile_file {
  string_id location; /* from the root on */
  uint64_t device, inode;
};

struct profile {
  struct store *store;
  uint32_t references; /* the store's and its snapshots' */
  uint32_t number, run_number;
  const struct profile_source *source;
  void *source_data;    /* shared by all versions */
  uint64_t source_mark; /* the source's own, of this version */
  bool is_verified;
  bool is_replaced;      /* the last refresh found another recording where the file was */
  struct profile_file *files; /* that were opened; see store_identify_files */
  size_t file_count;
  /* the columns of the profiles table that are known at open; string ids, 0: NULL; -1 numbers: NULL */
  string_id path, job, host, framework, framework_version, command, clock_domain, attributes;
  string_id origin;      /* 0: the format of the source; see profile_origin */
  string_id run_command; /* of the table runs, where the source tells it beside `command` */
  string_id location, real_location; /* the path from the root on, and without links; see store_identify_files */
  int64_t pid, parent_pid, rank, world_size, clock_offset_ns, clock_error_ns, file_bytes;
  int64_t event_count; /* how many were recorded, where the rows of the source do not tell; -1: they do */
  bool complete;
  int64_t start_ns, end_ns; /* in the profile's own clock; start > end: not known yet (the store finds out) */
  bool has_span;            /* it has been asked for */
  bool is_listing;          /* source->list runs */
  struct profile_table {
    struct segment **segments;
    size_t segment_count;
    uint64_t rows;     /* row number after the last; of a deferred table as many as the source said */
    bool is_deferred;  /* source->list has not been asked yet: there are no segments */
    bool is_estimated; /* deferred, and it may turn out to have other than `rows` rows */
    bool is_lost;      /* when source->list was asked the file could not be read */
    bool is_made;      /* a derive pass made (or will make) the rows, the source has none */
    bool is_ready;     /* rows are there (always true for tables of the source) */
    bool has_kinds;    /* some segments are of another kind: columns may be raw in part of them */
  } tables[TABLE_count];
  struct diagnostic *diagnostics;
  size_t diagnostic_count, diagnostic_capacity;
  size_t diagnostics_settled;            /* so many of them are in the order that they are shown in */
  uint64_t diagnostics_lost;            /* for want of memory */
  struct pass_set passes_done, passes_running; /* derive passes that ran, or run now, for this version */
  struct profile_shared *shared;        /* the store's own */
};

/* ---- derive passes ---- */

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
/* Takes over the reference to `value`; NULL is TFPROF_NO_MEMORY. */
enum tfprof_status segment_set_column(struct segment *segment, unsigned column, struct column *value);

/* ---- life of a store ---- */

struct store_hooks {                     /* may be all NULL */
  bool (*is_interrupted)(void *context); /* polled by long loops, on worker threads as well */
  void (*progress)(void *context, const char *what, double fraction);
  void *context;
};
/* With one reference; NULL: no memory, or more than DERIVE_MAXIMUM_PASSES. */
struct store *store_create(const struct derive_pass *const *passes, unsigned pass_count);
void store_release(struct store *store);
void store_set_hooks(struct store *store, const struct store_hooks *hooks);
bool store_interrupted(struct store *store);
void store_progress(struct store *store, const char *what, double fraction);
struct pool *store_pool(struct store *store);
/* Rises with every change of what is open. */
uint64_t store_generation(const struct store *store);

/* ---- opening: called by ext/read ---- */

/* A new run; its profiles become visible together by store_publish_run, or vanish by store_cancel_run. `format` may be
** NULL: runs.format comes from the profiles. A run that is published may get more profiles in the same way; then only
** these vanish. */
enum tfprof_status store_add_run(struct store *store, const char *path, const char *format, uint32_t *run_number,
                                 struct tfprof_error *error);
/* A new, empty profile in a run; the caller fills its fields and adds segments. Owned by the store,
** which calls source->free_profile. */
enum tfprof_status store_add_profile(struct store *store, uint32_t run_number, const struct profile_source *source,
                                     void *source_data, struct profile **result, struct tfprof_error *error);
/* A store for a file that another thread reads: it can be interrupted as `store` and tells of no progress. */
struct store *store_create_apart(const struct store *store);
/* Moves the profiles of `from` that are not published to a run of `store`, in their order: texts are entered into the
** pool of `store`, numbers are given there. `from` is only fit to be released afterwards. After a failure the run may
** hold some of them. */
enum tfprof_status store_adopt(struct store *store, uint32_t run_number, struct store *from,
                               struct tfprof_error *error);
/* Takes a profile that is not published yet out of its run again, because reading it failed. */
void store_drop_profile(struct store *store, struct profile *profile);
/* A segment of `rows` rows starting at row number `first_row`, where the one before ends. (Rows of the store's own
** tables, whose numbers are ids, may leave gaps, which cost nothing there.) `raw` are the columns that the source can
** load. Columns not in `raw` are absent or derived. Takes over source_data, also on failure. *result may be NULL. */
enum tfprof_status profile_add_segment(struct profile *profile, unsigned table, uint64_t first_row, uint32_t rows,
                                       const struct column_set *raw, void *source_data, struct segment **result,
                                       struct tfprof_error *error);
/* Says that source->list will add the segments of a table, which has none yet: `rows` of them, or, estimated, about as
** many: what query plans go by. For source->refresh as well, with what there is now. */
void profile_defer_table(struct profile *profile, unsigned table, uint64_t rows, bool is_estimated);
/* For source->refresh only: takes the last segment of a table out of the version, so that a longer one can take its
** place. */
void profile_remove_last_segment(struct profile *profile, unsigned table);
/* Text may be any bytes; interned. offset -1, table -1: none. Never fails loudly: short of memory it is counted, not
** kept. */
void profile_diagnose(struct profile *profile, const char *severity, const char *reason, int64_t count, int64_t offset,
                      int table, const char *format, ...) __attribute__((format(printf, 7, 8)));
/* The same for what a source tells of its file as a whole, and what it takes back before it tells it anew after a
** refresh. */
void profile_diagnose_source(struct profile *profile, const char *severity, const char *reason, int64_t count,
                             int64_t offset, int table, const char *format, ...) __attribute__((format(printf, 7, 8)));
void profile_forget_source_diagnostics(struct profile *profile);
/* The same while `column` of a segment is loaded (offset -1: none). Loading it once more does not tell it again, and
** what is said alike of several segments or places becomes one row of diagnostics with the sum of the counts and the
** first place: the message should name the column, not the rows. */
void segment_diagnose(struct segment *segment, unsigned column, const char *severity, const char *reason, int64_t count,
                      int64_t offset, const char *format, ...) __attribute__((format(printf, 7, 8)));
/* The file of a profile cannot be read as `reason` says: one diagnostic, until a refresh finds the file again. */
void profile_tell_file(struct profile *profile, const struct tfprof_error *reason);
/* The same for a column that therefore is NULL in a segment; it is loaded anew once a refresh finds the file again. */
void segment_lose(struct segment *segment, unsigned column, const struct tfprof_error *reason);
/* Whether there are columns that read as NULL because the file is gone, another one, or was cut since it was opened. */
bool profile_lacks_columns(const struct profile *profile);
/* As profile_diagnose, unless it has been told already. */
void profile_diagnose_once(struct profile *profile, const char *severity, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* For source->verify: loads all raw columns of all segments once and lets go of them again. */
enum tfprof_status profile_load_all(struct profile *profile, struct tfprof_error *error);
/* The same of some segments only. */
enum tfprof_status profile_load_some(struct profile *profile, bool (*is_wanted)(const struct segment *segment),
                                     struct tfprof_error *error);
void store_publish_run(struct store *store, uint32_t run_number);
void store_cancel_run(struct store *store, uint32_t run_number);
/* Says which files the profiles that were added last were read from; the location of a profile is that of the first. */
struct file_identity {
  const char *path;
  uint64_t device, inode; /* 0: not known */
};
void store_identify_files(struct store *store, const struct file_identity *files, size_t count);
/* The profile, published or not, that was read from this file, and where that lay (NULL: is not asked); NULL: none. */
struct profile *store_find_file(struct store *store, const struct file_identity *file, const char **location);
/* Takes a published profile out of its run. */
void store_remove_profile(struct store *store, struct profile *profile);
/* The same of one that holds nothing but what another one has, whose its files are from then on: nobody opens them
** again. */
void store_merge_profile(struct store *store, struct profile *profile, struct profile *into);
/* Gives a published run another path: that of the directory that its file lies in. */
enum tfprof_status store_widen_run(struct store *store, uint32_t run_number, const char *path,
                                   struct tfprof_error *error);
/* Moves the profiles of one published run to another; the first is gone. */
void store_join_run(struct store *store, uint32_t run_number, uint32_t into);

/* ---- after opening ---- */

/* Unlinks at once; memory goes when the last cursor lets go. TFPROF_NOT_FOUND when no such run is open. */
enum tfprof_status store_close_run(struct store *store, uint32_t run_number, struct tfprof_error *error);
/* Asks every source of a run (0: of all runs) for new rows; *added counts them. Rows keep their ids; what was derived
** is derived again on next use. A profile whose file cannot be refreshed stays as it is and gets a diagnostic; that is
** no error. */
enum tfprof_status store_refresh(struct store *store, uint32_t run_number, uint64_t *added,
                                 struct tfprof_error *error);
size_t store_run_count(const struct store *store);
/* Published runs by ascending number; 0 past the last. */
uint32_t store_run_at(const struct store *store, size_t index);
/* The path that a run was opened with, or NULL. */
const char *store_run_path(const struct store *store, uint32_t run_number);
/* The path from the root on without "." and "..", which are resolved as they are written; the caller frees it. NULL: no
** memory. */
char *location_of(const char *path);
/* The published run that was opened with this path, however that is spelled; 0: none. */
uint32_t store_find_run(const struct store *store, const char *path);
/* The published run that was opened with this path, or whose path has this as its last part, with or without .tfprof.
** TFPROF_NOT_FOUND: there is none, or several; says what is open. */
enum tfprof_status store_name_run(const struct store *store, const char *name, uint32_t *run_number,
                                  struct tfprof_error *error);
size_t store_profile_count(const struct store *store);
/* Published profiles by ascending number. The pointers are good until the next refresh or close. */
struct profile *store_profile_at(const struct store *store, size_t index);
struct profile *store_profile_by_number(const struct store *store, uint32_t number);

/* ---- reading ---- */

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
/* Upper bound or exact number of rows, without running anything (for query plans). */
uint64_t store_estimate_rows(struct store *store, unsigned table);
struct snapshot *snapshot_retain(struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

/* Makes the columns readable in all segments (loads, derives), or in one segment (index). After success
** segment->columns[c] is not NULL (but for id and profile_id, which need no loading). */
enum tfprof_status snapshot_require(struct snapshot *snapshot, const struct column_set *columns,
                                    struct tfprof_error *error);
enum tfprof_status snapshot_require_segment(struct snapshot *snapshot, size_t segment, const struct column_set *columns,
                                            struct tfprof_error *error);
/* The same for all segments of one profile's table: for derive passes and savers. */
enum tfprof_status profile_require(struct profile *profile, unsigned table, const struct column_set *columns,
                                   struct tfprof_error *error);

/* Lists a table where that was deferred; nothing is loaded. Whoever requires columns need not ask for it. */
enum tfprof_status profile_list_table(struct profile *profile, unsigned table, struct tfprof_error *error);
/* The same of all tables. */
enum tfprof_status profile_list_all(struct profile *profile, struct tfprof_error *error);
/* How many rows the source has of a table: exact, but for one that is deferred and estimated. */
uint64_t profile_raw_rows(const struct profile *profile, unsigned table);

/* All columns of several tables at once, but for attributes: passes that need nothing from each other then run side by
** side. is_wanted is by table. */
enum tfprof_status profile_require_tables(struct profile *profile, const bool is_wanted[TABLE_count],
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

/* profiles.origin. */
const char *profile_origin(const struct profile *profile);
/* How many timed events were recorded: profiles.event_count. */
enum tfprof_status profile_count_events(struct profile *profile, int64_t *count, struct tfprof_error *error);
/* Finds start_ns and end_ns where they are not known yet. */
enum tfprof_status profile_find_span(struct profile *profile, struct tfprof_error *error);
/* Bytes of memory held by columns, indexes and strings. */
uint64_t store_bytes(const struct store *store);

#endif
