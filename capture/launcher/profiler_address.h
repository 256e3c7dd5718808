/* profiler_address.h: the address of a profiler server, as people type it: host:6009, 10.0.0.1:6009, [::1]:6009. */
#ifndef TFPROF_LAUNCHER_PROFILER_ADDRESS_H
#define TFPROF_LAUNCHER_PROFILER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

enum { PROFILER_ADDRESS_BYTES = 300, PROFILER_URL_BYTES = 2 * PROFILER_ADDRESS_BYTES };

struct profiler_address {
  char text[PROFILER_ADDRESS_BYTES]; /* without grpc://, in small letters: two of one server are equal */
  char url[PROFILER_URL_BYTES];      /* "http://host:6009" */
  char name[PROFILER_ADDRESS_BYTES]; /* that a file can have: host_6009 */
};

/* Whether the word is meant as one: it has a colon, and is neither rank:N nor run:DIR. */
bool profiler_address_is_meant(const char *word);
/* NULL, or what is wrong with it: one phrase. */
const char *profiler_address_read(const char *word, struct profiler_address *address);

#endif
