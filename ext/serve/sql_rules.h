/* sql_rules.h: what SQL may do that comes from a page: ask, and nothing else. */
#ifndef TFPROF_SQL_RULES_H
#define TFPROF_SQL_RULES_H

#include <sqlite3.h>

/* From now on the connection, which has its views already, runs only SELECTs that neither reach the file system nor
** change anything, of limited size. */
void sql_rules_apply(sqlite3 *db);

#endif
