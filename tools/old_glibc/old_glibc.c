/* old_glibc.c: lets programs that are built here run where glibc is as old as 2.28 (RHEL 8, and what PyTorch's wheels
** ask for), in the relocatable build; linked into each program and library, whose other parts know nothing of it.
**
** The linker takes the newest version of each function of the library that it finds.  So the functions that have an
** older one are defined here, hidden, as jumps to it (a jump, so that dlsym sees who called).  What has none is made
** here of what there was.  What a program does not use is left out by the linker (--gc-sections).  Until 2.33 functions
** of threads and of dlopen lay in libraries of their own, which the programs name (CMakeLists.txt).
** tests/install/test_relocatable.sh tells what is missing here.
*/
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Functions of which there are older versions. On ARM the oldest is that of 2.17. */

#if defined __x86_64__
#define JUMP(name) "jmp *old_" #name "@GOTPCREL(%rip)\n"
#define VERSION(first, arm) first
#elif defined __aarch64__
#define JUMP(name) "adrp x16, :got:old_" #name "\nldr x16, [x16, :got_lo12:old_" #name "]\nbr x16\n"
#define VERSION(first, arm) arm
#else
#error "the versions of this processor's glibc are not known here"
#endif

#define AS_OF(name, version) \
  __asm__(".section .text.old." #name ",\"ax\",%progbits\n" \
          ".globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" \
          ".symver old_" #name ", " #name "@" version "\n" \
          #name ":\n" JUMP(name) ".size " #name ", .-" #name "\n.previous")
#define OLDEST(name) AS_OF(name, VERSION("GLIBC_2.2.5", "GLIBC_2.17"))

OLDEST(dladdr);
OLDEST(dlclose);
OLDEST(dlerror);
OLDEST(dlopen);
OLDEST(dlsym);
AS_OF(dladdr1, VERSION("GLIBC_2.3.3", "GLIBC_2.17"));
AS_OF(dlinfo, VERSION("GLIBC_2.3.3", "GLIBC_2.17"));
OLDEST(__pthread_key_create);
OLDEST(pthread_attr_setstacksize);
OLDEST(pthread_barrier_init);
OLDEST(pthread_barrier_wait);
OLDEST(pthread_create);
OLDEST(pthread_detach);
OLDEST(pthread_join);
OLDEST(pthread_key_create);
OLDEST(pthread_mutex_trylock);
OLDEST(pthread_mutexattr_destroy);
OLDEST(pthread_mutexattr_init);
OLDEST(pthread_mutexattr_settype);
OLDEST(pthread_once);
OLDEST(pthread_setspecific);
OLDEST(pthread_sigmask);
AS_OF(pthread_condattr_setclock, VERSION("GLIBC_2.3.3", "GLIBC_2.17"));
OLDEST(exp);
OLDEST(log);
OLDEST(log2);
OLDEST(pow);
/* What the runtime of CUDA asks for, which the example has within. */
AS_OF(dlmopen, VERSION("GLIBC_2.3.4", "GLIBC_2.17"));
OLDEST(dlvsym);
OLDEST(pthread_condattr_setpshared);
OLDEST(pthread_getspecific);
OLDEST(pthread_key_delete);
OLDEST(pthread_kill);
OLDEST(pthread_mutexattr_setpshared);
OLDEST(pthread_rwlock_destroy);
OLDEST(pthread_rwlock_init);
OLDEST(pthread_rwlock_rdlock);
OLDEST(pthread_rwlock_timedrdlock);
OLDEST(pthread_rwlock_timedwrlock);
OLDEST(pthread_rwlock_tryrdlock);
OLDEST(pthread_rwlock_trywrlock);
OLDEST(pthread_rwlock_unlock);
OLDEST(pthread_rwlock_wrlock);
OLDEST(pthread_rwlockattr_destroy);
OLDEST(pthread_rwlockattr_init);
OLDEST(pthread_rwlockattr_setpshared);
OLDEST(pthread_spin_destroy);
OLDEST(pthread_spin_init);
OLDEST(pthread_spin_lock);
OLDEST(pthread_spin_trylock);
OLDEST(pthread_spin_unlock);
OLDEST(sem_destroy);
OLDEST(sem_init);
OLDEST(sem_post);
OLDEST(sem_timedwait);
OLDEST(sem_trywait);
OLDEST(sem_wait);
OLDEST(shm_open);
OLDEST(shm_unlink);

/* ---- Functions that were none. The section of each is left out where it is not used. */

#define HERE __attribute__((visibility("hidden")))

static int status_of(int folder, const char *path, struct stat *status, int flags) {
#if defined SYS_newfstatat
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
#else
  return (int)syscall(SYS_fstatat, folder, path, status, flags);
#endif
}
HERE int stat(const char *restrict path, struct stat *restrict status) { return status_of(AT_FDCWD, path, status, 0); }
HERE int lstat(const char *restrict path, struct stat *restrict status) {
  return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
HERE int fstat(int descriptor, struct stat *status) { return (int)syscall(SYS_fstat, descriptor, status); }

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "they are one");
HERE int stat64(const char *restrict path, struct stat64 *restrict status) {
  return status_of(AT_FDCWD, path, (struct stat *)status, 0);
}
HERE int lstat64(const char *restrict path, struct stat64 *restrict status) {
  return status_of(AT_FDCWD, path, (struct stat *)status, AT_SYMLINK_NOFOLLOW);
}
HERE int fstat64(int descriptor, struct stat64 *status) { return (int)syscall(SYS_fstat, descriptor, status); }

/* For the standard library of C++, to seed what nothing here uses. */
HERE uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) < 0 && errno == EINTR) continue;
  return number;
}

