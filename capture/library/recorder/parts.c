/* parts.c: see parts.h. */
#include "parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct capture_part capture_parts[PART_COUNT];
static const char *const part_names[PART_COUNT] = {"ops",   "shapes", "stacks", "modules",
                                                   "steps", "memory", "clock",  "counters"};
static bool says_nothing;

void part_set(int part, enum part_state state, const char *reason) {
  capture_parts[part].state = state;
  snprintf(capture_parts[part].reason, sizeof capture_parts[part].reason, "%s", reason);
}

void part_text(int part, char *text, size_t size) {
  static const char *const words[] = {"off", "degraded", "ok"};
  const struct capture_part *its = &capture_parts[part];
  snprintf(text, size, "%s: %s%s%s", part_names[part], words[its->state], its->reason[0] ? ": " : "", its->reason);
}

void capture_say_nothing(bool is_quiet) { says_nothing = is_quiet; }

void capture_say(const char *format, ...) {
  if (says_nothing) return;
  char line[3072] = "tfprof: ";
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line + 8, sizeof line - 9, format, arguments);
  va_end(arguments);
  size_t used = 8 + (length < 0 ? 0 : (size_t)length < sizeof line - 9 ? (size_t)length : sizeof line - 10);
  line[used++] = '\n';
  if (write(STDERR_FILENO, line, used) < 0) return; /* nobody listens */
}
