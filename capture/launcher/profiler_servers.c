/* profiler_servers.c: see profiler_servers.h.
**
** The protocol is gRPC over HTTP/2 without TLS, by libcurl's multi interface, on the caller's thread.  Whatever listens
** at an address, no request lasts for ever: a connection must be there, and its first byte come, within CONNECT_MS.
** Before it answers, a server collects what it recorded and makes one message of it, which takes longer the more there
** is: the answer must begin within ANSWER_TIMES as long as the recording took, and GRACE_MS, after its end, be that the
** end of its time or that which it was told.  An answer that comes goes on for as long as it has to: no pause in it may
** be longer than GRACE_MS, nor may less come in so long a time than SLOWEST_BYTES.  A server records for one at a time:
** while another one is on, which it says at once, it is asked again, for as long as the recording is to take and
** BUSY_MS.
**
** Servers have no authentication and send what they like: what comes is counted before it is kept
** (profiler_messages.h), and only the XSpace goes into a file.  Proxies that the environment names are not for them.
*/
#include "profiler_servers.h"

#include "base/list.h"
#include "curl_library.h"
#include "dump/directory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  CONNECT_MS = 5000,
  GRACE_MS = 10000,  /* a first session loads and prepares tracers of devices */
  ANSWER_TIMES = 10, /* seen: 6 times where a busy program is recorded on a busy machine; 0.2 times on others */
  SLOWEST_BYTES = 10000,
  LONGEST_ANSWER_MS = 3600000, /* the server is told that nobody waits for longer */
  BUSY_MS = 10000,
  PAUSE_MS = 100, /* before it is asked again */
  DESCRIPTORS_LEFT = 64,
  STATUS_OK = 0,
  STATUS_UNIMPLEMENTED = 12,
  STATUS_INTERNAL = 13, /* what a server says that records already */
  STATUS_UNAVAILABLE = 14,
};

struct recording_server {
  struct profiler_server it;
  struct profiler_servers *all;
  struct profiler_answer answer;
  CURL *request, *ending; /* NULL: none is under way */
  uint8_t asked[PROFILER_REQUEST_BYTES], ended[PROFILER_REQUEST_BYTES];
  char trouble[CURL_ERROR_SIZE];
  char session[64], message[400], path[PATH_MAX], part[PATH_MAX];
  int socket, file; /* -1: none */
  bool is_of_grpc;
  long status; /* of gRPC; -1: none came */
  unsigned tries;
  uint64_t first_ms, begin_ms, last_ms; /* asked first, asked last, last byte of an answer; by clock_ms() */
  uint64_t ended_ms;                    /* when it was told to end; 0: not */
  uint64_t again_ms;                    /* when it is to be asked again; 0: not */
  uint64_t came, window_ms, window_came; /* bytes of its answer; when a time of GRACE_MS began, and those until then */
};

struct profiler_servers {
  struct curl_library curl;
  CURLM *multi;
  struct curl_slist *headers;
  const struct profiler_plan *plan;
  struct recording_server **servers;
  size_t count, capacity;
  int never[2]; /* a pipe of which nothing comes */
};

static uint64_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the list ---- */

struct profiler_servers *profiler_servers_make(char *problem, size_t problem_size) {
  struct profiler_servers *servers = calloc(1, sizeof *servers);
  snprintf(problem, problem_size, "not enough memory");
  if (!servers) return NULL;
  servers->never[0] = servers->never[1] = -1;
  if (!curl_library_open(&servers->curl, problem, problem_size)) {
    free(servers);
    return NULL;
  }
  servers->multi = servers->curl.multi_init();
  if (servers->multi && pipe2(servers->never, O_CLOEXEC) == 0) return servers;
  profiler_servers_free(servers);
  return NULL;
}

static void free_request(struct profiler_servers *servers, CURL **request) {
  if (!*request) return;
  servers->curl.multi_remove_handle(servers->multi, *request);
  servers->curl.easy_cleanup(*request);
  *request = NULL;
}

static void drop_part(struct recording_server *server) {
  if (server->file < 0) return;
  close(server->file);
  unlink(server->part);
  server->file = -1;
}

