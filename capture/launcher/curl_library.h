/* curl_library.h: libcurl, found when it is needed.
**
** tfprof-capture is linked without it: it needs libcurl only to ask profiler servers, and shall run where there is
** none, as in most containers, and beside any release of it: the relocatable build cannot bring one of its own, since
** that would bring a TLS library.  Its header says at build time what the functions take.
*/
#ifndef TFPROF_LAUNCHER_CURL_LIBRARY_H
#define TFPROF_LAUNCHER_CURL_LIBRARY_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <stdbool.h>
#include <stddef.h>

#define CURL_LIBRARY_FUNCTIONS(X)                                                                                    \
  X(global_init)                                                                                                     \
  X(version_info)                                                                                                    \
  X(easy_init) X(easy_setopt) X(easy_getinfo) X(easy_cleanup) X(easy_strerror)                                       \
  X(multi_init) X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_wait) X(multi_info_read)         \
  X(multi_cleanup) X(slist_append) X(slist_free_all)

struct curl_library {
#define MEMBER(name) __typeof__(curl_##name) *name;
  CURL_LIBRARY_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* false: `problem` says that it is not there, or cannot speak HTTP/2. */
bool curl_library_open(struct curl_library *library, char *problem, size_t problem_size);

#endif
