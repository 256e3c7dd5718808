/* asked.c: see asked.h. */
#include "asked.h"

#include "base/list.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
  FACTS_MS = 3000, /* that a process may take to say what it is */
  TRIES = 100,     /* to reach one that forks at this moment, or is asked by many: */
  TRY_US = 20000,
  NUMBERS_LEFT = 16,
};

static int64_t milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Sockets. */

static bool is_alive(const struct asked *asked) {
  pid_t process;
  uint64_t start_time;
  return control_name_read(asked->name, &process, &start_time) && control_start_time(process) == start_time;
}

/* errno of the last try. */
static int try_to_connect(const struct asked *asked, int directory) {
  struct sockaddr_un address;
  control_address(directory, asked->name, &address);
  int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), reason;
  if (one < 0) return -errno;
  if (connect(one, (const struct sockaddr *)&address, sizeof address) == 0) return one;
  reason = errno;
  close(one);
  return -reason;
}

/* A socket that nobody listens at any more is that of a process that was killed, or goes on with another program, or of
** one that is about to fork, which makes it anew. */
static void reach(struct asked *asked, uid_t owner) {
  int directory = control_place_open(asked->place, owner, false, asked->problem, sizeof asked->problem), result = -1;
  if (directory < 0) return;
  for (int i = 0; i < TRIES; i++) {
    result = try_to_connect(asked, directory);
    bool may_pass = result == -EAGAIN || ((result == -ECONNREFUSED || result == -ENOENT) && is_alive(asked));
    if (result >= 0 || !may_pass) break;
    usleep(TRY_US);
  }
  if (result == -ECONNREFUSED) unlinkat(directory, asked->name, 0);
  close(directory);
  asked->socket = result >= 0 ? result : -1;
  if (result >= 0) return;
  if (!is_alive(asked)) snprintf(asked->problem, sizeof asked->problem, "it has ended");
  else if (result == -EAGAIN)
    snprintf(asked->problem, sizeof asked->problem, "too many ask it at the same time; try again");
  else
    snprintf(asked->problem, sizeof asked->problem, "it cannot be reached: %s", strerror(-result));
}

void asked_hang_up(struct asked *asked) {
  if (asked->socket >= 0) close(asked->socket);
  asked->socket = -1;
  asked->got = 0;
}

static uid_t owner_of(const struct asked *asked) {
  struct stat facts;
  return lstat(asked->place, &facts) == 0 && geteuid() == 0 ? facts.st_uid : geteuid();
}

bool asked_send(struct asked *asked, const struct control_message *message) {
  uint8_t bytes[CONTROL_MAXIMUM];
  size_t length = control_message_write(message, bytes, sizeof bytes);
  if (asked->socket < 0) reach(asked, owner_of(asked));
  if (asked->socket < 0) return false;
  if (length && send(asked->socket, bytes, length, MSG_NOSIGNAL) == (ssize_t)length) return true;
  snprintf(asked->problem, sizeof asked->problem, length ? "it has ended" : "what is asked for is too long");
  asked_hang_up(asked);
  return false;
}

void asked_tell(struct asked *asked, const struct control_message *message) {
  uint8_t bytes[CONTROL_MAXIMUM];
  size_t length = control_message_write(message, bytes, sizeof bytes);
  if (asked->socket >= 0) (void)!send(asked->socket, bytes, length, MSG_NOSIGNAL);
}

static size_t message_size(const uint8_t *bytes) { return CONTROL_HEAD + (bytes[6] | (size_t)bytes[7] << 8); }

