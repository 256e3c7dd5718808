/* summary.c: see summary.h.
**
**   run         train.py, pytorch 2.13.0, on node7, 1.17 s, 23.6 k ops, 8.77 k kernels
**   steps       6, median 176 ms, 95 % within 180 ms, 5.72 a second
**   step times  ▆▅▆█▆▁  164 ms … 181 ms
**   ...
**   warning     input_loading saves 416 ms: 40 % of the step time is spent waiting for input
**
**   more: advise; SELECT * FROM op_summary LIMIT 10; ...
**
** The lines are the view run_summary, of graphs and checkpoints of which no op ran what model_summary says of the
** largest, and the first rows of advise_summary; on a terminal they are broken between words.  In front of them, for
** people alone, stands why the last seconds of a run were written (--keep), and where it hangs, or hung until it was
** ended:
**
**   written     slow_step: step 812 took 1204.7 ms, ..., with the 31.2 s before it (triggers)
**   hang        rank 2 has ended no step since 12:03:11 UTC (33 s), waits for a lock at train.py:9 (hang_summary)
**
** It is a statement of its own, since SQLite 3.54 allows 1,000 subqueries in one.
*/
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"

enum { TITLE_WIDTH = 12 };

static const char hangs_sql[] =
    "SELECT 'hang', iif(lasted_ns IS NULL AND role NOT IN ('silent', 'ended'), message,"
    "  name || iif(doing IS NULL, ': nothing was recorded of it after ', ' has ended no step since ')"
    "  || strftime('%H:%M:%S', start_ns / 1000000000, 'unixepoch') || ' UTC' || iif(doing IS NULL, ', and others wait "
    "for it', format(' (%.0f s), ', lasted_ns / 1e9) || doing)) || ' (hang_summary)'"
    " FROM temp.hang_summary AS hangs WHERE EXISTS (SELECT 1 FROM tfprof_own.hangs) AND EXISTS (SELECT 1"
    " FROM temp.hangs_check AS told WHERE severity = 'critical' AND subject = name AND evidence GLOB '* = ' || hang)"
    " LIMIT 3";
/* What tfprof-capture --keep wrote is the last part of a recording. */
static const char triggers_sql[] =
    "SELECT 'written', kind || coalesce(': ' || message, '')"
    " || coalesce(', with the ' || format_ns(time_ns - kept_from_ns) || ' before it', '')"
    " || coalesce(', by ' || nullif(asked_processes, 0) || iif(asked_processes = 1, ' other process', "
    "' other processes') || ', too', '') || ' (triggers)'"
    " FROM tfprof_own.triggers ORDER BY kind = 'other_process', time_ns LIMIT 3";
static const char lines_sql[] =
    "SELECT title, text FROM (SELECT position, title, text FROM temp.run_summary UNION ALL "
    "SELECT 500 + line, column2, CASE line"
    " WHEN 1 THEN format_count(nullif(node_count, 0)) || ' nodes'"
    "  || iif(variable_count, ', ' || format_count(param_count) || ' parameters (' || format_bytes(param_bytes)"
    "   || ') in ' || format_count(variable_count) || ' variables', '')"
    "  || iif(flops_node_count, ', ' || format_count(flops) || ' flops of ' || format_count(flops_node_count)"
    "   || ' nodes', '') || iif(model_count > 1, ', largest of ' || model_count || ' that are open', '')"
    " WHEN 2 THEN node_types"
    " WHEN 3 THEN format_count(nullif(tensor_count, 0)) || ' tensors, ' || format_count(element_count) || ' numbers ('"
    "  || format_bytes(bytes) || ')'"
    " ELSE largest END AS text"
    " FROM (SELECT *, count(*) OVER () AS model_count, row_number() OVER (ORDER BY param_bytes DESC, bytes DESC,"
    "  node_count DESC, profile_id) AS place FROM temp.model_summary AS models"
    "  WHERE NOT EXISTS (SELECT 1 FROM tfprof_own.ops WHERE ops.profile_id = models.profile_id))"
    " CROSS JOIN (SELECT column1 AS line, column2"
    "  FROM (VALUES (1, 'model'), (2, 'node types'), (3, 'stored'), (4, 'largest')))"
    " WHERE place = 1 AND text IS NOT NULL UNION ALL "
    "SELECT 1000 + row_number() OVER (), severity, check_name || coalesce(' saves ' || format_ns(saves_ns), '') ||"
    " iif(process_count > 1, ', as in ' || (process_count - 1) || ' more', '') || ': ' || message"
    " FROM (SELECT * FROM temp.advise_summary WHERE severity <> 'info' LIMIT 3)) ORDER BY position";
