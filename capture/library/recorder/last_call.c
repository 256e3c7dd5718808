/* last_call.c: see last_call.h. */
#include "last_call.h"

#include <stdio.h>
#include <unistd.h>

static char expected[64];

void last_call_expect(const char *path) { snprintf(expected, sizeof expected, "%s", path ? path : ""); }

/* Heard once: whoever made it may have been killed before it took it away. */
bool last_call_has_come(void) {
  bool has_come = expected[0] && access(expected, F_OK) == 0;
  if (has_come) expected[0] = 0;
  return has_come;
}
