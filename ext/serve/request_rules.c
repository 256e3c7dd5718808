/* request_rules.c: see request_rules.h. */
#include "serve/request_rules.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum { LONGEST_HOST = 255 };

bool request_make_token(struct request_rules *rules) {
  unsigned char bytes[TOKEN_LENGTH / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(rules->token + 2 * i, 3, "%02x", bytes[i]);
  return true;
}

bool request_is_token(const char *text) {
  return strlen(text) == TOKEN_LENGTH && strspn(text, "0123456789abcdef") == TOKEN_LENGTH;
}

/* ---- Host ---- */

/* Host as in RFC 9110, 7.2: a name or an address, and perhaps a port; the name without its final dot. */
static bool split_host(const char *host, char name[LONGEST_HOST + 1], bool *is_address) {
  size_t length = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");
  const char *rest = host + length;
  *is_address = false;
  if (*host == '[') {
    struct in6_addr address;
    if (*rest != ']' || length < 2 || length > LONGEST_HOST) return false;
    memcpy(name, host + 1, length - 1);
    name[length - 1] = 0;
    if (inet_pton(AF_INET6, name, &address) != 1) return false;
    *is_address = true;
    rest++;
  } else {
    struct in_addr address;
    if (!length || length > LONGEST_HOST) return false;
    memcpy(name, host, length);
    name[length] = 0;
    if (length > 1 && name[length - 1] == '.') name[length - 1] = 0;
    *is_address = inet_pton(AF_INET, name, &address) == 1;
  }
  if (!*rest) return true;
  size_t digits = strspn(rest + 1, "0123456789");
  return *rest == ':' && digits <= 5 && !rest[1 + digits];
}

bool request_has_host(const struct request_rules *rules, const char *host) {
  static const char *const loopback[] = {"localhost", "127.0.0.1", "::1"};
  char name[LONGEST_HOST + 1];
  bool is_address;
  if (!host || !split_host(host, name, &is_address)) return false;
  for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
    if (strcasecmp(name, loopback[i]) == 0) return true;
  }
  for (size_t i = 0; i < rules->host_name_count; i++) {
    if (strcasecmp(name, rules->host_names[i]) == 0) return true;
  }
  return rules->takes_addresses && is_address;
}

/* ---- where from ---- */

bool request_is_of_page(const char *fetch_site, const char *origin, const char *host) {
  static const char scheme[] = "http://";
  if (fetch_site && strcmp(fetch_site, "same-origin") != 0 && strcmp(fetch_site, "none") != 0) return false;
  if (!origin) return true;
  return host && strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

/* ---- token ---- */

bool request_has_token(const struct request_rules *rules, const char *authorization) {
  static const char scheme[] = "Bearer ";
  size_t length = sizeof scheme - 1;
  if (!authorization || strncasecmp(authorization, scheme, length) != 0) return false;
  const char *token = authorization + length;
  size_t given = strlen(token);
  volatile unsigned char difference = given != TOKEN_LENGTH;
  for (size_t i = 0; i < TOKEN_LENGTH; i++)
    difference =
        (unsigned char)(difference | ((unsigned char)rules->token[i] ^ (unsigned char)(i < given ? token[i] : 0)));
  return difference == 0;
}
