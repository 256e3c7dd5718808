/* page_data.h: what a page shows, as JSON: the rows of a panel, the lanes of a timeline.
**
** The same for a file (report.h) and for a server (serve/): in both < is written \u003c, so that no text ends an
** element of HTML that it stands in.
*/
#ifndef TFPROF_PAGE_DATA_H
#define TFPROF_PAGE_DATA_H

#include <sqlite3.h>

#include "report/lane_columns.h"
#include "report/redaction.h"
#include "vtab/stored_select.h"
#include "write/output_file.h"

/* Where texts go, and what of them is left out. */
struct page_texts {
  struct output_file *file;
  const struct redaction *redaction; /* NULL: nothing is left out */
};

/* What a panel's parameters are bound to; what is not given is NULL. */
struct panel_parameters {
  bool has_profile, has_steps;
  int64_t profile_id, first_step, last_step, origin_ns;
};

/* A JSON string; NULL: null. */
void page_text(const struct page_texts *texts, const char *text);
void page_bytes(const struct page_texts *texts, const char *text, size_t length);

void page_bind(sqlite3_stmt *statement, const struct panel_parameters *parameters);
/* "columns":[...],"rows":[...] of what is stepped through, until `most_rows`; the result of the last step, SQLITE_ROW
** where there is more. statement may be NULL. */
int page_rows(const struct page_texts *texts, sqlite3_stmt *statement, uint64_t most_rows, uint64_t *row_count);
/* {"name":...,"sql":...,"columns":[...],"rows":[...],"error":null}; error: why the rows are not all there. A cell that
** is [N] has the text that its column has in row N, from 0. The result of its last step. */
int page_panel(const struct page_texts *texts, sqlite3 *db, const struct stored_select *panel,
               const struct panel_parameters *parameters);
/* "lanes":[...],"names":[...]; the columns themselves are left to the caller. */
void page_lanes(const struct page_texts *texts, const struct pool *pool, const struct lane_columns *columns);

#endif
