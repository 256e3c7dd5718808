/* group_watch.c: a second, idle process in our group, which tells us of every signal that it gets.
**
** A signal must reach the program once.  One that is sent to us alone (kill, a batch system, a container runtime) has
** to be handed on; one that is sent to the group (the terminal's Ctrl-C, a shell's `kill %1`, timeout) is there
** already, and the system does not say which it was.  So this process does: what it got as well went to the group.  It
** blocks all signals, writes each one's number and time into a pipe, dies with us, and bears another name, so that
** `pkill tfprof-capture` finds us alone.
**
** On a busy machine it may get no processor for a while.  The kernel tells of that: a signal that it has not taken yet
** is pending in /proc/PID/status, and while it has one to tell it does not sleep.
*/
#include "group_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 50, LONGEST_PATIENCE_MS = 5000, MAXIMUM_DESCRIPTOR = 1024 };

struct sighting {
  int number;
  int64_t time_ms;
};

static pid_t watcher = -1;
static int sightings = -1; /* the pipe's reading end */

static int64_t watch_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The command line that ps and pkill -f show is the memory of argv, from argv[0] on. */
static void take_another_name(void) {
  static const char name[] = "signal-watch";
  char buffer[4096];
  size_t length = 0;
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  for (ssize_t got; (got = read(file, buffer, sizeof buffer)) > 0;) length += (size_t)got;
  close(file);
  if (length <= sizeof name) return;
  memset(program_invocation_name, 0, length);
  memcpy(program_invocation_name, name, sizeof name);
  prctl(PR_SET_NAME, name);
}

static _Noreturn void watch(pid_t parent, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  take_another_name();
  for (int i = 0; i < MAXIMUM_DESCRIPTOR; i++) {
    if (i != report) close(i); /* whoever reads our output must see its end when the program ends */
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  for (;;) {
    struct sighting sighting = {.number = sigwaitinfo(&all, NULL)};
    if (sighting.number < 0) continue;
    sighting.time_ms = watch_now_ms();
    if (write(report, &sighting, sizeof sighting) < 0 && errno == EPIPE) _exit(0);
  }
}

void group_watch_begin(void) {
  int ends[2];
  pid_t parent = getpid();
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  watcher = fork();
  if (watcher == 0) watch(parent, ends[1]);
  close(ends[1]);
  if (watcher > 0)
    sightings = ends[0];
  else
    close(ends[0]);
}

int group_watch_descriptor(void) { return sightings; }

void group_watch_end(void) {
  if (watcher <= 0) return;
  kill(watcher, SIGKILL);
  while (waitpid(watcher, NULL, 0) < 0 && errno == EINTR) continue;
  close(sightings);
  watcher = sightings = -1;
}

/* Whether the watcher has a signal of the number, or another one, that it has not written yet. */
static bool is_watcher_behind(int number) {
  char path[32], text[4096];
  snprintf(path, sizeof path, "/proc/%d/status", (int)watcher);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (length <= 0) return false;
  text[length] = 0;
  const char *state = strstr(text, "\nState:\t"), *pending = strstr(text, "\nShdPnd:\t");
  uint64_t signals = pending ? strtoull(pending + strlen("\nShdPnd:\t"), NULL, 16) : 0;
  bool is_awake = state && strchr("RDTt", state[strlen("\nState:\t")]);
  return is_awake || (signals >> (number - 1) & 1);
}

/* Signals of one kind that come close together count as one, as the system itself merges them: timeout(1) sends its
** signal to us and then to the group. */
bool group_watch_saw(const siginfo_t *information) {
  static int64_t last_seen_ms[_NSIG];
  int number = information->si_signo;
  int64_t taken = watch_now_ms(), until = taken + PATIENCE_MS;
  while (sightings >= 0) {
    if (last_seen_ms[number] && last_seen_ms[number] >= taken - PATIENCE_MS) return true;
    int64_t now = watch_now_ms();
    struct pollfd input = {.fd = sightings, .events = POLLIN};
    if (now >= until || poll(&input, 1, (int)(until - now)) == 0) {
      if (watch_now_ms() - taken > LONGEST_PATIENCE_MS || !is_watcher_behind(number)) return false;
      until = watch_now_ms() + PATIENCE_MS;
      continue;
    }
    struct sighting sighting;
    if (read(sightings, &sighting, sizeof sighting) != (ssize_t)sizeof sighting) break; /* the watcher is gone */
    if (sighting.number > 0 && sighting.number < _NSIG) last_seen_ms[sighting.number] = sighting.time_ms;
  }
  return information->si_code == SI_KERNEL;
}
