/* run_directory.c: makes the directory that a recording goes into, and refuses what would mix or destroy recordings.
**
** A directory that holds a recording is refused; with --force its *.tfprof files are removed, those of windows of the
** framework's own profiler (HOST-PID.N.xplane.pb) and sessions, and profiles that servers sent, and nothing else ever
** is.
** So is a symbolic link, and a directory of another user (dump/directory.h).
** A lock on the directory keeps two recordings out of it at the same time.  Whether files can be made in it is tried,
** not asked for: access(2) knows nothing of read-only file systems, quotas and root.
*/
#include "run_directory.h"
#include "status.h"

#include "dump/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAXIMUM_NUMBER = 9999, LITTLE_SPACE_MB = 64 };

static bool has_suffix(const char *name, const char *suffix) {
  size_t length = strlen(name), size = strlen(suffix);
  return length > size && strcmp(name + length - size, suffix) == 0;
}

bool run_directory_is_dump(const char *name) { return has_suffix(name, ".tfprof"); }

static bool is_recording(const char *name) {
  return run_directory_is_dump(name) || has_suffix(name, DUMP_SERVER_SUFFIX);
}

/* HOST-PID.N.xplane.pb, and what was left of one that could not be written. */
static bool is_of_window(const char *name) {
  size_t length = strlen(name), suffix = strlen(".xplane.pb");
  if (length > suffix + 5 && name[0] == '.' && !strcmp(name + length - 5, ".part")) length -= 5;
  if (length <= suffix || strncmp(name + length - suffix, ".xplane.pb", suffix) != 0) return false;
  size_t at = length - suffix, digits = 0, of_process = 0;
  while (at && name[at - 1] >= '0' && name[at - 1] <= '9') at--, digits++;
  if (!digits || !at || name[--at] != '.') return false;
  while (at && name[at - 1] >= '0' && name[at - 1] <= '9') at--, of_process++;
  return of_process && at > 1 && name[at - 1] == '-';
}

/* Recordings in the directory; with `remove` they are removed and those that could not be are counted.
** -1: unreadable. */
static int count_recordings(const char *path, bool remove) {
  DIR *stream = opendir(path);
  if (!stream) return -1;
  int count = 0, error = 0;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (remove && (is_of_window(entry->d_name) || has_suffix(entry->d_name, ".sessions")))
      unlinkat(dirfd(stream), entry->d_name, 0);
    if (!is_recording(entry->d_name)) continue;
    if (remove && unlinkat(dirfd(stream), entry->d_name, 0) == 0) continue;
    if (remove) error = errno;
    count++;
  }
  closedir(stream);
  errno = error;
  return count;
}

static int failed(const char *path, const char *what) {
  fprintf(stderr, "tfprof-capture: %s: %s: %s; choose another directory with -o\n", path, what, strerror(errno));
  return STATUS_CANNOT_RECORD;
}

/* mkdir -p. 0, or -1 with errno. *is_new: the last part was made here. */
static int make_directories(const char *path, bool *is_new) {
  char part[PATH_MAX];
  *is_new = false;
  for (size_t i = 1; path[i]; i++) {
    if (path[i] != '/' || path[i + 1] == '/' || !path[i + 1]) continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, 0777) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) return -1;
  }
  if (mkdir(path, DUMP_DIRECTORY_MODE) == 0) {
    *is_new = true;
    return 0;
  }
  return errno == EEXIST ? 0 : -1;
}

