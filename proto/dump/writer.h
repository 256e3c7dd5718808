/* writer.h: appends frames to one dump file.
**
** Used by the capture library (on its writer thread, inside somebody else's program) and by tfprof_save.  The file is
** complete up to the last whole frame at any moment: each frame is one write(2), strings are written before the frame
** that first uses them.  Nothing here takes locks, starts threads, prints, or ends the program; a host may have a
** thread on which the file is used.  One writer is used by
** one thread at a time. Memory is bounded: the string table, and buffers for one frame.
**
** FORMAT.md is the specification of what is written.
*/
#ifndef TFPROF_DUMP_WRITER_H
#define TFPROF_DUMP_WRITER_H

#include "base/error.h"

struct dump_writer;

/* What is known when the file is created. Strings may be NULL; rank is -1 when there is none. */
struct dump_profile {
  const char *host, *job, *command, *run_command; /* the command line of the process; that of the whole run */
  const char *framework, *framework_version, *recorder; /* recorder: "tfprof-capture 0.2.0" */
  const char *clock_domain; /* what TIME columns count: "monotonic": CLOCK_MONOTONIC ns; "realtime": Unix-epoch ns */
  uint32_t pid, parent_pid;
  int32_t rank;
  uint32_t world_size; /* 0: unknown */
  uint8_t boot_id[16];
  int64_t created_realtime_ns;
  /* Of saved copies, whose derived rows look like recorded ones. */
  const char *attributes;        /* JSON; left out when longer than 256 KiB */
  uint64_t event_count_plus_one; /* 0: not said */
  int64_t span_start_ns;
  uint64_t span_ns_plus_one; /* 0: not said */
  const char *origin;        /* profiles.origin */
  int64_t clock_offset_ns;   /* of times of the clock "realtime" */
  bool is_torn, has_no_clock_error;
  uint64_t process_start_ticks;  /* starttime of proc(5): pid, boot_id and it tell processes apart; 0: not said */
  uint64_t sampling_seed;        /* which steps are recorded at which level (FORMAT.md); 0: not said */
};

/* One column of a table frame. Values are int64 whatever the type: string ids (0: NULL), row numbers, nanoseconds,
** booleans. All-null columns and absent columns are the same thing but for is_kept; the writer leaves them out. */
struct dump_column_data {
  uint16_t dump_id; /* column_spec.dump_id */
  uint8_t order;    /* enum dump_order: a hint for the encoding, never a promise */
  bool is_real;     /* `reals` is used, else `integers` */
  bool is_kept;     /* written also where it is NULL in all rows: a reader then knows that nothing is to be derived */
  const int64_t *integers;
  const double *reals;
  const uint64_t *nulls; /* bit r set: row r is NULL; NULL pointer: no nulls. Word count (rows+63)/64 */
};
enum dump_order {
  DUMP_UNORDERED, /* each value by itself */
  DUMP_ASCENDING, /* mostly ascending or slowly changing: differences are stored */
};

enum { DUMP_FRAME_ROWS = 4096, DUMP_MAXIMUM_FRAME_ROWS = 65536 };

/* Creates `path` (O_EXCL unless `replace`; for its user alone), writes the file header and the first profile frame. */
enum tfprof_status dump_writer_create(const char *path, bool replace, const struct dump_profile *profile,
                                      struct dump_writer **result, struct tfprof_error *error);

/* What somebody else's program offers to who writes a file within it; all threads use one for good. */
struct dump_host {
  /* Runs what opens, writes and closes the file, and waits for its end. false: it could not be run. */
  bool (*run)(void (*work)(void *argument), void *argument);
  int (*open)(const char *path, int flags, unsigned mode); /* open(2) within such work */
  bool (*is_apart)(void); /* the descriptors of such work are neither the program's nor inherited by its children */
};
/* The same, with the descriptor kept out of the way of the program; the file must be new. */
enum tfprof_status dump_writer_create_as_guest(const char *path, const struct dump_host *host,
                                               const struct dump_profile *profile, struct dump_writer **result,
                                               struct tfprof_error *error);

