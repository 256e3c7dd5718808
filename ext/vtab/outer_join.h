/* outer_join.h: a guard against a mistake of SQLite before 3.51.
**
** In `a LEFT JOIN b ON ... AND a.name LIKE 'x%'` the LIKE decides which rows of b join, and drops none of a.  Before
** 3.51 SQLite offers it to the virtual table a as if it stood in WHERE, and likewise <>, IS NOT, IS NOT NULL, GLOB and
** REGEXP.  xBestIndex cannot tell the two apart.  So on these versions a table leaves such a constraint to SQLite as
** well, and evaluates it itself only while no statement that is running contains an outer join with such a condition.
** Left to SQLite always, LIKE over the names of a million ops takes 2.5 times as long, GLOB 3.7 times.
*/
#ifndef TFPROF_OUTER_JOIN_H
#define TFPROF_OUTER_JOIN_H

#include <stdbool.h>
#include <sqlite3ext.h>

#include "vtab/connection.h"
#include "vtab/plan.h"

/* Whether this SQLite makes the mistake, and with which operators. */
bool outer_join_is_mistaken(void);
bool outer_join_concerns(enum term_operator operator);

/* Whether a statement that is running on the connection may contain such an outer join, in its own text or in a view or
** trigger: decided by the words in them.  A LEFT JOIN whose ON has nothing but comparisons (= < IS ...) joined by AND,
** or none, is no such. */
bool outer_join_is_running(struct connection *connection);
/* To be called when a statement with our tables is prepared, which may read views that were not there before. */
void outer_join_forget(struct connection *connection);

#endif
