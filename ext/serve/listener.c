/* listener.c: see listener.h.
**
** One thread of libmicrohttpd reads requests and writes answers.  A request that a worker is to answer waits suspended,
** which costs no thread; the worker resumes it.  What a stranger can make us hold is bounded: MOST_CONNECTIONS of
** MOST_REQUEST_BYTES each, and a connection that has not brought a request with the token within SLOW_SECONDS is
** closed.  Of those at most MOST_STRANGERS are kept, the newest, so that whoever has the token finds room at any time.
*/
#include "serve/listener.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/list.h"
#include "serve/answers.h"
#include "serve/page_reply.h"
#include "report/page_data.h"

enum {
  MOST_CONNECTIONS = 128,
  MOST_STRANGERS = 64, /* connections that have not shown the token */
  MOST_REQUEST_BYTES = 64 << 10,
  MOST_BODY_BYTES = 1 << 20,
  IDLE_SECONDS = 60,
  SLOW_SECONDS = 10
};

/* A connection, and whether it has said anything of worth. */
struct guest {
  struct guest *next, **place;
  int socket;
  int64_t since_ns;
  bool is_known, is_dismissed;
};

struct listener {
  struct listener_options options;
  struct MHD_Daemon *daemon;
  unsigned char *page;
  size_t page_length;
  char *policy;
  pthread_mutex_t lock;
  struct guest *guests; /* under `lock`, as what follows */
  size_t asked_count;
  int64_t last_ns;
  bool is_ending;
};

enum route_kind { ROUTE_PAGE, ROUTE_RUNS, ROUTE_JOB };
struct route {
  const char *path, *method;
  enum route_kind kind;
  enum job_kind job;
};
static const struct route routes[] = {{"/", "GET", ROUTE_PAGE, 0},
                                      {"/api/runs", "GET", ROUTE_RUNS, 0},
                                      {"/api/panel", "GET", ROUTE_JOB, JOB_PANEL},
                                      {"/api/events", "GET", ROUTE_JOB, JOB_EVENTS},
                                      {"/api/changes", "GET", ROUTE_JOB, JOB_CHANGES},
                                      {"/api/sql", "POST", ROUTE_JOB, JOB_SQL},
                                      {"/api/recordable", "GET", ROUTE_JOB, JOB_RECORDABLE},
                                      {"/api/record", "POST", ROUTE_JOB, JOB_RECORD}};

/* A request. */
struct exchange {
  struct listener *listener;
  struct MHD_Connection *connection;
  const struct route *route;
  struct job job;
  size_t body_length, body_capacity;
  bool is_too_large, is_asked, is_answered;
  char message[200]; /* what is wrong with a parameter */
};

/* ---- answers ---- */

static enum MHD_Result reply(struct listener *listener, struct MHD_Connection *connection, unsigned status,
                             const char *type, void *bytes, size_t length, enum MHD_ResponseMemoryMode mode,
                             const char *allowed) {
  struct MHD_Response *response = MHD_create_response_from_buffer(length, bytes, mode);
  if (!response) {
    if (mode == MHD_RESPMEM_MUST_FREE) free(bytes);
    return MHD_NO;
  }
  const char *const headers[][2] = {{"Content-Type", type},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"Cache-Control", "no-store"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cross-Origin-Resource-Policy", "same-origin"},
                                    {"X-Frame-Options", "DENY"},
                                    {"Content-Security-Policy", listener->policy},
                                    {"Allow", allowed}};
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    if (headers[i][1]) MHD_add_response_header(response, headers[i][0], headers[i][1]);
  }
  if (status == 401) MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"tfprof\"");
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result refuse_request(struct listener *listener, struct MHD_Connection *connection, unsigned status,
                                      const char *allowed, const char *text) {
  return reply(listener, connection, status, "text/plain; charset=utf-8", (void *)(uintptr_t)text, strlen(text),
               MHD_RESPMEM_MUST_COPY, allowed);
}

