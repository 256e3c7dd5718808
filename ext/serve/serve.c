/* serve.c: see serve.h.
**
** The address is there before the runs are open: a run that cannot be opened at once ends the program, one that needs
** longer says in the page that it is being opened.  The main thread waits for signals, and between them looks after
** what takes too long (worker_watch) and who asks nothing (listener_watch).
*/
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/listener.h"
#include "serve/worker.h"

enum { BACKLOG = 128, BUSY_MS = 50, IDLE_MS = 1000 };
static const int64_t opening_ns = 60000000, unused_ns = 1800000000000, stopping_ns = 2000000000;

struct serving {
  const struct serve_options *options;
  struct request_rules rules;
  struct worker *workers, *sql_workers; /* run_count, and one more of all together */
  struct worker **worker_list, **sql_worker_list;
  size_t worker_count;
  bool has_workers;
  struct listener *listener;
  struct recorder recorder;
  char own_name[256];
  unsigned port;
};

/* ---- where it listens ---- */

static int serve_trouble(const char *where, const char *what) {
  fprintf(stderr, "tfprof serve: %s: %s%s%s\n", where, what, errno ? ": " : "", errno ? strerror(errno) : "");
  return -1;
}

/* A socket that is left of a server that has ended is in the way of nobody; what else is there stays. */
static void remove_dead_socket(const struct sockaddr_un *name) {
  struct stat info;
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return;
  if (lstat(name->sun_path, &info) == 0 && S_ISSOCK(info.st_mode) &&
      connect(probe, (const struct sockaddr *)name, sizeof *name) != 0 && errno == ECONNREFUSED)
    unlink(name->sun_path);
  close(probe);
}

static int listen_on_path(const char *path) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  errno = 0;
  if (strlen(path) >= sizeof name.sun_path) return serve_trouble(path, "is too long for a socket's name");
  memcpy(name.sun_path, path, strlen(path) + 1);
  remove_dead_socket(&name);
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  mode_t before = umask(0177); /* its owner's alone, from the beginning */
  bool is_bound = made >= 0 && bind(made, (struct sockaddr *)&name, sizeof name) == 0;
  int reason = errno;
  umask(before);
  errno = reason;
  if (is_bound && listen(made, BACKLOG) == 0) return made;
  serve_trouble(path, "cannot be listened on");
  if (made >= 0) close(made);
  return -1;
}

static int listen_on_address(const char *text, unsigned port, unsigned *bound_port) {
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  bool is_six = inet_pton(AF_INET6, text, &six.sin6_addr) == 1;
  errno = 0;
  if (!is_six && inet_pton(AF_INET, text, &four.sin_addr) != 1)
    return serve_trouble(text, "is no address to listen on, such as 192.0.2.7 or ::");
  struct sockaddr *name = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
  socklen_t size = is_six ? sizeof six : sizeof four;
  int made = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
  if (made >= 0) setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (made >= 0 && bind(made, name, size) == 0 && listen(made, BACKLOG) == 0 && getsockname(made, name, &size) == 0) {
    *bound_port = ntohs(is_six ? six.sin6_port : four.sin_port);
    return made;
  }
  if (errno == EADDRINUSE) {
    fprintf(stderr, "tfprof serve: port %u is in use; leave --port out, and one that is free is taken\n", port);
  } else {
    serve_trouble(text, "cannot be listened on");
  }
  if (made >= 0) close(made);
  return -1;
}

static void print_address(const struct serving *serving) {
  const struct serve_options *options = serving->options;
  const char *token = serving->rules.token, *address = options->address ? options->address : "127.0.0.1";
  if (options->socket) {
    printf("http://127.0.0.1:8888/#token=%s\n", token);
    char *whole = realpath(options->socket, NULL); /* ssh takes a path from the root on alone */
    fprintf(stderr, "from your computer first: ssh -N -L 8888:%s %s\n", whole ? whole : options->socket,
            serving->own_name);
    free(whole);
  } else {
    bool is_six = strchr(address, ':') != NULL, is_any = strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
    printf("http://%s%s%s:%u/#token=%s\n", is_six && !is_any ? "[" : "", is_any ? serving->own_name : address,
           is_six && !is_any ? "]" : "", serving->port, token);
    if (options->address) {
      fputs("whoever can see this network sees what is served, and the token: ssh -L is safer than --listen\n", stderr);
    } else {
      fprintf(stderr, "from another computer first: ssh -N -L %u:127.0.0.1:%u %s\n", serving->port, serving->port,
              serving->own_name);
    }
  }
  fputs("Ctrl-C ends it\n", stderr);
  fflush(stdout);
}

