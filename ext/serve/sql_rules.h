/* sql_rules.h: what SQL may do that comes from a page: ask, and nothing else. */
#ifndef TFPROF_SQL_RULES_H
#define TFPROF_SQL_RULES_H

#include <sqlite3.h>

/* From now on the connection, which has its views already, runs only SELECTs that neither reach the file system nor
** change anything, of limited size. */
void sql_rules_apply(sqlite3 *db);
/* And for SQL that somebody wrote: texts of 512 KiB at most. A function of SQLite, such as instr(), runs to its end
** whatever interrupts the query, and some take as long as the square of the length. */
void sql_rules_bound_texts(sqlite3 *db);

#endif