/* The first of tfprof-run, tfprof-run-2, ... that is new or ours, empty of recordings and not in use. */
static int open_numbered(struct run_directory *directory) {
  for (int number = 1; number <= MAXIMUM_NUMBER; number++) {
    if (number == 1)
      strcpy(directory->path, "tfprof-run");
    else
      snprintf(directory->path, sizeof directory->path, "tfprof-run-%d", number);
    struct stat facts;
    if (lstat(directory->path, &facts) == 0 && !S_ISDIR(facts.st_mode)) continue;
    if (make_directories(directory->path, &directory->is_new) != 0)
      return failed(directory->path, "cannot make the run directory");
    if (dump_directory_open(directory->path, &directory->lock, NULL) != TFPROF_OK) continue;
    bool is_free = directory->is_new || count_recordings(directory->path, false) == 0;
    if (is_free && (flock(directory->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)) return 0;
    close(directory->lock);
    directory->lock = -1;
  }
  fprintf(stderr,
          "tfprof-capture: tfprof-run to tfprof-run-%d hold recordings or are not ours; choose a directory with -o\n",
          MAXIMUM_NUMBER);
  return STATUS_CANNOT_RECORD;
}

static int open_named(const char *output, enum run_directory_former former, struct run_directory *directory) {
  if (strlen(output) >= sizeof directory->path) {
    errno = ENAMETOOLONG;
    return failed(output, "cannot make the run directory");
  }
  strcpy(directory->path, output);
  for (size_t length = strlen(output); length > 1 && directory->path[length - 1] == '/';)
    directory->path[--length] = '\0';
  struct stat facts;
  if (stat(output, &facts) == 0 && !S_ISDIR(facts.st_mode)) {
    fprintf(stderr, "tfprof-capture: %s is a file, not a directory; choose another directory with -o\n", output);
    return STATUS_CANNOT_RECORD;
  }
  if (make_directories(directory->path, &directory->is_new) != 0)
    return failed(output, "cannot make the run directory");
  struct tfprof_error error;
  if (dump_directory_open(directory->path, &directory->lock, &error) != TFPROF_OK) {
    char text[2200];
    error_text(&error, text, sizeof text);
    fprintf(stderr, "tfprof-capture: %s; choose another directory with -o\n", text);
    return STATUS_CANNOT_RECORD;
  }
  if (former == RUN_DIRECTORY_KEEP) return 0;
  if (flock(directory->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fprintf(stderr, "tfprof-capture: another tfprof-capture is recording into %s; choose another directory with -o\n",
            output);
    return STATUS_CANNOT_RECORD;
  }
  int recordings = count_recordings(directory->path, false);
  if (recordings < 0) return failed(output, "cannot read the run directory");
  if (recordings > 0 && former == RUN_DIRECTORY_REFUSE) {
    fprintf(
        stderr,
        "tfprof-capture: %s holds a recording already (%d file%s); choose another directory with -o, or say --force "
        "to replace it\n",
        output, recordings, recordings == 1 ? "" : "s");
    return STATUS_CANNOT_RECORD;
  }
  if (recordings > 0 && count_recordings(directory->path, true) > 0)
    return failed(output, "cannot remove the former recording");
  return 0;
}

/* The space is only worth a word when it is nearly gone: the recording then ends early, the program does not. */
static void warn_of_little_space(const struct run_directory *directory) {
  struct statvfs facts;
  if (statvfs(directory->absolute, &facts) != 0 || facts.f_blocks == 0) return;
  double megabytes = (double)facts.f_bavail * (double)facts.f_frsize / 1e6;
  if (megabytes < LITTLE_SPACE_MB) {
    fprintf(stderr,
            "tfprof-capture: only %.1f MB are free for %s; when they are used up, what follows is not recorded\n",
            megabytes, directory->path);
  }
}

int run_directory_open(const char *output, enum run_directory_former former, bool quiet,
                       struct run_directory *directory) {
  *directory = (struct run_directory){.lock = -1};
  int status = output ? open_named(output, former, directory) : open_numbered(directory);
  if (status) return status;
  if (!realpath(directory->path, directory->absolute))
    return failed(directory->path, "cannot find the run directory");

  char probe[PATH_MAX];
  if ((size_t)snprintf(probe, sizeof probe, "%s/.tfprof-probe-XXXXXX", directory->absolute) >= sizeof probe) {
    errno = ENAMETOOLONG;
    return failed(directory->path, "cannot write into the run directory");
  }
  int descriptor = mkostemp(probe, O_CLOEXEC);
  if (descriptor < 0) {
    status = failed(directory->path, "cannot write into the run directory");
    run_directory_discard(directory);
    return status;
  }
  close(descriptor);
  unlink(probe);
  if (!quiet) warn_of_little_space(directory);
  return 0;
}

void run_directory_discard(struct run_directory *directory) {
  if (directory->is_new) rmdir(directory->absolute[0] ? directory->absolute : directory->path);
}
