/* report.h: the closing summary of tfprof-capture, on stderr. */
#ifndef TFPROF_LAUNCHER_REPORT_H
#define TFPROF_LAUNCHER_REPORT_H

#include "options.h"
#include "program.h"
#include "run_directory.h"
#include "supervise.h"

/* `tools` is how the user reaches the directory of tfprof ("build/"), or empty when it is on PATH. `extension` is what
** to give to sqlite3's .load. */
void report(const struct capture_options *options, const struct run_directory *directory,
            const struct program *program, const struct outcome *outcome, const char *tools, const char *extension);

/* The same of files that programs wrote which were attached to; `path`: what to look at. */
void report_files(const char *const *files, size_t count, const char *path, bool is_quiet, const char *tools,
                  const char *extension);

#endif