/* Takes the bytes of a dump where they go into no file yet, but somewhere from which whole dumps are written later: the
** file header first, then frames, one at a time, in their order. */
struct dump_sink {
  void *context;
  /* 0: it is taken, else the errno that says why not. `is_lasting`: frames that come later rest on it. */
  int (*take)(void *context, const uint8_t *bytes, size_t length, bool is_lasting);
};
/* A dump of frames that are taken one by one, of which some are let go: the header says so (FORMAT.md). The sink is
** kept. It gets neither index nor trailer. */
enum tfprof_status dump_writer_create_for(const struct dump_sink *sink, const struct dump_profile *profile,
                                          struct dump_writer **result, struct tfprof_error *error);
/* Whether the rows that are written next are such that others rest on. Texts and what is said of the process are. */
void dump_writer_set_lasting(struct dump_writer *writer, bool is_lasting);

/* Whether the file can be opened by its name again, as it is where its descriptor is lost. */
bool dump_writer_is_named(const struct dump_writer *writer);
/* During so many writes the program replaced the descriptor: a frame may stand in a file of its own, too. */
uint64_t dump_writer_strays(const struct dump_writer *writer);

/* Appends another profile frame: fields that are set replace those of earlier frames (framework version, rank: known
** late). */
enum tfprof_status dump_writer_profile(struct dump_writer *writer, const struct dump_profile *profile,
                                       struct tfprof_error *error);

/* The id (1, 2, ...) of a text, the same for the same bytes; 0 for a NULL pointer, when memory is short, or when a
** limit is reached (16 MB a text, 4 M texts, 512 MB in all). The bytes are copied. */
uint32_t dump_writer_string(struct dump_writer *writer, const char *text, size_t length);
/* How many texts got 0 although they were not NULL: they will read as NULL, which the recorder should say. */
uint64_t dump_writer_strings_refused(const struct dump_writer *writer);

/* Writes the strings not yet written, then `rows` (1 ... DUMP_MAXIMUM_FRAME_ROWS) rows of the table. The first row's
** number is the count of rows written before to that table. The frame is one write(2); on a full disk the file is cut
** back to its last whole frame and TFPROF_IO is returned (the caller decides whether to try again or to count the rows
** as lost). */
enum tfprof_status dump_writer_rows(struct dump_writer *writer, uint16_t table_dump_id, uint32_t rows,
                                    const struct dump_column_data *columns, unsigned column_count,
                                    struct tfprof_error *error);

/* Leaves out `rows` row numbers of the table, which were lost before: the rows written next come after them. */
enum tfprof_status dump_writer_skip(struct dump_writer *writer, uint16_t table_dump_id, uint64_t rows,
                                    struct tfprof_error *error);

/* One simultaneous reading of the clocks, in ns (device_ns 0: none). */
struct dump_clock {
  int64_t monotonic_ns, realtime_ns, device_ns;
  uint32_t uncertainty_ns;
};
enum tfprof_status dump_writer_clock(struct dump_writer *writer, const struct dump_clock *clock,
                                     struct tfprof_error *error);

/* Rows that were lost before they reached the writer, since the start (cumulative), of one table. It may use the room
** that is kept. */
enum tfprof_status dump_writer_dropped(struct dump_writer *writer, uint16_t table_dump_id, uint64_t dropped,
                                       struct tfprof_error *error);

/* From now on a frame is written only when the disk takes `bytes` more behind it, so that on a full disk there is room
** for the last words: what was lost, and the end. 0, as at the beginning and in dump_writer_close: all may be used. The
** file is not longer for it, and does not keep the room when it is closed. */
void dump_writer_keep_room(struct dump_writer *writer, uint64_t bytes);

uint64_t dump_writer_rows_written(const struct dump_writer *writer, uint16_t table_dump_id);
uint64_t dump_writer_bytes_written(const struct dump_writer *writer);

/* The file this process inherited over fork belongs to the parent: frees memory and closes the descriptor, writes
** nothing. */
void dump_writer_abandon(struct dump_writer *writer);
/* Writes index and trailer, closes, frees. The writer is gone whatever is returned; where there is no room for all,
** what there is room for is written. */
enum tfprof_status dump_writer_close(struct dump_writer *writer, struct tfprof_error *error);

#endif
