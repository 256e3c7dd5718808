/* profiler_servers.h: recordings by profiler servers, which TensorFlow and JAX programs start themselves
** (tf.profiler.experimental.server.start(6009), jax.profiler.start_server(6009)): any number of them at the same time.
**
** Each is asked to record for a time and sends what it recorded, an XSpace, which becomes the file
** HOST_PORT.server.xplane.pb of the run directory once all of it is there.  Of one that fails nothing stays there.
*/
#ifndef TFPROF_LAUNCHER_PROFILER_SERVERS_H
#define TFPROF_LAUNCHER_PROFILER_SERVERS_H

#include "profiler_address.h"
#include "profiler_messages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profiler_server {
  struct profiler_address address;
  bool is_over;       /* with a file or a problem */
  bool is_told;       /* the caller's: its problem was said */
  uint64_t bytes;     /* of its file; 0: there is none */
  char problem[1200]; /* why there is none; empty: it goes well */
};

struct profiler_servers;

struct profiler_plan {
  struct profiler_wish wish;
  unsigned retries;      /* so many times more, where nothing happened while it recorded */
  uint64_t most_bytes;   /* of an answer; 0: any */
  const char *directory; /* absolute */
};

/* NULL: `problem` says what is missing. */
struct profiler_servers *profiler_servers_make(char *problem, size_t problem_size);
void profiler_servers_free(struct profiler_servers *servers);

/* One that is there already is added once. NULL, or what is wrong: one phrase. */
const char *profiler_servers_add(struct profiler_servers *servers, const char *word);
size_t profiler_servers_count(const struct profiler_servers *servers);
struct profiler_server *profiler_servers_at(const struct profiler_servers *servers, size_t i);

/* Asks all of them, without waiting. The plan must live on. */
void profiler_servers_begin(struct profiler_servers *servers, const struct profiler_plan *plan);
/* Waits until something comes of them or of the descriptors, for at most so long, and takes it. */
void profiler_servers_wait(struct profiler_servers *servers, const int *descriptors, size_t count, int milliseconds);
size_t profiler_servers_count_open(const struct profiler_servers *servers);
/* Tells those that record to end now; what they have recorded until then comes. */
void profiler_servers_end(struct profiler_servers *servers);
/* Waits for no one any more; `problem` is that of who has not answered. */
void profiler_servers_give_up(struct profiler_servers *servers, const char *problem);

#endif
