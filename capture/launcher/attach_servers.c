/* attach_servers.c: see attach_servers.h. */
#include "attach_servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_HOST_LEVEL = 2, USUAL_DEVICE_LEVEL = 1, USUAL_RETRIES = 3 };

bool attach_servers_are_named(const char *words) {
  char *text = strdup(words), *rest;
  bool is_any = false;
  for (char *word = text ? strtok_r(text, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest))
    is_any |= profiler_address_is_meant(word);
  free(text);
  return is_any;
}

bool attach_servers_options_are_right(const struct capture_options *options, bool has_servers) {
  for (int option = OPTION_HOST_TRACER_LEVEL; option <= OPTION_RETRIES && !has_servers; option++) {
    if (!options_text(options, (enum option)option)) continue;
    fputs("tfprof-capture: tracer levels and --retries are for profiler servers, such as --attach host:6009\n", stderr);
    return false;
  }
  return true;
}

static unsigned level_of(const struct capture_options *options, enum option option, unsigned otherwise) {
  const char *text = options_text(options, option);
  return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

struct profiler_plan attach_servers_plan(const struct capture_options *options, uint64_t duration_ms) {
  const char *most = options_text(options, OPTION_MAX_SIZE);
  return (struct profiler_plan){
      .wish = {.duration_ms = duration_ms,
               .host_level = level_of(options, OPTION_HOST_TRACER_LEVEL, USUAL_HOST_LEVEL),
               .device_level = level_of(options, OPTION_DEVICE_TRACER_LEVEL, USUAL_DEVICE_LEVEL),
               .python_level = level_of(options, OPTION_PYTHON_TRACER_LEVEL, 0)},
      .retries = level_of(options, OPTION_RETRIES, USUAL_RETRIES),
      .most_bytes = most ? strtoull(most, NULL, 10) : 0};
}

void attach_servers_tell_failures(const struct profiler_servers *servers) {
  for (size_t i = 0; i < profiler_servers_count(servers); i++) {
    struct profiler_server *server = profiler_servers_at(servers, i);
    if (!server->is_over || server->bytes || server->is_told) continue;
    server->is_told = true;
    fprintf(stderr, "tfprof-capture: %s: %s\n", server->address.text, server->problem);
  }
}

size_t attach_servers_count_sent(const struct profiler_servers *servers) {
  size_t sent = 0;
  for (size_t i = 0; i < profiler_servers_count(servers); i++) sent += profiler_servers_at(servers, i)->bytes > 0;
  return sent;
}