void profiler_servers_free(struct profiler_servers *servers) {
  if (!servers) return;
  for (size_t i = 0; i < servers->count; i++) {
    free_request(servers, &servers->servers[i]->request);
    free_request(servers, &servers->servers[i]->ending);
    drop_part(servers->servers[i]);
  }
  if (servers->multi) servers->curl.multi_cleanup(servers->multi); /* it closes connections by close_socket() */
  servers->curl.slist_free_all(servers->headers);
  for (size_t i = 0; i < servers->count; i++) free(servers->servers[i]);
  for (unsigned i = 0; i < 2; i++)
    if (servers->never[i] >= 0) close(servers->never[i]);
  free(servers->servers);
  free(servers);
}

const char *profiler_servers_add(struct profiler_servers *servers, const char *word) {
  struct recording_server *server = calloc(1, sizeof *server);
  bool has_room = server && array_room(servers->servers, servers->count, servers->capacity);
  const char *wrong = has_room ? profiler_address_read(word, &server->it.address) : "there is no memory for it";
  bool is_there = false;
  for (size_t i = 0; i < servers->count && !wrong; i++)
    is_there |= strcmp(servers->servers[i]->it.address.text, server->it.address.text) == 0;
  if (wrong || is_there) {
    free(server);
    return wrong;
  }
  server->all = servers;
  server->file = server->socket = -1;
  servers->servers[servers->count++] = server;
  return NULL;
}

size_t profiler_servers_count(const struct profiler_servers *servers) { return servers ? servers->count : 0; }

struct profiler_server *profiler_servers_at(const struct profiler_servers *servers, size_t i) {
  return &servers->servers[i]->it;
}

size_t profiler_servers_count_open(const struct profiler_servers *servers) {
  size_t open = 0;
  for (size_t i = 0; i < profiler_servers_count(servers); i++) open += !servers->servers[i]->it.is_over;
  return open;
}

/* ---- ends ---- */

static void fail_server(struct recording_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail_server(struct recording_server *server, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!server->it.is_over) vsnprintf(server->it.problem, sizeof server->it.problem, format, arguments);
  va_end(arguments);
  server->it.is_over = true;
  server->again_ms = 0;
  drop_part(server);
  free_request(server->all, &server->request);
}

static void keep_profile(struct recording_server *server) {
  bool is_written = close(server->file) == 0;
  server->file = -1;
  if (is_written && rename(server->part, server->path) == 0) {
    server->it.bytes = server->answer.space;
    server->it.is_over = true;
    return;
  }
  int reason = errno;
  unlink(server->part);
  fail_server(server, "its profile cannot be written: %s", strerror(reason));
}

/* ---- what comes ---- */

/* The text behind the name of a header; NULL: it is another one. */
static const char *header_value(const char *line, const char *name) {
  size_t length = strlen(name);
  if (strncasecmp(line, name, length) != 0 || line[length] != ':') return NULL;
  return line + length + 1 + strspn(line + length + 1, " ");
}

static int digit_of(char digit) {
  const char *digits = "0123456789abcdef", *at = strchr(digits, tolower((unsigned char)digit));
  return at && *at ? (int)(at - digits) : -1;
}

/* What gRPC writes as %20 is read; what is no printable character becomes a blank. */
static void read_message(const char *text, char *message, size_t size) {
  char *to = message;
  for (; *text && to < message + size - 1; text++) {
    int high = *text == '%' && text[1] ? digit_of(text[1]) : -1, low = high >= 0 ? digit_of(text[2]) : -1;
    int c = low >= 0 ? high << 4 | low : *text;
    if (low >= 0) text += 2;
    *to++ = c < ' ' || c >= 0x7f ? ' ' : (char)c;
  }
  *to = 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *pointer) {
  struct recording_server *server = pointer;
  char line[600];
  const char *value;
  size_t length = size * count;
  snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), bytes);
  line[strcspn(line, "\r\n")] = 0;
  if ((value = header_value(line, "grpc-status"))) server->status = *value >= '0' && *value <= '9' ? atol(value) : 2;
  if ((value = header_value(line, "grpc-message"))) read_message(value, server->message, sizeof server->message);
  if ((value = header_value(line, "content-type"))) server->is_of_grpc = !strncmp(value, "application/grpc", 16);
  return length;
}

