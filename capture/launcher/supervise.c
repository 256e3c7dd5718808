/* supervise.c: starts the program, hands signals on to it, waits for its end, and ends in the same way.
**
** The program stays in our process group, so that job control, pipelines and the terminal work as without us.  A signal
** that is sent to us alone is handed on, and before one that ends the program what was recorded last is written
** (last_call); one that went to the whole group has reached the program by itself (group_watch tells).  Ctrl-Z stops us
** with the program, so that the shell sees the job stopped.
**
** There are no signal handlers: the signals are blocked here and taken one by one with sigwaitinfo().  The program gets
** the mask and the dispositions that we were started with (nohup's ignored SIGHUP, for one).
*/
#include "supervise.h"
#include "group_watch.h"
#include "last_call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* on all architectures */
#endif

enum { HIGHEST_DESCRIPTOR = 1024 }; /* that is closed one by one, where the kernel closes no range */

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How we were started, and what the program gets of it. */
struct former {
  sigset_t mask;
  struct sigaction child;
  char **environment;
};

/* Becomes the program. Returns where that cannot be; errno says why. The kernel bounds a command line and its
** environment together: where ours are too much for it, the program runs with those that it would have without us. */
static void become(char **command, const struct former *former) {
  sigaction(SIGCHLD, &former->child, NULL);
  sigprocmask(SIG_SETMASK, &former->mask, NULL);
  execvp(command[0], command);
  if (errno != E2BIG) return;
  unsetenv("TFPROF_RUN_COMMAND");
  execvp(command[0], command);
  if (errno != E2BIG) return;
  static const char told[] =
      "tfprof-capture: not recorded: its command line and environment leave no room for the recorder's variables\n";
  if (write(STDERR_FILENO, told, sizeof told - 1) < 0) errno = 0; /* nobody listens */
  environ = former->environment;
  execvp(command[0], command);
}

/* A failure of exec is told through the pipe, which a success closes. */
static _Noreturn void become_in_child(char **command, const struct former *former, int report) {
  become(command, former);
  int error = errno;
  ssize_t written = write(report, &error, sizeof error);
  _exit(written == (ssize_t)sizeof error ? 127 : 125);
}

static void close_between(int first, int last) {
  if (first > last || syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u) == 0) return;
  for (int i = first; i <= last && i < HIGHEST_DESCRIPTOR; i++) close(i);
}

/* What is the program's: whoever reads its output, or writes to it, sees when the program has closed it. We keep stderr
** and two of our own. */
static void leave_descriptors(int kept, int also_kept) {
  int low = kept < also_kept ? kept : also_kept, high = kept < also_kept ? also_kept : kept;
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < STDERR_FILENO && nothing >= 0; i++)
    if (fcntl(i, F_GETFD) >= 0) dup3(nothing, i, O_CLOEXEC);
  if (low <= STDERR_FILENO) low = STDERR_FILENO;
  if (high <= STDERR_FILENO) high = STDERR_FILENO;
  close_between(STDERR_FILENO + 1, low - 1);
  close_between(low + 1, high - 1);
  close_between(high + 1, INT_MAX);
}

/* All signals are handed on, but what tells us of the program's end, and what stops whoever uses the terminal from the
** background. (Faults of our own end us all the same.) */
static void list_signals(sigset_t *wanted) {
  sigfillset(wanted);
  sigdelset(wanted, SIGTTIN);
  sigdelset(wanted, SIGTTOU);
}

static void hand_on(pid_t program, const siginfo_t *information) {
  int number = information->si_signo;
  last_call(program, number);
  if (information->si_code == SI_QUEUE) sigqueue(program, number, information->si_value);
  else kill(program, number);
}

/* Stops as the group does, unless nobody could wake us (an orphaned group): the default action knows. */
static void stop_with_the_group(void) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here, and goes on here */
  sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* Waits for the program, and hands signals on meanwhile. */
static void stand_by(const sigset_t *wanted, struct outcome *outcome) {
  for (;;) {
    pid_t ended = waitpid(outcome->pid, &outcome->wait_status, WNOHANG);
    if (ended == outcome->pid || (ended < 0 && errno != EINTR)) break;
    siginfo_t information;
    int number = sigwaitinfo(wanted, &information);
    if (number < 0 || number == SIGCHLD) continue;
    if (!group_watch_saw(&information)) hand_on(outcome->pid, &information);
    if (number == SIGTSTP) stop_with_the_group();
  }
}

void supervise(char **command, char **environment, int kept, struct outcome *outcome) {
  *outcome = (struct outcome){.started_ns = now_ns()};
  sigset_t wanted;
  struct former former = {.environment = environment};
  list_signals(&wanted);
  sigprocmask(SIG_BLOCK, &wanted, &former.mask);
  /* With SIGCHLD ignored, as some parents leave it, the program's status would be lost. */
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(SIGCHLD, &usual, &former.child);

  group_watch_begin();
  int report[2];
  bool has_pipe = pipe2(report, O_CLOEXEC) == 0;
  if (has_pipe && (outcome->pid = fork()) < 0) {
    group_watch_end(); /* there are few processes to be had: that one is given up first */
    outcome->pid = fork();
  }
  if (!has_pipe || outcome->pid < 0) {
    group_watch_end();
    fprintf(stderr, "tfprof-capture: the program runs in our place and gets no summary at its end: %s\n",
            strerror(errno));
    become(command, &former);
    outcome->start_error = errno;
    return;
  }
  if (outcome->pid == 0) become_in_child(command, &former, report[1]);
  close(report[1]);
  int error;
  ssize_t got;
  do got = read(report[0], &error, sizeof error);
  while (got < 0 && errno == EINTR);
  close(report[0]);
  if (got == (ssize_t)sizeof error) outcome->start_error = error;
  leave_descriptors(kept, group_watch_descriptor());
  stand_by(&wanted, outcome);
  outcome->ended_ns = now_ns();
  group_watch_end();
}

void end_as(int wait_status) {
  if (!WIFSIGNALED(wait_status)) exit(WEXITSTATUS(wait_status));
  int number = WTERMSIG(wait_status);
  prctl(PR_SET_DUMPABLE, 0); /* the program's core is the one of interest */
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(number, &usual, NULL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &only, NULL);
  exit(128 + number); /* the first process of a container is not killed by a signal it has no handler for */
}
