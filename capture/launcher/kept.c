/* kept.c: see kept.h. */
#include "kept.h"

#include "common/control_place.h"
#include "common/kept_dump.h"
#include "dump/directory.h"
#include "supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MODE = 0600, NAMES = 1000 };

static bool is_alive(uint64_t process, uint64_t start_time) {
  return process && start_time && control_start_time((pid_t)process) == start_time;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Writing one. */

/* A file of a name that is free, in the run's directory; -1, with errno. */
static int create_dump(const struct kept_head *head, char *path, size_t size) {
  if (dump_directory_open(head->run_directory, NULL, NULL)) return errno = ENOENT, -1;
  for (int number = 1; number <= NAMES; number++) {
    char suffix[16] = "";
    if (number > 1) snprintf(suffix, sizeof suffix, "-%d", number);
    if ((size_t)snprintf(path, size, "%s/%s%s.tfprof", head->run_directory, head->name, suffix) >= size) break;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/* Whether it is written, or nothing is in it. */
static bool write_dump(int kept, const struct kept_head *head, const char *message, bool is_told) {
  struct kept_trigger trigger = {.kind = "killed", .time_ns = now_ns(), .keep_ns = (int64_t)head->keep_ns};
  struct kept_extent extent;
  char path[4400];
  uint64_t rows;
  snprintf(trigger.message, sizeof trigger.message, "%s", message);
  kept_extent_whole(&extent);
  int file = create_dump(head, path, sizeof path);
  int reason = file < 0 ? errno : kept_dump_write(kept, head, &extent, &trigger, 1, file, &rows);
  if (file >= 0 && close(file) && !reason) reason = errno;
  if (file >= 0 && reason) unlink(path);
  if (reason && reason != EILSEQ)
    fprintf(stderr, "tfprof: what process %llu has kept cannot be written into %s: %s\n",
            (unsigned long long)head->process, head->run_directory, strerror(reason));
  else if (!reason && is_told)
    fprintf(stderr, "tfprof: process %llu of an earlier run was killed: its last seconds are in %s\n",
            (unsigned long long)head->process, path);
  return !reason || reason == EILSEQ;
}

/* ---- Finding them. */

typedef void kept_visitor(void *context, int directory, const char *name, int file, const struct kept_head *head);

static void look_at_kept(int directory, const char *name, kept_visitor *visit, void *context) {
  static struct kept_head head;
  size_t length = strlen(name), suffix = sizeof KEPT_SUFFIX - 1;
  if (length <= suffix || strcmp(name + length - suffix, KEPT_SUFFIX) != 0) return;
  int file = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  if (kept_head_read(file, &head) && head.process_namespace == kept_process_namespace())
    visit(context, directory, name, file, &head);
  close(file);
}

static void for_each(kept_visitor *visit, void *context) {
  char place[64], problem[300];
  kept_place(place, sizeof place, geteuid());
  int directory = control_place_open(place, geteuid(), false, problem, sizeof problem);
  DIR *stream = directory >= 0 ? fdopendir(directory) : NULL;
  if (!stream && directory >= 0) close(directory);
  if (!stream) return;
  for (struct dirent *entry; (entry = readdir(stream));) look_at_kept(directory, entry->d_name, visit, context);
  closedir(stream);
  rmdir(place); /* where it is empty */
}

struct collecting {
  const char *run_directory;
  const struct outcome *outcome;
};

/* NULL: it is not to be written. */
static const char *message_of(const struct kept_head *head, const struct outcome *outcome, char *text, size_t size) {
  bool is_known = outcome && (pid_t)head->process == outcome->pid;
  int status = is_known ? outcome->wait_status : 0;
  if (is_known && WIFEXITED(status) && WEXITSTATUS(status) == 0) return NULL;
  if (head->ended_by && (!is_known || (WIFSIGNALED(status) && WTERMSIG(status) == head->ended_by))) return NULL;
  if (is_known && WIFSIGNALED(status))
    snprintf(text, size, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (is_known) snprintf(text, size, "ended with status %d, and without Python's end", WEXITSTATUS(status));
  else snprintf(text, size, "gone without an end in order, as by SIGKILL");
  return text;
}

static void collect(void *context, int directory, const char *name, int file, const struct kept_head *head) {
  const struct collecting *collecting = context;
  char text[KEPT_TEXT_MAXIMUM];
  if (strcmp(head->run_directory, collecting->run_directory) != 0) return;
  if (is_alive(head->process, head->start_time)) return; /* it still keeps, and is asked */
  const char *message = message_of(head, collecting->outcome, text, sizeof text);
  if (!message || write_dump(file, head, message, false)) unlinkat(directory, name, 0);
}

void kept_collect(const char *run_directory, const struct outcome *outcome) {
  struct collecting collecting = {run_directory, outcome};
  for_each(collect, &collecting);
}

static void collect_left(void *context, int directory, const char *name, int file, const struct kept_head *head) {
  const bool *is_quiet = context;
  char text[KEPT_TEXT_MAXIMUM];
  if (is_alive(head->process, head->start_time) || is_alive(head->launcher, head->launcher_start_time)) return;
  const char *message = message_of(head, NULL, text, sizeof text);
  bool has_run = access(head->run_directory, F_OK) == 0;
  if (!message || !has_run || write_dump(file, head, message, !*is_quiet)) unlinkat(directory, name, 0);
}

void kept_collect_left(bool is_quiet) { for_each(collect_left, &is_quiet); }