/* {"runs":[{"name":…, "path":…, "state":"open", "error":null}], "several":false} */
static enum MHD_Result reply_runs(struct listener *listener, struct MHD_Connection *connection) {
  static const char *const words[] = {"opening", "open", "failed"};
  struct output_file *file;
  struct tfprof_error error;
  unsigned char *bytes;
  size_t length;
  if (output_open_memory(&file, 64 << 20, &error)) return MHD_NO;
  const struct page_texts texts = {.file = file};
  output_text(file, "{\"runs\":[");
  for (size_t i = 0; i < listener->options.run_count; i++) {
    char message[2200];
    enum worker_state state = worker_state(listener->options.workers[i], message, sizeof message);
    const char *path = listener->options.paths[i], *slash = strrchr(path, '/');
    output_text(file, i ? ",{\"name\":" : "{\"name\":");
    page_text(&texts, slash && slash[1] ? slash + 1 : path);
    output_text(file, ",\"path\":");
    page_text(&texts, path);
    output_format(file, ",\"state\":\"%s\",\"error\":", words[state]);
    page_text(&texts, *message ? message : NULL);
    output_text(file, "}");
  }
  output_text(file, "]}");
  if (output_take(file, &bytes, &length, &error)) return MHD_NO;
  return reply(listener, connection, 200, "application/json", bytes, length, MHD_RESPMEM_MUST_FREE, NULL);
}

static enum MHD_Result reply_job(struct exchange *exchange) {
  struct job *job = &exchange->job;
  void *bytes = job->bytes;
  job->bytes = NULL;
  exchange->is_answered = true;
  if (!bytes) return MHD_NO;
  return reply(exchange->listener, exchange->connection, job->status, job->type, bytes, job->length,
               MHD_RESPMEM_MUST_FREE, NULL);
}

/* ---- requests ---- */

static const char *header_of(struct MHD_Connection *connection, const char *name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result count_host(void *count, enum MHD_ValueKind kind, const char *key, const char *value) {
  (void)kind;
  (void)value;
  if (strcasecmp(key, "Host") == 0) ++*(unsigned *)count;
  return MHD_YES;
}

static enum MHD_Result take_parameter(void *pointer, enum MHD_ValueKind kind, const char *key, const char *value) {
  struct exchange *exchange = pointer;
  (void)kind;
  return request_take_value(&exchange->job.values, key, value, exchange->message, sizeof exchange->message) ? MHD_YES
                                                                                                            : MHD_NO;
}

static void note_guest(struct listener *listener, int socket) {
  pthread_mutex_lock(&listener->lock);
  listener->last_ns = served_now();
  for (struct guest *guest = listener->guests; guest; guest = guest->next) {
    if (guest->socket == socket) guest->is_known = true;
  }
  pthread_mutex_unlock(&listener->lock);
}

/* The route that the request may take; NULL: it is refused, with *result. */
static const struct route *allow_request(struct listener *listener, struct MHD_Connection *connection, const char *path,
                                         const char *method, enum MHD_Result *result) {
  const struct request_rules *rules = listener->options.rules;
  const char *host = header_of(connection, "Host"), *length = header_of(connection, "Content-Length");
  const struct route *route = NULL;
  unsigned hosts = 0;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, count_host, &hosts);
  for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
    if (strcmp(routes[i].path, path) == 0) route = &routes[i];
  }
  if (hosts != 1 || !request_has_host(rules, host)) {
    *result =
        refuse_request(listener, connection, 421, NULL,
                       "This Host is not one that tfprof serves. Use the address that it printed, or through ssh -L "
                       "localhost; --host-name NAME allows another name.\n");
  } else if (!request_is_of_page(header_of(connection, "Sec-Fetch-Site"), header_of(connection, "Origin"), host)) {
    *result = refuse_request(listener, connection, 403, NULL, "Pages of other sites may not ask.\n");
  } else if (!route) {
    *result = refuse_request(listener, connection, 404, NULL, "There is nothing here.\n");
  } else if (strcmp(route->method, method) != 0) {
    *result = refuse_request(listener, connection, 405, route->method, "This is not how to ask for it.\n");
  } else if (route->kind != ROUTE_PAGE && !request_has_token(rules, header_of(connection, "Authorization"))) {
    *result = refuse_request(
        listener, connection, 401, NULL,
        "The token is missing or wrong: open the address, with all that stands behind its #, that `tfprof "
        "serve` printed when it began.\n");
  } else if (length && strtoull(length, NULL, 10) > MOST_BODY_BYTES) {
    *result = refuse_request(listener, connection, 413, NULL, "The SQL is longer than 1 MiB.\n");
  } else {
    return route;
  }
  return NULL;
}

static bool take_body(struct exchange *exchange, const char *bytes, size_t length) {
  if (exchange->is_too_large || exchange->body_length + length > MOST_BODY_BYTES) {
    exchange->is_too_large = true;
    return true;
  }
  if (!array_reserve(exchange->job.sql, exchange->body_capacity, exchange->body_length + length + 1)) return false;
  memcpy(exchange->job.sql + exchange->body_length, bytes, length);
  exchange->body_length += length;
  exchange->job.sql[exchange->body_length] = 0;
  return true;
}

