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
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP};

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Runs in the child. A failure of exec is told through the pipe, which a success closes. */
static _Noreturn void become(char **command, const sigset_t *mask, const struct sigaction *child_action, int report) {
  sigaction(SIGCHLD, child_action, NULL);
  sigprocmask(SIG_SETMASK, mask, NULL);
  execvp(command[0], command);
  int error = errno;
  ssize_t written = write(report, &error, sizeof error);
  _exit(written == (ssize_t)sizeof error ? 127 : 125);
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

void supervise(char **command, struct outcome *outcome) {
  *outcome = (struct outcome){.started_ns = now_ns()};
  sigset_t wanted, former;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  for (size_t i = 0; i < sizeof handed_on / sizeof handed_on[0]; i++) sigaddset(&wanted, handed_on[i]);
  sigprocmask(SIG_BLOCK, &wanted, &former);
  /* With SIGCHLD ignored, as some parents leave it, the program's status would be lost. */
  struct sigaction former_child, usual = {.sa_handler = SIG_DFL};
  sigaction(SIGCHLD, &usual, &former_child);

  group_watch_begin();
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0 || (outcome->pid = fork()) < 0) {
    outcome->start_error = errno;
    group_watch_end();
    return;
  }
  if (outcome->pid == 0) become(command, &former, &former_child, report[1]);
  close(report[1]);
  int error;
  ssize_t got;
  do got = read(report[0], &error, sizeof error);
  while (got < 0 && errno == EINTR);
  close(report[0]);
  if (got == (ssize_t)sizeof error) outcome->start_error = error;

  for (;;) {
    pid_t ended = waitpid(outcome->pid, &outcome->wait_status, WNOHANG);
    if (ended == outcome->pid || (ended < 0 && errno != EINTR)) break;
    siginfo_t information;
    int number = sigwaitinfo(&wanted, &information);
    if (number < 0 || number == SIGCHLD) continue;
    if (!group_watch_saw(&information)) {
      last_call(outcome->pid, number);
      kill(outcome->pid, number);
    }
    if (number == SIGTSTP) stop_with_the_group();
  }
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
