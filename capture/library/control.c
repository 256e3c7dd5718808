/* control.c: see control.h. */
#include "control.h"

#include "common/control_message.h"
#include "governor/sampling.h"
#include "host/process_identity.h"
#include "recorder/file_threads.h"
#include "recorder/gate.h"
#include "recorder/moments.h"
#include "recorder/own_threads.h"
#include "recorder/parts.h"
#include "recorder/recording.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum {
  CONNECTIONS = 16, /* at the same time; others wait for a place */
  BACKLOG = 128,
  REQUEST_MAXIMUM = CONTROL_HEAD + CONTROL_TEXT_MAXIMUM + 128,
  REQUEST_MS = 2000, /* within which one comes, */
  CROWD_MS = 100,    /* and where others wait for a place */
  LOOK_MS = 10,      /* so often a visit is looked at */
  STEP_WAIT_MS = 1000, /* a visit by time begins without a step where none comes for so long */
  MORE_MS = 1000, /* so long it waits for others to have their steps, or for as long as its own took */
  END_MS = 300,
  SOCKET_MODE = 0600,
};

struct connection {
  int socket; /* -1: the place is free */
  uint64_t until_ns;
  size_t got;
  uint8_t bytes[REQUEST_MAXIMUM];
};

pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_ended;
static bool is_running, is_over, is_visited; /* there is a thread; it is to end; it has a visit */
static pid_t process;                        /* whose thread it is */
static pthread_t thread;
static long thread_number;
static char runtime_directory[4096], place[4096], name[CONTROL_NAME_SIZE]; /* of the socket */

static const struct control_session *session;

void control_set_session(const struct control_session *its_session) { session = its_session; }

/* ---- Of the thread alone. */

static struct connection connections[CONNECTIONS];
static struct {
  int connection; /* of who asked; -1: nobody any more */
  bool goes_on, is_told, is_together, has_enough;
  uint64_t asked_ns, duration_ns;
  uint64_t steps, until_ns; /* asked of one together with others; it waits for theirs until then */
} visit;

static bool is_visitor(const struct connection *connection) {
  return visit.goes_on && visit.connection == connection - connections;
}

static void hang_up(struct connection *connection) {
  if (is_visitor(connection)) visit.connection = -1;
  close(connection->socket);
  connection->socket = -1;
}

