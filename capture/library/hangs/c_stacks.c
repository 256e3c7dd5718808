/* c_stacks.c: one thread after the other is asked, and waited for (see c_stacks.h). */
#include "c_stacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "c_symbols.h"
#include "recorder/clock.h"
#include "recorder/small_file.h"

enum {
  FRAMES = 64,
  OWN_FRAMES = 8,     /* of the handler, at most */
  SIGNALS = 16,       /* of the last ones that are tried */
  NAPS_NS = 50000,    /* between looks whether the thread has answered */
  ANSWER_NS = 50000000, /* that a thread gets to begin; one that has no processor takes longer */
  UNWIND_NS = 1000000000, /* that it gets once it has begun */
  ALL_NS = 2000000000     /* for all threads of a look */
};

/* `asked` is the thread that may write, negative while it does; 0: none may. */
static struct {
  _Atomic int asked;
  _Atomic bool is_there;
  uintptr_t interrupted; /* where the thread was */
  void *frames[FRAMES + OWN_FRAMES];
  int count;
} answer;

static int signal_number; /* 0: no look is on */
static bool is_missing;   /* a thread has not answered, and may when nobody asks any more */
static uint64_t begun_ns;
static struct sigaction former;

static uintptr_t interrupted_at(const void *context) {
#ifdef __x86_64__
  return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
  return (void)context, 0;
#endif
}

/* On the thread that is asked, in whatever it was about to do. */
static void on_signal(int number, siginfo_t *info, void *context) {
  int saved = errno, tid = (int)syscall(SYS_gettid);
  (void)number;
  (void)info;
  if (atomic_compare_exchange_strong(&answer.asked, &tid, -1)) {
    answer.interrupted = interrupted_at(context);
    answer.count = backtrace(answer.frames, FRAMES + OWN_FRAMES);
    atomic_store(&answer.is_there, true);
    atomic_store(&answer.asked, 0);
  }
  errno = saved;
}

const char *c_stacks_prepare(void) {
  void *frames[4];
  if (!c_symbols_prepare()) return "C stacks need glibc 2.35 or later";
  backtrace(frames, 4); /* loads libgcc_s */
  void *unwinder = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void *entry = unwinder ? dlsym(unwinder, "_Unwind_Backtrace") : NULL;
  bool is_free = entry && c_symbols_refers((uintptr_t)entry, "_dl_find_object");
  if (unwinder) dlclose(unwinder);
  return is_free ? NULL : "C stacks need a libgcc_s that unwinds without a lock, of GCC 12 or later";
}

bool c_stacks_begin(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  begun_ns = clock_monotonic_ns();
  for (int number = SIGRTMAX - 1; number > SIGRTMAX - SIGNALS && !signal_number; number--) {
    if (sigaction(number, NULL, &former) || (former.sa_flags & SA_SIGINFO)) continue;
    bool is_free = former.sa_handler == SIG_DFL && sigaction(number, &action, NULL) == 0;
    if (is_free) signal_number = number;
  }
  return signal_number != 0;
}

/* With the default action a signal that is still to come would end the process. */
void c_stacks_end(void) {
  if (signal_number && !is_missing) sigaction(signal_number, &former, NULL);
  if (!is_missing) signal_number = 0;
}

/* What restarts behind a handler, or does not end by it: as signal(7) has it. A futex with a timeout is a lock's or a
** condition's, which go on, or sem_timedwait(), which nobody uses without asking for EINTR. */
static bool may_interrupt(const struct thread_look *look) {
  static const char *const calls[] = {"futex",    "read",    "readv",     "write",  "writev", "recvfrom", "recvmsg",
                                      "sendto",   "sendmsg", "accept",    "wait4",  "waitid", "flock",    "ioctl",
                                      "fsync",    "openat",  "sched_yield"};
  if (!look->waits_for && !look->system_call) return look->state && strcmp(look->state, "running") == 0;
  if (!look->system_call) return false;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strcmp(calls[i], look->system_call) == 0) return true;
  return false;
}

/* proc(5): "SigBlk:	fffffffe7ffbfeff", the first signal in the lowest bit. */
static bool is_blocked(uint32_t tid) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/self/task/%u/status", tid);
  if (!small_file_read(path, text, sizeof text)) return true;
  const char *mask = strstr(text, "SigBlk:");
  return !mask || strtoull(mask + 7, NULL, 16) >> (signal_number - 1) & 1;
}

static void nap(void) {
  struct timespec time = {0, NAPS_NS};
  nanosleep(&time, NULL);
}

/* Whether it has answered. */
static bool ask_thread(uint32_t tid) {
  int number = (int)tid;
  uint64_t sent_ns = clock_monotonic_ns();
  atomic_store(&answer.is_there, false);
  atomic_store(&answer.asked, number);
  if (syscall(SYS_tgkill, getpid(), number, signal_number) != 0) {
    atomic_store(&answer.asked, 0);
    return false;
  }
  while (!atomic_load(&answer.is_there) && clock_monotonic_ns() - sent_ns < ANSWER_NS) nap();
  if (atomic_compare_exchange_strong(&answer.asked, &number, 0)) {
    is_missing = true;
    return false;
  }
  while (!atomic_load(&answer.is_there) && clock_monotonic_ns() - sent_ns < UNWIND_NS) nap();
  return atomic_load(&answer.is_there);
}

size_t c_stacks_take(uint32_t tid, const struct thread_look *look, char *text, size_t room) {
  bool is_late = clock_monotonic_ns() - begun_ns > ALL_NS, is_free = atomic_load(&answer.asked) == 0;
  if (!signal_number || is_late || !is_free || !may_interrupt(look) || is_blocked(tid) || !ask_thread(tid)) return 0;
  size_t length = 0;
  int first = 0;
  while (first < answer.count && first < OWN_FRAMES && (uintptr_t)answer.frames[first] != answer.interrupted) first++;
  if (first == OWN_FRAMES || first == answer.count) first = 0;
  for (int i = first; i < answer.count && i < first + FRAMES && length + 1 < room; i++) {
    if (i > first) text[length++] = '\n';
    /* A frame that called has the address behind the call, which may be that of the next function. */
    length += c_symbols_name((uintptr_t)answer.frames[i] - (i > first), text + length, room - length);
  }
  return length;
}
