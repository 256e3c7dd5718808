/* report.h: the closing summary of tfprof-capture, on stderr. */
#ifndef TFPROF_LAUNCHER_REPORT_H
#define TFPROF_LAUNCHER_REPORT_H

#include "options.h"
#include "profiler_servers.h"
#include "program.h"
#include "run_directory.h"
#include "supervise.h"

/* `tools` is how the user reaches the directory of tfprof ("build/"), or empty when it is on PATH. `extension` is what
** to give to sqlite3's .load. */
void report(const struct capture_options *options, const struct run_directory *directory,
            const struct program *program, const struct outcome *outcome, const char *tools, const char *extension);

/* What came of attaching. */
struct attached {
  const char *const *dumps; /* that programs wrote */
  size_t dump_count;
  const struct profiler_servers *servers; /* NULL: none were asked */
  const char *path;                       /* what to look at */
};

/* The same of that. */
void report_attached(const struct attached *attached, bool is_quiet, const char *tools, const char *extension);

#endif
