/* parts.c: see parts.h. */
#include "parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool says_nothing;

void part_set(struct capture_part *part, enum part_state state, const char *reason) {
  part->state = state;
  snprintf(part->reason, sizeof part->reason, "%s", reason);
}

void part_text(const struct capture_part *part, char *text, size_t size) {
  static const char *const words[] = {"off", "degraded", "ok"};
  snprintf(text, size, "%s: %s%s%s", part->name, words[part->state], part->reason[0] ? ": " : "", part->reason);
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
