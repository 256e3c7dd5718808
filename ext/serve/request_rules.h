/* request_rules.h: who may ask: which Host a request may name, where it may come from, and the token that it carries.
**
** Three rules, each of which stands by itself:
**
**   Host     must name this computer as a browser on it does (localhost, 127.0.0.1, ::1, any port, since ssh -L changes
**            it), or else a page of another site could reach the server under a name of its own that it points here.
**            A server that listens to others takes addresses, which cannot be pointed anywhere, and names it was told.
**   Origin   and Sec-Fetch-Site, where a browser sends them, must say that a page of this server asks.
**   token    128 random bits, as `Authorization: Bearer`.  There are no cookies, which other servers on the same host
**            would get, and none of the headers that let other sites in.
*/
#ifndef TFPROF_REQUEST_RULES_H
#define TFPROF_REQUEST_RULES_H

#include <stdbool.h>
#include <stddef.h>

enum { TOKEN_LENGTH = 32, MOST_HOST_NAMES = 16 };

struct request_rules {
  char token[TOKEN_LENGTH + 1];
  const char *host_names[MOST_HOST_NAMES]; /* beside those of every loopback */
  size_t host_name_count;
  bool takes_addresses; /* any IPv4 or IPv6 address is a Host */
};

/* false: the system has no random bytes. */
bool request_make_token(struct request_rules *rules);
/* Whether it is a token of ours: 32 digits of hexadecimal. */
bool request_is_token(const char *text);

/* NULL stands for a header that is not there. */
bool request_has_host(const struct request_rules *rules, const char *host);
bool request_is_of_page(const char *fetch_site, const char *origin, const char *host);
/* In a time that does not depend on what is wrong with it. */
bool request_has_token(const struct request_rules *rules, const char *authorization);

#endif