/* Who does not take it at once gets no more. */
static void answer(struct connection *connection, const struct control_message *message) {
  uint8_t bytes[CONTROL_MAXIMUM];
  size_t length = control_message_write(message, bytes, sizeof bytes);
  ssize_t sent = length ? send(connection->socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
  if (sent != (ssize_t)length) hang_up(connection);
}

static void refuse_request(struct connection *connection, const char *problem) {
  struct control_message message = {.kind = CONTROL_REFUSED};
  control_set_text(&message, CONTROL_PROBLEM, problem);
  answer(connection, &message);
  if (connection->socket >= 0) hang_up(connection);
}

/* ---- What the process is. */

static void tell_facts(struct connection *connection) {
  struct process_identity identity;
  struct control_message facts = {.kind = CONTROL_FACTS};
  char framework[160], program[CONTROL_TEXT_MAXIMUM + 1];
  int state = atomic_load(&gate_state);
  process_identity_get(&identity);
  const struct dump_profile *profile = &identity.profile;
  snprintf(framework, sizeof framework, "%s%s%s", profile->framework ? profile->framework : "",
           profile->framework && profile->framework_version ? " " : "",
           profile->framework && profile->framework_version ? profile->framework_version : "");
  snprintf(program, sizeof program, "%s", profile->command ? profile->command : "");
  facts.numbers[CONTROL_PROCESS] = (uint64_t)getpid();
  facts.numbers[CONTROL_RANK] = (uint64_t)((int64_t)profile->rank + 1);
  facts.numbers[CONTROL_WORLD] = profile->world_size;
  facts.numbers[CONTROL_STEPS] = sampling_steps();
  facts.numbers[CONTROL_STATE] = session->keeps()         ? CONTROL_KEEPING
                                 : state == GATE_RECORDING ? CONTROL_RECORDING
                                 : state == GATE_WOKEN   ? CONTROL_WAITING
                                                         : CONTROL_DORMANT;
  control_set_text(&facts, CONTROL_PROGRAM, program);
  control_set_text(&facts, CONTROL_FRAMEWORK, framework);
  control_set_text(&facts, CONTROL_DIRECTORY, session->run_directory);
  answer(connection, &facts);
}

/* ---- A visit. */

static void set_visited(bool is_so) {
  pthread_mutex_lock(&control_lock);
  is_visited = visit.goes_on = is_so;
  pthread_mutex_unlock(&control_lock);
}

static void begin_visit(struct connection *connection, const struct control_message *request) {
  char problem[2300];
  const char *directory = control_text(request, CONTROL_DIRECTORY);
  uint64_t begin_ns = request->numbers[CONTROL_START], steps = request->numbers[CONTROL_STEPS];
  bool is_together = request->numbers[CONTROL_TOGETHER] != 0;
  if (!steps && !request->numbers[CONTROL_DURATION]) {
    refuse_request(connection, "neither steps nor a time are asked for");
    return;
  }
  if (directory && directory[0] != '/') {
    refuse_request(connection, "the directory is not given by its whole path");
    return;
  }
  if (session->keeps()) {
    refuse_request(connection, "it keeps its last seconds (--keep): --write writes them");
    return;
  }
  if (visit.goes_on) {
    refuse_request(connection, "it is being recorded for somebody else now; ask again when that has ended");
    return;
  }
  if (!session->begin_visit(directory, begin_ns, is_together ? 0 : steps, problem, sizeof problem)) {
    refuse_request(connection, problem);
    return;
  }
  visit.connection = (int)(connection - connections);
  visit.is_told = visit.has_enough = false;
  visit.is_together = is_together;
  visit.steps = is_together ? steps : 0;
  visit.duration_ns = request->numbers[CONTROL_DURATION];
  uint64_t now_ns = moment_now_ns();
  visit.asked_ns = begin_ns > now_ns ? begin_ns : now_ns;
  set_visited(true);
}

static void write_kept(struct connection *connection) {
  char path[4400], problem[300] = "it keeps nothing: it was not started with --keep";
  struct control_message message = {.kind = CONTROL_ENDED};
  if (!session->keeps() || !session->write_kept(path, sizeof path, problem, sizeof problem)) {
    refuse_request(connection, problem);
    return;
  }
  control_set_text(&message, CONTROL_FILE, path);
  answer(connection, &message);
  if (connection->socket >= 0) hang_up(connection);
}

static void tell_begun(const struct visit *facts) {
  struct control_message message = {.kind = CONTROL_BEGUN};
  message.numbers[CONTROL_START] = facts->begin_ns;
  control_set_text(&message, CONTROL_FILE, recording_path());
  visit.is_told = true;
  if (visit.connection >= 0) answer(&connections[visit.connection], &message);
}

/* What was written is read, and the file closed. Of a visit that never began there is none. */
static void finish_visit(const struct visit *facts) {
  char path[4400];
  struct control_message message = {.kind = CONTROL_ENDED};
  snprintf(path, sizeof path, "%s", recording_path());
  session->end_visit();
  if (!facts->begin_ns) unlink(path);
  sampling_forget_visit();
  int connection = visit.connection;
  set_visited(false);
  if (connection < 0) return;
  message.numbers[CONTROL_STEPS] = facts->steps;
  message.numbers[CONTROL_START] = facts->begin_ns;
  message.numbers[CONTROL_STOP] = facts->end_ns;
  if (facts->begin_ns) control_set_text(&message, CONTROL_FILE, path);
  answer(&connections[connection], &message);
  if (connections[connection].socket >= 0) hang_up(&connections[connection]);
}

/* Whether it begins now though no step ends. Until the first has, a program with others is in none yet. */
static bool has_to_begin(uint64_t now_ns) {
  uint64_t wait_ns = STEP_WAIT_MS * UINT64_C(1000000);
  if (visit.is_together && sampling_steps()) return now_ns >= visit.asked_ns;
  if (visit.duration_ns && visit.duration_ns < wait_ns) wait_ns = visit.duration_ns;
  return visit.duration_ns && now_ns >= visit.asked_ns + wait_ns;
}

/* It has its steps, and waits for the others to have theirs. */
static void tell_enough(const struct visit *facts, uint64_t now_ns) {
  const struct control_message message = {.kind = CONTROL_ENOUGH};
  uint64_t took_ns = now_ns - facts->begin_ns, more_ns = MORE_MS * UINT64_C(1000000);
  visit.has_enough = true;
  visit.until_ns = now_ns + (took_ns > more_ns ? took_ns : more_ns);
  if (visit.connection >= 0) answer(&connections[visit.connection], &message);
}

static void look_at_visit(void) {
  struct visit facts;
  uint64_t now_ns = moment_now_ns();
  sampling_look_at_visit(&facts);
  if (facts.state == VISIT_AWAITED && has_to_begin(now_ns)) {
    sampling_begin_visit();
    sampling_look_at_visit(&facts);
  }
  if (facts.begin_ns && !visit.is_told) tell_begun(&facts);
  bool is_on = facts.state == VISIT_GOES_ON;
  if (is_on && visit.steps && !visit.has_enough && facts.steps >= visit.steps) tell_enough(&facts, now_ns);
  uint64_t passed_ns = facts.begin_ns && now_ns > facts.begin_ns ? now_ns - facts.begin_ns : 0;
  bool is_time_over = is_on && visit.duration_ns && passed_ns >= visit.duration_ns;
  is_time_over |= is_on && visit.has_enough && now_ns >= visit.until_ns;
  if (facts.state != VISIT_OVER && (is_time_over || visit.connection < 0)) {
    sampling_end_visit();
    sampling_look_at_visit(&facts);
  }
  if (facts.state == VISIT_OVER) finish_visit(&facts);
}

/* ---- Connections. */

static void take_request(struct connection *connection) {
  struct control_message request;
  enum control_reading reading = control_message_read(connection->bytes, connection->got, &request);
  if (reading == CONTROL_MORE && connection->got < sizeof connection->bytes) return;
  connection->got = 0;
  connection->until_ns = moment_now_ns() + REQUEST_MS * UINT64_C(1000000);
  bool is_his = is_visitor(connection);
  if (reading == CONTROL_OTHER_VERSION)
    refuse_request(connection, "it is recorded by another version of tfprof: ask by tfprof-capture of that version");
  else if (reading != CONTROL_WHOLE)
    hang_up(connection);
  else if (request.kind == CONTROL_ASK)
    tell_facts(connection);
  else if (request.kind == CONTROL_RECORD && !is_his)
    begin_visit(connection, &request);
  else if (request.kind == CONTROL_WRITE && !is_his)
    write_kept(connection);
  else if (request.kind == CONTROL_END && is_his)
    sampling_end_visit();
  else {
    if (request.kind == CONTROL_MET && !is_his && session->keeps()) session->note_met(&request);
    hang_up(connection);
  }
}

static void read_from(struct connection *connection) {
  ssize_t got = recv(connection->socket, connection->bytes + connection->got,
                     sizeof connection->bytes - connection->got, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    hang_up(connection);
    return;
  }
  connection->got += (size_t)got;
  take_request(connection);
}

static bool is_welcome(int socket) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return !getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (peer.uid == 0 || peer.uid == geteuid());
}

