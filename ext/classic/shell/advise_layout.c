/* advise_layout.c: what checks find, in the layout of TensorFlow's profiler.
**
** Its four checkers come first, three of them with a heading even where they find nothing. The others come where they
** find something, with what to do below each finding.
*/
#include <stdio.h>
#include <string.h>

#include "classic/shell/classic.h"
#include "shell/advising.h"

enum { FIRST_CHECKS = 4 };
const char *const classic_first_checks[FIRST_CHECKS + 1] = {"accelerator_utilization", "expensive_operation", "job",
                                                            "operation", NULL};

/* The documents of 1.3 show these, one after the other, each with its heading. */
static const char *const old_checks[] = {"accelerator_utilization", "operation", "job", "expensive_operation"};

/* Those whose heading is always written. */
static const char *const always_headed[] = {"accelerator_utilization", "expensive_operation", "operation"};

static bool is_one_of(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

static bool is_true(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  bool result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0);
  sqlite3_finalize(statement);
  return result;
}

/* What the graph's checker has nothing to go by, and which of TensorFlow's files would bring it. */
static void tell_missing(struct advising *advising) {
  sqlite3 *db = advising->session->db;
#define OF_TENSORFLOW "profile_id IN (SELECT id FROM tfprof_own.profiles WHERE has_framework(framework, 'tensorflow'))"
  for (int i = 0; i < advising->check_count; i++) {
    if (!advising->is_chosen[i] || strcmp(advising->checks[i]->name, "expensive_operation") != 0) continue;
    if (!is_true(db, "SELECT EXISTS (SELECT 1 FROM tfprof_own.nodes WHERE " OF_TENSORFLOW ")")) continue;
    fflush(stdout);
    if (!is_true(db, "SELECT EXISTS (SELECT 1 FROM tfprof_own.node_steps WHERE " OF_TENSORFLOW ")"))
      fputs("ExpensiveOperationChecker: no step was traced, so no node has a time; --run_meta_path adds steps\n",
            stderr);
    else if (!is_true(db, "SELECT EXISTS (SELECT 1 FROM tfprof_own.nodes"
                          " WHERE code_trace_id IS NOT NULL AND " OF_TENSORFLOW ")"))
      fputs("ExpensiveOperationChecker: there are no call stacks, so no lines; --op_log_path adds them\n", stderr);
  }
#undef OF_TENSORFLOW
}

/* The findings of one check. */
static enum session_result show(struct advising *advising, const struct stored_select *check) {
  bool is_first = is_one_of(check->name, classic_first_checks, FIRST_CHECKS);
  bool is_headed =
      advising->is_old || is_one_of(check->name, always_headed, sizeof always_headed / sizeof always_headed[0]);
  char name[LONGEST_NAME];
  sqlite3_stmt *statement = NULL;
  advise_checker_name(check, name);
  if (is_headed) printf("\n%s:\n", name);
  char *sql = sqlite3_mprintf("SELECT message, suggestion FROM temp.\"%w\"", check->name);
  int code = sql ? sqlite3_prepare_v2(advising->session->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
  while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *message = (const char *)sqlite3_column_text(statement, 0);
    const char *suggestion = (const char *)sqlite3_column_text(statement, 1);
    if (!is_headed) printf("\n%s:\n", name);
    is_headed = true;
    puts(message ? message : "");
    if (!is_first && suggestion) printf("  %s\n", suggestion);
    code = SQLITE_OK;
  }
  fflush(stdout);
  if (code != SQLITE_DONE && code != SQLITE_INTERRUPT)
    fprintf(stderr, "error: %s: %s\n", name, sqlite3_errmsg(advising->session->db));
  sqlite3_finalize(statement);
  sqlite3_free(sql);
  return code == SQLITE_DONE ? SESSION_OK : code == SQLITE_INTERRUPT ? SESSION_INTERRUPTED : SESSION_ERROR;
}

/* In the order of the documents of 1.3, which begin with what the job's checker says where it has nothing to say. */
static enum session_result show_old(struct advising *advising) {
  enum session_result result = SESSION_OK;
  if (!is_true(advising->session->db, "SELECT EXISTS (SELECT 1 FROM temp.job)"))
    puts("Not running under a job scheduler. Skip JobChecker.");
  for (size_t k = 0; k < sizeof old_checks / sizeof old_checks[0]; k++) {
    for (int i = 0; i < advising->check_count && result == SESSION_OK; i++) {
      size_t length = stored_check_name_length(advising->checks[i]);
      if (strlen(old_checks[k]) == length && memcmp(advising->checks[i]->name, old_checks[k], length) == 0)
        result = show(advising, advising->checks[i]);
    }
  }
  return result;
}

enum session_result classic_print_advice(struct advising *advising) {
  enum session_result result = SESSION_OK;
  if (advising->is_old && !advising->has_checkers) {
    result = show_old(advising);
  } else {
    for (int i = 0; i < advising->check_count && result == SESSION_OK; i++) {
      if (advising->is_chosen[i]) result = show(advising, advising->checks[i]);
    }
  }
  tell_missing(advising);
  return result;
}
