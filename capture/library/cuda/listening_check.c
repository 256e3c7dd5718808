/* listening_check.c: see listening_check.h. */
#include "listening_check.h"

#include "host/cuda_driver.h"

#include <stdlib.h>

#define SILENT_NS UINT64_C(10000000000)
#define SILENT_NS_OF_DAEMON UINT64_C(60000000000) /* which takes CUPTI for that long, as a rule */
#define SILENT_NS_MAXIMUM UINT64_C(320000000000)
#define QUIET_NS (SILENT_NS / 2)

/* How long to wait before anything is taken for lost. */
static uint64_t least_patience(void) { return getenv("KINETO_USE_DAEMON") ? SILENT_NS_OF_DAEMON : SILENT_NS; }

void listening_check_begin(struct listening_check *check, uint64_t now_ns) {
  if (check->is_lost) return; /* heard_ns: nothing has come since */
  check->heard_ns = now_ns;
  check->patience_ns = least_patience();
}

void listening_check_beat(struct listening_check *check, bool is_possible) {
  static struct cuda_driver driver;
  int version;
  check->is_possible = is_possible;
  if (is_possible && cuda_driver_find(&driver) && driver.DriverGetVersion) driver.DriverGetVersion(&version);
}

bool listening_check_wants_content(const struct listening_check *check, uint64_t now_ns) {
  return now_ns - check->heard_ns >= QUIET_NS;
}

/* Whether a buffer has come back, or one that CUPTI has was written to. */
static bool has_heard(struct listening_check *check, const struct listening_signs *signs) {
  bool is_written = signs->content && check->content && signs->content != check->content;
  bool has_come = signs->heard != check->heard;
  check->content = signs->content;
  check->heard = signs->heard;
  return is_written || has_come;
}

enum listening listening_check_look(struct listening_check *check, const struct listening_signs *signs, uint64_t now_ns,
                                    uint64_t *silent_ns) {
  bool was_lost = check->is_lost;
  check->is_proven |= signs->has_call;
  *silent_ns = now_ns - check->heard_ns;
  if (has_heard(check, signs)) {
    check->heard_ns = now_ns;
    check->patience_ns = least_patience();
    check->is_lost = false;
    return was_lost ? LISTENING_AGAIN : LISTENING;
  }
  if (!check->is_possible) check->heard_ns = now_ns;
  if (!check->is_possible || !check->is_proven || *silent_ns < check->patience_ns) return LISTENING;
  check->is_lost = true;
  check->patience_ns = *silent_ns + (*silent_ns < SILENT_NS_MAXIMUM ? *silent_ns : SILENT_NS_MAXIMUM);
  return LISTENING_LOST;
}
