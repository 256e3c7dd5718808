/* fatal_signals.c: see fatal_signals.h. What runs in a handler uses system calls and atomics only. */
#include "fatal_signals.h"

#include "triggers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, SIGNALS = 65 };

static const int fatal[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTERM};
enum { FATAL_COUNT = sizeof fatal / sizeof *fatal };

static struct sigaction former[SIGNALS];
static bool is_watched[SIGNALS];
static int of_user;
static void *own_stack;

/* Sent by a process or thread, and not raised by an instruction that will fail again. */
static bool is_sent(const siginfo_t *information) { return information->si_code <= 0; }

static long sender_of(const siginfo_t *information) {
  bool has_sender = information->si_code == SI_USER || information->si_code == SI_TKILL ||
                    information->si_code == SI_QUEUE;
  return has_sender && information->si_pid != getpid() ? (long)information->si_pid : 0;
}

/* The same signal again, to this thread: it comes when the handler returns. */
static void send_again(int number, siginfo_t *information) {
  long this_thread = syscall(SYS_gettid);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), this_thread, number, information) != 0)
    syscall(SYS_tgkill, getpid(), this_thread, number);
}

static void on_fatal(int number, siginfo_t *information, void *context) {
  int before = errno;
  (void)context;
  trigger_of_crash(number, sender_of(information), is_sent(information) ? NULL : information->si_addr);
  sigaction(number, &former[number], NULL);
  if (is_sent(information)) send_again(number, information);
  errno = before;
}

/* Goes on to the program's own, in the same way. */
static void on_user(int number, siginfo_t *information, void *context) {
  int before = errno;
  const struct sigaction *its = &former[number];
  trigger_of_signal(number, sender_of(information));
  if (its->sa_flags & SA_SIGINFO) its->sa_sigaction(number, information, context);
  else if (its->sa_handler != SIG_DFL && its->sa_handler != SIG_IGN) its->sa_handler(number);
  errno = before;
}

static void take_stack(void) {
  stack_t there;
  if (own_stack || sigaltstack(NULL, &there) || !(there.ss_flags & SS_DISABLE)) return;
  void *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t own = {.ss_sp = memory, .ss_size = STACK_BYTES};
  own_stack = memory;
  sigaltstack(&own, NULL);
}

static void watch_signal(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
  struct sigaction ours = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | flags};
  if (is_watched[number]) return;
  ours.sa_mask = former[number].sa_mask;
  is_watched[number] = sigaction(number, &ours, NULL) == 0;
}

static bool may_watch(int number, bool only_default) {
  if (sigaction(number, NULL, &former[number])) return false;
  bool is_plain = !(former[number].sa_flags & SA_SIGINFO);
  if (is_plain && former[number].sa_handler == SIG_DFL) return true;
  return !only_default && !(is_plain && former[number].sa_handler == SIG_IGN);
}

void fatal_signals_begin(int user_signal) {
  take_stack();
  for (int i = 0; i < FATAL_COUNT; i++)
    if (fatal[i] != user_signal && !is_watched[fatal[i]] && may_watch(fatal[i], fatal[i] == SIGTERM))
      watch_signal(fatal[i], on_fatal, 0);
  if (!user_signal || is_watched[user_signal]) return;
  of_user = user_signal;
  if (!sigaction(user_signal, NULL, &former[user_signal])) watch_signal(user_signal, on_user, SA_RESTART);
}

static bool is_ours(const struct sigaction *action) {
  return action->sa_flags & SA_SIGINFO && (action->sa_sigaction == on_fatal || action->sa_sigaction == on_user);
}

void fatal_signals_end(void) {
  struct sigaction now;
  for (int number = 1; number < SIGNALS; number++) {
    /* The user's would end a program that is about to end in order. */
    if (!is_watched[number] || number == of_user || sigaction(number, NULL, &now) || !is_ours(&now)) continue;
    sigaction(number, &former[number], NULL);
    is_watched[number] = false;
  }
}
