/* report.h: a report: one file of HTML with the page, the rows of every panel and the events of the timeline. */
#ifndef TFPROF_REPORT_H
#define TFPROF_REPORT_H

#include <sqlite3.h>

#include "store/store.h"

enum report_events { REPORT_EVENTS_AUTO, REPORT_EVENTS_NONE, REPORT_EVENTS_ALL };

struct report_options {
  const char *path, *title; /* title NULL: it has none of its own */
  const char *runs;         /* as a command line would name them */
  int64_t first_step, last_step;
  bool has_steps;
  enum report_events events;
  uint64_t maximum_bytes; /* of the file, for REPORT_EVENTS_AUTO */
  bool is_redacted;
};

struct report_summary {
  uint64_t panels, failed_panels, events, cells;
  int64_t bucket_ns; /* 0: each event is there by itself */
  bool has_events;
  bool has_causes; /* and who caused them is, as far as it was recorded */
};

/* Writes what is open on the connection, of which `store` is the store and which has the stored views. A panel that
** fails says so in its place. TFPROF_IO, TFPROF_NO_MEMORY, TFPROF_INTERRUPTED. */
enum tfprof_status report_write(sqlite3 *db, struct store *store, const struct report_options *options,
                                struct report_summary *summary, struct tfprof_error *error);

#endif
