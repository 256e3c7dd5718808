/* worker_watch.c: see worker_watch.h. */
#include "worker_watch.h"

#define MINUTE_NS 60e9
#define MUCH 0.2            /* of a processor, */
#define TIMES 3             /* and for a record so many times what it was */
#define FEWEST_RECORDS 1000 /* of a minute that says something */

void worker_watch_begin(struct worker_watch *watch) { *watch = (struct worker_watch){.first_ns = -1, .last_ns = -1}; }

static void begin_minute(struct worker_watch *watch, double now_ns, double used_ns, uint64_t records) {
  watch->since_ns = now_ns;
  watch->used_ns = used_ns;
  watch->records = records;
}

bool worker_watch_note(struct worker_watch *watch, long tid, double now_ns, double used_ns, uint64_t records) {
  if (!tid || used_ns < 0) return false;
  if (tid != watch->tid) {
    watch->tid = tid;
    watch->first_ns = -1;
    begin_minute(watch, now_ns, used_ns, records);
    return false;
  }
  double passed_ns = now_ns - watch->since_ns, taken_ns = used_ns - watch->used_ns;
  uint64_t count = records - watch->records;
  if (passed_ns < MINUTE_NS) return false;
  begin_minute(watch, now_ns, used_ns, records);
  if (count < FEWEST_RECORDS) return false;
  watch->share = taken_ns / passed_ns;
  watch->last_ns = taken_ns / (double)count;
  if (watch->first_ns < 0) watch->first_ns = watch->last_ns;
  if (watch->is_told || watch->share < MUCH || watch->last_ns < watch->first_ns * TIMES) return false;
  return watch->is_told = true;
}
