/* recorder.h: an open file, and what the sources make their rows with. On the writer thread only.
**
** A source makes its tables in open() (row_tables_add on `tables`) and rows of them whenever it is called; when they
** are written is said by recording.c.
*/
#ifndef TFPROF_CAPTURE_RECORDER_H
#define TFPROF_CAPTURE_RECORDER_H

#include "clock.h"
#include "device_rows.h"
#include "row_tables.h"
#include "source.h"
#include "texts.h"

/* What has no row in a table, or not all that belongs to it, since the recording began. */
struct loss {
  uint64_t count;
  const char *severity, *message, *table;
  const struct row_buffer *rows; /* in which so many are missing; NULL: no row is */
};
enum { LOSSES_MAXIMUM = 64 };

struct recorder {
  const struct capture_source *const *sources;
  unsigned opened; /* so many of them */
  struct dump_writer *writer;
  struct clock_map clock;
  struct row_tables tables;
  struct row_buffer diagnostics;
  struct device_rows devices;
  struct texts texts;
  uint64_t bytes_beside; /* in files that the dump names */
  bool is_urgent; /* what waits is to be written at once */
  bool is_held;   /* what waits for long may wait for longer */
  bool has_complained;
  /* For the governor. What is recorded in detail (DETAIL_FULL) has become so many rows, and has taken so much of this
  ** thread's processor time; and so many of the rows when some were written last. The same of what devices told. */
  uint64_t full_rows, full_rows_written, device_records;
  double full_ns, device_ns;
  struct loss losses[LOSSES_MAXIMUM];
  unsigned loss_count;
};

/* A new file, whose tables the sources make. false: no memory. */
bool recorder_open(struct recorder *recorder, const struct capture_source *const *sources, struct dump_writer *writer);
/* Gives back all memory; the file is the caller's. */
void recorder_close(struct recorder *recorder, bool in_child);

/* Definitions, and what else all rest on. */
void recorder_write_context(struct recorder *recorder);
/* Everything that waits. */
void recorder_write(struct recorder *recorder);
/* What has a whole frame; the rest waits for more. */
void recorder_write_full(struct recorder *recorder);
/* Says once on stderr that the file cannot be written. */
void recorder_complain(struct recorder *recorder, const struct tfprof_error *error);

/* The time from `begin_ns` to now, of clock_thread_ns(), was for `rows`, of which so many are recorded in detail, and
** so many are of devices. */
void recorder_note_use(struct recorder *recorder, double begin_ns, uint64_t full_rows, uint64_t device_rows,
                       uint64_t rows);

/* In losses(), each time it is called. */
void recorder_lost(struct recorder *recorder, struct loss loss);
/* Tells the file how many rows of each table are missing; at the end in words, too. */
void recorder_tell_losses(struct recorder *recorder, bool is_end);

/* A row of diagnostics. `count` may be 0 and `table` NULL: there is none. */
void recorder_diagnose(struct recorder *recorder, const char *severity, const char *reason, int64_t count,
                       const char *table, const char *format, ...) __attribute__((format(printf, 6, 7)));

#endif