/* It says that there are several threads, which is always safe. */
HERE char __libc_single_threaded = 0;

/* Where exceptions find how to unwind: the object of an address. */
struct search {
  uintptr_t address;
  struct dl_find_object *found;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *own) {
  struct search *search = own;
  uintptr_t first = UINTPTR_MAX, end = 0, frames = 0;
  (void)size;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    uintptr_t at = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = at;
    if (part->p_type != PT_LOAD) continue;
    if (at < first) first = at;
    if (at + part->p_memsz > end) end = at + part->p_memsz;
  }
  if (search->address < first || search->address >= end || !frames) return 0;
  search->found->dlfo_map_start = (void *)first;
  search->found->dlfo_map_end = (void *)end;
  search->found->dlfo_eh_frame = (void *)frames;
  return 1;
}

HERE int _dl_find_object(void *address, struct dl_find_object *found) {
  struct search search = {(uintptr_t)address, found};
  memset(found, 0, sizeof *found);
  return dl_iterate_phdr(look_at_object, &search) ? 0 : -1;
}

/* What begins a program of 2.34 and later leaves its constructors to the library; earlier they were the program's. */
typedef void (*constructor)(int count, char **words, char **variables);
extern constructor __preinit_array_start[] HERE, __preinit_array_end[] HERE, __init_array_start[] HERE,
    __init_array_end[] HERE;
extern void _init(void);
extern int old_start_main(int (*run)(int, char **, char **), int count, char **words, constructor begin,
                          void (*end)(void), void (*end_loader)(void), void *stack);
__asm__(".symver old_start_main, __libc_start_main@" VERSION("GLIBC_2.2.5", "GLIBC_2.17"));

static void construct(int count, char **words, char **variables) {
  for (constructor *at = __preinit_array_start; at < __preinit_array_end; at++) (*at)(count, words, variables);
  _init();
  for (constructor *at = __init_array_start; at < __init_array_end; at++) (*at)(count, words, variables);
}

HERE int __libc_start_main(int (*run)(int, char **, char **), int count, char **words, constructor begin,
                           void (*end)(void), void (*end_loader)(void), void *stack);
int __libc_start_main(int (*run)(int, char **, char **), int count, char **words, constructor begin, void (*end)(void),
                      void (*end_loader)(void), void *stack) {
  return old_start_main(run, count, words, begin ? begin : construct, end, end_loader, stack);
}