/* Whether somebody answers; false: the server ends, or the system has no thread. Under the listener's lock. */
static bool hand_on(struct listener *listener, struct exchange *exchange, size_t run) {
  const struct listener_options *options = &listener->options;
  struct job *job = &exchange->job;
  bool is_of_recorder = job->kind >= JOB_RECORDABLE;
  struct worker *worker = job->kind == JOB_SQL ? options->sql_workers[run] : options->workers[run];
  if (listener->is_ending || (!is_of_recorder && !worker_start(worker))) return false;
  listener->asked_count++;
  MHD_suspend_connection(exchange->connection);
  if (is_of_recorder) recorder_submit(options->recorder, job, options->paths[run]);
  else worker_submit(worker, job);
  return true;
}

/* On whatever thread gives the answer. */
static void resume_exchange(struct job *job) {
  struct exchange *exchange = job->user;
  pthread_mutex_lock(&exchange->listener->lock);
  exchange->listener->asked_count--;
  exchange->listener->last_ns = served_now();
  pthread_mutex_unlock(&exchange->listener->lock);
  MHD_resume_connection(exchange->connection);
}

static enum MHD_Result ask_worker(struct exchange *exchange) {
  struct listener *listener = exchange->listener;
  struct job *job = &exchange->job;
  const struct listener_options *options = &listener->options;
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  size_t run = job->values.run == REQUEST_ALL_RUNS ? options->worker_count - 1 : (size_t)job->values.run;
  if (job->values.run != REQUEST_ALL_RUNS && run >= options->run_count)
    return refuse_request(listener, exchange->connection, 404, NULL, "There is no run of that number.\n");
  if (exchange->is_too_large || (job->sql && strlen(job->sql) != exchange->body_length)) {
    return refuse_request(
        listener, exchange->connection, exchange->is_too_large ? 413 : 400, NULL,
        exchange->is_too_large ? "The SQL is longer than 1 MiB.\n" : "The SQL holds a NUL character.\n");
  }
  if (job->kind == JOB_SQL && !job->sql && !take_body(exchange, "", 0)) return MHD_NO;
  if (job->kind >= JOB_RECORDABLE && run >= options->run_count)
    return refuse_request(listener, exchange->connection, 400, NULL, "A recording is of one run: choose it.\n");
  job->socket = info ? info->connect_fd : -1;
  job->done = resume_exchange;
  job->user = exchange;
  pthread_mutex_lock(&listener->lock);
  bool is_asked = exchange->is_asked = true; /* before it can be answered */
  if (!hand_on(listener, exchange, run)) is_asked = exchange->is_asked = false;
  pthread_mutex_unlock(&listener->lock);
  return is_asked ? MHD_YES
                  : refuse_request(listener, exchange->connection, 503, NULL,
                                   "The server ends, or the system has no thread for it.\n");
}

static enum MHD_Result begin_exchange(struct listener *listener, struct MHD_Connection *connection, const char *path,
                                      const char *method, void **place) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  enum MHD_Result result;
  const struct route *route = allow_request(listener, connection, path, method, &result);
  if (!route) return result;
  struct exchange *exchange = calloc(1, sizeof *exchange);
  if (!exchange) return MHD_NO;
  *exchange = (struct exchange){.listener = listener, .connection = connection, .route = route};
  exchange->job.kind = route->job;
  exchange->job.values = request_defaults;
  *place = exchange;
  if (route->kind != ROUTE_PAGE && info) note_guest(listener, info->connect_fd);
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_parameter, exchange);
  if (*exchange->message) return refuse_request(listener, connection, 400, NULL, exchange->message);
  return MHD_YES;
}

static enum MHD_Result handle_request(void *user, struct MHD_Connection *connection, const char *path,
                                      const char *method, const char *version, const char *body, size_t *body_length,
                                      void **place) {
  struct listener *listener = user;
  struct exchange *exchange = *place;
  (void)version;
  if (!exchange) return begin_exchange(listener, connection, path, method, place);
  if (exchange->is_asked) return exchange->is_answered ? MHD_YES : reply_job(exchange);
  if (*body_length) {
    if (exchange->route->kind == ROUTE_JOB && !take_body(exchange, body, *body_length)) return MHD_NO;
    *body_length = 0;
    return MHD_YES;
  }
  switch (exchange->route->kind) {
    case ROUTE_PAGE:
      return reply(listener, connection, 200, "text/html; charset=utf-8", listener->page, listener->page_length,
                   MHD_RESPMEM_PERSISTENT, NULL);
    case ROUTE_RUNS: return reply_runs(listener, connection);
    case ROUTE_JOB: return ask_worker(exchange);
  }
  return MHD_NO;
}

