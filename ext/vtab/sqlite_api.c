/* sqlite_api.c: SQLite's table of functions, through which the loadable extension calls it.
**
** In a file of its own, since every part calls SQLite, and ext/tfprof.c, which fills the table in, calls every part.
*/
#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT1
