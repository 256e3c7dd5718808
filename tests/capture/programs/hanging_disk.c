/* Loaded before a program: a disk that does not answer, or is slow. Writes to recordings wait while there is a file
** DISK/hangs, and take half a second each while there is DISK/slow; DISK is a variable of the environment. While there
** is DISK/starves, a process's first write runs for two seconds: to whoever looks, as a thread that no processor is
** free for.
*/
#define _GNU_SOURCE
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool is_recording(int descriptor) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/thread-self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path);
  return length > 7 && !memcmp(path + length - 7, ".tfprof", 7);
}

static bool is_there(const char *name) {
  char path[PATH_MAX];
  const char *disk = getenv("DISK");
  if (!disk) return false;
  snprintf(path, sizeof path, "%s/%s", disk, name);
  return access(path, F_OK) == 0;
}

static void run_for(time_t seconds) {
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += seconds;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
  static bool has_starved;
  if (is_recording(descriptor)) {
    while (is_there("hangs")) usleep(20000);
    if (is_there("slow")) usleep(500000);
    if (!has_starved && is_there("starves")) {
      has_starved = true;
      run_for(2);
    }
  }
  return syscall(SYS_pwrite64, descriptor, bytes, length, offset);
}
