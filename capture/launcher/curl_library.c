/* curl_library.c: see curl_library.h. */
#include "curl_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* false: it lacks a function. */
static bool find_curl_functions(void *handle, struct curl_library *library) {
  void *found;
#define FIND(name)                                                \
  if (!(found = dlsym(handle, "curl_" #name))) return false;      \
  memcpy(&library->name, &found, sizeof found);
  CURL_LIBRARY_FUNCTIONS(FIND)
#undef FIND
  return true;
}

bool curl_library_open(struct curl_library *library, char *problem, size_t problem_size) {
  static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  void *handle = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !handle; i++) handle = dlopen(names[i], RTLD_NOW);
  const curl_version_info_data *version = NULL;
  if (!handle) {
    snprintf(problem, problem_size, "libcurl is needed to ask profiler servers, and is not there (libcurl.so.4); on "
             "Debian: apt install libcurl4");
    return false;
  }
  /* TLS is not used, and takes its time to begin. */
  if (find_curl_functions(handle, library) && library->global_init(CURL_GLOBAL_NOTHING) == CURLE_OK)
    version = library->version_info(CURLVERSION_NOW);
  if (version && version->features & CURL_VERSION_HTTP2) return true;
  snprintf(problem, problem_size, "the libcurl that is there (%s) cannot speak HTTP/2, which profiler servers do",
           version ? version->version : "of an unknown version");
  return false;
}
