/* pids.h: traces of several processes whose pids are numbers, with their events sorted together.
**
** The events of the host say whose they are.  What ran on devices does not: there pids are numbers of devices.  It is
** of the process that has the call it was launched by, or the op, where one alone has that number.  Where several have,
** a stream is of the process by whose calls all of its work can have been launched, which no work is that began before
** its launch; one that fits several stays with the first of them, and its work is linked to nothing.
*/
#ifndef TFPROF_JSON_PIDS_H
#define TFPROF_JSON_PIDS_H

#include "base/list.h"
#include "base/row_map.h"
#include "store/store.h"

struct trace;
struct trace_part;

struct owned_event { uint64_t offset; uint32_t part; };
struct pid_owners { /* of all parts of a file */
  struct row_map pids;            /* numbered as the parts are */
  LIST(struct owned_event) works; /* what ran on devices, by offset */
  struct row_map calls, ops;      /* numbers of them that cannot be told apart */
};

/* The processes of a whole trace by the pids of their ops: *count of them, at least two, or 0. They share the owners,
** which the caller frees with pids_free. */
enum tfprof_status pids_find(const struct trace *trace, struct trace_part **parts, uint32_t *count);
void pids_free(struct pid_owners *owners);

/* Whether an event is of a part. */
bool pids_take(const struct trace_part *part, int64_t pid, bool has_pid, uint64_t offset);

#endif
