/* advise.c: see advise.h.
**
** By itself it shows the view `advise` (finding_list.h).  With -checkers, or with --compat for the four of TensorFlow,
** it has the layout of TensorFlow's profiler: the check accelerator_utilization of sql/advise is called
** AcceleratorUtilizationChecker.  Those of TensorFlow come first, with a heading even where they find nothing; the
** others where they find something, with what to do below each finding.  In the formats csv, json and so on the rows
** are shown.
*/
#include "advise.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise_options.h"
#include "classic.h"
#include "finding_list.h"
#include "vtab/settings.h"
#include "vtab/stored_select.h"

enum { MAXIMUM_CHECKS = 64, LONGEST_NAME = 80, MAXIMUM_CHANGES = 64 };

/* The documents of 1.3 show these, one after the other, each with its heading. */
static const char *const old_checks[] = {"accelerator_utilization", "operation", "job", "expensive_operation"};

/* Those whose heading is always written, and the one that only has one with findings: the checkers of TensorFlow. */
static const char *const always_headed[] = {"accelerator_utilization", "expensive_operation", "operation"};
static const char *const first_checks[] = {"accelerator_utilization", "expensive_operation", "job", "operation"};

struct change {
  char name[LONGEST_NAME];
  double value;
  bool was_set;
  double former;
};

struct advising {
  struct session *session;
  struct connection *connection;
  const struct stored_select *checks[MAXIMUM_CHECKS]; /* in the order in which they are shown */
  bool is_chosen[MAXIMUM_CHECKS];
  int check_count;
  bool is_classic;   /* in the layout of TensorFlow's profiler */
  bool is_old;       /* as the documents of an older generation show it */
  bool has_checkers; /* -checkers named those that are chosen */
  struct change changes[MAXIMUM_CHANGES];
  int change_count;
};

static bool is_one_of(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

/* job -> JobChecker */
static void checker_name(const struct stored_select *check, char *to) {
  size_t length = 0;
  bool begins = true;
  const char *end = check->name + stored_check_name_length(check);
  for (const char *at = check->name; at < end && length + 9 < LONGEST_NAME; at++) {
    if (*at == '_')
      begins = true;
    else {
      to[length++] = begins ? (char)toupper((unsigned char)*at) : *at;
      begins = false;
    }
  }
  strcpy(to + length, "Checker");
}

static void list_checks(struct advising *advising) {
  for (int pass = 0; pass < 2; pass++) {
    for (const struct stored_select *select = stored_selects; select->name; select++) {
      bool is_first = is_one_of(select->name, first_checks, sizeof first_checks / sizeof first_checks[0]);
      if (strcmp(select->kind, "check") != 0 || is_first != (pass == 0) || advising->check_count == MAXIMUM_CHECKS)
        continue;
      advising->is_chosen[advising->check_count] = true;
      advising->checks[advising->check_count++] = select;
    }
  }
}

void advise_each_checker(void (*take)(void *user, const char *name), void *user) {
  struct advising advising = {0};
  char name[LONGEST_NAME];
  list_checks(&advising);
  for (int i = 0; i < advising.check_count; i++) {
    checker_name(advising.checks[i], name);
    take(user, name);
  }
}

/* ---- the command line ---- */

static bool fail_checkers(const char *name, size_t length) {
  struct advising all = {0};
  char known[LONGEST_NAME];
  list_checks(&all);
  if (length) fprintf(stderr, "error: there is no checker '%.*s'; the checkers are ", (int)length, name);
  else fputs("error: -checkers needs names, parted by commas; the checkers are ", stderr);
  for (int i = 0; i < all.check_count; i++) {
    checker_name(all.checks[i], known);
    fprintf(stderr, "%s%s", i ? i + 1 == all.check_count ? " and " : ", " : "", known);
  }
  fputc('\n', stderr);
  return false;
}

static void choose_first(struct advising *advising) {
  for (int i = 0; i < advising->check_count; i++) {
    const char *name = advising->checks[i]->name;
    advising->is_chosen[i] = is_one_of(name, first_checks, sizeof first_checks / sizeof first_checks[0]);
  }
}

/* "JobChecker,operation", or "all". */
static bool choose(struct advising *advising, const char *list) {
  bool is_all = strcasecmp(list, "all") == 0;
  advising->is_classic = advising->has_checkers = true;
  for (int i = 0; i < advising->check_count; i++) advising->is_chosen[i] = is_all;
  if (is_all) return true;
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, ", ");
    bool is_known = length == 0;
    for (int i = 0; i < advising->check_count; i++) {
      if (!stored_check_is_meant(advising->checks[i], at, length)) continue;
      advising->is_chosen[i] = is_known = true;
    }
    if (!is_known) return fail_checkers(at, length);
    at += length + (at[length] != '\0');
  }
  return true;
}

