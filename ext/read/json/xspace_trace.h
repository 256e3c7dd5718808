/* xspace_trace.h: traces that XProf makes of an XSpace: HOST.trace.json.gz, and JAX's perfetto_trace.json.gz. */
#ifndef TFPROF_JSON_XSPACE_TRACE_H
#define TFPROF_JSON_XSPACE_TRACE_H

#include "read/json/worker.h"

/* Which processes of a trace are hosts and devices of an XSpace; none where it is no such trace. */
void xspace_trace_find_processes(const char *path, struct xspace_processes *processes);

/* What an event of such a process is. */
struct xspace_event {
  struct field name, type; /* type.length 0: as the name */
  enum literal category;
};
/* Of an event without hlo_op. Returns whose event it is, as far as its name tells. */
enum xspace_framework xspace_trace_classify(const struct field *name, bool has_step, bool is_framework,
                                            struct xspace_event *event);

/* The category of an event that tfprof_timeline() wrote as an op, and the number behind the name that it writes marked
** steps with; -1: there is none. event->name is without that. */
enum literal xspace_trace_own_category(const struct field *name, bool is_tensorflow, struct xspace_event *event,
                                       int64_t *step);

#endif