/* Of what was recorded. */
static const char more_sql[] =
    "SELECT 'advise' || iif(EXISTS (SELECT 1 FROM tfprof_own.ops), '; SELECT * FROM op_summary LIMIT 10', '')"
    " || iif(EXISTS (SELECT 1 FROM temp.code_summary), '; SELECT * FROM code_summary WHERE self_ns > 0 LIMIT 10', '')"
    " || iif(NOT EXISTS (SELECT 1 FROM tfprof_own.ops) AND EXISTS (SELECT 1 FROM tfprof_own.allocations),"
    " '; SELECT * FROM memory_by_line LIMIT 10', '')"
    " || iif(NOT EXISTS (SELECT 1 FROM tfprof_own.ops) AND EXISTS (SELECT 1 FROM tfprof_own.nodes),"
    " '; SELECT name, op_type, shape, param_bytes, flops FROM nodes ORDER BY param_bytes DESC LIMIT 10', '')"
    " || iif(NOT EXISTS (SELECT 1 FROM tfprof_own.ops) AND EXISTS (SELECT 1 FROM tfprof_own.hlo_instructions),"
    " '; SELECT * FROM hlo_summary LIMIT 10', '')"
    " || iif(EXISTS (SELECT 1 FROM tfprof_own.tensors),"
    " '; SELECT name, shape, bytes FROM tensors ORDER BY bytes DESC LIMIT 10', '')";

static void print_line(const struct session *session, const struct cell *title, const struct cell *text) {
  struct output_style style = session_style(session);
  int width = style.width > TITLE_WIDTH + 20 ? style.width - TITLE_WIDTH : INT32_MAX;
  size_t done = 0;
  printf("%s%s%s%*s", style.colour ? "\033[1m" : "", title->text, style.colour ? "\033[0m" : "",
         TITLE_WIDTH - cell_width(title->text, title->length), "");
  do {
    size_t rest, taken = cell_next_line(text->text + done, text->length - done, width, &rest);
    printf("%*s%.*s\n", done ? TITLE_WIDTH : 0, "", (int)taken, text->text + done);
    done += rest;
  } while (done < text->length);
}

static int print_more(const struct session *session) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(session->db, more_sql, -1, &statement, NULL);
  if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    struct output_style style = session_style(session);
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    size_t length = text ? strlen(text) : 0;
    printf("\nmore:");
    for (size_t done = 0, rest; done < length; done += rest) {
      size_t taken = cell_next_line(text + done, length - done, style.width > 26 ? style.width - 6 : INT32_MAX, &rest);
      printf("%s %.*s\n", done ? "     " : "", (int)taken, text + done);
    }
    code = SQLITE_DONE;
  }
  sqlite3_finalize(statement);
  return code;
}

static int print_lines(struct session *session, const char *sql) {
  sqlite3_stmt *statement = NULL;
  session_make_views_for(session, sql);
  int code = sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL);
  while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    struct cell title = {0}, text = {0};
    code = destination_is_gone(&session->destination) ? SQLITE_DONE : SQLITE_OK;
    if (!cell_make(statement, 0, QUANTITY_NONE, &title) || !cell_make(statement, 1, QUANTITY_NONE, &text))
      code = SQLITE_NOMEM;
    else print_line(session, &title, &text);
    free(title.text);
    free(text.text);
  }
  sqlite3_finalize(statement);
  return code;
}

enum session_result summary_print(struct session *session) {
  if (session->style.format != OUTPUT_BOX) return session_run(session, lines_sql, NULL);
  int code = print_lines(session, triggers_sql);
  if (code == SQLITE_DONE) code = print_lines(session, hangs_sql);
  if (code == SQLITE_DONE) code = print_lines(session, lines_sql);
  if (code == SQLITE_DONE) code = print_more(session);
  fflush(stdout);
  if (code == SQLITE_NOMEM) fputs("error: not enough memory\n", stderr);
  else if (code != SQLITE_DONE && code != SQLITE_INTERRUPT)
    fprintf(stderr, "error: summary: %s\n", sqlite3_errmsg(session->db));
  return code == SQLITE_DONE        ? SESSION_OK
         : code == SQLITE_INTERRUPT ? SESSION_INTERRUPTED
                                    : SESSION_ERROR;
}