static bool put_space(void *pointer, const uint8_t *bytes, size_t length) {
  struct recording_server *server = pointer;
  while (length) {
    ssize_t written = write(server->file, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      snprintf(server->it.problem, sizeof server->it.problem, "its profile cannot be written: %s", strerror(errno));
      return false;
    }
    bytes += written;
    length -= (size_t)written;
  }
  return true;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *pointer) {
  struct recording_server *server = pointer;
  server->last_ms = clock_ms();
  if (!server->came) server->window_ms = server->last_ms;
  server->came += size * count;
  if (!server->is_of_grpc) return 0;
  return profiler_answer_take(&server->answer, (const uint8_t *)bytes, size * count) ? size * count : 0;
}

static size_t take_nothing(char *bytes, size_t size, size_t count, void *pointer) {
  (void)bytes;
  (void)pointer;
  return size * count;
}

/* So that it can be seen whether something was ever received there. */
static curl_socket_t open_socket(void *pointer, curlsocktype purpose, struct curl_sockaddr *address) {
  struct recording_server *server = pointer;
  (void)purpose;
  server->socket = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  return server->socket;
}

static int close_socket(void *pointer, curl_socket_t one) {
  struct recording_server *server = pointer;
  if (server->socket == one) server->socket = -1;
  return close(one);
}