/* ---- the runs ---- */

static bool make_workers(struct serving *serving) {
  size_t count = serving->options->path_count;
  serving->worker_count = count > 1 ? count + 1 : 1;
  serving->workers = calloc(serving->worker_count, sizeof *serving->workers);
  serving->sql_workers = calloc(serving->worker_count, sizeof *serving->sql_workers);
  serving->worker_list = calloc(serving->worker_count, sizeof *serving->worker_list);
  serving->sql_worker_list = calloc(serving->worker_count, sizeof *serving->sql_worker_list);
  if (!serving->workers || !serving->sql_workers || !serving->worker_list || !serving->sql_worker_list) return false;
  for (size_t i = 0; i < serving->worker_count; i++) {
    bool is_all = i == count;
    const char *const *paths = serving->options->paths + (is_all ? 0 : i);
    worker_prepare(&serving->workers[i], paths, is_all ? count : 1);
    worker_prepare(&serving->sql_workers[i], paths, is_all ? count : 1);
    serving->worker_list[i] = &serving->workers[i];
    serving->sql_worker_list[i] = &serving->sql_workers[i];
  }
  serving->has_workers = true;
  return true;
}

/* Begins to open each run. Those that fail within the time that a person does not notice are told at once. */
static enum serve_result open_runs(struct serving *serving) {
  const struct serve_options *options = serving->options;
  int64_t until = served_now() + opening_ns;
  for (size_t i = 0; i < options->path_count; i++) {
    if (!worker_start(&serving->workers[i])) {
      fputs("tfprof serve: no thread can be started\n", stderr);
      return SERVE_FAILED;
    }
  }
  for (size_t i = 0; i < options->path_count; i++) {
    char message[2200];
    int64_t left = until - served_now();
    if (worker_wait(&serving->workers[i], left > 0 ? left : 0) != WORKER_FAILED) continue;
    worker_state(&serving->workers[i], message, sizeof message);
    fprintf(stderr, "tfprof serve: %s\n", message);
    return SERVE_NOT_OPENED;
  }
  return SERVE_ENDED;
}

/* Whether a run that needed longer can be opened after all; when it cannot, that is told once. */
static bool can_open(struct serving *serving, size_t run, bool *is_told) {
  char message[2200];
  if (*is_told || worker_state(&serving->workers[run], message, sizeof message) != WORKER_FAILED) return !*is_told;
  fprintf(stderr, "tfprof serve: %s\n", message);
  *is_told = true;
  return false;
}

/* ---- the whole ---- */

static enum serve_result wait_for_end(struct serving *serving, const sigset_t *signals) {
  const size_t runs = serving->options->path_count;
  bool *are_told = calloc(runs, sizeof *are_told);
  enum serve_result result = are_told ? SERVE_ENDED : SERVE_FAILED;
  long pause_ms = BUSY_MS;
  while (are_told) {
    struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
    int64_t last_ns;
    size_t can = 0;
    if (sigtimedwait(signals, NULL, &pause) > 0) break;
    bool is_busy = listener_watch(serving->listener, &last_ns);
    for (size_t i = 0; i < serving->worker_count; i++) {
      is_busy |= worker_watch(&serving->workers[i]);
      is_busy |= worker_watch(&serving->sql_workers[i]);
    }
    for (size_t i = 0; i < runs; i++) can += can_open(serving, i, &are_told[i]);
    if (!can) {
      result = SERVE_NOT_OPENED;
      break;
    }
    if (!serving->options->stays && !is_busy && served_now() - last_ns > unused_ns) {
      fputs("tfprof serve: nobody has asked for half an hour; it ends (--stay: it does not)\n", stderr);
      break;
    }
    pause_ms = is_busy ? BUSY_MS : IDLE_MS;
  }
  free(are_told);
  return result;
}

