/* growth.c: see growth.h.
**
** A recording is at its end when its file is closed in order or its process is gone.  A number of a process is used
** again: a process that began after the file was last written is another one.  Of processes of other machines, and of
** containers with numbers of their own, only the age of the file tells.
*/
#include "read/dump/growth.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A recorder writes each second; on another host the file may be seen late. */
enum { FRESH_SECONDS = 5, FRESH_SECONDS_ELSEWHERE = 60 };
enum { ANCESTORS = 64, SLACK_NS = 2000000000 /* of two clocks and their ticks */ };

static int64_t clock_now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- processes ---- */

struct process {
  char name[32]; /* its first 15 characters */
  int64_t parent, started_ns; /* CLOCK_REALTIME */
};

/* What proc(5) says of it; false: it is not there, or has ended and waits for its parent. */
static bool read_process(int64_t number, struct process *process) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)number);
  FILE *file = fopen(path, "re");
  size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  text[length] = 0;
  const char *name = strchr(text, '('), *end = strrchr(text, ')'); /* the name may hold anything */
  if (!name || !end || end < name || end[1] != ' ' || strchr("ZX", end[2])) return false;
  snprintf(process->name, sizeof process->name, "%.*s", (int)(end - name - 1), name + 1);
  enum { PARENT = 4, STARTED = 22 };
  unsigned long long ticks = 0;
  process->parent = 0;
  for (int field = 3; end && field <= STARTED; field++) { /* `end` is in front of the field */
    end = strchr(end + 1, ' ');
    if (end && field == PARENT) process->parent = strtoll(end, NULL, 10);
    if (end && field == STARTED) ticks = strtoull(end, NULL, 10);
  }
  double seconds = (double)ticks / (double)sysconf(_SC_CLK_TCK);
  process->started_ns = clock_now(CLOCK_REALTIME) - clock_now(CLOCK_BOOTTIME) + (int64_t)(seconds * 1e9);
  return true;
}

/* Whether the process that had this number when the file was written is still there. */
static bool is_running(int64_t number, int64_t written_ns) {
  struct process process;
  if (number <= 0) return false;
  if (read_process(number, &process)) return process.started_ns <= written_ns + SLACK_NS;
  return kill((pid_t)number, 0) != 0 && errno == EPERM; /* another user's, of which /proc does not tell */
}

/* Whether a tfprof-capture is among the process and its ancestors. */
static bool is_launched(int64_t number, int64_t written_ns) {
  struct process process;
  for (int i = 0; i < ANCESTORS && number > 1 && read_process(number, &process); i++) {
    if (process.started_ns > written_ns + SLACK_NS) return false;
    if (strcmp(process.name, "tfprof-capture") == 0) return true;
    number = process.parent;
  }
  return false;
}

/* ---- recordings ---- */

static int64_t time_of_file(const char *path) {
  struct stat info;
  if (!path || stat(path, &info) != 0) return -1;
  return (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
}

static void look_at_profile(const struct profile *profile, const char *own_host, int64_t now_ns,
                            struct growth *growth) {
  struct pool *pool = store_pool(profile->store);
  const char *path = profile->path ? pool_text(pool, profile->path) : NULL;
  const char *host = profile->host ? pool_text(pool, profile->host) : NULL;
  int64_t written_ns = time_of_file(path), age_ns = written_ns < 0 ? -1 : now_ns > written_ns ? now_ns - written_ns : 0;
  if (age_ns >= 0 && (growth->age_ns < 0 || age_ns < growth->age_ns)) growth->age_ns = age_ns;
  growth->is_known |= strcmp(profile->source->format, "tfprof") == 0;
  bool is_here = host && strcmp(host, own_host) == 0 && profile->pid > 0;
  bool has_process = is_here && is_running(profile->pid, written_ns);
  bool is_fresh = age_ns >= 0 && age_ns / 1000000000 < (is_here ? FRESH_SECONDS : FRESH_SECONDS_ELSEWHERE);
  bool is_written = !profile->complete && (has_process || is_fresh);
  growth->writing += is_written;
  growth->may_go_on |= is_written || has_process;
  if (!growth->may_go_on && is_here) growth->may_go_on = is_launched(profile->parent_pid, written_ns);
}

void growth_look(const struct store *store, struct growth *growth) {
  char own_host[256] = "";
  int64_t now_ns = clock_now(CLOCK_REALTIME);
  *growth = (struct growth){.age_ns = -1};
  gethostname(own_host, sizeof own_host - 1);
  for (size_t i = 0; i < store_profile_count(store); i++)
    look_at_profile(store_profile_at(store, i), own_host, now_ns, growth);
}
