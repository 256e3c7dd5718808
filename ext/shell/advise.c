/* advise.c: see advise.h.
**
** By itself it shows the view `advise` (finding_list.h).  With -checkers it shows what some checks find: the check
** accelerator_utilization of sql/advise is called AcceleratorUtilizationChecker, too.  In a box that has the layout of
** the part (command_part.h), which also has checks that come first, and those of -compat.  In the formats csv, json and
** so on, and in a build without the part, the rows are shown.
*/
#include "advise.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise_options.h"
#include "advising.h"
#include "command_part.h"
#include "finding_list.h"
#include "vtab/settings.h"
#include "vtab/stored_select.h"

static bool is_first_check(const struct stored_select *check) {
  for (const char *const *first = the_part()->first_checks; *first; first++) {
    if (strcmp(*first, check->name) == 0) return true;
  }
  return false;
}

static void list_checks(struct advising *advising) {
  for (int pass = 0; pass < 2; pass++) {
    for (const struct stored_select *select = stored_selects; select->name; select++) {
      bool is_now = strcmp(select->kind, "check") == 0 && is_first_check(select) == (pass == 0);
      if (!is_now || advising->check_count == MAXIMUM_CHECKS) continue;
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
    advise_checker_name(advising.checks[i], name);
    take(user, name);
  }
}

/* ---- the command line ---- */

static bool fail_checkers(const char *name, size_t length) {
  struct advising all = {0};
  char known[LONGEST_NAME];
  list_checks(&all);
  if (length) fprintf(stderr, "error: there is no checker '%.*s'; the checkers are ", (int)length, name);
  else fputs("error: -checkers needs names, separated by commas; the checkers are ", stderr);
  for (int i = 0; i < all.check_count; i++) {
    advise_checker_name(all.checks[i], known);
    fprintf(stderr, "%s%s", i ? i + 1 == all.check_count ? " and " : ", " : "", known);
  }
  fputc('\n', stderr);
  return false;
}

/* TensorFlow's four; all where this build has no part that knows them. */
static void choose_first(struct advising *advising) {
  if (!*the_part()->first_checks) return;
  advising->has_choice = true;
  for (int i = 0; i < advising->check_count; i++) advising->is_chosen[i] = is_first_check(advising->checks[i]);
}

/* "JobChecker,operation", or "all". */
static bool choose(struct advising *advising, const char *list) {
  bool is_all = strcasecmp(list, "all") == 0;
  advising->has_choice = advising->has_checkers = true;
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
  advising->has_choice = false;
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

/* A condition for the chosen checks, to be freed by sqlite3_free; NULL: no memory. */
static char *condition_of(const struct advising *advising) {
  if (!advising->has_choice) return sqlite3_mprintf("%s", "");
  sqlite3_str *sql = sqlite3_str_new(advising->session->db);
  sqlite3_str_appendall(sql, " WHERE check_name IN (''");
  for (int i = 0; i < advising->check_count; i++) {
    const struct stored_select *check = advising->checks[i];
    if (advising->is_chosen[i])
      sqlite3_str_appendf(sql, ", '%.*q'", (int)stored_check_name_length(check), check->name);
  }
  sqlite3_str_appendall(sql, ")");
  return sqlite3_str_finish(sql);
}

/* What is chosen: as a list for people, or as rows in the format that was chosen. */
static enum session_result show_findings(const struct advising *advising) {
  struct session *session = advising->session;
  char *condition = condition_of(advising);
  char *sql = condition ? sqlite3_mprintf("SELECT * FROM temp.advise%s", condition) : NULL;
  enum session_result result = !sql                                 ? SESSION_ERROR
                               : session->style.format == OUTPUT_BOX ? finding_list_print(session, condition)
                                                                     : session_run(session, sql, NULL);
  sqlite3_free(sql);
  sqlite3_free(condition);
  return result;
}

enum session_result advise_run(struct session *session, const char *line) {
  struct advising advising = {.session = session};
  bool is_of_other_build;
  session_make_views(session);
  advising.connection = connection_find(session->db, &is_of_other_build);
  list_checks(&advising);
  if (!advising.connection) return SESSION_ERROR;
  advising.is_old = the_part()->asks_old_advice(session);
  if (settings_get(advising.connection, "compat", 0) != 0 || advising.is_old) choose_first(&advising);
  if (!take_words(&advising, the_part()->advise_words(session)) || !take_words(&advising, line)) return SESSION_ERROR;
  if (advising.has_choice && the_part()->choice_setting) change(&advising, the_part()->choice_setting, "1");
  enum session_result result;
  the_part()->begin_answer(session);
  apply(&advising, false);
  bool has_layout = advising.has_choice && the_part()->print_advice && session->style.format == OUTPUT_BOX;
  result = has_layout ? the_part()->print_advice(&advising) : show_findings(&advising);
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
       "Prints what SELECT * FROM advise says. With -checkers it prints what the named\n"
       "checkers find, or all, in the layout of the TensorFlow profiler. With -compat it\n"
       "prints what the four checkers of that profiler find, as it does. The checkers:\n");
  for (int i = 0; i < advising.check_count; i++) {
    const char *title = advising.checks[i]->title;
    advise_checker_name(advising.checks[i], name);
    printf("  %-30s  %s\n", name, strncmp(title, "Advice: ", 8) == 0 ? title + 8 : title);
  }
  puts("\nThe options with their defaults. The part before the dot may be left out:\n");
  advise_each_option(explain_option, NULL);
}
