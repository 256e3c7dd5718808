/* profiler_address.c: see profiler_address.h.
**
** The host becomes part of a URL and of a file's name, and so is made of the characters that hosts have and no others.
*/
#include "profiler_address.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyz", digits[] = "0123456789";

bool profiler_address_is_meant(const char *word) {
  return strchr(word, ':') && strncmp(word, "rank:", 5) != 0 && strncmp(word, "run:", 4) != 0;
}

/* Whether the part is of such characters alone, and there is one. */
static bool is_made_of(const char *text, size_t length, const char *others) {
  for (size_t i = 0; i < length; i++)
    if (!strchr(letters, text[i]) && !strchr(digits, text[i]) && !strchr(others, text[i])) return false;
  return length > 0;
}

static bool is_port(const char *text) {
  size_t length = strlen(text);
  unsigned long port = strtoul(text, NULL, 10);
  return length > 0 && length <= 5 && strspn(text, digits) == length && port >= 1 && port <= 65535;
}

/* The zone of a link-local address begins with a percent sign, which URLs write as %25. */
static void write_url(const char *host, size_t length, const char *port, char *url) {
  char *to = stpcpy(url, "http://");
  for (size_t i = 0; i < length; i++) {
    *to++ = host[i];
    if (host[i] == '%') to = stpcpy(to, "25");
  }
  *to++ = ':';
  strcpy(to, port);
}

const char *profiler_address_read(const char *word, struct profiler_address *address) {
  if (strncasecmp(word, "grpc://", 7) == 0) word += 7;
  size_t length = strlen(word);
  if (length >= sizeof address->text) return "it is longer than addresses are";
  for (size_t i = 0; i <= length; i++) address->text[i] = (char)tolower((unsigned char)word[i]);
  const char *text = address->text, *colon = strrchr(text, ':');
  if (!colon || !is_port(colon + 1)) return "its port must be a number from 1 to 65535: host:6009";
  size_t host = (size_t)(colon - text);
  bool is_bracketed = host > 2 && text[0] == '[' && colon[-1] == ']';
  if (!is_bracketed && memchr(text, ':', host)) return "an IPv6 address stands in brackets: [::1]:6009";
  if (is_bracketed ? !is_made_of(text + 1, host - 2, ":.%-_") : !is_made_of(text, host, ".-_"))
    return "it is not HOST:PORT, such as host:6009";
  write_url(text, host, colon + 1, address->url);
  char *to = address->name;
  for (size_t i = is_bracketed; i < length; i++) {
    if (text[i] == ']') continue;
    bool is_plain = isalnum((unsigned char)text[i]) || text[i] == '-' || (text[i] == '.' && to > address->name);
    *to++ = is_plain ? text[i] : '_';
  }
  *to = 0;
  return NULL;
}
