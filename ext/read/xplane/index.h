/* index.h: where the planes and lines of an XSpace lie in its file.
**
** Made when the file is opened, of the heads of planes and lines alone: events, and the names that they go by, are
** passed over by their lengths, so that a file of a gigabyte takes no longer than one of a megabyte with as many lines.
**
**   XSpace  planes=1 errors=2 warnings=3 hostnames=4
**   XPlane  id=1 name=2 lines=3 event_metadata=4 stat_metadata=5 stats=6
**   XLine   id=1 name=2 timestamp_ns=3 events=4 duration_ps=9 display_id=10 display_name=11
*/
#ifndef TFPROF_XPLANE_INDEX_H
#define TFPROF_XPLANE_INDEX_H

#include "base/list.h"
#include "read/xplane/window.h"

enum plane_kind {
  PLANE_HOST,   /* threads of the host, whoever traced them */
  PLANE_DEVICE, /* streams or units of a device */
  PLANE_OTHER   /* facts only: /host:metadata, Task Environment */
};

/* What the lines of a TPU hold, which records its ops, steps and programs itself; other lines are plain. */
enum line_role {
  LINE_PLAIN,
  LINE_OPS,      /* nested: a loop has the ops that it runs inside it */
  LINE_ASYNC,    /* copies and collectives that go on beside the ops */
  LINE_PROGRAMS, /* runs of modules of XLA */
  LINE_STEPS,
  LINE_MARKS     /* what the program marked within its ops */
};

struct xplane_line {
  uint64_t offset, end, events; /* in the file; `events`: where the first of them begins, `end` where there is none */
  int64_t id, timestamp_ns;
  char *name; /* "" where it has none; owned */
  uint32_t plane;
  uint32_t thread;  /* row in threads */
  int64_t device;   /* row in devices, ROW_NULL */
  bool is_derived;  /* computed by the profiler of events of other lines */
  enum line_role role;
};

struct xplane_plane {
  uint64_t offset, end;
  uint64_t names, names_end; /* the stretch that all entries of event_metadata and stat_metadata lie in */
  uint64_t stats, stats_end; /* that all stats of the plane itself lie in */
  char *name;                /* owned */
  enum plane_kind kind;
  uint64_t event_bytes; /* of its lines */
};

/* A text among many; owned. */
struct index_text {
  char *bytes;
  size_t length;
};
LIST_NAMED(index_texts, struct index_text);

struct xplane_index {
  struct source_index *file;
  uint64_t file_bytes;   /* unpacked, where the file is gzip */
  uint64_t stored_bytes; /* of the file itself */
  enum source_problem problem; /* of the gzip stream, at: */
  uint64_t problem_offset;
  LIST(struct xplane_plane) planes;
  LIST(struct xplane_line) lines; /* in the order of the file */
  struct index_texts errors, warnings, hostnames;
  const char *wrong; /* what is damaged first, at: */
  uint64_t wrong_offset, wrong_count;
  uint64_t missing_bytes; /* of what is damaged first, at its end; 0: that is not known */
};

/* TFPROF_WRONG_KIND: the file has no plane. */
enum tfprof_status xplane_index_make(struct xplane_index *index, const char *path, struct tfprof_error *error);
void xplane_index_free(struct xplane_index *index);
/* With which planes the line is listed: steps and marks of a TPU are rows of ops, as those of the host are. */
enum plane_kind xplane_kind_of_line(const struct xplane_index *index, const struct xplane_line *line);

#endif
