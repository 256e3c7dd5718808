/* run_peers.c: see run_peers.h. */
#include "run_peers.h"

#include "common/control_message.h"
#include "common/control_place.h"
#include "common/kept_place.h"
#include "control.h"
#include "host/process_identity.h"
#include "recorder/clock.h"
#include "recorder/moments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum {
  TRIES = 20, /* to reach one that forks at this moment, or is asked by many: */
  TRY_US = 5000,
};
static const int64_t OLDEST_NS = 60000000000; /* of what one says that another has met */

/* ---- Telling one. */

struct telling {
  uint8_t bytes[CONTROL_MAXIMUM];
  size_t length;
  char places[CONTROL_PLACES][4096]; /* of sockets */
  unsigned place_count;
  const char *run_directory;
  uint64_t end_ns;
  struct asked_others result;
};

/* 0, or the errno that says why not. */
static int tell_at(const struct telling *telling, const char *place, const char *name) {
  struct sockaddr_un address;
  char problem[300];
  int directory = control_place_open(place, geteuid(), false, problem, sizeof problem);
  if (directory < 0) return ENOENT;
  control_address(directory, name, &address);
  int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), reason = one < 0 ? errno : 0;
  if (!reason && connect(one, (const struct sockaddr *)&address, sizeof address)) reason = errno;
  if (!reason && send(one, telling->bytes, telling->length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)telling->length)
    reason = errno ? errno : EIO;
  if (one >= 0) close(one); /* what was sent is still read */
  close(directory);
  return reason;
}

/* The socket of one that forks is away for a moment. */
static bool tell_peer(const struct telling *telling, const char *name) {
  for (int try = 0; try < TRIES; try++) {
    for (unsigned i = 0; i < telling->place_count; i++)
      if (!tell_at(telling, telling->places[i], name)) return true;
    if (moment_now_ns() >= telling->end_ns) return false;
    usleep(TRY_US);
  }
  return false;
}

/* ---- Finding them. */

static bool is_peer_alive(const struct kept_head *head) {
  return head->start_time && control_start_time((pid_t)head->process) == head->start_time;
}

static void look_at_peer(struct telling *telling, int directory, const char *file_name) {
  static struct kept_head head; /* large for a stack */
  char name[CONTROL_NAME_SIZE];
  int file = openat(directory, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  bool is_one = kept_head_read(file, &head) && strcmp(head.run_directory, telling->run_directory) == 0 &&
                head.process != (uint64_t)getpid() && head.process_namespace == kept_process_namespace();
  close(file);
  if (!is_one || !is_peer_alive(&head)) return;
  control_name(name, (pid_t)head.process, head.start_time);
  if (tell_peer(telling, name)) telling->result.asked++;
  else if (is_peer_alive(&head)) telling->result.failed++;
}

/* As getdents64(2) has it; readdir(3) would take memory. */
struct entry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

static bool is_kept_file(const char *name) {
  size_t length = strlen(name), suffix = sizeof KEPT_SUFFIX - 1;
  return length > suffix && !strcmp(name + length - suffix, KEPT_SUFFIX);
}

static void look_at_peers(struct telling *telling, int directory) {
  static _Alignas(struct entry) char entries[16384];
  for (long got; (got = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < got;) {
      const struct entry *entry = (const struct entry *)(entries + at);
      at += entry->length;
      if (is_kept_file(entry->name)) look_at_peer(telling, directory, entry->name);
      if (moment_now_ns() >= telling->end_ns) return;
    }
  }
}

struct asked_others run_peers_ask(const char *run_directory, const struct kept_trigger *trigger, int timeout_ms) {
  static struct telling telling;
  static struct control_message met;
  char place[64], problem[300];
  int rank;
  memset(&met, 0, offsetof(struct control_message, storage));
  met.kind = CONTROL_MET;
  met.numbers[CONTROL_PROCESS] = (uint64_t)getpid();
  met.numbers[CONTROL_RANK] = process_identity_is_rank(&rank) ? (uint64_t)rank + 1 : 0;
  met.numbers[CONTROL_START] = (uint64_t)trigger->time_ns;
  control_set_text(&met, CONTROL_DIRECTORY, run_directory);
  control_set_text(&met, CONTROL_TRIGGER, trigger->kind);
  control_set_text(&met, CONTROL_TRIGGER_MESSAGE, trigger->message);
  telling.length = control_message_write(&met, telling.bytes, sizeof telling.bytes);
  telling.place_count = control_own_places(telling.places);
  telling.run_directory = run_directory;
  telling.end_ns = moment_now_ns() + (uint64_t)timeout_ms * 1000000;
  telling.result = (struct asked_others){0, 0};
  kept_place(place, sizeof place, geteuid());
  int directory = telling.length ? control_place_open(place, geteuid(), false, problem, sizeof problem) : -1;
  if (directory < 0) return telling.result;
  look_at_peers(&telling, directory);
  close(directory);
  return telling.result;
}

/* ---- Being told. */

bool run_peers_read(const char *run_directory, const struct control_message *met, struct kept_trigger *trigger) {
  const char *directory = control_text(met, CONTROL_DIRECTORY), *name = control_text(met, CONTROL_TRIGGER),
             *message = control_text(met, CONTROL_TRIGGER_MESSAGE);
  const uint64_t *numbers = met->numbers;
  enum trigger_kind kind = name ? trigger_kind_of(name) : TRIGGER_KINDS;
  if (!directory || strcmp(directory, run_directory) != 0 || kind == TRIGGER_KINDS) return false;
  if (numbers[CONTROL_PROCESS] > INT32_MAX || numbers[CONTROL_RANK] > INT32_MAX) return false;
  int64_t now_ns = (int64_t)clock_monotonic_ns(), time_ns = (int64_t)numbers[CONTROL_START];
  bool is_plausible = time_ns <= now_ns && time_ns > now_ns - OLDEST_NS;
  char who[64];
  snprintf(who, sizeof who, "process %d", (int)numbers[CONTROL_PROCESS]);
  if (numbers[CONTROL_RANK])
    snprintf(who, sizeof who, "rank %d (process %d)", (int)numbers[CONTROL_RANK] - 1, (int)numbers[CONTROL_PROCESS]);
  *trigger = (struct kept_trigger){.asked_by_kind = trigger_kind_name(kind),
                                   .time_ns = is_plausible ? time_ns : now_ns,
                                   .asked_by_process = (int64_t)numbers[CONTROL_PROCESS],
                                   .asked_by_rank_plus_one = (int64_t)numbers[CONTROL_RANK]};
  snprintf(trigger->message, sizeof trigger->message, "%s: %s: %s", who, trigger_kind_name(kind),
           message ? message : "");
  return true;
}
