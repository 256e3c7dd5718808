/* redaction.h: what --redact leaves out of a page: texts that say where, for whom and on what a run ran.
**
** For hosts, paths, command lines, process ids and lines of source (redacted) stands.  The names that the program gave
** to threads, ranges, marks, domains, categories, counters and groups of ranks become `range 7`, so that they can be
** told apart.  A name stays that is made of words which tfprof itself uses (forward, DataLoader, step 3): it says
** nothing, and what frameworks call their ranges is such.  Names of functions, classes, modules, ops and kernels stay,
** and those of source files without their folders.
*/
#ifndef TFPROF_REDACTION_H
#define TFPROF_REDACTION_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/error.h"

struct redaction;

extern const char page_redacted[]; /* stands for what is left out */

/* Finds all such texts of what is open on the connection, which has the stored views. To be freed. */
enum tfprof_status redaction_find(sqlite3 *db, struct redaction **found, struct tfprof_error *error);
void redaction_free(struct redaction *redaction);
/* Whether all that a column of this name holds is left out, or the fact of this name. */
bool redaction_hides_column(const char *column);
/* The text without them, to be freed with sqlite3_free(); NULL: there are none in it. They are found as words of their
** own: of a path without a folder, such as `run`, only the column is left out, since every text has such words. */
char *redaction_clean(const struct redaction *redaction, const char *text);

#endif