struct search {
  const char *wanted;
  char found[LONGEST_NAME];
  int count;
};

/* The name itself, or what follows the check's name. */
static void search_setting(void *user, const char *name, const char *standard) {
  struct search *search = user;
  const char *dot = strchr(name, '.');
  (void)standard;
  if (strcmp(name, search->wanted) != 0 && !(dot && strcmp(dot + 1, search->wanted) == 0)) return;
  search->count++;
  snprintf(search->found, sizeof search->found, "%s", name);
}

static void print_option(void *user, const char *name, const char *standard) {
  fprintf(stderr, "%s%s (%s)", *(int *)user ? ", " : "", name, standard);
  *(int *)user = 1;
}

static void print_options(void) {
  int written = 0;
  fputs("; the options are ", stderr);
  advise_each_option(print_option, &written);
}

static bool change(struct advising *advising, const char *name, const char *value) {
  struct search search = {.wanted = name + strspn(name, "-")};
  char *end;
  double number = strtod(value, &end);
  settings_each(NULL, search_setting, &search);
  if (search.count != 1) {
    struct vocabulary known = {0};
    if (!search.count) advise_add_options(&known);
    const char *nearest = vocabulary_nearest(&known, search.wanted);
    fprintf(stderr, search.count ? "error: %s is an option of several checkers" : "error: advise has no option %s",
            name);
    if (nearest) fprintf(stderr, "; did you mean -%s?", nearest);
    else print_options();
    fputc('\n', stderr);
    vocabulary_free(&known);
    return false;
  }
  if (!*value || *end) {
    fprintf(stderr, "error: %s takes a number, not '%s'\n", name, value);
    return false;
  }
  if (advising->change_count == MAXIMUM_CHANGES) return false;
  int i = advising->change_count++;
  snprintf(advising->changes[i].name, LONGEST_NAME, "%s", search.found);
  advising->changes[i].value = number;
  return true;
}

/* -compat: TensorFlow's four, as with --compat on the command line; false: all, as without. */
static bool choose_compat(struct advising *advising, const char *value) {
  bool is_on = !*value || strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0;
  if (!is_on && strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0) {
    fprintf(stderr, "error: -compat is true or false, not '%s'\n", value);
    return false;
  }
  if (advising->change_count == MAXIMUM_CHANGES) return false;
  struct change *change = &advising->changes[advising->change_count++];
  snprintf(change->name, LONGEST_NAME, "compat");
  change->value = is_on;
  if (advising->has_checkers) return true;
  advising->is_classic = is_on;
  if (is_on) choose_first(advising);
  return true;
}

/* Words in pairs: an option and its value; -option=value is a pair too. */
static bool take_words(struct advising *advising, const char *line) {
  while (*(line += strspn(line, " \t\r\n;"))) {
    char name[LONGEST_NAME], value[1000];
    size_t length = strcspn(line, " \t\r\n;="), hyphens = strspn(line, "-");
    if (!hyphens) {
      fprintf(stderr, "error: '%.*s' is no option: options begin with a hyphen\n", (int)length, line);
      return false;
    }
    snprintf(name, sizeof name, "%.*s", (int)length, line);
    line += length;
    line += *line == '=' ? 1 : strspn(line, " \t\r\n");
    char quote = *line == '\'' || *line == '"' ? *line : '\0';
    line += quote != '\0';
    char ends[] = {quote ? quote : ' ', quote ? '\0' : '\t', ';', '\0'};
    length = strcspn(line, quote ? ends : " \t\r\n;");
    if (!quote && *line == '-' && !isdigit((unsigned char)line[1])) length = 0;
    snprintf(value, sizeof value, "%.*s", (int)length, line);
    line += length + (quote && line[length] == quote);
    bool is_checkers = strcmp(name + hyphens, "checkers") == 0, is_compat = strcmp(name + hyphens, "compat") == 0;
    if (is_checkers && !length && !quote) return fail_checkers("", 0);
    bool is_taken = is_checkers ? choose(advising, value)
                    : is_compat ? choose_compat(advising, value)
                                : change(advising, name, value);
    if (!is_taken) return false;
  }
  return true;
}

/* ---- running ---- */

