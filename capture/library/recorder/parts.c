/* parts.c: see parts.h. */
#include "parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool says_nothing;
static struct {
  dev_t device;
  ino_t inode;
} standard_error; /* all 0: none */

void part_set(struct capture_part *part, enum part_state state, const char *reason) {
  part->state = state;
  snprintf(part->reason, sizeof part->reason, "%s", reason);
}

void part_text(const struct capture_part *part, char *text, size_t size) {
  static const char *const words[] = {"off", "degraded", "ok"};
  snprintf(text, size, "%s: %s%s%s", part->name, words[part->state], part->reason[0] ? ": " : "", part->reason);
}

void capture_say_to(uint64_t device, uint64_t inode) {
  standard_error.device = (dev_t)device;
  standard_error.inode = (ino_t)inode;
}

void capture_say_begin(bool is_quiet, const char *launched_with) {
  struct stat now;
  unsigned long long device, inode;
  says_nothing = is_quiet;
  if (launched_with && sscanf(launched_with, "%llu:%llu", &device, &inode) == 2) capture_say_to(device, inode);
  else if (!launched_with && fstat(STDERR_FILENO, &now) == 0) capture_say_to(now.st_dev, now.st_ino);
}

static bool has_standard_error(void) {
  struct stat now;
  return standard_error.inode && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == standard_error.device &&
         now.st_ino == standard_error.inode;
}

void capture_say(const char *format, ...) {
  if (says_nothing) return;
  char line[3072] = "tfprof: ";
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line + 8, sizeof line - 9, format, arguments);
  va_end(arguments);
  size_t used = 8 + (length < 0 ? 0 : (size_t)length < sizeof line - 9 ? (size_t)length : sizeof line - 10);
  line[used++] = '\n';
  if (!has_standard_error() || write(STDERR_FILENO, line, used) < 0) return; /* nobody listens */
}