static void end_exchange(void *user, struct MHD_Connection *connection, void **place,
                         enum MHD_RequestTerminationCode code) {
  struct exchange *exchange = *place;
  (void)user;
  (void)connection;
  (void)code;
  if (!exchange) return;
  free(exchange->job.sql);
  free(exchange->job.bytes);
  free(exchange);
  *place = NULL;
}

/* ---- connections ---- */

/* libmicrohttpd closes it then. */
static void dismiss_guest(struct guest *guest) {
  guest->is_dismissed = true;
  shutdown(guest->socket, SHUT_RDWR);
}

/* The newest comes first. */
static void dismiss_oldest_stranger(struct guest *guests) {
  struct guest *oldest = NULL;
  unsigned count = 0;
  for (struct guest *guest = guests; guest; guest = guest->next) {
    if (guest->is_known || guest->is_dismissed) continue;
    oldest = guest;
    count++;
  }
  if (count > MOST_STRANGERS) dismiss_guest(oldest);
}

static void note_connection(void *user, struct MHD_Connection *connection, void **place,
                            enum MHD_ConnectionNotificationCode code) {
  struct listener *listener = user;
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  struct guest *guest = *place;
  pthread_mutex_lock(&listener->lock);
  if (code == MHD_CONNECTION_NOTIFY_STARTED && info && (guest = calloc(1, sizeof *guest))) {
    *guest = (struct guest){.next = listener->guests, .place = &listener->guests, .socket = info->connect_fd,
                            .since_ns = served_now()};
    if (guest->next) guest->next->place = &guest->next;
    listener->guests = guest;
    *place = guest;
    dismiss_oldest_stranger(guest);
  } else if (code == MHD_CONNECTION_NOTIFY_CLOSED && guest) {
    *guest->place = guest->next;
    if (guest->next) guest->next->place = guest->place;
    free(guest);
    *place = NULL;
  }
  pthread_mutex_unlock(&listener->lock);
}

bool listener_watch(struct listener *listener, int64_t *last_ns) {
  pthread_mutex_lock(&listener->lock);
  int64_t now = served_now();
  for (struct guest *guest = listener->guests; guest; guest = guest->next) {
    if (!guest->is_known && !guest->is_dismissed && now - guest->since_ns > (int64_t)SLOW_SECONDS * 1000000000)
      dismiss_guest(guest);
  }
  bool is_busy = listener->asked_count > 0;
  *last_ns = listener->last_ns;
  pthread_mutex_unlock(&listener->lock);
  return is_busy;
}

/* ---- the whole ---- */

static void listener_free(struct listener *listener) {
  free(listener->page);
  free(listener->policy);
  pthread_mutex_destroy(&listener->lock);
  free(listener);
}

enum tfprof_status listener_start(struct listener **made, const struct listener_options *options,
                                  struct tfprof_error *error) {
  struct listener *listener = calloc(1, sizeof *listener);
  if (!listener) return error_no_memory(error);
  listener->options = *options;
  listener->last_ns = served_now();
  pthread_mutex_init(&listener->lock, NULL);
  listener->policy = page_reply_policy();
  enum tfprof_status status = page_reply_make(&listener->page, &listener->page_length, error);
  if (!status && !listener->policy) status = error_no_memory(error);
  if (!status) {
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle_request, listener,
        MHD_OPTION_LISTEN_SOCKET, options->socket, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MOST_REQUEST_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_NOTIFY_COMPLETED, end_exchange, listener, MHD_OPTION_NOTIFY_CONNECTION,
        note_connection, listener, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!listener->daemon) status = error_set(error, TFPROF_IO, "libmicrohttpd does not start");
  }
  if (status) listener_free(listener);
  else *made = listener;
  return status;
}

void listener_end(struct listener *listener) {
  pthread_mutex_lock(&listener->lock);
  listener->is_ending = true;
  pthread_mutex_unlock(&listener->lock);
}

void listener_stop(struct listener *listener) {
  MHD_stop_daemon(listener->daemon);
  listener_free(listener);
}