static void accept_from(int listener, struct connection *connection) {
  int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return;
  if (!is_welcome(socket)) {
    close(socket);
    return;
  }
  connection->socket = socket;
  connection->got = 0;
  connection->until_ns = moment_now_ns() + REQUEST_MS * UINT64_C(1000000);
}

static bool has_to_end(void) {
  pthread_mutex_lock(&control_lock);
  bool is_so = is_over;
  pthread_mutex_unlock(&control_lock);
  return is_so;
}

static bool is_full(void) {
  unsigned used = 0;
  for (unsigned i = 0; i < CONNECTIONS; i++) used += connections[i].socket >= 0;
  return used == CONNECTIONS;
}

/* The milliseconds that the thread may sleep; -1: until somebody comes. Who has said nothing for long is hung up on. */
static int patience(void) {
  uint64_t now_ns = moment_now_ns();
  uint64_t earlier_ns = is_full() ? (REQUEST_MS - CROWD_MS) * UINT64_C(1000000) : 0;
  int least = -1;
  for (unsigned i = 0; i < CONNECTIONS; i++) {
    struct connection *connection = &connections[i];
    if (connection->socket < 0 || is_visitor(connection)) continue;
    if (now_ns + earlier_ns >= connection->until_ns) {
      hang_up(connection);
      continue;
    }
    int left = (int)((connection->until_ns - earlier_ns - now_ns) / 1000000) + 1;
    if (least < 0 || left < least) least = left;
  }
  if (!visit.goes_on) return least;
  bool is_ahead = visit.is_together && !visit.is_told && visit.asked_ns > now_ns;
  uint64_t left_ms = is_ahead ? (visit.asked_ns - now_ns) / 1000000 + 1 : LOOK_MS;
  return left_ms < LOOK_MS ? (int)left_ms : LOOK_MS;
}