enum asked_news asked_receive(struct asked *asked, struct control_message *message) {
  for (;;) {
    enum control_reading reading =
        asked->got ? control_message_read(asked->bytes, asked->got, message) : CONTROL_MORE;
    if (reading == CONTROL_WHOLE) {
      size_t size = message_size(asked->bytes);
      asked->got -= size;
      memmove(asked->bytes, asked->bytes + size, asked->got);
      return ASKED_MESSAGE;
    }
    if (reading != CONTROL_MORE || asked->got == sizeof asked->bytes) {
      snprintf(asked->problem, sizeof asked->problem, "what it answers is not understood: %s",
               reading == CONTROL_OTHER_VERSION ? "it is recorded by another version of tfprof" : "no message");
      return ASKED_GONE;
    }
    ssize_t got = asked->socket < 0 ? 0 : recv(asked->socket, asked->bytes + asked->got,
                                               sizeof asked->bytes - asked->got, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return ASKED_NOTHING;
    if (got <= 0) return ASKED_GONE;
    asked->got += (size_t)got;
  }
}

void asked_wait(const struct asked_list *list, int milliseconds) {
  struct pollfd *polled = calloc(list->count + 1, sizeof *polled);
  if (!polled) return;
  for (size_t i = 0; i < list->count; i++) polled[i] = (struct pollfd){.fd = list->all[i]->socket, .events = POLLIN};
  poll(polled, list->count, milliseconds);
  free(polled);
}

/* ---- Who there is. */

static bool add(struct asked_list *list, const char *place, const char *name, pid_t process) {
  struct asked *asked = calloc(1, sizeof *asked);
  if (!asked || !array_room(list->all, list->count, list->capacity)) {
    free(asked);
    return false;
  }
  asked->process = process;
  asked->socket = -1;
  snprintf(asked->place, sizeof asked->place, "%s", place);
  snprintf(asked->name, sizeof asked->name, "%.*s", CONTROL_NAME_SIZE - 1, name);
  list->all[list->count++] = asked;
  return true;
}

static bool find_in(const char *place, uid_t owner, pid_t wanted, struct asked_list *list) {
  char problem[300];
  int directory = control_place_open(place, owner, false, problem, sizeof problem);
  DIR *stream = directory >= 0 ? fdopendir(directory) : NULL;
  bool is_complete = true;
  if (!stream && directory >= 0) close(directory);
  if (!stream) return true;
  for (struct dirent *entry; is_complete && (entry = readdir(stream));) {
    pid_t process;
    uint64_t start_time;
    if (!control_name_read(entry->d_name, &process, &start_time)) continue;
    if (!wanted || process == wanted) is_complete = add(list, place, entry->d_name, process);
  }
  closedir(stream);
  return is_complete;
}

static int by_process(const void *left, const void *right) {
  const struct asked *const *a = left, *const *b = right;
  return ((*a)->process > (*b)->process) - ((*a)->process < (*b)->process);
}

/* A descriptor for each is needed at the same time. */
static void raise_limit(size_t count) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= count + NUMBERS_LEFT) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

bool asked_is_stopped(const struct asked *asked) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)asked->process);
  FILE *file = fopen(path, "re");
  const char *state = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
  if (file) fclose(file);
  return state && (state[2] == 'T' || state[2] == 't');
}

static void explain_silence(struct asked *asked) {
  snprintf(asked->problem, sizeof asked->problem, "it does not answer%s",
           asked_is_stopped(asked) ? ": it is stopped (kill -CONT lets it go on)" : "");
}

static void ask_all(const struct asked_list *list) {
  const struct control_message question = {.kind = CONTROL_ASK};
  int64_t end_ms = milliseconds_now() + FACTS_MS;
  size_t waiting = 0;
  for (size_t i = 0; i < list->count; i++) waiting += asked_send(list->all[i], &question);
  while (waiting && milliseconds_now() < end_ms) {
    asked_wait(list, (int)(end_ms - milliseconds_now()) + 1);
    for (size_t i = 0; i < list->count; i++) {
      struct asked *asked = list->all[i];
      if (asked->socket < 0) continue;
      enum asked_news news = asked_receive(asked, &asked->facts);
      if (news == ASKED_NOTHING) continue;
      if (news == ASKED_GONE) asked->facts.kind = 0;
      if (news == ASKED_GONE && !asked->problem[0])
        snprintf(asked->problem, sizeof asked->problem, "it has ended, or is another user's");
      asked_hang_up(asked);
      waiting--;
    }
  }
  for (size_t i = 0; i < list->count; i++) {
    struct asked *asked = list->all[i];
    if (asked->socket >= 0) explain_silence(asked);
    asked_hang_up(asked);
  }
}

bool asked_find(pid_t process, struct asked_list *list) {
  char places[CONTROL_PLACES][4096], path[64];
  uid_t owner = geteuid();
  struct stat facts;
  *list = (struct asked_list){0};
  snprintf(path, sizeof path, "/proc/%ld", (long)process);
  if (process && owner == 0 && stat(path, &facts) == 0) owner = facts.st_uid;
  unsigned count = control_places(owner, owner == geteuid() ? getenv("XDG_RUNTIME_DIR") : NULL, places);
  bool is_complete = true;
  for (unsigned i = 0; i < count && is_complete; i++) is_complete = find_in(places[i], owner, process, list);
  if (list->count) qsort(list->all, list->count, sizeof *list->all, by_process);
  raise_limit(list->count);
  ask_all(list);
  return is_complete;
}

char *asked_run_of(const char *whom) {
  if (!whom || strncmp(whom, "run:", 4) != 0) return NULL;
  char *whole = realpath(whom + 4, NULL);
  return whole ? whole : strdup(whom + 4);
}

bool asked_is_of_run(const struct asked *asked, const char *directory) {
  const char *its = asked->facts.kind == CONTROL_FACTS ? control_text(&asked->facts, CONTROL_DIRECTORY) : NULL;
  return its && strcmp(its, directory) == 0;
}

void asked_free(struct asked_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    asked_hang_up(list->all[i]);
    free(list->all[i]);
  }
  free(list->all);
  *list = (struct asked_list){0};
}
