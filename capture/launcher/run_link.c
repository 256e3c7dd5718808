/* run_link.c: see run_link.h. */
#include "run_link.h"

#include "common/control_place.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".run"

static char *link_path;

void run_link_begin(const char *directory) {
  char places[CONTROL_PLACES][4096], name[CONTROL_NAME_SIZE], problem[300];
  unsigned count = control_places(geteuid(), getenv("XDG_RUNTIME_DIR"), places);
  control_name(name, getpid(), control_start_time(getpid()));
  for (unsigned i = 0; i < count; i++) {
    int place = control_place_open(places[i], geteuid(), true, problem, sizeof problem);
    if (place < 0) continue;
    close(place);
    if (asprintf(&link_path, "%s/%s" SUFFIX, places[i], name) < 0) link_path = NULL;
    if (link_path && symlink(directory, link_path) == 0) return;
    free(link_path);
    link_path = NULL;
    return;
  }
}

void run_link_end(void) {
  if (link_path) unlink(link_path);
  free(link_path);
  link_path = NULL;
}

/* Whether the launcher that made the link still runs. */
static bool is_of_launcher(const char *file, bool *is_alive) {
  char name[CONTROL_NAME_SIZE + sizeof SUFFIX];
  pid_t process;
  uint64_t start_time;
  size_t length = strlen(file), suffix = sizeof SUFFIX - 1;
  if (length <= suffix || length >= sizeof name || strcmp(file + length - suffix, SUFFIX) != 0) return false;
  memcpy(name, file, length - suffix);
  name[length - suffix] = 0;
  if (!control_name_read(name, &process, &start_time)) return false;
  *is_alive = control_start_time(process) == start_time;
  return true;
}

static void look_into(int place, const char *file, bool is_alive,
                      void (*tell)(void *, const char *, const struct process_recording *), void *context) {
  char directory[PATH_MAX];
  ssize_t length = readlinkat(place, file, directory, sizeof directory - 1);
  if (length <= 0) return;
  directory[length] = 0;
  struct recording recording;
  if (recording_read_alive(directory, &recording))
    for (size_t i = 0; i < recording.process_count; i++) {
      is_alive = true;
      tell(context, directory, &recording.processes[i]);
    }
  recording_free(&recording);
  if (!is_alive) unlinkat(place, file, 0);
}

void run_links_tell(void (*tell)(void *context, const char *directory, const struct process_recording *process),
                    void *context) {
  char places[CONTROL_PLACES][4096], problem[300];
  unsigned count = control_places(geteuid(), getenv("XDG_RUNTIME_DIR"), places);
  for (unsigned i = 0; i < count; i++) {
    int place = control_place_open(places[i], geteuid(), false, problem, sizeof problem);
    DIR *stream = place >= 0 ? fdopendir(place) : NULL;
    if (!stream && place >= 0) close(place);
    if (!stream) continue;
    bool is_alive;
    for (struct dirent *entry; (entry = readdir(stream));)
      if (is_of_launcher(entry->d_name, &is_alive)) look_into(place, entry->d_name, is_alive, tell, context);
    closedir(stream);
  }
}
