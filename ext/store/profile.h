/* profile.h: one process or rank, one file: its tables, where they come from, and what was wrong with it.
**
** A reader makes one (store_add_profile), fills its fields, adds segments or defers tables, and tells what was wrong.
*/
#ifndef TFPROF_PROFILE_H
#define TFPROF_PROFILE_H

#include "store/pass.h"
#include "store/segment.h"

struct store;

#define DIAGNOSTIC_FIRST_ROW ((uint64_t)1 << 35)

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
    size_t segment_count, segment_capacity;
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
  size_t diagnostics_ordered;            /* so many of them are in the order that they are shown in */
  uint64_t diagnostics_lost;            /* for want of memory */
  struct pass_set passes_done, passes_running; /* derive passes that ran, or run now, for this version */
  struct profile_shared *shared;        /* the store's own */
};

/* ---- for readers ---- */

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
/* The file of a profile cannot be read as `reason` says: one diagnostic, until a refresh finds the file again. */
void profile_tell_file(struct profile *profile, const struct tfprof_error *reason);
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

/* ---- for whoever reads it ---- */

/* As snapshot_require, for all segments of one profile's table: for derive passes and savers. */
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

/* profiles.origin. */
const char *profile_origin(const struct profile *profile);
/* profiles.has_xplane_kernels, once the table of kernels is listed. */
bool profile_has_xplane_kernels(const struct profile *profile);
/* How many timed events were recorded: profiles.event_count. */
enum tfprof_status profile_count_events(struct profile *profile, int64_t *count, struct tfprof_error *error);
/* Finds start_ns and end_ns where they are not known yet. */
enum tfprof_status profile_find_span(struct profile *profile, struct tfprof_error *error);

#endif
