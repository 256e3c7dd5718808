/* serve_absent.c: serve.h where libmicrohttpd was not there when tfprof was built. */
#include "serve/serve.h"

#include <stdio.h>

enum serve_result serve_run(const struct serve_options *options) {
  (void)options;
  fputs(
      "tfprof serve: this tfprof was built without libmicrohttpd; on Debian: apt install libmicrohttpd-dev, and build "
      "again. `tfprof report` writes the same page as a file\n",
      stderr);
  return SERVE_FAILED;
}
