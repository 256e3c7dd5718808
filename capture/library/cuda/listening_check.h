/* listening_check.h: whether what CUPTI records still comes to us.
**
** Another one in the process may take CUPTI without asking: it registers buffers of its own (Kineto, which dynolog asks
** for a profile; KINETO_USE_DAEMON), or finalises it (cuptiFinalize: Kineto with TEARDOWN_CUPTI).  No call of ours
** fails then; nothing comes any more.  So before each fetch the thread that fetches calls the driver itself
** (cuDriverGetVersion, which looks up a number), and CUPTI records it like any call.  Where neither that record comes
** nor any other, for SILENT_NS, and a record of that call was read before, CUPTI was taken, as far as can be told from
** here.  With KINETO_USE_DAEMON it is SILENT_NS_OF_DAEMON, so that a profile which was asked for can end first.
**
** Of a device that is never idle no buffer comes back before it is full, and before CUDA 13 the records of calls are in
** the same ones: with few launches that takes longer than SILENT_NS.  So once it is quiet for half that time the
** buffers themselves are looked at, which are our memory: CUPTI that still records our call writes it into one of them.
** Only where none was written to and none came back it is lost.
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
  bool is_proven;       /* a record of it has come */
  bool is_lost;         /* since heard_ns */
  uint64_t heard;       /* see listening_signs, of the last look */
  uint64_t content;
  uint64_t heard_ns;    /* when the last sign came, or we began to listen */
  uint64_t patience_ns; /* until CUPTI is taken for lost */
};

/* By which CUPTI is seen to record. */
struct listening_signs {
  uint64_t heard;   /* buffers with records that have come so far */
  uint64_t content; /* what stands in those that CUPTI has, as a hash; 0: it was not looked at */
  bool has_call;    /* a record of our call was read */
};

enum listening { LISTENING, LISTENING_LOST, LISTENING_AGAIN };

/* We listen from now on. */
void listening_check_begin(struct listening_check *check, uint64_t now_ns);
/* Before a fetch: calls the driver; `is_possible`: that is recorded. */
void listening_check_beat(struct listening_check *check, bool is_possible);
/* Whether the next look is to be told what stands in the buffers. */
bool listening_check_wants_content(const struct listening_check *check, uint64_t now_ns);
/* After a fetch.  LISTENING_LOST: it is to begin anew, now.  LISTENING_AGAIN: that has helped; `silent_ns` is for how
** long nothing had come. */
enum listening listening_check_look(struct listening_check *check, const struct listening_signs *signs, uint64_t now_ns,
                                    uint64_t *silent_ns);

#endif