static void serve(int listener) {
  struct pollfd polled[CONNECTIONS + 1];
  for (unsigned i = 0; i < CONNECTIONS; i++) connections[i].socket = -1;
  visit.goes_on = false;
  while (!has_to_end()) {
    int free_place = -1, timeout = patience();
    for (int i = 0; i < CONNECTIONS; i++) {
      polled[i] = (struct pollfd){.fd = connections[i].socket, .events = POLLIN};
      if (connections[i].socket < 0) free_place = i;
    }
    polled[CONNECTIONS] = (struct pollfd){.fd = free_place >= 0 ? listener : -1, .events = POLLIN};
    if (poll(polled, CONNECTIONS + 1, timeout) < 0 && errno != EINTR) break;
    for (int i = 0; i < CONNECTIONS; i++)
      if (connections[i].socket >= 0 && polled[i].revents) read_from(&connections[i]);
    if (polled[CONNECTIONS].revents) accept_from(listener, &connections[free_place]);
    if (visit.goes_on) look_at_visit();
  }
}

/* ---- The socket. */

/* -1, and why. The mode that the socket has before it gets its name is that of the file. */
static int listen_at(int directory, char *problem, size_t size) {
  struct sockaddr_un address;
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  control_address(directory, name, &address);
  unlinkat(directory, name, 0); /* of this process, from before a fork */
  if (listener >= 0 && fchmod(listener, SOCKET_MODE) == 0 &&
      bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 && listen(listener, BACKLOG) == 0)
    return listener;
  snprintf(problem, size, "no socket can be made in %.200s: %s", place, strerror(errno));
  if (listener >= 0) close(listener);
  return -1;
}

unsigned control_own_places(char places[CONTROL_PLACES][4096]) {
  return control_places(geteuid(), runtime_directory[0] ? runtime_directory : NULL, places);
}

/* The first place that can be used, of which `place` is the path. */
static int open_place(char *problem, size_t size) {
  char places[CONTROL_PLACES][4096], first[300] = "";
  unsigned count = control_own_places(places);
  for (unsigned i = 0; i < count; i++) {
    int directory = control_place_open(places[i], geteuid(), true, problem, size);
    if (directory >= 0) {
      memcpy(place, places[i], sizeof place);
      return directory;
    }
    if (!first[0]) snprintf(first, sizeof first, "%.290s", problem);
  }
  snprintf(problem, size, "%s", first);
  return -1;
}

