/* profiler_servers_absent.c: profiler_servers.h where libcurl's header was not there when tfprof was built. */
#include "profiler_servers.h"

#include <stdio.h>

struct profiler_servers *profiler_servers_make(char *problem, size_t problem_size) {
  snprintf(problem, problem_size, "this tfprof-capture was built without libcurl, which asks profiler servers; on "
           "Debian: apt install libcurl4-openssl-dev, and build again");
  return NULL;
}

/* There is never one to be given to these. */
void profiler_servers_free(struct profiler_servers *servers) { (void)servers; }
const char *profiler_servers_add(struct profiler_servers *servers, const char *word) {
  (void)servers;
  (void)word;
  return "there are no profiler servers";
}
size_t profiler_servers_count(const struct profiler_servers *servers) {
  (void)servers;
  return 0;
}
struct profiler_server *profiler_servers_at(const struct profiler_servers *servers, size_t i) {
  (void)servers;
  (void)i;
  return NULL;
}
void profiler_servers_begin(struct profiler_servers *servers, const struct profiler_plan *plan) {
  (void)servers;
  (void)plan;
}
void profiler_servers_wait(struct profiler_servers *servers, const int *descriptors, size_t count, int milliseconds) {
  (void)servers;
  (void)descriptors;
  (void)count;
  (void)milliseconds;
}
size_t profiler_servers_count_open(const struct profiler_servers *servers) {
  (void)servers;
  return 0;
}
void profiler_servers_end(struct profiler_servers *servers) { (void)servers; }
void profiler_servers_give_up(struct profiler_servers *servers, const char *problem) {
  (void)servers;
  (void)problem;
}