/* Back is the other way round: an option may have been given twice. */
static void apply(struct advising *advising, bool back) {
  for (int n = 0; n < advising->change_count; n++) {
    int i = back ? advising->change_count - 1 - n : n;
    char *message = NULL;
    double missing = -1e300;
    if (!back) {
      advising->changes[i].former = settings_get(advising->connection, advising->changes[i].name, missing);
      advising->changes[i].was_set = advising->changes[i].former != missing;
      settings_set(advising->connection, advising->changes[i].name, advising->changes[i].value, &message);
    } else if (advising->changes[i].was_set) {
      settings_set(advising->connection, advising->changes[i].name, advising->changes[i].former, &message);
    } else {
      settings_reset(advising->connection, advising->changes[i].name, &message);
    }
    sqlite3_free(message);
  }
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
  bool is_first = is_one_of(check->name, first_checks, sizeof first_checks / sizeof first_checks[0]);
  bool is_headed =
      advising->is_old || is_one_of(check->name, always_headed, sizeof always_headed / sizeof always_headed[0]);
  char name[LONGEST_NAME];
  sqlite3_stmt *statement = NULL;
  checker_name(check, name);
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

/* The rows of the chosen checks, in the format that was chosen. */
static enum session_result show_rows(struct advising *advising) {
  sqlite3_str *sql = sqlite3_str_new(advising->session->db);
  sqlite3_str_appendall(sql, "SELECT * FROM temp.advise");
  const char *joint = " WHERE check_name IN ('',";
  for (int i = 0; i < advising->check_count && advising->is_classic; i++) {
    const struct stored_select *check = advising->checks[i];
    if (!advising->is_chosen[i]) continue;
    sqlite3_str_appendf(sql, "%s '%.*q'", joint, (int)stored_check_name_length(check), check->name);
    joint = ",";
  }
  if (advising->is_classic) sqlite3_str_appendall(sql, *joint == ',' ? ")" : " WHERE 0");
  char *text = sqlite3_str_finish(sql);
  enum session_result result = text ? session_run(advising->session, text, NULL) : SESSION_ERROR;
  sqlite3_free(text);
  return result;
}

enum session_result advise_run(struct session *session, const char *line) {
  struct advising advising = {.session = session};
  bool is_of_other_build;
  session_make_views(session);
  advising.connection = connection_find(session->db, &is_of_other_build);
  list_checks(&advising);
  if (!advising.connection) return SESSION_ERROR;
  advising.is_old = session->classic->options.integers[OPTION_generation] == GENERATION_1_3;
  if (settings_get(advising.connection, "compat", 0) != 0 || advising.is_old) {
    advising.is_classic = true;
    choose_first(&advising);
  }
  if (!take_words(&advising, classic_advise_words(session)) || !take_words(&advising, line)) return SESSION_ERROR;
  /* Who asks for the checkers of TensorFlow's profiler gets them for any source. */
  if (advising.is_classic) change(&advising, "expensive_operation.every_source", "1");
  enum session_result result = SESSION_OK;
  classic_tell_reading(session);
  apply(&advising, false);
  if (session->style.format != OUTPUT_BOX) {
    result = show_rows(&advising);
  } else if (!advising.is_classic) {
    result = finding_list_print(session);
  } else if (advising.is_old && !advising.has_checkers) {
    result = show_old(&advising);
    tell_missing(&advising);
  } else {
    for (int i = 0; i < advising.check_count && result == SESSION_OK; i++) {
      if (advising.is_chosen[i]) result = show(&advising, advising.checks[i]);
    }
    tell_missing(&advising);
  }
  apply(&advising, true);
  return result;
}

static void explain_option(void *user, const char *name, const char *standard) {
  char text[LONGEST_NAME * 2 + 2];
  (void)user;
  if (strcmp(name, "-checkers") == 0) return;
  snprintf(text, sizeof text, "%s %s", name, standard);
  printf("  %s\n", text);
}

void advise_explain(void) {
  struct advising advising = {0};
  char name[LONGEST_NAME];
  list_checks(&advising);
  puts("advise [-checkers NAME,...] [-compat] [-option value]...\n\n"
       "What SELECT * FROM advise says; with -checkers, those named or all, in the layout of\n"
       "the TensorFlow profiler; with -compat its four, as it does.  The checkers:\n");
  for (int i = 0; i < advising.check_count; i++) {
    const char *title = advising.checks[i]->title;
    checker_name(advising.checks[i], name);
    printf("  %-30s  %s\n", name, strncmp(title, "Advice: ", 8) == 0 ? title + 8 : title);
  }
  puts("\nThe options, with their defaults; the part before the dot may be left out:\n");
  advise_each_option(explain_option, NULL);
}
