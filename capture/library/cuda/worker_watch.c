/* worker_watch.c: see worker_watch.h. */
#include "worker_watch.h"

#define MINUTE_NS 60e9
#define MUCH 0.2 /* of a processor, */
#define TIMES 3  /* and so many times what it was */

void worker_watch_begin(struct worker_watch *watch) { *watch = (struct worker_watch){.first = -1, .last = -1}; }

bool worker_watch_note(struct worker_watch *watch, long tid, double now_ns, double used_ns) {
  if (!tid || used_ns < 0) return false;
  if (tid != watch->tid) {
    watch->tid = tid;
    watch->since_ns = now_ns;
    watch->used_ns = used_ns;
    watch->first = -1;
    return false;
  }
  if (now_ns - watch->since_ns < MINUTE_NS) return false;
  watch->last = (used_ns - watch->used_ns) / (now_ns - watch->since_ns);
  if (watch->first < 0) watch->first = watch->last;
  watch->since_ns = now_ns;
  watch->used_ns = used_ns;
  if (watch->is_told || watch->last < MUCH || watch->last < watch->first * TIMES) return false;
  return watch->is_told = true;
}
