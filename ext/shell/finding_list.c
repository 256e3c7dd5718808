/* finding_list.c: see finding_list.h.
**
**   CRITICAL host_bound, rank 1: saves 1.18 s
**     rank 1: 67 % of the step time passes outside any op: 24.4 ms of 36.2 ms per step
**     → Find the Python code between the ops, move it out of the loop or into a
**       DataLoader worker.
**     SELECT number, dur_ns, op_ns, outside_ns FROM temp.step_op_time WHERE profile_id = 3;
**
** What was found, what to do, and the rows behind it, ready to be pasted.  On a terminal lines are broken between
** words, but for SQL; elsewhere each stays one line.
*/
#include "finding_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cell.h"

enum { SEVERITY, CHECK_NAME, SUBJECT, SAVES, MESSAGE, SUGGESTION, EVIDENCE };

static const char findings_sql[] =
    "SELECT severity, check_name, subject, format_ns(saves_ns), message, suggestion, evidence FROM temp.advise";

static void paint(const struct session *session, const char *sequence) {
  if (session_style(session).colour) fputs(sequence, stdout);
}
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static bool print_finding(const struct session *session, sqlite3_stmt *statement) {
  struct cell cells[EVIDENCE + 1] = {0};
  bool has_memory = true;
  int width = session_style(session).width;
  for (int i = 0; i <= EVIDENCE && has_memory; i++) has_memory = cell_make(statement, i, QUANTITY_NONE, &cells[i]);
  if (has_memory) {
    bool is_critical = strcasecmp(cells[SEVERITY].text, "critical") == 0;
    paint(session, BOLD);
    printf("%s %s, %s", is_critical ? "CRITICAL" : cells[SEVERITY].text, cells[CHECK_NAME].text, cells[SUBJECT].text);
    if (sqlite3_column_type(statement, SAVES) != SQLITE_NULL) printf(": saves %s", cells[SAVES].text);
    paint(session, PLAIN);
    putchar('\n');
    cell_print_wrapped(&cells[MESSAGE], "  ", width);
    if (cells[SUGGESTION].type != SQLITE_NULL) cell_print_wrapped(&cells[SUGGESTION], "  → ", width);
    paint(session, DIM);
    if (cells[EVIDENCE].type != SQLITE_NULL) printf("  %s;\n", cells[EVIDENCE].text);
    paint(session, PLAIN);
  }
  for (int i = 0; i <= EVIDENCE; i++) free(cells[i].text);
  return has_memory;
}

enum session_result finding_list_print(struct session *session, const char *condition) {
  sqlite3_stmt *statement = NULL;
  char *sql = sqlite3_mprintf("%s%s", findings_sql, condition);
  bool has_memory = true;
  unsigned count = 0;
  int code = sql ? sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
  while (code == SQLITE_OK && has_memory && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    code = destination_is_gone(&session->destination) ? SQLITE_DONE : SQLITE_OK;
    if (count++) putchar('\n');
    has_memory = print_finding(session, statement);
  }
  if (code == SQLITE_DONE && count == 0)
    puts("No check found anything. SELECT * FROM coverage; tells how much that rests on.");
  fflush(stdout);
  if (!has_memory) fputs("error: not enough memory\n", stderr);
  else if (code != SQLITE_DONE && code != SQLITE_INTERRUPT)
    fprintf(stderr, "error: advise: %s\n", sqlite3_errmsg(session->db));
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  return code == SQLITE_DONE && has_memory ? SESSION_OK
         : code == SQLITE_INTERRUPT        ? SESSION_INTERRUPTED
                                           : SESSION_ERROR;
}
