/* fuzz_requests.c: any bytes as what of a request `tfprof serve` reads itself: its first line is the header Host, then
** come Origin, Sec-Fetch-Site and Authorization, and each line behind them is a parameter as `key=value` or `key`.
**
** Whatever they are: a Host that is taken names this computer, nobody has the token but who knows it, and a value that
** is taken is within the bounds that request_values.h promises.
*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/request_rules.h"
#include "serve/request_values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char token[] = "0123456789abcdef0123456789abcdef";

static void must(bool holds) {
  if (!holds) abort();
}

/* The next line, NULL behind the last. An empty one of a header stands for none. */
static char *next_line(char **at) {
  char *line = *at, *end = line ? strchr(line, '\n') : NULL;
  if (end) *end = 0;
  *at = end ? end + 1 : NULL;
  return line;
}

static bool begins_with(const char *text, const char *word) { return strncasecmp(text, word, strlen(word)) == 0; }

static void check_headers(char **at) {
  struct request_rules own = {.host_names = {"node7"}, .host_name_count = 1}, open = own;
  const char *host = next_line(at), *origin = next_line(at), *site = next_line(at), *authorization = next_line(at);
  memcpy(own.token, token, sizeof token);
  open.takes_addresses = true;
  bool is_own = request_has_host(&own, host);
  must(!is_own || request_has_host(&open, host));
  must(!is_own || begins_with(host, "localhost") || begins_with(host, "127.0.0.1") || begins_with(host, "[::1]") ||
       begins_with(host, "node7") || begins_with(host, "::1"));
  must(!is_own || !strpbrk(host, "/@ \t\r"));
  if (request_is_of_page(site && *site ? site : NULL, origin && *origin ? origin : NULL, host))
    must(!origin || !*origin || strcasecmp(origin + strlen("http://"), host) == 0);
  must(request_has_token(&own, authorization) ==
       (authorization && begins_with(authorization, "Bearer ") && strcmp(authorization + 7, token) == 0));
}

static void check_parameters(char *at) {
  struct request_values values = request_defaults;
  char message[200] = "";
  for (char *line; (line = next_line(&at));) {
    char *value = strchr(line, '=');
    if (value) *value++ = 0;
    if (!request_take_value(&values, line, value, message, sizeof message)) {
      must(*message && memchr(message, 0, sizeof message));
      return; /* a request with one that is wrong is refused */
    }
    must(values.run >= REQUEST_ALL_RUNS && values.rows >= 1 && values.rows <= REQUEST_MOST_ROWS &&
         values.bucket_ns >= 0);
    must(memchr(values.name, 0, sizeof values.name) && memchr(values.view, 0, sizeof values.view));
    must(!strpbrk(values.name, "/'\" ;") && !strpbrk(values.view, "/'\" ;"));
    must(!values.has_steps || values.first_step <= values.last_step);
    must(!values.has_window || values.from_ns <= values.to_ns);
    must(!values.has_profile || values.profile_id >= 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1), *at = text;
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = 0;
  check_headers(&at);
  if (at) check_parameters(at);
  must(request_is_token(token));
  free(text);
  return 0;
}
