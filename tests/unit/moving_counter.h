/* moving_counter.h: a processor's counter that jumps, as where a machine sleeps, for code that reads it by rdtsc.
**
** prctl(PR_SET_TSC) makes the instruction raise SIGSEGV, on the thread that asks for it and on those that it starts.
** The handler reads the counter in its place, and moves it where the instruction is of the object that is looked for.
** So nothing in what is tested knows of this, and the system's own clocks, which read the counter, too, stay right.
*/
#ifndef TFPROF_MOVING_COUNTER_H
#define TFPROF_MOVING_COUNTER_H

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static _Atomic int64_t counter_moved;
static uintptr_t moved_begin, moved_end; /* of the object whose counter moves */

/* A thread that blocks the signal would be killed by it. */
int pthread_sigmask(int how, const sigset_t *wanted, sigset_t *former) {
  sigset_t without;
  if (wanted) {
    without = *wanted;
    if (how != SIG_UNBLOCK) sigdelset(&without, SIGSEGV);
  }
  return syscall(SYS_rt_sigprocmask, how, wanted ? &without : NULL, former, _NSIG / 8) ? errno : 0;
}

#if defined(__x86_64__)
static void read_counter_instead(int number, siginfo_t *information, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *at = (const uint8_t *)registers[REG_RIP];
  (void)information;
  int length = at[0] != 0x0f ? 0 : at[1] == 0x31 ? 2 : at[1] == 0x01 && at[2] == 0xf9 ? 3 : 0; /* rdtsc, rdtscp */
  if (!length) {
    signal(number, SIG_DFL); /* a fault indeed */
    return;
  }
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  uint64_t ticks = __builtin_ia32_rdtsc();
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  if ((uintptr_t)at >= moved_begin && (uintptr_t)at < moved_end) ticks += (uint64_t)counter_moved;
  registers[REG_RAX] = (greg_t)(ticks & UINT32_MAX);
  registers[REG_RDX] = (greg_t)(ticks >> 32);
  if (length == 3) registers[REG_RCX] = 0;
  registers[REG_RIP] += length;
}

/* false: not on this system. */
static bool counter_watch(void) {
  struct sigaction action = {.sa_sigaction = read_counter_instead, .sa_flags = SA_SIGINFO | SA_NODEFER};
  return sigaction(SIGSEGV, &action, NULL) == 0 && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
}
#else
static bool counter_watch(void) { return false; }
#endif

static int note_object(struct dl_phdr_info *object, size_t size, void *name) {
  (void)size;
  bool is_wanted = *(const char *)name ? strstr(object->dlpi_name, name) != NULL : !*object->dlpi_name;
  for (int i = 0; is_wanted && i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    moved_begin = object->dlpi_addr + part->p_vaddr;
    moved_end = moved_begin + part->p_memsz;
    return 1;
  }
  return 0;
}

/* From now on the counter of the object whose name contains this ("": of the program) is so much ahead of where it was.
** false: there is no such object. */
static bool counter_move(const char *name, int64_t ticks) {
  if (!dl_iterate_phdr(note_object, (void *)name)) return false;
  counter_moved += ticks;
  return true;
}

#endif