/* Whether anything was received on the connection, if there is one: an HTTP/2 server speaks first. */
static bool has_spoken(const struct recording_server *server) {
  struct tcp_info info = {0};
  socklen_t length = sizeof info;
  if (server->socket < 0 || getsockopt(server->socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return true;
  bool is_told = length >= offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
  return !is_told || info.tcpi_bytes_received > 0; /* Linux 4.1 tells */
}

/* ---- asking ---- */

/* What both requests have. */
static CURL *make_request(struct recording_server *server, const char *call, const uint8_t *bytes, size_t length) {
  struct profiler_servers *servers = server->all;
  const struct curl_library *curl = &servers->curl;
  CURL *request = curl->easy_init();
  char url[PROFILER_URL_BYTES + 64];
  if (!request) return NULL;
  snprintf(url, sizeof url, "%s/tensorflow.ProfilerService/%s", server->it.address.url, call);
  curl->easy_setopt(request, CURLOPT_URL, url);
  curl->easy_setopt(request, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
  curl->easy_setopt(request, CURLOPT_POST, 1L);
  curl->easy_setopt(request, CURLOPT_POSTFIELDS, (const char *)bytes);
  curl->easy_setopt(request, CURLOPT_POSTFIELDSIZE, (long)length);
  curl->easy_setopt(request, CURLOPT_HTTPHEADER, servers->headers);
  curl->easy_setopt(request, CURLOPT_PROXY, "");
#if LIBCURL_VERSION_NUM >= 0x075700
  curl->easy_setopt(request, CURLOPT_QUICK_EXIT, 1L); /* a name that is still looked up is not waited for */
#endif
  curl->easy_setopt(request, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt(request, CURLOPT_FRESH_CONNECT, 1L); /* libcurl 7.88 fails where it takes one again */
  curl->easy_setopt(request, CURLOPT_FORBID_REUSE, 1L);
  curl->easy_setopt(request, CURLOPT_TCP_KEEPALIVE, 1L);
  curl->easy_setopt(request, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
  curl->easy_setopt(request, CURLOPT_PRIVATE, (void *)server);
  curl->easy_setopt(request, CURLOPT_WRITEFUNCTION, take_nothing);
  return request;
}

static void ask_server(struct recording_server *server) {
  const struct curl_library *curl = &server->all->curl;
  const struct profiler_plan *plan = server->all->plan;
  size_t length = profiler_request_write(&plan->wish, server->session, server->it.address.name, server->asked);
  server->answer = (struct profiler_answer){.limit = plan->most_bytes, .put = put_space, .context = server};
  server->status = -1;
  server->is_of_grpc = false;
  server->message[0] = server->trouble[0] = 0;
  server->again_ms = server->came = server->window_came = 0;
  server->begin_ms = server->last_ms = clock_ms();
  if (ftruncate(server->file, 0) != 0 || lseek(server->file, 0, SEEK_SET) != 0) {
    fail_server(server, "%s cannot be written: %s", server->part, strerror(errno));
    return;
  }
  server->request = make_request(server, "Profile", server->asked, length);
  if (!server->request) {
    fail_server(server, "there is no memory to ask it");
    return;
  }
  curl->easy_setopt(server->request, CURLOPT_WRITEFUNCTION, take_body);
  curl->easy_setopt(server->request, CURLOPT_WRITEDATA, (void *)server);
  curl->easy_setopt(server->request, CURLOPT_HEADERFUNCTION, take_header);
  curl->easy_setopt(server->request, CURLOPT_HEADERDATA, (void *)server);
  curl->easy_setopt(server->request, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl->easy_setopt(server->request, CURLOPT_OPENSOCKETDATA, (void *)server);
  curl->easy_setopt(server->request, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  curl->easy_setopt(server->request, CURLOPT_CLOSESOCKETDATA, (void *)server);
  curl->easy_setopt(server->request, CURLOPT_ERRORBUFFER, server->trouble);
  if (curl->multi_add_handle(server->all->multi, server->request) != CURLM_OK)
    fail_server(server, "libcurl refuses to ask it");
}

/* Of two addresses that make one name the second gets a number. */
static bool open_part(struct recording_server *server, const char *directory) {
  enum { MOST = 1000 };
  for (unsigned number = 1; number < MOST; number++) {
    char suffix[16] = "";
    if (number > 1) snprintf(suffix, sizeof suffix, "-%u", number);
    const char *name = server->it.address.name;
    int length = snprintf(server->path, sizeof server->path, "%s/%s%s" DUMP_SERVER_SUFFIX, directory, name, suffix);
    int part = snprintf(server->part, sizeof server->part, "%s/.%s%s.part", directory, name, suffix);
    if (length >= (int)sizeof server->path || part >= (int)sizeof server->part) return false;
    server->file = open(server->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, DUMP_FILE_MODE);
    bool is_taken = server->file < 0 ? errno == EEXIST : access(server->path, F_OK) == 0;
    if (!is_taken) return server->file >= 0;
    drop_part(server);
  }
  return false;
}

/* A connection, a file and what libcurl needs to find names. */
static void raise_limit(size_t count) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= 4 * count + DESCRIPTORS_LEFT) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void profiler_servers_begin(struct profiler_servers *servers, const struct profiler_plan *plan) {
  char timeout[64];
  const struct curl_library *curl = &servers->curl;
  static const char agent[] = "User-Agent: tfprof/" TFPROF_RELEASE;
  const char *const headers[] = {
      "Content-Type: application/grpc", "TE: trailers", "grpc-accept-encoding: identity", agent, "Expect:", timeout};
  servers->plan = plan;
  snprintf(timeout, sizeof timeout, "grpc-timeout: %lluS",
           (unsigned long long)(plan->wish.duration_ms + LONGEST_ANSWER_MS) / 1000);
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    struct curl_slist *longer = curl->slist_append(servers->headers, headers[i]);
    if (longer) servers->headers = longer;
  }
  raise_limit(servers->count);
  for (size_t i = 0; i < servers->count; i++) {
    struct recording_server *server = servers->servers[i];
    server->first_ms = clock_ms();
    snprintf(server->session, sizeof server->session, "tfprof-%ld-%llu-%zu", (long)getpid(),
             (unsigned long long)server->first_ms, i);
    if (open_part(server, plan->directory)) ask_server(server);
    else fail_server(server, "its file cannot be made in %s: %s", plan->directory, strerror(errno));
  }
}

/* ---- what came of it ---- */

static void ask_server_again(struct recording_server *server, unsigned pause_ms) {
  free_request(server->all, &server->request);
  server->again_ms = clock_ms() + pause_ms;
}

static void take_status(struct recording_server *server) {
  const struct profiler_plan *plan = server->all->plan;
  bool is_busy = server->status == STATUS_INTERNAL || server->status == STATUS_UNAVAILABLE;
  const char *message = server->message[0] ? server->message : "it does not say why";
  if (server->status == STATUS_UNIMPLEMENTED) {
    fail_server(server, "it is a gRPC server, but no profiler server of TensorFlow or JAX");
  } else if (is_busy && clock_ms() < server->first_ms + plan->wish.duration_ms + BUSY_MS) {
    ask_server_again(server, PAUSE_MS);
  } else if (is_busy) {
    fail_server(server, "it could not record for %.1f s: %s", (double)(clock_ms() - server->first_ms) / 1e3, message);
  } else if (server->status != STATUS_OK) {
    fail_server(server, "it refuses, with status %ld of gRPC: %s", server->status, message);
  } else if (!profiler_answer_is_whole(&server->answer)) {
    fail_server(server, "its answer was cut after %llu bytes of the profile", (unsigned long long)server->answer.space);
  } else if (server->answer.is_empty && ++server->tries <= plan->retries) {
    ask_server_again(server, 0);
  } else if (server->answer.is_empty) {
    fail_server(server,
                "nothing happened there while it recorded, %u time%s: does the program run, and do the levels let "
                "something be recorded?",
                server->tries, server->tries == 1 ? "" : "s");
  } else if (!server->answer.space) {
    fail_server(server, "it sent no profile: its TensorFlow is too old to send one");
  } else {
    keep_profile(server);
  }
}

static void explain(struct recording_server *server, CURLcode result) {
  const struct curl_library *curl = &server->all->curl;
  long reason = 0;
  uint64_t after_ms = clock_ms() - server->begin_ms;
  bool has_begun = server->answer.head_count > 0;
  curl->easy_getinfo(server->request, CURLINFO_OS_ERRNO, &reason);
  const char *text = server->trouble[0] ? server->trouble : curl->easy_strerror(result);
  if (result == CURLE_COULDNT_RESOLVE_HOST) {
    fail_server(server, "no host of that name is known");
  } else if (result == CURLE_COULDNT_CONNECT && reason == ECONNREFUSED) {
    fail_server(server,
                "nobody listens there: has the program started its profiler server "
                "(tf.profiler.experimental.server.start, jax.profiler.start_server)?");
  } else if (result == CURLE_COULDNT_CONNECT || result == CURLE_OPERATION_TIMEDOUT) {
    fail_server(server, "it cannot be reached: %s", reason ? strerror((int)reason) : text);
  } else if (has_begun) {
    fail_server(server, "its answer was cut after %llu bytes of the profile: did the program end?",
         (unsigned long long)server->answer.space);
  } else if (after_ms >= CONNECT_MS / 10) {
    fail_server(server, "it hung up after %.1f s, without an answer: did the program end?", (double)after_ms / 1e3);
  } else {
    fail_server(server,
                "what listens there is no profiler server of TensorFlow or JAX: it does not speak HTTP/2 (%s)", text);
  }
}

static void finish(struct recording_server *server, CURLcode result) {
  long code = 0;
  server->all->curl.easy_getinfo(server->request, CURLINFO_RESPONSE_CODE, &code);
  if (server->it.problem[0]) fail_server(server, "%s", strdupa(server->it.problem)); /* of put_space() */
  else if (server->answer.wrong) fail_server(server, "%s", server->answer.wrong);
  else if (code && (code != 200 || !server->is_of_grpc))
    fail_server(server, "what listens there is no gRPC server: it answers with status %ld of HTTP", code);
  else if (result != CURLE_OK && server->status <= STATUS_OK) explain(server, result);
  else if (server->status < STATUS_OK)
    fail_server(server, "its answer was cut after %llu bytes of the profile", (unsigned long long)server->answer.space);
  else take_status(server);
  free_request(server->all, &server->request);
}

/* Of one whose answer has begun. */
static void watch_answer(struct recording_server *server, uint64_t now) {
  if (now > server->last_ms + GRACE_MS) {
    fail_server(server, "its answer does not go on: nothing came for %d s, after %llu bytes of the profile",
                GRACE_MS / 1000, (unsigned long long)server->answer.space);
  } else if (now > server->window_ms + GRACE_MS && server->came < server->window_came + SLOWEST_BYTES) {
    fail_server(server, "its answer is too slow: %llu bytes in %d s, after %llu",
                (unsigned long long)(server->came - server->window_came), GRACE_MS / 1000,
                (unsigned long long)server->window_came);
  } else if (now > server->window_ms + GRACE_MS) {
    server->window_ms = now;
    server->window_came = server->came;
  }
}

static void watch(struct recording_server *server, uint64_t now) {
  uint64_t recorded = server->all->plan->wish.duration_ms;
  if (server->ended_ms && server->ended_ms - server->begin_ms < recorded)
    recorded = server->ended_ms - server->begin_ms;
  if (server->again_ms && now >= server->again_ms) ask_server(server);
  if (!server->request) return;
  if (now > server->begin_ms + CONNECT_MS && !has_spoken(server)) {
    fail_server(server,
                "it takes the connection and says nothing: that is no profiler server of TensorFlow or JAX, or its "
                "program is stopped");
  } else if (server->came) {
    watch_answer(server, now);
  } else if (now > server->begin_ms + (1 + ANSWER_TIMES) * recorded + GRACE_MS) {
    fail_server(server,
                "it did not answer within %.1f s, in which it was to record %.1f s: its program is stopped, hangs, or "
                "records too much: ask for a shorter time (--for) or lower levels",
                (double)(now - server->begin_ms) / 1e3, (double)recorded / 1e3);
  }
}

/* Whether a request has come to its end. */
static bool take_news(struct profiler_servers *servers) {
  const struct curl_library *curl = &servers->curl;
  bool is_any = false;
  int running, left;
  curl->multi_perform(servers->multi, &running);
  for (CURLMsg *news; (news = curl->multi_info_read(servers->multi, &left));) {
    struct recording_server *server;
    CURL *request = news->easy_handle;
    CURLcode result = news->data.result;
    curl->easy_getinfo(request, CURLINFO_PRIVATE, &server);
    is_any = true;
    if (request == server->ending) free_request(servers, &server->ending);
    else finish(server, result);
  }
  return is_any;
}

void profiler_servers_wait(struct profiler_servers *servers, const int *descriptors, size_t count, int milliseconds) {
  struct curl_waitfd *waited = calloc(count + 1, sizeof *waited);
  if (!waited) return;
  waited[0] = (struct curl_waitfd){.fd = servers->never[0], .events = CURL_WAIT_POLLIN}; /* or it would not wait */
  for (size_t i = 0; i < count; i++)
    waited[i + 1] = (struct curl_waitfd){.fd = descriptors[i], .events = CURL_WAIT_POLLIN};
  uint64_t now = clock_ms();
  for (size_t i = 0; i < servers->count; i++) {
    uint64_t again = servers->servers[i]->again_ms;
    if (again && again < now + (uint64_t)milliseconds) milliseconds = again > now ? (int)(again - now) : 0;
  }
  if (!take_news(servers)) servers->curl.multi_wait(servers->multi, waited, (unsigned)count + 1, milliseconds, NULL);
  free(waited);
  take_news(servers);
  now = clock_ms();
  for (size_t i = 0; i < servers->count; i++)
    if (!servers->servers[i]->it.is_over) watch(servers->servers[i], now);
}

void profiler_servers_end(struct profiler_servers *servers) {
  for (size_t i = 0; i < profiler_servers_count(servers); i++) {
    struct recording_server *server = servers->servers[i];
    if (server->again_ms) fail_server(server, "it was given up before it could record");
    if (server->it.is_over || server->ending || server->answer.head_count) continue;
    size_t length = profiler_end_write(server->session, server->ended);
    server->ending = make_request(server, "Terminate", server->ended, length);
    server->ended_ms = clock_ms();
    if (server->ending) servers->curl.multi_add_handle(servers->multi, server->ending);
  }
}

void profiler_servers_give_up(struct profiler_servers *servers, const char *problem) {
  for (size_t i = 0; i < profiler_servers_count(servers); i++)
    if (!servers->servers[i]->it.is_over) fail_server(servers->servers[i], "%s", problem);
}