/* false: threads are left behind. */
static bool stop_workers(struct serving *serving) {
  bool are_stopped = true;
  if (!serving->has_workers) return true;
  for (size_t i = 0; i < serving->worker_count; i++) {
    worker_end(&serving->workers[i]);
    worker_end(&serving->sql_workers[i]);
  }
  int64_t until = served_now() + stopping_ns;
  for (size_t i = 0; i < serving->worker_count; i++) {
    are_stopped &= worker_stop(&serving->workers[i], until);
    are_stopped &= worker_stop(&serving->sql_workers[i], until);
  }
  return are_stopped;
}

static void serving_free(struct serving *serving) {
  if (serving->listener) listener_end(serving->listener);
  recorder_end(&serving->recorder);
  bool are_stopped = stop_workers(serving);
  if (serving->listener) listener_stop(serving->listener);
  if (serving->options->socket && serving->listener) unlink(serving->options->socket);
  if (!are_stopped) return; /* what the threads that go on use is there until the program has ended, which is now */
  free(serving->workers);
  free(serving->sql_workers);
  free(serving->worker_list);
  free(serving->sql_worker_list);
}

static bool take_rules(struct serving *serving) {
  const struct serve_options *options = serving->options;
  struct request_rules *rules = &serving->rules;
  gethostname(serving->own_name, sizeof serving->own_name - 1);
  rules->takes_addresses = options->address != NULL;
  for (size_t i = 0; i < options->host_name_count; i++)
    rules->host_names[rules->host_name_count++] = options->host_names[i];
  if (options->address && rules->host_name_count < MOST_HOST_NAMES)
    rules->host_names[rules->host_name_count++] = serving->own_name;
  if (!options->token) return request_make_token(rules);
  memcpy(rules->token, options->token, TOKEN_LENGTH + 1);
  return true;
}

enum serve_result serve_run(const struct serve_options *options) {
  struct serving serving = {.options = options};
  struct tfprof_error error;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &signals, NULL); /* before there are threads, which have it so */
  signal(SIGPIPE, SIG_IGN);
  recorder_prepare(&serving.recorder);
  if (!take_rules(&serving) || !make_workers(&serving)) {
    fputs("tfprof serve: not enough memory, or the system has no random numbers\n", stderr);
    serving_free(&serving);
    return SERVE_FAILED;
  }
  int listening = options->socket ? listen_on_path(options->socket)
                                  : listen_on_address(options->address ? options->address : "127.0.0.1", options->port,
                                                      &serving.port);
  enum serve_result result = listening < 0 ? SERVE_FAILED : open_runs(&serving);
  if (result == SERVE_ENDED) {
    struct listener_options listening_options = {.rules = &serving.rules,
                                                 .workers = serving.worker_list,
                                                 .sql_workers = serving.sql_worker_list,
                                                 .run_count = options->path_count,
                                                 .worker_count = serving.worker_count,
                                                 .paths = options->paths,
                                                 .recorder = &serving.recorder,
                                                 .socket = listening};
    if (listener_start(&serving.listener, &listening_options, &error)) {
      fprintf(stderr, "tfprof serve: %s\n", error.message);
      result = SERVE_FAILED;
    }
  }
  if (result == SERVE_ENDED) {
    print_address(&serving);
    result = wait_for_end(&serving, &signals);
  }
  if (!serving.listener && listening >= 0) {
    close(listening);
    if (options->socket) unlink(options->socket);
  }
  /* What still has to end should; a second Ctrl-C does not wait for it. */
  signal(SIGINT, SIG_DFL);
  sigprocmask(SIG_UNBLOCK, &signals, NULL);
  serving_free(&serving);
  return result;
}