static void *run_control(void *unused) {
  char problem[400] = "this system gives a thread no table of descriptors of its own (Linux 5.9 has that)";
  (void)unused;
  prctl(PR_SET_NAME, "tfprof-control");
  thread_number = syscall(SYS_gettid);
  bool is_apart = file_threads_take_table();
  if (is_apart) control_name(name, getpid(), control_start_time(getpid()));
  int directory = is_apart ? open_place(problem, sizeof problem) : -1;
  int listener = directory >= 0 ? listen_at(directory, problem, sizeof problem) : -1;
  if (listener >= 0) serve(listener);
  else
    capture_say("process %ld cannot be asked%s: %s; the program goes on", (long)getpid(),
                session->keeps() ? "" : ", and so nothing will be recorded of it", problem);
  for (unsigned i = 0; i < CONNECTIONS && listener >= 0; i++)
    if (connections[i].socket >= 0) close(connections[i].socket);
  if (listener >= 0) close(listener);
  if (directory >= 0) close(directory);
  pthread_mutex_lock(&control_lock);
  is_running = false;
  pthread_cond_broadcast(&has_ended);
  pthread_mutex_unlock(&control_lock);
  return NULL;
}

/* ---- From other threads. */

void control_begin(void) {
  pthread_mutex_lock(&control_lock);
  if (process != getpid()) {
    const char *runtime = process ? NULL : getenv("XDG_RUNTIME_DIR");
    if (runtime) snprintf(runtime_directory, sizeof runtime_directory, "%s", runtime);
    process = getpid();
    moment_condition(&has_ended);
    is_running = false;
  }
  is_over = false;
  if (!is_running) is_running = own_thread_start(&thread, run_control, NULL);
  pthread_mutex_unlock(&control_lock);
}

/* Where files are used: somebody comes, and the thread looks whether it is to end. */
static void knock(void *unused) {
  struct sockaddr_un address;
  char problem[300];
  (void)unused;
  int directory = control_place_open(place, geteuid(), false, problem, sizeof problem);
  int one = directory >= 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
  if (one >= 0) {
    control_address(directory, name, &address);
    (void)!connect(one, (const struct sockaddr *)&address, sizeof address);
    close(one);
  }
  if (directory >= 0) close(directory);
}

/* Whether it has ended. */
static bool stop_serving(int milliseconds, bool even_if_visited) {
  const struct timespec until = moment_after(milliseconds);
  pthread_mutex_lock(&control_lock);
  bool is_there = process == getpid() && is_running, may_end = is_there && (even_if_visited || !is_visited);
  is_over = may_end;
  pthread_mutex_unlock(&control_lock);
  if (!may_end) return !is_there;
  if (!file_thread_run_within(FILE_THREAD_QUICK, knock, NULL, milliseconds)) return false;
  pthread_mutex_lock(&control_lock);
  while (is_running)
    if (pthread_cond_timedwait(&has_ended, &control_lock, &until)) break;
  bool is_gone = !is_running;
  pthread_mutex_unlock(&control_lock);
  if (is_gone) pthread_join(thread, NULL);
  return is_gone;
}

bool control_rest(int milliseconds) {
  if (!stop_serving(milliseconds, false)) return false;
  own_thread_wait_until_gone(thread_number);
  return true;
}

void control_go_on(void) {
  if (process == getpid()) control_begin();
}

static void remove_socket(void *unused) {
  char path[sizeof place + sizeof name];
  (void)unused;
  snprintf(path, sizeof path, "%s/%s", place, name);
  unlink(path);
}

void control_end(void) {
  if (process != getpid()) return;
  stop_serving(END_MS, true);
  if (place[0]) file_thread_run_within(FILE_THREAD_QUICK, remove_socket, NULL, END_MS);
  process = 0;
}

void control_after_fork_in_child(void) {
  is_running = is_over = is_visited = false;
  memset(&visit, 0, sizeof visit);
}
