/* listening_check.c: see listening_check.h. */
#include "listening_check.h"

#include "host/cuda_driver.h"

#define SILENT_NS UINT64_C(10000000000)
#define SILENT_NS_MAXIMUM UINT64_C(320000000000)

void listening_check_begin(struct listening_check *check, uint64_t now_ns) {
  if (check->is_lost) return; /* heard_ns: nothing has come since */
  check->heard_ns = now_ns;
  check->patience_ns = SILENT_NS;
}

void listening_check_beat(struct listening_check *check, bool is_possible) {
  static struct cuda_driver driver;
  int version;
  check->is_possible = is_possible;
  if (is_possible && cuda_driver_find(&driver) && driver.DriverGetVersion) driver.DriverGetVersion(&version);
}

enum listening listening_check_look(struct listening_check *check, uint64_t heard, uint64_t now_ns,
                                    uint64_t *silent_ns) {
  bool was_lost = check->is_lost;
  *silent_ns = now_ns - check->heard_ns;
  if (heard != check->heard) {
    check->heard = heard;
    check->heard_ns = now_ns;
    check->patience_ns = SILENT_NS;
    check->is_proven |= check->is_possible;
    check->is_lost = false;
    return was_lost ? LISTENING_AGAIN : LISTENING;
  }
  if (!check->is_possible) check->heard_ns = now_ns;
  if (!check->is_possible || !check->is_proven || *silent_ns < check->patience_ns) return LISTENING;
  check->is_lost = true;
  check->patience_ns = *silent_ns + (*silent_ns < SILENT_NS_MAXIMUM ? *silent_ns : SILENT_NS_MAXIMUM);
  return LISTENING_LOST;
}
