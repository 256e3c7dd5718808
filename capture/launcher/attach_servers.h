/* attach_servers.h: what --attach asks of the profiler servers that it names, and what it says of them. */
#ifndef TFPROF_LAUNCHER_ATTACH_SERVERS_H
#define TFPROF_LAUNCHER_ATTACH_SERVERS_H

#include "options.h"
#include "profiler_servers.h"

enum { ATTACH_SERVERS_USUAL_MS = 2000 }; /* servers know no steps */

/* Whether one of the words is the address of a server. */
bool attach_servers_are_named(const char *words);
/* false: said that these options are for servers. */
bool attach_servers_options_are_right(const struct capture_options *options, bool has_servers);
struct profiler_plan attach_servers_plan(const struct capture_options *options, uint64_t duration_ms);

/* Says what has failed since it was said last. */
void attach_servers_tell_failures(const struct profiler_servers *servers);
/* How many sent a profile. */
size_t attach_servers_count_sent(const struct profiler_servers *servers);

#endif
