/* listening_check.h: whether what CUPTI records still comes to us.
**
** Another one in the process may take CUPTI without asking: it registers buffers of its own (Kineto, which dynolog asks
** for a profile; KINETO_USE_DAEMON), or finalises it (cuptiFinalize: Kineto with TEARDOWN_CUPTI).  No call of ours
** fails then; nothing comes any more.  So before each fetch the thread that fetches calls the driver itself
** (cuDriverGetVersion, which looks up a number), and CUPTI records it like any call.  Where neither that record comes
** nor any other, for SILENT_NS, and records of that kind came before, CUPTI was taken.
**
** What it cannot tell apart: a CUPTI before that of CUDA 13 keeps calls and kernels in one buffer, and does not give it
** back while a kernel in it runs.  One kernel that runs for SILENT_NS looks the same there, and so does a device that
** is never idle and gets fewer launches than fill a buffer in that time.  CUPTI is begun anew then though nobody took
** it, which is said, and counts as another session (cupti_faults.h).
**
** It waits twice as long after each time that beginning anew did not help.  On the thread that fetches.
*/
#ifndef TFPROF_CAPTURE_LISTENING_CHECK_H
#define TFPROF_CAPTURE_LISTENING_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* What is called, as CUPTI names it. */
#define LISTENING_CALL "cuDriverGetVersion"

struct listening_check {
  bool is_possible;     /* CUPTI records the call now */
  bool is_proven;       /* a record has come while that was so */
  bool is_lost;         /* since heard_ns */
  uint64_t heard;       /* buffers with records, so far */
  uint64_t heard_ns;    /* when the last one came, or we began to listen */
  uint64_t patience_ns; /* until CUPTI is taken for lost */
};

enum listening { LISTENING, LISTENING_LOST, LISTENING_AGAIN };

/* We listen from now on. */
void listening_check_begin(struct listening_check *check, uint64_t now_ns);
/* Before a fetch: calls the driver; `is_possible`: that is recorded. */
void listening_check_beat(struct listening_check *check, bool is_possible);
/* After a fetch; `heard` buffers with records have come so far.  LISTENING_LOST: it is to begin anew, now.
** LISTENING_AGAIN: that has helped; `silent_ns` is for how long nothing had come. */
enum listening listening_check_look(struct listening_check *check, uint64_t heard, uint64_t now_ns,
                                    uint64_t *silent_ns);

#endif
