/* last_call.c: a file that is there for a moment (see recorder/last_call.h of the library, which looks for it). */
#include "last_call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALL_MS = 160 }; /* two of the longest pauses of the writer thread */

static char path[64];

void last_call_prepare(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(path, sizeof path, "/dev/shm/tfprof-call-%ld-%lld%09ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
  setenv("TFPROF_LAST_CALL", path, 1);
}

/* proc(5): "SigCgt:\t0000000180004002", "SigIgn" the same. */
static bool has_signal(const char *status, const char *line, int number) {
  const char *found = strstr(status, line);
  return found && strtoull(found + strlen(line), NULL, 16) >> (number - 1) & 1;
}

static bool takes_signal(pid_t program, int number) {
  char name[64], status[4096];
  snprintf(name, sizeof name, "/proc/%ld/status", (long)program);
  int descriptor = open(name, O_RDONLY | O_CLOEXEC);
  ssize_t length = descriptor < 0 ? -1 : read(descriptor, status, sizeof status - 1);
  if (descriptor >= 0) close(descriptor);
  if (length <= 0) return false;
  status[length] = 0;
  return has_signal(status, "\nSigCgt:", number) || has_signal(status, "\nSigIgn:", number);
}

void last_call(pid_t program, int signal_number) {
  static const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  bool is_end = false;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) is_end |= ends[i] == signal_number;
  if (!is_end || !*path || takes_signal(program, signal_number)) return;
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  close(file);
  struct timespec left = {0, CALL_MS * 1000000L};
  while (nanosleep(&left, &left) && errno == EINTR) continue;
  unlink(path);
}
