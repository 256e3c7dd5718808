/* control_place.c: see control_place.h. */
#include "control_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PLACE_SIZE = 4096, PLACE_MODE = 0700 };

unsigned control_places(uid_t user, const char *runtime, char places[CONTROL_PLACES][4096]) {
  unsigned count = 0;
  bool is_known = runtime && runtime[0] == '/' && strlen(runtime) + sizeof "/tfprof" <= PLACE_SIZE;
  if (is_known) snprintf(places[count++], PLACE_SIZE, "%s/tfprof", runtime);
  snprintf(places[count++], PLACE_SIZE, "/tmp/tfprof-%lu", (unsigned long)user);
  snprintf(places[count], PLACE_SIZE, "/run/user/%lu/tfprof", (unsigned long)user);
  return count + (!is_known || strcmp(places[0], places[count]) != 0);
}

int control_place_open(const char *place, uid_t user, bool make, char *problem, size_t size) {
  if (make && mkdir(place, PLACE_MODE) != 0 && errno != EEXIST) {
    snprintf(problem, size, "%.200s cannot be made: %s", place, strerror(errno));
    return -1;
  }
  int directory = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) {
    bool is_other = errno == ENOTDIR || errno == ELOOP;
    snprintf(problem, size, "%.200s %s", place, is_other ? "is a link or a file, and no directory" : strerror(errno));
    return -1;
  }
  struct stat facts;
  const char *wrong = fstat(directory, &facts)        ? "cannot be looked at"
                      : facts.st_uid != user          ? "is another user's"
                      : (facts.st_mode & 0077) != 0   ? "is open to other users (chmod 700 it)"
                                                      : NULL;
  if (!wrong) return directory;
  snprintf(problem, size, "%.200s %s", place, wrong);
  close(directory);
  return -1;
}

uint64_t control_read_start_time(const char *text) {
  enum { FIELDS_BEFORE = 20 }; /* from the one behind the name, the third, to the 22nd */
  const char *at = strrchr(text, ')'); /* the name may hold anything */
  for (int field = 0; at && field < FIELDS_BEFORE; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

uint64_t control_start_time(pid_t process) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  const char *at = strrchr(text, ')');
  if (at && (!strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3))) return 0;
  return control_read_start_time(text);
}

void control_name(char name[CONTROL_NAME_SIZE], pid_t process, uint64_t start_time) {
  snprintf(name, CONTROL_NAME_SIZE, "%ld-%llu", (long)process, (unsigned long long)start_time);
}

bool control_name_read(const char *name, pid_t *process, uint64_t *start_time) {
  char *end, again[CONTROL_NAME_SIZE];
  *process = (pid_t)strtol(name, &end, 10);
  if (*process <= 0 || *end != '-') return false;
  *start_time = strtoull(end + 1, NULL, 10);
  control_name(again, *process, *start_time);
  return strcmp(name, again) == 0;
}

void control_address(int directory, const char *name, struct sockaddr_un *address) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  /* Not /proc/self: a thread of ours may have a table of descriptors of its own. */
  snprintf(address->sun_path, sizeof address->sun_path, "/proc/thread-self/fd/%d/%.*s", directory,
           CONTROL_NAME_SIZE, name);
}
