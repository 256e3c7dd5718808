/* guests.h: profiles of files that a dump names, whose rows are rows of the dump's own profile.
**
** Those are files of windows of the framework's profiler (windows.h) and of runs of sessions (classic/read/sessions.h).
** Each is read by its own reader into a store apart, the same for all of them; its rows follow the rows that the dump
** has so far, so that row numbers stay as the dump grows.  Texts, references and times are exchanged when a column is
** asked for.  Rows that stand for the same thing as one before (threads, devices, nodes of a graph) are not taken
** again: what refers to them refers to that one.  Steps are the dump's: the numbers of those that a file has would be
** numbers of others.
*/
#ifndef TFPROF_DUMP_GUESTS_H
#define TFPROF_DUMP_GUESTS_H

#include "base/list.h"
#include "base/row_map.h"
#include "read/dump/source.h"

#define GUEST_NO_ROW UINT32_MAX
#define GUEST_NOT_KNOWN INT64_MIN
#define GUEST_NONE SIZE_MAX

/* Which rows of a table are taken. */
struct guest_rows {
  uint32_t *rows;     /* by row of the guest's profile: the row here, GUEST_NO_ROW: it is not taken */
  uint32_t *new_rows; /* those of the guest's profile that were not here before */
  uint32_t new_count;
};

struct dump_guest {
  struct profile *profile; /* of the guests' store */
  size_t lender;           /* the guest whose code its rows refer to; GUEST_NONE: its own */
  int64_t offset_ns;       /* to be added to its times */
  size_t frames;           /* of the dump, that come before its rows */
  uint64_t first_rows[TABLE_count];      /* here */
  struct guest_rows *taken[TABLE_count]; /* NULL: all rows are */
};

/* What a row that may come again is known by. */
enum guest_key {
  KEY_DEVICE,
  KEY_LANE,
  KEY_NODE,
  KEY_FRAME,
  KEY_TRACE,
  KEY_WINDOW_DEVICE,
  KEY_WINDOW_THREAD,
  KEY_WINDOW_STREAM
};

struct dump_guests {
  struct store *store; /* of all of them; NULL: there is none yet */
  string_id *texts;    /* by text of that store: the text here */
  size_t text_count, text_capacity;
  LIST(struct dump_guest) items;
  struct row_map known; /* rows that may come again, of all guests so far; the value is the row here */
};

/* ---- For those who take them in. */

/* (*facts)[(size_t)row * count + i] of a frame, to be freed: column columns[i], GUEST_NOT_KNOWN where it is NULL or
** damaged. */
enum tfprof_status dump_guest_facts(const struct dump_source *source, const struct dump_frame *frame, unsigned table,
                                    const uint16_t *columns, unsigned count, int64_t **facts,
                                    struct tfprof_error *error);
/* The path of a file that lies beside the dump, to be freed. NULL: no memory, or the name leads elsewhere. */
char *dump_guest_path(const struct profile *profile, const char *name);
/* Makes source->guests. false: no memory. */
bool dump_guests_begin(struct dump_source *source);
/* A run of the guests' store, for the reader of the file. */
enum tfprof_status dump_guest_add_run(struct profile *profile, const char *path, uint32_t *run,
                                      struct tfprof_error *error);
/* Its profile once the reader has returned `status`; NULL: that has failed, and nothing of it stays. */
struct profile *dump_guest_opened(struct dump_source *source, uint32_t run, enum tfprof_status status);
/* Says where the guest's rows begin here, and makes the texts that the store has by now texts of the dump's profile. */
enum tfprof_status dump_guest_place(struct profile *profile, struct dump_guest *guest, struct tfprof_error *error);
/* Of one table, whose rows have these keys: those that another guest had are the same. */
enum tfprof_status dump_guest_know(struct dump_source *source, struct dump_guest *guest, unsigned table,
                                   const struct row_key *keys, struct tfprof_error *error);
/* Of a table that tells of rows of another one: those that tell of a new row. */
enum tfprof_status dump_guest_follow(struct dump_source *source, struct dump_guest *guest, unsigned table,
                                     unsigned column, struct tfprof_error *error);
/* Gives the rows of all other tables their numbers. */
void dump_guest_number(struct dump_source *source, struct dump_guest *guest);
/* Repeats its diagnostics: errors and warnings by the name of its file, the rest once. */
void dump_guest_diagnose(struct profile *profile, const struct dump_guest *guest, const char *name);
/* Adds the guest to the others where `status` is TFPROF_OK, else forgets it and returns that. */
enum tfprof_status dump_guest_keep(struct dump_source *source, struct dump_guest *guest, enum tfprof_status status,
                                   struct tfprof_error *error);

/* ---- For the reader of the dump. */

size_t dump_guests_count(const struct dump_source *source);
/* How many frames of the dump come before the rows of a guest; never fewer than before those of the guest before. */
size_t dump_guest_frames(const struct dump_source *source, size_t guest);
/* Adds the segments of the table that are the guest's. */
enum tfprof_status dump_guests_add(struct profile *profile, size_t guest, unsigned table, struct tfprof_error *error);
/* As source->load of a segment that dump_guests_add() has added. */
enum tfprof_status dump_guests_load(struct profile *profile, struct segment *segment, const uint16_t *columns,
                                    unsigned count, struct column **out, struct tfprof_error *error);
/* As source->adopt. */
void dump_guests_adopt(struct dump_source *source, const string_id *map);
void dump_guests_free(struct dump_source *source);

#endif
