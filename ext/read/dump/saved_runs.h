/* saved_runs.h: what is open as dump files, and which of those are a run.
**
** One profile is a file.  A run of several is a directory with a file for each.  Several runs are a directory with one
** for each run, called as the run was, and with the file `saved-runs`:
**
**     tfprof runs 1
**     before.json
**     after.json
**
** These are the names of the directories in the order in which the runs were open, each of which becomes a run again
** when the directory above them is opened.
*/
#ifndef TFPROF_SAVED_RUNS_H
#define TFPROF_SAVED_RUNS_H

#include "read/open/path_list.h"
#include "store/store.h"

/* Writes everything that is open to `path`, which must be new or an empty directory. TFPROF_USAGE: it is a file, a
** directory that is not empty, or a file in the directory of an open run, which would have its rows twice. Other errors
** are those of dump_save. After a failure nothing of it is left. */
enum tfprof_status saved_runs_write(struct store *store, const char *path, struct tfprof_error *error);

/* The runs in a directory that saved_runs_write made of several; none in anything else. TFPROF_CORRUPT: the list has
** what cannot be one. */
enum tfprof_status saved_runs_list(const char *path, struct path_list *runs, struct tfprof_error *error);

#endif
